"""Self-play: minimizers play a game against each other, and against themselves."""

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain
from typing import Any, Self, Unpack, cast

import numpy as np
from attrs import define, field

from regretkit._state import NOT_STATE, Stateful, generators, is_ours, with_parts
from regretkit._util._errors import MIXES, warn
from regretkit._util._files import FilePath
from regretkit._util._typing import Vector
from regretkit._util._validate import (
    ATOL,
    LARGEST,
    check_kind,
    format_array,
    quote,
    vector,
    whole_number,
)
from regretkit.circuits._base import as_minimizers, check_distinct
from regretkit.estimators import Estimator, ExactUtility
from regretkit.evaluation import exploitability, nash_conv
from regretkit.games import Game, Profile
from regretkit.games._fingerprint import describe
from regretkit.games._game import (
    as_profile,
    as_strategies,
    check_game,
    check_strategy,
)
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import SimplexRule
from regretkit.play._averaging import Average, Averaging, LazyAverage, Uniform, average_profile
from regretkit.play._callbacks import (
    Callback,
    as_callbacks,
    begin,
    exits_as_errors,
    play_watched,
)
from regretkit.play._checkpoint_file import RunOptions, SavedRun, built_parts, described, write_run
from regretkit.play._engines import (
    AUTO,
    EngineReport,
    Executor,
    check_engine,
    executor_for,
    report_engine,
    select_engine,
)
from regretkit.play._interrupt import RunGuard
from regretkit.play._orders import Alternating, Order
from regretkit.sets import DecisionTree, StrategySet


@define(eq=False)
class SelfPlay(Stateful):
    """A game played by minimizers, and the average of what they play.

    In iteration t every player has a strategy x_t; the averages add it with weight w_t; then the
    order of play updates the players, with utilities from the estimator. The order, the averaging
    and the estimator may be of any class of their kinds.

    An iteration that fails before any minimizer has been updated, or given a prediction, leaves
    the run unchanged: the error is raised and the run can continue. A later failure cannot be
    undone, since that would need a copy of the state in every iteration. The run then refuses to
    continue, and to return strategies, by a RuntimeError, until ``load_state_dict`` restores an
    earlier state.

    Parameters
    ----------
    game
        What is played.
    minimizers
        One for each player, on the player's set or on a part of it.
    order
        Who learns when.
    averaging
        The weights w_t.
    estimator
        Returns the utilities that minimizers observe.
    horizon
        Number of iterations planned, for averagings that depend on it, at least 1.
    engine
        How to run the iterations: ``"compiled"``, all of it in machine code; ``"numpy"``, as it is
        written; ``"auto"``, compiled where it supports the run. They agree up to rounding.

    Attributes
    ----------
    iteration
        T, the number of iterations so far.
    seconds
        How long they took, without callbacks, since the run was started or loaded.
    last_profile
        x_T, y_T, ...: the strategies of the last iteration.

    Raises
    ------
    TypeError
        When the game or a minimizer is none, or the order, averaging or estimator is not of its
        kind.
    ValueError
        When there is not one minimizer for each player, one plays what its player cannot, one
        object stands in two places, the order's first player does not exist, or there is no such
        engine.

    Examples
    --------
    CFR+ on Kuhn poker, from its parts:

    >>> from regretkit import CFR, RegretMatchingPlus
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import Linear
    >>> game = kuhn_poker()
    >>> players = [CFR(tree, RegretMatchingPlus) for tree in game.domains]
    >>> run = SelfPlay(game, players, averaging=Linear()).run(500)
    >>> game.value(run.average).round(3)
    array([-0.056,  0.056])
    """

    game: Game
    minimizers: Sequence[RegretMinimizer]
    order: Order = field(factory=Alternating, kw_only=True)
    averaging: Averaging = field(factory=Uniform, kw_only=True)
    estimator: Estimator = field(factory=ExactUtility, kw_only=True)
    horizon: int | None = field(default=None, kw_only=True)
    _requested_engine: str = field(
        default=AUTO, kw_only=True, alias="engine", repr=False, metadata=NOT_STATE
    )
    iteration: int = field(default=0, init=False)
    seconds: float = field(default=0.0, init=False, repr=False, metadata=NOT_STATE)
    processor_seconds: float = field(default=0.0, init=False, repr=False, metadata=NOT_STATE)
    last_profile: Sequence[Vector] = field(factory=tuple, init=False, repr=False)
    _averages: list[Average] = field(init=False, repr=False)
    _lazy_averages: list[LazyAverage] = field(init=False, repr=False)
    _last_engine: str | None = field(default=None, init=False, repr=False)
    """Name of the engine that ran the last iterations. It is state, so that bits stay the same."""
    _guard: RunGuard = field(factory=RunGuard, init=False, repr=False, metadata=NOT_STATE)
    _executor: Executor | None = field(default=None, init=False, repr=False, metadata=NOT_STATE)
    _failure: str | None = field(default=None, init=False, repr=False)
    """Why the run cannot go on. It is state: what a broken run saves is broken as well."""
    _learned_from: dict[int, Vector] = field(
        factory=dict, init=False, repr=False, metadata=NOT_STATE
    )
    _changed: bool = field(default=False, init=False, repr=False, metadata=NOT_STATE)
    _turn: int = field(default=0, init=False, repr=False, metadata=NOT_STATE)

    def __attrs_post_init__(self) -> None:
        self.minimizers = _as_players(self.game, self.minimizers)
        check_kind(self.order, Order, "order", "Alternating()")
        check_kind(self.averaging, Averaging, "averaging", "Linear()")
        check_kind(self.estimator, Estimator, "estimator", "ExactUtility()")
        self.order.check_players(len(self.minimizers))
        check_engine(self._requested_engine)
        self._averages = [Average(self.averaging, horizon=self.horizon) for _ in self.minimizers]
        self._lazy_averages = [LazyAverage() for _ in self.minimizers]
        if self._requested_engine != AUTO:
            select_engine(self, self._requested_engine)  # refuses now what it cannot run later

    def run(self, iterations: int, *, callbacks: Iterable[Callback] = ()) -> Self:
        """Play on for some iterations, or until a callback returns ``True``; return the run.

        Parameters
        ----------
        iterations
            How many, at least 0.
        callbacks
            Called in turn with the run after every iteration.

        Raises
        ------
        TypeError, ValueError
            When ``iterations`` is not a whole number, at least 0, a callback is none, or the engine
            asked for cannot drive this run.
        RuntimeError
            When an iteration, now or earlier, failed after a player had learned, a rule raised
            ``SystemExit``, or another call drives this run, in another thread or around this one.
        KeyboardInterrupt
            After Ctrl-C, once the iteration that it came in is whole and callbacks have seen it; a
            second Ctrl-C ends within it.
        """
        iterations = whole_number(iterations, "iterations", minimum=0)
        watching = as_callbacks(callbacks)
        with self._guard.driving() as interrupt, self._explained():
            self._check_whole()
            watching = [*begin(watching, self), *watching]
            with interrupt.at_once():  # nothing is played yet
                if self.iteration == 0 and iterations:
                    self._check_strategies("the first strategy")
                    self._warn_of_mixing()
                executor = self._start()

            def play(count: int) -> None:
                executor.play(count, interrupt.requested)

            play_watched(self, self._guard, interrupt, iterations, watching, play)
            self._check_strategies(f"after iteration {self.iteration}, the strategy")
        return self

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Add to an error what a trace of the rules says, which knows what NumPy's errors mean."""
        try:
            yield
        except (ValueError, RuntimeError) as error:
            if (reason := self._untraceable()) and type(error).__name__ not in reason:
                error.add_note(reason)
            raise

    def _untraceable(self) -> str:
        """Return why a rule cannot be compiled, empty where all can or another thing forbids it."""
        with suppress(Exception), exits_as_errors():
            reasons = (told.removeprefix("Python, since ") for told in self.engine_report().players)
            return next((told for told in reasons if "cannot be compiled" in told), "")
        return ""

    def _check_strategies(self, name: str) -> None:
        """Refuse minimizers of others that leave their player's set."""
        for player, domain in enumerate(self.game.domains):
            minimizer = self.minimizers[player]
            if not all(map(is_ours, with_parts(minimizer))):
                of = f"{name} of minimizers[{player}], {quote(minimizer)},"
                check_strategy(minimizer.next_strategy(), domain, player, of)

    def _warn_of_mixing(self) -> None:
        """Warn of a rule that mixes decision points, which is not CFR with a rule at each."""
        trees = any(isinstance(domain, DecisionTree) for domain in self.game.domains)
        others = not all(is_ours(part) for rule in self.minimizers for part in with_parts(rule))
        tried = trees and others and self._requested_engine == AUTO
        if tried and f"{MIXES}; use" in (reason := self._untraceable()):
            warn(f"{reason}; what mixes decision points is not CFR with a rule at each")

    @property
    def engine(self) -> str:
        """Name of the engine that ran the last iterations; before the first, what was asked for."""
        return self._last_engine or self._requested_engine

    def engine_report(self) -> EngineReport:
        """Return the engine, and for each player whether its minimizer is machine code, or why not.

        Examples
        --------
        >>> import regretkit as rk
        >>> run = rk.play.named("cfr+").start(rk.load("kuhn_poker"))
        >>> print(run.engine_report())
        engine: compiled
        player 0: machine code
        player 1: machine code
        """
        return report_engine(self, self._requested_engine)

    def _start(self) -> Executor:
        """Choose an engine, and start it unless it is at work."""
        found = executor_for(self, self._requested_engine, self._executor)
        self._executor, self._last_engine = found
        return self._executor

    def _iterate(self) -> None:
        asked = [minimizer.next_strategy() for minimizer in self.minimizers]
        self._learned_from, self._changed = {}, False
        try:
            self.order.iterate(self)
            self._changed = True
            # A prediction before the update has changed what the player played.
            played = [self._learned_from.get(player, x) for player, x in enumerate(asked)]
            for average, strategy in zip(self._averages, played, strict=True):
                average.add(strategy)
            self.last_profile = played
            self.iteration += 1
        except BaseException as error:
            if self._changed:
                self._fail(error, self._turn)
            raise

    def _fail(self, error: BaseException, turn: int | None = None, count: int = 0) -> None:
        """Break the run after an iteration that failed when a minimizer had been updated.

        It failed at a player's turn, or in one of the next ``count`` iterations.
        """
        moment, following = f"after iteration {self.iteration}", self.iteration + 1
        if turn is not None:
            moment = f"half-way through iteration {following}, at player {turn}'s turn"
        elif count:
            last = self.iteration + count
            moment = f"in iteration{f's {following} to' * (count > 1)} {last}"
        self._failure = (
            f"the run broke off {moment}: {quote(error, 1_000)}; "
            "load a state from before it, or start anew"
        )
        if isinstance(error, Exception):  # and no interrupt
            raise RuntimeError(self._failure) from error

    def _access(self, *, writes: bool) -> AbstractContextManager[object]:
        return self._guard.driving() if writes else self._guard.reading()

    def _check_state(self, state: Mapping[str, object]) -> None:
        if state["_last_engine"] is not None:
            check_engine(state["_last_engine"])
        averages = cast("Mapping[str, Mapping[str, object]]", state["_averages"])
        if any(average["iteration"] != state["iteration"] for average in averages.values()):
            raise ValueError("the averages must have as many iterations as the run")

    def _check_restored(self) -> None:
        """Refuse a state that no run of this game and these minimizers comes to.

        What was put back is held to what holds for what is computed: strategies, current ones and
        those played last, and averages are points of the players' sets, up to rounding.
        """
        if self._failure is not None:
            raise ValueError("the run broke off")
        if len(self.last_profile) not in (0, self.players):
            raise ValueError(
                f"last_profile must have {self.players} strategies, got {len(self.last_profile)}"
            )
        # Asking one that draws at random moves its generator; a copy is asked instead.
        asked = [copy.deepcopy(m) if any(generators(m)) else m for m in self.minimizers]
        try:
            with np.errstate(all="ignore"):
                as_strategies(self.game, [minimizer.next_strategy() for minimizer in asked])
                if self.last_profile:
                    as_strategies(self.game, self.last_profile)
                for average, domain in zip(self._averages, self.game.domains, strict=True):
                    average._check_on(domain)
                for rule in chain.from_iterable(map(with_parts, asked)):
                    if isinstance(rule, SimplexRule):
                        check_strategy(rule.next_strategy(), rule.domain, 0, repr(rule))
        except (ArithmeticError, RuntimeError, TypeError) as error:
            raise ValueError(f"a strategy cannot be computed: {error}") from error

    def _restored(self) -> None:
        self._executor = None  # the state says what to go on with

    def _check_whole(self) -> None:
        if self._failure is not None:
            raise RuntimeError(self._failure)

    # The players, as an order of play sees them

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.minimizers)

    def strategy(self, player: int) -> Vector:
        """Return what a player would play now, read-only."""
        return self.minimizers[player].next_strategy()

    def profile(self) -> list[Vector]:
        """Return what all players would play now, in a list of which entries may be replaced."""
        strategies = [minimizer.next_strategy() for minimizer in self.minimizers]
        return as_profile(strategies, self.game.domains)

    def learn(self, player: int, profile: Sequence[Vector]) -> None:
        """Let a player observe its utility while the others play ``profile``."""
        self._turn = player
        utility = self.estimator.utility(self.game, player, profile)
        # Refused here, an estimator's utility leaves the run as it was.
        utility = vector(utility, self.minimizers[player].dimension, "utility", largest=LARGEST)
        self._learned_from.setdefault(player, self.strategy(player))
        self._changed = True
        self.minimizers[player].observe_utility(utility)

    def expect(self, player: int, profile: Sequence[Vector] | None) -> None:
        """Tell a player to expect its utility while the others play ``profile``, or nothing."""
        self._turn, minimizer = player, self.minimizers[player]
        if profile is None:
            utility = np.zeros(minimizer.dimension)
        else:
            utility = self.estimator.utility(self.game, player, profile)
        self._changed = True
        minimizer.expect_utility(utility)

    # What came of it

    @property
    def current(self) -> Profile:
        """The next iteration's strategies, x_{T+1}.

        Raises
        ------
        RuntimeError
            When an iteration failed after a minimizer had been updated.
        """
        self._check_whole()
        return Profile([m.next_strategy() for m in self.minimizers], self.game.domains, self.game)

    @property
    def average(self) -> Profile:
        """The average of x_1 to x_T.

        Raises
        ------
        ValueError
            When nothing was played yet.
        """
        self._check_whole()
        return average_profile(self._averages, self.game)

    def nash_conv(self) -> float:
        """Return ``evaluation.nash_conv`` of ``average``: what best responses gain in all.

        Raises
        ------
        ValueError
            When nothing was played yet.
        """
        return nash_conv(self.game, self.average)

    def exploitability(self) -> float:
        """Return ``evaluation.exploitability`` of ``average``: what they gain on average.

        Raises
        ------
        ValueError
            When nothing was played yet.
        """
        return exploitability(self.game, self.average)

    def _repr_html_(self) -> str:
        from regretkit.display._html import run_html

        return run_html(self)

    def _built(self) -> dict[str, Any]:
        """Return how it was built, which must be the same when its file is read again."""
        return {**built_parts(self), "minimizers": described(self.minimizers)}

    def save(self, path: FilePath, *, callbacks: Iterable[Callback] = ()) -> None:
        """Write a checkpoint: this run in one file, and what ``callbacks`` have written down.

        Raises
        ------
        OSError, RuntimeError, TypeError
            When it cannot be written, the run broke off, or something in it fits into no file.
        """
        self._check_whole()
        built = {**self._built(), "horizon": self.horizon, "engine": self._requested_engine}
        write_run(path, describe(self.game), built, self.state_dict(), callbacks)

    @classmethod
    def load(
        cls,
        path: FilePath,
        game: Game,
        minimizers: Sequence[RegretMinimizer],
        **options: Unpack[RunOptions],
    ) -> Self:
        """Return the run in a checkpoint, which continues bitwise identically.

        Game and minimizers, trained or not, must be built as those were. Among ``options`` are
        ``order``, ``averaging`` and ``estimator`` where they are of one's own, ``engine`` to go
        on otherwise, and ``callbacks`` to put back what was saved of them.

        Raises
        ------
        OSError, ValueError
            When the file cannot be read, is no whole checkpoint, or is of another run.
        """
        return SavedRun.read(path).start(cls, game, minimizers, options)


EVER = 2**62
"""Iterations of a run that something else ends."""

_DIRECTIONS = 4
"""Number of directions, and of opposite ones, in which a set is searched from its inner point."""


def _as_players(game: Game, minimizers: Iterable[RegretMinimizer]) -> tuple[RegretMinimizer, ...]:
    """Return one minimizer for each player of a game, or refuse what came."""
    check_game(game)
    if isinstance(minimizers, type | str):
        kind = "name" if isinstance(minimizers, str) else "class"
        given = quote(minimizers) if isinstance(minimizers, str) else minimizers.__name__
        raise TypeError(
            f"minimizers must be one for each player, got the {kind} {given}; "
            f"let solve(game, {given}) make them"
        )
    players = as_minimizers(minimizers, "minimizers")
    if len(players) != len(game.domains):
        raise ValueError(
            f"minimizers must be one for each of the {len(game.domains)} players, got "
            f"{len(players)}"
        )
    for player, minimizer in enumerate(players):
        check_plays_on(
            minimizer, game.domains[player], player, f"minimizers[{player}]", game.domains
        )
    check_distinct(players)
    return players


def check_plays_on(
    minimizer: RegretMinimizer,
    domain: StrategySet,
    player: int,
    name: str,
    domains: Sequence[StrategySet] = (),
) -> None:
    """Refuse a minimizer that plays what its player cannot, one of several with these domains."""
    if minimizer.domain == domain:
        return
    tree = ": play on the tree, as in CFR(tree, RegretMatching)"
    wanted = f"but player {player} plays on {quote(domain)}; build it there"
    wanted += tree if isinstance(domain, DecisionTree) else ""
    if minimizer.domain in domains:
        owner = domains.index(minimizer.domain)
        wanted += f"; it plays on game.domains[{owner}], which is player {owner}'s"
    if minimizer.dimension != domain.dimension:
        raise ValueError(f"{name} plays in dimension {minimizer.dimension}, {wanted}")
    # An inner point of its set, and the outermost ones in a few fixed directions.
    directions = np.random.default_rng(1).normal(size=(_DIRECTIONS, domain.dimension))
    corners = [minimizer.domain.best_response(d)[1] for d in (*directions, *-directions)]
    for point in (minimizer.domain.relative_interior_point(), *corners):
        if not domain.contains(point, atol=ATOL):
            raise ValueError(
                f"{name} plays on {quote(minimizer.domain)}, where {format_array(point)} lies, "
                f"{wanted}"
            )
