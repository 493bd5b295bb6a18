"""Every script, paper and notebook in examples/ runs, and finds what it says."""

import importlib.util
import inspect
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
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


# Papers rebuilt

PAPERS = SCRIPTS[0].parent / "papers"
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "papers_rebuilt.md"
REBUILT = [path.stem for path in sorted(PAPERS.glob("*.py")) if path.stem != "rebuild"]

each_paper = pytest.mark.parametrize("name", REBUILT)


def load_paper(name, monkeypatch):
    monkeypatch.syspath_prepend(str(PAPERS))
    return importlib.import_module(name).PAPER


@pytest.mark.deep_beyond(1)
@each_paper
def test_a_paper_is_rebuilt_small(name, monkeypatch, tmp_path, capsys):
    paper = load_paper(name, monkeypatch)
    found = paper.rebuild(tmp_path, small=True)
    printed = capsys.readouterr().out
    assert not found.results.failures
    assert len(re.findall("^(agrees|differs)", printed, re.M)) == len(paper.says)
    assert (tmp_path / f"{name}_small.svg").read_text().startswith("<?xml")


@pytest.mark.slow
@each_paper
def test_a_paper_is_rebuilt_as_the_page_says(name, monkeypatch, tmp_path):
    paper = load_paper(name, monkeypatch)
    found = paper.rebuild(tmp_path)
    assert not found.results.failures
    verdicts = {says: check(found)[0] for says, check in paper.says.items()}
    assert verdicts == {says: verdict_of(says) == "agrees" for says in paper.says}


@each_paper
def test_the_page_of_papers_has_every_sentence_and_figure(name, monkeypatch):
    paper = load_paper(name, monkeypatch)
    assert f"examples/papers/{name}.py" in PAGE.read_text()
    assert (PAGE.parents[1] / "images" / "papers" / f"{name}.svg").is_file()
    assert {verdict_of(says) for says in paper.says} <= {"agrees", "differs"}


def verdict_of(says):
    """Return what the page says of a sentence."""
    return re.search(rf"^\| {re.escape(says)} \| (\w+) \|", PAGE.read_text(), re.M)[1]


# Notebooks

NOTEBOOKS = sorted((SCRIPTS[0].parent / "notebooks").glob("*.py"))
FOUND = {  # what each has to find, of the names that it leaves behind
    "own_rule": lambda left: all(
        left["rk"].nash_conv(left["game"], average) < 0.01 for average in left["averages"].values()
    ),
    "compose": lambda left: (
        left["difference"] == 0.0
        and np.isclose(left["whole"], left["first_part"] + left["second_part"])
        and left["rk"].nash_conv(left["game"], left["run"].average) < 0.02
    ),
    "correlated": lambda left: (
        left["learned"]["swap regret"][0].gap("ce")
        < 0.02
        < 0.1
        < left["learned"]["regret matching"][0].gap("ce")
    ),
    "own_game": lambda left: (
        np.isclose(left["exact"].value, 1 / 18)
        and left["rk"].nash_conv(left["larger"], left["average"]) < 1e-3
    ),
    "sampling": lambda left: (
        left["records"]["external"].values["nash_conv"][-1]
        < left["records"]["exact"].values["nash_conv"][-1]
        < left["records"]["outcome"].values["nash_conv"][-1]
    ),
}


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("script", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_finds_what_its_text_says(script, capsys):
    left = {"__name__": "__main__"}
    exec(compile(script.read_text(), str(script), "exec"), left)

    assert FOUND[script.stem](left)
    assert plt.get_fignums()
    assert capsys.readouterr().out.strip()
