"""One matrix: games, minimizers, orders, averagings and samplings, in machine code and in NumPy.

Each case is played in NumPy, by the functions of the engine as plain Python, and by those as
machine code. Runs are cut, saved, and moved from one to the other, and all agree.
"""

import pickle
from functools import partial

import numpy as np
import pytest
import user_rules
from attrs import define, field
from engine_cases import AVERAGINGS, RULES, assert_alike, in_python, orders, started
from factories import apart
from naive_exact import with_payoffs
from naive_games import Node, chance, decision, end, random_game
from public_games import kuhn, leduc, liars_dice, one_card, river

import regretkit as rk
from regretkit import CFR, ExtensiveFormGame, NormalFormGame
from regretkit.circuits import (
    DEVIATION_TYPES,
    EFR,
    Discount,
    ExplorationMixture,
    LastIterateByAveraging,
    Regularized,
    trigger_regret,
)
from regretkit.estimators import (
    AverageStrategySampling,
    ChanceSampling,
    ExactUtility,
    ExternalSampling,
    LearnedBaseline,
    OutcomeSampling,
)
from regretkit.games.public import Compare, Deal, Decision, Free, PublicGame, PublicTree
from regretkit.play import Algorithm, Simultaneous

# Games


def tree(players=2, seed=0, **options):
    generator = np.random.default_rng([players, seed])
    return ExtensiveFormGame.from_history(random_game(generator, players, **options))


def normal_form(*sizes):
    generator = np.random.default_rng(sizes)
    return NormalFormGame(generator.normal(size=(len(sizes), *sizes)))


def rounded(node):
    """Return a game like this one: two children at most, even chances and whole payoffs."""
    kept = list(node.children.items())[: 4 if len(node.children) >= 4 else 2]
    children = {name: rounded(child) for name, child in kept}
    chances = (1.0 / len(children),) * len(children) if node.chances else ()
    earned = tuple(np.rint(2.0 * np.array(node.earned)))
    return Node(children, node.acting, node.label, chances, earned)


def flip(label):
    """Return a decision of player 0, then one of player 1 who has not seen it."""
    ends = {a: {b: end(i - 2.0 * j, i * j) for j, b in enumerate("ab")} for i, a in enumerate("ab")}
    return decision(0, label, **{a: decision(1, f"after {label}", **e) for a, e in ends.items()})


def deals():
    """Return a game with sure, impossible and uneven chance outcomes, several in a row."""

    def bet(label, *paid):
        answers = {answer: end(*both) for answer, both in zip("pq", paid, strict=True)}
        return decision(0, label, a=decision(1, "answer", **answers), b=end(0.5, -0.25))

    low, high = bet("low", (1.0, 0.5), (-0.75, 2.0)), bet("high", (-2.0, 1.25), (3.0, -1.5))
    third, never = bet("third", (0.25, -3.0), (1.5, 0.125)), end(7.0, 7.0)
    sure = chance([1.0], only=third)
    mixed = chance([0.0, 0.3, 0.7, 0.0], x=never, y=low, z=sure, w=never)
    paid = chance([0.1, 0.9], s=end(4.0, -4.0), t=end(-1.0, 1.0))
    return chance([0.0, 0.45, 0.35, 0.2], none=never, k=mixed, m=high, p=paid)


def tables():
    """Return a public game of tables, and of comparisons in which ties pay."""
    generator = np.random.default_rng(3)
    first, second = (generator.normal(size=(2, 5, 4)) for _ in range(2))
    ties = {"a": Compare(2, -2, tie=(1, 0)), "b": Compare(1, -1, tie=(0, 1)), "c": Compare(1, 0)}
    many = {str(i): Free(1 + i / 8) for i in range(11)}
    table = rk.games.public.Table
    root = {"a": table(first), "b": Decision(1, ties), "c": table(second), "d": Decision(1, many)}
    strengths = generator.integers(0, 3, 5), generator.integers(0, 3, 4)
    deal = Deal(("abcde", "abcd"), weights=([1, 2, 3, 4, 5], [4, 3, 2, 1]), strengths=strengths)
    return PublicGame(PublicTree(Decision(0, root)), deal, name="tables")


KUHN, FORCED = rk.load("kuhn_poker"), rk.load("liars_dice(sides=2)")
TREES = {
    "kuhn": KUHN,
    "tree": tree(),
    "another tree": tree(seed=1),
    "zero-sum tree": tree(zero_sum=True),
    "tree of ties": ExtensiveFormGame.from_history(rounded(random_game(np.random.default_rng(2)))),
    "tree for one": tree(1),
    "tree for three": tree(3),
    "another tree for three": tree(3, 1),
    "tree for four": tree(4),
    "forced moves": FORCED,
    "kuhn for three": rk.games.kuhn_poker(players=3),
    "deals": ExtensiveFormGame.from_history(deals()),
}
FORMS = {
    str(sizes): normal_form(*sizes)
    for sizes in [(5,), (3, 5), (1, 4), (7, 29), (2, 3, 4), (2, 7, 9), (2, 1, 3, 2)]
}
PUBLIC = {
    "public kuhn": kuhn(5),
    "public leduc": leduc(2),
    "merged leduc": leduc(2, [[1, 2], [3, 1]], merged=True),
    "dice": liars_dice(1, 3),
    "one card": one_card([3.0, 1.0, 2.0], [2.0, 2.5]),
    "river": river(5, 2, 0.05, ties=True),
    "tables": tables(),
}
EDGES = {
    "no move": end(3.0, -3.0),
    "one action": decision(0, "a", only=decision(1, "b", only=end(1.0, 2.0))),
    "only chance": chance([0.25, 0.75], left=end(1.0, -1.0), right=end(0.0, 5.0)),
    "one decides": decision(1, "b", left=end(1.0, -1.0), right=end(0.0, 5.0)),
    "certain chance": chance([1.0, 0.0], always=flip("one"), never=flip("two")),
}
EDGES = {name: ExtensiveFormGame.from_history(root) for name, root in EDGES.items()} | {
    "one player": rk.games.in_out(),
    "equal payoffs": with_payoffs(KUHN, np.full((30, 2), 1 / 3)),
}
GAMES = TREES | FORMS | PUBLIC | EDGES

# Minimizers: rules of the library and of users, several of a player, in circuits and around them


class Around(rk.RegretMinimizer):
    """A circuit around a tree, which passes everything on."""

    def __init__(self, inner):
        self.inner, self.domain = inner, inner.domain

    def _propose(self):
        return self.inner.next_strategy().copy()

    def _learn(self, utility, strategy):
        self.inner.observe_utility(utility)


class Magnet(Around):
    """Pulls towards a reference, which moves to what is played every so many iterations."""

    def __init__(self, inner, mu=0.05, every=3):
        super().__init__(inner)
        self.mu, self.every = mu, every
        self.reference = inner.domain.relative_interior_point()

    def _learn(self, utility, strategy):
        self.inner.observe_utility(utility - self.mu * (strategy - self.reference))
        if (self.iteration + 1) % self.every == 0:
            self.reference = strategy.copy()


class Price(Around):
    """Takes a fixed price for each sequence, which falls with time."""

    def __init__(self, inner):
        super().__init__(inner)
        self.price = np.linspace(-1.0, 1.0, self.dimension)

    def _learn(self, utility, strategy):
        self.inner.observe_utility(utility - self.price / (self.iteration + 1))


def two_rules(simplices):
    odd = dict.fromkeys(range(1, simplices.blocks, 2), rk.RegretMatching)
    return rk.ByDecisionPoint(odd, otherwise=rk.PredictiveRegretMatchingPlus)(simplices)


def four_rules(simplices):
    kinds = rk.LinearRegretMatching, RULES["drm"], partial(RULES["drm"], alpha=2.2), RULES["hedge"]
    rules = {number: kinds[number % 4] for number in range(simplices.blocks)}
    return rk.ByDecisionPoint(rules, otherwise=rk.RegretMatching)(simplices)


LOCAL = {name: rule for name, rule in user_rules.RULES if name not in user_rules.NEEDS_PYTHON}
LOCAL |= {
    "two rules": two_rules,
    "four rules": four_rules,
    "each its own": apart(RULES["drm"]),
    "exploring": lambda s: ExplorationMixture(RULES["hedge"](s), gamma=0.1),
    "discounted": lambda s: Discount(RULES["drm"](s), weight=float),
}
plus, plain = (partial(CFR, local=RULES[name]) for name in ("rm+", "rm"))
AROUND = {
    "around": lambda tree: Around(plus(tree)),
    "exploration": lambda tree: ExplorationMixture(plus(tree), gamma=0.1),
    "restricted response": lambda tree: ExplorationMixture(
        plus(tree), gamma=0.6, reference=tree.best_response(np.arange(tree.dimension))[1]
    ),
    "last iterate": lambda tree: LastIterateByAveraging(plain(tree)),
    "discount": lambda tree: Discount(plain(tree), weight=float),
    "magnet": lambda tree: Magnet(plus(tree)),
    "regularized": lambda tree: Regularized(
        plus(tree), lambda u, x, r: u - 0.05 * (x - r), every=3
    ),
    "price": lambda tree: Price(CFR(tree, RULES["prm+"])),
    "nested": lambda tree: ExplorationMixture(
        Magnet(Discount(plus(tree), weight=np.sqrt), mu=0.3), gamma=0.05
    ),
}
DEVIATIONS = {
    "triggers": partial(trigger_regret, local=RULES["rm+"]),
    "coarse triggers": partial(trigger_regret, local=RULES["rm+"], coarse=True),
    "triggers, hedge": partial(trigger_regret, local=RULES["hedge"]),
    "triggers, drm": partial(trigger_regret, local=RULES["drm"]),
    "triggers, two rules": partial(trigger_regret, local=two_rules),
    "efr, prm+": partial(EFR, deviations="tips", local=RULES["prm+"]),
    **{f"efr {name}": partial(EFR, deviations=name) for name in DEVIATION_TYPES},
}
MINIMIZERS = {name: Algorithm(rule).minimizer for name, rule in {**RULES, **LOCAL}.items()}
MINIMIZERS |= AROUND | DEVIATIONS

# Samplings


def drawing(kind, bits=np.random.PCG64, **options):
    return lambda: kind(np.random.Generator(bits(1)), **options)


def guided(kind, **options):
    return lambda: kind(np.random.default_rng(1), baseline=LearnedBaseline(**options))


SAMPLINGS = {
    "exact": ExactUtility,
    "chance": drawing(ChanceSampling),
    "chance, mt19937": drawing(ChanceSampling, np.random.MT19937),
    "external": drawing(ExternalSampling),
    "external, sfc64": drawing(ExternalSampling, np.random.SFC64),
    "outcome": drawing(OutcomeSampling),
    "average strategy": drawing(AverageStrategySampling, epsilon=0.1, tau=2.0, beta=5.0),
    "external, learned": guided(ExternalSampling),
    "outcome, learned": guided(OutcomeSampling, rate=0.1),
}

# Cases


class Cases:
    """Cases to which orders and averagings are given in turn."""

    def __init__(self):
        self.rows = []

    def add(self, games, *minimizers, samplings=("exact",)):
        for game in games:
            for sampling in samplings:
                turn, names = len(self.rows), [*orders(GAMES[game].players)]
                ways = names[turn % len(names)], [*AVERAGINGS][turn % len(AVERAGINGS)]
                self.rows.append((game, "/".join(minimizers), *ways, sampling))


cases = Cases()
cases.add(GAMES, "rm+")
for rule in RULES:
    cases.add(["kuhn", "another tree", "(3, 5)"], rule)
for rule in LOCAL:
    cases.add(["kuhn", "forced moves"], rule)
for rule in ("rm", "prm+", "optimistic hedge"):
    cases.add(["zero-sum tree", "tree of ties", "forced moves", *FORMS], rule)
for circuit in AROUND:
    cases.add(["kuhn", "another tree for three"], circuit)
for circuit in DEVIATIONS:
    cases.add(["tree", "tree for three"], circuit)
for circuit in ("triggers", "efr csps"):
    cases.add(["another tree", "tree for four", *EDGES], circuit)
cases.add(["(2, 3, 4)"], "efr informed_cf", "efr blind_cf")
for several in [
    ("rm+", "hedge"),
    ("linear", "two rules"),
    ("rm", "triggers"),
    ("four rules", "rm"),
]:
    cases.add(["kuhn", "tree"], *several)
cases.add(["tree for three"], "efr csps", "coarse triggers", "rm+")
cases.add(TREES, "rm", samplings=["chance", "external", "outcome"])
for rule in ("rm+", "drm", "prm+", "hedge", "told", "efr tips", "triggers"):
    cases.add(["tree"], rule, samplings=["chance", "chance, mt19937"])
for rule in ("rm", "hedge", "linear/two simple rules"):
    cases.add(["kuhn", "tree for three"], *rule.split("/"), samplings=[*SAMPLINGS][3:])
MINIMIZERS["two simple rules"] = partial(
    CFR, local=rk.ByDecisionPoint({0: RULES["hedge"]}, otherwise=RULES["linear"])
)
CASES = list(dict.fromkeys(cases.rows))


def each_case(main, deep):
    """Give all cases: one in ``main`` to the main suite, one in ``deep`` to the deep suite."""

    def marks(k):
        return [pytest.mark.deep] * (k % main != 0) + [pytest.mark.beyond] * (k % deep != 0)

    rows = [pytest.param(row, marks=marks(k), id=", ".join(row)) for k, row in enumerate(CASES)]
    return pytest.mark.parametrize("case", rows)


def run_of(case, engine):
    game, minimizers, order, averaging, sampling = case
    game, names = GAMES[game], minimizers.split("/")
    names += names[-1:] * (game.players - len(names))
    makers = [MINIMIZERS[name] for name in names]
    order, averaging = orders(game.players)[order], AVERAGINGS[averaging]
    return started(game, makers, order, averaging, engine, SAMPLINGS[sampling])


def saved(run):
    return pickle.loads(pickle.dumps(run.state_dict()))


def assert_same_utilities(run, second):
    """Require that decision points of CFR learned from the same last; some know it no longer."""
    for player, twin in zip(run.minimizers, second.minimizers, strict=True):
        for point in range(player.tree.points) if isinstance(player, CFR) else ():
            found, expected = player[point].utilities, twin[point].utilities
            if found is not None:
                np.testing.assert_allclose(found, expected, atol=1e-11)


def assert_engines_agree(case):
    """Require that engines agree in pieces, after saving, and after moving to the other."""
    fast, slow = run_of(case, "compiled"), run_of(case, "numpy")
    for iterations in (1, 2, 5):
        assert_alike(fast.run(iterations), slow.run(iterations))
    assert_same_utilities(fast, slow)
    moved, back, resumed = (run_of(case, engine) for engine in ("compiled", "numpy", "compiled"))
    resumed.run(3).load_state_dict(saved(fast))
    moved.load_state_dict(saved(slow))
    back.load_state_dict(saved(fast))
    for run in (moved, back):
        assert_alike(run.run(4), slow if run is back else slow.run(4))
    assert_alike(resumed.run(4), fast.run(4), 0.0)
    assert_alike(resumed, run_of(case, "compiled").run(12), 0.0)
    return fast


@each_case(main=4, deep=1)
def test_functions_to_be_compiled_play_as_numpy_does(case):
    with in_python():
        assert_engines_agree(case)


@each_case(main=25, deep=2)
def test_machine_code_plays_as_numpy_does_and_as_python(case):
    fast = assert_engines_agree(case)
    with in_python():  # functions such as hypot may differ in the last digit
        assert_alike(fast, run_of(case, "compiled").run(12), 1e-12)


# What changes between two calls


@define(eq=False)
class Powered(rk.SimplexRule):
    """Regrets to a power, which is a parameter, or code of its own where it is small."""

    power: float = field(default=2.5, kw_only=True)
    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0) ** self.power)

    def _learn(self, utility, strategy):
        self.regrets += self.simplices.regret(utility, strategy)


def with_power(power):
    def change(run):
        for player in run.minimizers:
            getattr(player, "minimizer", player).rule.power = power

    return change


def pull(run):
    run.minimizers[1].mu = 2.0
    run.minimizers[0].reference = np.zeros(run.minimizers[0].dimension)


def draw_otherwise(run):
    run.estimator.generator = np.random.default_rng(8)


def replace_minimizers(run):
    run.minimizers = tuple(map(plain, run.game.domains))


def teach(run):
    utilities = np.random.default_rng(3).normal(size=(2, run.minimizers[0].dimension))
    run.minimizers[0].observe_utility(utilities[0])
    run.minimizers[0].expect_utility(utilities[1])


CHANGES = [
    ("powered", with_power(3.5), "exact"),
    ("powered", with_power(3.0), "exact"),
    ("powered triggers", with_power(3.5), "exact"),
    ("powered efr", with_power(3.5), "exact"),
    ("magnet", pull, "exact"),
    ("rm", draw_otherwise, "chance"),
    ("rm", draw_otherwise, "external"),
    ("rm+", lambda run: setattr(run, "order", Simultaneous()), "exact"),
    ("rm+", replace_minimizers, "exact"),
    *((rule, teach, "exact") for rule in ("rm+", "prm+", "adaptive", "told", "magnet")),
]
MINIMIZERS |= {
    "powered": partial(CFR, local=Powered),
    "powered triggers": partial(trigger_regret, local=Powered),
    "powered efr": partial(EFR, deviations="csps", local=Powered),
}


@pytest.mark.parametrize(("minimizer", "change", "sampling"), CHANGES)
def test_what_changes_between_two_calls_counts_in_the_next(minimizer, change, sampling):
    case = "kuhn", minimizer, "from 0", "uniform", sampling
    with in_python():
        fast, slow, unchanged = (run_of(case, e).run(5) for e in ("compiled", "numpy", "numpy"))
        for run in (fast, slow):
            change(run)
        # The first iteration plays what was proposed before the change.
        assert_alike(fast.run(1), slow.run(1))
        assert_alike(fast.run(3), slow.run(3))
    averages = zip(slow.average, unchanged.run(4).average, strict=True)
    assert not all(np.allclose(x, y) for x, y in averages)
