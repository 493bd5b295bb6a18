"""One minimizer against an opponent who always answers best: the minimax theorem as a program."""

import numpy as np
from attrs import frozen

from regretkit._util._typing import Vector
from regretkit._util._validate import whole_number
from regretkit.circuits._base import as_minimizer
from regretkit.evaluation import duality_gap
from regretkit.games import ExtensiveFormGame, NormalFormGame, Profile
from regretkit.games._game import check_game, check_player
from regretkit.minimizer import RegretMinimizer
from regretkit.play._averaging import Average, average_profile
from regretkit.play._self_play import check_plays_on


@frozen(eq=False)
class BestResponsePlay:
    """What came of ``best_response_play``.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> from regretkit.games import rock_paper_scissors
    >>> play = best_response_play(rock_paper_scissors(), RegretMatching(3), iterations=1_000)
    >>> play.gap <= play.regret
    True
    """

    average: Profile
    """The average strategies of both players."""
    regret: float
    """Average external regret of the minimizer, in units of payoff."""
    gap: float
    """Saddle gap of the averages, in units of payoff: at most ``regret``."""


def best_response_play(
    game: NormalFormGame | ExtensiveFormGame,
    minimizer: RegretMinimizer,
    *,
    iterations: int,
    player: int = 0,
) -> BestResponsePlay:
    """Let a minimizer play against an opponent who sees its strategy and answers best.

        y_t  =  argmin over y of u(x_t, y),    the minimizer learns the gradient of u(., y_t)

    With averages X and Y over T iterations and regret R,

        min_y u(X, y)  >=  mean of u(x_t, y_t)  =  max_x u(x, Y) - R / T

    so that both are within R / T of a saddle point. As R / T tends to zero, this proves that
    max min = min max.

    Parameters
    ----------
    game
        A game of two players; the opponent minimizes the player's payoff, and its own is ignored.
    minimizer
        Plays for ``player``.
    iterations
        T, at least 1.
    player
        Whose side the minimizer is on, 0 or 1.

    Raises
    ------
    TypeError
        When ``game`` or ``minimizer`` is none.
    ValueError
        When the game does not have two players, the minimizer plays what its player cannot, or
        ``iterations`` is below 1.
    RuntimeError
        When a rule of ``minimizer`` raised ``SystemExit``.

    Examples
    --------
    >>> from regretkit import CFR, RegretMatching
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> play = best_response_play(game, CFR(game.domains[0], RegretMatching), iterations=2_000)
    >>> 0.0 < play.gap <= play.regret < 0.05
    True

    References
    ----------
    Freund and Schapire (1999), "Adaptive game playing using multiplicative weights", Games and
    Economic Behavior 29.
    """
    check_game(game)
    if len(game.domains) != 2:
        raise ValueError(f"game must have two players, got {len(game.domains)}")
    check_player(player, 2)
    check_plays_on(as_minimizer(minimizer, "minimizer"), game.domains[player], player, "minimizer")
    whole_number(iterations, "iterations", minimum=1)
    opponent = 1 - player
    averages = [Average(), Average()]
    total, earned = np.zeros(minimizer.dimension), 0.0
    profile: list[Vector] = [domain.relative_interior_point() for domain in game.domains]
    for _ in range(iterations):
        profile[player] = minimizer.next_strategy()
        cost = game.utility(opponent, profile, payoff_of=player)
        _, profile[opponent] = game.domains[opponent].best_response(-cost)
        utility = game.utility(player, profile)
        for average, strategy in zip(averages, profile, strict=True):
            average.add(strategy)
        total += utility
        earned += game.domains[player].value(utility, profile[player])
        minimizer.observe_utility(utility)

    found = average_profile(averages, game)
    best, _ = game.domains[player].best_response(total)
    gap = duality_gap(game, found, payoff_of=player)
    return BestResponsePlay(average=found, regret=float(best - earned) / iterations, gap=gap)
