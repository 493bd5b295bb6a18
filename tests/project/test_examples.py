"""Every script in examples/ runs, and has something to show."""

import importlib.util
import inspect
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))

each_script = pytest.mark.parametrize("script", SCRIPTS, ids=[path.stem for path in SCRIPTS])


def load_main(script: Path):
    spec = importlib.util.spec_from_file_location(f"example_{script.stem}", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


@pytest.fixture(autouse=True)
def _away_from_the_repository(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


@pytest.mark.deep_beyond(2)
@each_script
def test_an_example_runs_with_tiny_settings(script, capsys):
    main = load_main(script)
    if "iterations" in inspect.signature(main).parameters:
        main(iterations=20)
    else:
        main()
    assert capsys.readouterr().out.strip()


@pytest.mark.slow
@each_script
def test_an_example_runs_as_it_stands(script, capsys):
    load_main(script)()
    assert capsys.readouterr().out.strip()
