"""Every check of the contract, for every minimizer of the package and for circuits of them."""

import copy
import importlib
import inspect
import pickle
import pkgutil
from functools import partial

import numpy as np
import pytest
from factories import MAKERS, train
from test_user_rules import (
    FollowTheLeader,
    PlainRegretMatching,
    ShortRegretMatching,
    Trembling,
)

import regretkit as rk
from regretkit import minimizers
from regretkit.checks import _growth, parametrize_with_checks, run_check
from regretkit.circuits import (
    EFR,
    AffineImage,
    AveragedPowerIterate,
    Constrained,
    Discount,
    ExplorationMixture,
    FiniteDeviations,
    LastIterateByAveraging,
    MinkowskiSum,
    Restart,
    SharedStrategy,
    TreeSwap,
    internal_maps,
    linear_swap_regret,
    trigger_regret,
)
from regretkit.minimizers import contrib
from regretkit.sets import Ball, Box, DecisionDAG, Hull, Simplices, Singleton

TREE = rk.DecisionTree([0, 2, 0, 5, 2], [2, 3, 2, 1, 2], labels=list("abcde"))
PRM = rk.PredictiveRegretMatchingPlus


def over(rule, **options):
    """Return what builds a rule over a block of two actions and one of three."""
    return partial(rule, [2, 3], **options)


def swap(actions):
    return rk.SwapRegret(actions, rk.RegretMatching)


def swap_of_own(actions):
    return rk.SwapRegret(actions, rk.PerDecisionPoint(FollowTheLeader))


def hull(member, mixing):
    return rk.ConvexHull([member(3), rk.Point([0.0, 2.0, 0.0]), member(3)], mixing(3))


def internal(actions):
    return rk.PhiRegret(rk.RegretMatchingPlus(actions * (actions - 1)), internal_maps(actions))


def product_of_hulls_of_swaps():
    hulls = [hull(swap, swap), hull(rk.RegretMatching, rk.LinearRegretMatching)]
    return rk.Product([*hulls, internal(2)], [[6, 5, 4], [0, 2, 7], [1, 3]])


LOCALS = {"a": rk.RegretMatching, "d": PRM, 4: swap}

# One row for each class at least; the test below finds the classes that have none.
ROWS = {name: partial(make, [2, 3]) for name, make in MAKERS.items()}
ROWS |= {
    "regret rule": partial(minimizers.RegretRule, 4),
    "optimistic linear": partial(rk.LinearRegretMatching, 4, optimistic=True),
    "point": partial(rk.Point, [0.5, -1.0]),
    "best_response": partial(rk.BestResponse, TREE),
    "best_response[hull]": partial(rk.BestResponse, Hull([Simplices(2), Singleton([3.0, 0.0])])),
    "single_action": partial(rk.RegretMatching, 1),
    "product": lambda: rk.Product([rk.RegretMatching(2), rk.Hedge([2, 2], rate=1.0)]),
    "hull": partial(hull, rk.RegretMatching, rk.RegretMatchingPlus),
    "hull[predictive]": partial(hull, PRM, PRM),
    "hull[swap mixing]": partial(hull, rk.RegretMatching, swap),
    "product[hull[swap], internal]": product_of_hulls_of_swaps,
    "phi[internal]": partial(internal, 3),
    "phi[nearly]": lambda: rk.PhiRegret(
        rk.RegretMatching(6), internal_maps(3), AveragedPowerIterate(20)
    ),
    "phi[stay or swap]": lambda: rk.PhiRegret(
        rk.RegretMatching(2), FiniteDeviations([np.eye(2), np.eye(2)[::-1]])
    ),
    "swap": partial(rk.SwapRegret, [2, 3], rk.RegretMatching),
    "forgetful drm+": over(minimizers.DiscountedRegretMatchingPlus, alpha=-1.0),
    "drm+, forgetful at first": over(minimizers.DiscountedRegretMatchingPlus, shift=10.0),
    "forgetful pdrm+": over(minimizers.PredictiveDiscountedRegretMatchingPlus, alpha=-1.0),
    "tree swap": lambda: TreeSwap(lambda: rk.RegretMatching(3), layers=2, branching=3),
    "swap[predictive]": partial(rk.SwapRegret, 3, PRM),
    "swap[each own]": partial(swap_of_own, 3),
    "swap[swap]": lambda: rk.SwapRegret(2, rk.PerDecisionPoint(swap)),
    "cfr": partial(rk.CFR, TREE, rk.RegretMatching),
    "cfr[predictive]": partial(rk.CFR, TREE, PRM),
    "cfr[swap]": partial(rk.CFR, TREE, swap),
    "cfr[each internal]": partial(
        rk.CFR, rk.DecisionTree([0, 2], [2, 3]), rk.PerDecisionPoint(internal)
    ),
    "cfr[mixed]": lambda: rk.CFR(TREE, rk.ByDecisionPoint(LOCALS, otherwise=MAKERS["hedge"])),
    "linear swap": lambda: linear_swap_regret(rk.DecisionTree([0, 2], [2, 2]), MAKERS["rm+"]),
    "triggers": lambda: trigger_regret(TREE, MAKERS["rm+"]),
    "triggers[coarse, predictive]": lambda: trigger_regret(TREE, PRM, coarse=True),
    "cfr[dag]": lambda: rk.CFR(DecisionDAG([[0], [0, 1], [2, 4]], [2, 3, 2]), PRM),
    "cfr[no decisions]": lambda: rk.CFR(rk.DecisionTree([], []), rk.RegretMatching),
    "efr": partial(EFR, TREE),
    "efr[predictive]": partial(EFR, TREE, "tips", PRM),
    "efr[action]": partial(EFR, TREE, "informed_action"),
    "efr[each own]": partial(EFR, TREE, "bhv", rk.PerDecisionPoint(swap_of_own)),
    "efr[simplices]": partial(EFR, Simplices([2, 3]), "cfps"),
    "circuit": partial(rk.circuit, TREE, rk.RegretMatching),
    "circuit[predictive]": partial(rk.circuit, TREE, PRM),
    "hull[cfr]": lambda: rk.ConvexHull([rk.CFR(TREE, swap), rk.CFR(TREE, PRM)], swap(2)),
    "product[cfr]": lambda: rk.Product([rk.CFR(TREE, PRM), rk.Point([1.0])]),
    "own": partial(FollowTheLeader, 3),
    "own[plain]": partial(PlainRegretMatching, [2, 3]),
    "own[attrs]": partial(ShortRegretMatching, [2, 3]),
    "own[random]": partial(Trembling, [2, 3], seed=5),
    "product[own]": lambda: rk.Product([FollowTheLeader(2), Trembling(2)]),
}


def image(minimizer, seed=0, rows=3):
    matrix = np.random.default_rng(seed).normal(size=(rows, minimizer.dimension))
    return AffineImage(minimizer, matrix, np.ones(rows))


def constrained(minimizer, rule=rk.RegretMatchingPlus):
    rows = np.random.default_rng(1).normal(size=(2, minimizer.dimension))
    bound = rows @ minimizer.domain.relative_interior_point() + 0.1
    prices = AffineImage(rule(3), 5.0 * np.eye(2, 3))
    return Constrained(minimizer, rows, bound, prices)


def nested_images():
    total = MinkowskiSum(
        [image(swap(3)), AffineImage(PRM(3), -2.0 * np.eye(3)), rk.Hedge(3, rate=1.0)]
    )
    mixed = rk.ConvexHull([total, image(rk.CFR(TREE, PRM)), rk.Point([0.0, 2.0, 0.0])], swap(3))
    return rk.Product([mixed, constrained(image(PRM(2), rows=2), PRM)])


# Images, sums, constraints and wrappers.
ROWS |= {
    "image": lambda: image(rk.RegretMatching([2, 3])),
    "image[predictive]": lambda: image(PRM(2), rows=4),
    "sum": lambda: MinkowskiSum([rk.RegretMatching(3), image(PRM(2)), rk.Point(np.ones(3))]),
    "constrained": lambda: constrained(rk.RegretMatching(4)),
    "constrained[cfr]": lambda: constrained(rk.CFR(TREE, PRM), PRM),
    "restart": lambda: Restart(rk.RegretMatching([2, 3]), every=5),
    "restart[cfr]": lambda: Restart(rk.CFR(TREE, PRM), every=lambda t: t in {3, 12, 15}),
    "restart[random]": lambda: Restart(Trembling(3), every=5),
    "discount": lambda: Discount(rk.RegretMatching([2, 3]), weight=float),
    "discount[predictive]": lambda: Discount(PRM(3), weight=lambda t: t**0.5),
    "restart[discount]": lambda: Restart(Discount(PRM([2, 2]), weight=float), every=4),
    "product[hull[sum[image, image], image[cfr]], constrained]": nested_images,
}

# The regret matching family.
ROWS |= {
    "drm+": over(minimizers.DiscountedRegretMatchingPlus),
    "pdrm+": over(minimizers.PredictiveDiscountedRegretMatchingPlus),
    "asymmetric": over(contrib.AsymmetricRegretMatchingPlus),
    "credulous": over(contrib.AsymmetricRegretMatchingPlus, weight=5.0),
    "adaptive": over(contrib.AdaptiveAsymmetricRegretMatchingPlus),
    "smooth": over(contrib.SmoothPredictiveRegretMatchingPlus, rate=0.1),
    "smooth optimistic": over(contrib.SmoothOptimisticRegretMatchingPlus, rate=0.1),
    "stable": over(contrib.StablePredictiveRegretMatchingPlus, floor=1.0),
    "extragradient": over(contrib.ExtragradientRegretMatchingPlus, rate=0.1),
    "norm keeping": over(contrib.IREGPredictiveRegretMatchingPlus),
    "scheduled": over(contrib.HSDiscountedRegretMatching, horizon=20),
    "cfr[norm keeping]": partial(rk.CFR, TREE, contrib.IREGPredictiveRegretMatchingPlus),
    "swap[adaptive]": partial(rk.SwapRegret, [2, 3], contrib.AdaptiveAsymmetricRegretMatchingPlus),
}


def conic(actions):
    return minimizers.ConicBlackwell(Simplices(actions))


# Mirror descent, hedges without a rate, gradient descent, and what reshapes a strategy.
TSALLIS = {"regularizer": minimizers.Tsallis()}
REGULARIZED = {"regularizer": minimizers.Euclidean(), "rate": 0.1}
DILATED = partial(minimizers.DilatedMirrorDescent, tree=TREE, rate=0.3)
ROWS |= {
    "ftrl": over(minimizers.FollowTheRegularizedLeader, **REGULARIZED),
    "ftrl[tsallis]": over(
        minimizers.FollowTheRegularizedLeader, **TSALLIS, rate=0.3, optimistic=True
    ),
    "omd": over(minimizers.OnlineMirrorDescent, **REGULARIZED),
    "omd[optimistic]": over(minimizers.OnlineMirrorDescent, **REGULARIZED, optimistic=True),
    "reflected": over(minimizers.ReflectedMirrorDescent, **REGULARIZED),
    "magnetic": over(minimizers.MagneticMirrorDescent, rate=0.3, temperature=0.1),
    "magnetic[elsewhere]": partial(
        minimizers.MagneticMirrorDescent,
        2,
        rate=0.3,
        temperature=0.1,
        magnet=[0.75, 0.25],
        optimistic=True,
    ),
    "adahedge": over(minimizers.AdaHedge),
    "normalhedge": over(minimizers.NormalHedge),
    "gradient[ball]": partial(
        minimizers.OnlineGradientDescent, domain=Ball([1.0, 2.0], 3.0), rate=0.5, optimistic=True
    ),
    "gradient[box]": partial(
        minimizers.OnlineGradientDescent, domain=Box([0.0, -1.0], [1.0, 1.0]), rate=0.1
    ),
    "conic": partial(minimizers.ConicBlackwell, Simplices([2, 3])),
    "response": partial(minimizers.ResponseBasedApproachability, 3),
    "response[tree]": partial(minimizers.ResponseBasedApproachability, TREE),
    "response[ball]": partial(minimizers.ResponseBasedApproachability, Ball([1.0, 2.0], 3.0)),
    "conic[far]": partial(minimizers.ConicBlackwell, Ball([5.0, 0.0], 1.0), kappa=5.0),
    "conic[ball]": partial(minimizers.ConicBlackwell, Ball([1.0, 2.0], 3.0), kappa=2.0),
    "dilated": DILATED,
    "dilated[euclidean]": partial(DILATED, regularizer=minimizers.Euclidean(), optimistic=True),
    "dilated[magnetic]": partial(DILATED, temperature=0.1, weight=2.0),
    "cfr[adahedge]": partial(rk.CFR, TREE, minimizers.AdaHedge),
    "cfr[each conic]": partial(rk.CFR, TREE, rk.PerDecisionPoint(conic)),
    "exploring": lambda: ExplorationMixture(rk.OptimisticHedge([2, 3], rate=1.0), gamma=0.1),
    "alike": lambda: SharedStrategy(PRM([2, 3]), [0, 1, 0]),
    "average": lambda: LastIterateByAveraging(rk.Hedge([2, 3], rate=1.0)),
    "exploring[average]": lambda: ExplorationMixture(
        LastIterateByAveraging(PRM([2, 3])), gamma=0.1
    ),
    "hull[dilated, exploring]": lambda: rk.ConvexHull(
        [DILATED(), ExplorationMixture(rk.CFR(TREE, PRM), gamma=0.1)], minimizers.AdaHedge(2)
    ),
}


def classes():
    """Return every public class of a minimizer, from every module of the package."""
    found = set()
    for module in pkgutil.walk_packages(rk.__path__, "regretkit."):
        if module.name.split(".")[-1] == "__main__":
            continue
        for name, thing in vars(importlib.import_module(module.name)).items():
            if inspect.isclass(thing) and issubclass(thing, rk.RegretMinimizer):
                found |= set() if name.startswith("_") else {thing}
    return found


def every_row(check):
    """Hold every row to ``check``, under the name ``row:check``."""
    name = check.__name__.removeprefix("test_")
    ids = [f"{row}:{name}" for row in ROWS]
    return pytest.mark.parametrize("make", list(ROWS.values()), ids=ids)(check)


def trained(make, seed=0, iterations=12):
    return train(make(), np.random.default_rng(seed), iterations)


def goes_on(player, seed=1, iterations=30):
    """Return what is played from here on, against utilities and some predictions."""
    generator, played = np.random.default_rng(seed), []
    for utility, prediction in generator.normal(size=(iterations, 2, player.dimension)):
        if generator.random() < 0.3:
            player.expect_utility(prediction)
        played.append(player.next_strategy())
        player.observe_utility(utility)
    return np.array(played)


def test_every_class_is_abstract_or_has_a_row():
    concrete = {cls for cls in classes() if not inspect.isabstract(cls)}
    assert concrete - {type(part) for make in ROWS.values() for part in [make()]} == set()


@pytest.mark.deep_beyond(67)
@parametrize_with_checks(ROWS)
def test_every_minimizer_passes_the_checks_that_it_claims(monkeypatch, check, make):
    # These have hyperparameters that suit the unit 1: no other one is to help.
    monkeypatch.setattr(_growth, "UNITS", _growth.UNITS[:1])
    run_check(check, make)


@pytest.mark.deep_beyond(20)
@every_row
@pytest.mark.parametrize("asked", [False, True])
def test_copies_are_independent(make, asked):
    player = make() if asked else trained(make)
    if asked:
        player.next_strategy()
    twins = [copy.deepcopy(player)]
    if make.__class__ is partial:  # a factory that can be pickled makes what can be
        twins.append(pickle.loads(pickle.dumps(player)))

    played = [goes_on(twin) for twin in twins]

    expected = goes_on(player)  # last: any state shared with the twins has changed
    for strategies in played:
        np.testing.assert_array_equal(strategies, expected)


@pytest.mark.deep_beyond(35)
@every_row
def test_expecting_keeps_asking_pure_whether_asked_before_or_after(make):
    told, asked = trained(make), trained(make)
    prediction = np.random.default_rng(4).normal(size=told.dimension)
    told.expect_utility(prediction)
    asked.next_strategy()
    asked.expect_utility(prediction)

    first = told.next_strategy()

    assert all(np.array_equal(told.next_strategy(), first) for _ in range(3))
    np.testing.assert_array_equal(asked.next_strategy(), first)
    assert told.domain.contains(first)
    assert told.iteration == 12


@pytest.mark.deep_beyond(35)
@every_row
def test_huge_utilities_give_strategies_all_the_same(make):
    player = make()
    for signs in np.random.default_rng(6).choice([-1.0, 0.0, 1.0], size=(20, player.dimension)):
        player.observe_utility(1e98 * signs)
        player.expect_utility(-1e98 * signs)
        assert player.domain.contains(player.next_strategy())
