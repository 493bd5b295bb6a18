"""Machine code on disk: what is kept, what is compiled again, and what happens where it fails."""

import errno
import os
import subprocess
import sys
import textwrap
from functools import partial

import numpy as np
import pytest

from regretkit import Hedge, _machine_code, games, solve
from regretkit._compiler import CannotCompileError
from regretkit._util import _errors, _files
from regretkit.play import ALGORITHMS

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
    monkeypatch.setattr(_machine_code, "_ENTRIES", {})
    for kept in (_machine_code.machine, _errors.warn_once):
        kept.cache_clear()
    yield tmp_path
    _machine_code.machine.cache_clear()


def compilations(function, patch):
    """Call a function as in a new process; return its results, and how often it was compiled."""
    _machine_code._ENTRIES.clear()
    compiled, compile_function = [], _machine_code.compile_function
    with patch.context() as context:
        context.setattr(
            _machine_code,
            "compile_function",
            lambda *given: compiled.append(given) or compile_function(*given),
        )
        numbers = NUMBERS.copy()
        _machine_code.MachineCode(function)(numbers)
    return numbers.tolist(), len(compiled)


DOUBLED = [8.0, 10.0]


def kept(folder):
    (path,) = folder.rglob("*.bin")
    return path


def test_machine_code_is_loaded_where_it_was_kept(monkeypatch):
    assert compilations(double, monkeypatch) == (DOUBLED, 1)
    assert compilations(double, monkeypatch) == (DOUBLED, 0)
    assert compilations(triple, monkeypatch) == ([12.0, 15.0], 1)


def test_arguments_of_other_types_are_compiled_for_themselves(folder):
    code = _machine_code.MachineCode(double)
    for numbers in (NUMBERS.copy(), np.array([4.0, 0.0, 5.0])[::2]):
        code(numbers)
        assert numbers.tolist() == DOUBLED
    assert len(list(folder.rglob("*.bin"))) == 2
    with pytest.raises(CannotCompileError, match="'text', not an array or a number"):
        code("text")


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:31],
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:-1] + bytes([whole[-1] ^ 1]),
        lambda whole: bytes([whole[0] ^ 128]) + whole[1:],
        lambda whole: np.random.default_rng(1).bytes(len(whole)),
    ],
)
def test_a_damaged_file_is_compiled_again_with_one_warning(folder, monkeypatch, damage):
    compilations(double, monkeypatch)
    whole = kept(folder).read_bytes()
    kept(folder).write_bytes(damage(whole))
    with pytest.warns(RuntimeWarning, match=r"is compiled again: a file is damaged") as caught:
        assert compilations(double, monkeypatch) == (DOUBLED, 1)
    assert len(caught) == 1
    assert kept(folder).read_bytes() == whole
    assert compilations(double, monkeypatch) == (DOUBLED, 0)


def test_the_code_of_another_function_is_never_taken(folder, monkeypatch):
    compilations(triple, monkeypatch)
    other = kept(folder).read_bytes()
    kept(folder).unlink()
    compilations(double, monkeypatch)
    kept(folder).write_bytes(other)
    with pytest.warns(RuntimeWarning, match="a file is damaged"):
        assert compilations(double, monkeypatch) == (DOUBLED, 1)


@pytest.mark.parametrize("changed", ["llvmlite", "processor"])
def test_the_code_of_another_version_is_not_taken(monkeypatch, changed):
    compilations(double, monkeypatch)
    with monkeypatch.context() as patch:
        if changed == "llvmlite":
            patch.setattr("llvmlite.__version__", "0.0.1")
        else:
            patch.setattr("llvmlite.binding.get_host_cpu_name", lambda: "another")
        _machine_code.machine.cache_clear()
        assert _machine_code.machine() != ""
        name = _machine_code.machine()
    _machine_code.machine.cache_clear()
    assert _machine_code.machine() != name
    assert compilations(double, monkeypatch) == (DOUBLED, 0)


def no_folder(folder, patch):
    (folder / "file").write_text("")
    patch.setenv("REGRETKIT_CACHE_DIR", str(folder / "file" / "within"))


def full_disk(folder, patch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    patch.setattr(_files.os, "fsync", full)


def unreadable(folder, patch):
    compilations(double, patch)
    path = kept(folder)
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("fault", [no_folder, full_disk, unreadable])
def test_where_files_fail_the_code_runs_with_a_warning(folder, monkeypatch, fault):
    fault(folder, monkeypatch)
    with pytest.warns(RuntimeWarning, match=r"machine code .* (kept|again)"):
        assert compilations(double, monkeypatch) == (DOUBLED, 1)
    assert not [path for path in folder.rglob("*.part") if path.is_file()]


def test_where_the_first_folder_is_closed_the_second_is_used(folder, monkeypatch):
    (folder / "closed").write_text("no folder")
    monkeypatch.delenv("REGRETKIT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "home"))
    monkeypatch.setattr(_machine_code, "_folders", lambda: [folder / "closed", folder / "home"])
    with pytest.warns(RuntimeWarning, match="is compiled again"):
        assert compilations(double, monkeypatch) == (DOUBLED, 1)
    assert kept(folder).parent == folder / "home"


# Where machine code cannot be linked


@pytest.fixture
def unlinked(monkeypatch):
    """A platform where object code cannot be linked."""

    def fail(*_):
        raise RuntimeError("no machine code here")

    monkeypatch.setattr("llvmlite.binding.create_mcjit_compiler", fail)
    monkeypatch.setattr(_machine_code, "_ENTRIES", {})
    _machine_code.linkable.cache_clear()
    yield
    _machine_code.linkable.cache_clear()


@pytest.mark.usefixtures("unlinked")
def test_without_linking_runs_are_played_in_numpy_with_one_warning():
    said = r"machine code cannot be linked: no machine code here; NumPy is used instead"
    with pytest.warns(RuntimeWarning, match=said) as caught:
        runs = [solve(games.kuhn_poker(), name, iterations=20) for name in ("cfr+", "dcfr")]
    assert len(caught) == 1
    assert [run.engine for run in runs] == ["numpy", "numpy"]
    assert "cannot be linked" in str(runs[0].engine_report())
    plain = solve(games.kuhn_poker(), "cfr+", iterations=20, engine="numpy")
    np.testing.assert_array_equal(runs[0].average[0], plain.average[0])
    with pytest.raises(ValueError, match="machine code cannot be linked"):
        ALGORITHMS["cfr"].start(games.kuhn_poker(), engine="compiled").run(1)


def test_a_missing_function_of_the_c_library_is_named(monkeypatch):
    monkeypatch.setattr("llvmlite.binding.address_of_symbol", lambda name: None)
    with pytest.warns(RuntimeWarning, match="the C library has no function exp"):
        run = solve(games.rock_paper_scissors(), partial(Hedge, rate=0.1), iterations=3)
    assert run.engine == "numpy"


def test_ctrl_c_while_compiling_leaves_the_run_as_it_was(monkeypatch):
    run = ALGORITHMS["cfr+"].start(games.kuhn_poker())
    with monkeypatch.context() as patch:

        def pressed(*_):
            raise KeyboardInterrupt

        patch.setattr(_machine_code, "compile_function", pressed)
        with pytest.raises(KeyboardInterrupt):
            run.run(10)
    assert run.iteration == 0
    assert run.run(3).iteration == 3


# Processes

RUN = """
    import warnings
    from regretkit import games, solve
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = solve(games.kuhn_poker(), "cfr+", iterations=50, engine="compiled")
    print([[x.hex() for x in strategy] for strategy in run.average])
    print([str(warning.message) for warning in caught])
"""


def started_elsewhere(folder):
    environment = os.environ | {"REGRETKIT_CACHE_DIR": str(folder)}
    code = [sys.executable, "-c", textwrap.dedent(RUN)]
    return subprocess.Popen(code, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.deep
def test_three_processes_may_compile_one_rule_at_once(folder):
    processes = [started_elsewhere(folder) for _ in range(3)]
    told = [process.communicate()[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert told[0] == told[1] == told[2]
    assert told[0][1] == "[]"
    for path in folder.rglob("*.bin"):
        path.write_bytes(path.read_bytes()[:1000])
    average, said = started_elsewhere(folder).communicate()[0].splitlines()
    assert average == told[0][0]
    assert "is compiled again" in said
