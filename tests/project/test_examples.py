"""Every script in examples/ runs, and has something to show."""

import importlib.util
import inspect
import re
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
