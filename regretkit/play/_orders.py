"""Orders of play."""

import abc
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from attrs import field, frozen

from regretkit._state import Stateful
from regretkit._util._typing import Indices
from regretkit._util._validate import as_generator, whole_number

if TYPE_CHECKING:
    from regretkit.play._self_play import SelfPlay


class UpdateSchedule(NamedTuple):
    """The players that learn in some iterations, each at most once.

    Examples
    --------
    >>> Alternating(first=1).schedule(players=2, iterations=3).players.tolist()
    [[1, 0], [1, 0], [1, 0]]
    """

    players: Indices
    """The updated players, in turn, then -1, shape ``(iterations, players)``."""
    simultaneous: bool
    """Whether all use this iteration's profile, not the new strategies of earlier players."""


class Order(abc.ABC):
    """What happens in one iteration of ``SelfPlay``.

    Examples
    --------
    An order that updates player 0 alone:

    >>> class OnlyTheFirst(Order):
    ...     def iterate(self, run):
    ...         run.learn(0, run.profile())
    """

    @abc.abstractmethod
    def iterate(self, run: "SelfPlay") -> None:
        """Update the players of ``run`` in one iteration."""

    def check_players(self, players: int) -> None:
        """Raise a ValueError for a number of players that this order does not support."""
        return

    def schedule(self, players: int, iterations: int) -> UpdateSchedule | None:
        """Return the players that learn in each of the next iterations, for machine code.

        None, the default, if an iteration is more than that. A call advances the order's random
        state.
        """
        return None


@frozen
class Simultaneous(Order):
    """All players are updated with their utilities at this iteration's profile.

    Examples
    --------
    >>> Simultaneous()
    Simultaneous()
    """

    def iterate(self, run: "SelfPlay") -> None:
        profile = run.profile()
        for player in range(run.players):
            run.learn(player, profile)

    def schedule(self, players: int, iterations: int) -> UpdateSchedule:
        return UpdateSchedule(np.tile(np.arange(players), (iterations, 1)), simultaneous=True)


@frozen
class Alternating(Order):
    """Players learn in turn, each from the newest strategies of the others.

    Player i sees the strategies of iteration t + 1 of those before it, and those of iteration t
    of those after it.

    Parameters
    ----------
    first
        The player that learns first; the others follow in turn.

    Examples
    --------
    >>> Alternating()
    Alternating(first=0)

    References
    ----------
    Burch, Moravcik and Schmid (2019), "Revisiting CFR+ and alternating updates", Journal of
    Artificial Intelligence Research 64, on what this does to the regret bound.
    """

    first: int = 0

    def __attrs_post_init__(self) -> None:
        whole_number(self.first, "first", minimum=0)

    def check_players(self, players: int) -> None:
        if not self.first < players:
            raise ValueError(f"first must be a player, one of 0 to {players - 1}, got {self.first}")

    def iterate(self, run: "SelfPlay") -> None:
        self.check_players(run.players)
        profile = run.profile()
        for turn in range(run.players):
            player = (self.first + turn) % run.players
            run.learn(player, profile)
            profile[player] = run.strategy(player)

    def schedule(self, players: int, iterations: int) -> UpdateSchedule:
        order = (self.first + np.arange(players)) % players
        return UpdateSchedule(np.tile(order, (iterations, 1)), simultaneous=False)


@frozen(eq=False)
class RandomPlayer(Order, Stateful):
    """One player, drawn at random, learns.

    Parameters
    ----------
    generator
        Draws the player; or its seed.

    Examples
    --------
    >>> order = RandomPlayer(np.random.default_rng(1))
    """

    generator: np.random.Generator = field(converter=as_generator, repr=False)

    def iterate(self, run: "SelfPlay") -> None:
        profile = run.profile()
        run.learn(int(self.generator.integers(run.players)), profile)

    def schedule(self, players: int, iterations: int) -> UpdateSchedule:
        order = np.full((iterations, players), -1)
        order[:, 0] = [self.generator.integers(players) for _ in range(iterations)]
        return UpdateSchedule(order, simultaneous=False)


@frozen
class Extragradient(Order):
    """Extragradient: extrapolate to a midpoint, then update with its utilities.

    With y the profile without predictions, every player first predicts its utility at y. The
    resulting profile x is played, and every player observes its utility at x. That is two
    utilities for each player.

    Examples
    --------
    Extragradient regret matching+ in a game in which the strategies of regret matching+ cycle:

    >>> from regretkit import SelfPlay, matrix_game
    >>> from regretkit.evaluation import duality_gap
    >>> from regretkit.minimizers.contrib import ExtragradientRegretMatchingPlus
    >>> game = matrix_game([[3, 0, -3], [0, 3, -4], [0, 0, 1]])
    >>> players = [ExtragradientRegretMatchingPlus(3, rate=0.1) for _ in "xy"]
    >>> run = SelfPlay(game, players, order=Extragradient()).run(1_000)
    >>> duality_gap(game, run.current) < 1e-6
    True

    References
    ----------
    Korpelevich (1976), "The extragradient method for finding saddle points and other problems",
    Matecon 12.
    """

    def iterate(self, run: "SelfPlay") -> None:
        players = range(run.players)
        for player in players:
            run.expect(player, None)
        unaided = run.profile()
        for player in players:
            run.expect(player, unaided)
        proposed = run.profile()
        for player in players:
            run.learn(player, proposed)
