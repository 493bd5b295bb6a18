"""Games that are endless or too large are refused soon, with an estimate and the ways out."""

import inspect
import json
import math
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from attrs import evolve, frozen
from naive_levels import AsRules
from refusals import refusals

import regretkit as rk
from regretkit import games
from regretkit.evaluation import sampled_value
from regretkit.games import GameTree, GraphGame, _memory_budget, _registry
from regretkit.games._memory_budget import estimated_size
from regretkit.games.catalogue._matrix_games import _placements
from regretkit.games.tree import _history
from regretkit.games.tree._build import tree_of
from regretkit.games.tree._rules import Objects
from regretkit.play import ExternalSampling, Sampled, StrategyAgent, play_match

FOREVER = 10.0
"""Seconds after which a refusal was not at once on any machine; most take a tenth of one."""


@frozen
class Endless:
    """A player moves for ever, or until it stops where it can."""

    choices: int = 2
    stops: bool = False
    moves: int = 0
    over: bool = False

    def is_terminal(self):
        return self.over

    def player(self):
        return 0

    def chance_outcomes(self):
        raise AssertionError("chance has no move in this game")

    def actions(self):
        return list(range(self.choices + self.stops))

    def child(self, action):
        return evolve(self, moves=self.moves + 1, over=action == self.choices)

    def information_set(self):
        return self.moves

    def payoffs(self):
        return [0.0]


@pytest.mark.parametrize(
    "build",
    [
        lambda: GameTree.from_history(Endless(1)),
        lambda: GameTree.from_history(Endless(1, stops=True)),
        lambda: GameTree.from_rules(AsRules(Endless(1))),
        lambda: GraphGame.from_history(Endless(2), state=lambda history: history.moves),
        lambda: Sampled(Endless(2), rk.RegretMatching, ExternalSampling(np.random.default_rng(1))),
        lambda: sampled_value(
            Endless(2), [lambda *_: [0.5, 0.5]], samples=1, generator=np.random.default_rng(1)
        ),
        lambda: play_match(
            Endless(2),
            [StrategyAgent([lambda *_: [0.5, 0.5]], np.random.default_rng(1))],
            rounds=1,
            generator=np.random.default_rng(1),
        ),
    ],
)
def test_a_game_without_end_is_refused_by_the_length_of_its_histories(build, monkeypatch):
    monkeypatch.setattr(_history, "LONGEST", 500)
    with pytest.raises(ValueError, match=r"more than 500 moves; let is_terminal\(\) be true"):
        build()


@pytest.mark.parametrize("choices", [2, 3])
def test_a_game_without_end_that_branches_is_refused_by_its_estimated_size(choices):
    for rules in (AsRules(Endless(choices)), Objects(Endless(choices))):
        with pytest.raises(MemoryError, match=r"about 10\*\*18 histories"):
            GameTree(**tree_of(rules))


@pytest.mark.parametrize(
    "call", ["kuhn_poker(players=3)", "leduc_poker", "sheriff(items=3)", "oshi_zumo", "goofspiel"]
)
def test_the_estimate_of_a_size_is_near_the_size(call):
    rules, histories = games.load_rules(call), games.load(call).tree.histories
    assert estimated_size(rules, 20_000) == pytest.approx(histories, rel=0.1)


@pytest.mark.parametrize(
    "call",
    [
        "goofspiel(7)",
        "liars_dice(dice=2)",
        "dudo(dice=2)",
        "sheriff(rounds=9)",
        "leduc_poker(players=5)",
        "battleship(height=6, width=6, lengths=[2, 3], shots=10)",
        "oshi_zumo(coins=60)",
        "kuhn_poker(players=9)",
        "pursuit_evasion(turns=1000)",
        "openspiel:liars_dice(numdice=2)",
        "openspiel:chess",
    ],
)
def test_a_large_game_is_refused_in_a_second_with_an_estimate_and_two_ways_out(call):
    if call.startswith("openspiel"):
        pytest.importorskip("pyspiel")
        games.load("openspiel:kuhn_poker")  # its import is not counted
    start = time.process_time()
    with pytest.raises(MemoryError) as caught:
        games.load(call, memory_limit=2**30)
    assert time.process_time() - start < FOREVER
    message = r"(about|more than) [\d,*]+ histories, .*; choose a smaller game, or play by the"
    assert re.search(message, str(caught.value))
    assert "state it as a public game" in str(caught.value)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("sheriff(items=100000000)", ValueError),
        ("battleship(width=1000000000000000000)", ValueError),
        ("goofspiel(players=1000000000)", ValueError),
        ("battleship(lengths=7)", TypeError),
        ("battleship(1, 100, [101])", ValueError),
        ("battleship(6, 6, [4, 4, 4, 4, 4, 4, 4, 4, 4])", ValueError),
        ("dudo(dice=1000000000)", ValueError),
        ("liars_dice(dice=8)", None),
        ("liars_dice(dice=80)", ValueError),
        ("oshi_zumo(coins=999999999)", ValueError),
    ],
)
def test_arguments_out_of_range_are_refused_at_once_as_tree_and_as_rules(call, error):
    for load in (games.load, games.load_rules):
        start = time.process_time()
        if error is None and load is games.load:
            with pytest.raises(MemoryError):
                load(call, memory_limit=2**30)
        elif error is None:
            load(call)
        else:
            with pytest.raises(error):
                load(call)
        assert time.process_time() - start < FOREVER


SMALL_BUDGET = 2**19
"""Bytes that leave room for some thousand histories, which are built in a moment."""
NUMBERS = (7, 30, 100, 1_000, 10_000, 10**6, 10**9, 10**30)

CHILD = f"""
import json, resource, sys, time
from regretkit import games

def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

for call in ("kuhn_poker", "blotto", "liars_dice(sides=2)"):
    games.load(call)  # triggers all lazy imports
for call in json.load(sys.stdin):
    before, start = most(), time.process_time()
    try:
        games.load(call, memory_limit={SMALL_BUDGET})
        outcome = "built"
    except (MemoryError, TypeError, ValueError) as error:
        outcome = type(error).__name__
    print(json.dumps([call, outcome, time.process_time() - start, most() - before]))
"""


def calls_of(name):
    """Return calls of a game in which one argument, or every one, is a large number."""
    names = [*inspect.signature(_registry._FACTORIES[name]).parameters]
    yield from (f"{name}({parameter}={number})" for parameter in names for number in NUMBERS)
    for number in NUMBERS if names else ():
        sizes = {parameter: number for parameter in names if parameter in SIZES}
        if "lengths" in names:
            yield f"{name}(lengths=[{number}], width={number})"
            yield f"{name}(lengths=[2, 3, 2], width={number})"
            yield f"{name}(shots={number}, repeated_shots=True)"
        yield f"{name}({', '.join(f'{key}={value}' for key, value in sizes.items())})"


SIZES = {"players", "dice", "sides", "soldiers", "fields", "coins", "cards", "suits", "width"}


def own_games():
    """Return the games of the library; tests may have registered others."""
    return [
        name
        for name in games.names()
        if _registry._FACTORIES[name].__module__.startswith("regretkit.games.catalogue")
        and inspect.signature(_registry._FACTORIES[name]).parameters
    ]


@pytest.mark.deep_beyond(4)
@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is measured by resource")
@pytest.mark.parametrize("name", own_games())
def test_no_argument_of_any_game_takes_more_than_seconds_or_200_mib_to_refuse(name):
    calls = list(calls_of(name))
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        check=True,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(calls)
    for call, _, seconds, mebibytes in found:
        assert seconds < 2.0, call
        assert mebibytes < 200.0, call


# The limit


@pytest.fixture
def with_left(monkeypatch):
    """Return a function that sets the number of available bytes."""
    return lambda left: monkeypatch.setattr(_memory_budget, "available", lambda: left)


def test_a_game_is_refused_while_it_is_built(with_left):
    with_left(200_000)
    root = games.as_history(games.KuhnPoker(4))
    for build in (
        lambda **limit: GameTree.from_history(root, **limit),
        lambda **limit: rk.ExtensiveFormGame.from_rules(games.KuhnPoker(4), **limit),
    ):
        with pytest.raises(MemoryError, match=r"more than [\d,]+ histories, .*memory_limit=math"):
            build()
        with pytest.raises(MemoryError, match="there are 293 KiB"):
            build(memory_limit=300_000)
        assert build(memory_limit=math.inf)


def test_a_call_cannot_raise_the_limit_under_which_it_is_loaded():
    with _memory_budget.memory_capped(2**20), pytest.raises(MemoryError, match="there are 1 MiB"):
        games.load("liars_dice(sides=5)", memory_limit=2**30)
    assert games.load("liars_dice(sides=5)")


test_a_limit_that_is_no_number_of_bytes_is_refused = refusals(
    *((limit, ValueError) for limit in (0, -1.0, math.nan)),
    ("8 GiB", TypeError),
    call=lambda limit: GameTree.from_rules(games.KuhnPoker(), memory_limit=limit),
    match="memory_limit must be a number of bytes",
)


def test_available_memory_is_what_the_machine_has_available(monkeypatch):
    files = {"/proc/meminfo": "MemTotal: 4000 kB\nMemFree: 10 kB\nMemAvailable: 3000 kB\n"}
    monkeypatch.setattr(_memory_budget.Path, "read_text", lambda path: files.get(str(path), ""))
    assert _memory_budget.available() == 3000 * 1024


@pytest.mark.parametrize(
    "call", ["dudo(dice=1e9)", "battleship(width=1e9)", "oshi_zumo(coins=1e9)", "blotto(1e9)"]
)
def test_a_float_in_place_of_a_whole_number_is_refused_with_what_would_do(call):
    with pytest.raises(TypeError, match=r"must be a whole number.*; pass 1000000000$"):
        games.load(call)


def test_blotto_is_counted_and_lists_placements_on_many_fields():
    with pytest.raises(MemoryError, match=r"[\d,]+ outcomes"):
        games.load("blotto(60, 8)", memory_limit=2**30)
    assert _placements(1, 1_500).shape == (1_500, 1_500)
