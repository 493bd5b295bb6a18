"""Correlated play: how far the history of play is from correlated equilibrium."""

from collections.abc import Sequence
from numbers import Real
from typing import Protocol, final

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike

from regretkit._state import Stateful
from regretkit._typing import Vector
from regretkit._validate import floats, quote, shorten, vector
from regretkit.games import Game, NormalFormGame
from regretkit.games._game import as_strategies, check_game
from regretkit.sets import Simplices


class Played(Protocol):
    """A run that says which strategies its last iteration played."""

    @property
    def played(self) -> Sequence[Vector]:
        """The strategies x_t, y_t, ... of the last iteration t."""
        ...


@final
@define(eq=False)
class CorrelatedPlay(Stateful):
    """The empirical distribution of play, kept by sums and not by history.

    Iteration t plays the joint strategy (x_t, y_t, ...), and the players' randomness is their
    own; over time their play is correlated all the same. Utilities are those at the joint
    strategy, for every order in which players learn. With u_t player i's utility there, it keeps

        the sum of u_t,    the sum of <u_t, x_t>,    the sum of x_t u_t^T

    and so needs memory for one matrix a player, however long the play.

    It is a callback: pass it to a run, or call :meth:`add` in a loop of your own.

    Parameters
    ----------
    game
        The game that is played.

    Raises
    ------
    TypeError
        When ``game`` is none.

    Examples
    --------
    >>> from regretkit.games import matching_pennies
    >>> play = CorrelatedPlay(matching_pennies())
    >>> play.add([np.array([1.0, 0.0]), np.array([1.0, 0.0])])
    >>> play.add([np.array([0.0, 1.0]), np.array([0.0, 1.0])])
    >>> play.cce_gap(), play.ce_gap()
    (1.0, 2.0)
    """

    game: Game = field(repr=False)
    total_weight: float = field(default=0.0, init=False)
    _utilities: list[Vector] = field(init=False, repr=False)
    _earned: Vector = field(init=False, repr=False)
    _joint: list[Vector] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        check_game(self.game)
        domains = self.game.domains
        self._utilities = [np.zeros(domain.dimension) for domain in domains]
        self._earned = np.zeros(len(domains))
        self._joint = [
            np.zeros((domain.dimension, domain.dimension))
            for domain in domains
            if isinstance(domain, Simplices)
        ]

    def add(self, profile: Sequence[Vector], weight: float = 1.0) -> None:
        """Add one joint strategy.

        Parameters
        ----------
        profile
            A strategy for each player.
        weight
            How much it counts, at least 0.

        Raises
        ------
        TypeError, ValueError
            When ``profile`` is not one strategy for each player, or ``weight`` is negative or no
            finite number. Nothing has changed then.
        """
        if isinstance(weight, bool) or not isinstance(weight, Real):
            raise TypeError(f"weight must be a number, got {quote(weight)}")
        if not (0.0 <= weight < np.inf):
            raise ValueError(f"weight must be finite and at least 0, got {quote(weight)}")
        domains, strategies = self.game.domains, as_strategies(self.game, profile)
        # All that could be refused comes before anything is added.
        utilities = [
            vector(self.game.utility(i, strategies), domain.dimension, "the game's utility")
            for i, domain in enumerate(domains)
        ]
        for player, (utility, domain) in enumerate(zip(utilities, domains, strict=True)):
            self._utilities[player] += weight * utility
            self._earned[player] += weight * domain.worth(utility, strategies[player])
            if len(self._joint) == len(utilities):
                self._joint[player] += weight * np.outer(strategies[player], utility)
        self.total_weight += float(weight)

    def __call__(self, run: Played) -> None:
        """Add what a run has just played."""
        self.add(run.played)

    def cce_gaps(self) -> Vector:
        """Return what each player gains by one fixed strategy, shape ``(players,)``.

        It is the external regret over the number of iterations, in units of payoff.
        """
        self._check_played()
        best = [
            domain.best_response(utility)[0]
            for domain, utility in zip(self.game.domains, self._utilities, strict=True)
        ]
        return (np.array(best) - self._earned) / self.total_weight

    def cce_gap(self) -> float:
        """Return the largest of :meth:`cce_gaps` over the players, in units of payoff."""
        return float(self.cce_gaps().max())

    def ce_gaps(self) -> Vector:
        """Return what each player gains by a rule "play f(a) for a", shape ``(players,)``.

        It is the swap regret over the number of iterations, in units of payoff.

        Raises
        ------
        TypeError
            When the game is not in normal form.
        """
        self._check_played()
        if len(self._joint) != len(self.game.domains):
            raise TypeError(
                f"game must be in normal form for its CE gaps, got {quote(self.game)}; "
                "its CCE gaps are there"
            )
        gaps = [
            sum(_swap_gain(joint[domain.block(b), domain.block(b)]) for b in range(domain.blocks))
            for joint, domain in zip(self._joint, self.game.domains, strict=True)
            if isinstance(domain, Simplices)
        ]
        return np.array(gaps) / self.total_weight

    def ce_gap(self) -> float:
        """Return the largest of :meth:`ce_gaps` over the players, in units of payoff."""
        return float(self.ce_gaps().max())

    def _check_played(self) -> None:
        if self.total_weight == 0.0:
            raise ValueError("nothing was played yet: add a joint strategy first")


def cce_gaps(game: NormalFormGame, distribution: ArrayLike) -> Vector:
    """Return what each player gains over a joint distribution by one fixed action.

    A coarse correlated equilibrium is a distribution at which no player gains. Shape
    ``(players,)``, in units of payoff.

    Parameters
    ----------
    game
        A game in normal form.
    distribution
        Probability of every outcome, shape ``(n_0, n_1, ...)``.

    Raises
    ------
    TypeError, ValueError
        When ``game`` is not in normal form, or ``distribution`` has another shape or is none.

    Examples
    --------
    >>> from regretkit.games import shapley_game
    >>> cce_gaps(shapley_game(), [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    array([0., 1.])
    """
    joints = _joints(game, distribution)
    return np.array([joint.sum(axis=0).max() - np.trace(joint) for joint in joints])


def ce_gaps(game: NormalFormGame, distribution: ArrayLike) -> Vector:
    """Return what each player gains over a joint distribution by a rule "play f(a) for a".

    A correlated equilibrium is a distribution at which no player gains. Shape ``(players,)``, in
    units of payoff.

    Parameters
    ----------
    game
        A game in normal form.
    distribution
        Probability of every outcome, shape ``(n_0, n_1, ...)``.

    Raises
    ------
    TypeError, ValueError
        When ``game`` is not in normal form, or ``distribution`` has another shape or is none.

    Examples
    --------
    >>> from regretkit.games import chicken
    >>> ce_gaps(chicken(), [[0.0, 0.25], [0.25, 0.5]])
    array([0., 0.])
    """
    return np.array([_swap_gain(joint) for joint in _joints(game, distribution)])


def _swap_gain(joint: Vector) -> float:
    """Return the sum over a of ``max_b K[a, b] - K[a, a]``."""
    return float((joint.max(axis=1) - np.diag(joint)).sum())


def _joints(game: NormalFormGame, distribution: ArrayLike) -> list[Vector]:
    """Return for each player K[a, b]: what b would have earned while a was played."""
    if not isinstance(game, NormalFormGame):
        raise TypeError(
            f"game must be a NormalFormGame, whose outcomes are distributed, got {quote(game)}; "
            "for play in other games use CorrelatedPlay"
        )
    try:
        mu = floats(distribution, "distribution")
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"distribution must be numbers, got {quote(distribution)}; pass one probability for "
            f"each outcome, shape {game.payoffs.shape[1:]}"
        ) from error
    if mu.shape != game.payoffs.shape[1:]:
        raise ValueError(
            f"distribution has shape {mu.shape}, but the outcomes of the game have shape "
            f"{game.payoffs.shape[1:]}; pass one probability for each"
        )
    if not (mu >= 0.0).all() or not abs(mu.sum() - 1.0) <= 1e-9:
        raise ValueError(
            f"distribution must be nonnegative and sum to one within 1e-9, got {shorten(str(mu))} "
            f"with sum {mu.sum()}"
        )
    joints = []
    for player in range(game.players):
        own = [np.moveaxis(array, player, 0) for array in (mu, game.payoffs[player])]
        joints.append(own[0].reshape(len(own[0]), -1) @ own[1].reshape(len(own[1]), -1).T)
    return joints
