"""Records of information sets, created at the first visit, each with a rule of its own."""

import abc
import copy
import math
import pickle
from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from attrs import define, field, setters

from regretkit._state import generators
from regretkit._util._validate import ATOL, quote
from regretkit.circuits._base import LocalRule, local_minimizer
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import SimplexRule
from regretkit.sets import Simplices
from regretkit.trace import Kernel
from regretkit.trace._find import kernel_or_none

Numbers: TypeAlias = list[float]


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
    """Whether ``update`` makes up for iterations in which every action earned 0,"""
    is_constant: bool = field(default=False, init=False)
    """and whether they change nothing else."""

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


class SharedKernel:
    """What all information sets of a player with one number of actions have in common."""

    def __init__(self, rule: SimplexRule, kernel: Kernel) -> None:
        self.rule, self.kernel, traits = rule, kernel, kernel.traits
        self.names = kernel.learned
        self.further = [
            [0.0] * rule.dimension if array is None else array.tolist()
            for array, _ in kernel.further
        ]
        self.propose, self.learn = kernel.in_python
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

    def _initial_strategy(self) -> Numbers:
        shared, learned, size = self.shared, self.shared.rule._learned(), len(self.actions)
        self.state = tuple(learned[name].tolist() for name in shared.names)
        self.arrays = (*self.state, *shared.further)
        self.is_lazy, self.is_constant = shared.is_lazy, shared.is_lazy and shared.is_constant
        strategy = [0.0] * size
        shared.propose(0, 0, size, strategy, self.arrays, shared.kernel.parameters_at(0))
        return strategy

    def _rule_name(self) -> str:
        return type(self.shared.rule).__name__

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

    def copy(self, *place: Any) -> "KernelRecord":
        record = KernelRecord(*place, shared=self.shared)
        record.play(list(self.strategy))
        record.discounts, record.state = self.discounts, tuple(map(list, self.state))
        record.arrays = (*record.state, *self.shared.further)
        return record


@define(eq=False, on_setattr=setters.NO_OP)
class MinimizerRecord(InfosetRecord):
    """One with a minimizer of its own."""

    minimizer: RegretMinimizer = field(kw_only=True)

    def _initial_strategy(self) -> Numbers:
        strategy: Numbers = self.minimizer.next_strategy().tolist()
        return strategy

    def _rule_name(self) -> str:
        return type(self.minimizer).__name__

    def update(self, utility: Numbers, value: float) -> None:
        self.minimizer.observe_utility(np.array(utility))
        self.play(self.minimizer.next_strategy().tolist())

    def copy(self, *place: Any) -> "MinimizerRecord":
        return MinimizerRecord(*place, minimizer=copy.deepcopy(self.minimizer))


class RecordFactory:
    """Creates one player's records.

    For each number of actions there is a template, a record that no sample visits. Each new record
    is a copy, so that it has learned zero utilities in all earlier iterations, as the rule has on
    the game's tree.
    """

    def __init__(self, rule: LocalRule, generator: np.random.Generator) -> None:
        self._rule, self._generator = rule, generator
        self.templates: dict[int, InfosetRecord] = {}
        self._initial: dict[int, Numbers] = {}
        """The strategies of templates, which must not change."""
        self.iteration = 0
        """Number of iterations in which the player has learned."""

    def make(self, key: Hashable, actions: Sequence[Hashable], *last: Any) -> InfosetRecord:
        """Return a new record, which follows the player's last information set and action."""
        return self.template(len(actions)).copy(key, actions, *last)

    def template(self, size: int) -> InfosetRecord:
        """Return the record of a number of actions that no sample visits."""
        if size not in self.templates:
            template = self.templates[size] = self._template(size)
            for t in range(1, 1 if template.is_constant else self.iteration + 1):
                self._advance(template, t + 1)
        return self.templates[size]

    def advance(self) -> None:
        """End an iteration in which the player learned."""
        self.iteration += 1
        for template in self.templates.values():
            self._advance(template, self.iteration + 1)

    @property
    def is_lazy(self) -> bool:
        """Whether all information sets only need to learn when they are visited."""
        return all(template.is_lazy for template in self.templates.values())

    def restore(self, iteration: int, templates: Iterable[InfosetRecord]) -> None:
        """Continue after an iteration, from templates of all numbers of actions so far.

        It takes a time that does not depend on the number of iterations.
        """
        self.iteration = iteration
        for template in templates:
            self._check_initial(template)
            if isinstance(template, KernelRecord):
                template.shared.start(iteration + 1, template.discounts)
            self.templates[len(template.actions)] = template

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
            shared = SharedKernel(minimizer, kernel)
            shared.start(1, NO_DISCOUNTS)
            template = KernelRecord(None, (*range(size),), shared=shared)
        else:
            template = MinimizerRecord(None, (*range(size),), minimizer=minimizer)
        self._initial[size] = list(template.strategy)
        return template

    def _advance(self, template: InfosetRecord, iteration: int) -> None:
        if not template.is_lazy:
            template.update([0.0] * len(template.actions), 0.0)
            self._check_initial(template)
        if isinstance(template, KernelRecord) and not template.shared.is_constant:
            template.shared.start(iteration, template.shared.next_discounts)
            template.discounts = template.shared.discounts

    def _check_initial(self, template: InfosetRecord) -> None:
        initial = self._initial[len(template.actions)]
        if not np.allclose(template.strategy, initial, rtol=0.0, atol=1e-12):
            raise ValueError(
                "rule must not change what it plays before it has learned a utility other than 0, "
                f"but with {len(initial)} actions it plays {template.strategy} after "
                f"{initial}; play on the game's tree with SelfPlay"
            )
