"""Files of strategies and checkpoints that are nested deeply, or no regular files."""

import json
import os

import pytest

from regretkit import games, solve
from regretkit.games import Profile
from regretkit.play import SelfPlay, resume


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
