"""The site of the documents: built as CI builds it, and looked at as its readers do."""

import html
import json
import posixpath
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from chromium import driven

ROOT = Path(__file__).parents[2]
GUIDES = "\n".join(page.read_text() for page in (ROOT / "docs/how_to").glob("*.md"))
HOOKS = {*re.findall(r"\b(_[a-z]\w*)", GUIDES)}

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


def text_of(page: str) -> str:
    article = page.partition("<article")[2].partition("</article>")[0]
    return html.unescape(re.sub(r"<[^>]*>", "", article))


SEARCH = """
async function look(queries) {
  await visit("/");
  const find = query => frame.contentDocument.querySelector(query);
  const input = find("[data-md-component=search-query]");
  const type = async (text, shown) => {
    input.value = text;
    input.dispatchEvent(new Event("keyup"));
    while (!shown.test(find(".md-search-result__meta").innerText))
      await new Promise(done => setTimeout(done, 20));
  };
  const found = {};
  input.focus();
  for (const query of queries) {
    await type("", /^Type to/);
    await type(query, / matching document/);
    await new Promise(requestAnimationFrame);
    const articles = frame.contentDocument.querySelectorAll(".md-search-result__item");
    found[query] = [...articles].map(article =>
      [...article.querySelectorAll("a")].map(a => new URL(a.href).pathname + new URL(a.href).hash));
  }
  return found;
}
"""
WANTED = {
    "MCCFR": "glossary/#mccfr",
    "EFCE": "glossary/#extensive-form-correlated",
    "EFR": "reference/circuits/EFR/",
    "CFR+": "reference/play/cfr_plus/",
    "RM+": "glossary/#regret-matching-rm-rm",
    "NashConv": "reference/evaluation/nash_conv/",
    "infoset": "glossary/#information-set",
    "three players": "glossary/#general-sum",
    "save a run": "how_to/save_and_resume/",
    "Ctrl-C": "how_to/use_the_command_line/",
    "certificate": "reference/evaluation/Certificate/",
    "linear swap": "explanation/linear_swap_regret/",
    "policy": "glossary/#behavioral-strategy",
    "multiplicative weights": "glossary/#hedge",
    "external sampling": "reference/play/ExternalSampling/",
    "best response": "reference/evaluation/best_response/",
    "RegretMatchingPlus": "reference/minimizers/RegretMatchingPlus/",
}


@pytest.fixture(scope="module")
def answers(site) -> dict[str, list[list[str]]]:
    """Return the pages that the site's search shows, in a browser, with the places on each."""
    return driven(site, SEARCH, list(WANTED), seconds=60)


@pytest.mark.parametrize(("query", "wanted"), WANTED.items())
def test_the_search_finds_the_field_s_words(answers, query, wanted):
    first = [place for page in answers[query][:3] for place in page]
    assert any(place.startswith(f"/{wanted}") for place in first), answers[query]


WALK = """
async function look({pages, widths}) {
  const wrong = [];
  for (const page of pages) {
    await visit(`/${page}/`);
    const {documentElement: root, images} = frame.contentDocument;
    for (const width of widths) {
      frame.width = width;
      if (root.clientWidth !== width || root.scrollWidth > width)
        wrong.push([page, `${root.scrollWidth} wide where ${width} are shown`]);
    }
    for (const error of frame.contentWindow.eval("errors")) wrong.push([page, error]);
    for (const {src, naturalWidth} of images) if (!naturalWidth) wrong.push([page, src]);
    for (const formula of root.querySelectorAll("math")) {
      const {width, height} = formula.getBoundingClientRect();
      if (width < 4 || height < 4 || formula.namespaceURI !== "http://www.w3.org/1998/Math/MathML")
        wrong.push([page, formula.outerHTML]);
    }
  }
  return wrong;
}
"""


def test_each_page_is_whole_on_a_phone_and_on_a_desk(site, pages):
    """No page is wider than the screen, reports an error, lacks an image or shows no formulas."""
    given = {"pages": sorted(pages), "widths": [1280, 390]}
    assert driven(site, WALK, given, seconds=300) == []


COPY = """
async function look({page}) {
  await visit(`/${page}/`);
  const doc = frame.contentDocument, copied = [];
  doc.execCommand = () => copied.push(doc.querySelector("textarea[readonly]").value);
  for (const button of doc.querySelectorAll("[data-md-type=copy], .md-clipboard")) button.click();
  return copied;
}
"""


def test_the_copy_button_leaves_out_prompts_and_outputs(site):
    page = "tutorials/1_rock_paper_scissors"
    first, second, *_ = driven(site, COPY, {"page": page}, seconds=60)
    assert first.splitlines()[-4:] == [
        "row.next_strategy()",
        "row.observe_utility([0.0, 1.0, -1.0])",
        "row.regrets",
        "row.next_strategy()",
    ]
    assert "    average.add(x)\naverage.strategy.round(1)" in second


def test_links_within_the_site_lead_somewhere(pages, site):
    ids = {name: {*re.findall(r'\bid="?([^"\s>]+)', page)} for name, page in pages.items()}
    dead = set()
    for name, page in pages.items():
        shown = re.sub(r"<pre>.*?</pre>", "", page, flags=re.DOTALL)  # without examples of HTML
        for link in re.findall(r'\s(?:href|src)="([^"]*)"', shown):
            path, _, anchor = unquote(html.unescape(link)).partition("#")
            if re.match(r"\w+:", path):
                continue
            place = posixpath.normpath(posixpath.join(name, path))
            found = (site / place).exists()
            if not found or (anchor and place in ids and anchor not in ids[place]):
                dead.add((name, link))
    assert dead == set()


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


def test_notebooks_are_shown_with_their_outputs(site, pages):
    shown = sorted(name for name in pages if name.startswith("notebooks/"))
    assert len(shown) == 5
    for name in shown:
        assert '<img alt="The figure of the cell above"' in pages[name]
        assert "<svg" in next(site.glob(f"{name}_*.svg")).read_text()
        notebook = json.loads((site / f"{name}.ipynb").read_text())
        assert {cell["cell_type"] for cell in notebook["cells"]} == {"markdown", "code"}
        stored = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
        assert {"stream", "display_data"} == {output["output_type"] for output in stored}
        assert any("image/svg+xml" in output.get("data", {}) for output in stored)
        assert any(cell["source"].startswith("%pip install") for cell in notebook["cells"])


def test_each_list_of_the_reference_is_a_table_with_summaries(pages):
    rows = re.findall(
        r"<tr>\s*<td><a[^>]*><code>(.*?)</code></a></td>\s*<td>(.*?)</td>",
        "".join(page for name, page in pages.items() if re.fullmatch(r"reference/\w+", name)),
    )
    names = [re.sub("<wbr ?/?>", "", name) for name, _ in rows]
    assert len(names) > 250
    assert [name for name, summary in rows if not summary] == []
    assert {"RegretMatching", "SelfPlay", "draw_game", "check_minimizer"} <= {*names}
