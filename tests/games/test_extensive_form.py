"""Extensive-form games: sequences, utilities and values are those of a naive walk of the tree."""

import numpy as np
import pytest
from naive_games import (
    chance,
    decision,
    end,
    expected_value,
    random_game,
    random_profile,
    utility,
)
from naive_levels import Leduc

import regretkit as rk
from regretkit import evaluation, games

# First histories of the games below
ROOTS = {
    f"random, {players} players, {seed}": random_game(np.random.default_rng(seed), players)
    for players in (1, 2, 3)
    for seed in range(6)
}
ROOTS |= {
    "liar's dice": games.as_history(games.LiarsDice(sides=2)),
    "kuhn": games.as_history(games.KuhnPoker()),
    "kuhn, 3 players": games.as_history(games.KuhnPoker(3)),
    "kuhn, 5 cards": games.as_history(games.KuhnPoker(deck=5)),
    "leduc, suits merged": Leduc(merge_suits=True),
}
each_game = pytest.mark.parametrize("root", ROOTS.values(), ids=ROOTS)


def game_of(root):
    return rk.ExtensiveFormGame.from_history(root)


def by_name(game, player, vector):
    """Return a vector over sequences as a naive walk has it, by information set and action."""
    simplices, named = game.domains[player].simplices, {None: vector[0]}
    for number, label in enumerate(game.tree.labels[player]):
        block = vector[1:][simplices.block(number)]
        for action, entry in zip(game.tree.actions[player][number], block, strict=True):
            named[label, action] = entry
    return named


# Next to the naive walk


@each_game
@pytest.mark.parametrize("seed", range(2))
def test_values_are_those_of_a_walk_through_all_histories(root, seed):
    game = game_of(root)
    profile, behavior = random_profile(np.random.default_rng(seed), game)
    np.testing.assert_allclose(game.value(profile), expected_value(root, behavior), atol=1e-13)


@each_game
def test_utilities_collect_what_ends_after_each_sequence(root):
    game = game_of(root)
    profile, behavior = random_profile(np.random.default_rng(3), game)

    for player in range(game.players):
        for payoff_of in range(game.players):
            found = by_name(game, player, game.utility(player, profile, payoff_of=payoff_of))
            expected = utility(root, player, behavior, payoff_of=payoff_of)

            assert expected.keys() <= found.keys()
            for name, total in found.items():
                assert total == pytest.approx(expected.get(name, 0.0), abs=1e-13), name


@pytest.mark.parametrize("seed", range(5))
def test_with_zero_sum_payoffs_values_sum_to_exactly_zero(seed):
    generator = np.random.default_rng(seed)
    game = game_of(random_game(generator, 2, zero_sum=True))
    profile, _ = random_profile(generator, game)
    value = game.value(profile)
    assert value[0] == -value[1] != 0.0
    assert game.constant_sum == pytest.approx(0.0, abs=1e-15)


def test_merging_suits_changes_no_value_and_no_gap():
    # What a card's suit is decides nothing, so play that ignores it earns the same.
    full, merged = games.leduc_poker(), games.leduc_poker(merge_suits=True)
    cards = str.maketrans("", "", "shdc")
    generator = np.random.default_rng(7)
    small, big = [], []
    for player, (tree, wide) in enumerate(zip(merged.domains, full.domains, strict=True)):
        labels = merged.tree.labels[player]
        mixed = tree.simplices.normalize(generator.exponential(size=tree.simplices.dimension))
        behavior = {label: mixed[tree.simplices.block(i)] for i, label in enumerate(labels)}
        small.append(tree.sequence_form(mixed))
        rest = [_without_suits(label, cards) for label in full.tree.labels[player]]
        big.append(wide.sequence_form(np.concatenate([behavior[label] for label in rest])))

    np.testing.assert_allclose(full.value(big), merged.value(small), atol=1e-13)
    gap = evaluation.nash_conv(merged, small)
    assert evaluation.nash_conv(full, big) == pytest.approx(gap, abs=1e-12)


def _without_suits(label, cards):
    # Bets are named by letters too: only the cards, before the colons, lose theirs.
    parts = label.split("/")
    return "/".join(
        card.translate(cards) + ":" + bets for card, _, bets in (p.partition(":") for p in parts)
    )


# Ends that count as one


def test_ends_with_the_same_sequences_are_added_up_with_their_chances():
    # The toss is unobserved, so that the last sequence of a player is its own action.
    def guess(*payoffs):
        ends = {a: end(p, 10 * p) for a, p in zip("xy", payoffs, strict=True)}
        return decision(0, "guess", **ends)

    game = game_of(chance([0.25, 0.75], heads=guess(4.0, 8.0), tails=guess(0.0, -8.0)))

    np.testing.assert_array_equal(game.sequences, [[1, 2], [0, 0]])
    np.testing.assert_array_equal(game.payoffs, [[1.0, -4.0], [10.0, -40.0]])
