"""An exact equilibrium from a run: next to known values, fractions, and linear programs."""

import itertools

import numpy as np
import pytest
from refusals import memory_left, refusals
from test_exact import LEDUC, check, random_matrix, random_tree_game

from regretkit import games, matrix_game, solve
from regretkit.evaluation import finish, nash_conv, solve_zero_sum
from regretkit.games.poker import hold_em

KNOWN = {
    "kuhn_poker": -1 / 18,
    "goofspiel(cards=4)": 0.0,
    "liars_dice(sides=4)": 1 / 16,
    "leduc_poker": LEDUC,
    "goofspiel(cards=5)": 0.0,
    "liars_dice(sides=5)": 1 / 125,
}


def late():
    return pytest.warns(RuntimeWarning, match="finish reached its time_limit, with a gap of")


@pytest.mark.parametrize("call", KNOWN)
@pytest.mark.parametrize("algorithm", ["dcfr", "dcfr+", "pdcfr+"])
@pytest.mark.deep_beyond(4)
def test_a_run_ends_at_the_known_value(call, algorithm):
    game = games.load(call)
    solution = finish(solve(game, algorithm, iterations=1))
    check(game, solution, size=float(np.abs(game.tree.payoffs).max()))
    assert solution.value == pytest.approx(KNOWN[call], abs=1e-11)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.deep_beyond(6)
def test_random_games_have_the_value_of_the_linear_program(seed):
    game = random_tree_game(seed) if seed % 2 else matrix_game(random_matrix(seed, (12, 9)))
    solution = finish(solve(game, "dcfr", iterations=1, engine="numpy"))
    size = float(np.abs(game.payoffs).max())
    check(game, solution, size)
    assert solution.value == pytest.approx(solve_zero_sum(game).value, abs=1e-9 * size)


def test_without_time_it_is_the_average_as_it_was():
    run = solve(games.leduc_poker(), "dcfr", iterations=60)
    average = run.average
    with late():
        solution = finish(run, time_limit=0.0)
    assert run.iteration == 60
    assert solution.method == "finish after 60 iterations, out of time"
    assert solution.gap <= nash_conv(run.game, average) * (1.0 + 1e-12)
    assert 1e-9 < solution.gap == pytest.approx(nash_conv(run.game, solution.profile), rel=1e-9)


def test_the_clock_decides_nothing(monkeypatch):
    matrix, found = matrix_game(random_matrix(3, (12, 12))), []
    for pace in (0.0, 1e-6, 1e-3):  # each time that the clock is read, so much has passed
        ticks = itertools.count()
        monkeypatch.setattr("time.monotonic", lambda ticks=ticks, pace=pace: pace * next(ticks))
        found.append(finish(solve(matrix, "cfr", iterations=1, engine="numpy")))
    assert len({solution.method for solution in found}) == 1
    for solution in found[1:]:
        np.testing.assert_array_equal(solution.profile[0], found[0].profile[0])


@pytest.mark.parametrize("of", ["run", "average", "merged", "river"])
def test_without_memory_it_is_the_best_so_far(of, monkeypatch):
    def lacks(*given, **options):
        raise MemoryError

    game = games.load("hold_em") if of == "river" else games.leduc_poker()
    run = solve(game, "dcfr", iterations=500)
    monkeypatch.setattr("scipy.sparse.linalg.splu", lacks)
    if of == "merged":
        solution = solve(game, "dcfr", exact=True)
    else:
        solution = finish(run.average if of == "average" else run)
    assert "out of memory" in solution.method
    found = nash_conv(game, solution.profile)
    assert 1e-9 < solution.gap == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_rare_actions_of_a_profile_are_tried_without(seed):
    # Without thresholds the gap is more than 2e-3.
    game, generator, noisy = games.liars_dice(sides=3), np.random.default_rng(seed), []
    for x, tree in zip(solve_zero_sum(game).profile, game.domains, strict=True):
        noise = tree.simplices.normalize(generator.exponential(size=tree.dimension - 1))
        noisy.append(tree.sequence_form(0.99 * tree.behavior(x) + 0.01 * noise))
    solution = finish(games.Profile(noisy, game.domains, game))
    assert solution.method == "finish of a profile"
    assert nash_conv(game, solution.profile) == pytest.approx(solution.gap, abs=1e-12)
    assert solution.gap < 1e-3


def test_a_public_game_of_too_many_pairs_says_its_size_and_how_far_it_is():
    game = games.load("hold_em")  # 12 x 6 pairs at five terminals
    run = solve(game, "cfr+", iterations=5)
    with memory_left(1e4), pytest.warns(RuntimeWarning, match="without systems .* 360 outcom"):
        solution = finish(run, iterations=60)
    assert solution.method == "finish after 60 iterations, out of memory"
    assert solution.gap == pytest.approx(nash_conv(game, solution.profile), rel=1e-9)
    assert solution.lower <= finish(run).value <= solution.upper


RIVER = {"board": "Ks Th 7s 4d 2s", "pot": 100, "stack": 300, "raises": "100%,a"}


@pytest.mark.parametrize(
    "ranges",
    [("TT+,AQs+", "99-77,AKo"), ("99+,ATs+,KQs", "88+,AJs+,KQo"), ("77+,A9s+", "66+,ATs+,KJo+")],
)
@pytest.mark.deep_beyond(1)
def test_a_river_has_the_value_of_the_linear_program_of_its_tree(ranges):
    game = hold_em(ranges=ranges, bets="50%,100%", **RIVER)
    tree, solution = game.to_tree(), solve(game, exact=True)
    assert solution.gap <= 1e-12 * 700.0
    assert solution.gap == pytest.approx(nash_conv(game, solution.profile), abs=1e-11)
    assert solution.value == pytest.approx(solve_zero_sum(tree).value, abs=1e-9)
    again = finish(solve(game, "dcfr", iterations=1, engine="compiled").average)
    assert again.method == "finish of a profile"
    assert again.gap == pytest.approx(nash_conv(game, again.profile))


@pytest.mark.parametrize(
    "call", ["kuhn_poker", "liars_dice(sides=5)", "biased_rock_paper_scissors"]
)
def test_solve_takes_what_is_faster_and_says_what(call):
    game = games.load(call)
    solution = solve(game, exact=True)
    small = not call.startswith("liars")
    assert solution.method.startswith("linear program" if small else "finish after ")
    assert solution.value == pytest.approx(KNOWN.get(call, 0.0), abs=1e-12)


def played(game, **options):
    return finish(solve(game, "cfr", iterations=1), **options)


UNKNOWN = games.Profile([np.ones(1)] * 2, matrix_game([[0.0]]).domains)

test_bad_input_is_refused = refusals(
    (lambda: played(hold_em(rake=0.05)), ValueError, "game must be constant-sum"),
    (lambda: played(games.kuhn_poker(players=3)), ValueError, "game must have two players"),
    (lambda: played(games.kuhn_poker(), tolerance=-1.0), ValueError, "tolerance must be .* -1"),
    (lambda: finish(games.kuhn_poker()), TypeError, "run must be .* or a Profile, got <"),
    (lambda: finish(UNKNOWN), ValueError, "run must be a profile with its game"),
    (
        lambda: solve(games.kuhn_poker(), exact=True, iterations=3),
        ValueError,
        "exact=True supports only",
    ),
)
