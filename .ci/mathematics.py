"""Mathematics as MathML, which browsers display without scripts or fonts from elsewhere.

A hook of MkDocs, named in ``mkdocs.yml``.
"""

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

# As pymdownx.arithmatex leaves it.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Replace LaTeX by MathML."""
    return FORMULA.sub(mathml, content)


def mathml(found: re.Match[str]) -> str:
    """Return one formula, in its own line or within a sentence."""
    latex = html.unescape(found[2].strip())
    shown = convert(latex, display="block" if found[1] == "div" else "inline")
    if re.search(r">&<|\\", shown):  # what the converter does not know, it leaves as it is
        raise PluginError(f"no MathML for all of {latex}")
    return f'<div class="mathematics">{shown}</div>' if found[1] == "div" else shown
