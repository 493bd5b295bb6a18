"""Games come from OpenSpiel as they are there, and its own code agrees about what is played."""

import importlib
import json
import pickle
import sys

import numpy as np
import pytest
from corpus import assert_as_in_openspiel, each
from naive_games import uniform
from refusals import memory_left, refusals

import regretkit as rk
from regretkit import evaluation, games

pyspiel = pytest.importorskip(
    "pyspiel", reason="OpenSpiel is not installed: pip install 'regretkit[openspiel]'"
)

LARGEST = 60_000
"""Histories of the largest game that is walked here."""

IMPERFECT_RECALL = {
    "dark_hex_ir(num_cols=2,num_rows=2)",
    "go_fish(ranks=2,suits=3,initial_cards=2)",
    "goofspiel(num_cards=4,imp_info=False,points_order=descending)",
    "leduc_poker(action_mapping=True)",
}
"""Their information state strings do not say what a player did or knew before."""


def load(name):
    """Return OpenSpiel's game of a name in the corpus, some of which have arguments as JSON."""
    short, _, arguments = name.partition(" {")
    if "python_" in name:
        importlib.import_module("open_spiel.python.games")
    if arguments:
        return pyspiel.load_game(short, json.loads(f"{{{arguments}"))
    return pyspiel.load_game(name)


def as_turn_based(game):
    simultaneous = game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
    return pyspiel.convert_to_turn_based(game) if simultaneous else game


# Next to what is known of the games, from OpenSpiel


@pytest.mark.deep_beyond(24)
@each("openspiel_values.json", lambda known: 0 < known.get("histories", 0) <= LARGEST)
def test_sizes_and_uniform_play_are_those_of_openspiel(name):
    if name.startswith("add_noise"):
        return  # payoffs are drawn in the order in which states are visited
    game = games.from_openspiel(load(name), refine=name in IMPERFECT_RECALL)
    assert_as_in_openspiel(game, name)


# Of names that load without anything else at hand

GAMES = [
    "kuhn_poker(players=3)",
    "leduc_poker(suit_isomorphism=True)",
    "liars_dice(numdice=1,dice_sides=3)",
    "goofspiel(num_cards=4,imp_info=True,points_order=descending)",
    "goofspiel(num_cards=3,imp_info=True,points_order=random,players=3)",
    "oshi_zumo(coins=5,size=1,horizon=3)",
    "blotto(coins=4,fields=2,players=3)",
    "matrix_pd",
    "sheriff(max_items=2,max_bribe=2,num_rounds=2)",
    "repeated_game(stage_game=matrix_brps(),num_repetitions=3)",
    "python_iterated_prisoners_dilemma(max_game_length=3)",
    "python_kuhn_poker",
    "tiny_hanabi",
]


@pytest.mark.deep_beyond(5)
@pytest.mark.parametrize("name", GAMES)
def test_nash_conv_is_that_of_openspiel_own_code(name):
    game, turn_based = games.from_openspiel(name), as_turn_based(load(name))
    for profile in (uniform(game), rk.solve(game, "cfr+", iterations=10).average):
        policy = games.to_openspiel_policy(game, profile)
        expected = pyspiel.nash_conv(turn_based, policy)
        assert abs(evaluation.nash_conv(game, profile) - expected) < 1e-10


def test_what_a_run_without_a_tree_visited_is_a_policy_uniform_elsewhere(tmp_path):
    history, tree = games.openspiel_history("leduc_poker"), games.from_openspiel("leduc_poker")
    average = rk.solve(history, sampling="external", iterations=30).average
    average.to_json(tmp_path / "leduc.json")
    for profile in (average, games.Profile.from_json(tmp_path / "leduc.json", history)):
        policy = games.to_openspiel_policy(history, profile)
        found = pyspiel.nash_conv(pyspiel.load_game("leduc_poker"), policy, True)
        assert evaluation.nash_conv(tree, profile) == pytest.approx(found, abs=1e-9)
    with pytest.raises(TypeError, match="profile must be the average"):
        games.to_openspiel_policy(history, uniform(tree))


def states(name):
    """Yield all states of OpenSpiel's game, level by level, with the payoffs of its ends."""
    level = [as_turn_based(load(name)).new_initial_state()]
    while level:
        yield from level
        level = [
            state.child(action)
            for state in level
            if not state.is_terminal()
            for action in state.legal_actions()
        ]


@pytest.mark.deep_beyond(5)
@pytest.mark.parametrize("name", GAMES)
def test_every_history_is_the_state_that_openspiel_has_there(name):
    tree = games.from_openspiel(name).tree
    chances, ends = iter(tree.outcomes), iter(tree.payoffs)
    first = np.searchsorted(tree.parent, np.arange(tree.histories))

    for history, state in enumerate(states(name)):
        children = slice(first[history], first[history] + len(state.legal_actions()))
        assert tree.history_path(history) == names_of(state)
        if state.is_terminal():
            assert tree.player[history] == games.TERMINAL
            assert next(ends).tolist() == state.returns()
            continue
        player, number = state.current_player(), tree.information_set[history]
        named = tuple(state.action_to_string(player, action) for action in state.legal_actions())
        assert tree.player[history] == player
        assert (tree.parent[children] == history).all()
        if state.is_chance_node():
            chance = [probability for _, probability in state.chance_outcomes()]
            assert tree.probability[children].tolist() == chance
            assert next(chances) == named
        else:
            assert (tree.probability[children] == 1.0).all()
            assert tree.labels[player][number] == state.information_state_string()
            assert tree.actions[player][number] == named
    assert history == tree.histories - 1


def names_of(state):
    """Return what the actions on the way to a state are called."""
    names, state_there = [], state.get_game().new_initial_state()
    for action in state.history():
        names.append(state_there.action_to_string(state_there.current_player(), action))
        state_there.apply_action(action)
    return tuple(names)


# What players know


def test_imperfect_recall_is_refused_with_two_histories_that_show_it():
    message = r"(?s)imperfect recall: player \d cannot tell '.*' from '.*refine=True"
    with pytest.raises(ValueError, match=message):
        games.from_openspiel("dark_hex_ir(num_cols=2,num_rows=2)")


def test_a_refined_game_has_more_information_sets_under_the_same_strings():
    # What is one information state string becomes several information sets, and only those.
    name = "goofspiel(num_cards=4,imp_info=False,points_order=descending)"
    game, turn_based = games.from_openspiel(name, refine=True), as_turn_based(load(name))
    strings = [
        {state.information_state_string() for state in states(name) if state.current_player() == p}
        for p in range(2)
    ]

    assert [set(labels) for labels in game.tree.labels] == strings
    assert all(game.domains[p].points > len(strings[p]) for p in range(2))
    # Uniform play looks at nothing, so that it fits into OpenSpiel's table; a best response in
    # OpenSpiel's tree, too, knows what happened.
    policy = games.to_openspiel_policy(game, uniform(game))
    assert (
        evaluation.nash_conv(game, uniform(game)) >= pyspiel.nash_conv(turn_based, policy) - 1e-10
    )


def test_a_policy_cannot_play_information_sets_of_one_string_differently():
    name = "goofspiel(num_cards=4,imp_info=False,points_order=descending)"
    game = games.from_openspiel(name, refine=True)
    domain = game.domains[0]
    behavior = np.random.default_rng(0).dirichlet(np.ones(4), size=domain.points)
    rows = [behavior[i, :n] / behavior[i, :n].sum() for i, n in enumerate(game.tree.sizes[0])]
    strategy = domain.sequence_form(np.concatenate(rows))
    with pytest.raises(ValueError, match="labels several information sets"):
        games.to_openspiel_policy(game, [strategy, uniform(game)[1]])


def test_where_all_is_seen_and_there_are_no_strings_players_know_the_history():
    game = games.from_openspiel("pig(winscore=5,horizon=5,diceoutcomes=3)")

    assert all((sizes >= 1).all() for sizes in game.tree.sizes)
    decisions = (game.tree.player >= 0).sum()
    assert sum(game.tree.information_sets) == decisions
    # By backward induction, through OpenSpiel's own states
    average = rk.solve(game, "cfr+", iterations=300).average
    assert game.value(average)[0] == pytest.approx(19 / 81, abs=2e-3)
    with pytest.raises(ValueError, match="has no information state strings"):
        games.to_openspiel_policy(game, uniform(game))


# What is refused


test_a_game_that_cannot_be_one_here_is_refused_with_the_reason = refusals(
    ("kuhn_pokr", "has no game 'kuhn_pokr'; did you mean 'kuhn_poker'?"),
    ("kuhn_poker(cards=3)", "OpenSpiel cannot load"),
    ("mfg_crowd_modelling", "is a mean field game"),
    ("stones_and_gems", "samples chance outcomes, but does not list them"),
    ("phantom_go", "has no information state strings, which define"),
    ("pathfinding", "has no information state strings, which define"),
    call=games.from_openspiel,
    error=ValueError,
)


@pytest.mark.parametrize("name", ["chess", "connect_four"])
def test_a_game_that_is_too_large_is_refused(name):
    with memory_left(2**20), pytest.raises(MemoryError, match="histories, and memory is left for"):
        games.from_openspiel(name)


test_arguments_of_no_meaning_are_refused = refusals(
    *(None, 3, games.kuhn_poker()),
    call=games.from_openspiel,
    error=TypeError,
    match="game must be a game of OpenSpiel or its name",
)


test_only_a_game_from_openspiel_knows_its_numbers_of_actions = refusals(
    None,
    "kuhn_poker",
    games.kuhn_poker(),
    games.chicken(),
    call=lambda wrong: games.to_openspiel_policy(wrong, []),
    error=TypeError,
    match="game must be a game of from_openspiel",
)


# Names and copies


def test_a_copy_knows_what_the_game_knows():
    game = games.from_openspiel("kuhn_poker")
    copy = pickle.loads(pickle.dumps(game))
    average = rk.solve(game, "cfr+", iterations=10).average
    one = games.to_openspiel_policy(game, average).policy_table()
    assert games.to_openspiel_policy(copy, average).policy_table() == one
    assert copy.tree.actions[1][0] == game.tree.actions[1][0] == ("Pass", "Bet")


def test_without_openspiel_the_error_names_the_extra(monkeypatch):
    game = games.from_openspiel("kuhn_poker")
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(ImportError, match=r"pip install 'regretkit\[openspiel\]'"):
        games.from_openspiel("kuhn_poker")
    with pytest.raises(ImportError, match=r"pip install 'regretkit\[openspiel\]'"):
        games.to_openspiel_policy(game, uniform(game))
