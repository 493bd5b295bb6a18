"""Trace a rule: run its hooks on symbols, which record a graph."""

import contextlib
import copy
import functools
import inspect
import random
import sys
import traceback
import types
import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

from regretkit._compiler import LOCK
from regretkit._state import Stateful, is_ours, parts
from regretkit._util._validate import quote
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import Simplices, StrategySet
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
    number_after,
    number_before,
)
from regretkit.trace._symbols import (
    KIND,
    MIXES,
    RAISED,
    STRATEGY,
    UTILITY,
    DivisorError,
    DomainError,
    HeldArray,
    Symbol,
    SymbolicSimplices,
    Trace,
    Unknown,
    UntraceableError,
    WrittenError,
    places_of_functions,
    symbolic_functions,
)

_TRACE = Path(__file__).parent
_LIBRARIES = (str(_TRACE), str(_TRACE.parent), str(Path(np.__file__).parent), contextlib.__file__)
_MOST_RUNS = 64
"""Most runs of one hook, for its branches on the iteration."""


@frozen(eq=False)
class RuleGraph:
    """The graph of a rule: its next state and its next strategy.

    Inputs are the state by path, ``"utility"``, ``"strategy"``, ``"value"`` and the iteration t.
    ``learned`` is the state after iteration t, and ``strategy`` the strategy that follows.
    """

    strategy: Node
    learned: Mapping[str, Node]
    numbers: Mapping[str, Node]
    """Scalar state, which depends on scalar state and the iteration only."""
    per: Mapping[str, Per]
    """Whether each array is by action or by block."""
    minimum: Mapping[str, float]
    """The least initial entry of each array, minus infinity if unknown."""
    alone: Mapping[str, float]
    """The initial entry of each array in a block with one action; empty if unknown."""

    @property
    def outputs(self) -> list[Node]:
        """The nodes of the strategy and of all arrays."""
        return [self.strategy, *self.learned.values()]

    @property
    def inputs(self) -> dict[str, Node]:
        """The input node of each array."""
        return {path: make("input", per=per, detail=path) for path, per in self.per.items()}


# Attributes of a rule, by path


def owners(minimizer: Any) -> Iterator[tuple[str, Any]]:
    """Yield a minimizer and its parts, each with its path, except the ``core_of`` a tree."""
    yield "", minimizer
    inner = _inner_of(minimizer)
    if inner is not None and _inner_of(inner[1]) is None:
        return
    for name, value in parts(minimizer):
        if isinstance(value, RegretMinimizer):
            for path, part in owners(value):
                yield f"{name}.{path}", part


def core_of(minimizer: Any) -> Any:
    """Return the minimizer within circuits around a tree, such as CFR, or the minimizer itself."""
    while (inner := _inner_of(minimizer)) is not None:
        minimizer = inner[1]
    return minimizer


def core_path(minimizer: Any) -> str | None:
    """Return the path of the core within circuits around a tree, or None without circuits."""
    names = list[str]()
    while (inner := _inner_of(minimizer)) is not None:
        name, minimizer = inner
        names.append(name)
    return ".".join(names) or None


def _inner_of(minimizer: Any) -> tuple[str, Any] | None:
    """Return the only part of a circuit around a tree, with its path, or None."""
    if isinstance(minimizer.domain, Simplices) or minimizer.dimension == 1:
        return None
    inner = [(name, x) for name, x in parts(minimizer) if isinstance(x, RegretMinimizer)]
    return inner[0] if len(inner) == 1 and inner[0][1].domain == minimizer.domain else None


def held_at(minimizer: Any, path: str) -> Any:
    """Return the value at a path."""
    return getattr(*_owner(minimizer, path))


def hold_at(minimizer: Any, path: str, value: Any) -> None:
    """Set the value at a path."""
    object.__setattr__(*_owner(minimizer, path), value)


def _owner(minimizer: Any, path: str) -> tuple[Any, str]:
    prefix, dot, name = path.rpartition(".")
    return dict(owners(minimizer))[prefix + dot] if dot else minimizer, name


_PASSING = {"_strategy", "_tracker", "_kernels", "next_strategy", "observe_utility"}
"""Attributes that the base class adds to every minimizer."""
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, np.ufunc)
_ATOMS = (bool, int, str, bytes, complex, types.NoneType, type, *_CODE)
_RANDOM = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)


@functools.cache
def _slots(kind: type) -> dict[str, Any]:
    named = [item for base in kind.__mro__ for item in vars(base).items()]
    return {name: x for name, x in named if isinstance(x, types.MemberDescriptorType)}


def _values(part: Any) -> dict[str, Any]:
    """Return an object's attributes, slots included, without computing cached properties."""
    found = dict[str, Any]()
    for name, slot in _slots(type(part)).items():  # type: ignore[arg-type]
        with contextlib.suppress(AttributeError):
            found[name] = slot.__get__(part)
    found.update(vars(part))
    return found


def _of_class(part: Any) -> dict[str, Any]:
    """Return mutable class attributes of the classes outside regretkit."""
    kinds = [kind for kind in type(part).__mro__ if not kind.__module__.startswith("regretkit.")]
    held = {name: value for kind in reversed(kinds) for name, value in vars(kind).items()}
    mutable = (list, dict, set, np.ndarray)
    return {n: x for n, x in held.items() if n[:2] != "__" and isinstance(x, mutable)}


def declared(rule: Any) -> list[str]:
    """Return the paths of the state arrays that a rule and its parts declare."""
    rules = ((path, part) for path, part in owners(rule) if hasattr(part, "_learned"))
    core = core_path(rule)
    return [path + name for path, part in rules for name in part._learned()] + [core] * bool(core)


def _all(part: Any) -> dict[str, Any]:
    return _of_class(part) | _values(part)


def held_by(owned: Mapping[str, Any], learned: Container[str]) -> dict[str, tuple[object, ...]]:
    """Return the attributes of ``owners`` other than state, in a comparable form."""
    found: dict[str, tuple[object, ...]] = {}
    for path, part in owned.items():
        found[path] = (type(part),)
        for name, value in _all(part).items():
            if name not in _PASSING and path + name not in learned:
                seen = {id(part): number for number, part in enumerate(owned.values())}
                found[path + name] = tuple(_contents(value, seen))
    del found["iteration"]
    return found


def _contents(value: Any, seen: dict[int, int]) -> Iterator[object]:
    """Yield what identifies a value: types, bits of numbers, contents of containers."""
    if isinstance(value, _NumberFunction | SymbolicSimplices):
        value = value.function if isinstance(value, _NumberFunction) else value.actual
    if type(value) is Symbol:
        yield from (Symbol, id(value))
    elif isinstance(value, (Unknown, *_RANDOM)):
        yield Unknown
    elif isinstance(value, float | np.generic):
        yield from (type(value), np.asarray(value).tobytes())
    elif isinstance(value, _ATOMS):
        yield from (type(value), value)
    elif _is_fixed(value):
        yield value
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield from (value.dtype, value.shape, value.tobytes())
    elif id(value) in seen:
        yield seen[id(value)]
    else:
        seen[id(value)] = len(seen)
        yield type(value)
        for item in _inside(value):
            yield from _contents(item, seen)


def _inside(value: Any) -> Iterable[object]:
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if isinstance(value, dict):
        return [*value, *value.values()]
    try:
        reduced = value.__reduce_ex__(4)
    except Exception:  # some objects of C extensions
        return [id(value)]
    return [[*x] if isinstance(x, Iterator) else x for x in reduced]


def _is_fixed(value: object) -> bool:
    """Return whether a value is an immutable object of regretkit, such as a set."""
    return isinstance(value, StrategySet) or (
        is_ours(value) and not isinstance(value, Stateful) and type(value).__hash__ is not None
    )


def is_plain(contents: Iterable[object]) -> bool:
    """Return whether a value holds no array, no function and no object of another library."""
    known = {"regretkit", "numpy", "builtins"}
    kinds = [item for item in contents if isinstance(item, type)]
    of_others = any(kind.__module__.partition(".")[0] not in known for kind in kinds)
    return not of_others and not any(isinstance(item, (np.dtype, *_CODE)) for item in contents)


# Tracing


def trace_rule(rule: Any) -> RuleGraph:
    """Return the graph of a rule, or of a circuit around one on the same simplices or tree.

    Circuits around a tree compute each sequence separately. The path of their core, such as CFR, is
    an array: the core's strategy before ``_learn``, and the utility it observes after.

    Raises
    ------
    UntraceableError
        If the code cannot be traced. The message has the file and line.
    """
    if not isinstance(rule.domain, Simplices) and core_path(rule) is None:
        raise UntraceableError(f"its domain is {quote(rule.domain)}, not simplices")
    with LOCK:
        tracing = _Tracing(rule)
        while True:
            tracing.refuse_shared()
            try:
                first, other = tracing.graph(), tracing.graph()
                break
            except _LearnedError as found:
                tracing.learn_too(found.path)
    if first.strategy is not other.strategy:
        raise refusal(rule, "_propose", _UNSTEADY)
    if (first.learned, first.numbers) != (other.learned, other.numbers):
        raise refusal(rule, "_learn", _UNSTEADY)
    if any(map(_loses_digits, nodes_of(first.numbers.values()))):
        raise refusal(rule, "_learn", _INEXACT)
    if core_path(rule) and any(n.per is Per.BLOCK for n in nodes_of(first.outputs)):
        raise refusal(rule, "_learn", _ALONE)
    return first


_UNSTEADY = (
    "its result changes from call to call, as with random numbers or a global counter; compute "
    "from the rule's state only"
)


_INEXACT = "a number is multiplied and then divided (%, //): floats lose digits of large integers"


def _loses_digits(node: Node) -> bool:
    """Return whether floats may lose digits of Python's integers, as in a linear generator."""
    divides = node.op in ("remainder", "floor_divide", "fmod")
    return divides and any(inner.op == "multiply" for inner in nodes_of(node.args[:1]))


_ALONE = "around a tree, the result for a sequence must depend on that sequence alone"


class _LearnedError(Exception):
    """A hook changes an array or a number that did not count as state so far."""

    def __init__(self, path: str) -> None:
        self.path = path


class _Tracing:
    """A rule and its state: the arrays and numbers that its hooks change."""

    def __init__(self, rule: Any) -> None:
        self.rule, self.parts, self._core = rule, dict(owners(rule)), core_path(rule)
        # Circuits around a tree see all sequences as one block.
        self._simplices = Simplices(rule.dimension) if self._core else rule.domain
        self.per: dict[str, Per] = {}
        self.numbers: list[str] = []
        for part in self.parts.values():
            if part.domain != rule.domain:
                raise UntraceableError(f"its part {quote(part)} plays on another set")
        self._example = rule
        if self._simplices.dimension == self._simplices.blocks:  # shapes are ambiguous
            self._example = rule.on_domain(Simplices([2, 3]))
            if self._example is None:
                raise UntraceableError(
                    "every block has one action, so arrays by action look like arrays by block"
                )
        for path in declared(rule):
            self._learn_array(path)
        self.held = held_by(self.parts, self.per)
        self._before = {path: _values(part) for path, part in self.parts.items()}
        self._opaque = {
            path + name: _NumberFunction(partial(getattr(type(part), name), weakref.proxy(part)))
            for path, part in self.parts.items()
            for name in part._number_functions
        }
        self._places = places_of_functions(_namespaces(self.parts.values()))

    def graph(self) -> RuleGraph:
        """Run both hooks, and return their graph."""
        strategy, learned = self._all_ways(self._propose), self._all_ways(self._learn)
        wide, single = self._at_first([2, 3]), self._at_first([1])
        minimum = {path: float(np.min(wide.get(path, -np.inf))) for path in self.per}
        alone = {path: float(array[0]) for path, array in single.items()}
        numbers = {path: learned.pop(path) for path in self.numbers}
        return RuleGraph(strategy["strategy"], learned, numbers, dict(self.per), minimum, alone)

    def _at_first(self, sizes: list[int]) -> dict[str, Any]:
        """Return the initial state of such a rule on other simplices, empty if it has none."""
        if self._core:
            return {}
        try:
            fresh = self.rule.on_domain(Simplices(sizes))
        except (TypeError, ValueError):  # its arguments fit its own set only
            fresh = None
        return {} if fresh is None else {path: held_at(fresh, path) for path in self.per}

    def _owner(self, path: str) -> tuple[Any, str]:
        prefix, dot, name = path.rpartition(".")
        return self.parts[prefix + dot], name

    def _held_at(self, path: str) -> Any:
        return getattr(*self._owner(path))

    # State

    def learn_too(self, path: str) -> None:
        """Add an array or a number to the state."""
        if isinstance(self._held_at(path), np.ndarray):
            self._learn_array(path)
        else:
            self.numbers.append(path)

    def _learn_array(self, path: str) -> None:
        if path == self._core:
            self.per[path] = Per.ACTION
            return
        array = held_at(self._example, path)
        simplices = self._simplices if self._core else self._example.domain
        shapes = {(simplices.dimension,): Per.ACTION, (simplices.blocks,): Per.BLOCK}
        if getattr(array, "shape", None) not in shapes or array.dtype.kind != "f":
            text = f"self.{path} must be an array of floats by action or block"
            raise refusal(self.rule, "_learn", text)
        self.per[path] = shapes[array.shape]

    def refuse_shared(self) -> None:
        """Raise an error if another attribute shares memory with a state array."""
        held = {path + n: x for path, part in self.parts.items() for n, x in _all(part).items()}
        arrays = {path: value for path, value in held.items() if isinstance(value, np.ndarray)}
        for path in self.per.keys() & arrays.keys():
            for other, array in arrays.items():
                if other != path and np.may_share_memory(array, arrays[path]):
                    text = f"self.{other} and self.{path} share memory; use self.{path}"
                    raise refusal(self.rule, "_learn", text)

    # The hooks

    def _propose(self, trace: Trace) -> dict[str, Node]:
        with self._symbolic(trace, ITERATION, number_after) as inputs:
            strategy = self.rule._propose()
            held = {p: trace.node(self._held_at(p)) for p in inputs if p != self._core}
            changed = [path for path in held if held[path] is not inputs[path]]
            if changed := [*changed, *self._changed(inputs)]:
                raise UntraceableError(f"_propose changes self.{changed[0]}; change it in _learn")
            return {"strategy": _as(Per.ACTION, strategy, trace, "_propose returns")}

    def _learn(self, trace: Trace) -> dict[str, Node]:
        before = elementwise("subtract", ITERATION, ONE)
        with self._symbolic(trace, before, number_before) as inputs:
            inner = [part for path, part in self.parts.items() if path]
            if inner:  # a part may play the circuit's own strategy
                trace.played = trace.node(self.rule._propose())
                for part in inner:
                    part._strategy = None
            utility, played = (trace.symbol(name, writeable=False) for name in (UTILITY, STRATEGY))
            if self.rule._learn(utility, played) is not None:
                raise UntraceableError("_learn must return None, and change self instead")
            for path in self._changed(inputs):
                self._take_for_learned(path)
            learned = {path: self._held_at(path) for path in inputs}
            if self._core:
                learned[self._core] = self._held_at(self._core).observed
                if learned[self._core] is None:
                    text = "_learn must call observe_utility of its part in every iteration"
                    raise UntraceableError(text)
            _refuse_one_array(learned)
            return {p: _as(inputs[p].per, x, trace, f"{p} becomes") for p, x in learned.items()}

    @contextlib.contextmanager
    def _symbolic(
        self, trace: Trace, iteration: Node, number: Callable[[str], Node]
    ) -> Iterator[dict[str, Node]]:
        """Replace the rule's state by symbols and other attributes by copies; restore them."""
        inputs = {path: make("input", per=per, detail=path) for path, per in self.per.items()}
        inputs |= {path: number(path) for path in self.numbers}
        held: dict[str, Any] = {path: trace.symbol(node) for path, node in inputs.items()}
        held |= self._opaque
        held["iteration"] = trace.symbol(iteration)
        copies: dict[int, Any] = {id(part): part for part in self.parts.values()}
        copies |= {id(self._held_at(path)): held[path] for path in self.per}
        if self._core:
            held[self._core] = _Core(held[self._core], self._held_at(self._core).domain)
        simplices = SymbolicSimplices(self._simplices, trace)
        trace.first = simplices.first
        for path, part in self.parts.items():
            for name, value in _all(part).items():
                if isinstance(value, Simplices) and value == self.rule.domain:
                    held[path + name] = simplices
                elif name not in _PASSING and path + name not in held:
                    held[path + name] = _copied(path + name, value, copies)
        try:
            for path, value in held.items():
                object.__setattr__(*self._owner(path), value)
            for path in filter(None, self.parts):
                _let_play(self.parts[path], trace)
            self.rule._strategy = trace.symbol(STRATEGY, writeable=False)
            yield inputs
        except WrittenError as error:
            found = [path for path, value in held.items() if value is error.array]
            if not found:
                raise
            raise _LearnedError(found[0]) from None
        finally:
            self._restore()

    def _restore(self) -> None:
        for path, part in self.parts.items():
            for name in _values(part).keys() - self._before[path].keys():
                object.__delattr__(part, name)
            for name, value in self._before[path].items():
                object.__setattr__(part, name, value)

    def _changed(self, inputs: Iterable[str]) -> list[str]:
        """Return the paths of attributes that a hook changed, apart from the inputs."""
        now = held_by(self.parts, self.per)
        other = {path for path in {**self.held, **now} if self.held.get(path) != now.get(path)}
        return sorted(other - {*inputs, *self._opaque, *self._kept_constants()})

    def _kept_constants(self) -> Iterator[str]:
        """Yield the paths of cached properties; raise an error if their values would change."""
        for path, part in self.parts.items():
            for name in _values(part).keys() - self._before[path].keys():
                if path + name in self.numbers:  # the initial value is a class attribute
                    continue
                value = getattr(part, name)
                nodes = nodes_of([value.node]) if isinstance(value, Symbol) else ()
                if any(node.op in ("input", "iteration") for node in nodes):
                    raise UntraceableError(
                        f"self.{name} is computed once, but depends on values that change; write "
                        "@property instead of @cached_property"
                    )
                kept = getattr(type(part), name, None)
                if isinstance(kept, functools.cached_property | types.MemberDescriptorType):
                    yield path + name

    def _take_for_learned(self, path: str) -> None:
        """Add an attribute that _learn changes to the state; it must be an array or a number."""
        prefix, dot, name = path.rpartition(".")
        own = self._before[prefix + dot]
        value = own.get(name, getattr(type(self.parts[prefix + dot]), name, None))
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number and not isinstance(value, np.ndarray):
            raise UntraceableError(
                f"_learn sets self.{path}, which was neither an array nor a number; "
                "declare an array with state()"
            )
        raise _LearnedError(path)

    # Branches on the iteration

    def _all_ways(self, hook: Callable[[Trace], dict[str, Node]]) -> dict[str, Node]:
        """Run a hook for both outcomes of each branch on the iteration, and join the results."""
        rule, runs = self.rule, 0

        def join(taken: tuple[bool, ...]) -> dict[str, Node] | None:
            nonlocal runs
            runs += 1
            if runs > _MOST_RUNS:
                text = "the code branches on the iteration in too many ways; use np.where"
                raise refusal(rule, hook.__name__, text)
            trace = Trace(self._simplices.blocks, self._simplices.dimension, taken)
            outputs: dict[str, Node] | None = None
            try:
                with symbolic_functions(self._places, trace), np.errstate(all="ignore"):
                    outputs = hook(trace)
            except _LearnedError:
                raise
            except (DivisorError, DomainError):
                pass
            except UntraceableError as error:
                text = _ALONE if self._core and MIXES in str(error) else str(error)
                raise UntraceableError(f"{text} ({_place(error, rule)})") from None
            except Exception as error:
                told = f"{type(error).__name__}: {error} ({_place(error, rule)})"
                raise UntraceableError(told) from error
            for k in reversed(range(len(taken), len(trace.conditions))):  # branches taken as true
                condition = trace.conditions[k]
                other = join((*taken, *[True] * (k - len(taken)), False))
                if outputs is None or other is None:  # one outcome raises an error in NumPy, too
                    outputs = outputs or other
                else:
                    outputs = {n: _either(condition, x, other[n], {}) for n, x in outputs.items()}
            return outputs

        with np.errstate(all="ignore"):  # tracing folds constants
            outputs = join(())
        if outputs is None:
            raise refusal(rule, hook.__name__, "a number is divided by zero in every iteration")
        return outputs


class _Core:
    """Replaces the core of circuits: it plays a symbol, and stores the utility it observes."""

    def __init__(self, strategy: Symbol, domain: StrategySet) -> None:
        self._strategy, self.domain, self.dimension = strategy, domain, domain.dimension
        self.observed: Any = None

    def next_strategy(self) -> Any:
        """Return the core's strategy in this iteration."""
        if self.observed is not None:
            raise UntraceableError("_learn calls next_strategy of its part after observe_utility")
        return self._strategy

    def observe_utility(self, utility: Any) -> None:
        """Store the utility."""
        if self.observed is not None:
            raise UntraceableError("_learn calls observe_utility of its part twice")
        self.observed = utility

    def __getattr__(self, name: str) -> Any:
        raise UntraceableError(
            f"it uses .{name} of its part; only next_strategy and observe_utility are supported"
        )


def _copied(path: str, value: Any, copies: dict[int, Any]) -> Any:
    """Return a copy of a rule's attribute, which its code may change."""
    if isinstance(value, _RANDOM):
        return Unknown("{}() draws random numbers")
    if _is_fixed(value):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.copy().view(HeldArray)
    try:
        copied: Any = copy.deepcopy(value, copies)
    except Exception as error:
        raise UntraceableError(f"self.{path} cannot be copied: {error}") from None
    return _NumberFunction(copied, value) if callable(value) else copied


def _refuse_one_array(changed: Mapping[str, Any]) -> None:
    """Raise an error if two state arrays become one: a change in place would change both."""
    first: dict[int, str] = {}
    for path, value in changed.items():
        if isinstance(value, Symbol) and value.node.per is not Per.RULE:
            other = first.setdefault(id(value), path)
            if other != path:
                raise UntraceableError(
                    f"self.{other} and self.{path} become one array; write self.{path} = "
                    f"self.{other}.copy()"
                )


def _as(per: Per, value: Any, trace: Trace, role: str) -> Node:
    if isinstance(value, Symbol) and value.mask is not None:
        raise UntraceableError(f"{role} x[mask], whose shape depends on the mask")
    node = as_float(trace.node(value))
    if node.per is not per:
        raise UntraceableError(f"{role} {KIND[node.per]}, expected {KIND[per]}")
    return node


def _either(condition: Node, yes: Node, no: Node, joined: dict[tuple[Node, Node], Node]) -> Node:
    """Return ``yes`` where a condition holds, otherwise ``no``, merged below equal operations.

    Conditions then select numbers rather than whole arrays where possible.
    """
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
        else:
            joined[pair] = elementwise("where", condition, yes, no)
    return joined[pair]


def _place(error: BaseException, rule: Any) -> str:
    """Return the file and line of the rule's code that caused an error."""
    frames = traceback.extract_tb(error.__traceback__)
    for library in (
        _LIBRARIES,
        (_LIBRARIES[0], contextlib.__file__),
    ):  # the rule may belong to regretkit
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


@frozen
class _NumberFunction:
    """A function attribute of a rule; a function of the iteration need not be traceable."""

    function: Callable[..., Any]
    original: Callable[..., Any] | None = None
    """The function to call in each iteration; None if ``function`` is never traced."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        number = given[0] if len(given) == 1 and not named else None
        if not isinstance(number, Symbol) or number.node.per is not Per.RULE:
            return self.function(*given, **named)
        previous = getattr(RAISED, "last", None)
        try:
            if self.original is not None:
                return self.function(number)
        except (UntraceableError, TypeError):
            RAISED.last = previous
        called = self.original or self.function
        return number.trace.symbol(make("call", number.node, per=Per.RULE, detail=called))


def _let_play(part: Any, trace: Trace) -> None:
    """Replace a part's methods by versions for symbols, without checks of arguments."""
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


def _namespaces(held: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the namespaces of modules that define a rule's parts or their attributes."""
    values = [value for part in held for value in (part, *_values(part).values())]
    kinds = {kind for value in values for kind in type(value).__mro__}
    items = [item for kind in kinds for item in vars(kind).values()] + values
    spaces = [item.__globals__ for item in items if isinstance(item, types.FunctionType)]
    names = {kind.__module__ for kind in kinds} - {"builtins", "abc", "numpy", "typing", "math"}
    spaces += [vars(sys.modules[name]) for name in names & sys.modules.keys()]
    return list({id(space): space for space in spaces}.values())
