"""The page of results: its contents, and in a real browser what a reader does with it."""

import html
import json
import re
import subprocess
import sys

import pytest
from chromium import chromium

from regretkit.workbench import ComparedRun, Comparison, Experiment, html_report

pytest.importorskip("plotly", reason="the extra report is not installed")

GAMES = ("kuhn_poker(deck=3)", "matching_pennies")
CLICKS = """
<script>
const seen = {errors};
async function look() {
  const wait = () => new Promise(done => setTimeout(done, 300));
  const click = query => { document.querySelector(query).click(); };
  const lines = panel => panel.data.map(line => line.visible ?? true);
  const shown = () => panels.map(p => p.closest(".panel").hidden ? null : lines(p));
  const rows = () => all("#runs tbody tr").filter(row => !row.hidden).map(row => row.innerText);
  const set = (query, value) => {
    const input = document.querySelector(query);
    input.value = value;
    input.dispatchEvent(new Event("input", {bubbles: true}));
  };
  await wait();
  seen.table = all("#runs tbody tr").map(row => [...row.cells].map(cell => cell.textContent));
  seen.sliders = all("input[type=range]").map(slider => slider.name);
  seen.curves = panels[0].data.map(line => [line.x, line.y]);
  seen.width = [document.documentElement.scrollWidth, window.innerWidth, panels[0].clientWidth];
  seen.begin = [shown(), rows().length];
  const point = all(".point", panels[0].querySelectorAll(".scatterlayer .trace")[3]).at(-1);
  const box = point.getBoundingClientRect();
  const place = {clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true};
  panels[0].querySelector(".nsewdrag").dispatchEvent(new MouseEvent("mousemove", place));
  await wait();
  seen.hover = [...panels[0].querySelectorAll(".hoverlayer tspan")].map(t => t.textContent);
  click("input[name=game][value='1']");
  seen.one_game = [shown(), rows().length];
  click("button[data-all=game]");
  click("input[name=algorithm][value='0']");
  seen.no_first = [shown(), rows().length];
  click("button[data-none=algorithm]");
  seen.none = [shown(), rows().length];
  click("button[data-all=algorithm]");
  set("input[name=alpha]", 2);
  seen.alpha = [shown()[0], document.querySelector("input[name=alpha] + output").textContent];
  set("input[name=alpha]", 0);
  set("#x", document.querySelector("#x option:nth-child(2)").value);
  click("#log");
  await wait();
  seen.x = panels[0].data.map(line => line.x);
  seen.axes = [panels[1].layout.xaxis.title.text, panels[1].layout.xaxis.type];
  const column = [...document.querySelectorAll("th")].find(th => th.innerText === "nash_conv");
  column.querySelector("button").click();
  seen.sorted = all("#runs tbody tr").map(row => +row.cells[column.cellIndex].dataset.value);
  column.querySelector("button").click();
  seen.turned = all("#runs tbody tr").map(row => +row.cells[column.cellIndex].dataset.value);
  seen.loaded = performance.getEntriesByType("resource").map(entry => entry.name);
}
window.addEventListener("load", async () => {
  await look().catch(error => errors.push(String(error)));
  const note = document.createElement("pre");
  note.id = "seen";
  note.textContent = JSON.stringify(seen);
  document.body.append(note);
});
</script>
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    listed = ["cfr+", "dcfr(alpha=1|1.5)", "mccfr"]
    return Experiment(GAMES, listed, 20, seeds=2).run(folder, workers=0)


@pytest.fixture(scope="module", params=[1400, 500])
def seen(request, results, tmp_path_factory):
    """Return what a browser without a network has seen, on a page of some width."""
    page = html_report(results).replace(
        "<head>",
        "<head><script>const errors = [];"
        "addEventListener('error', e => errors.push(e.message));"
        "addEventListener('securitypolicyviolation', e => errors.push(e.blockedURI));</script>",
    )
    folder = tmp_path_factory.mktemp("page")
    (folder / "page.html").write_text(page.replace("</body>", f"{CLICKS}</body>"))
    options = [f"--window-size={request.param},1000", "--virtual-time-budget=20000", "--dump-dom"]
    command = chromium(folder / "profile", *options, (folder / "page.html").as_uri())
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    found = re.search('<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr
    return json.loads(html.unescape(found[1]))


@pytest.mark.deep
def test_a_browser_shows_all_curves_without_a_network(seen, results):
    runs = [run for run in results.runs if run.game == GAMES[0]]
    assert seen["errors"] == seen["loaded"] == []
    assert seen["curves"] == [[run.columns["iteration"], run.columns["nash_conv"]] for run in runs]
    assert seen["begin"] == [[[True] * 5] * 2, 2 * 4]
    whole, window, panel = seen["width"]
    assert whole <= window
    assert 300 < panel < window


@pytest.mark.deep
def test_the_pointer_on_a_curve_shows_all_its_numbers(seen, results):
    run = results.runs[3]
    assert (run.game, run.algorithm, run.seed) == (GAMES[0], "mccfr", 0)
    told = dict(line.split(": ") for line in seen["hover"] if ": " in line)
    assert seen["hover"][0] == "MCCFR"
    assert "seed 0" in seen["hover"]
    assert float(told["iterations"]) == run.columns["iteration"][-1]
    shown = float(told["NashConv (units of payoff)"].replace("\u2212", "-"))
    assert shown == pytest.approx(run.columns["nash_conv"][-1], rel=1e-4)
    assert len(told) == len(run.columns)


@pytest.mark.deep
def test_boxes_and_sliders_choose_curves_and_rows(seen):
    assert seen["one_game"] == [[[True] * 5, None], 4]
    assert seen["no_first"] == [[[False, True, True, True, True]] * 2, 6]
    assert seen["none"] == [[[False] * 5] * 2, 0]
    assert seen["alpha"] == [[True, False, True, True, True], "1.5"]


@pytest.mark.deep
def test_axes_can_be_chosen_and_the_table_be_sorted(seen, results):
    runs = [run for run in results.runs if run.game == GAMES[0]]
    assert seen["x"] == [run.columns["visited"] for run in runs]
    assert seen["axes"] == ["histories visited", "linear"]
    assert seen["sorted"] == sorted(seen["sorted"])
    assert seen["turned"] == sorted(seen["sorted"], reverse=True)
    assert len(set(seen["sorted"])) > 4


@pytest.mark.deep
def test_the_table_has_hyperparameters_and_the_command_of_each_result(seen, results):
    assert [row[:4] for row in seen["table"][:3]] == [
        ["Kuhn poker (deck=3)", "CFR+", "", "1"],
        ["Kuhn poker (deck=3)", "dcfr(alpha=1)", "1", "1"],
        ["Kuhn poker (deck=3)", "dcfr(alpha=1.5)", "1.5", "1"],
    ]
    assert {row[-1] for row in seen["table"]} == {r.command for r in results.runs if r.seed != 0}
    assert all(row[-1].startswith("regretkit bench ") for row in seen["table"])
    assert seen["sliders"] == ["alpha"]


def test_names_are_shown_as_they_are_and_never_run():
    name = "</script><script>alert(1)</script>(a=<b>)"
    columns = {"iteration": [1, 2], "gap": [1.0, 0.5], "</script>": [1, 2]}
    identity = {"game": name, "algorithm": name, "measures": ["gap"], "iterations": 2, "seed": None}
    identity |= dict.fromkeys(("sampling", "target_gap", "time_limit")) | {
        "imperfect_recall": False
    }
    given = Comparison([ComparedRun(name, name, None, columns, identity)])
    page = html_report(given, title=name)
    ours = html_report(Comparison([ComparedRun("a", "b(c=d)", None, columns | {"gap": [1, 2]})]))
    for text in ("<script", "</script", "<b>"):
        assert page.count(text) == ours.count(text)
    assert page.count(r"\u003cscript>alert(1)") >= 3


def test_what_cannot_be_shown_is_refused(results, monkeypatch):
    with pytest.raises(ValueError, match="there are no runs to show"):
        html_report(Comparison())
    with pytest.raises(ValueError, match="has no column 'hours'"):
        html_report(results, x="hours")
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match=r"needs plotly; install it with .*regretkit\[report\]"):
        html_report(results)
