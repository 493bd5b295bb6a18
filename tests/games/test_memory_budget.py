"""Games that do not fit into memory are refused, with their size, before they are built."""

import math
import os
import subprocess
import sys

import pytest
from naive_levels import AsLevel, Leduc, LiarsDice
from refusals import refusals

from regretkit import games
from regretkit.games import GameTree, _memory_budget
from regretkit.games._memory_budget import level_widths
from regretkit.games.catalogue._bidding_games import oshi_zumo_history
from regretkit.games.catalogue._board_games import (
    BattleshipHistory,
    _widths,
    battleship_history,
)
from regretkit.games.tree import _sequences

GIB = 2**30


@pytest.fixture
def with_left(monkeypatch):
    """Return a function that sets the number of available bytes."""
    return lambda left: monkeypatch.setattr(_memory_budget, "available", lambda: left)


def test_more_histories_than_32_bits_can_number_are_refused_in_any_memory():
    with pytest.raises(MemoryError, match=r"4,831,838,077 histories, but at most 2,147,483,647"):
        games.liars_dice(sides=12, memory_limit=math.inf)


@pytest.mark.parametrize(
    "calls",
    [
        [f"liars_dice(sides={sides})" for sides in (1, 2, 3, 4)],
        [f"goofspiel(cards={cards}, order='random')" for cards in (1, 2, 3, 4)],
        [f"dudo(dice={dice}, sides={sides})" for dice, sides in ((1, 1), (1, 3), (2, 2), (3, 1))],
        [f"kuhn_poker({players}, {players + spare})" for players in (2, 3) for spare in (0, 1, 2)],
        ["leduc_poker(2, 2, 4)", "leduc_poker(2, 1, 3, True)", "leduc_poker(2, 4, 1)"],
        ["leduc_poker(merge_suits=True)", "leduc_poker(3, 2, 2, True)"],
    ],
)
def test_the_size_that_is_refused_is_the_size_that_is_built(calls, with_left):
    for call in calls:
        histories = games.load(call).tree.histories
        with_left(10)
        with pytest.raises(MemoryError, match=rf"the game has {histories:,} histories"):
            games.load(call)
        with_left(math.inf)


def levels_of(root):
    """Return how many histories of each length a game says that it has."""
    if isinstance(root, BattleshipHistory):
        return [*_widths(root)]
    return [*level_widths(root, root.horizon and 2 * root.horizon)]


@pytest.mark.deep_beyond(8)
@pytest.mark.parametrize(
    "root",
    [
        *map(oshi_zumo_history, (3, 5)),
        *(oshi_zumo_history(*rules) for rules in [(5, 0), (4, 2), (6, 1, 2), (7, 2, 3), (6, 3, 2)]),
        *(oshi_zumo_history(*rules) for rules in [(3, 1, 0, 3), (2, 0, 0, 4), (7, 1, 3)]),
        *(oshi_zumo_history(*rules) for rules in [(5, 1, 5), (5, 1, 1, 1), (5, 1, 1, 2)]),
        *(battleship_history(*rules) for rules in [(2, 2), (1, 3, (2, 1)), (1, 4, (1, 2))]),
        *(battleship_history(2, 2, ships, shots=3) for ships in [(1,), (2,), (2, 2)]),
        *(battleship_history(1, 2, ships, None, 3, 1.0, True) for ships in [(1,), (2,), (1, 1)]),
    ],
)
def test_the_levels_that_are_counted_are_those_that_are_there(root):
    counted = levels_of(root)
    tree = GameTree.from_history(root)
    levels = [1, *(level.stop - level.start for level in _sequences.levels(tree))]
    assert counted[: len(levels)] == levels
    assert not any(counted[len(levels) :])


@pytest.mark.parametrize(
    ("build", "root"),
    [
        (GameTree.from_batch, AsLevel([LiarsDice(1, 4)])),
        (games.ExtensiveFormGame.from_batch, AsLevel([LiarsDice(1, 4)])),
        (GameTree.from_history, LiarsDice(1, 4)),
        (games.ExtensiveFormGame.from_history, Leduc()),
    ],
)
def test_a_game_of_ones_own_is_refused_while_it_is_built(build, root, with_left):
    with_left(200_000)
    with pytest.raises(MemoryError, match=r"more than [\d,]+ histories, .*memory_limit=math.inf"):
        build(root)
    with pytest.raises(MemoryError, match=r"choose a smaller game, or play by the rules .* does$"):
        build(root, memory_limit=300_000)
    assert build(root, memory_limit=math.inf)


def test_a_limit_of_ones_own_takes_the_place_of_what_is_available(with_left):
    with_left(10)
    assert games.liars_dice(sides=3, memory_limit=GIB).tree.histories == 1147
    with pytest.raises(MemoryError, match="there are 1000 bytes"):
        games.goofspiel(memory_limit=1e3)


test_a_limit_that_is_no_number_of_bytes_is_refused = refusals(
    *((limit, ValueError) for limit in (0, -1.0, math.nan)),
    ("8 GiB", TypeError),
    call=lambda limit: games.liars_dice(sides=2, memory_limit=limit),
    match="memory_limit must be a number of bytes",
)


# What is available


def left_of(monkeypatch, files):
    monkeypatch.setattr(_memory_budget.Path, "read_text", lambda path: files.get(str(path), ""))
    return _memory_budget.available()


MACHINE = {"/proc/meminfo": "MemTotal: 4000 kB\nMemFree: 10 kB\nMemAvailable: 3000 kB\n"}


def test_available_memory_is_what_the_machine_has_available(monkeypatch):
    assert left_of(monkeypatch, MACHINE) == 3000 * 1024


def test_where_nothing_is_known_all_memory_counts(monkeypatch):
    monkeypatch.setattr(os, "sysconf_names", {"SC_PHYS_PAGES": 1})
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 1000}.__getitem__)
    monkeypatch.setattr(_memory_budget, "PAGESIZE", 4096)
    assert left_of(monkeypatch, {}) == 1000 * 4096
    monkeypatch.setattr(os, "sysconf_names", {})
    assert left_of(monkeypatch, {}) == math.inf


@pytest.mark.skipif(sys.platform != "linux", reason="limits on the address space are Linux's")
def test_a_limit_on_the_address_space_is_seen():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))\n"
        "from regretkit import games\n"
        "games.liars_dice(sides=9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "MemoryError: the game has 42,467,257 histories" in done.stderr
