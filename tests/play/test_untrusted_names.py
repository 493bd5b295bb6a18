"""A name in a strategy or a checkpoint builds little, opens no file and loads no library."""

import json
import os
import subprocess
import sys

import pytest

from regretkit import games, solve
from regretkit.games import Profile
from regretkit.play import SelfPlay, resume

# Each took seconds and gigabytes, or did not end, when it was built as it stands.
COSTLY = [
    "battleship(3, 3, (1, 1, 1, 1, 1, 1, 1, 1, 1))",
    "blotto(1000000000, 1000000000)",
    "blotto(100, 4)",
    "dudo(1000000000)",
    "dudo",
    "goofspiel(7)",
    "kuhn_poker(7)",
    "leduc_poker(2, 13, 4)",
    "liars_dice(2, 4)",
    "oshi_zumo(coins=1000000000)",
    "oshi_zumo(coins=10000, horizon=1)",
    "kuhn_poker(" + "[" * 5_000 + "]" * 5_000 + ")",
    "kuhn_poker('" + "x" * 1_000_000 + "')",
]

LIMITED = """
import json, resource, sys, time
from regretkit.games import matching_pennies
from regretkit.games._fingerprint import find_described
resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
for name in json.load(sys.stdin):
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    try:
        find_described({"name": name, "fingerprint": "0" * 32}, "file", 475)
    except ValueError as error:
        assert len(str(error)) < 600, str(error)
        assert "pass it as game" in str(error), error
    assert time.process_time() - began < 8.0, name
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**16, name
"""


def test_names_in_small_files_build_no_large_games():
    command = [sys.executable, "-c", LIMITED]
    text = json.dumps(COSTLY)
    child = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)

    assert child.returncode == 0, child.stderr


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("name", ["liars_dice", "kuhn_poker(3)", "blotto(10, 3)"])
def test_a_game_in_proportion_to_its_file_is_found_by_name(name, tmp_path):
    game = games.load(name)
    points = [domain.relative_interior_point() for domain in game.domains]
    Profile(points, game.domains, game).to_json(tmp_path / "a.json")

    assert Profile.from_json(tmp_path / "a.json")._game.name == game.name


def test_an_entry_twice_among_many_is_found_at_once(tmp_path):
    pairs = ", ".join(f'"{number}": 0' for number in range(200_000))
    (tmp_path / "a.json").write_text(f'{{{pairs}, "x": 0, "x": 0}}')

    with pytest.raises(ValueError, match="an entry 'x' is a duplicate"):
        Profile.from_json(tmp_path / "a.json")


@pytest.mark.parametrize("depth", [10, 300, 900, 950, 980, 990, 100_000])
def test_a_strategy_nested_deeply_is_refused(depth, tmp_path):
    data = solve(games.kuhn_poker(), iterations=1).average.to_dict()
    text = json.dumps(data | {"players": "HERE"}).replace('"HERE"', "[" * depth + "]" * depth)
    (tmp_path / "a.json").write_text(text)

    for game in (None, games.kuhn_poker()):
        with pytest.raises(ValueError, match=r"a\.json"):
            Profile.from_json(tmp_path / "a.json", game)


# Other files than regular ones


def read(path):
    return [
        lambda: Profile.from_json(path, games.kuhn_poker()),
        lambda: resume(path),
        lambda: SelfPlay.load(path, games.kuhn_poker(), []),
    ]


@pytest.mark.skipif(os.name != "posix", reason="there are no pipes in folders")
def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        for reading in read(path):
            with pytest.raises(OSError, match="no regular file"):
                reading()
