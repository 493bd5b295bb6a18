"""Information sets that differ by a symmetry alone are merged, and others are not."""

import numpy as np
import pytest

from regretkit import games, solve
from regretkit.evaluation import nash_conv, solve_zero_sum
from regretkit.games._extensive_form import merged_by_symmetry

SUITS = ["leduc_poker", "leduc_poker(suits=3)", "leduc_poker(ranks=4)"]


@pytest.mark.parametrize("call", SUITS)
def test_suits_are_merged_as_in_the_game_that_deals_ranks(call):
    game = games.load(call)
    small = merged_by_symmetry(game)
    name, _, rest = call.partition("(")
    by_rank = games.load(f"{name}(merge_suits=True{', ' * bool(rest)}{rest or ')'}")
    assert [d.dimension for d in small.domains] == [d.dimension for d in by_rank.domains]
    assert solve_zero_sum(small).value == pytest.approx(solve_zero_sum(by_rank).value, abs=1e-10)


@pytest.mark.parametrize(
    "call", ["kuhn_poker", "leduc_poker(merge_suits=True)", "liars_dice(sides=4)"]
)
def test_where_nothing_is_alike_nothing_is_merged(call):
    assert merged_by_symmetry(games.load(call)) is None


@pytest.mark.parametrize("seed", range(3))
def test_values_and_utilities_are_those_of_the_whole_game(seed):
    game = games.leduc_poker()
    small, rng = merged_by_symmetry(game), np.random.default_rng(seed)
    few = [
        d.sequence_form(d.simplices.normalize(rng.random(d.dimension - 1))) for d in small.domains
    ]
    many = [z[own] for z, own in zip(few, small._merged, strict=True)]
    assert all(d.contains(z) for d, z in zip(game.domains, many, strict=True))
    np.testing.assert_allclose(game.value(many), small.value(few), atol=1e-12)
    assert nash_conv(game, many) == pytest.approx(nash_conv(small, few), abs=1e-12)
    for player, own in enumerate(small._merged):
        summed = np.bincount(own, game.utility(player, many))
        np.testing.assert_allclose(summed, small.utility(player, few), atol=1e-12)


@pytest.mark.parametrize("algorithm", [None, "dcfr"])
def test_an_exact_solution_is_one_of_the_whole_game(algorithm):
    game = games.leduc_poker()
    solution = solve(game, algorithm, exact=True)
    assert solution.method.endswith("symmetries merged")
    assert nash_conv(game, solution.profile) < 1e-11
    assert solution.value == pytest.approx(solve_zero_sum(game).value, abs=1e-11)
    assert [dual.size for dual in solution.duals] == [1 + d.points for d in game.domains]
