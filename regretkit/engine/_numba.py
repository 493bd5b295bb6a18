"""How Numba compiles a function with all that it calls into object code of its own.

Numba compiles a function with what it calls by name. Passing a rule's kernel as an argument would
cost a call per decision point; so the placeholders of ``kernels`` are replaced by name. LLVM
inlines all functions into the template before it optimizes anything, and so sees constant numbers
of actions.
"""

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

import numba
from llvmlite import binding, ir
from numba.core import cgutils as core_cgutils
from numba.core import ir as numba_ir
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numba.core.typed_passes import NopythonTypeInference
from numba.extending import intrinsic
from numba.np import arrayobj

from regretkit.engine import _batch_rules
from regretkit.engine._machine_code import (
    DATA,
    SHAPE,
    STRIDES,
    SYMBOL,
    CannotCompileError,
    ObjectCode,
    Specialization,
    digest,
    is_own,
    specialized,
)
from regretkit.engine.kernels import _deviations, _iteration, _without_tree
from regretkit.engine.kernels._without_tree import prefetch
from regretkit.estimators import _traversal
from regretkit.trace import _build

cgutils: Any = core_cgutils  # whose functions have no types
populate_array: Any = arrayobj.populate_array

_RARE = {_iteration.zero_cancelled_sum, _deviations.set_stationary}
"""Functions that are called so rarely that they are not inlined."""
_WITHOUT_NEGATIVE_INDICES = {_without_tree.__name__, _traversal.__name__, _batch_rules.__name__}
"""Modules, the last for what it makes of a game's rules."""
_PARTS: dict[tuple[Any, str], Any] = {}
"""Parts compiled in this process that call nothing of a rule or a game, which serve all of them."""


def compile_function(
    template: Any, specialization: Specialization, arguments: tuple[Any, ...], results: int
) -> ObjectCode:
    """Return object code of a specialized template for the types of these arguments."""
    try:
        compiled = _jit(specialized(template, specialization, _jitted), WholeCompiler)
        kinds = compiled._compiler.fold_argument_types(tuple(map(numba.typeof, arguments)), {})[1]
        compiled.compile(kinds)
    except BaseException as error:
        _PARTS.clear()  # an interrupt may have left one half compiled
        if isinstance(error, NumbaError | UnsupportedBytecodeError):
            raise CannotCompileError(str(error)) from error
        raise
    found = compiled.overloads[kinds]
    module, codegen = found.library._final_module, found.library._codegen
    entry = binding.parse_assembly(str(_entry(found.target_context, found.fndesc, results)))
    entry.data_layout, entry.triple = module.data_layout, module.triple
    module.link_in(entry)
    symbols = [f.name for f in module.functions if f.is_declaration]
    symbols += [v.name for v in module.global_variables if v.is_declaration]
    own = [name for name in symbols if not name.startswith("llvm.")]
    with _without_collections():
        code = codegen._tm.emit_object(module)
    return ObjectCode(code, own, not found.library.has_dynamic_globals)


def _jitted(function: Any, specialization: Specialization) -> Any:
    """Return a function as code to be inlined, and with it those that it calls."""
    if function is prefetch:
        return _prefetch
    key = function, digest(function, specialization)
    if key in _PARTS:
        return _PARTS[key]
    dispatches = function.__module__ == _build.__name__ and function.__name__.endswith("_any")
    whole = function in _RARE or dispatches  # other functions of that module are traced kernels
    inner = specialized(function, specialization, _jitted)
    part = _jit(inner, WholeCompiler) if whole else _jit(inner, PartCompiler, forceinline=True)
    ours = {p: f for p, f in specialization.items() if is_own(f)}
    if is_own(function) and digest(function, ours) == key[1]:
        _PARTS[key] = part
    return part


@intrinsic
def _prefetch(_: Any, array: Any, k: Any) -> Any:
    def code(context: Any, builder: Any, _: Any, given: Any) -> Any:
        values = context.make_array(array)(context, builder, given[0])
        address = builder.bitcast(builder.gep(values.data, [given[1]]), cgutils.voidptr_t)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        called = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(called, [address, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, k), code


def _jit(function: Any, pipeline_class: type, **options: Any) -> Any:
    # Division as in NumPy, without a check of every divisor. And no reference counting of arrays,
    # which would take as long as the arithmetic: the caller holds references to all of them.
    options |= {"error_model": "numpy", "_nrt": False, "nogil": True}
    options |= {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}
    return numba.njit(pipeline_class=pipeline_class, **options)(function)


# The function that ctypes calls


def _entry(context: Any, callee: Any, results: int) -> ir.Module:
    """Return a function that takes arrays as Python objects, and calls one that Numba compiled."""
    module = context.create_module(SYMBOL)
    given = [kind for argument in callee.argtypes for kind in _given(context, argument)]
    given += [ir.IntType(64).as_pointer()] * (results > 0)
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), given), SYMBOL)
    builder = ir.IRBuilder(function.append_basic_block())
    leaves = iter(function.args)
    values = [_value(context, builder, argument, leaves) for argument in callee.argtypes]
    convention = context.call_conv
    signature = convention.get_function_type(callee.restype, callee.argtypes)
    called = ir.Function(module, signature, callee.llvm_func_name)
    status, returned = convention.call_function(
        builder, called, callee.restype, callee.argtypes, values
    )
    for k in range(results):
        result = builder.extract_value(returned, k) if results > 1 else returned
        builder.store(result, builder.gep(function.args[-1], [ir.IntType(32)(k)]))
    builder.ret(status.code)
    return module


def _given(context: Any, kind: Any) -> list[Any]:
    """Return the types of the arguments that come for one of this type."""
    if _is_tuple(kind):
        return [given for inner in kind for given in _given(context, inner)]
    if isinstance(kind, types.Array):
        return [cgutils.voidptr_t]
    if isinstance(kind, types.NumPyRandomGeneratorType):
        return [context.get_value_type(types.uintp)] * len(_BITS)
    return [ir.IntType(64) if isinstance(kind, types.Boolean) else context.get_value_type(kind)]


def _is_tuple(kind: Any) -> bool:
    return isinstance(kind, types.BaseTuple)


def _value(context: Any, builder: Any, kind: Any, leaves: Iterator[Any]) -> Any:
    """Return the value of an argument of this type, made of those that came for it."""
    if _is_tuple(kind):
        inner = [_value(context, builder, part, leaves) for part in kind]
        return context.make_tuple(builder, kind, inner)
    if isinstance(kind, types.NumPyRandomGeneratorType):
        generator = cgutils.create_struct_proxy(kind)(context, builder)
        bits = cgutils.create_struct_proxy(types.NumPyRandomBitGeneratorType("bit_generator"))
        proxy = bits(context, builder)
        for name in _BITS:
            setattr(proxy, name, next(leaves))
        generator.bit_generator = proxy._getvalue()
        return generator._getvalue()
    leaf = next(leaves)
    if isinstance(kind, types.Array):
        return _array(context, builder, kind, leaf)
    return (
        builder.icmp_signed("!=", leaf, leaf.type(0)) if isinstance(kind, types.Boolean) else leaf
    )


_BITS = (
    "state_address",
    "state",
    "fnptr_next_uint64",
    "fnptr_next_uint32",
    "fnptr_next_double",
    "bit_generator",
)


def _array(context: Any, builder: Any, kind: Any, pointer: Any) -> Any:
    """Return the value of an array from the address of its Python object."""

    def numbers(offset: int, count: int) -> list[Any]:
        """Return the numbers, as many as this, whose address the object has at an offset."""
        intp = context.get_value_type(types.intp)
        place = cgutils.pointer_add(builder, pointer, offset, intp.as_pointer().as_pointer())
        first = builder.load(place)
        return [builder.load(builder.gep(first, [ir.IntType(32)(k)])) for k in range(count)]

    array = context.make_array(kind)(context, builder)
    place = cgutils.pointer_add(builder, pointer, DATA, array.data.type.as_pointer())
    populate_array(
        array,
        data=builder.load(place),
        shape=numbers(SHAPE, kind.ndim),
        strides=numbers(STRIDES, kind.ndim),
        itemsize=context.get_constant(types.intp, kind.dtype.bitwidth // 8),
        meminfo=None,
    )
    return array._getvalue()


# Compilers


class Library(JITCodeLibrary):
    """LLVM's code of a function that is inlined, as Numba wrote it; Numba does not load it.

    What is optimized for any number of actions cannot be optimized as well for a constant one.
    """

    _codegen: Any

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Do without the environment, which code that is loaded does not have either."""


class WholeLibrary(Library):
    """Code that is optimized once all parts are inlined."""

    def _optimize_final_module(self) -> None:
        for level in (0, 3):  # at level 0, inlining is all that is done
            manager, builder = self._codegen._module_pass_manager(opt=level)
            manager.run(self._final_module, builder)


@register_pass(mutates_CFG=False, analysis_only=False)  # type: ignore[no-untyped-call]
class UnsignedIndices(AnalysisPass):
    """Reads indices as unsigned in code that has no negative ones.

    Otherwise each is compared with zero, and has the length of its array added if it is less.
    """

    _name = "unsigned_indices"

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def run_pass(self, state: Any) -> Any:
        if state.func_id.func.__module__ not in _WITHOUT_NEGATIVE_INDICES:
            return False
        unsigned = {}
        for node, called in state.calltypes.items():
            if isinstance(node, numba_ir.SetItem) or getattr(node, "op", "") == "getitem":
                array, index, *value = called.args
                if isinstance(array, types.Array) and isinstance(index, types.Integer):
                    unsigned[node] = called.replace(args=(array, types.uintp, *value))
        state.calltypes.update(unsigned)
        return bool(unsigned)


class PartCompiler(Compiler):
    """Compiles a part."""

    def define_pipelines(self) -> Any:
        (pipeline,) = super().define_pipelines()  # type: ignore[no-untyped-call]
        pipeline.add_pass_after(UnsignedIndices, NopythonTypeInference)
        pipeline.finalize()
        return [pipeline]

    def compile_extra(self, func: Any) -> Any:
        library: Any = Library  # Numba's methods have no types
        self.state.library = library(self.state.targetctx.codegen(), "part")
        return super().compile_extra(func)  # type: ignore[no-untyped-call]


class WholeCompiler(Compiler):
    """Compiles a function that is not inlined, and by the way its parts."""

    def compile_extra(self, func: Any) -> Any:
        library: Any = WholeLibrary
        self.state.library = library(self.state.targetctx.codegen(), "whole")
        with _without_collections():
            return _with_large_stack(super().compile_extra, func)


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """Collect no garbage, which takes a third of the time of a compilation, and finds little."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _with_large_stack(function: Any, *arguments: Any) -> Any:
    """Call a function in a frame so large that those of all that it calls fit into its memory.

    CPython has memory for frames in chunks of 16 KiB, mapped and unmapped again at each call in a
    loop just before the end of one. This took another third, in 750,000 calls.
    """
    return function(*arguments)


_with_large_stack.__code__ = _with_large_stack.__code__.replace(co_stacksize=2**16)
