"""Information sets that are made when first met, each with a rule of its own."""

import abc
from collections.abc import Callable, Hashable, Sequence
from itertools import accumulate
from typing import Any, TypeAlias, final

import numpy as np
from typing_extensions import override

from regretkit.circuits.cfr import LocalRule, local_minimizer
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import SimplexRule
from regretkit.minimizers.kernel import Kernel
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
        """The player's last information set and action on the way here."""
        self.strategy: Numbers = []
        """What is played here."""
        self.sums: Numbers = []
        """What :meth:`sum_up` has come to, empty where that is not known."""
        self.total: Numbers = [0.0] * len(self.actions)
        """Weighted sum of the sequence form, for each action."""
        self.seen = 0.0
        """How much of the strategies has come here so far, the last time somebody looked."""

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

    @abc.abstractmethod
    def saved(self) -> Saved:
        """Return what was learned."""

    @abc.abstractmethod
    def restore(self, saved: Saved) -> None:
        """Take what was learned from a file."""


@final
class Shared:
    """What all information sets of a rule and a size have in common."""

    __slots__ = ("kernel", "learn", "numbers", "propose", "rule")

    def __init__(self, rule: SimplexRule, kernel: Kernel) -> None:
        self.rule, self.kernel = rule, kernel
        self.propose, self.learn = _plain(kernel.propose), _plain(kernel.learn)
        self.numbers: Sequence[float] = kernel.numbers_of(0)

    def go_to(self, iteration: int) -> None:
        """Look up the kernel's numbers of an iteration."""
        self.numbers = self.kernel.numbers_of(iteration)


@final
class OfKernel(Point):
    """One whose rule has a kernel, run as plain Python on lists: no array pays for two numbers."""

    __slots__ = ("_shared", "_state")

    def __init__(self, shared: Shared, *place: Any) -> None:
        super().__init__(*place)
        learned, kernel = shared.rule._learned(), shared.kernel
        names = (*kernel.state, *kernel.block_state)
        self._shared = shared
        self._state: tuple[Numbers, ...] = tuple(learned[name].tolist() for name in names)
        size = len(self.actions)
        self.strategy = [0.0] * size
        shared.propose(0, 0, size, self.strategy, self._state, shared.numbers)

    @override
    def learn(self, utility: Numbers, value: float) -> None:
        shared, strategy, state = self._shared, self.strategy, self._state
        size, numbers, self.sums = len(strategy), shared.numbers, []
        shared.learn(0, 0, size, utility, value, strategy, state, numbers)
        shared.propose(0, 0, size, strategy, state, numbers)

    @override
    def saved(self) -> Saved:
        return {"strategy": self.strategy, "state": [list(array) for array in self._state]}

    @override
    def restore(self, saved: Saved) -> None:
        self.strategy, self.sums = list(saved["strategy"]), []
        self._state = tuple(list(array) for array in saved["state"])


@final
class OfMinimizer(Point):
    """One with a minimizer of its own, whose iterations are its visits."""

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

    @override
    def saved(self) -> Saved:
        return {"strategy": self.strategy, "state": self._minimizer.state_dict()}

    @override
    def restore(self, saved: Saved) -> None:
        self._minimizer.load_state_dict(saved["state"])
        self.strategy, self.sums = self._minimizer.next_strategy().tolist(), []


def _plain(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function as it was before somebody compiled it."""
    plain: Callable[..., None] = getattr(function, "py_func", function)
    return plain


@final
class Maker:
    """Makes information sets of a rule, as light ones as it allows."""

    def __init__(self, local: LocalRule) -> None:
        self._local = local
        self._known: dict[int, Shared | None] = {}
        self._changing: list[Shared] = []
        """Those whose kernel's numbers are not always the same."""
        self._iteration = 0

    def go_to(self, iteration: int) -> None:
        """Let all kernels know which iteration it is."""
        self._iteration = iteration
        for shared in self._changing:
            shared.go_to(iteration)

    @property
    def draws_nothing(self) -> bool:
        """Whether all rules that were made, one at least, have kernels, which never draw."""
        return bool(self._known) and None not in self._known.values()

    def make(
        self,
        key: Hashable,
        player: int,
        actions: Sequence[Hashable],
        before: Point | None,
        via: int,
    ) -> Point:
        """Return a new information set."""
        place = (key, player, actions, before, via)
        size = len(actions)
        if size not in self._known:
            self._known[size] = self._shared(size)
        shared = self._known[size]
        if shared is not None:
            return OfKernel(shared, *place)
        return OfMinimizer(local_minimizer(self._local, Simplices(size)), *place)

    def _shared(self, size: int) -> Shared | None:
        made = local_minimizer(self._local, Simplices(size))
        kernel = made._kernel() if isinstance(made, SimplexRule) else None
        # Where an iteration without utility moves a rule, its own iterations are its visits.
        if kernel is None or not kernel.rests or not isinstance(made, SimplexRule):
            return None
        shared = Shared(made, kernel)
        shared.go_to(self._iteration)
        if callable(kernel.numbers):
            self._changing.append(shared)
        return shared
