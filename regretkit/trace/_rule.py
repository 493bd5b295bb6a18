"""Tracing of a rule: its hooks are run once on symbols, which record what they compute."""

import contextlib
import functools
import inspect
import sys
import traceback
import types
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from attrs import frozen

from regretkit._state import attributes, attrs_fields
from regretkit._util._validate import quote
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import Simplices
from regretkit.trace._graph import (
    ITERATION,
    ONE,
    Node,
    Per,
    again,
    as_float,
    elementwise,
    make,
    nodes_of,
)
from regretkit.trace._snapshot import A_GENERATOR, Snapshot, held_at, hold_at, learned_by, owners
from regretkit.trace._symbolic_functions import (
    STRATEGY,
    UTILITY,
    SymbolicSimplices,
    Unknown,
    places_of_functions,
    symbolic_functions,
)
from regretkit.trace._symbols import KIND, RAISED, Symbol, Trace, UntraceableError, WrittenError

_TRACE = Path(__file__).parent
_LIBRARIES = (str(_TRACE), str(_TRACE.parent), str(Path(np.__file__).parent))
_MOST_RUNS = 64
"""Of one hook, for decisions by the iteration."""


@frozen(eq=False)
class RuleGraph:
    """What a rule computes: the strategy that it proposes, and what it learns.

    Inputs are the arrays and numbers that it learns by path, ``"utility"``, ``"strategy"``,
    ``"value"``, and the iteration t: ``learned`` is computed in iteration t, and ``strategy`` after
    it.
    """

    strategy: Node
    learned: Mapping[str, Node]
    numbers: Mapping[str, Node]
    """Single numbers that it learns; they depend on such numbers and the iteration alone."""
    per: Mapping[str, Per]
    """What each array has a number for."""
    minimum: Mapping[str, float]
    """The least number of each array at first, minus infinity where it is not known;"""
    alone: Mapping[str, float]
    """what it is at first in a block with a single action; nothing where that is not known."""

    @property
    def inputs(self) -> dict[str, Node]:
        """The node of each array."""
        return {path: make("input", per=per, detail=path) for path, per in self.per.items()}


def trace_rule(rule: Any) -> RuleGraph:
    """Return the graph of a rule, or of a circuit around one on the same simplices.

    Raises
    ------
    UntraceableError
        When the rule does what no graph can say, with the place in its code.
    """
    if not isinstance(rule.domain, Simplices):
        raise UntraceableError(f"it plays on {quote(rule.domain)}, and not on simplices")
    pers, numbers = _pers(rule), list[str]()
    try:
        snapshot = Snapshot(rule)
    except UntraceableError as error:
        raise refusal(rule, "_learn", str(error)) from None
    while True:
        _refuse_shared(rule, pers, snapshot)
        try:
            first, other = [_traced(rule, pers, numbers, snapshot) for _ in range(2)]
            break
        except _UndeclaredError as found:  # what it changes is learned, declared or not
            value = held_at(rule, found.path)
            if isinstance(value, np.ndarray):
                pers = {**pers, found.path: _per_of(value, rule.domain, found.path)}
            else:
                numbers.append(found.path)
    equal = first.strategy is other.strategy
    if not equal or (first.learned, first.numbers) != (other.learned, other.numbers):
        hook = "_learn" if equal else "_propose"
        raise refusal(
            rule,
            hook,
            f"{hook} of {type(rule).__name__} computes something else every time, as with random "
            "numbers; a compiled rule computes with what it learned alone",
        )
    return first


class _UndeclaredError(Exception):
    """A hook changes an attribute that was not taken for learned so far."""

    def __init__(self, path: str) -> None:
        self.path = path


def number_before(path: str) -> Node:
    """Return the node of a number that a rule learns, as it is when an iteration begins."""
    return make("input", per=Per.RULE, detail=f"{path} before")


def number_after(path: str) -> Node:
    """Return that of the number after an iteration."""
    return make("input", per=Per.RULE, detail=f"{path} after")


def _traced(
    rule: Any, pers: Mapping[str, Per], numbers: list[str], snapshot: Snapshot
) -> RuleGraph:
    inputs = {path: make("input", per=per, detail=path) for path, per in pers.items()}
    old = {**inputs, **{path: number_before(path) for path in numbers}}
    new = {**inputs, **{path: number_after(path) for path in numbers}}

    def propose(trace: Trace) -> dict[str, Node]:
        symbolic = _symbolic(rule, new, trace, ITERATION)
        held = _attributes(symbolic)
        strategy = symbolic._propose()
        changed = _changed(symbolic, held, new, trace)
        if changed:
            _refuse_change(rule, "_propose", f"self.{changed[0]}")
        return {"strategy": _as(Per.ACTION, strategy, trace, "_propose returns")}

    def learn(trace: Trace) -> dict[str, Node]:
        symbolic = _symbolic(rule, old, trace, elementwise("subtract", ITERATION, ONE))
        held = _attributes(symbolic)
        parts = [part for path, part in owners(symbolic) if path]
        if parts:  # they may play what is played
            trace.played = trace.node(symbolic._propose())
            for part in parts:
                part._strategy = None
        utility, played = (trace.symbol(name, writeable=False) for name in (UTILITY, STRATEGY))
        if symbolic._learn(utility, played) is not None:
            raise UntraceableError("_learn returns a value; let it change self, and return nothing")
        for path in set(_changed(symbolic, held, old, trace)) - old.keys():
            _refuse_change(rule, "_learn", f"self.{path}")
        changed = {path: held_at(symbolic, path) for path in old}
        _refuse_one_array(changed)
        return {
            path: _as(pers.get(path, Per.RULE), value, trace, f"{path} becomes")
            for path, value in changed.items()
        }

    spaces = _namespaces(rule)
    strategy = _all_ways(rule, propose, spaces, snapshot)["strategy"]
    learned = _all_ways(rule, learn, spaces, snapshot)
    wide, single = _at_first(rule, [2, 3], pers), _at_first(rule, [1], pers)
    minimum = {path: float(np.min(wide[path])) if path in wide else -np.inf for path in pers}
    alone = {path: float(array[0]) for path, array in single.items()}
    numbered = {path: learned.pop(path) for path in numbers}
    return RuleGraph(strategy, learned, numbered, pers, minimum, alone)


def _refuse_one_array(changed: Mapping[str, Any]) -> None:
    """Refuse that one array is learned under two names: a change in place would change both."""
    first: dict[int, str] = {}
    for path, value in changed.items():
        if isinstance(value, Symbol) and value.node.per is not Per.RULE:
            other = first.setdefault(id(value), path)
            if other != path:
                raise UntraceableError(
                    f"self.{other} and self.{path} become one array; write self.{path} = "
                    f"self.{other}.copy()"
                )


def _refuse_shared(rule: Any, paths: Iterable[str], snapshot: Snapshot) -> None:
    """Refuse that the numbers of an array that is learned are held under another name."""
    named = [(f"self.{path}", value) for path, value in _attributes(rule).items()]
    arrays = [(name, x) for name, x in named if isinstance(x, np.ndarray)] + list(snapshot.arrays())
    for path in paths:
        learned = held_at(rule, path)
        for name, array in arrays:
            if name != f"self.{path}" and np.may_share_memory(array, learned):
                text = f"{name} and self.{path}, which is learned, are one array in memory"
                raise refusal(rule, "_learn", f"{text}; use self.{path}")


def _kept_constants(symbolic: Any) -> set[str]:
    """Return the paths of cached properties; refuse those of what changes, as NumPy keeps them."""
    kept = {(path, n): x for path, part in owners(symbolic) for n, x in _cached(part).items()}
    for (_, name), value in kept.items():
        nodes = nodes_of([value.node]) if isinstance(value, Symbol) else ()
        if any(node.op in ("input", "iteration") for node in nodes):
            raise UntraceableError(
                f"self.{name} is computed once, of what changes; write @property in place of "
                "@cached_property"
            )
    return {path + name for path, name in kept}


def _cached(part: Any) -> dict[str, object]:
    """Return the cached properties of a part that were computed."""
    found = {
        name: value
        for name, value in getattr(part, "__dict__", {}).items()
        if isinstance(getattr(type(part), name, None), functools.cached_property)
    }
    fields = {field.name for field in attrs_fields(type(part))}
    for kind in filter(attrs.has, type(part).__mro__):  # which keeps them in slots
        for name, item in vars(kind).items():
            if isinstance(item, types.MemberDescriptorType) and name not in fields:
                with contextlib.suppress(AttributeError):
                    found[name] = item.__get__(part)
    return found


def _refuse_change(rule: Any, hook: str, name: str) -> None:
    """Refuse a change but of an array or a number, which is taken for learned."""
    if name == A_GENERATOR:
        raise UntraceableError(f"{hook} draws random numbers; compute with what was learned alone")
    path = name.removeprefix("self.")
    if path == name:
        raise UntraceableError(
            f"{hook} changes {name}; keep what is learned in the rule: in arrays that are declared "
            "with state(), or in numbers"
        )
    if hook == "_propose":
        raise UntraceableError(f"_propose changes {name}; let _learn change it")
    value = _attributes(rule).get(path)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number and not isinstance(value, np.ndarray):
        raise UntraceableError(
            f"_learn changes {name}, which is neither an array nor a number beforehand; declare an "
            "array with state()"
        )
    if isinstance(value, np.ndarray):
        _per_of(value, rule.domain, path)
    raise _UndeclaredError(path)


def _attributes(rule: Any) -> dict[str, Any]:
    """Return what a rule and its parts hold, by path; a cached property is not computed for it."""
    return {
        path + name: value
        for path, part in owners(rule)
        for name, value in attributes(part)
        if name not in _PASSING
    }


def _as(per: Per, value: Any, trace: Trace, role: str) -> Node:
    if isinstance(value, Symbol) and value.mask is not None:
        raise UntraceableError(f"{role} x[mask], whose shape depends on the mask")
    node = as_float(trace.node(value))
    if node.per is not per:
        raise UntraceableError(f"{role} {KIND[node.per]}, and should be {KIND[per]}")
    return node


def _all_ways(
    rule: Any,
    run: Callable[[Trace], dict[str, Node]],
    namespaces: list[dict[str, Any]],
    snapshot: Snapshot,
) -> dict[str, Node]:
    """Run a hook for both outcomes of every decision by the iteration, and join what comes out."""
    shape, runs = (rule.domain.blocks, rule.domain.dimension), 0
    held = {id(value): path for path, value in _attributes(rule).items()}
    places = places_of_functions(namespaces)

    def join(taken: tuple[bool, ...]) -> dict[str, Node]:
        nonlocal runs
        runs += 1
        if runs > _MOST_RUNS:
            text = "Python decides by the iteration in too many ways, as in a loop; use np.where"
            raise refusal(rule, f"_{run.__name__}", text)
        trace, changed, outputs = Trace(*shape, taken, held.keys()), list[str](), {}
        try:
            try:
                with symbolic_functions(places, trace), np.errstate(all="ignore"):
                    outputs = run(trace)
            except WrittenError as error:
                changed = [f"self.{held[id(error.array)]}"] if id(error.array) in held else []
                if not changed:
                    raise
            finally:
                changed += snapshot.restore()
            if changed:
                _refuse_change(rule, f"_{run.__name__}", changed[0])
        except _UndeclaredError:
            raise
        except UntraceableError as error:
            raise UntraceableError(f"{error} ({_place(error, rule)})") from None
        except Exception as error:
            raise UntraceableError(
                f"{type(error).__name__}: {error} ({_place(error, rule)})"
            ) from error
        for k in reversed(range(len(taken), len(trace.conditions))):  # which it took as true
            condition = trace.conditions[k]
            other = join((*taken, *[True] * (k - len(taken)), False))
            outputs = {n: _either(condition, outputs[n], other[n], {}) for n in outputs}
        return outputs

    with np.errstate(all="ignore"):  # what follows from constants is computed when it is traced
        return join(())


def _either(condition: Node, yes: Node, no: Node, joined: dict[tuple[Node, Node], Node]) -> Node:
    """Return one node or another, by a number; a choice of numbers alone where that is possible."""
    pair = yes, no
    if yes is no:
        return yes
    if pair not in joined:
        either = partial(_either, condition, joined=joined)
        alike = (yes.op, yes.per) == (no.op, no.per) and yes.detail is no.detail
        if yes.per is Per.RULE and no.per is Per.RULE:
            joined[pair] = elementwise("where", condition, yes, no)
        elif alike and yes.op != "root" and len(yes.args) == len(no.args) > 0:
            joined[pair] = again(yes, tuple(map(either, yes.args, no.args)))
        elif no.op == "multiply" and yes in no.args:  # by 1 in the other case
            factor = no.args[1] if no.args[0] is yes else no.args[0]
            joined[pair] = elementwise("multiply", yes, either(ONE, factor))
        elif yes.op == "multiply" and no in yes.args:
            factor = yes.args[1] if yes.args[0] is no else yes.args[0]
            joined[pair] = elementwise("multiply", no, either(factor, ONE))
        elif yes.per is Per.RULE and no.op == "where":
            joined[pair] = elementwise("where", no.args[0], *(either(yes, x) for x in no.args[1:]))
        elif no.per is Per.RULE and yes.op == "where":
            joined[pair] = elementwise("where", yes.args[0], *(either(x, no) for x in yes.args[1:]))
        else:
            joined[pair] = elementwise("where", condition, yes, no)
    return joined[pair]


def _place(error: BaseException, rule: Any) -> str:
    """Return the file and line of an author's code that an error comes from."""
    frames = traceback.extract_tb(error.__traceback__)
    for library in (_LIBRARIES, _LIBRARIES[:1]):  # a rule may be one of this library's own
        if own := [frame for frame in frames if not frame.filename.startswith(library)]:
            return f"{own[-1].filename}:{own[-1].lineno}"
    return _line(rule, "_propose" if str(error).startswith("_propose") else "_learn")


def refusal(rule: Any, hook: str, text: str) -> UntraceableError:
    """Return an error that names the file and line of a hook."""
    return UntraceableError(f"{text} ({_line(rule, hook)})")


def _line(rule: Any, hook: str) -> str:
    """Return the file and line of a hook."""
    code = inspect.unwrap(getattr(type(rule), hook)).__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


# The symbolic rule


def _symbolic(rule: Any, inputs: Mapping[str, Node], trace: Trace, iteration: Node) -> Any:
    """Return a copy of a rule whose set, iteration, and what it learns are symbolic."""
    simplices = SymbolicSimplices(rule.domain, trace)
    trace.first = simplices.first
    symbolic = _copy(rule, simplices)
    _bind(rule, symbolic)
    object.__setattr__(symbolic, "iteration", trace.symbol(iteration))
    object.__setattr__(symbolic, "_strategy", trace.symbol(STRATEGY, writeable=False))
    for path, node in inputs.items():
        hold_at(symbolic, path, trace.symbol(node))
    for path, part in owners(symbolic):
        if path:
            _let_play(part, trace)
    return symbolic


def _copy(rule: Any, simplices: Simplices) -> Any:
    """Return a copy of a rule and its parts on symbolic simplices."""
    symbolic = object.__new__(type(rule))
    for name, value in attributes(rule):
        copied = value
        if isinstance(value, np.random.Generator):
            copied = Unknown("{}() draws random numbers")
        elif isinstance(value, RegretMinimizer):
            copied = _copy(value, simplices)
        elif isinstance(value, Simplices) and value == rule.domain:
            copied = simplices
        elif callable(value):
            copied = _NumberFunction(value)
        object.__setattr__(symbolic, name, copied)
    for name in rule._number_functions:
        object.__setattr__(symbolic, name, _NumberFunction(getattr(rule, name), opaque=True))
    return symbolic


def _bind(rule: Any, symbolic: Any) -> None:
    """Bind the methods of a rule and its parts that these hold to their copies."""
    pairs = list(zip(owners(rule), owners(symbolic), strict=True))
    copies = {id(part): copied for (_, part), (_, copied) in pairs}
    for (_, part), (_, copied) in pairs:
        for name, value in attributes(part):
            if isinstance(value, types.MethodType) and id(value.__self__) in copies:
                bound = types.MethodType(value.__func__, copies[id(value.__self__)])
                object.__setattr__(copied, name, _NumberFunction(bound))


@frozen
class _NumberFunction:
    """A function that a rule was given: one of the iteration need not be traced."""

    function: Callable[..., Any]
    opaque: bool = False

    def __call__(self, *given: Any, **named: Any) -> Any:
        number = given[0] if len(given) == 1 and not named else None
        is_number = isinstance(number, Symbol) and number.node.per is Per.RULE
        if is_number and self.opaque:
            return self._called(number)
        previous = getattr(RAISED, "last", None)
        try:
            return self.function(*given, **named)
        except (UntraceableError, TypeError):
            if not is_number:
                raise
            RAISED.last = previous
            return self._called(number)

    def _called(self, number: Any) -> Any:
        return number.trace.symbol(make("call", number.node, per=Per.RULE, detail=self.function))


def _let_play(part: Any, trace: Trace) -> None:
    """Let a part play and learn on symbols: without the checks of arrays that come from outside."""
    object.__setattr__(part, "_strategy", None)

    def next_strategy() -> Any:
        if part._strategy is None:
            node = trace.node(part._propose())
            played = STRATEGY if node is trace.played else node
            object.__setattr__(part, "_strategy", trace.symbol(played, writeable=False))
        return part._strategy

    def update(utility: Any) -> None:
        part._learn(utility, next_strategy())
        object.__setattr__(part, "iteration", part.iteration + 1)
        object.__setattr__(part, "_strategy", None)

    for name, function in {"next_strategy": next_strategy, "observe_utility": update}.items():
        object.__setattr__(part, name, function)


def _pers(rule: Any) -> dict[str, Per]:
    """Return what each of the arrays that a rule declares as learned has a number for."""
    example = rule
    if rule.domain.dimension == rule.domain.blocks:  # where the shape does not say it
        example = rule.on_domain(Simplices([2, 3]))
        if example is None:
            raise UntraceableError("every block has one action: arrays cannot be told apart")
    for _, part in owners(rule):
        if part.domain != rule.domain:
            raise UntraceableError(f"{quote(part)}, a part of it, plays on another set")
    return {
        prefix + name: _per_of(array, example.domain, prefix + name)
        for prefix, part in owners(example)
        for name, array in learned_by(part).items()
    }


def _per_of(array: Any, simplices: Simplices, path: str) -> Per:
    shapes = {(simplices.dimension,): Per.ACTION, (simplices.blocks,): Per.BLOCK}
    if getattr(array, "shape", None) not in shapes or array.dtype.kind != "f":
        raise UntraceableError(f"{path} is no array of floats by action or block")
    return shapes[array.shape]


def _at_first(rule: Any, sizes: list[int], pers: Iterable[str]) -> dict[str, Any]:
    """Return what a rule over other simplices has learned at first, nothing where there is none."""
    try:
        fresh = rule.on_domain(Simplices(sizes))
    except (TypeError, ValueError):  # its arguments fit its own set alone
        fresh = None
    return {} if fresh is None else {path: held_at(fresh, path) for path in pers}


_PASSING = {"_strategy", "next_strategy", "observe_utility", "_tracker"}
"""Attributes that every minimizer changes."""


def _changed(
    symbolic: Any, old: Mapping[str, Any], inputs: Mapping[str, Node], trace: Trace
) -> list[str]:
    """Return the paths of what a hook changed."""
    changed = [path for path in inputs if trace.node(held_at(symbolic, path)) is not inputs[path]]
    constants = _kept_constants(symbolic)
    for path, new in _attributes(symbolic).items():
        unchanged = old.get(path) is new or isinstance(new, RegretMinimizer) or path in constants
        if not unchanged and path not in inputs:
            changed.append(path)
    return changed


def _namespaces(rule: Any) -> list[dict[str, Any]]:
    """Return the namespaces of the modules that define a rule and its parts."""
    held = [part for _, part in owners(rule)]
    held += [value for part in held for _, value in attributes(part)]
    kinds = {kind for value in held for kind in type(value).__mro__}
    functions = [item for kind in kinds for item in vars(kind).values()]
    spaces = {
        id(item.__globals__): item.__globals__
        for item in functions
        if isinstance(item, types.FunctionType)
    }
    spaces |= {id(space): space for space in map(_module_of, kinds) if space is not None}
    return list(spaces.values())


def _module_of(kind: type) -> dict[str, Any] | None:
    module = sys.modules.get(kind.__module__)
    fixed = kind.__module__ in ("builtins", "abc", "numpy", "typing", "math")
    return None if module is None or fixed else vars(module)
