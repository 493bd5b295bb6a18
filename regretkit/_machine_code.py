"""Machine code of functions: compile, cache on disk, load and call it with NumPy arrays.

A file contains a digest, the names of library functions that the code calls, and the object code.
The digest covers the content, the source of the functions, the types of their arguments, the
processor, and the versions of Python, NumPy and llvmlite. If the digest does not match, the
function is compiled again. Files are not authenticated: a user with write access to the folder can
run code, as with Python's ``__pycache__``.
"""

import ctypes
import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeAlias

import numpy as np

from regretkit._compiler import (
    LOCK,
    SYMBOL,
    CannotCompileError,
    ObjectCode,
    compile_function,
    source,
)
from regretkit._util._errors import warn_once
from regretkit._util._files import replace_file
from regretkit._util._typing import Indices, Vector

Entry: TypeAlias = Callable[..., None]
"""Machine code; its arguments are numbers and the ``id`` of arrays."""

FOLDER = "REGRETKIT_CACHE_DIR"
"""The environment variable that names the folder of machine code."""


class CannotLinkError(CannotCompileError):
    """Machine code cannot be loaded on this platform."""


_KINDS: dict[str, Any] = {
    "bool": (bool, np.bool_),
    "uint64": (np.uint64,),
    "uint": (np.unsignedinteger,),
    "int": (int, np.integer),
    "float": (float, np.floating),
}
"""The types of numbers; the first match counts."""

_ENTRIES: dict[str, dict[str, Entry]] = {}
"""Machine code of this process, by name and number of results, then by types of arguments."""


class MachineCode:
    """A function, compiled for the types of its arguments, that returns ``results`` integers."""

    def __init__(self, function: Any, results: int = 0) -> None:
        self._function, self._results = function, results
        self._name = f"{function.__name__}_{_digest(function)}"
        self._entries = _ENTRIES.setdefault(f"{self._name} {results}", {})
        self._flat: dict[int, tuple[Any, list[Any], str]] = {}
        """The last tuple at each position of the arguments, with its flat form and types."""

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code; compile it first if needed."""
        entry, leaves = self.prepared(*arguments)
        if not self._results:
            return entry(*leaves)
        returned = (ctypes.c_int64 * self._results)()
        entry(*leaves, returned)
        return tuple(returned) if self._results > 1 else returned[0]

    def prepared(self, *arguments: Any) -> tuple[Entry, list[Any]]:
        """Return the machine code for arguments of these types, and the flat arguments.

        These are addresses and do not keep arrays alive.
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
            with LOCK:
                entry = self._entries.get(kinds)  # of another thread
                if entry is None:
                    entry = self._entries[kinds] = self._loaded(kinds, leaves, arguments)
        return entry, leaves

    def address(self, *arguments: Any) -> int:
        """Return the address of the machine code for arguments of these types."""
        entry, _ = self.prepared(*arguments)
        found = ctypes.cast(entry, ctypes.c_void_p).value  # type: ignore[arg-type]
        return int(found or 0)

    def _loaded(self, kinds: str, leaves: list[Any], arguments: tuple[Any, ...]) -> Entry:
        """Load machine code from disk, or compile it."""
        key = f"{self._name} {machine()} {self._results} {kinds}".encode()
        name = f"{self._name}.{hashlib.sha256(key).hexdigest()[:16]}.bin"
        for path in (folder / name for folder in _folders()):
            try:
                return _link(_read(path, key), leaves, self._results)
            except FileNotFoundError:
                continue
            except (OSError, CannotCompileError) as error:
                warn_once(f"machine code in {str(path.parent)!r} is compiled again: {error}")
        found = compile_function(self._function, arguments, self._results)
        entry = _link(found, leaves, self._results)
        _write(name, key, found)
        return entry


_OPERATIONS: dict[Any, Entry] = {}
"""Machine code of operations on vectors."""
_INDEX, _FLOAT = np.dtype(np.int64), np.dtype(np.float64)


def ran(
    operation: Callable[..., None], indices: tuple[Indices, ...], vectors: tuple[Vector, ...]
) -> bool:
    """Run ``operation(*indices, *vectors)`` as machine code; return whether this is possible.

    If not, nothing is written and NumPy must do the work.
    """
    for array in indices:
        if array.dtype is not _INDEX:
            return False
    for vector in vectors:
        fits = type(vector) is np.ndarray and vector.dtype is _FLOAT
        if not (fits and vector.flags.c_contiguous):
            return False
    if not linkable():
        return False
    entry = _OPERATIONS.get(operation)
    if entry is None:
        entry, _ = MachineCode(operation).prepared(*indices, *vectors)
        _OPERATIONS[operation] = entry
    entry(*map(id, indices), *map(id, vectors))
    return True


@cache
def linkable() -> bool:
    """Return whether this platform can load machine code; warn if not."""
    try:
        MachineCode(_nothing).prepared(0)
    except CannotLinkError as error:
        warn_once(f"{error}; NumPy is used instead")
        return False
    return True


def _nothing(number: int) -> None:
    pass


def _flatten(argument: Any) -> tuple[list[Any], str]:
    """Return an argument as a flat list of addresses and numbers, and its type as text."""
    if isinstance(argument, np.ndarray):
        order = "C" * argument.flags.c_contiguous
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
        pointers = bits.state, bits.next_double
        return [ctypes.cast(p, ctypes.c_void_p).value for p in pointers], "address " * 2
    if argument is None:
        return [], "none "
    for kind, types in _KINDS.items():
        if isinstance(argument, types):
            return [float(argument) if kind == "float" else int(argument)], f"{kind} "
    raise CannotCompileError(f"an argument that is {argument!r:.60}, not an array or a number")


# Linking


def _link(found: ObjectCode, leaves: Sequence[Any], results: int = 0) -> Entry:
    """Load object code into this process, for flat arguments of these types."""
    try:
        import llvmlite.binding as llvm  # lazy: many runs do not need it

        target = llvm.Target.from_triple(llvm.get_process_triple())
        # One engine for each function, since all define the same symbol.
        engine = llvm.create_mcjit_compiler(
            llvm.parse_assembly(""), target.create_target_machine(jit=True)
        )
        if missing := [name for name in found.symbols if not llvm.address_of_symbol(name)]:
            raise OSError(f"the C library has no function {missing[0]}")
        engine.add_object_file(llvm.ObjectFileRef.from_data(found.code))
        engine.finalize_object()
        address = engine.get_function_address(SYMBOL)
    except (ImportError, OSError, RuntimeError) as error:
        raise CannotLinkError(f"machine code cannot be linked: {error}") from error
    # Arrays are passed by address, as integers: this is faster than py_object.
    types = [ctypes.c_double if isinstance(leaf, float) else ctypes.c_int64 for leaf in leaves]
    entry = ctypes.CFUNCTYPE(None, *types, *[ctypes.c_void_p] * (results > 0))(address)
    vars(entry)["engine"] = engine  # the engine owns the memory of the code
    return entry


# Files


@cache
def machine() -> str:
    """Return a digest of the compiler, the versions and the processor."""
    import llvmlite
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    folder = Path(__file__).with_name("_compiler")
    compiler = [path.read_bytes() for path in sorted(folder.glob("*.py"))]
    features = llvm.get_host_cpu_features().flatten()
    processor = llvm.get_process_triple(), llvm.get_host_cpu_name(), features
    versions = sys.version_info[:2], np.__version__, llvmlite.__version__
    return hashlib.sha256(repr((versions, processor, compiler)).encode()).hexdigest()[:16]


def _folders() -> list[Path]:
    """Return the folders of machine code; the first writable one is used for writing."""
    if named := os.environ.get(FOLDER):
        return [Path(named)]
    own = [Path(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "regretkit")]
    with suppress(RuntimeError):  # no home folder
        own = [path.expanduser() for path in own]
    return [Path(__file__).parent / "__pycache__", *own]


def _read(path: Path, key: bytes) -> ObjectCode:
    """Read a file and check its digest."""
    whole = path.read_bytes()
    digest, content = whole[:_DIGEST_SIZE], whole[_DIGEST_SIZE:]
    if digest != hashlib.sha256(key + content).digest():
        raise OSError("a file is damaged")
    symbols, _, code = content.partition(b"\0")
    return ObjectCode(code, tuple(symbols.decode().split()))


_DIGEST_SIZE = hashlib.sha256().digest_size


def _write(name: str, key: bytes, found: ObjectCode) -> None:
    """Write object code to the first writable folder."""
    content = " ".join(found.symbols).encode() + b"\0" + found.code
    digest, reason = hashlib.sha256(key + content).digest(), ""
    for folder in _folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return replace_file(folder / name, [digest, content])
        except OSError as error:
            reason = f"{str(folder)!r}: {error.strerror or error}"
    return warn_once(f"machine code is compiled in every process: it cannot be kept in {reason}")


# Digests of functions


def uses(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield the globals and closure variables that a function uses, with their names."""
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        with suppress(ValueError):  # the variable has no value yet
            yield name, cell.cell_contents


def _digest(function: Any) -> str:
    """Return a digest of a function's source, of the functions it calls and of their constants."""
    find = _kept_digest if _is_fixed(function) else _kept_digest.__wrapped__
    return find(function)


def _is_fixed(used: Any) -> bool:
    """Return whether a function never changes: regretkit's own, or the kernel of a rule."""
    if hasattr(used, "source"):
        return True
    if not str(used.__module__).startswith("regretkit.") or getattr(used, "__closure__", None):
        return False
    module = vars(sys.modules[used.__module__])
    return getattr(used, "__globals__", module) is module


@lru_cache(maxsize=256)
def _kept_digest(function: Any) -> str:
    total = hashlib.sha256()
    numbers: dict[Any, int] = {function: 0}
    waiting, modules = [function], set[tuple[int, tuple[str, ...]]]()

    def add(name: str, value: Any, names: tuple[str, ...]) -> None:
        """Add a value that code uses; of a module, add the attributes with these names."""
        if isinstance(value, FunctionType):
            # By number: different closures of one definition share their name.
            if value not in numbers:
                numbers[value] = len(numbers)
                waiting.append(value)
            total.update(f"{name}=#{numbers[value]}".encode())
        elif isinstance(value, ModuleType):
            total.update(f"{name}={value.__name__}".encode())
            known = (id(value), names) in modules
            modules.add((id(value), names))
            for inner in () if known else names:
                # Not getattr, which would trigger deprecated attributes of the same name.
                if (found := vars(value).get(inner)) is not None:
                    add(f"{name}.{inner}", found, names)
        elif isinstance(value, tuple):
            for k, item in enumerate(value):
                add(f"{name}[{k}]", item, names)
        else:
            total.update(f"{name}=".encode() + _constant(value))

    while waiting:
        used = waiting.pop()
        options = [*map(used.__globals__.get, _OPTIONS)]
        total.update(f"{used.__name__} {source(used)[0]} {options}".encode())
        add("defaults", (*(used.__defaults__ or ()), *(used.__kwdefaults__ or {}).values()), ())
        for name, value in uses(used):
            add(name, value, used.__code__.co_names)
    return total.hexdigest()[:16]


_OPTIONS = "WITHIN_BOUNDS", "DISJOINT"
"""Names of module constants that change how its functions are compiled."""


def _constant(value: object) -> bytes:
    """Return bytes that identify a constant of the compiler."""
    if isinstance(value, np.ndarray):  # repr would abbreviate it
        return repr((value.shape, value.dtype.str)).encode() + value.tobytes()
    simple = isinstance(value, bool | int | float | str | np.generic)
    return repr(value if simple else getattr(value, "__qualname__", type(value))).encode()
