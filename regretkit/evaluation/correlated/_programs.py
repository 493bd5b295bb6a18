"""Optimal correlated equilibria of trees and team maxmin, by linear programming."""

from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

import numpy as np
from attrs import field, frozen

from regretkit._util._arrays import expand_ranges, read_only
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import must_be
from regretkit.circuits import TriggerDeviations
from regretkit.evaluation.correlated._distributions import Objective, Optimum, weighted_payoffs
from regretkit.evaluation.correlated._plans import (
    CorrelatedPlan,
    CorrelationDAG,
    ancestors,
    correlation_dag,
)
from regretkit.evaluation.exact._linear_programs import (
    Terminals,
    check_form,
    constraints,
    exponent_of,
    maximize,
    repaired,
    saddle_point,
    scaled,
)
from regretkit.games import ExtensiveFormGame
from regretkit.games._game import check_player
from regretkit.sets import DecisionTree

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Concept: TypeAlias = Literal["efce", "efcce", "nfcce"]
"""Extensive-form, extensive-form coarse, or normal-form coarse correlated equilibrium."""


@frozen(eq=False)
class Deviations:
    """The trigger deviations of one player.

    The first decision point of ``domain`` chooses between no deviation and each trigger. After a
    trigger, a copy of the player's tree from there on follows. The utility of a sequence s is

        sum over k with row[k] = s of  factors[k] P(plan contains events[:, k])

    It is the payoff of the continuation, or for a trigger minus the payoff of following.
    """

    domain: DecisionTree
    maps: TriggerDeviations | None
    """The deviation set without "no deviation"; None if the only trigger is before the game."""
    events: Indices
    """Sequences of all players, shape ``(players, events)``."""
    row: Indices
    """Sequence of ``domain`` of each event, shape ``(events,)``."""
    factors: Vector

    @classmethod
    def of(
        cls, game: ExtensiveFormGame, player: int, concept: str, ends: Terminals
    ) -> "Deviations":
        """Return the deviations of a player."""
        domain, maps = game.domains[player], None
        if concept == "nfcce":
            triggers, parents, sizes = 1, 1 + domain.parent_sequence, domain.sizes
            played = np.arange(1, domain.dimension)
            source, followed = np.zeros_like(played), np.arange(played.size)
        else:
            maps = TriggerDeviations(domain, coarse=concept == "efcce")
            triggers, played, source = maps.triggers, maps._sequence, maps._source
            parents, sizes = maps.coefficients.parent_sequence[1:], maps.coefficients.sizes[1:]
            followed = np.arange(played.size)
            if concept == "efce":
                followed = np.flatnonzero(ancestors(domain)[played, source])
        # With "no deviation" as the first action
        tree = DecisionTree(np.append(0, 1 + parents), np.append(1 + triggers, sizes))
        trigger = np.arange(tree.dimension)
        for level in tree.levels[1:]:
            trigger[level.sequences] = np.repeat(trigger[level.parents], level.simplices.sizes)
        rows = np.append(trigger[2 + triggers :][followed], 2 + triggers + np.arange(played.size))
        recommended = np.append(played[followed], source)
        sign = np.repeat([-1.0, 1.0], [followed.size, played.size])
        played = np.append(played[followed], played)
        # For each played sequence, all terminals z where it is the last: c(z) u(z) P(r, z_-i)
        own, values = ends.sequences[player], ends.chance * ends.payoffs[player]
        paid = np.flatnonzero(values)
        order = paid[np.argsort(own[paid], kind="stable")]
        counts = np.bincount(own[order], minlength=1 + int(played.max(initial=0)))
        begin, count = (np.cumsum(counts) - counts)[played], counts[played]
        z = order[expand_ranges(begin, count)]
        events = ends.sequences[:, z]
        events[player] = np.repeat(recommended, count)
        return cls(tree, maps, events, np.repeat(rows, count), np.repeat(sign, count) * values[z])

    def gain(self, utility: Vector) -> float:
        """Return the gain of the best deviation, with any number of triggers."""
        if self.maps is None:
            return self.domain.best_response(utility)[0]
        return self.maps.best_gain(np.delete(utility, 1))


def as_concept(value: str) -> Concept:
    """Require the name of a concept."""
    if value not in get_args(Concept):
        raise ValueError(must_be("concept", "'efce', 'efcce' or 'nfcce'", value))
    return cast("Concept", value)


@frozen(eq=False)
class Program:
    """The linear program of a game, an objective and a concept."""

    game: ExtensiveFormGame
    ends: Terminals
    plans: CorrelationDAG
    reach: "csr_array"
    """Matrix from a point of ``plans`` to terminal probabilities, with chance."""
    objective: Vector
    """Coefficients of the objective on a point of ``plans``, without ``minimum``."""
    minimum: float
    """The least value of the objective at a terminal."""
    deviations: tuple[Deviations, ...]
    gains: "tuple[csr_array, ...]"
    """For each player, the matrix from a point of ``plans`` to the utility of ``deviations``."""

    @classmethod
    def of(
        cls,
        game: ExtensiveFormGame,
        objective: Objective,
        concept: Concept,
        memory_limit: float | None = None,
    ) -> "Program":
        """Build the program."""
        from scipy.sparse import csr_array, diags_array

        check_form(game, ExtensiveFormGame, hint="best_correlated_equilibrium takes a normal form")
        concept = as_concept(concept)
        ends = Terminals.of(game)
        values = weighted_payoffs(ends.payoffs + ends.offsets[:, None], objective)
        sets = tuple(Deviations.of(game, i, concept, ends) for i in range(game.players))
        events = np.concatenate([ends.sequences, *(own.events for own in sets)], axis=1)
        plans = correlation_dag(game, events, memory_limit)
        start, gains = ends.chance.size, []
        for own in sets:
            places = own.row, np.arange(own.row.size)
            factor = csr_array((own.factors, places), shape=(own.domain.dimension, own.row.size))
            gains.append(factor @ plans.events[start : start + own.row.size])
            start += own.row.size
        reach = csr_array(diags_array(ends.chance) @ plans.events[: ends.chance.size])
        minimum = float(values.min())
        flow = reach.T @ (values - minimum)
        return cls(game, ends, plans, reach, flow, minimum, sets, tuple(gains))

    def equilibrium(
        self, weights: Vector, value: float, bound: float
    ) -> "ExtensiveFormCorrelatedEquilibrium":
        """Return the equilibrium of a point of ``plans``, with its payoffs and gaps."""
        pairs = zip(self.deviations, self.gains, strict=True)
        gains = [own.gain(utilities @ weights) for own, utilities in pairs]
        return ExtensiveFormCorrelatedEquilibrium(
            value,
            bound,
            read_only(self.ends.offsets + self.ends.payoffs @ (self.reach @ weights)),
            read_only(np.array(gains)),
            CorrelatedPlan(self.game, tuple(range(self.game.players)), weights, self.plans),
        )

    def best(self) -> "ExtensiveFormCorrelatedEquilibrium":
        """Return the optimal equilibrium."""
        from scipy.sparse import block_diag, csr_array, hstack, vstack

        domain, exponent = self.plans.domain, exponent_of(self.objective)
        reduced = np.ldexp(self.objective, -exponent)
        # Omit the empty sequence and "no deviation": gains are bounded by its value, 0.
        rows = [scaled(csr_array(gains[2:])) for gains in self.gains]
        inner = [-constraints(own.domain)[0][2:, 2:].T for own in self.deviations]
        free = sum(own.domain.points - 1 for own in self.deviations)
        point, prices = maximize(
            np.concatenate([reduced, np.zeros(free)]),
            domain,
            csr_array(hstack([vstack(rows), block_diag(inner)])),
        )
        # Weak duality: at an equilibrium no mixture c of deviations gains, <c, G p> <= 0, so
        # <w, p> <= <w - G^T c, p>, and a best response bounds the right side. HiGHS's multipliers
        # are such mixtures up to its tolerance; `repaired` makes them exact.
        ends = np.cumsum([own.domain.dimension - 2 for own in self.deviations])[:-1]
        pieces = zip(self.deviations, rows, np.split(prices, ends), strict=True)
        for deviations, part, own in pieces:
            mixture = repaired(np.concatenate([[1.0, 0.0], own]), deviations.domain)
            total = own[: deviations.domain.sizes[0] - 1].sum()
            reduced = reduced - total * (part.T @ mixture[2:])
        bound = self.minimum + float(np.ldexp(domain.best_response(reduced)[0], exponent))
        return self.equilibrium(point, self.minimum + float(self.objective @ point), bound)


@frozen(eq=False)
class ExtensiveFormCorrelatedEquilibrium(Optimum):
    """A correlated equilibrium of a tree, and the bound that proves it optimal.

    Examples
    --------
    >>> from regretkit.games import sheriff
    >>> found = best_extensive_form_correlated_equilibrium(sheriff(items=2, bribe=1, rounds=1))
    >>> round(found.value, 9), found.gap < 1e-9
    (1.428571429, True)
    """

    plan: CorrelatedPlan = field(repr=False)
    """The recommendations of the mediator. Other optima may exist."""


def best_extensive_form_correlated_equilibrium(
    game: ExtensiveFormGame,
    objective: Objective = "welfare",
    *,
    concept: Concept = "efce",
    memory_limit: float | None = None,
) -> ExtensiveFormCorrelatedEquilibrium:
    """Return the equilibrium of a tree with the largest welfare, or payoff of one player.

    A mediator draws a joint plan and recommends it. At a *trigger*, a player may stop following
    the plan, and gets no further recommendations. The concept defines the triggers:

    - ``"efce"``: a recommendation at an information set;
    - ``"efcce"``: an information set, before its recommendation;
    - ``"nfcce"``: the start of the game.

    The linear program is over distributions of joint plans, with P the probability that the plan
    contains given sequences. For every player i, trigger k, decision point j from it on, and
    sequence s there, with r the recommended sequence at k:

        maximize    sum over z of c(z) P(z) w(z)
        subject to  v[k, j]  >=  sum over z with z_i = s of c(z) u_i(z) P(r, z_-i)
                                 + sum of v[k, j'] over the points j' after s
                    v[k, first]  <=  sum over z after the trigger of c(z) u_i(z) P(z)

    P is linear in the sequence form of a DAG, in which the mediator decides one information set at
    a time. This is exact for any number of players and any chance. The DAG grows exponentially with
    the players' private information: Kuhn poker with 3 players has 33,000 sequences.

    Parameters
    ----------
    objective
        As in ``best_correlated_equilibrium``.
    memory_limit
        Largest number of bytes for the DAG, by default all available memory.

    Examples
    --------
    The largest welfare falls as deviations depend on more information:

    >>> from regretkit.games import sheriff
    >>> game = sheriff(items=2, bribe=1, rounds=1)
    >>> for concept in "nfcce", "efcce", "efce":
    ...     best = best_extensive_form_correlated_equilibrium(game, concept=concept)
    ...     print(concept, round(best.value, 6))
    nfcce 5.384615
    efcce 2.526882
    efce 1.428571

    References
    ----------
    von Stengel and Forges (2008), "Extensive-form correlated equilibrium: definition and
    computational complexity", Mathematics of Operations Research 33(4).

    Farina, Bianchi and Sandholm (2020), "Coarse correlation in extensive-form games", AAAI.

    Zhang, Farina, Celli and Sandholm (2022), "Optimal correlated equilibria in general-sum
    extensive-form games: fixed-parameter algorithms, hardness, and two-sided column-generation",
    EC, for the DAG.
    """
    return Program.of(game, objective, concept, memory_limit).best()


# Teams


@frozen(eq=False)
class TeamMaxmin:
    """The payoff that a team can guarantee, and its joint plan.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> found = team_maxmin(kuhn_poker(players=3), opponent=2)
    >>> round(found.value, 9), abs(found.gap) < 1e-9
    (-0.041666667, True)
    """

    value: float
    """The sum of the team's payoffs that ``plan`` guarantees."""
    gap: float
    """Bound on the improvement by another plan; rounding may make it negative."""
    plan: CorrelatedPlan = field(repr=False)
    """A distribution over joint plans of the team."""
    strategy: Vector = field(repr=False)
    """The opponent's strategy, against which the team earns at most ``value + gap``."""


def team_maxmin(
    game: ExtensiveFormGame, opponent: int, *, memory_limit: float | None = None
) -> TeamMaxmin:
    """Return the largest payoff that a team can guarantee against one opponent.

        max over p of min over y of u(p, y)

    The team is all players but the opponent, and u is the sum of their payoffs. The team draws a
    joint plan from p before the game (ex ante coordination), and does not communicate later.

    Parameters
    ----------
    opponent
        The player outside the team. Its own payoffs are ignored.
    memory_limit
        Largest number of bytes for the DAG, by default all available memory.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> round(team_maxmin(kuhn_poker(), opponent=1).value, 9)
    -0.055555556

    References
    ----------
    Zhang, Farina and Sandholm (2023), "Team belief DAG: generalizing the sequence form to team
    games for fast computation of correlated team max-min equilibria via regret minimization", ICML.
    """
    from scipy.sparse import csr_array

    check_form(game, ExtensiveFormGame)
    check_player(opponent, game.players, "opponent")
    ends = Terminals.of(game)
    team = np.delete(np.arange(game.players), opponent)
    events = ends.sequences.copy()
    events[opponent] = 0
    plans = correlation_dag(game, events, memory_limit)
    payoffs, offset = ends.payoffs[team].sum(axis=0), float(ends.offsets[team].sum())
    own = game.domains[opponent]
    entries = ends.chance * payoffs, (ends.sequences[opponent], np.arange(payoffs.size))
    paid = csr_array(entries, shape=(own.dimension, payoffs.size))
    matrix = csr_array((paid @ plans.events).T)
    weights, strategy, lower, upper = saddle_point(matrix, plans.domain, own)
    plan = CorrelatedPlan(game, tuple(team.tolist()), weights, plans)
    return TeamMaxmin(offset + lower, upper - lower, plan, strategy)
