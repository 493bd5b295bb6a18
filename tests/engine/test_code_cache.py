"""Machine code on disk: a file that is damaged or foreign is deleted, and compiled again."""

import errno
import os
import subprocess
import sys
import textwrap
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from regretkit._util import _files
from regretkit.engine import _jit, _machine_code

NUMBERS = np.array([4.0, 5.0])


def double(numbers):
    for k in range(numbers.size):
        numbers[k] *= 2.0


def triple(numbers):
    for k in range(numbers.size):
        numbers[k] *= 3.0


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Keep machine code in a folder of its own, and give each test its warnings."""
    monkeypatch.setenv("REGRETKIT_CACHE_DIR", str(tmp_path))
    _machine_code.machine.cache_clear()
    _machine_code._warn_once.cache_clear()
    yield tmp_path
    _machine_code.machine.cache_clear()


def compiled(function=double):
    """Return a function as machine code, from disk where it is there, and whether it was."""
    _machine_code._ENTRIES.clear()
    code, compilations = _jit.compile_cached(function, {}), []

    def counted(arguments, compile_for=code._compile):
        compilations.append(arguments)
        return compile_for(arguments)

    code._compile = counted
    code.prepared(NUMBERS)
    return code, not compilations


def is_loaded(function=double):
    return compiled(function)[1]


def result(code):
    numbers = NUMBERS.copy()
    code(numbers)
    return numbers.tolist()


def kept(folder):
    (path,) = folder.rglob("*.bin")
    return path


def assert_replaced(folder, content):
    """Find a damaged file ignored with a single warning, and one that is whole in its place."""
    path = kept(folder)
    whole = path.read_bytes()
    path.write_bytes(content)
    with pytest.warns(RuntimeWarning, match=r"the file is damaged.*compiled again") as caught:
        rebuilt, loaded = compiled()
    assert len(caught) == 1
    assert not loaded
    assert result(rebuilt) == [8.0, 10.0]
    assert len(kept(folder).read_bytes()) == pytest.approx(len(whole), abs=64)
    assert is_loaded()


def test_machine_code_is_loaded_where_it_was_kept():
    assert not is_loaded()
    code, loaded = compiled()
    assert loaded
    assert result(code) == [8.0, 10.0]


def test_arguments_of_other_types_are_compiled_for_themselves(folder):
    code, _ = compiled()
    other = np.array([1.0, 0.0, 2.0])[::2]
    code(other)
    assert other.tolist() == [2.0, 4.0]
    assert len(list(folder.rglob("*.bin"))) == 2
    with pytest.raises(TypeError, match="takes arrays, tuples and numbers, got 'text'"):
        code("text")


@pytest.fixture
def reader(folder):
    """The file of compiled machine code, and a function that reads it as it is loaded."""
    keys = []
    with pytest.MonkeyPatch.context() as patch:
        write = _machine_code._write
        patch.setattr(_machine_code, "_write", lambda *given: keys.append(given) or write(*given))
        compiled()
    ((_, key, _),) = keys
    return kept(folder), lambda: _machine_code._read(kept(folder), key)


def test_a_file_that_is_truncated_at_any_byte_is_never_used(reader):
    path, load = reader
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(OSError, match="damaged"):
            load()
    path.write_bytes(whole)
    assert load().code in whole


def test_a_file_with_any_byte_changed_is_never_used(reader):
    path, load = reader
    whole = path.read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(OSError, match="damaged"):
            load()


@pytest.mark.deep_beyond(2)
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


@pytest.mark.parametrize("changed", ["numba", "llvmlite", "processor", "setting"])
def test_the_code_of_another_version_is_not_even_looked_at(folder, monkeypatch, changed):
    with monkeypatch.context() as patch:
        if changed == "numba":
            other = folder / "__init__.py"
            (folder / "_version.py").write_text("0.0.1")
            patch.setattr(_machine_code, "find_spec", lambda _: SimpleNamespace(origin=other))
        elif changed == "llvmlite":
            patch.setattr("llvmlite.__version__", "0.0.1")
        elif changed == "processor":
            patch.setattr("llvmlite.binding.get_host_cpu_name", lambda: "another")
        else:
            patch.setenv("NUMBA_OPT", "2")
        _machine_code.machine.cache_clear()
        compiled()
    content = kept(folder).read_bytes()
    kept(folder).unlink()
    _machine_code.machine.cache_clear()
    assert not is_loaded()
    assert_replaced(folder, content)


def test_code_that_needs_what_is_not_here_is_compiled_again(folder, monkeypatch):
    with monkeypatch.context() as patch:
        write = _machine_code._write

        def needing(name, key, found):
            write(name, key, _machine_code.ObjectCode(found.code, ["of_elsewhere"], True))

        patch.setattr(_machine_code, "_write", needing)
        compiled()
    with pytest.warns(RuntimeWarning, match="it needs 'of_elsewhere'.*compiled again"):
        code, loaded = compiled()
    assert not loaded
    assert result(code) == [8.0, 10.0]
    assert is_loaded()


def test_many_damaged_files_are_reported_once(folder):
    for function in (double, triple):
        compiled(function)
    for path in folder.rglob("*.bin"):
        path.write_bytes(b"")
    with pytest.warns(RuntimeWarning) as caught:
        codes = [compiled(function)[0] for function in (double, triple)]
    assert [result(code) for code in codes] == [[8.0, 10.0], [12.0, 15.0]]
    assert len(caught) == 1


def test_a_file_that_cannot_be_read_or_replaced_is_left_and_the_code_runs(folder):
    compiled()
    path = kept(folder)
    path.unlink()
    path.mkdir()
    with pytest.warns(RuntimeWarning) as caught:
        assert result(compiled()[0]) == [8.0, 10.0]
    first, second = (str(warning.message) for warning in caught)
    assert "cannot be used (Is a directory)" in first
    assert "cannot be cached" in second


def test_where_no_folder_can_be_made_the_code_runs_as_well(folder, monkeypatch):
    place = folder / "file"
    place.write_text("no folder")
    monkeypatch.setenv("REGRETKIT_CACHE_DIR", str(place))
    _machine_code.machine.cache_clear()
    with pytest.warns(RuntimeWarning) as caught:
        assert result(compiled()[0]) == [8.0, 10.0]
    first, second = (str(warning.message) for warning in caught)
    assert "cannot be used (Not a directory)" in first
    assert "cannot be cached" in second
    assert "REGRETKIT_CACHE_DIR" in second


def test_without_a_folder_named_code_is_kept_in_the_second_where_the_first_is_closed(
    folder, monkeypatch
):
    (folder / "closed").write_text("no folder")
    monkeypatch.delenv("REGRETKIT_CACHE_DIR")
    monkeypatch.setattr(_machine_code, "__file__", str(folder / "closed" / "module.py"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "home"))
    _machine_code.machine.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not is_loaded()
        assert is_loaded()
    assert kept(folder).parent == folder / "home" / "regretkit"


def test_a_full_disk_leaves_the_code_to_be_run_and_no_file_behind(folder, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(_files.os, "fsync", full)
        with pytest.warns(RuntimeWarning, match="No space left on device.*in every process"):
            assert result(compiled()[0]) == [8.0, 10.0]
    assert not [path for path in folder.rglob("*") if path.is_file()]
    assert result(compiled()[0]) == [8.0, 10.0]
    assert is_loaded()


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
    environment = os.environ | {"REGRETKIT_CACHE_DIR": str(folder)}
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
