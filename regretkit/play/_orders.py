"""Orders of play: who learns when, and from what."""

import abc
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from attrs import field, frozen

from regretkit._state import Stateful
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import as_generator, whole_number


class UpdateContext(Protocol):
    """The players as an order of play sees them: it can read strategies and update minimizers.

    Examples
    --------
    A custom order, in which only player 0 is updated:

    >>> class OnlyTheFirst(Order):
    ...     def iterate(self, context: UpdateContext) -> None:
    ...         context.learn(0, context.profile())
    """

    @property
    def players(self) -> int:
        """Number of players."""
        ...

    def strategy(self, player: int) -> Vector:
        """Return what a player would play now; after it learned, that is its next strategy."""
        ...

    def profile(self) -> list[Vector]:
        """Return what all players would play now, in a list of which entries may be replaced."""
        ...

    def learn(self, player: int, profile: Sequence[Vector]) -> None:
        """Let a player observe its utility while the others play ``profile``."""
        ...

    def expect(self, player: int, profile: Sequence[Vector] | None) -> None:
        """Tell a player to expect its utility while the others play ``profile``, or nothing."""
        ...


class UpdateSchedule(NamedTuple):
    """Who learns in some iterations, each once at most.

    Examples
    --------
    >>> Alternating(first=1).schedule(players=2, iterations=3).players.tolist()
    [[1, 0], [1, 0], [1, 0]]
    """

    players: Indices
    """The players updated, in turn, then -1, shape ``(iterations, players)``."""
    simultaneous: bool
    """Whether all use this iteration's profile, and not the new strategies of those before them."""


class Order(abc.ABC):
    """What happens in one iteration.

    Examples
    --------
    >>> isinstance(Alternating(), Order)
    True
    """

    @abc.abstractmethod
    def iterate(self, context: UpdateContext) -> None:
        """Let the players at ``context`` go through one iteration."""

    def check_players(self, players: int) -> None:
        """Refuse a number of players that this order cannot lead; any will do by default."""
        return

    def schedule(self, players: int, iterations: int) -> UpdateSchedule | None:
        """Return who learns in each of the next iterations, None if it is more than that.

        What says it can be compiled. To be asked is to go through those iterations: an order that
        draws players has drawn them.
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

    def iterate(self, context: UpdateContext) -> None:
        profile = context.profile()
        for player in range(context.players):
            context.learn(player, profile)

    def schedule(self, players: int, iterations: int) -> UpdateSchedule:
        return UpdateSchedule(np.tile(np.arange(players), (iterations, 1)), simultaneous=True)


@frozen
class Alternating(Order):
    """One after the other, each learns from the newest strategies of the rest.

    Player i sees the strategies of iteration t + 1 of those before it, and those of iteration t
    of those after it.

    Parameters
    ----------
    first
        Who learns first; the others follow in turn.

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

    def iterate(self, context: UpdateContext) -> None:
        self.check_players(context.players)
        profile = context.profile()
        for turn in range(context.players):
            player = (self.first + turn) % context.players
            context.learn(player, profile)
            profile[player] = context.strategy(player)

    def schedule(self, players: int, iterations: int) -> UpdateSchedule:
        order = (self.first + np.arange(players)) % players
        return UpdateSchedule(np.tile(order, (iterations, 1)), simultaneous=False)


@frozen(eq=False)
class RandomPlayer(Order, Stateful):
    """One player, drawn at random, learns; the others stay as they are.

    Parameters
    ----------
    generator
        Draws the player; or its seed.

    Examples
    --------
    >>> order = RandomPlayer(np.random.default_rng(1))
    """

    generator: np.random.Generator = field(converter=as_generator, repr=False)

    def iterate(self, context: UpdateContext) -> None:
        profile = context.profile()
        context.learn(int(self.generator.integers(context.players)), profile)

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
    Extragradient regret matching+ in a game of three by three, in which regret matching+ turns in
    circles:

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

    def iterate(self, context: UpdateContext) -> None:
        players = range(context.players)
        for player in players:
            context.expect(player, None)
        unaided = context.profile()
        for player in players:
            context.expect(player, unaided)
        proposed = context.profile()
        for player in players:
            context.learn(player, proposed)
