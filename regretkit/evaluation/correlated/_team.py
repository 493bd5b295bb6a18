"""Teams that agree beforehand, against one opponent."""

import numpy as np
from attrs import field, frozen

from regretkit._util._typing import Vector
from regretkit.evaluation._linear_programs import Terminals, saddle_point
from regretkit.evaluation.correlated._plans import CorrelatedPlan, correlation_dag
from regretkit.evaluation.correlated._programs import check_tree
from regretkit.games import ExtensiveFormGame
from regretkit.games._game import check_player


@frozen(eq=False)
class TeamMaxmin:
    """What a team guarantees that agrees beforehand, and how.

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
    """Bound on the improvement by a better plan; rounding may make it negative."""
    plan: CorrelatedPlan = field(repr=False)
    """A distribution over joint plans of the team."""
    strategy: Vector = field(repr=False)
    """The opponent's, against which the team earns at most ``value + gap``."""


def team_maxmin(
    game: ExtensiveFormGame, opponent: int, *, memory_limit: float | None = None
) -> TeamMaxmin:
    """Return the most that a team guarantees against one opponent, with ex ante coordination.

        max over p of min over y of u(p, y)

    All players but the opponent are the team, which earns the sum of their payoffs. They draw a
    joint plan p before the game, and do not communicate during it.

    Parameters
    ----------
    opponent
        The player that is not in the team; its own payoffs do not matter.
    memory_limit
        Largest number of bytes that building the DAG may take, by default all that are available.

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

    check_tree(game, "ExtensiveFormGame.from_history(as_history(game)) makes one")
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
