"""Machine code on disk: a file that is damaged or foreign is deleted, and compiled again."""

import errno
import os
import subprocess
import sys
import textwrap
import warnings
from functools import partial
from pathlib import Path

import numba
import numpy as np
import pytest

from regretkit._util import _files
from regretkit.engine import _jit
from regretkit.engine._jit import CodeCache, cache_on_disk

SIGNATURE = (numba.int64,)


def double(x):
    return 2 * x


def triple(x):
    return 3 * x


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Keep machine code in a folder of its own, and give each test its warnings."""
    # Numba reads its variables anew once they have changed, as other tests change them.
    numba.config.reload_config()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    _jit._warn_once.cache_clear()
    return tmp_path


def compiled(function=double):
    """Return a function as machine code, from disk where it is there."""
    made = numba.njit(function)
    cache_on_disk(made)
    made.compile(SIGNATURE)
    return made


def is_loaded(made):
    return made._cache_hits[SIGNATURE] == 1


def kept(folder):
    (path,) = folder.rglob("*.bin")
    return path


def loader():
    """Return a function that looks for machine code on disk, and compiles nothing."""
    context = numba.njit(double).targetctx
    return partial(CodeCache(double).load_overload, SIGNATURE, context)


def assert_replaced(folder, content):
    """Find a damaged file ignored with a single warning, and one that is whole in its place."""
    path = kept(folder)
    whole = path.read_bytes()
    path.write_bytes(content)
    with pytest.warns(RuntimeWarning, match=r"the file is damaged.*compiled again") as caught:
        rebuilt = compiled()
    assert len(caught) == 1
    assert not is_loaded(rebuilt)
    assert rebuilt(4) == 8
    assert len(kept(folder).read_bytes()) == pytest.approx(len(whole), abs=64)
    assert is_loaded(compiled())


def test_machine_code_is_loaded_where_it_was_kept():
    assert not is_loaded(compiled())
    made = compiled()
    assert is_loaded(made)
    assert made(21) == 42


def test_a_file_that_is_truncated_at_any_byte_is_never_used(folder):
    compiled()
    path, load = kept(folder), loader()
    whole = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for size in (*range(100), *range(100, len(whole), 11)):
            path.write_bytes(whole[:size])
            assert load() is None
            assert not path.exists()
    path.write_bytes(whole)
    assert load() is not None


def test_a_file_with_any_byte_changed_is_never_used(folder):
    compiled()
    path, load = kept(folder), loader()
    whole = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place in range(0, len(whole), 7):
            changed = bytearray(whole)
            changed[place] ^= 1 << place % 8
            path.write_bytes(changed)
            assert load() is None


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 5_000])
def test_random_bytes_are_replaced(folder, size):
    compiled()
    assert_replaced(folder, np.random.default_rng(size).bytes(size))


def test_a_truncated_file_is_replaced(folder):
    compiled()
    whole = kept(folder).read_bytes()
    assert_replaced(folder, whole[: len(whole) // 2])


def test_the_code_of_another_function_is_replaced(folder):
    compiled(triple)
    (second,) = (path.read_bytes() for path in folder.rglob("*.bin"))
    kept(folder).unlink()
    compiled()
    assert_replaced(folder, second)


@pytest.mark.parametrize("package", ["numba", "llvmlite"])
def test_the_code_of_another_version_is_replaced(folder, monkeypatch, package):
    with monkeypatch.context() as patch:
        patch.setattr(getattr(_jit, package), "__version__", "0.0.1")
        compiled()
        foreign = kept(folder)
        content = foreign.read_bytes()
    assert loader()() is None  # under its own name it is not even looked at
    foreign.unlink()
    compiled()
    assert_replaced(folder, content)


def test_code_that_nothing_can_be_made_of_is_replaced(folder, monkeypatch):
    def renamed(*_):
        raise AttributeError("Can't get attribute 'Old'")

    compiled()
    with monkeypatch.context() as patch:
        patch.setattr(_jit.pickle, "loads", renamed)
        with pytest.warns(RuntimeWarning, match="attribute 'Old'.*compiled again"):
            assert compiled()(4) == 8
    assert is_loaded(compiled())


def test_many_damaged_files_are_reported_once(folder):
    for function in (double, triple):
        compiled(function)
    for path in folder.rglob("*.bin"):
        path.write_bytes(b"")
    with pytest.warns(RuntimeWarning) as caught:
        assert [compiled(function)(2) for function in (double, triple)] == [4, 6]
    assert len(caught) == 1


def test_a_file_that_cannot_be_read_or_replaced_is_left_and_the_code_runs(folder):
    compiled()
    path = kept(folder)
    path.unlink()
    path.mkdir()
    with pytest.warns(RuntimeWarning) as caught:
        assert compiled()(3) == 6
    first, second = (str(warning.message) for warning in caught)
    assert "cannot be used (Is a directory)" in first
    assert "cannot be cached" in second


def test_a_folder_that_cannot_be_written_any_more_leaves_the_code_to_be_run(folder):
    made = numba.njit(double)
    cache_on_disk(made)
    place = Path(made._cache.cache_path)
    place.rmdir()
    place.write_text("no folder")
    with pytest.warns(RuntimeWarning) as caught:
        assert made(5) == 10
    first, second = (str(warning.message) for warning in caught)
    assert "cannot be used (Not a directory)" in first
    assert "cannot be cached" in second
    assert "NUMBA_CACHE_DIR" in second


def test_where_no_folder_can_be_written_the_code_runs_as_well(monkeypatch):
    def refuse(locator):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("numba.core.caching._CacheLocator.ensure_cache_path", refuse)
    with pytest.warns(RuntimeWarning, match=r"cannot be cached on disk.*NUMBA_CACHE_DIR"):
        assert compiled()(5) == 10


def test_a_full_disk_leaves_the_code_to_be_run_and_no_file_behind(folder, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(_files.os, "fsync", full)
        with pytest.warns(RuntimeWarning, match="No space left on device.*in every process"):
            assert compiled()(5) == 10
    assert not [path for path in folder.rglob("*") if path.is_file()]
    assert compiled()(5) == 10
    assert is_loaded(compiled())


RUN = """
    import warnings
    from regretkit import games, solve
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = solve(games.matrix_game([[1.0, 0.0], [0.0, 2.0]]), iterations=50, engine="compiled")
    print([[x.hex() for x in strategy] for strategy in run.average])
    print([str(warning.message) for warning in caught])
"""


def run_elsewhere(folder, limit=None):
    """Return what a run in another process comes to, and its warnings."""
    code = textwrap.dedent(RUN)
    if limit is not None:
        code = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit},) * 2)\n{code}"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.sample
def test_a_run_survives_damage_to_all_of_its_machine_code(tmp_path):
    average, said = run_elsewhere(tmp_path)
    assert said == "[]"
    files = list(tmp_path.rglob("*.bin"))
    assert files
    for number, path in enumerate(files):
        path.write_bytes(path.read_bytes()[: 100 * number])

    repeated, said = run_elsewhere(tmp_path)
    assert repeated == average
    assert said.count("compiled again") == 1
    assert run_elsewhere(tmp_path) == [average, "[]"]


@pytest.mark.slow
def test_a_run_on_a_full_disk_gives_the_same_result(tmp_path):
    pytest.importorskip("resource", reason="limits are of Unix")
    short, said = run_elsewhere(tmp_path, limit=1_000)
    assert said.count("cannot be cached") == 1
    assert not list(tmp_path.rglob("*.bin"))
    assert run_elsewhere(tmp_path) == [short, "[]"]
