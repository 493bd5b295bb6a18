"""Self-play by sampling, of games that are given by their rules alone."""

import ast
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import accumulate, pairwise
from typing import Any, Self, cast, final

import numpy as np
from attrs import define, field

from regretkit._util import _validate
from regretkit._util._files import FilePath, read_file, replace_file
from regretkit._util._state import Stateful
from regretkit._util._typing import Vector
from regretkit._util._validate import LONGEST_ERROR, check_kind, quote, shorten
from regretkit.averaging import Averaging, Uniform
from regretkit.circuits._cfr import LocalRule, local_minimizer
from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.estimators.flat._traversal import (
    Decision,
    SamplingRule,
    follow_all,
    follow_one,
)
from regretkit.games._adapters import Playable, as_history
from regretkit.games._game import ATOL
from regretkit.games.tree._history import History
from regretkit.play._callbacks import as_callbacks, play_watched
from regretkit.play._checkpoint_file import described, difference, packed, unpacked
from regretkit.play._infoset_records import Maker, Point
from regretkit.play._interrupt import DeferredInterrupt, RunGuard
from regretkit.play._lazy_tree import (
    Draws,
    Follow,
    OneAction,
    Sample,
    Unfolding,
    check_estimator,
    players_of,
)
from regretkit.play._orders import Alternating, Order
from regretkit.sets import Simplices


@final
@define(eq=False, repr=False)
class VisitedStrategy:
    """What a player does at the information sets that were met, and uniformly at all others.

    Called with an information set and its actions, it returns their probabilities, as everything
    does that takes a behavior.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import ExternalSampling, LazyMCCFR
    >>> sampling = ExternalSampling(np.random.default_rng(1))
    >>> run = LazyMCCFR(kuhn_poker(), RegretMatching, sampling).run(50)
    >>> first, second = run.average
    >>> len(first), {str(information_set) for information_set in first} >= {"J", "Q", "K"}
    (6, True)
    >>> first("unheard of", ["p", "b"])
    array([0.5, 0.5])
    """

    _distributions: dict[Hashable, Vector]

    def __call__(self, information_set: Hashable, actions: Sequence[Hashable]) -> Vector:
        """Return the probability of each action."""
        known = self._distributions.get(information_set)
        return np.full(len(actions), 1.0 / len(actions)) if known is None else known

    def __getitem__(self, information_set: Hashable) -> Vector:
        return self._distributions[information_set]

    def __contains__(self, information_set: Hashable) -> bool:
        return information_set in self._distributions

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._distributions)

    def __len__(self) -> int:
        return len(self._distributions)

    def __repr__(self) -> str:
        return f"<what to do at {len(self)} information sets>"


@final
@define(eq=False, repr=False)
class LazyMCCFR:
    """Play a game against oneself by its rules, without a tree.

    An information set is created when a sample first visits it, so that memory grows with what was
    visited and not with the size of the game. With the same seed, the samples, strategies and
    averages are those of :class:`SelfPlay` with the same estimator, rule and order on the game's
    tree, up to the rounding of sums.

    An iteration costs what its samples visit if the rule's kernel declares
    ``invariant_to_zero_utility`` or ``only_discounts_on_zero_utility`` (see
    :class:`~regretkit.minimizers.KernelTraits`), as those of regret matching, regret matching+ and
    their linear and most discounted forms do. Any other rule learns at every information set that
    was ever visited, from zero utilities where the sample did not come, as it does on the tree.

    An iteration that fails breaks the run: it then refuses to run, to be saved, and to return
    strategies.

    Parameters
    ----------
    game
        The empty history of the game, or anything that :func:`~regretkit.games.as_history` takes,
        of perfect recall.
    rule
        Called with simplices of a single block, once for each player and number of actions, returns
        a new minimizer on them: a leaf's class, or any circuit. It may not draw random numbers, and
        must not change its strategy before it has earned anything.
    estimator
        :class:`ExternalSampling`, :class:`OutcomeSampling` or :class:`RobustSampling`, without a
        baseline and with uniform exploration.
    order
        Who learns when.
    averaging
        How much each iteration counts; finite weights.
    horizon
        Number of iterations planned, for weights that depend on it.
    remember
        Number of histories to keep in memory, which makes visiting them again several times
        faster; information sets are all kept.

    Attributes
    ----------
    iteration
        Number of iterations played.

    Raises
    ------
    TypeError, ValueError
        When an argument is none of these; later, when the rule draws random numbers, or, with the
        information set that shows it, when actions differ within an information set or the game
        has imperfect recall.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> from regretkit.games import goofspiel
    >>> from regretkit.play import ExternalSampling
    >>> sampling = ExternalSampling(np.random.default_rng(1))
    >>> run = LazyMCCFR(goofspiel(3), RegretMatching, sampling).run(100)
    >>> run
    <LazyMCCFR: 100 iterations, 7 + 7 information sets met>
    >>> run.average[0]("unheard of", ["a", "b"])
    array([0.5, 0.5])

    References
    ----------
    Lanctot, Waugh, Zinkevich and Bowling (2009), "Monte Carlo sampling for regret minimization in
    extensive games", NIPS.
    """

    game: History = field(converter=as_history)
    rule: LocalRule
    estimator: TraversalEstimator
    order: Order = field(factory=Alternating, kw_only=True)
    averaging: Averaging = field(factory=Uniform, kw_only=True)
    horizon: int | None = field(default=None, kw_only=True)
    remember: int = field(default=250_000, kw_only=True)
    iteration: int = field(default=0, init=False)
    players: int = field(init=False)
    _guard: RunGuard = field(factory=RunGuard, init=False)
    _unfolding: Unfolding = field(init=False)
    _roots: list[float] = field(init=False)
    """How much all strategies count so far, for each player."""
    _failure: str | None = field(default=None, init=False)
    _turn: tuple[bool, list[int]] | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        check_estimator(self.estimator)
        check_kind(self.order, Order, "order", "Alternating()")
        check_kind(self.averaging, Averaging, "averaging", "Linear()")
        if self.horizon is not None:
            self.horizon = _validate.whole_number(self.horizon, "horizon", least=1)
        self.averaging.weight(1, self.horizon)
        self.players = players_of(self.game)
        if self.order.schedule(self.players, 0) is None:
            raise ValueError(
                f"{quote(self.order)} does more in an iteration than to let players learn"
            )
        self._roots = [0.0] * self.players
        room = _validate.whole_number(self.remember, "remember", least=0)
        generator = self.estimator.generator
        makers = [Maker(self.rule, player, generator) for player in range(self.players)]
        self._unfolding = Unfolding(self.game, makers, room)

    def run(self, iterations: int, *, callbacks: Iterable[Any] = ()) -> Self:
        """Play on for some iterations, or until a callback returns ``True``; return the run.

        Raises
        ------
        RuntimeError
            When an iteration, now or earlier, broke off half-way, a rule raised ``SystemExit``, or
            another call drives this run, in another thread or around this one.
        KeyboardInterrupt
            After Ctrl-C, once the iteration that it came in is whole and callbacks have seen it; a
            second Ctrl-C ends within it.
        """
        iterations = _validate.whole_number(iterations, "iterations", least=0)
        watching = as_callbacks(callbacks)
        with self._guard.driving() as interrupt:
            self._check_whole()
            play_watched(
                self,
                self._guard,
                interrupt,
                iterations,
                watching,
                lambda count: self._iterate(count, interrupt),
            )
        return self

    def _iterate(self, iterations: int, interrupt: DeferredInterrupt) -> None:
        # Whether rules may draw as well, those say that the first iteration comes to.
        for count in filter(None, (min(iterations, 1), iterations - 1)):
            with self._draws(count) as draws:
                sample = Sample(self._unfolding, self._follower(draws), self._roots, draws.random)
                for _ in range(count):
                    if interrupt.requested():
                        break
                    self._play_once(sample)

    def _draws(self, count: int) -> AbstractContextManager[Draws | np.random.Generator]:
        """Return what draws: many numbers at once, unless others may draw from the generator."""
        generator = self.estimator.generator
        kernels = [kernel for maker in self._unfolding.makers for kernel in maker.kernels]
        # Kernels never draw; what the first iteration did not come to is not known yet.
        others_may_draw = isinstance(self.order, Stateful) or not kernels or not all(kernels)
        return nullcontext(generator) if count == 1 or others_may_draw else Draws(generator)

    def _play_once(self, sample: Sample) -> None:
        weight = self.averaging.weight(self.iteration + 1, self.horizon)
        if not 0.0 <= weight < math.inf:
            raise ValueError(
                f"{quote(self.averaging)} gives iteration {self.iteration + 1} the weight "
                f"{quote(weight)}; without a tree weights must be finite, use current for the last "
                "strategies"
            )
        if self._turn is None or isinstance(self.order, Stateful):
            self._turn = self._next_turn()
        try:
            self._roots[:] = [total + weight for total in self._roots]
            self._learn_once(sample, *self._turn)
            self.estimator.visited += sample.visited
            self.iteration += 1
        except BaseException as error:
            self._failure = (
                f"the run broke off half-way, in iteration {self.iteration + 1}: "
                f"{quote(error, LONGEST_ERROR)}"
            )
            raise

    def _learn_once(self, sample: Sample, simultaneous: bool, movers: Sequence[int]) -> None:
        sample.visited = 0
        for player in movers:
            sample.play(player)
            if not simultaneous:
                sample.teach([player])
        if simultaneous:
            sample.teach(movers)

    def _check_whole(self) -> None:
        if self._failure is not None:
            raise RuntimeError(f"{self._failure}; load it from a file, or start anew")

    def _next_turn(self) -> tuple[bool, list[int]]:
        """Return whether all learn at once, and who learns in this iteration."""
        turns = self.order.schedule(self.players, 1)
        if turns is None:
            raise TypeError(f"{quote(self.order)} was refused, and cannot be followed")
        return turns.simultaneous, [int(player) for player in turns.players[0] if player >= 0]

    def _follower(self, draws: Draws | np.random.Generator) -> Follow | OneAction | None:
        """Return what chooses among the own actions, None where all are followed."""
        choose: Callable[..., int] = self.estimator._choose()
        parameters = self.estimator._parameters()
        if choose is follow_all:
            return None
        if choose is follow_one:
            return OneAction(parameters[0], draws.random)

        rule = SamplingRule(cast(Any, ()), cast(Any, parameters), cast(Any, draws))

        def follow(strategy: list[float], reach: float) -> tuple[Sequence[int], list[float]]:
            size, actions, probabilities = len(strategy), [0] * len(strategy), [0.0] * len(strategy)
            decision = Decision(0, 0, 0, size, reach, 1.0 / size)
            # It is written for arrays, and does the same with lists.
            count = choose(decision, strategy, actions, probabilities, rule)
            return actions[:count], probabilities[:count]

        return follow

    @property
    def information_sets(self) -> tuple[int, ...]:
        """Number of information sets met so far, for each player."""
        return tuple(map(len, self._unfolding.met))

    @property
    def current(self) -> tuple[VisitedStrategy, ...]:
        """What each player would play next.

        Raises
        ------
        RuntimeError
            When an iteration broke off half-way.
        """
        self._check_whole()
        return tuple(
            VisitedStrategy({key: np.array(point.strategy) for key, point in own.items()})
            for own in self._unfolding.met
        )

    @property
    def average(self) -> tuple[VisitedStrategy, ...]:
        """What each player plays on average over the iterations, weighted.

        Raises
        ------
        RuntimeError
            When an iteration broke off half-way.
        """
        self._check_whole()
        averages = []
        for own, root in zip(self._unfolding.met, self._roots, strict=True):
            sums: dict[Point, Vector] = {}
            for point in own.values():  # each stands behind those before it
                come = root if point.before is None else sums[point.before][point.via]
                sums[point] = np.array(point.total) + (come - point.seen) * np.array(point.strategy)
            averages.append(
                VisitedStrategy({point.key: _shares(sums[point]) for point in own.values()})
            )
        return tuple(averages)

    def save(self, path: FilePath) -> None:
        """Write everything into a file, from which :meth:`load` continues bitwise identically.

        Raises
        ------
        TypeError
            When information sets are neither texts nor made of texts, numbers, truth values and
            tuples.
        RuntimeError
            When an iteration broke off half-way, or another call drives this run.
        """
        with self._guard.reading():
            self._check_whole()
            save_points(self, path)

    @classmethod
    def load(
        cls,
        path: FilePath,
        game: Playable,
        rule: LocalRule,
        estimator: TraversalEstimator,
        *,
        order: Order | None = None,
        averaging: Averaging | None = None,
        horizon: int | None = None,
    ) -> "LazyMCCFR":
        """Return a run from a file, with the game, the rule and all else that it was made with.

        Raises
        ------
        ValueError
            When the file is none of these, or was written by a run of something else.
        """
        run = cls(
            game,
            rule,
            estimator,
            order=Alternating() if order is None else order,
            averaging=Uniform() if averaging is None else averaging,
            horizon=horizon,
        )
        load_points(run, path)
        return run

    def __repr__(self) -> str:
        met = " + ".join(map(str, self.information_sets))
        return f"<LazyMCCFR: {self.iteration} iterations, {met} information sets met>"


def _shares(sums: Vector) -> Vector:
    total = float(sums.sum())
    return sums / total if total > 0.0 else np.full(sums.size, 1.0 / sums.size)


# Files

_KIND = "self-play without a tree"
_ENTRIES = {"kind", "built", "iteration", "roots", "estimator", "met", "makers"}
_COLUMNS = {"keys", "actions", "before", "via", "seen", "total", "learned"}


def save_points(run: "LazyMCCFR", path: FilePath) -> None:
    """Write a run into a file."""
    content: dict[str, Any] = {
        "kind": _KIND,
        "built": _built(run),
        "iteration": run.iteration,
        "makers": [maker.saved() for maker in run._unfolding.makers],
        "roots": list(run._roots),
        "estimator": run.estimator.state_dict(),
        "met": [_saved(list(own.values())) for own in run._unfolding.met],
    }
    replace_file(path, [packed(content)])


def _built(run: "LazyMCCFR") -> dict[str, Any]:
    """Return what must be the same when the file is read again."""
    return {
        "order": described(run.order),
        "averaging": described(run.averaging),
        "estimator": described(run.estimator),
        "rule": described(local_minimizer(run.rule, Simplices(2))),
        "horizon": run.horizon,
        "players": run.players,
    }


def _saved(points: Sequence[Point]) -> dict[str, Any]:
    """Return information sets in the order in which they were met."""
    numbers = {id(point): number for number, point in enumerate(points)}
    return {
        "keys": [_text(point.key) for point in points],
        "actions": [_text(point.actions) for point in points],
        "before": np.array([numbers.get(id(point.before), -1) for point in points], dtype=np.int64),
        "via": np.array([point.via for point in points], dtype=np.int64),
        "seen": np.array([point.seen for point in points]),
        "total": np.array([share for point in points for share in point.total]),
        "learned": [point.saved() for point in points],
    }


def _text(thing: Hashable) -> str:
    text = repr(thing)
    try:
        if ast.literal_eval(text) == thing:
            return text
    except (ValueError, SyntaxError):
        pass
    raise TypeError(
        f"{text} names an information set or an action, and a file can only hold names made of "
        "texts, numbers, truth values and tuples; let information_set and actions return such"
    )


def load_points(run: "LazyMCCFR", path: FilePath) -> None:
    """Restore a run that was built in the same way, which is not to be used where this fails."""
    what = str(path)
    content = unpacked(read_file(path), what)
    if content.get("kind") != _KIND:
        raise ValueError(f"{what} is a checkpoint of something else; load it as what wrote it")
    if content.keys() != _ENTRIES:
        raise ValueError(f"{what} is not what regretkit writes: something else is in it")
    found = difference(content["built"], _plain(_built(run)), "run")
    if found is not None:
        raise ValueError(f"{what} is of another run: {found}")
    try:
        _restore(run, content)
    except (TypeError, ValueError, RecursionError, MemoryError, SyntaxError) as error:
        raise ValueError(f"{what} does not fit this run: {shorten(str(error))}") from error


def _restore(run: "LazyMCCFR", content: dict[str, Any]) -> None:
    iteration, roots, met = content["iteration"], content["roots"], content["met"]
    if type(iteration) is not int or not 0 <= iteration < 2**62:
        raise ValueError("iteration must be a number of iterations")
    for name, rows in (("roots", roots), ("met", met), ("makers", content["makers"])):
        if not isinstance(rows, list) or len(rows) != run.players:
            raise ValueError(f"{name} must be a list with an entry for each player")
    if not all(type(root) is float and 0.0 <= root < math.inf for root in roots):
        raise ValueError("roots must be finite numbers, at least 0")
    for maker, saved in zip(run._unfolding.makers, content["makers"], strict=True):
        maker.restore(saved, most=iteration)
    points = [_points(run, player, saved, roots[player]) for player, saved in enumerate(met)]
    # Last, because the estimator is the caller's.
    run.estimator.load_state_dict(content["estimator"])
    run.iteration, run._roots = iteration, roots
    run._unfolding.met[:] = points


def _points(
    run: "LazyMCCFR", player: int, saved: dict[str, Any], root: float
) -> dict[Hashable, Point]:
    _check_columns(saved)
    points: list[Point] = []
    fields = (saved["keys"], saved["actions"], saved["before"].tolist(), saved["via"].tolist())
    for key, names, before, via in zip(*fields, strict=True):
        actions = ast.literal_eval(names)
        if not isinstance(actions, tuple) or not run._unfolding.makers[player].has(len(actions)):
            raise ValueError("actions must be tuples, of a size for which there is a template")
        if not -1 <= before < len(points):
            raise ValueError(f"an information set cannot come after number {before}")
        parent = points[before] if before >= 0 else None
        if not 0 <= via < (1 if parent is None else len(parent.actions)):
            raise ValueError(f"an information set cannot come after action {via}")
        place = ast.literal_eval(key), actions
        points.append(run._unfolding.makers[player].make(*place, parent, via))
    ends = [0, *accumulate(len(point.actions) for point in points)]
    if len(saved["total"]) != ends[-1]:
        raise ValueError("total must have a number for each action")
    totals, rest = saved["total"].tolist(), zip(saved["seen"], saved["learned"], strict=True)
    for point, (first, last), (seen, learned) in zip(points, pairwise(ends), rest, strict=True):
        point.total, point.seen = totals[first:last], float(seen)
        point.restore(learned)
        _check_point(point, root)
    met = {point.key: point for point in points}
    if len(met) < len(points):
        raise ValueError("information sets must differ")
    return met


def _check_columns(saved: object) -> None:
    """Refuse what is no table of information sets."""
    if not isinstance(saved, dict) or saved.keys() != _COLUMNS:
        raise ValueError(f"information sets must have the entries {sorted(_COLUMNS)}")
    lists = [saved[name] for name in ("keys", "actions", "learned")]
    if not all(isinstance(column, list) for column in lists):
        raise ValueError("keys, actions and learned must be lists")
    if not all(isinstance(text, str) for text in [*saved["keys"], *saved["actions"]]):
        raise ValueError("keys and actions must be texts")
    for name, kind in (("before", "i"), ("via", "i"), ("seen", "f"), ("total", "f")):
        column = saved[name]
        if not isinstance(column, np.ndarray) or column.ndim != 1 or column.dtype.kind != kind:
            raise ValueError(f"{name} must be a vector")
        if not np.isfinite(column).all() or (name in ("seen", "total") and (column < 0.0).any()):
            raise ValueError(f"{name} must hold finite numbers, and no negative sums")


def _check_point(point: Point, root: float) -> None:
    """Refuse sums that no strategies have, and a strategy that is no distribution."""
    reached = root if point.before is None else point.before.total[point.via]
    slack = ATOL * reached
    if point.seen > reached + slack or abs(math.fsum(point.total) - point.seen) > slack:
        raise ValueError(
            f"the sums of strategies at {quote(str(point.key), 60)} do not fit together"
        )
    if not Simplices(len(point.actions)).contains(point.strategy, atol=ATOL):
        raise ValueError(f"what is played at {quote(str(point.key), 60)} must be a distribution")


def _plain(built: dict[str, Any]) -> dict[str, Any]:
    """Return what a file would hold of it."""
    plain: dict[str, Any] = unpacked(packed(built), "this run")
    return plain
