"""Information sets that are made when first met, each with a rule of its own."""

import abc
import copy
import math
import pickle
from collections.abc import Callable, Hashable, Sequence
from itertools import accumulate
from typing import Any, TypeAlias, final

import numpy as np
from typing_extensions import override

from regretkit._util._state import generators
from regretkit._util._typing import Vector
from regretkit.circuits._cfr import LocalRule, local_minimizer
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import SimplexRule
from regretkit.minimizers._kernel import Kernel
from regretkit.sets import Simplices

Numbers: TypeAlias = list[float]
Saved: TypeAlias = dict[str, Any]


class Point(abc.ABC):
    """What is known of one information set.

    The average is a sum along sequences, and lazy: what is played here does not change between
    visits, so a visit adds for all iterations since the last one at once.
    """

    __slots__ = ("actions", "before", "key", "player", "seen", "strategy", "sums", "total", "via")

    def __init__(
        self,
        key: Hashable,
        player: int,
        actions: Sequence[Hashable],
        before: "Point | None",
        via: int,
    ) -> None:
        self.key, self.player, self.actions = key, player, tuple(actions)
        self.before, self.via = before, via
        """The player's last information set and action before this one."""
        self.strategy: Numbers = []
        """What is played here."""
        self.sums: Numbers = []
        """What :meth:`sum_up` has come to, empty where that is not known."""
        self.total: Numbers = [0.0] * len(self.actions)
        """Weighted sum of the sequence form, for each action."""
        self.seen = 0.0
        """The weighted sum of the sequence before this information set, as of the last visit."""

    def add_up(self, roots: Sequence[float]) -> None:
        """Add what was played since the last visit; ``roots`` are the sums of the empty sequences.

        Those of the information sets before must have been added up.
        """
        come = roots[self.player] if self.before is None else self.before.total[self.via]
        since = come - self.seen
        if since != 0.0:
            pairs = zip(self.total, self.strategy, strict=True)
            self.total[:] = [so_far + since * share for so_far, share in pairs]
            self.seen = come

    def sum_up(self) -> Numbers:
        """Return the sums of the first action's share, the first two actions' and so on."""
        self.sums = list(accumulate(self.strategy))
        return self.sums

    @abc.abstractmethod
    def learn(self, utility: Numbers, value: float) -> None:
        """Learn, and work out what is played from now on."""

    @property
    def is_lazy(self) -> bool:
        """Whether :meth:`learn` makes up for iterations in which every action earned 0."""
        return False

    def learn_nothing(self) -> None:
        """Learn from an iteration in which every action earned 0."""
        if not self.is_lazy:
            self.learn([0.0] * len(self.actions), 0.0)

    @abc.abstractmethod
    def saved(self) -> Saved:
        """Return what was learned."""

    @abc.abstractmethod
    def restore(self, saved: Saved) -> None:
        """Take what was learned from a file."""


Discounts: TypeAlias = tuple[float, float, float, float]
"""Sum of the logarithms of the factors above 0, and number of the factors that were 0; for positive
regrets, then for others."""


@final
class Shared:
    """What all information sets of a player with a rule and a size have in common."""

    __slots__ = ("after", "before", "kernel", "learn", "numbers", "propose", "rule")

    def __init__(self, rule: SimplexRule, kernel: Kernel) -> None:
        self.rule, self.kernel = rule, kernel
        self.propose, self.learn = plain(kernel.propose), plain(kernel.learn)
        self.numbers: Sequence[float] = kernel.parameters_at(0)
        self.before: Discounts = (0.0, 0.0, 0.0, 0.0)
        """The product of all discounts before the iteration to come,"""
        self.after: Discounts = self.before
        """and after it."""

    def advance(self, iteration: int) -> None:
        """Look up the kernel's numbers of the next iteration in which the player learns."""
        self.numbers = self.kernel.parameters_at(iteration)
        self.before = self.after
        if self.kernel.traits.only_discounts_on_zero_utility:
            positive, other = self.numbers[:2]
            self.after = (*_times(self.before[:2], positive), *_times(self.before[2:], other))


def _times(product: tuple[float, float], factor: float) -> tuple[float, float]:
    logarithm, zeros = product
    return (logarithm + math.log(factor), zeros) if factor > 0.0 else (logarithm, zeros + 1.0)


def _over(product: tuple[float, float], earlier: tuple[float, float]) -> float:
    return math.exp(product[0] - earlier[0]) if product[1] == earlier[1] else 0.0


@final
class OfKernel(Point):
    """One whose rule has a kernel, run as plain Python on lists: no array pays for two numbers.

    Discounts of the iterations since it last learned are made up for when it learns again.
    """

    __slots__ = ("_discounts", "_shared", "_state")

    def __init__(self, shared: Shared, *place: Any) -> None:
        super().__init__(*place)
        learned, kernel = shared.rule._learned(), shared.kernel
        names = (*kernel.state, *kernel.block_state)
        self._shared = shared
        self._discounts: Discounts = (0.0, 0.0, 0.0, 0.0)
        """Of all iterations up to the last one in which it learned."""
        self._state: tuple[Numbers, ...] = tuple(learned[name].tolist() for name in names)
        size = len(self.actions)
        self.strategy = [0.0] * size
        shared.propose(0, 0, size, self.strategy, self._state, kernel.parameters_at(0))

    @property
    @override
    def is_lazy(self) -> bool:
        traits = self._shared.kernel.traits
        return traits.invariant_to_zero_utility or traits.only_discounts_on_zero_utility

    @override
    def learn(self, utility: Numbers, value: float) -> None:
        shared, strategy, state = self._shared, self.strategy, self._state
        size, numbers, self.sums = len(strategy), shared.numbers, []
        if shared.kernel.traits.only_discounts_on_zero_utility:
            if self._discounts != shared.before:
                self._discount(shared.before)
            self._discounts = shared.after
        shared.learn(0, 0, size, utility, value, strategy, state, numbers)
        shared.propose(0, 0, size, strategy, state, numbers)

    def _discount(self, now: Discounts) -> None:
        positive = _over(now[:2], self._discounts[:2])
        other = _over(now[2:], self._discounts[2:])
        regrets = self._state[0]
        regrets[:] = [regret * (positive if regret > 0.0 else other) for regret in regrets]

    def copy(self, *place: Any) -> "OfKernel":
        """Return another information set that has learned the same."""
        point = OfKernel(self._shared, *place)
        point.strategy, point._discounts = list(self.strategy), self._discounts
        point._state = tuple(list(array) for array in self._state)
        return point

    @override
    def saved(self) -> Saved:
        return {
            "strategy": list(self.strategy),
            "state": [list(array) for array in self._state],
            "discounts": list(self._discounts),
        }

    @override
    def restore(self, saved: Saved) -> None:
        kernel, rule = self._shared.kernel, self._shared.rule
        check_entries(saved, {"strategy", "state", "discounts"})
        learned = _as_learned(rule, (*kernel.state, *kernel.block_state), saved["state"])
        self._state = tuple(array.tolist() for array in learned)
        self._discounts = as_discounts(saved["discounts"])
        self.strategy, self.sums = _as_numbers(saved["strategy"]).tolist(), []


@final
class OfMinimizer(Point):
    """One with a minimizer of its own."""

    __slots__ = ("_minimizer",)

    def __init__(self, minimizer: RegretMinimizer, *place: Any) -> None:
        super().__init__(*place)
        self._minimizer = minimizer
        self.strategy = minimizer.next_strategy().tolist()

    @override
    def learn(self, utility: Numbers, value: float) -> None:
        self.sums = []
        self._minimizer.observe_utility(np.array(utility))
        self.strategy = self._minimizer.next_strategy().tolist()

    def copy(self, *place: Any) -> "OfMinimizer":
        """Return another information set that has learned the same."""
        return OfMinimizer(copy.deepcopy(self._minimizer), *place)

    @override
    def saved(self) -> Saved:
        return {"strategy": self.strategy, "state": self._minimizer.state_dict()}

    @override
    def restore(self, saved: Saved) -> None:
        check_entries(saved, {"strategy", "state"})
        self._minimizer.load_state_dict(saved["state"])
        self.strategy, self.sums = self._minimizer.next_strategy().tolist(), []


def _as_learned(rule: SimplexRule, names: Sequence[str], rows: object) -> list[Vector]:
    """Return the arrays of a rule that a file holds, or refuse what is none of its states."""
    if not isinstance(rows, list) or len(rows) != len(names):
        raise ValueError(f"a state must have {len(names)} lists of numbers")
    arrays = [_as_numbers(row) for row in rows]
    shapes = [rule._learned()[name].shape for name in names]
    if [array.shape for array in arrays] != shapes:
        raise ValueError(f"the arrays of a state must have the shapes {shapes}")
    rule._check_learned(dict(zip(names, arrays, strict=True)))
    return arrays


def as_discounts(row: object) -> Discounts:
    """Return the discounts that a file holds, or refuse what is none."""
    array = _as_numbers(row)
    if array.shape != (4,) or (array[::2] > 0.0).any() or (array[1::2] < 0.0).any():
        raise ValueError("discounts must be sums of logarithms up to 0, and numbers of zeros")
    positive, no_positive, other, no_other = array.tolist()
    return positive, no_positive, other, no_other


def check_entries(saved: object, names: set[str]) -> None:
    """Refuse what is no dict with these entries."""
    if not isinstance(saved, dict) or saved.keys() != names:
        raise ValueError(f"what was learned must have the entries {sorted(names)}")


def _as_numbers(row: object) -> Vector:
    if not isinstance(row, list) or not all(type(number) in (int, float) for number in row):
        raise ValueError("what was learned must be lists of numbers")
    array = np.array(row, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError("what was learned must be finite numbers")
    return array


def plain(function: Callable[..., object]) -> Callable[..., object]:
    """Return a function as it was before it was compiled."""
    found: Callable[..., object] = getattr(function, "py_func", function)
    return found


Template: TypeAlias = OfKernel | OfMinimizer


@final
class Maker:
    """Makes one player's information sets.

    For each number of actions there is a template, an information set that no sample visits. Each
    new one is a copy, so that it has learned zero utilities in all earlier iterations, as the rule
    has on the game's tree.
    """

    def __init__(self, local: LocalRule, player: int, generator: np.random.Generator) -> None:
        self._local, self._player, self._generator = local, player, generator
        self._templates: dict[int, Template] = {}
        self._initial: dict[int, list[float]] = {}
        """What templates play, which must not change."""
        self._changing: list[Shared] = []
        """Those whose kernel's numbers are not always the same."""
        self.iteration = 0
        """Number of iterations in which the player has learned."""
        self._saved: Saved = {}
        """Templates from a file that were not made yet."""

    def make(
        self, key: Hashable, actions: Sequence[Hashable], before: Point | None, via: int
    ) -> Point:
        """Return a new information set."""
        size = len(actions)
        if size not in self._templates:
            self._templates[size] = self._template(size)
        return self._templates[size].copy(key, self._player, actions, before, via)

    def saved(self) -> Saved:
        """Return the templates by number of actions, and how often the player has learned."""
        return {
            "iteration": self.iteration,
            "templates": {str(n): _saved(template) for n, template in self._templates.items()},
        }

    def restore(self, saved: Saved, most: int) -> None:
        """Take what :meth:`saved` returned from a file, of at most this many iterations.

        Templates are made when information sets of their size are, in a time that does not depend
        on what the file says of iterations.
        """
        check_entries(saved, {"iteration", "templates"})
        iteration, templates = saved["iteration"], saved["templates"]
        if type(iteration) is not int or not 0 <= iteration <= most:
            raise ValueError(f"a player must have learned in 0 to {most} iterations")
        if not isinstance(templates, dict):
            raise ValueError("templates must be a dict")
        self.iteration, self._saved = iteration, templates

    def has(self, size: int) -> bool:
        """Say whether there is a template of that many actions, or there was one in the file."""
        return size in self._templates or str(size) in self._saved

    def advance(self) -> None:
        """End an iteration in which the player learned."""
        for template in self._templates.values():
            self._learn_nothing(template)
        self.iteration += 1
        for shared in self._changing:
            shared.advance(self.iteration + 1)

    @property
    def is_lazy(self) -> bool:
        """Whether all information sets only need to learn when they are visited."""
        return all(template.is_lazy for template in self._templates.values())

    @property
    def kernels(self) -> list[bool]:
        """For each number of actions met, whether the rule has a kernel."""
        return [isinstance(template, OfKernel) for template in self._templates.values()]

    def _template(self, size: int) -> Template:
        template: Template
        made = self._minimizer(size)
        kernel = made._kernel() if isinstance(made, SimplexRule) else None
        place = (None, self._player, range(size), None, 0)
        if kernel is None or not isinstance(made, SimplexRule):
            shared, template = None, OfMinimizer(made, *place)
        else:
            shared = Shared(made, kernel)
            template = OfKernel(shared, *place)
            if callable(kernel.parameters) or kernel.traits.only_discounts_on_zero_utility:
                self._changing.append(shared)
            shared.advance(1)
        self._initial[size] = list(template.strategy)
        if str(size) in self._saved:
            self._restore(template, self._saved.pop(str(size)))
            return template
        idle = template.is_lazy and shared not in self._changing
        for t in range(1, 1 if idle else self.iteration + 1):
            self._learn_nothing(template)
            if shared in self._changing:
                shared.advance(t + 1)
        return template

    def _restore(self, template: Template, saved: Saved) -> None:
        check_entries(saved, {"learned", "before", "after"})
        template.restore(saved["learned"])
        self._check_initial(template)
        if isinstance(template, OfKernel):
            shared = template._shared
            shared.numbers = shared.kernel.parameters_at(self.iteration + 1)
            shared.before = as_discounts(saved["before"])
            shared.after = as_discounts(saved["after"])

    def _learn_nothing(self, template: Template) -> None:
        if template.is_lazy:
            return
        template.learn_nothing()
        self._check_initial(template)

    def _check_initial(self, template: Template) -> None:
        initial = self._initial[len(template.actions)]
        if not np.allclose(template.strategy, initial, rtol=0.0, atol=1e-12):
            raise ValueError(
                "rule must not change what it plays before it has learned a utility other than 0, "
                f"but with {len(initial)} actions it plays {template.strategy} after "
                f"{initial}; play on the game's tree with SelfPlay"
            )

    def _minimizer(self, size: int) -> RegretMinimizer:
        state = self._generator.bit_generator.state
        before = pickle.dumps(state)
        made = local_minimizer(self._local, Simplices(size), "rule")
        if pickle.dumps(self._generator.bit_generator.state) != before or any(generators(made)):
            self._generator.bit_generator.state = state
            raise ValueError(
                f"rule draws random numbers for {size} actions: on the game's tree it would draw "
                "them before the first sample, or for all decision points at once; draw them "
                "before, or play on the tree with SelfPlay"
            )
        return made


def _saved(template: Template) -> Saved:
    shared = template._shared if isinstance(template, OfKernel) else None
    before, after = ([], []) if shared is None else (list(shared.before), list(shared.after))
    return {"learned": template.saved(), "before": before, "after": after}
