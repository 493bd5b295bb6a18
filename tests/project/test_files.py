"""A file that is replaced is the old one or the new one, whenever the writing fails."""

import csv
import os
from pathlib import Path

import pytest

from regretkit import games
from regretkit._util._files import replace_file, rows_to_csv

OLD, NEW = b"old" * 1_000, [b"new" * 1_000, memoryview(b"and more")]


class Killed(BaseException):
    """No `except Exception` catches this."""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "checkpoint"
    path.write_bytes(OLD)
    return path


def test_a_new_file_takes_the_place_of_the_old_one(file):
    replace_file(file, NEW)
    assert file.read_bytes() == b"".join(NEW)
    assert names(file.parent) == ["checkpoint"]


def test_a_file_that_was_not_there_is_there(tmp_path):
    replace_file(str(tmp_path / "new"), NEW)
    assert (tmp_path / "new").read_bytes() == b"".join(NEW)
    (tmp_path / "other").write_bytes(b"")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "other").stat().st_mode


def failing(*chunks):
    yield from chunks
    raise Killed


@pytest.mark.parametrize("chunks", [[], NEW[:1], NEW])
def test_what_fails_while_it_is_written_leaves_the_old_file(file, chunks):
    with pytest.raises(Killed):
        replace_file(file, failing(*chunks))
    assert file.read_bytes() == OLD
    assert names(file.parent) == ["checkpoint"]


@pytest.mark.parametrize("step", [(os, "fsync"), (Path, "replace")])
def test_what_fails_before_the_name_is_taken_leaves_the_old_file(file, monkeypatch, step):
    def fail(*arguments):
        raise OSError("no space left")

    monkeypatch.setattr(*step, fail)
    with pytest.raises(OSError, match="no space left"):
        replace_file(file, NEW)

    assert file.read_bytes() == OLD
    assert names(file.parent) == ["checkpoint"]


def test_all_of_it_is_on_the_disk_before_it_takes_the_name(file, monkeypatch):
    # Otherwise a machine that stops may find the name, and nothing behind it.
    seen, replace, fsync = [], Path.replace, os.fsync

    def settled(descriptor):
        seen.append("settled")
        return fsync(descriptor)

    def named(path, target):
        seen.append(("named", path.read_bytes() == b"".join(NEW), path.parent == file.parent))
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", settled)
    monkeypatch.setattr(Path, "replace", named)
    replace_file(file, NEW)

    assert seen[:2] == ["settled", ("named", True, True)]
    assert seen[2:] == (["settled"] if os.name == "posix" else [])  # the folder


def test_a_link_stays_a_link(file, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "link").symlink_to(file)
    replace_file(folder / "link", NEW)
    assert (folder / "link").is_symlink()
    assert file.read_bytes() == b"".join(NEW)
    assert names(folder) == ["link"]


@pytest.mark.parametrize("name", ["", "missing/file"])
def test_what_cannot_be_written_is_refused(tmp_path, name):
    with pytest.raises(OSError, match=r"is a folder|no folder"):
        replace_file(tmp_path / name, NEW)
    assert names(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are of Unix")
def test_pipes_and_devices_are_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for name in ("pipe", "link"):
        with pytest.raises(OSError, match="is a device or a pipe"):
            replace_file(tmp_path / name, NEW)
    assert names(tmp_path) == ["link", "pipe"]
    assert (tmp_path / "pipe").is_fifo()


def test_a_game_that_fails_to_be_written_leaves_the_file_of_before(tmp_path, monkeypatch):
    path = tmp_path / "game.efg"
    games.save(games.kuhn_poker(), path)
    previous = path.read_bytes()
    path.chmod(0o600)
    monkeypatch.setattr(os, "fsync", failing_to_settle)

    with pytest.raises(OSError, match="no space left"):
        games.save(games.leduc_poker(), path)

    assert path.read_bytes() == previous
    assert names(tmp_path) == ["game.efg"]


def failing_to_settle(_descriptor):
    raise OSError("no space left")


def test_texts_that_spreadsheets_take_for_formulas_are_escaped_and_numbers_are_not(tmp_path):
    texts = ["=1+1", "+1", "-1", "@SUM(A1)"]
    plain = ["a=b", "", "'x", "J", -1, -0.5, 1e-30, None]

    rows_to_csv(tmp_path / "table.csv", ["column"], [{"column": cell} for cell in texts + plain])

    with (tmp_path / "table.csv").open(newline="") as file:
        cells = [row["column"] for row in csv.DictReader(file, restval="")]
    assert cells == [f"'{text}" for text in texts] + [
        *["a=b", "", "'x", "J", "-1", "-0.5", "1e-30", ""]
    ]
