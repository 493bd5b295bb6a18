"""The site of the documents: built as CI builds it, and looked at as its readers do."""

import html
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDES = "\n".join(page.read_text() for page in (ROOT / "docs/how_to").glob("*.md"))
HOOKS = {*re.findall(r"\b(_[a-z]\w*)", GUIDES), "_parts"}  # of a `ComposedRule`, on its page

pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    # Not --quiet, with which --strict sees no warning.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site) -> dict[str, str]:
    found = {str(path.relative_to(site).parent): path for path in site.rglob("index.html")}
    return {name: path.read_text() for name, path in found.items()}


@pytest.fixture(scope="module")
def index(site) -> list[dict[str, str]]:
    return json.loads((site / "search/search_index.json").read_text())["docs"]


def text_of(page: str) -> str:
    article = page.partition("<article")[2].partition("</article>")[0]
    return html.unescape(re.sub(r"<[^>]*>", "", article))


def words(text: str) -> list[str]:
    """Return the words of a text as the site's search sees them, but for their endings."""
    return re.findall(r"[a-z0-9+]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())


def matching(index, query: str) -> list[str]:
    """Return where all words of a query begin words: in titles first, then in the short texts."""
    asked, found = words(query), []
    for place in index:
        title, text = words(html.unescape(place["title"])), words(html.unescape(place["text"]))
        if all(any(word.startswith(ask) for word in title + text) for ask in asked):
            in_title = [any(word.startswith(ask) for word in title) for ask in asked]
            found.append((-sum(in_title), len(title), len(text), place["location"]))
    return [location for *_, location in sorted(found)]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("MCCFR", "glossary/#mccfr"),
        ("monte carlo cfr", "glossary/#mccfr"),
        ("EFCE", "glossary/#extensive-form-correlated"),
        ("EFCCE", "glossary/#extensive-form-correlated"),
        ("NFCCE", "glossary/#coarse-correlated"),
        ("EFR", "reference/circuits/EFR/"),
        ("NashConv", "glossary/#nashconv"),
        ("nash_conv", "reference/evaluation/nash_conv/"),
        ("fictitious play", "glossary/#fictitious-play"),
        ("infoset", "glossary/#information-set"),
        ("infostate", "glossary/#information-set"),
        ("certificate", "glossary/#certificate"),
        ("linear swap", "glossary/#linear-correlated"),
        ("team maxmin", "glossary/#team-maxmin"),
        ("deviation types", "glossary/#deviation-type"),
        ("policy", "glossary/#behavioral-strategy"),
        ("multiplicative weights", "glossary/#hedge"),
        ("best response", "reference/evaluation/best_response/"),
        ("regret matching", "reference/minimizers/RegretMatching/"),
        ("RegretMatchingPlus", "reference/minimizers/RegretMatchingPlus/"),
    ],
)
def test_the_search_finds_the_field_s_words(index, query, wanted):
    assert any(location.startswith(wanted) for location in matching(index, query)[:10])


def test_the_search_prefers_the_shortest_of_names_that_hold_the_words(index):
    boosts = {place["location"]: place["boost"] for place in index if "boost" in place}
    longer = [page for page in boosts if re.search(r"\wRegretMatchingPlus/$", page)]
    assert len(longer) > 5
    assert boosts["reference/minimizers/RegretMatchingPlus/"] > max(map(boosts.get, longer))


def test_the_reference_shows_no_private_names_but_hooks_that_the_guides_explain(pages):
    found = {
        name: private
        for name, page in pages.items()
        if name.startswith("reference/")
        and (private := set(re.findall(r"(?<![\w`<])_[A-Za-z]\w*", text_of(page))))
    }
    assert set().union(*found.values()) <= HOOKS, found


def test_no_markup_of_other_tools_is_shown(pages):
    roles = re.compile(
        r":(class|func|meth|mod|attr|data|obj|exc|ref|math):|\\\(|\$\$|^::: ", re.MULTILINE
    )
    assert len(pages) > 300
    assert {
        name: found[0] for name, page in pages.items() if (found := roles.search(text_of(page)))
    } == {}


def test_names_are_links_and_formulas_are_mathematics(pages):
    page = pages["explanation/regret_matching"]
    assert 'href="../../reference/circuits/CFR/' in page
    assert page.count("<math ") > 20
    assert "arithmatex" not in "".join(pages.values())


def test_notebooks_are_shown_with_what_comes_out_of_them(site, pages):
    shown = sorted(name for name in pages if name.startswith("notebooks/"))
    assert len(shown) == 5
    for name in shown:
        assert '<img alt="What the cell above draws"' in pages[name]
        assert "<svg" in next(site.glob(f"{name}_*.svg")).read_text()
        notebook = json.loads((site / f"{name}.ipynb").read_text())
        assert {cell["cell_type"] for cell in notebook["cells"]} == {"markdown", "code"}


def test_each_list_of_the_reference_is_a_table_with_summaries(pages):
    rows = re.findall(
        r"<tr>\s*<td><a[^>]*><code>(.*?)</code></a></td>\s*<td>(.*?)</td>",
        "".join(page for name, page in pages.items() if re.fullmatch(r"reference/\w+", name)),
    )
    names = [re.sub("<wbr ?/?>", "", name) for name, _ in rows]
    assert len(names) > 250
    assert all(summary for _, summary in rows)
    assert {"RegretMatching", "SelfPlay", "draw_game", "check_minimizer"} <= {*names}
