"""Kernels as JavaScript, for pages that run rules in a browser.

The functions of a kernel are a small part of Python: assignments, loops over ranges, conditions and
calls of ``math``. They become the same loops over a ``Float64Array``. The parameters, which depend
on the iteration, become one more function.
"""

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from regretkit.trace._graph import ELEMENTWISE, Node, nodes_of, number, number_after, number_before
from regretkit.trace._kernel import Kernel, Schedule
from regretkit.trace._symbols import UntraceableError

PRELUDE = """\
const {abs, atan, ceil, cos, cosh, exp, expm1, floor, hypot, log, log10, log1p, log2} = Math;
const {sin, sinh, sqrt, tan, tanh, trunc} = Math, inf = Infinity, nan = NaN;
const isfinite = Number.isFinite, isinf = x => abs(x) === inf, fmod = (x, y) => x % y;

/** The power of C, in which 1 to any power is 1. */
const pow = (x, y) => x === 1 || (x === -1 && isinf(y)) ? 1 : x ** y;

/** The nearest integer; halves go to the even one. */
function round(x) {
  const below = floor(x), rest = x - below;
  return rest < 0.5 || (rest === 0.5 && below % 2 === 0) ? below : below + 1;
}

/** The remainder with the sign of the divisor, as in Python. */
function remainder(x, y) {
  const rest = x % y;
  return rest !== 0 && rest < 0 !== y < 0 ? rest + y : rest;
}

/** The floor of x / y, computed from the exact remainder, as in Python. */
function quotient(x, y) {
  if (y === 0) return x / y;
  const exact = (x - remainder(x, y)) / y, below = floor(exact);
  return exact - below > 0.5 ? below + 1 : below;
}
"""
"""What the functions of ``kernel_as_javascript`` and ``schedule_as_javascript`` call."""

_OPERATORS: dict[type, str] = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"},
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="},
    **{ast.And: "&&", ast.Or: "||", ast.Not: "!", ast.USub: "-"},
}
"""``==`` and not ``===``, as 1 equals true in Python."""
_CALLS: dict[type, str] = {ast.Mod: "remainder", ast.FloorDiv: "quotient"}
_WHOLE = {"first", "last"}
"""Names of numbers of sequences."""
_EXACT = 1e15
"""Whole numbers below have all their digits in a text without an exponent."""


def as_javascript(kernel: Kernel) -> str:
    """Return a kernel as a script: ``propose``, ``learn`` and ``parameters``.

    The first two have the arguments of ``Kernel.propose`` and ``Kernel.learn``, with an array of
    type ``Float64Array`` for each NumPy array. ``parameters(t, numbers, row)`` writes the numbers
    of the argument ``parameters`` after iteration t to ``row``. It is called for t = 0, 1, 2, and
    so on, and keeps the scalar state of the rule in ``numbers``.

    Raises
    ------
    UntraceableError
        If the rule calls a Python function in each iteration.

    Examples
    --------
    >>> from regretkit import RegretMatchingPlus
    >>> from regretkit.trace import find_kernel
    >>> script = as_javascript(find_kernel(RegretMatchingPlus(2)))
    >>> print(script[script.index("function propose") :])
    function propose(block, first, last, strategy, state, parameters) {
      if ((last - first) == 1) {
        strategy[first] = 1;
        return;
      }
    ...
    """
    code = functions_as_javascript(kernel), schedule_as_javascript(kernel.parameters)
    return "\n".join([PRELUDE, "\n\n".join(code)])


def functions_as_javascript(kernel: Kernel) -> str:
    """Return the functions ``propose`` and ``learn`` of a kernel."""
    return "\n\n".join(map(_function, ast.parse(kernel.source).body))


def _function(node: Any) -> str:
    arguments = ", ".join(argument.arg for argument in node.args.args)
    return "\n".join([f"function {node.name}({arguments}) {{", *_block(node.body, set()), "}"])


def _block(body: list[ast.stmt], outer: set[str]) -> Iterator[str]:
    """Yield the lines of a block in which the names ``outer`` are declared."""
    known = set(outer)
    for k, statement in enumerate(body):
        if isinstance(statement, ast.If | ast.For):
            # Names that are first assigned in an inner block and read after it
            used_later = (_stored(statement) & _read(body[k + 1 :])) - known
            if used_later:
                yield f"  let {', '.join(sorted(used_later))};"
                known |= used_later
        yield from (f"  {line}" for line in _statement(statement, known))


def _stored(statement: ast.stmt) -> set[str]:
    names = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, ast.Store)}


def _read(body: list[ast.stmt]) -> set[str]:
    """Return the names that statements read before they assign them."""
    found, assigned = set[str](), set[str]()
    for statement in body:
        if isinstance(statement, ast.If | ast.For):
            head = statement.test if isinstance(statement, ast.If) else statement.iter
            inner = _read(statement.body)
            if isinstance(statement, ast.For):
                inner -= _names(statement.target)
            found |= (_names(head) | inner) - assigned
        else:
            stored = _stored(statement)
            changes = isinstance(statement, ast.AugAssign)
            found |= (_names(statement) - (set() if changes else stored)) - assigned
            assigned |= stored
    return found


def _statement(statement: ast.stmt, known: set[str]) -> Iterator[str]:
    """Yield the lines of a statement, and add the names that it declares to ``known``."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            for target, value in zip(targets, values, strict=True):
                yield from _assignment(target, value, known)
        case ast.Assign(targets=[target], value=value):
            yield from _assignment(target, value, known)
        case ast.AugAssign(target=target, op=op, value=value):
            yield f"{_text(target)} {_OPERATORS[type(op)]}= {_text(value)};"
        case ast.For(target=ast.Name(id=name), iter=ast.Call(args=bounds), body=body):
            begin, end = ["0", *map(_text, bounds)][-2:]
            yield f"for (let {name} = {begin}; {name} < {end}; {name}++) {{"
            yield from _block(body, known | {name})
            yield "}"
        case ast.If(test=test, body=body):
            yield f"if ({_bare(_text(test))}) {{"
            yield from _block(body, known)
            yield "}"
        case ast.Break():
            yield "break;"
        case ast.Return():
            yield "return;"
        case _:
            raise UntraceableError(f"no JavaScript for {ast.unparse(statement)!r}")


def _assignment(target: ast.expr, value: ast.expr, known: set[str]) -> Iterator[str]:
    declares = isinstance(target, ast.Name) and target.id not in known
    if isinstance(target, ast.Name):
        known.add(target.id)
    yield f"{'let ' * declares}{_text(target)} = {_bare(_text(value))};"


def _bare(text: str) -> str:
    """Return an expression without parentheses around all of it."""
    depth = 0
    for k, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and k < len(text) - 1:
            return text
    return text[1:-1] if text.startswith("(") else text


def _text(node: ast.expr) -> str:
    """Return an expression; one with an operator is in parentheses."""
    match node:
        case ast.Constant(value=bool(value)):
            return "true" if value else "false"
        case ast.Constant(value=int(value) | float(value)):
            return repr(int(value) if value == value // 1 and value < _EXACT else value)
        case ast.Name(id=name):
            return name
        case ast.Subscript(value=array, slice=index):
            return f"{_text(array)}[{_bare(_text(index))}]"
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return f"({_text(test)} ? {_text(body)} : {_text(orelse)})"
        case ast.Call(func=ast.Name(id="float"), args=[value]):
            return _text(value)
        case ast.Call(func=ast.Name(id=name), args=args):
            return f"{name}({', '.join(_bare(_text(arg)) for arg in args)})"
    return _operation(node)


def _operation(node: ast.expr) -> str:
    match node:
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right) if _is_whole(node):
            return f"floor({_text(left)} / {_text(right)})"
        case ast.BinOp(left=left, op=ast.Mod(), right=right) if _is_whole(node):
            return f"({_text(left)} % {_text(right)})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _CALLS:
            return f"{_CALLS[type(op)]}({_bare(_text(left))}, {_bare(_text(right))})"
        case ast.BinOp(left=left, op=op, right=right):
            return f"({_text(left)} {_OPERATORS[type(op)]} {_text(right)})"
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return f"({_text(left)} {_OPERATORS[type(op)]} {_text(right)})"
        case ast.UnaryOp(op=op, operand=operand):
            return f"({_OPERATORS[type(op)]}{_text(operand)})"
        case ast.BoolOp(op=op, values=values):
            return f"({f' {_OPERATORS[type(op)]} '.join(map(_text, values))})"
    raise UntraceableError(f"no JavaScript for {ast.unparse(node)!r}")


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _is_whole(node: ast.expr) -> bool:
    """Return whether an expression contains only numbers of sequences, and some of them."""
    return set() < _names(node) <= _WHOLE


# Parameters


def schedule_as_javascript(schedule: Schedule) -> str:
    """Return the function ``parameters`` of a kernel."""
    lines, names = list[str](), dict[Node, str]()
    for k, path in enumerate(schedule.updates):
        names[number_before(path)] = f"before{k}"
        lines.append(f"const before{k} = numbers[{k}];")
    lines += _values(schedule.updates.values(), names)
    for k, (path, node) in enumerate(schedule.updates.items()):
        names[number_after(path)] = f"after{k}"
        lines.append(f"const after{k} = numbers[{k}] = t > 0 ? {names[node]} : before{k};")
    lines += _values(schedule.nodes, names)
    # A condition is the number 1 or 0.
    for k, node in enumerate(schedule.nodes):
        text = names[node]
        lines.append(f"row[{k}] = {f'{text} ? 1 : 0' if node.boolean else text};")
    body = "\n".join(f"  {line}" for line in lines)
    return f"function parameters(t, numbers, row) {{\n{body}\n}}"


def _values(outputs: Iterable[Node], names: dict[Node, str]) -> Iterator[str]:
    """Yield assignments of all nodes that have no name yet."""
    for node in nodes_of(outputs):
        if node in names:
            continue
        if node.op == "iteration":
            names[node] = "t"
        elif node.op == "constant":
            names[node] = _constant(node.detail)
        elif node.op == "call":
            raise UntraceableError(f"its parameters call {node.label()} in each iteration")
        else:
            code = ELEMENTWISE[node.op].code.format(*(names[arg] for arg in node.args))
            names[node] = f"v{len(names)}"
            yield f"const {names[node]} = {_bare(_text(ast.parse(code, mode='eval').body))};"


def _constant(value: float | bool) -> str:
    return repr(value) if isinstance(value, bool) else number(value)
