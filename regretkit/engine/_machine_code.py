"""Machine code of functions: kept on disk, loaded without Numba, and called with NumPy arrays.

Numba takes 0.3 seconds to import and as long again to load what it cached, all of it described by
pickled objects. Here a file holds LLVM's object code alone, of a function that takes each array as
the Python object that it is, so that LLVM and ctypes are all that is needed to call it.

Each file begins with a digest of its content and of its purpose: the function, the types of its
arguments, the processor and the versions of what made it. A file that does not match is deleted,
and the function is compiled again. What is compiled is a template, in which a rule's functions take
the place of placeholders.
"""

import ctypes
import hashlib
import os
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np

from regretkit._util._errors import warn
from regretkit._util._files import replace_file
from regretkit._util._validate import quote

Entry: TypeAlias = Callable[..., int]
"""Machine code; called with the ``id`` of arrays and with numbers, it returns zero or fails."""

SYMBOL = "regretkit_entry"
"""The name of the function in object code."""

DATA, SHAPE, STRIDES = (
    object.__basicsize__ + k * ctypes.sizeof(ctypes.c_void_p) for k in (0, 2, 3)
)
"""Where an array object has the addresses of its data, its shape and its strides.

These fields are the same in every version of NumPy: they are part of its binary interface.
"""

_C_TYPES: dict[str, Any] = {
    "bool": ctypes.c_int64,
    "int": ctypes.c_int64,
    "float": ctypes.c_double,
    "uint32": ctypes.c_uint32,
    "address": ctypes.c_size_t,
}

_ENTRIES: dict[str, dict[str, Entry]] = {}
"""Machine code in this process, by the name of the function and the types of its arguments."""


class CannotCompileError(Exception):
    """A function cannot be compiled."""


@final
class ObjectCode:
    """What a compiler returns: object code, the symbols it needs, and whether it may be kept."""

    def __init__(self, code: bytes, symbols: list[str], lasting: bool) -> None:
        self.code, self.symbols, self.lasting = code, symbols, lasting


@final
class MachineCode:
    """A function as machine code, compiled for the types of arguments that it is called with.

    ``results`` is the number of integers that it returns, and ``name`` determines what it does.
    """

    def __init__(
        self, name: str, compile_for: Callable[[Any], ObjectCode], results: int = 0
    ) -> None:
        self._name, self._compile, self._results = name, compile_for, results
        self._entries = _ENTRIES.setdefault(name, {})
        self._flat: dict[int, tuple[Any, list[Any], str]] = {}
        """The last tuple of arrays at each place among the arguments, and what it was."""

    def __call__(self, *arguments: Any) -> Any:
        """Call the function, compiled before if it was not yet."""
        entry, leaves = self.prepared(*arguments)
        returned = (ctypes.c_int64 * self._results)()
        if entry(*leaves, *([returned] if self._results else [])):
            raise RuntimeError(f"{self._name} raised an exception in machine code")
        return tuple(returned) if self._results > 1 else returned[0] if self._results else None

    def is_at_hand(self) -> bool:
        """Return whether it need not be compiled, at least for some types of arguments."""
        with suppress(OSError):
            files = (folder.glob(f"{_stem(self._name)}.*.bin") for folder in _folders())
            return bool(self._entries) or any(any(found) for found in files)
        return False

    def prepared(self, *arguments: Any) -> tuple[Entry, list[Any]]:
        """Return the machine code for arguments of these types, and the arguments as it takes them.

        It holds no arrays.
        """
        leaves: list[Any] = []
        kinds = ""
        for place, argument in enumerate(arguments):
            flat = self._flat.get(place)
            if flat is None or flat[0] is not argument:
                flat = argument, *_flatten(argument)
                if isinstance(argument, tuple):
                    self._flat[place] = flat
            leaves += flat[1]
            kinds += flat[2]
        entry = self._entries.get(kinds)
        if entry is None:
            entry = self._entries[kinds] = self._loaded(kinds, arguments)
        return entry, leaves

    def _loaded(self, kinds: str, arguments: tuple[Any, ...]) -> Entry:
        """Return machine code from disk, or compile it."""
        key = f"{self._name} {machine()} {kinds}".encode()
        name = f"{_stem(self._name)}.{hashlib.sha256(key).hexdigest()[:16]}.bin"
        for path in (folder / name for folder in _folders()):
            try:
                return _link(_read(path, key), kinds, self._results)
            except FileNotFoundError:
                continue
            except OSError as error:
                _warn_once(
                    f"machine code in {str(path.parent)!r} cannot be used ({_reason(error)}), and "
                    "is compiled again"
                )
                with suppress(OSError):
                    path.unlink()
        found = self._compile(arguments)
        if found.lasting:
            _write(name, key, found)
        return _link(found, kinds, self._results)


def _flatten(argument: Any) -> tuple[list[Any], str]:
    """Return an argument as addresses of arrays and numbers, and a text that tells its type."""
    if isinstance(argument, np.ndarray):
        flags = argument.flags
        order = "C" * flags.c_contiguous + "W" * flags.writeable
        return [id(argument)], f"{argument.dtype.str}{argument.ndim}{order} "
    if isinstance(argument, tuple):
        fields = ",".join(getattr(argument, "_fields", ""))
        leaves, kinds = list[Any](), f"{type(argument).__qualname__}({fields}) "
        for item in argument:
            inner, kind = _flatten(item)
            leaves += inner
            kinds += kind
        return leaves, kinds + "end "
    if isinstance(argument, np.random.Generator):
        bits: Any = argument.bit_generator.ctypes
        pointers = [bits.state, *bits[2:5]]
        addresses = [ctypes.cast(pointer, ctypes.c_void_p).value for pointer in pointers]
        return [bits.state_address, *addresses, bits.bit_generator.value], "address " * 6
    if type(argument) is np.uint32:
        return [int(argument)], "uint32 "
    for number in (bool, int, float):
        if isinstance(argument, number):
            return [argument], f"{number.__name__} "
    raise TypeError(f"machine code takes arrays, tuples and numbers, got {quote(argument)}")


def _c_types(kinds: str) -> Iterator[Any]:
    """Yield the types in C of the arrays and numbers in a text of ``_flatten``."""
    for kind in kinds.split():
        if kind[0] in "<>|=":
            yield ctypes.c_void_p  # an address; ctypes takes three times as long for py_object
        elif kind in _C_TYPES:
            yield _C_TYPES[kind]


# Linking


def _link(found: ObjectCode, kinds: str, results: int) -> Entry:
    """Return object code as a function of this process."""
    import llvmlite.binding as llvm  # not at the top: many runs do not need it

    if missing := [name for name in found.symbols if not llvm.address_of_symbol(name)]:
        import numba.core.cpu  # noqa: F401 - which makes functions of its own known

        if missing := [name for name in missing if not llvm.address_of_symbol(name)]:
            raise OSError(f"it needs {quote(missing[0])}, which is not here")
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
    # An engine for each, as object code of one function may define what that of another does.
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(found.code))
    engine.finalize_object()
    types = [*_c_types(kinds), *[ctypes.c_void_p] * (results > 0)]
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(engine.get_function_address(SYMBOL))
    vars(entry)["engine"] = engine  # which holds the memory
    return entry


# Files


@cache
def machine() -> str:
    """Return what machine code depends on apart from the function."""
    import llvmlite
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    numba = find_spec("numba")
    told = "" if numba is None else Path(numba.origin or "").with_name("_version.py").read_text()
    variables = "NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS"
    settings = {
        n: x for n, x in os.environ.items() if n.startswith("NUMBA_") and n not in variables
    }
    features = llvm.get_host_cpu_features().flatten()
    processor = llvm.get_process_triple(), llvm.get_host_cpu_name(), features
    whole = (
        sys.version_info[:2],
        np.__version__,
        llvmlite.__version__,
        told,
        sorted(settings.items()),
        processor,
    )
    return hashlib.sha256(repr(whole).encode()).hexdigest()[:16]


def _stem(name: str) -> str:
    return f"{name}.{machine()}"


def _folders() -> list[Path]:
    """Return where machine code may be, and is written if the ones before cannot be written."""
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(named)]
    own = [Path(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "regretkit")]
    with suppress(RuntimeError):  # there is no home
        own = [path.expanduser() for path in own]
    return [Path(__file__).parent / "__pycache__", *own]


def _read(path: Path, key: bytes) -> ObjectCode:
    """Return what a file holds, or refuse one that is not whole."""
    content = path.read_bytes()
    digest, content = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
    if digest != hashlib.sha256(key + content).digest():
        raise OSError("the file is damaged")
    symbols, _, code = content.partition(b"\0")
    return ObjectCode(code, symbols.decode().split(), True)


_DIGEST_SIZE = hashlib.sha256().digest_size


def _write(name: str, key: bytes, found: ObjectCode) -> None:
    """Keep object code in the first folder that can be written."""
    content = " ".join(found.symbols).encode() + b"\0" + found.code
    digest, failed = hashlib.sha256(key + content).digest(), ""
    for folder in _folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            replace_file(folder / name, [digest, content])
        except OSError as error:
            failed = f"{str(folder)!r} ({_reason(error)})"
        else:
            return
    _warn_once(
        f"machine code cannot be cached in {failed}, and is compiled again in every process; name "
        "another folder by NUMBA_CACHE_DIR"
    )


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__


@cache
def _warn_once(text: str) -> None:
    warn(text)


Specialization: TypeAlias = dict[Any, Any]
"""The function that replaces each placeholder."""

Make: TypeAlias = Callable[[Any, Specialization], Any]
"""What is made of a function that another one calls, in place of its placeholders."""

_COMPILER = "_machine_code.py", "_numba.py"
"""Files of this folder on which machine code depends."""


def specialized(function: Any, specialization: Specialization, make: Make) -> Any:
    """Return a copy of a function for which what it calls is replaced by what ``make`` returns."""
    names = {}
    for name, value in _used(function):
        names[name] = replacement = _replacement(value, specialization)
        if isinstance(replacement, types.FunctionType) and replacement is not function:
            names[name] = make(replacement, specialization)
    copied = types.FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
        tuple(types.CellType(names[name]) for name in function.__code__.co_freevars),
    )
    copied.__module__, copied.__qualname__ = function.__module__, function.__qualname__
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


def _replacement(value: Any, specialization: Specialization) -> Any:
    return _python(specialization.get(_python(value), value) if callable(value) else value)


def _python(function: Any) -> Any:
    """Return the Python function of one that Numba has compiled."""
    if isinstance(function, types.FunctionType):
        return function  # a kernel, whose ``py_func`` is for checks without a compiler
    plain = getattr(function, "py_func", None)
    return plain if isinstance(plain, types.FunctionType) else function


def _used(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a function uses from outside, by name."""
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        yield name, cell.cell_contents


def is_own(used: Any) -> bool:
    """Return whether this library defines a function or class, made for no rule and no game."""
    if not str(used.__module__).startswith("regretkit.") or getattr(used, "__closure__", None):
        return False
    module = vars(sys.modules[used.__module__])
    return getattr(used, "__globals__", module) is module


def digest(template: Any, specialization: Specialization) -> str:
    """Return a digest of all that determines a specialized template: its code and what it uses."""
    total = hashlib.sha256()
    total.update(_compiler())  # how things are compiled matters as well
    numbers: dict[Any, int] = {template: 0}
    waiting = [template]
    while waiting:
        function = waiting.pop()
        total.update(_code(function.__code__))
        total.update(repr((function.__defaults__, function.__kwdefaults__)).encode())
        for name, value in _used(function):
            value = _replacement(value, specialization)
            if isinstance(value, types.FunctionType):
                # By number: closures of one definition share their name, and differ.
                if value not in numbers:
                    numbers[value] = len(numbers)
                    waiting.append(value)
                total.update(f"{name}=#{numbers[value]}".encode())
            elif isinstance(value, types.ModuleType):
                total.update(f"{name}={value.__name__}".encode())
                for inner in function.__code__.co_names:
                    # Not getattr: a builtin may share its name with a deprecated attribute.
                    total.update(inner.encode() + _constant(vars(value).get(inner)))
            else:
                total.update(name.encode() + _constant(value))
    return total.hexdigest()[:16]


@cache
def _compiler() -> bytes:
    return b"".join(Path(__file__).with_name(name).read_bytes() for name in _COMPILER)


@lru_cache(maxsize=256)
def _code(code: types.CodeType) -> bytes:
    """Return what determines code; the repr of nested code would contain its memory address."""
    inner = [_code(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    return repr((code.co_code, inner, code.co_names, code.co_freevars)).encode()


def _constant(value: object) -> bytes:
    """Return what determines a value that code uses, as far as it is plain."""
    if isinstance(value, np.ndarray):  # whose repr shows only a part
        return repr((value.shape, value.dtype.str)).encode() + value.tobytes()
    plain = isinstance(value, bool | int | float | complex | str | bytes | tuple | np.generic)
    return repr(value if plain else getattr(value, "__qualname__", type(value))).encode()


# Constants in place of placeholders


def true() -> bool:
    return True


def false() -> bool:
    return False
