"""Every block of code in README.md and docs/ runs, or is visibly no code.

Blocks with prompts (``pycon``) are doctests, which pytest collects by itself.
"""

import re
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("README.md"), *sorted(ROOT.glob("docs/**/*.md"))]
RUN = {"python", "pycon", "sh"}
NOT_CODE = {"text", "toml", "yaml", "json", "bibtex", "mermaid"}
FENCED = re.compile(r"^([ ]*)(`{3,})(\w*)[^\n]*\n(.*?)^\1\2[ ]*$", re.MULTILINE | re.DOTALL)
FOLDERS = ("examples/", "benchmarks/", "tests/", "docs/", "regretkit/", ".ci/")

each_page = pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])


class Block(NamedTuple):
    """A fenced block of a page, and the number of lines above its first one."""

    language: str
    code: str
    lines_above: int


def blocks(text: str) -> list[Block]:
    return [
        Block(match[3], textwrap.dedent(match[4]), text.count("\n", 0, match.start(4)))
        for match in FENCED.finditer(text)
    ]


def files_named(shell: str) -> list[str]:
    """Return the words of a shell block that name a script, or a file of this repository."""
    words = re.findall(r"[\w./-]+", shell)
    return [word for word in words if word.endswith(".py") or word.startswith(FOLDERS)]


def run(page: Path) -> None:
    """Execute the Python blocks of a page in order, in one namespace, as a reader would."""
    namespace = {"__name__": "__main__"}
    for block in blocks(page.read_text()):
        if block.language == "python":
            padding = "\n" * block.lines_above  # tracebacks then show the page's own line
            exec(compile(padding + block.code, str(page), "exec"), namespace)


@each_page
def test_the_python_of_a_page_runs(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    # A page needs no optional package, not even where one happens to be installed.
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    run(page)


def test_links_commands_and_languages_of_every_page_are_ones_that_exist():
    wrong = []
    for page in PAGES:
        text = page.read_text()
        linked = re.findall(r"\]\((?!https?:)([^)#\s]+)", FENCED.sub("", text))
        wrong += [(page, link) for link in linked if not (page.parent / link).exists()]
        written = re.findall(r"into a file, here `([^`]+)`", text)  # by the reader
        for block in blocks(text):
            if block.language not in RUN | NOT_CODE:
                wrong.append((page, block.language))
            named = files_named(block.code) if block.language == "sh" else []
            wrong += [(page, f) for f in named if f not in written and not (ROOT / f).exists()]
    assert wrong == []


def test_the_way_of_an_iteration_names_functions_that_exist():
    text = (ROOT / "docs/explanation/iteration.md").read_text()
    pictures = "".join(block.code for block in blocks(text)[:2])  # in NumPy, in machine code
    stops = re.findall(r"^ *(?:[\w/]+\.py)? +([\w.]+)(?: {2,}|$)", pictures, re.MULTILINE)
    names = {stop.rpartition(".")[2] for stop in stops}
    source = "\n".join(path.read_text() for path in (ROOT / "regretkit").rglob("*.py"))

    assert len(stops) == 29
    assert names <= {*re.findall(r"def (\w+)\(", source)}
