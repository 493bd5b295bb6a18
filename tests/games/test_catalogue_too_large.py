"""Every game of the catalogue is counted before it is built, and refused if it is too large."""

import inspect
import json
import subprocess
import sys

import pytest

from regretkit import games
from regretkit.games import _registry
from regretkit.games.catalogue._matrix_games import _placements

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
        outcome = "built", ""
    except (MemoryError, TypeError, ValueError) as error:
        outcome = type(error).__name__, str(error)
    print(json.dumps([call, *outcome, time.process_time() - start, most() - before]))
"""


def calls_of(name):
    """Return calls of a game in which one argument, or every one, is a large number."""
    factory = _registry._FACTORIES[name]
    names = [each for each in inspect.signature(factory).parameters if each != "memory_limit"]
    yield from (f"{name}({parameter}={number})" for parameter in names for number in NUMBERS)
    listed = "lengths" in names
    for number in NUMBERS if names else ():
        sizes = {parameter: number for parameter in names if parameter in SIZES}
        if listed:
            yield f"{name}(lengths=[{number}], width={number})"
            yield f"{name}(lengths=[2, 3, 2], width={number})"
            yield f"{name}(shots={number}, repeated_shots=True)"
        yield f"{name}({', '.join(f'{key}={value}' for key, value in sizes.items())})"


SIZES = {"players", "dice", "sides", "soldiers", "fields", "coins", "cards", "suits", "width"}


def outcomes(calls):
    """Return what becomes of each call in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


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
def test_no_argument_of_any_game_takes_more_than_a_second_or_100_mib_to_refuse(name):
    calls = list(calls_of(name))

    found = outcomes(calls)

    assert len(found) == len(calls)
    for call, outcome, message, seconds, mebibytes in found:
        assert seconds < 1.0, call
        assert mebibytes < 100.0, call
        if outcome == "MemoryError":
            assert "choose a smaller game" in message
            assert "memory while it is built" in message or "too many" in message


@pytest.mark.deep_beyond(6)
@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("battleship(width=1000000000)", r"over 10\*\*18 histories"),
        ("battleship(height=5, width=5, lengths=[2, 2, 2])", r"more than [\d,]+ histories"),
        ("battleship(6, 6, [4, 4, 4, 4, 4, 4, 4, 4, 4])", "too many ways to place 9 ships on 6"),
        ("battleship(1, 2, shots=1000000, repeated_shots=True)", r"[\d,]+ histories"),
        ("blotto(60, 8)", r"[\d,]+ outcomes"),
        ("blotto(1000000000, 1000000000)", r"over 10\*\*\d+ outcomes"),
        ("dudo(dice=3)", r"has [\d,]+ histories"),
        ("dudo(dice=1000000000)", r"over 10\*\*\d+ histories"),
        ("goofspiel(cards=20)", r"over 10\*\*\d+ histories"),
        ("kuhn_poker(players=12)", r"has 306,081,226,138,286 histories"),
        ("leduc_poker(players=12)", r"over 10\*\*\d+ histories"),
        ("liars_dice(dice=8)", r"over 10\*\*\d+ histories"),
        (
            "liars_dice(dice=2, sides=6)",
            f"{sum(6**k for k in range(4)) + 6**4 * (2 * 16**6 - 1):,} h",
        ),
        (
            "liars_dice(sides=3, players=6)",
            f"{sum(3**k for k in range(6)) + 3**6 * (2 * 2**18 - 1):,} h",
        ),
        ("oshi_zumo(coins=999999999)", r"more than 1,000,000,000 histories"),
        ("oshi_zumo(coins=60, minimum_bid=0, horizon=2)", r"more than [\d,]+ histories"),
        ("oshi_zumo(1, 0, 0, 1000000)", r"more than [\d,]+ histories"),
    ],
)
def test_a_game_too_large_for_memory_is_refused_with_its_size(call, message):
    available = "" if "too many" in message else r".* there are 1\.0 GiB"
    with pytest.raises(MemoryError, match=message + available):
        games.load(call, memory_limit=2**30)


@pytest.mark.parametrize(
    "call", ["dudo(dice=1e9)", "battleship(width=1e9)", "oshi_zumo(coins=1e9)", "blotto(1e9)"]
)
def test_a_float_in_place_of_a_whole_number_is_refused_with_what_would_do(call):
    with pytest.raises(TypeError, match=r"must be a whole number.*; pass 1000000000$"):
        games.load(call)


def test_a_call_cannot_raise_the_limit_under_which_it_is_loaded():
    call = "liars_dice(sides=5, memory_limit=1e999)"
    with pytest.raises(MemoryError, match=r"there are 1 MiB; choose a smaller game, .* does$"):
        games.load(call, memory_limit=2**20)
    assert games.load(call)


def test_a_battleship_whose_ships_do_not_fit_is_refused_however_large():
    for call in ("battleship(1, 1000000, [1000001])", "battleship(2, 2, [3])"):
        with pytest.raises(ValueError, match="do not fit"):
            games.load(call)


def test_blotto_lists_placements_on_more_fields_than_the_recursion_limit():
    assert _placements(1, 1_500).shape == (1_500, 1_500)
