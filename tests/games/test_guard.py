"""Games that are endless or too large are refused soon, with an estimate and the ways out."""

import math
import re
import time

import numpy as np
import pytest
from attrs import evolve, frozen
from naive_levels import AsRules
from refusals import memory_left

import regretkit as rk
from regretkit import games
from regretkit.evaluation import sampled_value
from regretkit.games import GameTree, GraphGame
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


def uniform(_, actions):
    return [1 / len(actions)] * len(actions)


@pytest.mark.parametrize(
    "build",
    [
        lambda rng: GameTree.from_history(Endless(1, stops=True)),
        lambda rng: GameTree.from_rules(AsRules(Endless(1))),
        lambda rng: GraphGame.from_history(Endless(2), state=lambda history: history.moves),
        lambda rng: Sampled(Endless(2), rk.RegretMatching, ExternalSampling(rng)),
        lambda rng: sampled_value(Endless(2), [uniform], samples=1, generator=rng),
        lambda rng: play_match(Endless(2), [StrategyAgent([uniform], rng)], 1, generator=rng),
    ],
)
def test_a_game_without_end_is_refused_by_the_length_of_its_histories(build, monkeypatch):
    monkeypatch.setattr("regretkit.games.tree._history.LONGEST", 500)
    with pytest.raises(ValueError, match=r"more than 500 moves; is_terminal\(\) must return True"):
        build(np.random.default_rng(1))


@pytest.mark.parametrize("choices", [2, 3])
def test_a_game_without_end_that_branches_is_refused_by_its_estimated_size(choices):
    for build in (
        lambda: GameTree.from_rules(AsRules(Endless(choices))),
        lambda: GameTree.from_history(Endless(choices)),
    ):
        with pytest.raises(MemoryError, match=r"about 10\*\*18 histories"):
            build()


@pytest.mark.parametrize(
    ("call", "histories"),
    [
        ("goofspiel(7)", 47_506_635),
        ("sheriff(rounds=8)", 33_256_389),
        ("liars_dice(dice=2)", None),
        ("battleship(height=6, width=6, lengths=[2, 3], shots=10)", None),
        ("openspiel:chess", None),
    ],
)
def test_a_large_game_is_refused_in_a_second_with_an_estimate_and_two_ways_out(call, histories):
    if call.startswith("openspiel"):
        pytest.importorskip("pyspiel")
        games.load("openspiel:kuhn_poker")  # its import is not counted
    start = time.process_time()
    with memory_left(2**30), pytest.raises(MemoryError) as caught:
        games.load(call)
    assert time.process_time() - start < FOREVER
    message = r"(about|more than) ([\d,*]+) histories, .*; choose a smaller game, or play by the"
    found = re.search(message, str(caught.value))
    assert "state it as a public game" in str(caught.value)
    if histories is not None:
        assert int(found[2].replace(",", "")) == pytest.approx(histories, rel=0.1)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("sheriff(items=100000000)", ValueError),
        ("battleship(width=1000000000000000000)", ValueError),
        ("goofspiel(players=1000000000)", ValueError),
        ("battleship(lengths=7)", TypeError),
        ("liars_dice(dice=8)", None),
        ("liars_dice(dice=80)", ValueError),
    ],
)
def test_arguments_out_of_range_are_refused_at_once_as_tree_and_as_rules(call, error):
    for load in (games.load, games.load_rules):
        start = time.process_time()
        if error is None and load is games.load:
            with memory_left(2**30), pytest.raises(MemoryError):
                load(call)
        elif error is None:
            load(call)
        else:
            with pytest.raises(error):
                load(call)
        assert time.process_time() - start < FOREVER


def test_a_game_is_refused_while_it_is_built():
    rules = games.Dudo(sides=3)
    with pytest.raises(MemoryError, match=r"more than [\d,]+ histories, and .* left for 142;"):
        GameTree.from_rules(rules, memory_limit=20_000)
    assert GameTree.from_rules(rules, memory_limit=math.inf).histories == 1_147


def test_memory_that_is_left_is_the_limit():
    with memory_left(200_000), pytest.raises(MemoryError, match="left for 1,428; choose"):
        games.kuhn_poker(4)
    with memory_left(200_000), pytest.raises(MemoryError, match=r"outcomes, .* are 0.1907 MiB"):
        games.load("blotto(60, 8)")


@pytest.mark.parametrize("call", ["dudo(dice=1e9)", "battleship(width=1e9)", "blotto(1e9)"])
def test_a_float_in_place_of_a_whole_number_is_refused_with_what_would_do(call):
    with pytest.raises(TypeError, match=r"must be a whole number.*; pass 1000000000$"):
        games.load(call)
