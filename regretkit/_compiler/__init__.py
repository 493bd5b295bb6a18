"""A small compiler: plain numeric Python to machine code, by LLVM.

The text of a function and of all functions that it calls becomes one text of LLVM, which LLVM
optimizes and turns into object code. Nothing is interpreted, and Python is not called back.

The subset
----------
*Values*
    Whole numbers (``int64``), ``uint64`` from ``np.uint64``, floats, truth values; arrays of
    numbers, with one dimension or several, strided too; tuples, NamedTuples and ranges of these; a
    NumPy ``Generator``. All that is known when a function is compiled stays a Python value:
    numbers, texts, tuples, functions and modules.
*Statements*
    Assignments to names, entries and tuples of these, ``if``, ``while``, ``for`` over a range, an
    array or a tuple, ``break``, ``continue``, ``return``. A condition on a constant compiles the
    branch that is taken, and no other.
*Expressions*
    Arithmetic, comparisons, ``and``, ``or``, ``not`` and conditions of truth values, entries and
    slices of arrays, calls of functions within the subset, ``min``, ``max``, ``abs``, ``len``,
    ``round``, conversions by ``int``, ``float``, ``bool`` and NumPy's types, functions of ``math``,
    ``generator.random()``, ``tuple`` of a generator over a constant tuple, ``isinstance`` of a
    tuple. Entries of an array of whole numbers can be called: they are addresses of machine code,
    which gets whole arrays of the function and numbers.
*Vectors*
    Entries of ``lanes(array, at, stride, width())`` are ``width()`` neighbouring numbers.
    Arithmetic, comparisons, conditions in expressions and functions of ``math`` go lane by lane. A
    function in which lanes would take different branches is compiled with a width of 1, which is
    that of Python.

In a module with ``DISJOINT = True``, no two arrays among the arguments may share memory;
LLVM relies on it. With ``WITHIN_BOUNDS = True`` no index counts from the end.

Numbers behave as NumPy's ``float64`` and ``int64`` do: a float divided by zero is infinite or NaN,
a whole number divided by zero is 0, whole numbers wrap around. Entries of narrower arrays become
``int64``. Arithmetic is IEEE's in the order of the text; nothing is reassociated or contracted.
``exp``, ``log``, ``pow`` and the like are those of the platform's C library.

Negative indices count from the end, and slices end with their array. No check finds an index past
the end. Sums and products of numbers that cannot be negative must stay below 2^63 where they are an
index or divided by ``//``. A variable that is read before its first assignment is zero.

Only kernels of the library and texts that it generates are compiled. A statement, an expression or
a function outside the subset raises ``CannotCompileError`` with file and line. Types are not
checked: tests run each kernel in Python and as machine code, and compare bits.

Functions are expanded where they are called. ``separate`` makes one function for each signature
instead, for what is large and called in several places, or called rarely.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from regretkit._compiler._source import lanes as lanes
from regretkit._compiler._source import plain as plain
from regretkit._compiler._source import prefetch as prefetch
from regretkit._compiler._source import separate as separate
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
    """The functions of other libraries that it calls."""


# From text to object code


def translate(
    function: Any,
    arguments: Sequence[Any],
    results: int = 0,
    width: int = LANES,
) -> tuple[str, tuple[str, ...]]:
    """Return a function as LLVM's text, for arguments of these types, and the symbols it needs."""
    from regretkit._compiler._translator import Translator  # most code is found on disk

    wider: dict[Any, str] = {}
    while True:
        translator = Translator(wider, width)
        try:
            text = translator.module(function, arguments, results)
        except NotInLanesError:
            return translate(function, arguments, results, width=1)
        except RecursionError:
            translator.refuse("an expression or calls that are too deep")
        if text is not None:
            return text, translator.symbols


def object_code(text: str, cpu: str = "", features: str = "", triple: str = "") -> bytes:
    """Return LLVM's text as object code, by default for this processor."""
    import llvmlite.binding as llvm  # not at the top: most runs find machine code on disk

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
    """Return the object code of a function for arguments of these types.

    Parameters
    ----------
    function
        Written in the subset, of NumPy arrays, generators, numbers and tuples of these.
    arguments
        Examples of the arguments: only their types matter.
    results
        The number of whole numbers that it returns.

    Raises
    ------
    CannotCompileError
        With file and line, when its text is not in the subset.
    """
    text, symbols = translate(function, arguments, results)
    return ObjectCode(object_code(text), symbols)
