"""Notebooks: run the scripts of ``examples/notebooks/``, and show them with their outputs.

In a script, ``# %%`` begins a cell of code, and ``# %% [markdown]`` one of text, as in editors and
in Jupyter's jupytext. ``# %pip`` is a command of Jupyter, which is shown and not run here. Each
script becomes a page, and a file for Jupyter to download.

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
    """Yield the kind and the content of each cell of a script."""
    for part in re.split(r"^# %%", script, flags=re.MULTILINE)[1:]:
        head, _, text = part.partition("\n")
        if head.strip() == "[markdown]":
            yield "markdown", re.sub(r"^# ?", "", text.strip(), flags=re.MULTILINE)
        else:
            yield "code", text.strip().replace("# %pip", "%pip")


def outputs(name: str, notebook: list[tuple[str, str]]) -> Iterator[tuple[str, str | bytes]]:
    """Run a notebook; yield the names and contents of its figures, of its page and of its file."""
    page: list[str] = []
    file: list[dict[str, Any]] = []
    namespace, drawn = {"__name__": "__main__"}, 0
    for kind, text in notebook:
        file.append({"cell_type": kind, "metadata": {}, "source": text})
        if kind == "markdown":
            page.append(text)
            continue
        printed, value = run_cell(text, namespace)
        page += [f"```python\n{text}\n```", *shown(printed, value)]
        file[-1] |= {"execution_count": None, "outputs": list(stored(printed, value))}
        for number in plt.get_fignums():
            drawn += 1
            image = io.BytesIO()
            plt.figure(number).savefig(image, format="svg", bbox_inches="tight")
            yield f"{name}_{drawn}.svg", image.getvalue()
            page.append(f"![The figure of the cell above]({name}_{drawn}.svg)")
            file[-1]["outputs"].append(displayed({"image/svg+xml": image.getvalue().decode()}))
        plt.close("all")
    page.insert(1, f"[Download this page as a notebook]({name}.ipynb) for Jupyter.")
    yield f"{name}.md", "\n\n".join(page)
    yield f"{name}.ipynb", jupyter(file)


def run_cell(source: str, namespace: dict[str, Any]) -> tuple[str, object]:
    """Execute a cell as Jupyter does; return its printed text, and the value of its last line."""
    body, value = ast.parse(re.sub("(?m)^%pip.*", "", source)).body, None
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), "a cell", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "a cell", "eval"), namespace)
    return printed.getvalue(), value


def shown(printed: str, value: Any) -> Iterator[str]:
    """Yield the outputs of a cell as Markdown."""
    if printed:
        yield f"```text\n{printed}```"
    if hasattr(value, "_repr_html_"):
        content = re.sub(
            r"\n\s*\n", "\n", value._repr_html_()
        )  # Markdown ends HTML at an empty line
        yield f'<div class="wide">{content}</div>'
    elif value is not None:
        yield f"```text\n{value!r}\n```"


def stored(printed: str, value: Any) -> Iterator[dict[str, Any]]:
    """Yield the outputs of a cell as Jupyter stores them."""
    if printed:
        yield {"output_type": "stream", "name": "stdout", "text": printed}
    if value is not None:
        html = {"text/html": value._repr_html_()} if hasattr(value, "_repr_html_") else {}
        yield displayed({"text/plain": repr(value)} | html)


def displayed(data: dict[str, str]) -> dict[str, Any]:
    """Return an output of several media types."""
    return {"output_type": "display_data", "metadata": {}, "data": data}


def jupyter(cells: list[dict[str, Any]]) -> str:
    """Return a notebook in Jupyter's format."""
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps(
        {"cells": cells, "metadata": {"kernelspec": python}, "nbformat": 4, "nbformat_minor": 4}
    )
