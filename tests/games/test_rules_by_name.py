"""Games by name, without their trees."""

import inspect

import pytest

import regretkit as rk
from regretkit import games
from regretkit.games import ExtensiveFormGame
from regretkit.games._registry import _FACTORIES, _RULES

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


@pytest.mark.parametrize("name", WITH_A_TREE)
def test_rules_take_the_arguments_of_the_tree(name):
    tree, rules = (inspect.signature(known[name]).parameters for known in (_FACTORIES, _RULES))
    assert [*tree] == [*rules]
    assert all(tree[each].default == rules[each].default for each in tree)


@pytest.mark.parametrize(
    "text",
    [
        "battleship(height=6, width=6, lengths=[2, 3], shots=10)",
        "phantom_tic_tac_toe(abrupt=True)",
        "goofspiel(cards=10)",
        "sheriff(rounds=30)",
        "oshi_zumo(coins=40, size=5)",
    ],
)
def test_games_of_any_size_are_played(text):
    with pytest.raises(
        MemoryError,
        match=r"play by the rules without a tree, as solve\(load_rules\(...\), ...\) does|"
        r"about .* histories.* solve\(load_rules\(...\), ...\) does, or state it as a public",
    ):
        games.load(text, memory_limit=1e9)
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


@pytest.mark.parametrize("rounds", [1, 2, 30, 100])
def test_a_sheriff_of_many_rounds_hears_all_offers(rounds):
    history = games.as_history(games.load_rules(f"sheriff(rounds={rounds})")).child("7")
    for done in range(rounds):
        assert history.information_set() == f"0:7:{' '.join(['2 inspect'] * done)}"
        history = history.child("2")
        assert history.information_set() == f"1:{'2 inspect ' * done}2"
        history = history.child("pass" if done == rounds - 1 else "inspect")
    assert [*history.payoffs()] == [33.0, 2.0]
