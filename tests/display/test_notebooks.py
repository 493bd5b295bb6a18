"""Every notebook in examples/ runs, and what is stored in it is what comes out now."""

import ast
import contextlib
import io
import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
DRAWN = re.compile(r"base64,[^\"]*")
"""Figures, which depend on the version of matplotlib."""
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?")

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])


def code_cells(path):
    cells = json.loads(path.read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def joined(text):
    return "".join(text)


def run_cell(source, namespace):
    """Execute a cell as a notebook does; return what it printed, and the value that it shows."""
    body, shown = ast.parse(source).body, None
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), "a cell", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "a cell", "eval"), namespace)
            shown = None if source.rstrip().endswith(";") else value
    return printed.getvalue(), shown


def agree(one, other):
    """Say whether texts are the same but for the rounding of numbers in them."""
    numbers = [np.array([float(n) for n in NUMBER.findall(text)]) for text in (one, other)]
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    return bool(np.allclose(*numbers, rtol=1e-2, atol=1e-6))


@each_notebook
def test_stored_outputs_are_reproduced(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}

    for cell in code_cells(path):
        source, outputs = joined(cell["source"]), cell["outputs"]
        printed, shown = run_cell(source, namespace)
        figures, stored = len(plt.get_fignums()), [out.get("data", {}) for out in outputs]
        plt.close("all")

        streams = [joined(out["text"]) for out in outputs if out["output_type"] == "stream"]
        assert agree(printed, joined(streams)), source
        # Matplotlib's figures are shown at the end of a cell, by themselves.
        assert sum("image/png" in data for data in stored) == figures, source
        results = [out["data"] for out in outputs if out["output_type"] == "execute_result"]
        assert len(results) == (shown is not None), source
        for data in results:
            assert agree(repr(shown), joined(data["text/plain"])), source
            if "text/html" in data:
                pages = shown._repr_html_(), joined(data["text/html"])
                assert agree(*(DRAWN.sub("", page) for page in pages)), source
            else:
                assert not hasattr(shown, "_repr_html_"), source


@each_notebook
def test_a_notebook_was_run_once_from_top_to_bottom_without_errors(path):
    cells = code_cells(path)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    kinds = {out["output_type"] for cell in cells for out in cell["outputs"]}
    assert kinds == {"stream", "display_data", "execute_result"}


@each_notebook
def test_a_notebook_is_small_and_names_no_user(path):
    text = path.read_text()
    assert len(text) < 400_000
    assert not re.search(r"/(home|Users|tmp|root)/| at 0x[0-9a-f]+", text)


def test_there_is_a_notebook():
    assert NOTEBOOKS


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("gap 0.001875", "gap 0.001876", True),
        ("gap 0.001875", "gap 0.002", False),
        ("gap 0.1", "Gap 0.1", False),
        ("1 2", "1", False),
        ("J p 0.7885", "J p 0.7886", True),
        ("J p 0.7885", "Q p 0.7885", False),
    ],
)
def test_texts_agree_up_to_rounding(one, other, same):
    assert agree(one, other) is same


def test_a_cell_shows_its_last_value_unless_it_ends_in_a_semicolon():
    assert run_cell("x = 3\nprint(x)\nx + 1", {}) == ("3\n", 4)
    assert run_cell("3;", {}) == ("", None)
    assert run_cell("x = 3", {}) == ("", None)
