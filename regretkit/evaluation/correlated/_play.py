"""Gaps of correlated play: how far what was played together is from correlated equilibria."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeAlias

import numpy as np
from attrs import define, field

from regretkit._state import NOT_STATE, Stateful
from regretkit._util._typing import Vector
from regretkit._util._validate import did_you_mean, must_be, number, quote, vector
from regretkit.circuits import DeviationSet, LinearDeviations, TriggerDeviations
from regretkit.evaluation.correlated._distributions import swap_gain
from regretkit.games import Game
from regretkit.games._behavioral import ProfileLike, as_vectors
from regretkit.games._game import check_linear
from regretkit.sets import DecisionTree, Simplices, StrategySet


class PlayedRun(Protocol):
    """A run that holds the strategies of its last iteration."""

    @property
    def iteration(self) -> int:
        """T, the number of iterations so far."""
        ...

    @property
    def horizon(self) -> int | None:
        """The number of iterations planned."""
        ...

    @property
    def last_profile(self) -> Sequence[Vector]:
        """The strategies x_T, y_T, ... of the last iteration T."""
        ...


class Weights(Protocol):
    """The weights of iterations, such as those of an averaging scheme."""

    def weight(self, t: int, horizon: int | None) -> float:
        """Return how much iteration ``t`` (from 1) counts, at least 0."""
        ...


Deviations: TypeAlias = str | Callable[[DecisionTree], DeviationSet]
"""``"efcce"``, ``"efce"``, ``"linear"``, or what makes a set of maps for a player's tree."""

_DEVIATIONS: Mapping[str, Callable[[DecisionTree], DeviationSet]] = {
    "efcce": partial(TriggerDeviations, coarse=True),
    "efce": TriggerDeviations,
    "linear": LinearDeviations,
}


def _as_deviations(value: Iterable[Deviations]) -> tuple[Deviations, ...]:
    wanted = f"a sequence of {', '.join(map(repr, _DEVIATIONS))} or functions of a DecisionTree"
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError(must_be("deviations", wanted, value))
    asked = tuple(name.lower() if isinstance(name, str) else name for name in value)
    for deviations in asked:
        if isinstance(deviations, str) and deviations not in _DEVIATIONS:
            told = must_be("each of deviations", f"one of {', '.join(_DEVIATIONS)}", deviations)
            raise ValueError(told + did_you_mean(deviations, _DEVIATIONS))
        if not isinstance(deviations, str) and not callable(deviations):
            raise TypeError(must_be("deviations", wanted, value))
    return asked


def _as_tree(domain: StrategySet) -> DecisionTree:
    """Return the tree of a player, in a normal form that of actions chosen side by side."""
    if isinstance(domain, Simplices):
        return DecisionTree([0] * domain.blocks, domain.sizes)
    if not isinstance(domain, DecisionTree):
        raise TypeError(
            f"deviations are maps of a decision tree, but a player plays on {quote(domain)}; "
            "leave them out"
        )
    return domain


@define(eq=False)
class CorrelatedPlay(Stateful):
    """The empirical distribution of play, as sums over iterations.

    Iteration t plays the joint strategy (x_t, y_t, ...) with independent randomness; the average
    over iterations is a correlated distribution. Utilities are those at the joint strategy, for
    every order in which players learn. With u_t the utility of player i, it keeps

        the sum of u_t,    the sum of <u_t, x_t>

    in a normal form the sum of x_t u_t^T, and for each set of deviations that is asked for the sum
    of what its coefficients would have earned. So its memory does not grow with the iterations.

    It is a callback: pass it to a run, or call ``add`` in a loop.

    Parameters
    ----------
    game
        The game that is played.
    deviations
        Of which gaps are wanted besides those to a coarse correlated equilibrium: ``"efcce"``,
        ``"efce"`` and ``"linear"``, or functions that return a ``DeviationSet`` for a tree.
    averaging
        The weights of a run's iterations, by default all the same: an ``Averaging``, or any object
        with its method ``weight``.

    Attributes
    ----------
    total_weight
        The sum of all weights.

    Examples
    --------
    >>> from regretkit.games import matching_pennies
    >>> play = CorrelatedPlay(matching_pennies())
    >>> play.add([np.array([1.0, 0.0]), np.array([1.0, 0.0])])
    >>> play.add([np.array([0.0, 1.0]), np.array([0.0, 1.0])])
    >>> play.gap("cce"), play.gap("ce")
    (1.0, 2.0)

    Out both times in the in-out game: it takes two deviations to gain, and a trigger covers both.

    >>> from regretkit.games import in_out
    >>> play = CorrelatedPlay(in_out(), ["efce"])
    >>> play.add([{"": [0, 1], "in": [0, 1], "out": [0, 1]}])
    >>> play.gap("efce")
    1.0

    References
    ----------
    Farina, Celli, Marchesi and Gatti (2022), "Simple uncoupled no-regret learning dynamics for
    extensive-form correlated equilibrium", Journal of the ACM 69(6), for the triggers.
    """

    game: Game = field(repr=False)
    deviations: tuple[Deviations, ...] = field(default=(), converter=_as_deviations)
    averaging: Weights | None = field(default=None, kw_only=True)
    total_weight: float = field(default=0.0, init=False)
    _utilities: dict[int, Vector] = field(init=False, repr=False)
    _earned: Vector = field(init=False, repr=False)
    _joint: dict[int, Vector] = field(init=False, repr=False)
    _maps: tuple[dict[int, DeviationSet], ...] = field(init=False, repr=False, metadata=NOT_STATE)
    """For each of ``deviations``, those of each player."""
    _sums: dict[str, Vector] = field(init=False, repr=False)
    """What their coefficients would have earned."""

    def __attrs_post_init__(self) -> None:
        check_linear(self.game)
        domains = dict(enumerate(self.game.domains))
        self._utilities = {i: np.zeros(domain.dimension) for i, domain in domains.items()}
        self._earned = np.zeros(len(domains))
        self._joint = {
            i: np.zeros((domain.dimension, domain.dimension))
            for i, domain in domains.items()
            if isinstance(domain, Simplices)
        }
        make = [_DEVIATIONS[d] if isinstance(d, str) else d for d in self.deviations]
        self._maps = tuple({i: of(_as_tree(d)) for i, d in domains.items()} for of in make)
        self._sums = {
            f"{place} of player {i}": np.zeros(phi.coefficients.dimension)
            for place, maps in enumerate(self._maps)
            for i, phi in maps.items()
        }

    def add(self, profile: ProfileLike, weight: float = 1.0) -> None:
        """Add one joint strategy.

        Parameters
        ----------
        profile
            A strategy for each player.
        weight
            How much it counts, at least 0. An infinite weight discards all that was added before.
        """
        discards = weight == math.inf
        weight = 1.0 if discards else number(weight, "weight", minimum=0.0)
        domains, strategies = self.game.domains, as_vectors(self.game, profile)
        # Everything is validated before anything is added.
        utilities = [
            vector(self.game.utility(i, strategies), domain.dimension, "the game's utility")
            for i, domain in enumerate(domains)
        ]
        if discards:
            self.total_weight = 0.0
            for sums in (self._utilities, self._joint, self._sums, {"": self._earned}):
                for total in sums.values():
                    total[...] = 0.0
        for player, (utility, domain) in enumerate(zip(utilities, domains, strict=True)):
            strategy, value = strategies[player], None
            self._utilities[player] += weight * utility
            if len(self._joint) == len(utilities):
                self._joint[player] += weight * np.outer(strategy, utility)
            if isinstance(domain, Simplices):
                value = domain.value(utility, strategy)
                utility, strategy = np.append(0.0, utility), np.append(1.0, strategy)
            for place, maps in enumerate(self._maps):
                earned = maps[player].utility(utility, strategy)
                self._sums[f"{place} of player {player}"] += weight * earned
                if isinstance(maps[player], TriggerDeviations):
                    value = earned[0]  # what no trigger earns
            if value is None:
                value = domain.value(utility, strategy)
            self._earned[player] += weight * value
        self.total_weight += weight

    def __call__(self, run: PlayedRun) -> None:
        """Add the joint strategy of a run's last iteration."""
        weight = 1.0
        if self.averaging is not None:
            weight = self.averaging.weight(run.iteration, run.horizon)
        self.add(run.last_profile, weight)

    def payoffs(self) -> Vector:
        """Return what each player earned in the mean, shape ``(players,)``."""
        self._check_played()
        return self._earned / self.total_weight

    def gaps(self, notion: Deviations, *, largest: bool = False) -> Vector:
        """Return what each player gains by the best deviation, shape ``(players,)``.

        In units of payoff; each is a regret over the number of iterations:

        - ``"cce"``: by one fixed strategy, the external regret. In an extensive form it is the gap
          to a normal-form coarse correlated equilibrium, NFCCE.
        - ``"ce"``: by a rule "play f(a) for a", the swap regret; in normal form only.
        - ``"efce"``: by triggers. A player follows recommendations, decision point by decision
          point, until it is recommended an action that is a trigger for it; from that decision
          point on it ignores them.
        - ``"efcce"``: the same, but it decides at a decision point before it knows what is
          recommended there.
        - ``"linear"``: by a linear map of its strategies to themselves, the linear swap regret.

        Parameters
        ----------
        notion
            ``"cce"``, ``"ce"``, or one of the ``deviations`` that the play was built with.
        largest
            Let the player choose one trigger, as many papers do, and not all of them at once, each
            with its own continuation. Only with all at once is the gap at least that of ``"cce"``.
        """
        self._check_played()
        if isinstance(notion, str) and notion in ("cce", "ce"):
            gains = self._fixed() if notion == "cce" else self._swaps()
            return gains / self.total_weight
        if notion not in self.deviations:
            _as_deviations([notion])
            raise ValueError(
                f"notion must be 'cce', 'ce' or among {quote(self.deviations)}, got "
                f"{quote(notion)}; build CorrelatedPlay(game, [{quote(notion)}])"
            )
        place, found = self.deviations.index(notion), []
        for player, maps in self._maps[place].items():
            total = self._sums[f"{place} of player {player}"]
            if isinstance(maps, TriggerDeviations):
                found.append(maps.best_gain(total, largest=largest))
            else:
                found.append(maps.coefficients.best_response(total)[0] - self._earned[player])
        return np.array(found) / self.total_weight

    def gap(self, notion: Deviations, *, largest: bool = False) -> float:
        """Return the largest of ``gaps`` over the players, in units of payoff."""
        return float(self.gaps(notion, largest=largest).max())

    def _fixed(self) -> Vector:
        sums = zip(self.game.domains, self._utilities.values(), strict=True)
        return np.array([domain.best_response(u)[0] for domain, u in sums]) - self._earned

    def _swaps(self) -> Vector:
        if len(self._joint) != len(self.game.domains):
            raise TypeError(
                f"game must be in normal form for its CE gaps, got {quote(self.game)}; "
                "in a tree measure 'cce', 'efcce', 'efce' or 'linear'"
            )
        return np.array(
            [
                sum(swap_gain(joint[d.block(b), d.block(b)]) for b in range(d.blocks))
                for joint, d in zip(self._joint.values(), self.game.domains, strict=True)
                if isinstance(d, Simplices)
            ]
        )

    def _check_played(self) -> None:
        if self.total_weight == 0.0:
            raise ValueError("nothing was played yet: add a joint strategy first")
