"""Notebooks: the scripts of ``examples/notebooks/`` are run, and shown with what comes out.

In a script, ``# %%`` begins a cell of code, and ``# %% [markdown]`` one of text, as editors and
Jupyter's jupytext have it. Each becomes a page, and a file for Jupyter to download.

Hooks of MkDocs, named in ``mkdocs.yml``.
"""

import ast
import contextlib
import io
import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from mkdocs.structure.files import File, Files

SCRIPTS = Path(__file__).parents[1] / "examples/notebooks"


def on_files(files: Files, config: Any) -> None:
    """Add the page, the figures and the file of each notebook."""
    plt.switch_backend("agg")
    for script in sorted(SCRIPTS.glob("*.py")):
        for name, content in outputs(script.stem, list(cells(script.read_text()))):
            files.append(File.generated(config, f"notebooks/{name}", content=content))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Make links to the scripts lead to their pages."""
    folder = posixpath.relpath("notebooks", posixpath.dirname(page.file.src_uri))
    return re.sub(r"\((?:\.\./)+examples/notebooks/(\w+)\.py\)", rf"({folder}/\1.md)", markdown)


def cells(script: str) -> Iterator[tuple[str, str]]:
    """Yield the kind of each cell of a script, and what it holds."""
    for part in re.split(r"^# %%", script, flags=re.MULTILINE)[1:]:
        head, _, text = part.partition("\n")
        if head.strip() == "[markdown]":
            yield "markdown", re.sub(r"^# ?", "", text.strip(), flags=re.MULTILINE)
        else:
            yield "code", text.strip()


def outputs(name: str, notebook: list[tuple[str, str]]) -> Iterator[tuple[str, str | bytes]]:
    """Run a notebook; yield the names and contents of its figures, of its page and of its file."""
    page, namespace, drawn = [], {"__name__": "__main__"}, 0
    for kind, text in notebook:
        if kind == "markdown":
            page.append(text)
            continue
        printed, value = run_cell(text, namespace)
        page += [f"```python\n{text}\n```", *shown(printed, value)]
        for number in plt.get_fignums():
            drawn += 1
            image = io.BytesIO()
            plt.figure(number).savefig(image, format="svg", bbox_inches="tight")
            yield f"{name}_{drawn}.svg", image.getvalue()
            page.append(f"![What the cell above draws]({name}_{drawn}.svg)")
        plt.close("all")
    page.insert(1, f"[Download this page as a notebook]({name}.ipynb) for Jupyter.")
    yield f"{name}.md", "\n\n".join(page)
    yield f"{name}.ipynb", jupyter(notebook)


def run_cell(source: str, namespace: dict[str, Any]) -> tuple[str, object]:
    """Execute a cell as Jupyter does; return what it printed, and the value of its last line."""
    body, value = ast.parse(source).body, None
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), "a cell", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "a cell", "eval"), namespace)
    return printed.getvalue(), value


def shown(printed: str, value: Any) -> Iterator[str]:
    """Yield what came out of a cell as Markdown."""
    if printed:
        yield f"```text\n{printed}```"
    if hasattr(value, "_repr_html_"):
        content = re.sub(
            r"\n\s*\n", "\n", value._repr_html_()
        )  # Markdown ends HTML at an empty line
        yield f'<div class="wide">{content}</div>'
    elif value is not None:
        yield f"```text\n{value!r}\n```"


def jupyter(notebook: list[tuple[str, str]]) -> str:
    """Return a notebook in Jupyter's format, not yet run."""
    code = {"execution_count": None, "outputs": []}
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps(
        {
            "cells": [
                {
                    "cell_type": kind,
                    "metadata": {},
                    "source": text,
                    **(code if kind == "code" else {}),
                }
                for kind, text in notebook
            ],
            "metadata": {"kernelspec": python},
            "nbformat": 4,
            "nbformat_minor": 4,
        }
    )
