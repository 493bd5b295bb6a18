"""The engine of pages, under Node.js: its runs are those of the NumPy engine."""

import json
import re
from functools import partial

import node
import numpy as np
import pytest
from engine_cases import AVERAGINGS, HORIZON, RULES
from random_rules import random_rule
from user_rules import RULES as USERS

import regretkit as rk
from regretkit.circuits import ByDecisionPoint
from regretkit.evaluation import best_response, best_response_gains, expected_value
from regretkit.play import Algorithm, Alternating, Delayed, Extragradient, Simultaneous
from regretkit.sets import DecisionTree
from regretkit.trace import UntraceableError, find_kernel

TIMES = (0, 1, 2, 3, 10, 50, 200)
ATOL = 1e-12
ALL = {**RULES, **dict(USERS)}
UNTRACED = {"HalvedWhenLarge", "RandomLeader"}
SCHEMES = {**AVERAGINGS, "delayed": Delayed(2.0, delay=20)}
ORDERS = {"in turn": Alternating(), "from 1": Alternating(first=1), "at once": Simultaneous()}
GAMES = {
    "rock": rk.load("rock_paper_scissors"),
    "biased": rk.load("biased_rock_paper_scissors"),
    "prisoners": rk.load("prisoners_dilemma"),
    "kuhn": rk.load("kuhn_poker"),
    "three": rk.load("kuhn_poker(players=3)"),
    "leduc": rk.load("leduc_poker"),
    "goofspiel": rk.load("goofspiel(cards=4)"),
    "table": rk.NormalFormGame(np.random.default_rng(3).integers(-3, 4, (3, 2, 3, 2))),
}

# Three values, 0.1, 0.2 and -0.3, cancel but for rounding.
GAMES["cancelling"] = rk.games.read_efg("""EFG 2 R "Cancelling" { "A" "B" }
    p "" 2 1 "look" { "on" "off" } 0
    p "" 1 1 "start" { "risk" "stay" } 0
    c "" 1 "" { "x" 1/4 "y" 1/4 "z" 1/2 } 0
    p "" 1 2 "x" { "l" "r" } 0 t "" 1 "" { 0.4 0 } t "" 2 "" { 0.4 0 }
    p "" 1 3 "y" { "l" "r" } 0 t "" 3 "" { 0.8 0 } t "" 4 "" { 0.8 0 }
    p "" 1 4 "z" { "l" "r" } 0 t "" 5 "" { -0.6 0 } t "" 6 "" { -0.6 0 }
    t "" 7 "" { 0 0 }
    t "" 8 "" { 0 0 }""")

MAIN = """
function main({game, algorithm, times, settings}) {
  const run = startRun(game, algorithm, settings), players = game.players.map((_, k) => k);
  return times.map(t => {
    run.step(t - run.t);
    return {
      current: run.strategies.map(own => own.slice()), average: run.averages(), bound: run.bound(),
      gains: {current: run.gains("current"), average: run.gains("average")},
      values: run.values("average"), regrets: players.map(k => run.regret(k)),
      parts: players.map(k => run.parts(k)), reach: run.reach("average"),
      responses: players.map(k => run.response(k, "average")),
    };
  });
}
"""


def page_of(game, algorithm, **options):
    """Return the data of a page, and the scripts before those that need a display."""
    text = rk.display.page(game, {"shown": algorithm}, iterations=HORIZON, **options).html
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    script = text[text.rindex("<script>") + len("<script>") :]
    end = "\n})();\n"
    return data, script[: script.index(end) + len(end)]


def played(game, algorithm, times=TIMES, edit=None, **settings):
    """Return what a page says of a run at some times."""
    data, scripts = page_of(game, algorithm)
    given = {"game": data["game"], "algorithm": data["algorithms"][0]}
    if edit is not None:
        edit(given["game"])
    return node.run(scripts + MAIN, {**given, "times": times, "settings": settings})


def behaviors(profile):
    pairs = zip(profile.domains, profile, strict=True)
    return [d.behavior(x) if isinstance(d, DecisionTree) else x for d, x in pairs]


def assert_equal(seen, run, times=TIMES, atol=ATOL):
    """Require that a page's run, and that of NumPy, have the same numbers at all times."""
    near = partial(np.testing.assert_allclose, rtol=0.0)
    units = 10.0 * atol * np.abs(run.game.payoffs).max()
    for t, found in zip(times, seen, strict=True):
        run.run(t - run.iteration)
        average = run.average if t else run.current
        rules = [getattr(minimizer, "rule", minimizer) for minimizer in run.minimizers]
        current = [rule.next_strategy() for rule in rules]
        for which, expected in (("current", current), ("average", behaviors(average))):
            for own, strategy in zip(found[which], expected, strict=True):
                near(own, strategy, atol=atol, err_msg=f"{which} at {t}")
        for which, profile in (("average", average), ("current", run.current)):
            near(found["gains"][which], best_response_gains(run.game, profile), atol=units)
        near(found["values"], expected_value(run.game, average), atol=units)
        for player, response in enumerate(found["responses"]):
            near(response["value"], best_response(run.game, player, average)[0], atol=units)


def compare(game, rule, order="in turn", scheme="uniform"):
    algorithm = Algorithm(rule, order=ORDERS[order], averaging=SCHEMES[scheme])
    seen = played(game, algorithm)
    assert_equal(seen, algorithm.start(game, horizon=HORIZON, engine="numpy"))


# Runs

CASES = [(name, "kuhn", "in turn", "uniform") for name in RULES]
CASES += [(name, "rock", "at once", "linear") for name in dict(USERS) if name not in UNTRACED]
CASES += [("rm+", game, "in turn", "linear") for game in GAMES]
CASES += [("prm+", game, "at once", "quadratic") for game in GAMES]
CASES += [("linear", "leduc", "from 1", name) for name in SCHEMES]


@pytest.mark.parametrize(("rule", "game", "order", "scheme"), CASES)
def test_a_run_is_that_of_numpy(rule, game, order, scheme):
    compare(GAMES[game], ALL[rule], order, scheme)


def test_random_rules_run_as_in_numpy():
    """A strategy that is no distribution ends a run in NumPy: such rules are left out."""
    compared = 0
    for seed in range(200):
        _, kind = random_rule(seed)
        try:
            find_kernel(kind(rk.Simplices([2, 3])), exact=True)
            run = Algorithm(kind).start(GAMES["kuhn"], horizon=HORIZON, engine="numpy")
            with np.errstate(all="ignore"):
                run.run(TIMES[-1])
        except (UntraceableError, ValueError):
            continue
        seen = played(GAMES["kuhn"], kind)
        with np.errstate(all="ignore"):
            assert_equal(seen, Algorithm(kind).start(GAMES["kuhn"], engine="numpy"))
        compared += 1
        if compared == 50:
            break
    assert compared == 50


def test_settings_choose_hyperparameters_averagings_and_orders():
    game, algorithm = GAMES["kuhn"], Algorithm("dcfr")
    data, _ = page_of(game, algorithm)
    shown = data["algorithms"][0]
    alphas, betas = (shown["choices"][name]["values"] for name in ("alpha", "beta"))
    orders, averagings = shown["orders"], shown["averagings"]
    assert (alphas[shown["choices"]["alpha"]["default"]], orders[0]["label"]) == (1.5, "in turn")
    at_once = [order["simultaneous"] for order in orders].index(True)
    linear = [scheme["label"] for scheme in averagings].index("linear")
    stops = {"alpha": len(alphas) - 1, "beta": 0}
    rule = partial(rk.DiscountedRegretMatching, alpha=alphas[-1], beta=betas[0])
    same = Algorithm(rule, order=Simultaneous(), averaging=SCHEMES["linear"])
    seen = played(game, algorithm, stops=stops, order=at_once, averaging=linear)
    assert_equal(seen, same.start(game, engine="numpy"))


def test_payoffs_can_be_edited():
    def edit(game):
        game["matrix"][0][2] = [3.0, -3.0]

    payoffs = GAMES["rock"].payoffs.copy()
    payoffs[:, 0, 2] = 3.0, -3.0
    seen = played(GAMES["rock"], "cfr+", edit=edit)
    game = rk.matrix_game(payoffs[0])
    assert_equal(seen, Algorithm("cfr+").start(game, engine="numpy"))


def test_different_rules_at_different_points():
    rules = {0: rk.RegretMatchingPlus, 3: rk.RegretMatching}
    rule = ByDecisionPoint(rules, otherwise=partial(rk.Hedge, rate=0.5))
    algorithm = Algorithm(rule)
    seen = played(GAMES["kuhn"], algorithm)
    assert_equal(seen, algorithm.start(GAMES["kuhn"], engine="numpy"))


def test_a_snapshot_brings_a_run_back():
    """The rule restarts after numbers of iterations, which it counts itself."""
    data, scripts = page_of(GAMES["kuhn"], ALL["DoublingHedge"])
    main = """
    function main({game, algorithm}) {
      const run = startRun(game, algorithm);
      const numbers = () => [run.t, ...run.averages(), ...run.strategies];
      run.step(20);
      const saved = run.snapshot(), first = [];
      run.step(30);
      first.push(JSON.stringify(numbers()));
      run.restore(saved);
      run.step(30);
      return [...first, JSON.stringify(numbers())];
    }
    """
    first, second = node.run(
        scripts + main, {"game": data["game"], "algorithm": data["algorithms"][0]}
    )
    assert first == second


# Theorems


@pytest.mark.parametrize("game", ["rock", "biased", "kuhn", "leduc"])
@pytest.mark.parametrize("rule", ["rm", "rm+"])
def test_regrets_bound_the_gap_and_bounds_the_regrets(game, rule):
    for order in ORDERS:
        algorithm = Algorithm(ALL[rule], order=ORDERS[order], averaging=SCHEMES["uniform"])
        for t, found in zip(TIMES[1:], played(GAMES[game], algorithm)[1:], strict=True):
            gap, regrets = sum(found["gains"]["average"]), found["regrets"]
            if order == "at once":  # with equal weights: the values of all players sum to zero
                assert gap == pytest.approx(sum(regrets) / t, abs=1e-9)
            assert gap <= found["bound"]
            for regret, parts in zip(regrets, found["parts"], strict=True):
                assert regret <= sum(max(part["regret"], 0.0) for part in parts) + 1e-9
                assert all(part["regret"] <= part["bound"] + 1e-9 for part in parts)


def test_the_bound_is_that_of_the_theorem():
    """Two players with three actions and a range of two: 2 Delta sqrt(3 T) / T, by linear weights
    times 2 T / (T + 1), and for updates in turn one more payoff."""
    shown = {}
    for rule, order, scheme in (
        ("rm", "at once", "uniform"),
        ("rm+", "at once", "linear"),
        ("rm+", "in turn", "uniform"),
        ("rm", "at once", "linear"),
    ):
        algorithm = Algorithm(ALL[rule], order=ORDERS[order], averaging=SCHEMES[scheme])
        shown[rule, order, scheme] = played(GAMES["rock"], algorithm, [48])[0]["bound"]
    regret = 2 * 2 * 12.0
    assert list(shown.values()) == [
        pytest.approx(regret / 48),
        pytest.approx(regret * 48 / (48 * 49 / 2)),
        pytest.approx((regret + 2.0) / 48),
        None,
    ]
    assert played(GAMES["prisoners"], "cfr", [48])[0]["bound"] is None


@pytest.mark.parametrize("scheme", ["linear", "quadratic", "power"])
def test_the_bound_holds_with_increasing_weights(scheme):
    for game in ("biased", "kuhn"):
        for found in played(GAMES[game], Algorithm("cfr+", averaging=SCHEMES[scheme]))[1:]:
            assert sum(found["gains"]["average"]) <= found["bound"]


@pytest.mark.parametrize("game", ["rock", "kuhn", "three", "goofspiel", "table"])
def test_nodes_have_the_values_of_the_game(game):
    data, _ = page_of(GAMES[game], "cfr")
    found = played(GAMES[game], "cfr", [20])[0]
    nodes, reach = data["game"]["nodes"], np.array(found["reach"])
    ends = [k for k, each in enumerate(nodes) if each["payoffs"]]
    assert reach[ends].sum() == pytest.approx(1.0)
    values = sum(reach[k] * np.array(nodes[k]["payoffs"]) for k in ends)
    np.testing.assert_allclose(values, found["values"], rtol=0.0, atol=1e-12)


# Recorded runs


def test_what_is_not_traced_is_recorded():
    class RoundedUtility(rk.RegretMatching):
        def _learn(self, utility, strategy):
            super()._learn(np.array([round(float(u), 3) for u in utility]), strategy)

    game = GAMES["kuhn"]
    extra = Algorithm("cfr+", order=Extragradient())
    for algorithm in (RoundedUtility, "efce", "mccfr", extra):
        data, _ = page_of(game, algorithm)
        shown = data["algorithms"][0]
        assert shown["reason"]
        assert "rules" not in shown
        times = shown["recorded"]["iterations"]
        assert (times[:3], times[-1]) == ([0, 1, 2], HORIZON)
        run = Algorithm(algorithm).start(game, horizon=HORIZON)
        for t, found in zip((1, HORIZON), played(game, algorithm, [1, HORIZON + 50]), strict=True):
            run.run(t - run.iteration)
            for own, expected in zip(found["average"], behaviors(run.average), strict=True):
                np.testing.assert_allclose(own, expected, rtol=0.0, atol=1e-6)
            gains = best_response_gains(game, run.average)
            np.testing.assert_allclose(found["gains"]["average"], gains, rtol=0.0, atol=1e-12)


# Pages


def test_names_stay_text_and_the_page_allows_its_own_scripts_only():
    name = "</script><script>alert(1)</script>{{script}}"
    game = rk.matrix_game([[1.0, 0.0], [0.0, 1.0]], actions=[["<b>", "b"], ["a", "b"]], name=name)
    page = rk.display.page(game, {name: "cfr"}, title=name)
    assert page.html.count("<script") == 2
    assert "alert(1)</script>" not in page.html
    data = json.loads(re.search(r'id="data">(.*?)</script>', page.html, re.DOTALL)[1])
    assert data["title"] == data["game"]["name"] == data["algorithms"][0]["label"] == name
    assert data["game"]["players"][0]["points"][0]["actions"] == ["<b>", "b"]
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page.html)[1]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_a_page_of_the_named_algorithms_is_below_600_kilobytes(tmp_path):
    page = rk.display.page(GAMES["rock"], ["cfr", "cfr+", "dcfr", "pcfr+"])
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page.html
    assert len(page.html.encode()) < 600_000
    assert 'srcdoc="&lt;!doctype html&gt;' in page._repr_html_()


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(ValueError, match="algorithms must have at least one"):
        rk.display.page(GAMES["rock"], [])
    with pytest.raises(TypeError, match="shown must be"):
        rk.display.page(rk.games.hold_em(), ["cfr"])
    with pytest.raises(ValueError, match="iterations must"):
        rk.display.page(GAMES["rock"], ["cfr"], iterations=0)
