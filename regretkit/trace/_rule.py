"""Tracing of a rule: its hooks are run once on symbols, which record what they compute."""

import copy
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, final

import numpy as np
from attrs import frozen

from regretkit._util._state import attributes
from regretkit.sets import Simplices
from regretkit.trace._block_symbols import STRATEGY, UTILITY, SymbolicOps
from regretkit.trace._graph import ITERATION, ONE, Node, Per, again, elementwise, make
from regretkit.trace._math import places_of_functions, symbolic_functions
from regretkit.trace._symbols import Symbol, Trace, UntraceableError

_MOST_RUNS = 64
"""Of one hook, for decisions by the iteration."""


@final
@frozen(eq=False)
class RuleGraph:
    """What a rule computes: the strategy that it proposes, and the arrays that it learns.

    Their inputs are the arrays by name, ``"utility"``, ``"strategy"``, ``"value"``, and the
    iteration t: that of the utility for ``learned``, and its successor's predecessor for
    ``strategy``, which follows from t utilities.
    """

    strategy: Node
    learned: Mapping[str, Node]
    per: Mapping[str, Per]
    """What each array has a number for."""
    least: Mapping[str, float]
    """The least number of each array at first, minus infinity where it is not known;"""
    alone: Mapping[str, float]
    """what it is at first in a block with a single action; nothing where that is not known."""


def trace_rule(rule: Any) -> RuleGraph:
    """Return the graph of a rule.

    Raises
    ------
    UntraceableError
        When the rule does what no graph can say, with the place in its code.
    """
    pers = _pers(rule)
    graphs = [_traced(rule, pers) for _ in range(2)]
    if graphs[0].strategy is not graphs[1].strategy or graphs[0].learned != graphs[1].learned:
        raise UntraceableError(
            f"{type(rule).__name__} computes something else every time, as with random numbers; "
            "a compiled rule computes with what it learned alone"
        )
    return graphs[0]


def _traced(rule: Any, pers: Mapping[str, Per]) -> RuleGraph:
    def propose(trace: Trace) -> dict[str, Node]:
        symbolic = _symbolic(rule, pers, trace, ITERATION)
        before = _held(symbolic)
        strategy = symbolic._propose()
        _refuse_changes(symbolic, before, pers, "_propose")
        return {"strategy": _as(Per.ACTION, strategy, trace, "_propose returns")}

    def learn(trace: Trace) -> dict[str, Node]:
        symbolic = _symbolic(rule, pers, trace, elementwise("subtract", ITERATION, ONE))
        before = _held(symbolic)
        symbolic._learn(
            trace.symbol(UTILITY, writeable=False), trace.symbol(STRATEGY, writeable=False)
        )
        _refuse_changes(symbolic, before, pers, "_learn")
        learned = symbolic._learned()
        if learned.keys() != pers.keys():
            raise UntraceableError(
                f"_learn changes the names of what is learned to {list(learned)}"
            )
        return {name: _as(pers[name], learned[name], trace, f"{name} becomes") for name in pers}

    spaces = _namespaces(rule)
    strategy = _all_ways(rule, propose, spaces)["strategy"]
    learned = _all_ways(rule, learn, spaces)
    few, one = _at_first(rule, [2, 3]), _at_first(rule, [1])
    least = {name: float(np.min(few[name])) if name in few else -np.inf for name in pers}
    alone = {name: float(array[0]) for name, array in one.items()}
    return RuleGraph(strategy, learned, pers, least, alone)


def _as(per: Per, value: Any, trace: Trace, what: str) -> Node:
    node = trace.node(value)
    if isinstance(value, Symbol) and value.mask is not None:
        raise UntraceableError(f"{what} x[mask], whose shape depends on the mask")
    if node.boolean:
        node = elementwise("as_float", node)
    if node.per is not per:
        if node.per is Per.RULE and isinstance(value, Symbol) is False and per is not Per.RULE:
            raise UntraceableError(f"{what} a number, and no array")
        raise UntraceableError(f"{what} an array of the wrong shape")
    return node


def _all_ways(
    rule: Any, run: Callable[[Trace], dict[str, Node]], namespaces: list[dict[str, Any]]
) -> dict[str, Node]:
    """Run a hook for both outcomes of every decision by the iteration, and join what comes out."""
    shape, runs = (rule.simplices.blocks, rule.simplices.dimension), 0
    held = frozenset(id(value) for _, value in attributes(rule))
    places = places_of_functions(namespaces)

    def join(taken: tuple[bool, ...]) -> dict[str, Node]:
        nonlocal runs
        runs += 1
        if runs > _MOST_RUNS:
            raise UntraceableError(
                "Python decides by the iteration in too many ways, as in a loop; use np.where"
            )
        trace = Trace(*shape, taken, held)
        try:
            with symbolic_functions(places, trace), np.errstate(all="ignore"):
                outputs = run(trace)
        except UntraceableError as error:
            raise UntraceableError(f"{error} ({_place(error)})") from None
        except Exception as error:
            raise UntraceableError(f"{type(error).__name__}: {error} ({_place(error)})") from error
        if len(trace.conditions) == len(taken):
            return outputs
        condition = trace.conditions[len(taken)]
        yes, no = join((*taken, True)), join((*taken, False))
        return {name: _either(condition, yes[name], no[name], {}) for name in yes}

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


def _place(error: BaseException) -> str:
    """Return the file and line of an author's code that an error comes from."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "/regretkit/trace/" not in f.filename.replace("\\", "/")]
    frame = (own or frames)[-1]
    return f"{frame.filename}:{frame.lineno}"


# The symbolic rule


def _symbolic(rule: Any, pers: Mapping[str, Per], trace: Trace, iteration: Node) -> Any:
    """Return a copy of a rule whose set, arrays and iteration are symbolic."""
    symbolic = object.__new__(type(rule))
    for name, value in attributes(rule):
        if isinstance(value, np.random.Generator):
            value = _Drawing()
        if type(value) in (dict, list):
            value = copy.copy(value)
        object.__setattr__(symbolic, name, value)
    simplices = copy.copy(rule.simplices)
    trace.first = simplices.first
    simplices._ops = SymbolicOps(rule.simplices._ops, trace)
    simplices.sizes = trace.symbol(make("size", per=Per.BLOCK), writeable=False)
    object.__setattr__(symbolic, "simplices", simplices)
    object.__setattr__(symbolic, "domain", simplices)
    object.__setattr__(symbolic, "iteration", trace.symbol(iteration))
    object.__setattr__(symbolic, "_strategy", trace.symbol(STRATEGY, writeable=False))
    for name, per in pers.items():
        symbolic._hold(name, trace.symbol(make("input", per=per, detail=name)))
    return symbolic


class _Drawing:
    """Stands for a random generator."""

    def __getattr__(self, name: str) -> Any:
        raise UntraceableError(f"{name}() draws random numbers")


def _pers(rule: Any) -> dict[str, Per]:
    """Return what each of the arrays that a rule learns has a number for."""
    learned, simplices = rule._learned(), rule.simplices
    if simplices.dimension == simplices.blocks:  # where the shape does not say it
        rule = rule.on_domain(Simplices([2, 3]))
        if rule is None:
            raise UntraceableError("every block has one action: arrays cannot be told apart")
        learned, simplices = rule._learned(), rule.simplices
    shapes = {(simplices.dimension,): Per.ACTION, (simplices.blocks,): Per.BLOCK}
    for name, array in learned.items():
        if getattr(array, "shape", None) not in shapes or array.dtype.kind != "f":
            raise UntraceableError(f"{name} is no array of floats by action or block")
    return {name: shapes[array.shape] for name, array in learned.items()}


def _at_first(rule: Any, sizes: list[int]) -> Mapping[str, Any]:
    """Return what a rule over other simplices has learned at first, nothing where there is none."""
    try:
        fresh = rule.on_domain(Simplices(sizes))
    except (TypeError, ValueError):  # its arguments fit its own set alone
        return {}
    return {} if fresh is None else fresh._learned()


def _held(symbolic: Any) -> dict[str, tuple[Any, ...]]:
    """Return what a rule holds, and what is in dicts and lists that it holds."""
    return {name: (value, *_entries(value)) for name, value in attributes(symbolic)}


def _entries(value: Any) -> tuple[Any, ...]:
    if type(value) is dict:
        return tuple(value.values())
    return tuple(value) if type(value) is list else ()


def _refuse_changes(
    symbolic: Any, before: Mapping[str, tuple[Any, ...]], pers: Mapping[str, Per], hook: str
) -> None:
    """Refuse that a hook changed what is not declared as learned, or not to be changed by it."""
    learned = symbolic._learned()
    if hook == "_propose":
        for name, per in pers.items():
            if learned[name].node is not make("input", per=per, detail=name):
                raise UntraceableError(f"_propose changes self.{name}; let _learn change it")
    known = {id(array) for array in learned.values()} | {id(learned)}
    for name, value in attributes(symbolic):
        old = before.get(name, (None,))
        new = (value, *_entries(value))
        same = len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True))
        if not same and not (hook == "_learn" and (id(value) in known or name in pers)):
            raise UntraceableError(
                f"{hook} sets self.{name}, which is not declared; declare an array with state(), "
                "and let _learn alone change it"
            )


def _namespaces(rule: Any) -> list[dict[str, Any]]:
    """Return the namespaces of the modules that define a rule and its parts."""
    kinds = {kind for kind in type(rule).__mro__}
    kinds |= {kind for _, value in attributes(rule) for kind in type(value).__mro__}
    modules = {kind.__module__ for kind in kinds} - {"builtins", "abc", "numpy", "typing", "math"}
    return [vars(sys.modules[name]) for name in sorted(modules) if name in sys.modules]
