"""Orders of updates."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from attrs import field, frozen

from regretkit._state import Stateful
from regretkit._util._typing import Indices
from regretkit._util._validate import as_generator, whole_number

if TYPE_CHECKING:
    from regretkit.play._self_play import SelfPlay


class UpdateSchedule(NamedTuple):
    """The updated players of several iterations, each at most once per iteration.

    Examples
    --------
    >>> Alternating(first=1).schedule(players=2, iterations=3).players.tolist()
    [[1, 0], [1, 0], [1, 0]]
    """

    players: Indices
    """The updated players in order, then -1, shape ``(iterations, players)``."""
    simultaneous: bool = False
    """Whether all utilities are at the same profile. Otherwise updates take effect at once."""


class Order:
    """An order of updates: which players update in an iteration, and against which strategies.

    A subclass implements ``schedule``, if its iterations update players in turn, or ``iterate``,
    which the compiled engine does not support.

    Examples
    --------
    An order that updates player 0 alone:

    >>> class OnlyTheFirst(Order):
    ...     def iterate(self, run):
    ...         run.learn(0, run.profile())
    """

    def iterate(self, run: "SelfPlay") -> None:
        """Update the players of ``run`` in one iteration; by default those of ``schedule``."""
        turns = self.schedule(run.players, 1)
        if turns is None:
            raise TypeError(f"{self} must implement schedule or iterate")
        profile = run.profile()
        for player in turns.players[0].tolist():
            if player >= 0:
                run.learn(player, profile)
                if not turns.simultaneous:
                    profile[player] = run.strategy(player)

    def is_scheduled(self, players: int) -> bool:
        """Return whether iterations do no more than ``schedule`` says."""
        return type(self).iterate is Order.iterate and self.schedule(players, 0) is not None

    def check_players(self, players: int) -> None:
        """Raise a ValueError if this order does not support the number of players."""
        return

    def schedule(self, players: int, iterations: int) -> UpdateSchedule | None:
        """Return the updated players of the next iterations.

        None, the default, means that iterations do more than updates in turn, which the compiled
        engine does not support. Each call advances the order's random state.
        """
        return None


@frozen
class Simultaneous(Order):
    """Update all players with their utilities at the same profile.

    In iteration t, player i observes its utility against x_t of all opponents.

    Examples
    --------
    >>> Simultaneous()
    Simultaneous()
    """

    def schedule(self, players: int, iterations: int) -> UpdateSchedule:
        return UpdateSchedule(np.full((iterations, players), np.arange(players)), True)


@frozen
class Alternating(Order):
    """Update the players in turn, each against the newest strategies of its opponents.

    In iteration t, a player observes its utility against x_{t+1} of the players before it in the
    order, and against x_t of the players after it.

    Parameters
    ----------
    first
        The player that is updated first. The order is cyclic: ``first``, ``first + 1``, and so on.

    Examples
    --------
    >>> Alternating()
    Alternating(first=0)

    References
    ----------
    Burch, Moravcik and Schmid (2019), "Revisiting CFR+ and alternating updates", Journal of
    Artificial Intelligence Research 64, with the effect on the regret bound.
    """

    first: int = 0

    def __attrs_post_init__(self) -> None:
        whole_number(self.first, "first", minimum=0)

    def check_players(self, players: int) -> None:
        if not self.first < players:
            raise ValueError(f"first must be a player, one of 0 to {players - 1}, got {self.first}")

    def schedule(self, players: int, iterations: int) -> UpdateSchedule:
        order = [(self.first + turn) % players for turn in range(players)]
        return UpdateSchedule(np.full((iterations, players), order))


@frozen(eq=False)
class RandomPlayer(Order, Stateful):
    """Update one player per iteration, drawn uniformly at random.

    Parameters
    ----------
    generator
        A random generator, or its seed.

    Examples
    --------
    >>> order = RandomPlayer(np.random.default_rng(1))
    """

    generator: np.random.Generator = field(converter=as_generator, repr=False)

    def schedule(self, players: int, iterations: int) -> UpdateSchedule:
        order = np.full((iterations, players), -1)
        order[:, 0] = [self.generator.integers(players) for _ in range(iterations)]
        return UpdateSchedule(order)


@frozen
class Extragradient(Order):
    """Extragradient: predict the utility at one profile, update with the utility at the next.

    In iteration t, with players' strategies as functions of their predictions m,

        y_t  =  profile(m = 0),    x_t  =  profile(m = utility(y_t)),

    the players play x_t and observe ``utility(x_t)``. Each player computes two utilities.

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
