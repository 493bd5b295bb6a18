"""The page that runs algorithms: every control, in a real browser at two widths."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from chromium import driven

import regretkit as rk
from regretkit import display
from regretkit.evaluation import best_response_gains
from regretkit.games import hold_em, kuhn_poker, matrix_game

HANDS = ["rock", "paper", "scissors"]
PAYOFFS = [[0, -1, 1], [1, 0, -2], [-1, 2, 0]]
CSS = Path(display.__file__).parent / "page_files/page.css"

# `look` below has these functions to use a page. `settled` waits until its text stays.
USE = """
const sleep = ms => new Promise(done => setTimeout(done, ms));
const find = query => frame.contentDocument.querySelector(query);
const all = query => [...frame.contentDocument.querySelectorAll(query)];
const texts = query => all(query).map(node => node.textContent);
const time = () => Number(find("#time").textContent.replace(/\\D/g, ""));
async function settled() {
  let before = null, now = "";
  while (before !== now || now.includes("The algorithm trains")) {
    await sleep(120);
    [before, now] = [now, find("main").textContent];
  }
}
async function click(target) {
  const node = typeof target === "string" ? find(target) : target;
  node.dispatchEvent(new MouseEvent("click", {bubbles: true}));
  await settled();
}
async function put(node, value, event = "change") {
  if (node.tagName === "SELECT") node.selectedIndex = value; else node.value = value;
  for (const name of ["input", event]) node.dispatchEvent(new Event(name, {bubbles: true}));
  await settled();
}
async function load(page, width) {
  frame.width = width;
  await visit("about:blank");
  await visit(page);
  frame.height = 8000; // all sections are visible, and drawn
  await settled();
}
const numbers = () => texts(".numbers b");
const field = text => all("label.field").find(label => label.firstChild.textContent === text)
  .querySelector("select, input");
const lines = look => all(`#bend path.${look}`).map(path => path.getAttribute("d"));
const link = () => find("#copy input").value;
"""

WATCH = """
async function look({page, width}) {
  const seen = {};
  await load(page, width);
  seen.begin = [time(), ...numbers()];
  seen.names = texts("#watch h3");
  const root = frame.contentDocument.documentElement;
  seen.wider = root.scrollWidth - root.clientWidth;
  const name = node => node.getAttribute("aria-label")
    ?? node.closest("label")?.textContent ?? node.textContent;
  const controls = all("button, select, input, textarea, svg:not([hidden])");
  seen.unnamed = controls.filter(node => !name(node).trim()).map(node => node.outerHTML);
  await click("#step");
  seen.step = time();
  await click("#restart");
  seen.restart = time();
  seen.alike = texts(".bars tr:last-child td:last-child");
  await click("#step");
  seen.one = [time(), ...numbers()];
  seen.speeds = [];
  for (const k of [0, 1, 2, 3, 4, 5]) {
    await click("#restart");
    await put(field("Speed"), k);
    find("#play").click();
    await sleep(2000);
    const pressed = find("#play").textContent;
    find("#play").click();
    await settled();
    seen.speeds.push([pressed, find("#play").textContent, time()]);
  }
  await put(find("#scrub"), 100, "input");
  seen.back = [time(), ...numbers()];
  seen.keys = [];
  for (const key of ["ArrowRight", "ArrowLeft", "ArrowLeft", " ", " ", "Home"]) {
    frame.contentDocument.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
    await sleep(200);
    seen.keys.push([time(), find("#play").textContent]);
  }
  await put(find("#scrub"), 30, "input");
  const cells = k => all(".bars").map(table =>
    [...table.rows].slice(1).map(row => row.cells[k].textContent));
  seen.rows = cells(0);
  seen.averages = [cells(2)];
  seen.widths = all(".bars")[0].querySelectorAll("i")[0].style.width;
  await put(find("#point"), find("#point").options.length - 1);
  seen.averages.push(cells(2));
  const circles = all("article:first-child .tree circle");
  if (circles.length) {
    await click(circles.at(-1));
    seen.clicked = [find("#point").value, all("article:first-child .chosen").length];
    seen.branches = all("article:first-child .branch")
      .map(path => Number(path.getAttribute("stroke-width")));
  }
  const points = path => path.getAttribute("d").slice(1).split("L")
    .map(point => point.split(" ").map(Number));
  seen.triangles = all(".triangle:not([hidden]) .thin.a0, .triangle:not([hidden]) .thick.a0")
    .map(points);
  seen.errors = frame.contentWindow.errors;
  return seen;
}
"""

BEND = """
async function look({page, width}) {
  const seen = {};
  await load(page, width);
  seen.lines = [lines("even").length, lines("bound").length, lines("dotted").length];
  await click("#last");
  seen.dotted = [lines("dotted").length, lines("dotted").includes(lines("even")[0])];
  const before = numbers(), reset = [];
  seen.changes = [];
  for (let k = 0; k < all("fieldset").length; k++) {
    for (let n = 0; n < all("fieldset")[k].querySelectorAll("select, input").length; n++) {
      const input = () => all("fieldset")[k].querySelectorAll("select, input")[n];
      const first = input().selectedIndex ?? input().value;
      await put(input(), input().tagName === "SELECT" ? 1 : input().max);
      const label = input().closest("label").firstChild.textContent;
      seen.changes.push([k, label, time(), numbers().map((x, i) => x !== before[i])]);
      seen.linked = link();
      await put(input(), first);
    }
  }
  seen.same = [before, numbers()];
  if (find(".payoffs")) {
    await put(all(".payoffs input")[1], -3);
    seen.payoff = [numbers(), link()];
    await put(all(".payoffs input")[1], "");
    seen.kept = all(".payoffs input")[1].value;
    await click("#reset");
    seen.reset = [numbers(), link()];
    for (const [k, value] of [0, -1, 1, 1, 0, -1, -1, 1, 0].entries())
      await put(all(".payoffs input")[k], value);
    seen.still = find("#bend [role=status]").textContent;
  }
  seen.errors = frame.contentWindow.errors;
  return seen;
}
"""

COMPOSE = """
async function look({page, width}) {
  const seen = {};
  await load(page, width);
  const shown = () => [find(".details").textContent, texts(".circuit [aria-pressed=true]").length];
  const parts = all(".circuit button").length;
  seen.parts = [];
  for (let k = 0; k < parts; k++) {
    await click(all(".circuit button")[k]);
    seen.parts.push(shown());
  }
  await click(all(".stack i[title]")[1] ?? all(".stack i[title]")[0]);
  seen.piece = shown();
  const sums = () => texts(".sum p b").map(text => Number(text.replace("\\u2212", "-")));
  seen.sums = [sums()];
  const width_of = bar => Number.parseFloat(bar.style.width);
  seen.stacks = all(".stack").map(stack => [...stack.children].map(width_of));
  await put(field("Algorithm"), 1);
  seen.sums.push(sums());
  seen.errors = frame.contentWindow.errors;
  return seen;
}
"""

PLAY = """
async function look({page, width, seat}) {
  const seen = {best: [], hands: []};
  await load(page, width);
  await put(field("You are"), seat);
  await put(field("Against"), 1);
  for (const turns of all(".turns")) {
    await click(turns);
    const pressed = turns.getAttribute("aria-pressed");
    seen.best.push([turns.textContent, pressed, find(".table").textContent]);
  }
  const account = () => texts(".account dd");
  seen.empty = account();
  for (let hand = 0; hand < 40; hand++) {
    const played = Number(account()[0]);
    while (Number(account()[0]) === played) {
      const actions = all(".actions button");
      await actions[(hand >> 1) % actions.length].click();
    }
    seen.hands.push(find(".result").textContent);
  }
  seen.account = account();
  seen.errors = frame.contentWindow.errors;
  return seen;
}
"""

COPY = """
async function look({page, width}) {
  const seen = {};
  await load(page, width);
  await put(find("#scrub"), 37, "input");
  await put(find("#point"), 1);
  await put(field("Speed"), 2);
  await put(all("fieldset select")[0], 1);
  await put(all("fieldset select").at(-1), 1);
  const input = find("fieldset input[type=range]") ?? {};
  if (input.max) await put(input, 0);
  if (find(".payoffs")) await put(all(".payoffs input")[2], 2.5);
  seen.link = link();
  const state = () =>
    [time(), numbers(), find("#point").value, field("Speed").selectedIndex, texts(".bars")];
  seen.before = state();
  for (const details of all("details")) await click(details.querySelector("summary"));
  seen.commands = all("#copy input").slice(1).map(input => input.value);
  seen.sources = all("#copy textarea").map(area => area.value);
  seen.copied = [];
  const inner = frame.contentDocument;
  inner.execCommand = () => seen.copied.push(inner.activeElement.value);
  for (const press of all("#copy button")) {
    await click(press);
    (seen.said ??= []).push(press.textContent);
  }
  await load(page + "#" + seen.link.split("#")[1], width);
  seen.after = state();
  frame.contentWindow.location.hash = "#t=nonsense&0.averaging=none&show=9.9&payoffs=1,2&speed=x";
  await sleep(300);
  await settled();
  seen.wrong = [time(), numbers()];
  seen.errors = frame.contentWindow.errors;
  return seen;
}
"""

SOLUTION = """
async function look({page, width, label}) {
  const seen = {};
  await load(page, width);
  const root = frame.contentDocument.documentElement;
  seen.wider = root.scrollWidth - root.clientWidth;
  seen.title = texts("h1");
  if (label) {
    seen.all = all(".set").length;
    await put(find("input[type=search]"), label);
    seen.found = texts(".set h3");
    seen.shares = texts(".set b").map(Number);
  } else {
    const cell = name => all(".cell").find(node => node.textContent.startsWith(name));
    seen.path = [texts(".path button")];
    await click(cell("AA"));
    seen.hands = texts(".combos tbody th");
    await click(all(".modes button")[1]);
    seen.value = cell("AA").querySelector(".value").textContent;
    await click(all(".turn .choices button")[1]);
    seen.path.push(texts(".path button"));
  }
  seen.errors = frame.contentWindow.errors;
  return seen;
}
"""

FRAMED = """
async function look({page}) {
  await load(page + "#view=embed", 700);
  const high = frame.offsetHeight;
  const main = find("main").scrollHeight;
  return [all("section").length, high, main, frame.contentWindow.errors];
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    names = {"game": "<b>a</b> {{script}}", "action": "</script><img src=x onerror=alert(1)>"}
    hostile = matrix_game([[0, 1], [2, 0]], actions=[[names["action"], "b"], ["<i>", "&amp;"]])
    games = {
        "rps": (matrix_game(PAYOFFS, actions=[HANDS, HANDS], name="rps"), ["cfr", "cfr+", "dcfr"]),
        "kuhn": (kuhn_poker(), ["cfr", "cfr+"]),
    }
    for name, (game, algorithms) in games.items():
        display.page(game, algorithms, command="regretkit page").save(folder / f"{name}.html")
    recorded = display.page(kuhn_poker(), ["cfr+", "efce"], iterations=150)
    recorded.save(folder / "recorded.html")
    river = hold_em("Ks Th 7s 4d 2s", ("AA,KK", "QQ,JTs"), pot=100, stack=200, bets="50%")
    for name, game in {"river": river, "leduc": rk.load("leduc_poker")}.items():
        average = rk.solve(game, "cfr+", iterations=20).average
        display.page(average).save(folder / f"{name}.html")
    display.page(hostile, ["cfr", "cfr+"], title=names["game"]).save(folder / "hostile.html")
    return folder


def used(folder: Path, script: str, page: str, **given: object) -> dict:
    seen = driven(folder, USE + script, {"page": f"/{page}.html", **given}, seconds=120)
    assert isinstance(seen, dict), seen
    assert seen["errors"] == []
    return seen


each = pytest.mark.parametrize(("page", "width"), [("rps", 1280), ("kuhn", 390)])


def number(text: str) -> float:
    return float(text.replace("\u2212", "-").replace(",", ""))


@pytest.fixture(scope="module", params=[("rps", 1280), ("kuhn", 390)], ids=str)
def watched(request, folder) -> tuple[str, dict]:
    page, width = request.param
    return page, used(folder, WATCH, page, width=width)


def test_a_page_shows_the_numbers_of_python_at_every_time(watched):
    page, seen = watched
    game, names = {
        "rps": (matrix_game(PAYOFFS), ["cfr", "cfr+", "dcfr"]),
        "kuhn": (kuhn_poker(), ["cfr", "cfr+"]),
    }[page]
    for row in ("begin", "one", "back"):
        time, *shown = seen[row]
        assert time == (1 if row == "one" else 100)
        runs = [rk.solve(game, name, iterations=time) for name in names]
        expected = [
            x for r in runs for x in (rk.nash_conv(game, r.average), game.value(r.average)[0])
        ]
        assert np.allclose(list(map(number, shown)), expected, rtol=5e-3, atol=1e-9)
    assert len(seen["names"]) == len(names)
    assert (seen["step"], seen["restart"]) == (101, 0)
    assert len({*seen["alike"]}) == 1  # all begin with the same strategy
    assert seen["wider"] <= 0
    assert seen["unnamed"] == []


def test_every_control_of_time_and_of_information_sets_works(watched):
    page, seen = watched
    pressed, released, times = zip(*seen["speeds"], strict=True)
    assert {*pressed} == {"Pause"}
    assert {*released} == {"Play"}
    assert 1 <= times[1] <= 3 < times[2] < times[3] < times[4]
    assert times[5] > times[3]
    assert times[0] > 3
    forward, back, again, playing, paused, home = seen["keys"]
    assert [forward[0], back[0], again[0]] == [101, 100, 99]
    assert (playing[1], paused[1], home) == ("Pause", "Play", [0, "Play"])
    first, other = seen["averages"]
    assert first != other
    for row in itertools.chain(first, other):
        assert sum(map(float, row)) == pytest.approx(1.0, abs=2e-3)
    assert float(seen["widths"].rstrip("%")) == pytest.approx(100 * float(first[0][0]), abs=0.06)
    if page == "rps":
        current, average = seen["triangles"]  # of player 1 under CFR, until iteration 30
        corners, game = np.array([[150, 22], [278, 244], [22, 244]]), matrix_game(PAYOFFS)
        for back, t in ((2, 30), (3, 29)):
            run = rk.solve(game, "cfr", iterations=t)
            assert np.allclose(average[-back], run.average[1] @ corners, atol=0.1)
            assert np.allclose(current[-back], run.current[1] @ corners, atol=0.1)
        assert seen["rows"] == [HANDS] * 3
    else:
        chosen, circles = seen["clicked"]
        assert (chosen.split(".")[0], circles) == ("0", 2)  # two cards of the opponent
        assert max(seen["branches"]) > 5 * min(seen["branches"])


@each
def test_choices_change_the_gap_and_back(folder, page, width):
    seen = used(folder, BEND, page, width=width)
    even, bounds, dotted = seen["lines"]
    assert dotted == 0
    assert bounds == even == (3 if page == "rps" else 2)
    assert seen["dotted"] == [even, False]
    assert seen["changes"]
    for algorithm, name, time, changed in seen["changes"]:
        assert time == 100
        assert any(changed[2 * algorithm : 2 * algorithm + 2]), (algorithm, name)
        others = changed[: 2 * algorithm] + changed[2 * algorithm + 2 :]
        assert not any(others)
    before, after = seen["same"]
    assert before == after
    if page == "rps":
        (shown, link), (reset, plain) = seen["payoff"], seen["reset"]
        assert "payoffs=0%2C0%2C-3%2C3" in link
        assert "payoffs" not in plain
        assert shown != before == reset
        assert float(seen["kept"]) == -3
        assert seen["still"].startswith("Nothing moves")


@each
def test_parts_show_regrets_that_add_up(folder, page, width):
    seen = used(folder, COMPOSE, page, width=width)
    assert all(pressed == 1 for _, pressed in [*seen["parts"], seen["piece"]])
    assert len({text for text, _ in seen["parts"]}) >= 2
    assert any("by its theorem" in text for text, _ in seen["parts"])
    for sums in seen["sums"]:
        for parts, whole in zip(sums[::2], sums[1::2], strict=True):
            assert parts >= whole * (1 - 5e-3)
    assert seen["sums"][0] != seen["sums"][1]
    widths = [sum(stack) for stack in seen["stacks"]]
    assert np.allclose(widths[::2], 100.0)
    shares = np.divide(seen["sums"][0][1::2], seen["sums"][0][::2])
    assert np.allclose(widths[1::2], 100.0 * shares, rtol=1e-2)


@pytest.mark.parametrize(
    ("page", "width", "seat"), [("rps", 390, 1), ("kuhn", 1280, 0), ("kuhn", 390, 1)]
)
def test_hands_are_played_with_an_account(folder, page, width, seat):
    seen = used(folder, PLAY, page, width=width, seat=seat)
    game = kuhn_poker() if page == "kuhn" else matrix_game(PAYOFFS)
    for (text, pressed, said), turns in zip(seen["best"], (1, 10, 100, 1000), strict=True):
        run = rk.solve(game, "cfr+", iterations=turns)
        best = game.value(run.average)[seat] + best_response_gains(game, run.average)[seat]
        shown = re.search(r"wins (\S+) a hand", said)[1]
        assert (number(text), pressed) == (turns, "true")
        assert number(shown) == pytest.approx(best, rel=5e-3, abs=1e-6)
    hands, won, expected, lost, could = seen["account"]
    results = [re.match(r"You (win|lose) ([\d.]+)|Nobody", said) for said in seen["hands"]]
    total = sum(float(r[2]) * (1 if r[1] == "win" else -1) for r in results if r[1])
    assert hands == "40"
    assert number(won) == pytest.approx(total)
    assert number(expected) == pytest.approx(40 * number(shown), rel=1e-2, abs=1e-6)
    assert number(lost) >= 0.0
    best, _, of = could.partition(" of ")
    assert 0 <= int(best) <= int(of) == 40
    if page == "rps":
        answer = np.argmax(-np.array(PAYOFFS).T @ run.average[0])
        moves = [HANDS.index(re.search(r"player 0: (\w+)", said)[1]) for said in seen["hands"]]
        assert int(best) == sum(PAYOFFS[move][answer] < 0 for move in moves)


@each
def test_a_link_holds_all_choices(folder, page, width):
    seen = used(folder, COPY, page, width=width)
    assert seen["before"] == seen["after"]
    assert seen["before"][0] == 37
    assert seen["commands"][0] == "regretkit page"
    assert any("regret" in source for source in seen["sources"])
    assert seen["copied"][0] == seen["link"]
    assert {*seen["said"]} == {"Copied"}
    assert seen["wrong"][0] == 100


def test_a_recorded_run_is_played_back(folder):
    seen = used(folder, WATCH, "recorded", width=1280)
    time, *shown = seen["back"]
    expected = []
    for name in ("cfr+", "efce"):
        run = rk.solve(kuhn_poker(), name, iterations=time)
        expected += [rk.nash_conv(run.game, run.average), run.game.value(run.average)[0]]
    assert np.allclose(list(map(number, shown)), expected, rtol=0.05, atol=1e-6)
    assert seen["speeds"][-1] == ["Play", "Play", 150]  # the last iteration that was recorded


def test_stored_profiles_are_looked_through(folder):
    river = used(folder, SOLUTION, "river", width=390)
    assert river["wider"] <= 0
    assert river["path"] == [["root"], ["root", "bet 50"]]
    assert len(river["hands"]) == 6
    assert all(hand.count("A") == 2 for hand in river["hands"])
    assert 0 < float(river["value"]) < 200
    leduc = used(folder, SOLUTION, "leduc", width=1280, label="Js:cr")
    assert leduc["title"] == ["Leduc poker"]
    assert 0 < len(leduc["found"]) < leduc["all"]
    assert all("Js:cr" in label for label in leduc["found"])
    assert sum(leduc["shares"]) == pytest.approx(len(leduc["found"]), abs=1e-3)


def test_a_frame_is_as_high_as_its_page(folder):
    sections, frame, page, errors = driven(folder, USE + FRAMED, {"page": "/rps.html"}, seconds=60)
    assert (sections, errors) == (2, [])
    assert page <= frame < page + 120


def test_names_stay_text(folder):
    seen = used(folder, WATCH, "hostile", width=1280)
    assert seen["rows"][0] == ["</script><img src=x onerror=alert(1)>", "b"]


def colors(css: str) -> dict[str, np.ndarray]:
    found = re.findall(r"--(\w+): #(\w{6})", css)
    return {
        name: np.array([int(code[k : k + 2], 16) / 255 for k in (0, 2, 4)]) for name, code in found
    }


# Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of color vision
# deficiency" (2009), severity 1: protanopia, deuteranopia, tritanopia.
SEEN = {
    "all": np.eye(3),
    "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritan": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def lab(linear: np.ndarray) -> np.ndarray:
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    f = np.cbrt(np.clip(xyz @ linear / [0.9505, 1.0, 1.089], 0.0, None))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_colors_have_contrast_and_differ_for_everyone():
    light, dark = CSS.read_text().split("@media (prefers-color-scheme: dark)")[:2]
    for palette in (colors(light), colors(dark.partition(".a0")[0])):
        linear = {
            n: np.where(c < 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
            for n, c in palette.items()
        }
        light_of = {name: float(c @ [0.2126, 0.7152, 0.0722]) for name, c in linear.items()}

        def contrast(a: str, b: str, light_of=light_of) -> float:
            high, low = sorted((light_of[a], light_of[b]), reverse=True)
            return (high + 0.05) / (low + 0.05)

        assert contrast("ink", "paper") > 12
        assert contrast("soft", "paper") > 4.5
        assert contrast("accent", "paper") > 4.5
        drawn = ["blue", "red", "green", "pink", "sky", "amber"]
        assert min(contrast(name, "paper") for name in drawn) > 3
        for eye in SEEN.values():
            for group in (drawn[:3], ["amber", "sky", "pink"]):
                for a, b in itertools.combinations(group, 2):
                    apart = lab(np.clip(eye @ linear[a], 0, 1)) - lab(
                        np.clip(eye @ linear[b], 0, 1)
                    )
                    assert np.linalg.norm(apart) > 10, (a, b)
