"""A small compiler from plain numeric Python to machine code, by LLVM.

The compiler translates the source of a function, and of all functions it calls, to one module of
LLVM's language. LLVM optimizes the module and emits object code. Machine code never calls Python.

The subset
----------
*Values*
    Integers (``int64``), ``uint64`` from ``np.uint64``, floats, booleans; arrays of numbers, also
    strided or with several dimensions; tuples, NamedTuples and ranges of these; a NumPy
    ``Generator``. Constants of the compilation stay Python values: numbers, strings, tuples,
    functions and modules.
*Statements*
    Assignments to names, entries and tuples of these, ``if``, ``while``, ``for`` over a range, an
    array or a tuple, ``break``, ``continue``, ``return``. Of an ``if`` with a constant condition,
    only the branch taken is compiled.
*Expressions*
    Arithmetic except ``**``, comparisons, ``and``, ``or``, ``not`` and conditional expressions of
    booleans, entries and slices of arrays, calls of functions within the subset, ``min``, ``max``,
    ``abs``, ``len``, ``round``, conversions by ``int``, ``float``, ``bool`` and NumPy's types,
    functions of ``math``, ``generator.random()``, ``tuple`` of a generator over a constant tuple,
    ``isinstance`` of a tuple. An entry of an integer array can be called: it is the address of
    machine code. The arguments of such a call are numbers, and arrays that are arguments of the
    caller.
*Vectors*
    An entry of ``lanes(array, at, stride, width())`` is a vector of ``width()`` contiguous numbers.
    Arithmetic, comparisons, conditional expressions and functions of ``math`` work lane by lane. If
    lanes would take different branches, the function is compiled with a width of 1, as in Python.

In a module with ``DISJOINT = True``, array arguments must not share memory: LLVM relies on it. With
``WITHIN_BOUNDS = True``, indices must not be negative.

Numbers behave as NumPy's ``float64`` and ``int64`` do. A float divided by zero is infinite or NaN,
an integer divided by zero is 0, and integers wrap around. Entries of narrower arrays become
``int64``. Arithmetic is IEEE's, in the order of the source, without reassociation or contraction.
``exp``, ``log``, ``pow`` and similar functions are those of the platform's C library.

Negative indices count from the end, and slices end with their array. Indices past the end are not
checked. Sums and products of nonnegative numbers must stay below 2^63 if they are an index or an
operand of ``//``. A variable that is read before its first assignment is zero.

Only regretkit's kernels and generated code are compiled. A statement, an expression or a function
outside the subset raises ``CannotCompileError`` with file and line. Types are not checked: tests
run each kernel in Python and as machine code, and compare bits.

Functions are inlined.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from regretkit._compiler._source import LOCK as LOCK
from regretkit._compiler._source import lanes as lanes
from regretkit._compiler._source import prefetch as prefetch
from regretkit._compiler._source import source as source
from regretkit._compiler._source import width as width
from regretkit._compiler._values import LANES as LANES
from regretkit._compiler._values import SYMBOL as SYMBOL
from regretkit._compiler._values import CannotCompileError as CannotCompileError
from regretkit._compiler._values import NotInLanesError


class ObjectCode(NamedTuple):
    """The result of a compilation."""

    code: bytes
    symbols: tuple[str, ...]
    """The library functions that the code calls."""


# From source to object code


def translate(
    function: Any,
    arguments: Sequence[Any],
    results: int = 0,
    width: int = LANES,
) -> tuple[str, tuple[str, ...]]:
    """Translate a function to LLVM's language, for arguments of these types.

    Also return the library functions that it calls.
    """
    from regretkit._compiler._translator import Translator  # lazy: most code is read from disk

    wider: dict[Any, str] = {}
    while True:
        translator = Translator(wider, width)
        try:
            with np.errstate(all="ignore"):  # constants are computed in Python
                text = translator.module(function, arguments, results)
        except NotInLanesError:
            return translate(function, arguments, results, width=1)
        except RecursionError:
            translator.refuse("an expression or a chain of calls is too deep")
        if text is not None:
            return text, translator.symbols


def object_code(text: str, cpu: str = "", features: str = "", triple: str = "") -> bytes:
    """Compile LLVM's language to object code, by default for this processor."""
    import llvmlite.binding as llvm  # lazy: most code is read from disk

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    native = not (cpu or triple)
    triple = triple or llvm.get_process_triple()
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=llvm.get_host_cpu_name() if native else cpu,
        features=llvm.get_host_cpu_features().flatten() if native else features,
        opt=3,
        reloc="static" if "x86_64" in triple else "default",
        codemodel="jitdefault",
        jit=True,
    )
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = triple, str(machine.target_data)
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.slp_vectorization = True
    tuning.loop_interleaving = tuning.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    code: bytes = machine.emit_object(module)
    return code


def compile_function(function: Any, arguments: Sequence[Any], results: int = 0) -> ObjectCode:
    """Compile a function for arguments of these types.

    Parameters
    ----------
    function
        A function in the subset. Its arguments are NumPy arrays, generators, numbers and tuples of
        these.
    arguments
        Example arguments: only their types matter.
    results
        The number of integers that the function returns.

    Raises
    ------
    CannotCompileError
        If the function is not in the subset. The message has the file and line.
    """
    text, symbols = translate(function, arguments, results)
    return ObjectCode(object_code(text), symbols)
