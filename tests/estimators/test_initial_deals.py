"""Chance moves before the first decision are drawn at once, with their joint probability."""

import naive_games
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from naive_games import chance, decision, end

import regretkit as rk
from regretkit import SelfPlay, games
from regretkit.estimators._flat_tree import InitialChance, cumulative, initial_chance
from regretkit.estimators._traversal import as_if_even, at_first, deal
from regretkit.play import (
    ExternalSampling,
    LearnedBaseline,
    OutcomeSampling,
    Sampled,
    assert_unbiased,
)


def act(*labels):
    """Both players act once, and know what they are told of the deal."""
    answer = {a: decision(1, labels[1], c=end(a == "l", a == "r"), d=end(2, 1)) for a in "lr"}
    return decision(0, labels[0], **answer)


def drawn_with(*probabilities, then=None):
    """Return a move of chance, and behind each outcome another one, or what players do."""
    names = [f"o{k}" for k in range(len(probabilities))]
    branch = then or (lambda name: act(name[-1], name[:-1] or "x"))
    return chance(probabilities, **{name: branch(name) for name in names})


def in_turn(first, second):
    """Return two moves of chance; the first player sees the second one, the other the first."""
    return drawn_with(
        *first, then=lambda one: drawn_with(*second, then=lambda two: act(f"0{two}", f"1{one}"))
    )


UNEVEN = in_turn([0.1, 0.0, 0.5, 0.4], [0.75, 0.25, 0.0])
SOME_ACT = chance([0.5, 0.5], deal=drawn_with(0.5, 0.5), play=act("here", "there"))
MANY = in_turn([1 / 9] * 9, [1 / 9] * 9)


def tree_of(node):
    return games.GameTree.from_history(node)


# How far it reaches


@pytest.mark.parametrize(
    ("tree", "moves", "deals"),
    [
        (games.kuhn_poker().tree, 2, 6),
        (games.kuhn_poker(players=3).tree, 3, 24),
        (games.leduc_poker().tree, 2, 30),
        (games.liars_dice(sides=3).tree, 2, 9),
        (games.goofspiel(cards=3, information="hidden").tree, 0, 1),
        (tree_of(UNEVEN), 2, 12),
        (tree_of(SOME_ACT), 1, 2),
        (tree_of(in_turn([1 / 10] * 8 + [0.0, 0.2], [1 / 8] * 7 + [0.125, 0.0])), 1, 10),
        (tree_of(in_turn([0.0] + [1 / 8] * 8, [1 / 8] * 8)), 2, 72),
        (tree_of(MANY), 1, 9),
        (tree_of(drawn_with(0.5, 0.5, then=lambda name: end(1.0, 2.0))), 1, 2),
        (tree_of(end(1.0, 2.0)), 0, 1),
    ],
)
def test_it_ends_before_the_first_decision_or_too_many_deals(tree, moves, deals):
    opening = initial_chance(tree)

    assert (opening.moves, opening.cumulative.size) == (moves, deals)
    reached = np.zeros(tree.histories, dtype=int)
    for h in range(1, tree.histories):
        reached[h] = reached[tree.parent[h]] + 1
    expected = np.flatnonzero(reached == moves)
    assert (expected == opening.first + np.arange(deals)).all()


# How it is drawn


@pytest.mark.parametrize("node", [UNEVEN, SOME_ACT])
def test_each_deal_is_as_likely_as_it_is(node):
    game = rk.ExtensiveFormGame(tree_of(node))
    assert_unbiased(game, ExternalSampling(np.random.default_rng(1)))


class Told:
    """Draws what it is told."""

    def __init__(self, number):
        self.number = number

    def random(self):
        return self.number


weights = st.lists(st.integers(0, 5), min_size=2, max_size=64).filter(any)
JUST_BELOW_ONE = float(np.nextafter(1.0, 0.0))


@given(weights, st.floats(0.0, JUST_BELOW_ONE), st.sampled_from([-1, 0, 1]), st.data())
@example([1] * 36, JUST_BELOW_ONE, 0, None)
@example([1, 0, 0], JUST_BELOW_ONE, 0, None)
def test_wherever_one_begins_to_look_one_finds_the_same(parts, number, aside, data):
    chances = np.array(parts) / sum(parts)
    opening = InitialChance(np.uint32(7), np.uint32(1), cumulative(chances))
    if data is not None and data.draw(st.booleans()):  # at a bound, or next to it
        bound = data.draw(st.sampled_from(opening.cumulative.tolist()))
        number = min(max(float(bound + aside * np.spacing(bound)), 0.0), JUST_BELOW_ONE)

    plainly = deal(opening, Told(number), at_first)
    assert deal(opening, Told(number), as_if_even) == plainly
    chosen = plainly[0] - 7
    assert chances[chosen] > 0.0
    assert chosen == 0 or number >= opening.cumulative[chosen - 1]
    # Behind the last one that can be drawn there is only what rounding left over.
    assert number < opening.cumulative[chosen] or not chances[chosen + 1 :].any()


# In play


def visits(game, estimator, engine):
    players = [rk.CFR(tree, rk.RegretMatching) for tree in game.domains]
    run = SelfPlay(game, players, estimator=estimator, engine=engine).run(100)
    return run, estimator.visited


CERTAIN = drawn_with(0.0, 1.0, 0.0)


@pytest.mark.deep
@pytest.mark.parametrize("node", [UNEVEN, SOME_ACT, MANY, CERTAIN])
def test_uneven_deals_are_the_same_in_every_way_to_run(node):
    game = rk.ExtensiveFormGame(tree_of(node))
    numpy, compiled = (
        visits(game, OutcomeSampling(np.random.default_rng(3)), engine)
        for engine in ("numpy", "compiled")
    )
    free = Sampled(game, rk.RegretMatching, OutcomeSampling(np.random.default_rng(3)))
    free.run(100)

    assert numpy[1] == compiled[1] == free.estimator.visited
    averages = numpy[0].average, compiled[0].average, free.average.on(game.domains)
    for one, *others in zip(*averages, strict=True):
        for other in others:
            np.testing.assert_allclose(one, other, atol=1e-12)


class Never(naive_games.Node):
    """A history after which a game cannot go on, since chance never brings it about."""

    def child(self, action):
        raise AssertionError("chance never does that")


def test_what_chance_never_does_is_never_asked_for():
    never = Never(acting=naive_games.CHANCE, chances=(1.0,), children={"o": end(0.0, 0.0)})

    def second(name):
        return never if name == "o1" else drawn_with(0.5, 0.5, then=lambda two: act(two, name))

    run = Sampled(
        drawn_with(0.5, 0.0, 0.5, then=second),
        rk.RegretMatching,
        OutcomeSampling(np.random.default_rng(3)),
    )
    run.run(50)

    assert run.information_sets == (2, 2)


def test_a_baseline_looks_at_each_move_of_chance():
    game, draws = rk.ExtensiveFormGame(tree_of(UNEVEN)), []
    for baseline in (None, LearnedBaseline()):
        generator = np.random.default_rng(1)
        estimator = ExternalSampling(generator, baseline=baseline)
        estimator.utility(game, 0, [domain.relative_interior_point() for domain in game.domains])
        branch, count = generator.bit_generator.state, 0
        generator_again = np.random.default_rng(1)
        while generator_again.bit_generator.state != branch:
            generator_again.random()
            count += 1
        draws.append(count)

    assert draws[1] - draws[0] == 1
