"""Games that are endless or far too large are refused soon, and long builds are reported."""

import logging
import math
import random
import time
from contextlib import nullcontext

import numpy as np
import pytest
from attrs import evolve, frozen
from naive_levels import AsLevel

import regretkit as rk
from regretkit import games
from regretkit.evaluation import sampled_value
from regretkit.games import GameDAG, GameTree, _memory_budget
from regretkit.games._memory_budget import MemoryBudget, estimated_size
from regretkit.games.tree import _history
from regretkit.play import ExternalSampling, LazyMCCFR, StrategyAgent, play_match


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


def endless_batch(choices):
    return AsLevel([Endless(choices)])


@pytest.fixture
def soon(monkeypatch):
    """Estimate sizes after a tenth of a second of building."""
    monkeypatch.setattr(_memory_budget, "_LOOK_AFTER", 0.1)


TOO_LARGE = r"by an estimate from samples of its tree, about [\d,over*]+ or more in all"
TOO_LONG = r"histories of more than 2,000 moves; let is_terminal\(\) be true"


@pytest.mark.parametrize(
    "build",
    [
        lambda: GameTree.from_history(Endless(2)),
        lambda: GameTree.from_history(Endless(2, stops=True)),
        lambda: GameTree.from_batch(endless_batch(2)),
    ],
)
def test_a_game_without_end_is_refused_by_an_estimate_of_its_size(build, soon):
    start = time.monotonic()
    with pytest.raises(MemoryError, match=TOO_LARGE):
        build()
    assert time.monotonic() - start < 5.0


@pytest.mark.parametrize(
    "build",
    [
        lambda: GameTree.from_history(Endless(1)),
        lambda: GameTree.from_history(Endless(1, stops=True)),
        lambda: GameTree.from_batch(endless_batch(1)),
        lambda: GameDAG.from_history(Endless(2), state=lambda history: history.moves),
        lambda: LazyMCCFR(
            Endless(2), rk.RegretMatching, ExternalSampling(np.random.default_rng(1))
        ),
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
def test_a_game_of_endless_histories_is_refused_by_their_length(build, monkeypatch):
    monkeypatch.setattr(_history, "LONGEST", 2_000)
    with pytest.raises(ValueError, match=TOO_LONG):
        build()


@pytest.mark.parametrize("name", ["chess", "go"])
def test_large_games_of_openspiel_are_refused_with_what_they_say_of_their_size(name, soon):
    pytest.importorskip("pyspiel")
    with pytest.raises(ValueError, match=TOO_LARGE) as caught:
        games.from_openspiel(name)
    assert "(OpenSpiel: up to " in str(caught.value)
    assert "max_histories is 10,000,000" in str(caught.value)
    with pytest.raises(MemoryError, match=TOO_LARGE):
        games.from_openspiel(name, max_histories=math.inf)


@pytest.mark.parametrize(
    "build",
    [
        lambda **limit: GameTree.from_history(Endless(2), **limit),
        lambda **limit: rk.ExtensiveFormGame.from_history(Endless(1), **limit),
        lambda **limit: rk.ExtensiveFormGame.from_batch(endless_batch(2), **limit),
        lambda **limit: GameDAG.from_history(Endless(2), lambda h: h.moves, **limit),
        lambda **limit: games.from_openspiel("liars_dice", **limit),
    ],
)
def test_building_stops_at_the_limit_in_seconds(build):
    with pytest.raises(TimeoutError, match=r"the game has [\d,]+ histories .* not built yet"):
        build(time_limit=0.01)
    wrongs = [("1", TypeError), (True, TypeError), (0, ValueError), (math.nan, ValueError)]
    for wrong, error in wrongs:
        with pytest.raises(error, match="time_limit must be a number of seconds"):
            build(time_limit=wrong)


def test_a_long_build_is_reported_at_doubled_times(monkeypatch, caplog):
    monkeypatch.setattr(_memory_budget, "_REPORT_AFTER", 0.02)
    with caplog.at_level(logging.WARNING, "regretkit"), pytest.raises(TimeoutError):
        GameTree.from_history(Endless(2), time_limit=0.2)
    assert 1 <= len(caplog.messages) <= 4
    assert caplog.messages[0].startswith("building a game: ")
    assert "moves after" in caplog.messages[0]


def test_a_report_says_how_large_the_game_will_be(monkeypatch, caplog):
    for when in ("_LOOK_AFTER", "_REPORT_AFTER"):
        monkeypatch.setattr(_memory_budget, when, -1.0)
    monkeypatch.setattr(_memory_budget, "_SECONDS", 60.0)  # as many samples on a slow machine
    _memory_budget.Growth(
        MemoryBudget(), root=lambda: games.as_history(games.load_rules("liars_dice"))
    ).check(7, 2)
    assert "7 histories of up to 2 moves of about 290,000 in all after" in caplog.text


@pytest.mark.parametrize("batch", [True, False])
def test_the_end_of_a_long_build_is_reported(monkeypatch, caplog, batch):
    monkeypatch.setattr(_memory_budget, "_REPORT_AFTER", -1.0)
    if batch:
        GameTree.from_batch(games.leduc_batch())
    else:
        GameTree.from_history(games.load_rules("oshi_zumo"))
    found = 9457 if batch else 738
    assert f"all {found:,} histories are found" in caplog.messages[-1]


def sizes(root, samples=200):
    return [estimated_size(root, random.Random(seed)) for seed in range(samples)]


@pytest.mark.parametrize("call", ["kuhn_poker(players=3)", "leduc_poker", "sheriff(items=3)"])
def test_the_estimate_of_a_size_is_unbiased(call):
    root, histories = games.as_history(games.load_rules(call)), games.load(call).tree.histories
    found = sizes(root)
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - histories) <= 4.0 * error + 1e-9


def test_the_estimate_is_the_size_where_histories_of_one_kind_go_on_alike():
    short = type("Short", (Endless,), {"is_terminal": lambda self: self.over or self.moves == 6})
    assert sizes(short(2), 5) == [2**7 - 1] * 5
    assert sizes(short(2, stops=True), 5) == [2**7 - 1 + 2**6 - 1] * 5
    # 6**4 rolls and 24 bids in order: 1 + 6 + ... + 6**3 + 6**4 (2**25 - 1) + liar's 2**24 - 1
    rolls = sum(6**count for count in range(4))
    assert sizes(games.as_history(games.load_rules("liars_dice(dice=2)")), 1) == [
        rolls + 6**4 * (2**25 - 1)
    ]


def test_a_game_that_fits_is_not_refused_and_one_a_little_larger_is(monkeypatch):
    monkeypatch.setattr(_memory_budget, "_LOOK_AFTER", -1.0)
    root, histories = games.load_rules("kuhn_poker(players=3)"), 617
    for maximum in (histories, histories // 2):
        growth = _memory_budget.Growth(MemoryBudget(), root=lambda: root, maximum=maximum)
        with nullcontext() if maximum == histories else pytest.raises(ValueError, match=TOO_LARGE):
            growth.check(1, 1)


def test_liars_dice_of_openspiel_is_refused_in_seconds_with_what_plays_it():
    pytest.importorskip("pyspiel")
    begun = time.monotonic()
    with pytest.raises(ValueError, match=TOO_LARGE) as caught:
        games.from_openspiel("liars_dice(numdice=2)")
    assert time.monotonic() - begun < 5.0
    assert "solve(load_rules(...), ...)" in str(caught.value)
