"""Games by name, without their trees."""

import pytest
from refusals import memory_left

import regretkit as rk
from regretkit import games
from regretkit.games import ExtensiveFormGame
from regretkit.games._registry import _RULES

WITH_A_TREE = sorted(_RULES.keys() - {"phantom_tic_tac_toe"})


@pytest.mark.parametrize(
    "name",
    [
        *WITH_A_TREE,
        "goofspiel(3, 'random', 'hidden')",
        "sheriff(0, 0, 2)",
        "sheriff(1, 3, 2, 1.5, 2.25, -0.5)",
    ],
)
def test_the_rules_of_a_name_are_those_of_its_tree(name):
    text = {"dudo": "dudo(sides=3)", "battleship": "battleship(shots=1)"}.get(name, name)
    rules = games.load_rules(text)
    assert repr(rules) == games.load(text).name
    built = ExtensiveFormGame.from_rules(rules)
    assert games.fingerprint(built) == games.fingerprint(games.load(text))


@pytest.mark.parametrize(
    "text",
    [
        "phantom_tic_tac_toe(abrupt=True)",
        "goofspiel(cards=10)",
        "sheriff(rounds=30)",
        "oshi_zumo(coins=40, size=5)",
    ],
)
def test_games_of_any_size_are_played(text):
    message = r"play by the rules without a tree, as solve\(load_rules\(...\), ...\) does"
    with memory_left(1e9), pytest.raises(MemoryError, match=message):
        games.load(text)
    run = rk.solve(games.load_rules(text), sampling="outcome", iterations=3)
    assert sum(run.information_sets) > 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("blotto", "the game 'blotto' has no rules"),
        ("phantom_tic_tac_to", "did you mean 'phantom_tic_tac_toe'"),
        ("liars_dice(dicee=2)", "liars_dice has no option 'dicee'; did you mean 'dice'"),
        ("goofspiel(cards=63)", "cards must be a whole number from 1 to 62"),
    ],
)
def test_what_has_no_rules_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        games.load_rules(text)
