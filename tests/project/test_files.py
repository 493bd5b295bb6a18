"""A file that is replaced is the old one or the new one, whenever the writing fails."""

import csv
import os
from pathlib import Path

import pytest

from regretkit import games
from regretkit._util._files import replace_file, write_csv

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


@pytest.mark.parametrize("step", ["open", "fsync"])
def test_a_folder_that_cannot_be_settled_does_not_make_a_written_file_fail(file, monkeypatch, step):
    # As where a folder may be written and not read, or on file systems that settle files alone.
    function = getattr(os, step)

    def refuse_folders(target, *arguments, **options):
        if os.path.isdir(target):  # noqa: PTH112 # a name or a descriptor
            raise OSError("not for folders")
        return function(target, *arguments, **options)

    monkeypatch.setattr(os, step, refuse_folders)
    replace_file(file, NEW)

    assert file.read_bytes() == b"".join(NEW)


def test_a_link_stays_a_link(file, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "link").symlink_to(file)
    replace_file(folder / "link", NEW)
    assert (folder / "link").is_symlink()
    assert file.read_bytes() == b"".join(NEW)
    assert names(folder) == ["link"]


def test_a_name_as_long_as_names_may_be_is_written(tmp_path):
    path = tmp_path / ("n" * 255)
    replace_file(path, NEW)
    assert path.read_bytes() == b"".join(NEW)


@pytest.mark.parametrize("name", ["", "missing/file"])
def test_what_cannot_be_written_is_refused(tmp_path, name):
    with pytest.raises(OSError, match=r"is a folder|no folder"):
        replace_file(tmp_path / name, NEW)
    assert names(tmp_path) == []


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_that_is_replaced_keeps_its_permissions(file, mode):
    file.chmod(mode)
    replace_file(file, NEW)
    assert file.stat().st_mode & 0o777 == mode


def test_what_is_being_written_is_as_private_as_the_file_it_replaces(file):
    file.chmod(0o600)
    modes = []

    def chunks():
        (part,) = file.parent.glob(".*.part")
        modes.append(part.stat().st_mode & 0o777)
        yield b"new"

    replace_file(file, chunks())

    assert modes == [0o600]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are of Unix")
def test_pipes_and_devices_are_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for name in ("pipe", "link"):
        with pytest.raises(OSError, match="is a device or a pipe"):
            replace_file(tmp_path / name, NEW)
    assert names(tmp_path) == ["link", "pipe"]
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("forbidden", ["file", "folder"])
def test_what_permissions_forbid_is_refused_before_anything_is_written(
    file, monkeypatch, forbidden
):
    wanted = os.path.realpath(file if forbidden == "file" else file.parent)
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != wanted)  # root may do all
    with pytest.raises(PermissionError, match="choose another place"):
        replace_file(file, NEW)
    assert file.read_bytes() == OLD


@pytest.mark.parametrize("letter", ["n", "é", "\U0001f0cf"])
def test_a_name_that_is_too_long_is_refused_and_the_longest_is_written(tmp_path, letter):
    longest = letter * (255 // len(letter.encode()))
    replace_file(tmp_path / longest, NEW)
    assert names(tmp_path) == [longest]
    with pytest.raises(OSError, match="too long"):
        replace_file(tmp_path / (longest + letter), NEW)


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

    write_csv(tmp_path / "table.csv", ["column"], [[cell] for cell in texts + plain])

    with (tmp_path / "table.csv").open(newline="") as file:
        cells = [row["column"] for row in csv.DictReader(file, restval="")]
    assert cells == [f"'{text}" for text in texts] + [
        *["a=b", "", "'x", "J", "-1", "-0.5", "1e-30", ""]
    ]
