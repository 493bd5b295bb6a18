"""Correlated play, and its gaps to correlated equilibria."""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from attrs import define, field

from regretkit._state import NOT_STATE, Stateful
from regretkit._util._typing import Vector
from regretkit._util._validate import did_you_mean, must_be, number, quote, vector
from regretkit.circuits import DeviationSet, LinearDeviations, TriggerDeviations
from regretkit.evaluation.correlated._distributions import swap_gain
from regretkit.games import Game
from regretkit.games._game import check_linear
from regretkit.games._profile import ProfileLike, as_vectors
from regretkit.sets import DecisionTree, Simplices, StrategySet

Deviations: TypeAlias = str | Callable[[DecisionTree], DeviationSet]
"""``"efcce"``, ``"efce"``, ``"linear"``, or a function from a player's tree to a set of maps."""

_DEVIATIONS: Mapping[str, Callable[[DecisionTree], DeviationSet]] = {
    "efcce": partial(TriggerDeviations, coarse=True),
    "efce": TriggerDeviations,
    "linear": LinearDeviations,
}


def _as_deviations(value: Iterable[Deviations]) -> tuple[Deviations, ...]:
    wanted = f"a sequence of {', '.join(map(repr, _DEVIATIONS))} or functions of a DecisionTree"
    if isinstance(value, str):
        raise TypeError(must_be("deviations", wanted, value))
    given = tuple(each.lower() if isinstance(each, str) else each for each in value)
    for each in given:
        if not callable(each) and each not in _DEVIATIONS:
            close = did_you_mean(str(each), _DEVIATIONS)
            raise ValueError(must_be("deviations", wanted, each) + close)
    return given


def _as_tree(domain: StrategySet) -> DecisionTree:
    """Return a player's tree; simplices become decision points after the empty sequence."""
    if isinstance(domain, Simplices):
        return DecisionTree([0] * domain.blocks, domain.sizes)
    if not isinstance(domain, DecisionTree):
        raise TypeError(f"deviations need a decision tree, got {quote(domain)}")
    return domain


@define(eq=False)
class CorrelatedPlay(Stateful):
    """The empirical distribution of play, as sums over iterations.

    In iteration t, players draw independently from their strategies (x_t, y_t, ...). The average
    over iterations is a correlated distribution. With w_t the weight of iteration t and u_t the
    utility of a player with strategy x_t, the state is

        sum of w_t u_t,    sum of w_t <u_t, x_t>,    in normal form also  sum of w_t x_t u_t^T

    and for each set of deviations the sum of the utilities of its coefficients. Memory does not
    grow with iterations. ``CorrelatedPlay`` is a callback: pass it to a run, or call ``add``.

    Parameters
    ----------
    game
        A game with linear utilities.
    deviations
        Deviations for further gaps: ``"efcce"``, ``"efce"``, ``"linear"``, or functions from a tree
        to a ``DeviationSet``.
    averaging
        The averaging scheme of a run's iterations, by default equal weights: an ``Averaging``, or
        any object with a method ``weight(t, horizon)``.

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

    References
    ----------
    Farina, Celli, Marchesi and Gatti (2022), "Simple uncoupled no-regret learning dynamics for
    extensive-form correlated equilibrium", Journal of the ACM 69(6), for the triggers.
    """

    game: Game = field(repr=False)
    deviations: tuple[Deviations, ...] = field(default=(), converter=_as_deviations)
    averaging: Any = field(default=None, kw_only=True)
    total_weight: float = field(default=0.0, init=False)
    _earned: Vector = field(init=False, repr=False)
    _sums: dict[str, Vector] = field(init=False, repr=False)
    """Sums of utilities, their products with strategies, and utilities of coefficients."""
    _maps: tuple[tuple[DeviationSet, ...], ...] = field(init=False, repr=False, metadata=NOT_STATE)
    """The deviation set of each of ``deviations`` and each player."""

    def __attrs_post_init__(self) -> None:
        check_linear(self.game)
        domains = self.game.domains
        make = [_DEVIATIONS[d] if isinstance(d, str) else d for d in self.deviations]
        self._maps = tuple(tuple(of(_as_tree(domain)) for domain in domains) for of in make)
        self._earned, self._sums = np.zeros(len(domains)), {}
        normal = all(isinstance(domain, Simplices) for domain in domains)
        for i, domain in enumerate(domains):
            self._sums[f"utility {i}"] = np.zeros(domain.dimension)
            if normal:
                self._sums[f"joint {i}"] = np.zeros((domain.dimension, domain.dimension))
            for place, maps in enumerate(self._maps):
                self._sums[f"{place} of player {i}"] = np.zeros(maps[i].coefficients.dimension)

    def add(self, profile: ProfileLike, weight: float = 1.0) -> None:
        """Add one joint strategy.

        Parameters
        ----------
        profile
            A strategy for each player.
        weight
            The weight, at least 0. An infinite weight discards all earlier joint strategies.
        """
        discards = weight == math.inf
        weight = 1.0 if discards else number(weight, "weight", minimum=0.0)
        domains, strategies = self.game.domains, as_vectors(self.game, profile)
        # Validate all utilities before changing any sum.
        utilities = [
            vector(self.game.utility(i, strategies), domain.dimension, "the game's utility")
            for i, domain in enumerate(domains)
        ]
        if discards:
            self.total_weight = 0.0
            for total in (self._earned, *self._sums.values()):
                total[...] = 0.0
        for i, (utility, domain, x) in enumerate(zip(utilities, domains, strategies, strict=True)):
            value, strategy = None, x
            self._sums[f"utility {i}"] += weight * utility
            if f"joint {i}" in self._sums:
                self._sums[f"joint {i}"] += weight * np.outer(strategy, utility)
            if isinstance(domain, Simplices):
                value = domain.value(utility, strategy)
                utility, strategy = np.append(0.0, utility), np.append(1.0, strategy)
            for place, maps in enumerate(self._maps):
                earned = maps[i].utility(utility, strategy)
                self._sums[f"{place} of player {i}"] += weight * earned
                if isinstance(maps[i], TriggerDeviations):
                    value = earned[0]  # coefficient 0: no trigger
            self._earned[i] += weight * (domain.value(utility, x) if value is None else value)
        self.total_weight += weight

    def __call__(self, run: Any) -> None:
        """Add the joint strategy of a run's last iteration."""
        weight = 1.0
        if self.averaging is not None:
            weight = self.averaging.weight(run.iteration, run.horizon)
        self.add(run.last_profile, weight)

    def payoffs(self) -> Vector:
        """Return each player's mean payoff, shape ``(players,)``."""
        self._check_played()
        return self._earned / self.total_weight

    def gaps(self, notion: Deviations, *, largest: bool = False) -> Vector:
        """Return each player's gain from the best deviation, shape ``(players,)``.

        Gains are in units of payoff. Each is a regret divided by the total weight:

        - ``"cce"``: one fixed strategy; the external regret. In extensive form, this is the gap to
          a normal-form coarse correlated equilibrium, NFCCE.
        - ``"ce"``: a rule "play f(a) for a"; the swap regret. For normal forms only.
        - ``"efce"``: triggers. The player follows recommendations until one is a trigger, and plays
          another strategy from that decision point on.
        - ``"efcce"``: triggers that depend on the decision point, not on the recommendation there.
        - ``"linear"``: a linear map from its set to itself; the linear swap regret.

        Parameters
        ----------
        notion
            ``"cce"``, ``"ce"``, or one of ``deviations``.
        largest
            Whether to use only the best single trigger, as many papers do, instead of all at once,
            each with its own continuation. Only the gap with all is at least that of ``"cce"``.
        """
        self._check_played()
        if notion not in ("cce", "ce", *self.deviations):
            wanted, hint = f"'cce', 'ce' or in {quote(self.deviations)}", "name it in deviations"
            raise ValueError(must_be("notion", wanted, notion, hint))
        gains = [self._gain(i, notion, largest=largest) for i in range(len(self.game.domains))]
        return np.array(gains) / self.total_weight

    def _gain(self, player: int, notion: Deviations, *, largest: bool) -> float:
        domain: Any = self.game.domains[player]
        if notion == "cce":
            best, _ = domain.best_response(self._sums[f"utility {player}"])
            return float(best - self._earned[player])
        if notion == "ce":
            if (joint := self._sums.get(f"joint {player}")) is None:
                raise TypeError(f"game must be in normal form for 'ce', got {quote(self.game)}")
            blocks = map(domain.block, range(domain.blocks))
            return sum(swap_gain(joint[block, block]) for block in blocks)
        place = self.deviations.index(notion)
        maps, total = self._maps[place][player], self._sums[f"{place} of player {player}"]
        if isinstance(maps, TriggerDeviations):
            return maps.best_gain(total, largest=largest)
        return maps.coefficients.best_response(total)[0] - float(self._earned[player])

    def gap(self, notion: Deviations, *, largest: bool = False) -> float:
        """Return the largest of ``gaps`` over the players, in units of payoff."""
        return float(self.gaps(notion, largest=largest).max())

    def _check_played(self) -> None:
        if self.total_weight == 0.0:
            raise ValueError("add a joint strategy first")
