"""Records of information sets, created at the first visit, each with a rule of its own."""

import abc
import copy
import math
import pickle
from collections.abc import Callable, Hashable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from attrs import define, field, setters
from typing_extensions import override

from regretkit._util._state import generators
from regretkit._util._typing import Vector
from regretkit._util._validate import ATOL, quote
from regretkit.circuits._base import LocalRule, local_minimizer
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import SimplexRule
from regretkit.sets import Simplices
from regretkit.trace import Kernel
from regretkit.trace._find import kernel_or_none

Numbers: TypeAlias = list[float]
Learned: TypeAlias = dict[str, Any]
"""What was learned, as it is in files."""


# With its hooks, attrs would look at every attribute that is set, in every visit.
@define(eq=False, on_setattr=setters.NO_OP)
class InfosetRecord(abc.ABC):
    """What is known of one information set.

    The average is a sum along sequences, and lazy: the strategy does not change between visits, so
    a visit adds for all iterations since the last one at once.
    """

    key: Hashable
    actions: Sequence[Hashable] = field(converter=tuple)
    parent: "InfosetRecord | None" = None
    parent_action: int = 0
    """The player's last information set and action before this one."""
    strategy: Numbers = field(init=False)
    cumulative: Numbers = field(init=False)
    total: Numbers = field(init=False)
    """Weighted sum of the sequence form, for each action."""
    reach: float = field(default=0.0, init=False)
    """Weighted sum of the sequence before this information set, as of the last visit."""
    has_learned: bool = field(default=False, init=False)
    """Whether its player came here to learn, and not only played here."""
    is_lazy: bool = field(default=False, init=False)
    """Whether ``update`` makes up for iterations in which every action earned 0."""

    def __attrs_post_init__(self) -> None:
        self.total = [0.0] * len(self.actions)
        self.play(self._initial_strategy())

    @abc.abstractmethod
    def _initial_strategy(self) -> Numbers:
        """Return the first strategy."""

    @abc.abstractmethod
    def _rule_name(self) -> str:
        """Return whose strategy it is."""

    def play(self, strategy: Numbers) -> None:
        """Set the strategy, and its cumulative sums."""
        self.strategy, self.cumulative = strategy, list(accumulate(strategy))
        if not (abs(self.cumulative[-1] - 1.0) <= ATOL and min(strategy) >= -ATOL):
            raise invalid_strategy(self._rule_name(), self.key, strategy)

    def settle(self, weight: float) -> None:
        """Add what was played since the last visit; ``weight`` is that of the empty sequence.

        The information sets before must have been settled.
        """
        reach = weight if self.parent is None else self.parent.total[self.parent_action]
        gained = reach - self.reach
        if gained != 0.0:
            pairs = zip(self.total, self.strategy, strict=True)
            self.total[:] = [total + gained * probability for total, probability in pairs]
            self.reach = reach

    @abc.abstractmethod
    def update(self, utility: Numbers, value: float) -> None:
        """Learn from utilities, and set the next strategy."""

    @abc.abstractmethod
    def copy(self, *place: Any) -> "InfosetRecord":
        """Return the record of another information set, which has learned the same."""

    @abc.abstractmethod
    def learned(self) -> Learned:
        """Return what was learned."""

    @abc.abstractmethod
    def restore(self, learned: Learned) -> None:
        """Take what was learned from a file."""


def invalid_strategy(rule: str, infoset: Hashable, strategy: Numbers) -> ValueError:
    """Return the refusal of a strategy that is none."""
    place = "for iteration 1" if infoset is None else f"at information set {quote(infoset)}"
    return ValueError(
        f"the strategy that {rule} returned {place} must be probabilities that sum to 1 within "
        f"{ATOL:g}, got {quote(strategy)}; compute it with an operation such as "
        "self.simplices.normalize"
    )


class LazyDiscount(NamedTuple):
    """A product of discounts, of which some may be 0."""

    logarithm: float = 0.0
    """Of the positive ones."""
    zeros: float = 0.0
    """Number of the others."""

    def times(self, factor: float) -> "LazyDiscount":
        """Return the product with one more discount."""
        if factor > 0.0:
            return LazyDiscount(self.logarithm + math.log(factor), self.zeros)
        return LazyDiscount(self.logarithm, self.zeros + 1.0)

    def since(self, earlier: "LazyDiscount") -> float:
        """Return the product of the discounts after an earlier product."""
        same_zeros = self.zeros == earlier.zeros
        return math.exp(self.logarithm - earlier.logarithm) if same_zeros else 0.0


def _fits(rule: SimplexRule, kernel: Kernel) -> bool:
    """Return whether a kernel learns nothing but arrays that its rule declares."""
    return not kernel.numbers and rule._learned().keys() >= {*kernel.learned}


Discounts: TypeAlias = tuple[LazyDiscount, LazyDiscount]
"""Of positive regrets, and of others."""
NO_DISCOUNTS = LazyDiscount(), LazyDiscount()
DISCOUNTS = "discounts must be sums of logarithms up to 0, and numbers of zeros"
"""What is told of others."""


@final
class SharedKernel:
    """What all information sets of a player with one number of actions have in common."""

    def __init__(self, rule: SimplexRule, kernel: Kernel) -> None:
        self.rule, self.kernel, traits = rule, kernel, kernel.traits
        self.names = kernel.learned
        self.further = [
            [0.0] * rule.dimension if array is None else array.tolist()
            for array, _ in kernel.further
        ]
        # As they were before they were compiled
        self.propose: Callable[..., object] = getattr(kernel.propose, "py_func", kernel.propose)
        self.learn: Callable[..., object] = getattr(kernel.learn, "py_func", kernel.learn)
        self.discounts_on_zero = traits.only_discounts_on_zero_utility
        self.is_lazy = traits.invariant_to_zero_utility or self.discounts_on_zero
        self.is_constant = not (callable(kernel.parameters) or self.discounts_on_zero)
        self.parameters: Sequence[float] = kernel.parameters_at(0)
        self.discounts: Discounts = NO_DISCOUNTS
        """All discounts before the iteration to come."""
        self.next_discounts: Discounts = NO_DISCOUNTS
        """All discounts up to that iteration."""

    def start(self, iteration: int, discounts: Discounts) -> None:
        """Look up the parameters of an iteration, with the discounts before it."""
        self.parameters, self.discounts = self.kernel.parameters_at(iteration), discounts
        if self.discounts_on_zero:
            positive, other = self.parameters[:2]
            self.next_discounts = discounts[0].times(positive), discounts[1].times(other)


@final
@define(eq=False, on_setattr=setters.NO_OP)
class KernelRecord(InfosetRecord):
    """One whose rule has a kernel, run as plain Python on lists: no array pays for two numbers.

    Discounts of the iterations since it last learned are made up for when it learns again.
    """

    shared: SharedKernel = field(kw_only=True)
    state: tuple[Numbers, ...] = field(init=False)
    arrays: tuple[Numbers, ...] = field(init=False)
    """The state, and behind it the kernel's workspace and constants."""
    discounts: Discounts = field(default=NO_DISCOUNTS, init=False)
    """Of all iterations up to the last one in which it learned."""

    @override
    def _initial_strategy(self) -> Numbers:
        shared, learned, size = self.shared, self.shared.rule._learned(), len(self.actions)
        self.state = tuple(learned[name].tolist() for name in shared.names)
        self.arrays = (*self.state, *shared.further)
        self.is_lazy = shared.is_lazy
        strategy = [0.0] * size
        shared.propose(0, 0, size, strategy, self.arrays, shared.kernel.parameters_at(0))
        return strategy

    @override
    def _rule_name(self) -> str:
        return type(self.shared.rule).__name__

    @override
    def update(self, utility: Numbers, value: float) -> None:
        shared, strategy, state = self.shared, self.strategy, self.arrays
        size, parameters = len(strategy), shared.parameters
        if shared.discounts_on_zero:
            if self.discounts != shared.discounts:
                positive, other = map(LazyDiscount.since, shared.discounts, self.discounts)
                regrets = state[0]
                regrets[:] = [r * (positive if r > 0.0 else other) for r in regrets]
            self.discounts = shared.next_discounts
        shared.learn(0, 0, size, utility, value, strategy, state, parameters)
        shared.propose(0, 0, size, strategy, state, parameters)
        self.play(strategy)

    @override
    def copy(self, *place: Any) -> "KernelRecord":
        record = KernelRecord(*place, shared=self.shared)
        record.play(list(self.strategy))
        record.discounts, record.state = self.discounts, tuple(map(list, self.state))
        record.arrays = (*record.state, *self.shared.further)
        return record

    @override
    def learned(self) -> Learned:
        return {
            "strategy": list(self.strategy),
            "state": [list(array) for array in self.state],
            "discounts": [*self.discounts[0], *self.discounts[1]],
        }

    @override
    def restore(self, learned: Learned) -> None:
        check_entries(learned, {"strategy", "state", "discounts"})
        rule, names, rows = self.shared.rule, self.shared.names, learned["state"]
        if not isinstance(rows, list) or len(rows) != len(names):
            raise ValueError(f"a state must have {len(names)} lists of numbers")
        arrays = dict(zip(names, map(as_numbers, rows), strict=True))
        shapes = {name: rule._learned()[name].shape for name in names}
        if {name: array.shape for name, array in arrays.items()} != shapes:
            raise ValueError(f"the arrays of a state must have the shapes {shapes}")
        rule._check_learned(arrays)
        self.state = tuple(array.tolist() for array in arrays.values())
        self.arrays = (*self.state, *self.shared.further)
        self.discounts = as_discounts(learned["discounts"])
        strategy = as_numbers(learned["strategy"]).tolist()
        if len(strategy) != len(self.actions):
            raise ValueError(f"a strategy must have {len(self.actions)} entries")
        self.play(strategy)


@final
@define(eq=False, on_setattr=setters.NO_OP)
class MinimizerRecord(InfosetRecord):
    """One with a minimizer of its own."""

    minimizer: RegretMinimizer = field(kw_only=True)

    @override
    def _initial_strategy(self) -> Numbers:
        strategy: Numbers = self.minimizer.next_strategy().tolist()
        return strategy

    @override
    def _rule_name(self) -> str:
        return type(self.minimizer).__name__

    @override
    def update(self, utility: Numbers, value: float) -> None:
        self.minimizer.observe_utility(np.array(utility))
        self.play(self.minimizer.next_strategy().tolist())

    @override
    def copy(self, *place: Any) -> "MinimizerRecord":
        return MinimizerRecord(*place, minimizer=copy.deepcopy(self.minimizer))

    @override
    def learned(self) -> Learned:
        return {"state": self.minimizer.state_dict()}

    @override
    def restore(self, learned: Learned) -> None:
        check_entries(learned, {"state"})
        self.minimizer.load_state_dict(learned["state"])
        self.play(self.minimizer.next_strategy().tolist())


def check_entries(saved: object, names: set[str]) -> None:
    """Refuse what is no dict with these entries."""
    if not isinstance(saved, dict) or saved.keys() != names:
        raise ValueError(f"what was learned must have the entries {sorted(names)}")


def as_numbers(row: object) -> Vector:
    """Return the finite numbers of a list in a file."""
    if not isinstance(row, list) or not all(type(number) in (int, float) for number in row):
        raise ValueError("what was learned must be lists of numbers")
    array = np.array(row, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError("what was learned must be finite numbers")
    return array


def as_discounts(row: object) -> Discounts:
    """Return the discounts of a file, or refuse what is none."""
    array = as_numbers(row)
    if array.shape != (4,) or (array[::2] > 0.0).any() or (array[1::2] < 0.0).any():
        raise ValueError(DISCOUNTS)
    return LazyDiscount(*array[:2].tolist()), LazyDiscount(*array[2:].tolist())


@final
class RecordFactory:
    """Creates one player's records.

    For each number of actions there is a template, a record that no sample visits. Each new record
    is a copy, so that it has learned zero utilities in all earlier iterations, as the rule has on
    the game's tree.
    """

    def __init__(self, rule: LocalRule, generator: np.random.Generator) -> None:
        self._rule, self._generator = rule, generator
        self.templates: dict[int, InfosetRecord] = {}
        self.kernels: dict[int, SharedKernel] = {}
        """Those of templates whose rules have one."""
        self._initial: dict[int, Numbers] = {}
        """The strategies of templates, which must not change."""
        self.iteration = 0
        """Number of iterations in which the player has learned."""

    def make(
        self,
        key: Hashable,
        actions: Sequence[Hashable],
        parent: InfosetRecord | None,
        parent_action: int,
    ) -> InfosetRecord:
        """Return a new record."""
        return self.template(len(actions)).copy(key, actions, parent, parent_action)

    def template(self, size: int) -> InfosetRecord:
        """Return the record of a number of actions that no sample visits."""
        if size not in self.templates:
            self.templates[size], kernel = self._template(size), self.kernels.get(size)
            constant = kernel is not None and kernel.is_lazy and kernel.is_constant
            for t in range(1, 1 if constant else self.iteration + 1):
                self._advance(size, t + 1)
        return self.templates[size]

    def advance(self) -> None:
        """End an iteration in which the player learned."""
        self.iteration += 1
        for size in self.templates:
            self._advance(size, self.iteration + 1)

    @property
    def is_lazy(self) -> bool:
        """Whether all information sets only need to learn when they are visited."""
        return all(template.is_lazy for template in self.templates.values())

    def saved(self, sizes: set[int]) -> Learned:
        """Return the templates of numbers of actions, and how often the player has learned."""
        templates = {}
        for size in sorted(sizes):
            template, kernel = self.template(size), self.kernels.get(size)
            positive, other = NO_DISCOUNTS if kernel is None else kernel.discounts
            templates[str(size)] = {
                "learned": template.learned(),
                "discounts": [*positive, *other],
            }
        return {"iteration": self.iteration, "templates": templates}

    def restore(self, saved: Learned, maximum: int, sizes: set[int]) -> None:
        """Take what ``saved`` returned from a file, of at most this many iterations.

        It takes a time that does not depend on what the file says of iterations.
        """
        check_entries(saved, {"iteration", "templates"})
        iteration, templates = saved["iteration"], saved["templates"]
        if type(iteration) is not int or not 0 <= iteration <= maximum:
            raise ValueError(f"a player must have learned in 0 to {maximum} iterations")
        check_entries(templates, {str(size) for size in sizes})
        self.iteration = iteration
        for size in sizes:
            template, learned = self._template(size), templates[str(size)]
            check_entries(learned, {"learned", "discounts"})
            template.restore(learned["learned"])
            self._check_initial(template)
            if size in self.kernels:
                self.kernels[size].start(iteration + 1, as_discounts(learned["discounts"]))
            self.templates[size] = template

    def _template(self, size: int) -> InfosetRecord:
        state = self._generator.bit_generator.state
        pickled = pickle.dumps(state)
        minimizer = local_minimizer(self._rule, Simplices(size), "rule")
        drawn = pickle.dumps(self._generator.bit_generator.state) != pickled
        if drawn or any(generators(minimizer)):
            self._generator.bit_generator.state = state
            raise ValueError(
                f"rule draws random numbers for {size} actions: on the game's tree it would draw "
                "them before the first sample, or for all decision points at once; draw them "
                "before, or play on the tree with SelfPlay"
            )
        kernel = kernel_or_none(minimizer) if isinstance(minimizer, SimplexRule) else None
        template: InfosetRecord
        if isinstance(minimizer, SimplexRule) and kernel is not None and _fits(minimizer, kernel):
            shared = self.kernels[size] = SharedKernel(minimizer, kernel)
            shared.start(1, NO_DISCOUNTS)
            template = KernelRecord(None, (*range(size),), shared=shared)
        else:
            template = MinimizerRecord(None, (*range(size),), minimizer=minimizer)
        self._initial[size] = list(template.strategy)
        return template

    def _advance(self, size: int, iteration: int) -> None:
        template, kernel = self.templates[size], self.kernels.get(size)
        if not template.is_lazy:
            template.update([0.0] * size, 0.0)
            self._check_initial(template)
        if kernel is not None and not kernel.is_constant:
            kernel.start(iteration, kernel.next_discounts)

    def _check_initial(self, template: InfosetRecord) -> None:
        initial = self._initial[len(template.actions)]
        if not np.allclose(template.strategy, initial, rtol=0.0, atol=1e-12):
            raise ValueError(
                "rule must not change what it plays before it has learned a utility other than 0, "
                f"but with {len(initial)} actions it plays {template.strategy} after "
                f"{initial}; play on the game's tree with SelfPlay"
            )
