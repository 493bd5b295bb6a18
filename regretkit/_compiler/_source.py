"""Source code of functions, and markers for the compiler."""

import ast
import linecache
import textwrap
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple

LOCK = threading.RLock()
"""Held while a thread traces or compiles.

Tracing replaces functions of modules, and CPython 3.11 cannot parse code in two threads at once.
"""


def prefetch(array: Any, k: int) -> None:
    """Load an entry into the cache, in machine code only."""


def width() -> int:
    """Return the number of lanes of a vector: 1 in Python."""
    return 1


def lanes(array: Any, at: int, stride: int, wide: int) -> Any:
    """Return a view of an array whose k-th entry is ``array[at + stride * k]``.

    In machine code with ``wide = width()``, an entry is the vector of this and the next entries.
    """
    return array[at::stride]


class Definition(NamedTuple):
    """The parsed source of a function."""

    body: list[ast.stmt]
    file: str
    line: int
    """The number of lines before the function in its file."""
    stored: frozenset[str]
    """The names that the function assigns."""
    single: frozenset[str]
    """The names that need no memory: assigned once, before each use."""
    direct: bool
    """Whether the only return is the last statement."""


def source(function: FunctionType) -> tuple[str, int]:
    """Return the source of a function, and the number of lines before it.

    Generated functions have their source in the attribute ``source``, possibly with others.
    """
    if text := vars(function).get("source"):
        return text, 0
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    return "".join(lines[code.co_firstlineno - 1 : _last_line(code)]), code.co_firstlineno - 1


@cache
def _last_line(code: CodeType) -> int:
    inner = (_last_line(item) for item in code.co_consts if isinstance(item, CodeType))
    return max(*(end or 0 for _, end, *_ in code.co_positions()), *inner, 0)


@cache
def definition_of(code: CodeType, text: str, before: int) -> Definition:
    """Return the definition of the function with this code within its source."""
    node = _parsed(text)[code.co_name]
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    returns = [inner for inner in ast.walk(node) if isinstance(inner, ast.Return)]
    direct = not returns or (len(returns) == 1 and returns[0] is body[-1])
    stored = _names(body, ast.Store)
    arguments = Counter(inner.arg for inner in ast.walk(node) if isinstance(inner, ast.arg))
    single = frozenset(_single(body, stored + arguments, _names(body, ast.Load)))
    return Definition(body, code.co_filename, before, frozenset(stored), single, direct)


@cache
def _parsed(text: str) -> dict[str, ast.FunctionDef]:
    """Return the definitions within source code, by name."""
    nodes = [*ast.walk(ast.parse(textwrap.dedent(text)))]
    return {node.name: node for node in reversed(nodes) if isinstance(node, ast.FunctionDef)}


def _names(nodes: Iterable[ast.AST], context: type[ast.expr_context]) -> Counter[str]:
    """Count how often each name is written or read."""
    inner = (inner for node in nodes for inner in ast.walk(node))
    return Counter(n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, context))


def _single(block: list[ast.stmt], stores: Counter[str], loads: Counter[str]) -> Iterator[str]:
    """Yield the names that are written once, and read only afterwards in the same block."""
    following = Counter[str]()  # names read after a statement
    for node in reversed(block):
        read, targets = following, list[ast.expr]()
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        elif isinstance(node, ast.For):
            targets, read = [node.target], _names(node.body, ast.Load)
        written = _names(targets, ast.Store)
        yield from (n for n in written if stores[n] == 1 and read[n] == loads[n])
        following.update(_names([node], ast.Load))
        for name in ("body", "orelse"):
            yield from _single(getattr(node, name, []), stores, loads)
