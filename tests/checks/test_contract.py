"""Every check of the contract, for every minimizer of the package and for circuits of them."""

import copy
import importlib
import inspect
import json
import pickle
import pkgutil
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from factories import MAKERS, parts_of, train
from test_user_rules import (
    FollowTheLeader,
    PlainRegretMatching,
    Trembling,
)

import regretkit as rk
from regretkit import minimizers
from regretkit.checks import CHECKS, checks_of, parametrize_with_checks, run_check
from regretkit.circuits import (
    EFR,
    AffineImage,
    Constrained,
    Discount,
    ExplorationMixture,
    FiniteDeviations,
    LastIterateByAveraging,
    MinkowskiSum,
    Regularized,
    Restart,
    SharedStrategy,
    TreeSwap,
    internal_maps,
    linear_swap_regret,
    trigger_regret,
)
from regretkit.minimizers import contrib
from regretkit.sets import Ball, DecisionDAG, Simplices

TREE = rk.DecisionTree([0, 2, 0, 5, 2], [2, 3, 2, 1, 2], labels=list("abcde"))
PRM = rk.PredictiveRegretMatchingPlus


def over(rule, **options):
    """Return what builds a rule over a block of two actions and one of three."""
    return partial(rule, [2, 3], **options)


def swap(actions):
    return rk.SwapRegret(actions, rk.RegretMatching)


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
    "point": partial(rk.Point, [0.5, -1.0]),
    "best_response": partial(rk.BestResponse, TREE),
    "single_action": partial(rk.RegretMatching, 1),
    "product": lambda: rk.Product([rk.RegretMatching(2), rk.Hedge([2, 2], rate=1.0)]),
    "hull": partial(hull, rk.RegretMatching, rk.RegretMatchingPlus),
    "product[hull[swap], internal]": product_of_hulls_of_swaps,
    "phi[internal]": partial(internal, 3),
    "phi[nearly]": lambda: rk.PhiRegret(rk.RegretMatching(6), internal_maps(3), steps=20),
    "phi[stay or swap]": lambda: rk.PhiRegret(
        rk.RegretMatching(2), FiniteDeviations([np.eye(2), np.eye(2)[::-1]])
    ),
    "swap": partial(rk.SwapRegret, [2, 3], rk.RegretMatching),
    "drm+, forgetful at first": over(minimizers.DiscountedRegretMatchingPlus, shift=10.0),
    "forgetful pdrm+": over(minimizers.PredictiveDiscountedRegretMatchingPlus, alpha=-1.0),
    "forgetful drm+": over(minimizers.DiscountedRegretMatchingPlus, alpha=-1.0),
    "tree swap": lambda: TreeSwap(lambda: rk.RegretMatching(3), layers=2, branching=3),
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
    "efr": partial(EFR, TREE),
    "efr[action]": partial(EFR, TREE, "informed_action"),
    "efr[simplices]": partial(EFR, Simplices([2, 3]), "cfps"),
    "circuit": partial(rk.circuit, TREE, rk.RegretMatching),
    "own": partial(FollowTheLeader, 3),
    "own[plain]": partial(PlainRegretMatching, [2, 3]),
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


# Images, sums, constraints and wrappers.
ROWS |= {
    "image": lambda: image(rk.RegretMatching([2, 3])),
    "sum": lambda: MinkowskiSum([rk.RegretMatching(3), image(PRM(2)), rk.Point(np.ones(3))]),
    "constrained": lambda: constrained(rk.RegretMatching(4)),
    "constrained[cfr]": lambda: constrained(rk.CFR(TREE, PRM), PRM),
    "restart": lambda: Restart(rk.RegretMatching([2, 3]), every=5),
    "restart[cfr]": lambda: Restart(rk.CFR(TREE, PRM), every=4),
    "restart[random]": lambda: Restart(Trembling(3), every=5),
    "discount": lambda: Discount(rk.RegretMatching([2, 3]), weight=float),
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
    "volatility": over(contrib.VolatilityAdaptiveRegretMatching),
}


def conic(actions):
    return minimizers.ConicBlackwell(Simplices(actions))


REGULARIZED = {"regularizer": minimizers.Euclidean(), "rate": 0.1}
DILATED = partial(minimizers.DilatedMirrorDescent, tree=TREE, rate=0.3)
ROWS |= {
    "ftrl": over(minimizers.FollowTheRegularizedLeader, **REGULARIZED),
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
    "conic": partial(minimizers.ConicBlackwell, Simplices([2, 3])),
    "response": partial(minimizers.ResponseBasedApproachability, 3),
    "response[ball]": partial(minimizers.ResponseBasedApproachability, Ball([1.0, 2.0], 3.0)),
    "conic[far]": partial(minimizers.ConicBlackwell, Ball([5.0, 0.0], 1.0), kappa=5.0),
    "conic[ball]": partial(minimizers.ConicBlackwell, Ball([1.0, 2.0], 3.0), kappa=2.0),
    "dilated": DILATED,
    "dilated[euclidean]": partial(DILATED, regularizer=minimizers.Euclidean(), optimistic=True),
    "dilated[magnetic]": partial(DILATED, temperature=0.1, weight=2.0),
    "cfr[each conic]": partial(rk.CFR, TREE, rk.PerDecisionPoint(conic)),
    "exploring": lambda: ExplorationMixture(rk.OptimisticHedge([2, 3], rate=1.0), gamma=0.1),
    "alike": lambda: SharedStrategy([2, 3, 2], PRM, [0, 1, 0]),
    "average": lambda: LastIterateByAveraging(rk.Hedge([2, 3], rate=1.0)),
    "regularized": lambda: Regularized(rk.Hedge([2, 3], rate=1.0), lambda u, x, r: u - x + r),
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


def test_every_class_is_abstract_a_base_or_has_a_row():
    library = [cls for cls in classes() if not cls.__module__.endswith("._base")]
    concrete = {cls for cls in library if not inspect.isabstract(cls)}
    assert concrete - {type(part) for make in ROWS.values() for part in [make()]} == set()


# Every row meets a check or two in the main suite, and every check some rows.
@pytest.mark.deep_beyond(150)
@parametrize_with_checks(ROWS)
def test_every_minimizer_passes_the_checks_that_it_claims(check, make):
    run_check(check, make)


# Exemptions


def test_the_documentation_prints_every_exemption_with_its_reason():
    held = [part for make in ROWS.values() for part in parts_of(make())]
    found = {(type(part).__name__, part.no_guarantee) for part in held if part.no_guarantee}
    found = {row for row in found if row[0] in {kind.__name__ for kind in classes()}}
    path = Path(__file__).parents[2] / "docs" / "how_to" / "check_your_minimizer_in_ci.md"
    printed = set(re.findall(r"^\| `([A-Z]\w+)` \| (.+) \|$", path.read_text(), re.MULTILINE))
    assert printed == found
    # One more needs a reason that is a theorem or a definition, and this number changed by hand.
    assert len(printed) == 20


def test_a_circuit_need_not_pass_the_check_that_a_part_does_not_pass():
    inner = rk.BestResponse(rk.Simplices(2))
    (left_out,) = {*CHECKS} - {*checks_of(rk.Product([rk.Product([inner]), rk.RegretMatching(2)]))}
    assert left_out.__name__ == "regret_grows_slowly"


# State

each_row = pytest.mark.parametrize("make", ROWS.values(), ids=ROWS)
PLAIN = (bool, int, float, str, type(None), np.ndarray)


def leaves(state, place=""):
    """Yield the name and value of everything in nested dicts that is no dict."""
    for key, value in state.items():
        assert type(key) is str
        if type(value) is dict:
            yield from leaves(value, f"{place}/{key}")
        else:
            yield f"{place}/{key}", value


@pytest.mark.deep_beyond(40)
@each_row
@pytest.mark.parametrize("told", [False, True])
def test_copies_and_states_go_on_bitwise_and_share_nothing(make, told):
    player, prediction = trained(make), np.random.default_rng(4).normal(size=make().dimension)
    if told:  # what is expected is a part of the state until it comes true
        player.expect_utility(prediction)
    state = player.state_dict()
    for path, value in leaves(state):
        assert type(value) in PLAIN, path
        assert not isinstance(value, np.ndarray) or value.dtype != object, path
    text = json.dumps(state, default=lambda array: array.tolist())
    fresh, read = make(), make()
    fresh.load_state_dict(state)
    read.load_state_dict(json.loads(text))
    twins = [fresh, read, copy.deepcopy(player)]
    if isinstance(make, partial):  # a factory that can be pickled makes what can be
        twins.append(pickle.loads(pickle.dumps(player)))

    strategy = player.next_strategy().copy()
    assert player.domain.contains(strategy)
    player.load_state_dict(state)  # which was taken before the strategy was
    np.testing.assert_array_equal(player.next_strategy(), strategy)
    for _, value in leaves(state):
        if isinstance(value, np.ndarray):
            value[...] = 7  # writing into it is safe
    played = [goes_on(twin) for twin in twins]
    expected = goes_on(player)  # last: any state shared with the twins has changed

    for strategies in played:
        np.testing.assert_array_equal(strategies, expected)


def edited(state, path, edit):
    """Return a copy of ``state`` in which ``edit`` was done to the dict that holds ``path``."""
    result = copy.deepcopy(state)
    *parents, last = path.strip("/").split("/")
    holder = result
    for name in parents:
        holder = holder[name]
    edit(holder, last)
    return result


def broken(state):
    """Yield states that do not fit where ``state`` does."""
    yield from ({}, {**state, "extra": 1.0}, list(state.items()))
    for path, value in leaves(state):
        yield edited(state, path, lambda holder, last: holder.pop(last))
        others = [{"0": 1.0}, object()]
        if isinstance(value, np.ndarray):
            others += [np.append(value, 0.0), "regrets", np.ones(value.shape, int), 1.0, None]
        if type(value) is int and not path.startswith("/generator"):
            others += ["many", np.ones(3), None]
        for other in others:
            yield edited(state, path, lambda holder, last, o=other: holder.update({last: o}))


@pytest.mark.deep_beyond(12)
@each_row
def test_what_is_refused_changes_nothing(make):
    player, twin = trained(make), trained(make)
    state, good = player.state_dict(), np.zeros(player.dimension)
    wrong = [np.append(good, 0.0), good[:, None], ["one"] * player.dimension, None, good + 1e301]
    wrong += [np.where(np.arange(good.size) == good.size - 1, x, good) for x in (np.nan, -np.inf)]

    for verb in (player.observe_utility, player.expect_utility):
        for utility in wrong:
            with pytest.raises((TypeError, ValueError), match=r"utility|prediction"):
                verb(utility)
    shape = {path: np.shape(value) for path, value in leaves(state)}
    others = [trained(other).state_dict() for other in [*ROWS.values()][::9]]
    foreign = [o for o in others if {path: np.shape(v) for path, v in leaves(o)} != shape]
    for other in [*broken(state), *foreign]:
        with pytest.raises((TypeError, ValueError), match="state"):
            player.load_state_dict(other)

    np.testing.assert_equal(player.state_dict(), state)
    np.testing.assert_array_equal(goes_on(player), goes_on(twin))


@pytest.mark.deep_beyond(40)
@each_row
def test_huge_utilities_give_strategies_all_the_same(make):
    player = make()
    for signs in np.random.default_rng(6).choice([-1.0, 0.0, 1.0], size=(20, player.dimension)):
        player.observe_utility(1e98 * signs)
        player.expect_utility(-1e98 * signs)
        assert player.domain.contains(player.next_strategy())


def test_a_refused_state_says_what_was_wanted_and_where():
    player = rk.CFR(rk.DecisionTree([0, 2], [2, 2]), rk.RegretMatching)
    state = player.state_dict()
    missing = edited(state, "/rule/regrets", lambda holder, last: holder.pop(last))
    with pytest.raises(ValueError, match=r"state\['rule'\] .*'regrets'.*, got \[.*"):
        player.load_state_dict(missing)
    state["rule"]["regrets"] = np.zeros(5)
    with pytest.raises(ValueError, match=r"must have shape \(4,\) .* got \(5,\)"):
        player.load_state_dict(state)
