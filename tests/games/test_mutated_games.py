"""A damaged file of a game is a game or is refused with a line and a column, and nothing else."""

import json
import subprocess
import sys
from pathlib import Path

import mutated_games
import pytest
from mutated_games import GAMES, check


def test_the_games_that_are_mutated_are_read(tmp_path):
    for number, text in enumerate(GAMES):
        path = tmp_path / str(number)
        path.write_text(text)
        assert mutated_games.load(path).players >= 1


def test_a_mutated_game_is_read_or_refused_where_it_is_wrong(tmp_path):
    read = [check(seed, tmp_path / "mutant.efg") for seed in range(400)]
    assert 40 < sum(read) < 360


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_a_hundred_thousand_mutated_games_are_read_or_refused_in_bounded_time_and_memory(part):
    count = 25_000
    command = [sys.executable, mutated_games.__file__, str(part * count), str((part + 1) * count)]
    run = subprocess.run(
        command, capture_output=True, text=True, timeout=1_200, cwd=Path(__file__).parents[2]
    )

    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert 0.1 * count < found["read"] < 0.9 * count
    assert found["slowest"] < 5.0
    assert found["growth"] < 2**25
