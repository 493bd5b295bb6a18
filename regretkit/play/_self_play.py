"""``SelfPlay``: runs of minimizers on a game with a tree or a table."""

from collections.abc import Callable, Iterable, Sequence
from typing import cast

import numpy as np
from attrs import define, field

from regretkit._state import NOT_STATE, is_ours
from regretkit._util._typing import Vector
from regretkit._util._validate import ATOL, of_kind, quote
from regretkit.circuits._base import as_minimizers, check_distinct
from regretkit.estimators import Estimator, ExactUtility
from regretkit.evaluation import exploitability, nash_conv
from regretkit.games import Game, Profile
from regretkit.games._game import as_profile, as_strategies, check_game, check_strategy
from regretkit.minimizer import RegretMinimizer
from regretkit.play._averaging import Average, average_profile
from regretkit.play._engines import (
    AUTO,
    COMPILED,
    EngineReport,
    Executor,
    check_supported,
    executor_for,
    report_engine,
    valid_engine,
)
from regretkit.play._run import Run, name_of
from regretkit.sets import StrategySet


@define(eq=False, repr=False)
class SelfPlay(Run):
    """A run of minimizers, one for each player, that play a game against each other.

    In iteration t, the averages add each player's strategy x_t with weight w_t. The order of
    updates decides which players update, with utilities from the estimator.

    Parameters
    ----------
    game
        The game.
    minimizers
        One for each player, on the player's set or a subset of it.
    order
        The order of updates.
    averaging
        The averaging scheme, with weights w_t.
    estimator
        Computes the utilities that the minimizers observe.
    horizon
        Planned number of iterations, at least 1, for averaging schemes that depend on it.
    engine
        ``"compiled"``; ``"numpy"``; or ``"auto"``, which is compiled if that engine supports the
        run, and NumPy otherwise. Their results agree up to rounding.

    Attributes
    ----------
    iteration
        T, the number of iterations so far.
    seconds
        Duration of these iterations, without callbacks.
    last_profile
        The strategies of all players in iteration T.

    Examples
    --------
    CFR+ on Kuhn poker, built from its parts:

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
    estimator: Estimator = field(
        factory=ExactUtility, kw_only=True, validator=of_kind(Estimator, "ExactUtility()")
    )
    _requested_engine: str = field(
        default=AUTO, kw_only=True, alias="engine", validator=valid_engine, metadata=NOT_STATE
    )
    last_profile: Sequence[Vector] = field(factory=tuple, init=False, repr=False)
    _averages: list[Average] = field(init=False, repr=False)
    _executor: Executor | None = field(default=None, init=False, repr=False, metadata=NOT_STATE)
    _learned_from: dict[int, Vector] = field(
        factory=dict, init=False, repr=False, metadata=NOT_STATE
    )

    def __attrs_post_init__(self) -> None:
        self.minimizers = _as_players(self.game, self.minimizers)
        self.order.check_players(self.players)
        self._averages = [Average(self.averaging, horizon=self.horizon) for _ in self.minimizers]
        if self._requested_engine == COMPILED:
            check_supported(self)

    def _prepare(self, iterations: int) -> None:
        if self.iteration == 0 and iterations:
            as_strategies(self.game, self.current)
        self._executor = executor_for(self, self._requested_engine, self._executor)

    def _play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        executor = cast("Executor", self._executor)
        executor.play(iterations, interrupted)
        if all(is_ours(part) for part in executor.parts if part is not None):
            return
        for player, (minimizer, domain) in enumerate(
            zip(self.minimizers, self.game.domains, strict=True)
        ):
            name = f"after iteration {self.iteration}, the strategy of {quote(minimizer)}"
            check_strategy(minimizer.next_strategy(), domain, player, name)

    @property
    def engine(self) -> str:
        """Name of the engine of the last iterations. Before the first, the requested name."""
        return self._requested_engine if self._executor is None else self._executor.name

    def engine_report(self) -> EngineReport:
        """Return the engine, and for each player whether its minimizer is compiled, or why not.

        Examples
        --------
        >>> import regretkit as rk
        >>> run = rk.play.named("cfr+").start(rk.load("kuhn_poker"))
        >>> print(run.engine_report())
        engine: compiled
        player 0: machine code
        player 1: machine code
        """
        return report_engine(self, self._requested_engine, self._executor)

    def _iterate(self) -> None:
        """Play one iteration with NumPy."""
        before = [minimizer.next_strategy() for minimizer in self.minimizers]
        self._learned_from = {}
        self.order.iterate(self)
        # The order may set predictions, which change a player's strategy before its update.
        played = [self._learned_from.get(player, x) for player, x in enumerate(before)]
        for player, (average, strategy) in enumerate(zip(self._averages, played, strict=True)):
            average.add(self.game.realization(player, strategy))
        self.last_profile = played
        self.iteration += 1

    def _restored(self) -> None:
        super()._restored()
        self._executor = None  # it may hold copies of the old state

    # For orders of updates

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.minimizers)

    def strategy(self, player: int) -> Vector:
        """Return a player's next strategy, a read-only array."""
        return self.minimizers[player].next_strategy()

    def profile(self) -> list[Vector]:
        """Return all players' next strategies, in a new list."""
        strategies = [minimizer.next_strategy() for minimizer in self.minimizers]
        return as_profile(strategies, self.game.domains)

    def learn(self, player: int, profile: Sequence[Vector]) -> None:
        """Update a player with its utility against the opponents' strategies in ``profile``."""
        utility = self.estimator.utility(self.game, player, profile)
        self._learned_from.setdefault(player, self.strategy(player))
        self.minimizers[player].observe_utility(utility)

    def expect(self, player: int, profile: Sequence[Vector] | None) -> None:
        """Set a player's prediction to its utility against ``profile``, or to zero for None."""
        minimizer = self.minimizers[player]
        if profile is None:
            minimizer.expect_utility(np.zeros(minimizer.dimension))
        else:
            minimizer.expect_utility(self.estimator.utility(self.game, player, profile))

    # Results

    @property
    def current(self) -> Profile:
        """The next iteration's strategies, x_{T+1}."""
        self.check_whole()
        return Profile([m.next_strategy() for m in self.minimizers], self.game.domains, self.game)

    @property
    def average(self) -> Profile:
        """The weighted average of x_1 to x_T."""
        self.check_whole()
        return average_profile(self._averages, self.game)

    def nash_conv(self) -> float:
        """Return ``nash_conv`` of ``average``: the sum over players of a best response's gain."""
        return nash_conv(self.game, self.average)

    def exploitability(self) -> float:
        """Return ``exploitability`` of ``average``: the mean gain of players' best responses."""
        return exploitability(self.game, self.average)

    def __repr__(self) -> str:
        return f"<SelfPlay of {name_of(self.game)}: {self.iteration} iterations>"

    def _made_of(self) -> str:
        rules = [getattr(minimizer, "rule", minimizer) for minimizer in self.minimizers]
        return ", ".join(dict.fromkeys(type(rule).__name__ for rule in rules))

    def _results(self) -> dict[str, str]:
        small = sum(domain.dimension for domain in self.game.domains) <= _QUICK
        found = {}
        if small and self.iteration and self._averages[0].has_strategy:
            value = self.game.value(self.average)
            found = {"gap": f"{self.nash_conv():.3g}", "value": ", ".join(map(_number, value))}
        return {**found, "engine": self.engine}


_QUICK = 100_000
"""Largest number of sequences of a game for which ``print`` computes the gap."""


def _number(value: float) -> str:
    return f"{value:.6g}"


def _as_players(game: Game, minimizers: Iterable[RegretMinimizer]) -> tuple[RegretMinimizer, ...]:
    """Return the minimizers as a tuple, after checks against the game's players."""
    check_game(game)
    players = as_minimizers(minimizers)
    if len(players) != len(game.domains):
        raise ValueError(
            f"minimizers must be one for each of the {len(game.domains)} players, got "
            f"{len(players)}"
        )
    for player, minimizer in enumerate(players):
        check_plays_on(minimizer, game.domains[player], player, f"minimizers[{player}]")
    check_distinct(players)
    return players


def check_plays_on(minimizer: RegretMinimizer, domain: StrategySet, player: int, name: str) -> None:
    """Raise a ValueError unless a minimizer's set is in its player's set.

    The check compares the sets, or else one interior point.
    """
    own = minimizer.domain
    fits = own == domain or (
        own.dimension == domain.dimension
        and domain.contains(own.relative_interior_point(), atol=ATOL)
    )
    if not fits:
        raise ValueError(
            f"{name} must play on {quote(domain)}, the set of player {player}, got {quote(own)}"
        )
