"""Correlated equilibria: how far play is from one, and the best ones by linear programming."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, final

import numpy as np
from attrs import define, field, frozen
from numpy.typing import ArrayLike

from regretkit._util._arrays import read_only
from regretkit._util._state import NOT_STATE, Stateful
from regretkit._util._typing import Vector
from regretkit._util._validate import (
    did_you_mean,
    floats,
    must_be,
    number,
    quote,
    shorten,
    vector,
)
from regretkit.circuits import DeviationSet, LinearDeviations, TriggerDeviations
from regretkit.evaluation._linear_programs import (
    check_normal_form,
    exponent_of,
    maximize,
    payoff_rows,
)
from regretkit.games import Game, NormalFormGame
from regretkit.games._behavioral import ProfileLike, as_vectors
from regretkit.games._game import check_game, check_player
from regretkit.sets import DecisionTree, Simplices, StrategySet

if TYPE_CHECKING:
    from scipy.sparse import csr_array


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
    for deviations in (asked := tuple(value)):
        if isinstance(deviations, str) and deviations not in _DEVIATIONS:
            told = must_be("each of deviations", f"one of {', '.join(_DEVIATIONS)}", deviations)
            raise ValueError(told + did_you_mean(deviations.lower(), _DEVIATIONS))
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


@final
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
    >>> play.cce_gap(), play.ce_gap()
    (1.0, 2.0)

    Out both times in the in-out game: it takes two deviations to gain, and a trigger covers both.

    >>> from regretkit.games import in_out
    >>> play = CorrelatedPlay(in_out(), ["efce"])
    >>> play.add([{"": [0, 1], "in": [0, 1], "out": [0, 1]}])
    >>> play.efce_gap()
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
    _maps: list[dict[int, DeviationSet]] = field(init=False, repr=False, metadata=NOT_STATE)
    """For each of ``deviations``, those of each player."""
    _sums: dict[str, Vector] = field(init=False, repr=False)
    """What their coefficients would have earned."""

    def __attrs_post_init__(self) -> None:
        check_game(self.game)
        domains = dict(enumerate(self.game.domains))
        self._utilities = {i: np.zeros(domain.dimension) for i, domain in domains.items()}
        self._earned = np.zeros(len(domains))
        self._joint = {
            i: np.zeros((domain.dimension, domain.dimension))
            for i, domain in domains.items()
            if isinstance(domain, Simplices)
        }
        make = [_DEVIATIONS[d] if isinstance(d, str) else d for d in self.deviations]
        self._maps = [{i: of(_as_tree(domain)) for i, domain in domains.items()} for of in make]
        self._sums = {
            f"{place} of player {i}": np.zeros(each.coefficients.dimension)
            for place, maps in enumerate(self._maps)
            for i, each in maps.items()
        }

    def add(self, profile: ProfileLike, weight: float = 1.0) -> None:
        """Add one joint strategy.

        Parameters
        ----------
        profile
            A strategy for each player.
        weight
            How much it counts, at least 0.
        """
        weight = number(weight, "weight", least=0.0)
        domains, strategies = self.game.domains, as_vectors(self.game, profile)
        # Everything is validated before anything is added.
        utilities = [
            vector(self.game.utility(i, strategies), domain.dimension, "the game's utility")
            for i, domain in enumerate(domains)
        ]
        for player, (utility, domain) in enumerate(zip(utilities, domains, strict=True)):
            strategy = strategies[player]
            self._utilities[player] += weight * utility
            self._earned[player] += weight * domain.value(utility, strategy)
            if len(self._joint) == len(utilities):
                self._joint[player] += weight * np.outer(strategy, utility)
            if isinstance(domain, Simplices):
                utility, strategy = np.append(0.0, utility), np.append(1.0, strategy)
            for place, maps in enumerate(self._maps):
                earned = maps[player].utility(utility, strategy)
                self._sums[f"{place} of player {player}"] += weight * earned
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

    def cce_gaps(self) -> Vector:
        """Return what each player gains by one fixed strategy, shape ``(players,)``.

        It is the external regret over the number of iterations, in units of payoff. In an extensive
        form it is the gap to a normal-form coarse correlated equilibrium, NFCCE.
        """
        self._check_played()
        best = [
            domain.best_response(utility)[0]
            for domain, utility in zip(self.game.domains, self._utilities.values(), strict=True)
        ]
        return (np.array(best) - self._earned) / self.total_weight

    def cce_gap(self) -> float:
        """Return the largest of ``cce_gaps`` over the players, in units of payoff."""
        return float(self.cce_gaps().max())

    def ce_gaps(self) -> Vector:
        """Return what each player gains by a rule "play f(a) for a", shape ``(players,)``.

        It is the swap regret over the number of iterations, in units of payoff.
        """
        self._check_played()
        if len(self._joint) != len(self.game.domains):
            raise TypeError(
                f"game must be in normal form for its CE gaps, got {quote(self.game)}; "
                "use its CCE gaps, or EFCE gaps with deviations=['efce']"
            )
        gaps = [
            sum(_swap_gain(joint[domain.block(b), domain.block(b)]) for b in range(domain.blocks))
            for joint, domain in zip(self._joint.values(), self.game.domains, strict=True)
            if isinstance(domain, Simplices)
        ]
        return np.array(gaps) / self.total_weight

    def ce_gap(self) -> float:
        """Return the largest of ``ce_gaps`` over the players, in units of payoff."""
        return float(self.ce_gaps().max())

    def efcce_gaps(self, *, largest: bool = False) -> Vector:
        """Return what each player gains by leaving its recommendations at decision points.

        As ``efce_gaps``, but on coming to a decision point a player decides before it knows what is
        recommended there.
        """
        return self.gaps("efcce", largest=largest)

    def efcce_gap(self, *, largest: bool = False) -> float:
        """Return the largest of ``efcce_gaps`` over the players, in units of payoff."""
        return float(self.efcce_gaps(largest=largest).max())

    def efce_gaps(self, *, largest: bool = False) -> Vector:
        """Return what each player gains by leaving its recommendations where it is told to.

        A player follows recommendations, decision point by decision point, until it is recommended
        an action that is a trigger for it; from that decision point on it ignores them. The gap is
        0 in an extensive-form correlated equilibrium.

        Parameters
        ----------
        largest
            Let the player choose one trigger, as many papers do, and not all of them at once, each
            with its own continuation. Only with all at once is the gap at least ``cce_gaps``.

        Returns
        -------
        ndarray
            In units of payoff, shape ``(players,)``.
        """
        return self.gaps("efce", largest=largest)

    def efce_gap(self, *, largest: bool = False) -> float:
        """Return the largest of ``efce_gaps`` over the players, in units of payoff."""
        return float(self.efce_gaps(largest=largest).max())

    def linear_gaps(self) -> Vector:
        """Return what each player gains by the best linear map of its strategies to themselves.

        It is the linear swap regret over the number of iterations, shape ``(players,)``, in units
        of payoff; it is 0 in a linear correlated equilibrium.
        """
        return self.gaps("linear")

    def linear_gap(self) -> float:
        """Return the largest of ``linear_gaps`` over the players, in units of payoff."""
        return float(self.linear_gaps().max())

    def gaps(self, deviations: Deviations, *, largest: bool = False) -> Vector:
        """Return what each player gains by the best of some deviations, shape ``(players,)``.

        Parameters
        ----------
        deviations
            One of those that were asked for when it was built.
        largest
            Of triggers take one, as in ``efce_gaps``.

        Raises
        ------
        ValueError
            When it was built without them, or nothing was played.
        """
        self._check_played()
        if deviations not in self.deviations:
            raise ValueError(
                f"deviations must be among those it was built with, {quote(self.deviations)}, got "
                f"{quote(deviations)}; build CorrelatedPlay(game, [{quote(deviations)}])"
            )
        place, gaps = self.deviations.index(deviations), []
        for player, maps in self._maps[place].items():
            total = self._sums[f"{place} of player {player}"]
            if isinstance(maps, TriggerDeviations):
                gaps.append(maps.best_gain(total, largest=largest))
            else:
                best, _ = maps.coefficients.best_response(total)
                gaps.append(best - self._earned[player])
        return np.array(gaps) / self.total_weight

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
    game, distribution
        As in ``cce_gaps``.

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
    """Return for each player K[a, b], the utility of b weighted by the probability of a."""
    if not isinstance(game, NormalFormGame):
        raise TypeError(
            f"game must be a NormalFormGame, whose outcomes are distributed, got {quote(game)}; "
            "for play in other games use CorrelatedPlay"
        )
    mu = floats(distribution, "distribution")
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
        weights, payoffs = (np.moveaxis(a, player, 0) for a in (mu, game.payoffs[player]))
        rows = len(payoffs)
        joints.append(weights.reshape(rows, -1) @ payoffs.reshape(rows, -1).T)
    return joints


# The best ones

Objective: TypeAlias = Literal["welfare"] | int | ArrayLike
"""``"welfare"``, the number of a player, or a weight for each player's payoff."""


@final
@frozen(eq=False)
class CorrelatedEquilibrium:
    """A correlated equilibrium, coarse or not, and the bound that proves it optimal.

    Examples
    --------
    >>> from regretkit.games import traffic_light
    >>> found = best_correlated_equilibrium(traffic_light())
    >>> round(found.value, 9), float(found.distribution[0, 0])
    (1.0, 0.0)
    """

    value: float
    """The objective: the welfare, a player's payoff, or the weighted sum."""
    bound: float
    """The dual value, which bounds the objective; rounding may put it a little below ``value``."""
    payoffs: Vector
    """Expected payoff of every player, shape ``(players,)``."""
    distribution: Vector = field(repr=False)
    """Probability of every outcome, shape ``(n_0, n_1, ...)``; any one of several optima."""
    gaps: Vector = field(repr=False)
    """``ce_gaps`` or ``cce_gaps`` of ``distribution``; rounding may leave a little."""

    @property
    def gap(self) -> float:
        """The largest of ``gaps`` over the players, in units of payoff."""
        return float(self.gaps.max())

    def _repr_html_(self) -> str:
        return optimum_html(self)


class Optimum(Protocol):
    """An optimal equilibrium, in normal or in extensive form."""

    @property
    def value(self) -> float: ...
    @property
    def bound(self) -> float: ...
    @property
    def payoffs(self) -> Vector: ...
    @property
    def gap(self) -> float: ...


def optimum_html(found: Optimum) -> str:
    """Return the numbers of an optimal equilibrium as HTML."""
    from regretkit.display._html import facts

    payoffs = [(f"payoff of player {i}", paid) for i, paid in enumerate(found.payoffs.tolist())]
    return facts(("value", found.value), ("bound", found.bound), ("gap", found.gap), *payoffs)


def best_correlated_equilibrium(
    game: NormalFormGame, objective: Objective = "welfare"
) -> CorrelatedEquilibrium:
    """Return the correlated equilibrium with the largest welfare, or payoff of one player.

    The linear program over distributions mu of outcomes, for every player i and all its actions
    a and b:

        maximize    sum over o of mu[o] w(o)
        subject to  sum over o with o_i = a of mu[o] (u_i(b, o_-i) - u_i(o))  <=  0

    HiGHS keeps the inequalities within 1e-10 of the largest difference of that player's payoffs;
    negative probabilities, of size 1e-10 at most, become zero, and the rest sums to one. The
    remaining gains are in ``gaps``, and ``bound - value`` is the primal-dual gap.

    Parameters
    ----------
    game
        A game in normal form.
    objective
        ``"welfare"`` for the sum of all payoffs, a number for the payoff of that player, or a
        weight for each player; with -1 for every player it is the worst equilibrium.

    Examples
    --------
    Chicken, in which a mediator may pay more than any Nash equilibrium:

    >>> from regretkit.games import chicken
    >>> best = best_correlated_equilibrium(chicken())
    >>> best.distribution
    array([[0.  , 0.25],
           [0.25, 0.5 ]])
    >>> best.payoffs
    array([5.25, 5.25])

    References
    ----------
    Aumann (1987), "Correlated equilibrium as an expression of Bayesian rationality",
    Econometrica 55(1).
    """
    return _best(game, objective, coarse=False)


def best_coarse_correlated_equilibrium(
    game: NormalFormGame, objective: Objective = "welfare"
) -> CorrelatedEquilibrium:
    """Return the coarse correlated equilibrium with the largest welfare, or payoff of one player.

    As ``best_correlated_equilibrium``, but a deviation is chosen before the recommendation is
    known: for every player i and its actions b,

        sum over o of mu[o] (u_i(b, o_-i) - u_i(o))  <=  0

    Examples
    --------
    Cooperate, defect, or stay at home: a player gains by defecting once it is told to cooperate,
    but not before.

    >>> table = np.array([[2.0, 0.0, 0.0], [3.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    >>> game = NormalFormGame([table, table.T])
    >>> round(best_correlated_equilibrium(game).value, 9)
    2.0
    >>> best = best_coarse_correlated_equilibrium(game)
    >>> round(best.value, 9), best.distribution.diagonal()
    (3.0, array([0.5, 0. , 0.5]))

    References
    ----------
    Moulin and Vial (1978), "Strategically zero-sum games: the class of games whose completely
    mixed equilibria cannot be improved upon", International Journal of Game Theory 7(3-4).
    """
    return _best(game, objective, coarse=True)


def _best(game: NormalFormGame, objective: Objective, *, coarse: bool) -> CorrelatedEquilibrium:
    from scipy.sparse import csr_array, vstack

    check_normal_form(game)
    values = weighted_payoffs(game.payoffs.reshape(game.players, -1), objective)
    # Without a constant, which does not affect the optimum and could swamp the differences
    least = values.min()
    exponent = exponent_of(values - least)
    scaled = np.ldexp(values - least, -exponent)
    gains = csr_array(
        vstack([_deviation_gains(game, i, coarse=coarse) for i in range(game.players)])
    )
    point, prices = maximize(
        scaled, nonpositive=gains, fixed=csr_array(np.ones((1, values.size))), totals=np.ones(1)
    )
    # Weak duality: for nonnegative multipliers of the inequalities, the largest reduced objective
    # of an outcome bounds the objective of every equilibrium.
    bound = least + np.ldexp((scaled - gains.T @ prices).max(), exponent)
    distribution = np.maximum(point, 0.0)
    distribution /= distribution.sum()
    joint = distribution.reshape(game.payoffs.shape[1:])
    return CorrelatedEquilibrium(
        float(values @ distribution),
        float(bound),
        read_only(game.payoffs.reshape(game.players, -1) @ distribution),
        read_only(joint),
        read_only(cce_gaps(game, joint) if coarse else ce_gaps(game, joint)),
    )


def weighted_payoffs(payoffs: Vector, objective: Objective) -> Vector:
    """Return the objective at each outcome, of payoffs of shape ``(players, outcomes)``."""
    weights = _weights(objective, len(payoffs))
    with np.errstate(over="ignore", invalid="ignore"):
        values: Vector = weights @ payoffs
        spread = values.max() - values.min()
    if not np.isfinite(spread):
        raise ValueError(
            f"objective must leave weighted payoffs finite, got {quote(objective)}; "
            "only ratios of weights matter, so take smaller ones"
        )
    return values


def _weights(objective: Objective, players: int) -> Vector:
    """Return the weight of each player's payoff."""
    if isinstance(objective, int | np.integer) and not isinstance(objective, bool):
        check_player(int(objective), players)
        return np.eye(1, players, int(objective)).ravel()
    if isinstance(objective, str) and objective == "welfare":
        return np.ones(players)
    if isinstance(objective, str) or np.ndim(objective) == 0:
        error = ValueError if isinstance(objective, str) else TypeError
        raise error(
            f"objective must be 'welfare', a player or a weight for each, got {quote(objective)}"
        )
    return vector(objective, players, "objective")


def _deviation_gains(game: NormalFormGame, player: int, *, coarse: bool) -> "csr_array":
    """Return a player's gains at each outcome, one row per deviation, scaled to about one."""
    from scipy.sparse import csr_array

    payoffs = payoff_rows(game, player)
    actions, outcomes = payoffs.shape
    numbers = np.arange(game.payoffs[0].size).reshape(game.payoffs.shape[1:])
    outcome = np.moveaxis(numbers, player, 0).reshape(actions, outcomes)
    recommended, instead = np.nonzero(~np.eye(actions, dtype=bool))
    gains = payoffs[instead] - payoffs[recommended]
    # A coarse deviation does not depend on the recommendation.
    deviation = instead if coarse else np.arange(recommended.size)
    rows, count = np.repeat(deviation, outcomes), actions if coarse else recommended.size
    scaled = np.ldexp(gains, -exponent_of(gains)).ravel()
    return csr_array((scaled, (rows, outcome[recommended].ravel())), shape=(count, outcome.size))
