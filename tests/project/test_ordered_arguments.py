"""Numbers come in an order: a mapping, a set or a text is refused wherever some are wanted."""

import importlib
import inspect
import re
from functools import partial
from types import MappingProxyType

import numpy as np
import pytest
from attrs import evolve, frozen

import regretkit as rk
from regretkit import display, evaluation, games, sets
from regretkit.circuits import (
    AffineImage,
    Constrained,
    ExplorationMixture,
    FiniteDeviations,
    SharedStrategies,
    SharedStrategy,
    StochasticMatrices,
    linear_swap_regret,
    stationary_distribution,
    trigger_regret,
)
from regretkit.estimators import (
    BanditFeedback,
    ExactUtility,
    ExternalSampling,
    OutcomeSampling,
    assert_unbiased,
)
from regretkit.evaluation import (
    Estimate,
    best_coarse_correlated_equilibrium,
    best_correlated_equilibrium,
    best_extensive_form_correlated_equilibrium,
    cce_gaps,
    ce_gaps,
    sampled_local_best_response,
    sampled_value,
)
from regretkit.games import CHANCE, GameDAG, GameTree
from regretkit.minimizers import (
    Adapter,
    DilatedMirrorDescent,
    Kernel,
    MagneticMirrorDescent,
    ResponseBasedApproachability,
)
from regretkit.play import LazyMCCFR, StrategyAgent, play_match

PENNIES = games.matching_pennies()
TREE = rk.DecisionTree([0], [1])
UNIFORM = [np.full(2, 0.5)] * 2

BAD = {
    "dict": {0: 1.0, 1: -1.0},
    "mapping": MappingProxyType({1.0: 5.0, -1.0: 7.0}),
    "keys": {1.0: 5.0, -1.0: 7.0}.keys(),
    "set": {1.0, -1.0},
    "frozenset": frozenset([1.0, -1.0]),
    "text": "12",
    "bytes": b"12",
    "bytearray": bytearray(b"12"),
    "values": {"heads": 1.0, "tails": -1.0}.values(),
    "texts": ["1.0", "-1.0"],
    "a text": [1.0, "-1.0"],
    "objects": np.array([1.0, "-1.0"], dtype=object),
    "nothing": [1.0, None],
    "sets": [{1.0}, {-1.0}],
    "mappings": [{0: 1.0}, {0: -1.0}],
    "generator": lambda: (number for number in (1.0, -1.0)),
}


@frozen
class Once:
    """Chance moves, then player 0, then the game is over and pays what it is told to."""

    paid: object = (1.0, -1.0)
    outcomes: object = (("h", 0.5), ("t", 0.5))
    legal: object = ("h", "t")
    moves: str = ""

    def is_terminal(self):
        return len(self.moves) == 2

    def player(self):
        return 0 if self.moves else CHANCE

    def chance_outcomes(self):
        return self.outcomes

    def actions(self):
        return self.legal

    def child(self, action):
        return evolve(self, moves=self.moves + str(action))

    def information_set(self):
        return "now"

    def payoffs(self):
        return self.paid


MESSAGE = r"must|are no numbers|has (shape|2 strategies)"


def answers(bad):
    return [lambda information_set, actions: bad] * 2


def print_nothing():
    pass


def rng():
    return np.random.default_rng(1)


def uniform(information_set, actions):
    return np.full(len(actions), 1.0 / len(actions))


BY_RULES = {
    "GameTree.from_history": lambda root: GameTree.from_history(root),
    "GameDAG.from_history": lambda root: GameDAG.from_history(root, state=lambda h: h.moves),
    "LazyMCCFR": lambda root: LazyMCCFR(root, rk.RegretMatching, ExternalSampling(rng())).run(1),
    "sampled_value": lambda root: sampled_value(root, [uniform] * 2, samples=2, generator=rng()),
    "play_match": lambda root: play_match(
        root, [StrategyAgent([uniform] * 2, rng()) for _ in "xy"], rounds=2, generator=rng()
    ),
    "sampled_local_best_response": lambda root: sampled_local_best_response(
        root, 0, [uniform] * 2, samples=2, generator=rng()
    ),
}
SETS = {
    "DecisionProblem": TREE,
    "DecisionDAG": sets.DecisionDAG([[0]], [1]),
    "Simplices": rk.Simplices(2),
    "Ball": sets.Ball([0.0, 0.0], 1.0),
    "Box": sets.Box([0.0, 0.0], [1.0, 1.0]),
    "Hull": sets.Hull([rk.Simplices(2)]),
    "MinkowskiSumSet": sets.MinkowskiSumSet([rk.Simplices(2)]),
    "Polytope": sets.Polytope(np.eye(2)),
    "ProductSet": sets.ProductSet([rk.Simplices(2)]),
    "ScaledSet": sets.ScaledSet(rk.Simplices(2), 2.0),
    "Singleton": sets.Singleton([1.0, 0.0]),
    "StrategySet": rk.Simplices(2),
}
TREE_GAME = {
    "parent": [-1, 0, 0],
    "player": [0, -2, -2],
    "information_set": [0, -1, -1],
    "action": [-1, 0, 1],
    "probability": [1.0, 1.0, 1.0],
    "payoffs": [[1.0], [2.0]],
    "labels": [["a"]],
    "actions": [[["x", "y"]]],
    "outcomes": [],
}
KUHN = games.kuhn_poker()
MEDIATOR = evaluation.MediatorGame(games.in_out(), penalty=1.0)
TEAM = evaluation.team_maxmin(games.kuhn_poker(players=3), 0).plan
FORGETFUL = games.ImperfectRecallGame(
    GameTree(
        parent=[-1, 0, 0, 1, 1, 2, 2],
        player=[0, 0, 0, -2, -2, -2, -2],
        information_set=[0, 1, 1, -1, -1, -1, -1],
        action=[-1, 0, 1, 0, 1, 0, 1],
        probability=np.ones(7),
        payoffs=np.eye(4)[:, :1],
        labels=[["first", "then"]],
        actions=[[["x", "y"]] * 2],
        outcomes=[],
    )
)
DAG = GameDAG.from_history(Once(), state=lambda h: h.moves)
ONCE = rk.ExtensiveFormGame(GameTree.from_history(Once()))
RUN = rk.SelfPlay(PENNIES, [rk.RegretMatching(2), rk.RegretMatching(2)])
TWO = rk.Simplices([2, 2])
PARTS = [rk.RegretMatching(1), rk.RegretMatching(1)]


PROFILES = {
    f"{name}(profile)": f
    for name, f in {
        "NormalFormGame.value": PENNIES.value,
        "ExtensiveFormGame.value": KUHN.value,
        "ImperfectRecallGame.coarsen": FORGETFUL.coarsen,
        "NormalFormGame.utility": partial(PENNIES.utility, 0),
        "ExtensiveFormGame.utility": partial(KUHN.utility, 0),
        "MediatorGame.value": MEDIATOR.value,
        "MediatorGame.utility": partial(MEDIATOR.utility, 0),
        "MediatorGame.equilibrium": MEDIATOR.equilibrium,
        "CorrelatedPlay.add": rk.CorrelatedPlay(PENNIES).add,
        "SelfPlay.learn": partial(RUN.learn, 0),
        "SelfPlay.expect": partial(RUN.expect, 0),
        "best_response": partial(rk.best_response, PENNIES, 0),
        "certify": partial(evaluation.certify, PENNIES),
        "certify_gaps": partial(evaluation.certify_gaps, PENNIES),
        "best_response_gains": partial(evaluation.best_response_gains, PENNIES),
        "duality_gap": partial(evaluation.duality_gap, PENNIES),
        "expected_value": partial(evaluation.expected_value, PENNIES),
        "exploitability": partial(rk.exploitability, PENNIES),
        "local_best_response": partial(evaluation.local_best_response, KUHN, 0),
        "nash_conv": partial(rk.nash_conv, PENNIES),
        "purify": partial(evaluation.purify, PENNIES),
        "threshold": partial(evaluation.threshold, PENNIES, minimum=0.1),
        "BanditFeedback.utility": partial(BanditFeedback(rng()).utility, PENNIES, 0),
        "ExactUtility.utility": partial(ExactUtility().utility, PENNIES, 0),
        "Estimator.utility": partial(ExternalSampling(rng()).utility, KUHN, 0),
        "Estimator.utility, normal form": partial(ExternalSampling(rng()).utility, PENNIES, 0),
        "Estimator.variance": partial(ExactUtility().variance, PENNIES, 0),
        "to_openspiel_policy": partial(games.to_openspiel_policy, KUHN),
    }.items()
}

ENTRIES = {
    # Sets
    **{
        f"{name}.{method}(point)": getattr(one, method)
        for name, one in SETS.items()
        for method in ("contains", "project")
        if hasattr(one, method) and (method, one.__class__) != ("project", rk.Simplices)
    },
    **{
        f"{name}.best_response(utility)": lambda bad, one=one: one.best_response(bad)
        for name, one in SETS.items()
    },
    "Simplices(sizes)": lambda bad: rk.Simplices(bad),
    "Simplices.select(blocks)": lambda bad: TWO.select(bad),
    "Simplices.coordinates(blocks)": lambda bad: TWO.coordinates(bad),
    "as_simplices(value)": lambda bad: sets.as_simplices(bad),
    "linear_swap_regret(domain)": lambda bad: linear_swap_regret(bad, rk.RegretMatching),
    "trigger_regret(domain)": lambda bad: trigger_regret(bad, rk.RegretMatching),
    "ResponseBasedApproachability(domain)": lambda bad: ResponseBasedApproachability(bad),
    "DecisionTree(parent_sequence)": lambda bad: rk.DecisionTree(bad, [2, 2]),
    "DecisionTree(sizes)": lambda bad: rk.DecisionTree([0, 1], bad),
    "DecisionDAG(parents)": lambda bad: sets.DecisionDAG(bad, [2, 2]),
    "DecisionDAG(parents), one": lambda bad: sets.DecisionDAG([[0], bad], [2, 2]),
    "DecisionDAG(parent_counts)": lambda bad: sets.DecisionDAG([0], [2], parent_counts=bad),
    "DecisionDAG(sizes)": lambda bad: sets.DecisionDAG([[0], [1]], bad),
    "DecisionProblem.best_values(utility)": lambda bad: TREE.best_values(bad),
    "DecisionProblem.sequence_form(behavior)": lambda bad: TREE.sequence_form(bad),
    "DecisionProblem.counterfactual(utility)": lambda bad: TREE.counterfactual(bad, np.ones(1)),
    "DecisionProblem.counterfactual(behavior)": lambda bad: TREE.counterfactual(np.ones(2), bad),
    "Box(low)": lambda bad: sets.Box(bad, [1.0, 1.0]),
    "Box(high)": lambda bad: sets.Box([-9.0, -9.0], bad),
    "Ball(center)": lambda bad: sets.Ball(bad, 1.0),
    "Polytope(vertices)": lambda bad: sets.Polytope(bad),
    "Singleton(point)": lambda bad: sets.Singleton(bad),
    "AffineImageSet(matrix)": lambda bad: sets.AffineImageSet(TWO, bad),
    "AffineImageSet(offset)": lambda bad: sets.AffineImageSet(rk.Simplices(2), np.eye(2), bad),
    "ProductSet(coordinates)": lambda bad: sets.ProductSet([rk.Simplices(1)] * 2, bad),
    "ProductSet.join(parts)": lambda bad: sets.ProductSet([rk.Simplices(1)] * 2).join(bad),
    "ProductSet.join(parts), a part": lambda bad: SETS["ProductSet"].join([bad]),
    # Minimizers and circuits
    "RegretMinimizer.observe_utility(utility)": lambda bad: rk.RegretMatching(2).observe_utility(
        bad
    ),
    "RegretMinimizer.expect_utility(prediction)": lambda bad: rk.RegretMatching(2).expect_utility(
        bad
    ),
    "SimplexRule(simplices)": lambda bad: rk.RegretMatching(bad),
    "Adapter(domain)": lambda bad: Adapter(rk.RegretMatching(2), bad),
    "SwapRegret(simplices)": lambda bad: rk.SwapRegret(bad, rk.RegretMatching),
    "StochasticMatrices(simplices)": lambda bad: StochasticMatrices(bad),
    "DilatedMirrorDescent(magnet)": lambda bad: DilatedMirrorDescent(TREE, rate=1.0, magnet=bad),
    "MagneticMirrorDescent(magnet)": lambda bad: MagneticMirrorDescent(
        2, rate=1.0, temperature=1.0, magnet=bad
    ),
    "Kernel(parameters)": lambda bad: Kernel(print_nothing, print_nothing, parameters=bad),
    "Point(point)": lambda bad: rk.Point(bad),
    "Product(coordinates)": lambda bad: rk.Product(PARTS, bad),
    "AffineImage(matrix)": lambda bad: AffineImage(rk.RegretMatching(2), bad),
    "AffineImage(offset)": lambda bad: AffineImage(rk.RegretMatching(2), np.eye(2), bad),
    "Constrained(matrix)": lambda bad: Constrained(rk.RegretMatching(2), bad, [1.0], 1.0),
    "Constrained(bound)": lambda bad: Constrained(rk.RegretMatching(2), np.eye(2), bad, 1.0),
    "ExplorationMixture(reference)": lambda bad: ExplorationMixture(
        rk.RegretMatching(2), gamma=0.1, reference=bad
    ),
    "FiniteDeviations(matrices)": lambda bad: FiniteDeviations(bad),
    "SharedStrategies(groups)": lambda bad: SharedStrategies(rk.RegretMatching(2), bad),
    "SharedStrategy(groups)": lambda bad: SharedStrategy(rk.RegretMatching, bad)(TWO),
    "stationary_distribution(matrix)": lambda bad: stationary_distribution(bad),
    "Average.add(strategy)": lambda bad: rk.Average().add(bad),
    # Games
    "NormalFormGame(others)": lambda bad: rk.NormalFormGame([1.0, 2.0], bad),
    "NormalFormGame(payoffs)": lambda bad: rk.NormalFormGame(bad),
    "matrix_game(others)": lambda bad: rk.matrix_game([[1.0, 2.0]], bad),
    "matrix_game(payoffs)": lambda bad: rk.matrix_game(bad),
    "battleship(lengths)": lambda bad: games.battleship(lengths=bad),
    "battleship(values)": lambda bad: games.battleship(lengths=(1, 1), values=bad),
    "pursuit_evasion(goals)": lambda bad: games.pursuit_evasion(goals=bad),
    **{
        f"GameTree({name})": lambda bad, name=name: GameTree(**{**TREE_GAME, name: bad})
        for name in ("parent", "player", "information_set", "action", "probability", "payoffs")
    },
    "sealed_bid_auction(values)": lambda bad: games.sealed_bid_auction(bad),
    "Profile.from_labels(strategies)": lambda bad: games.Profile.from_labels(KUHN, {"J": bad}),
    "Profile.replace(strategies)": lambda bad: games.Profile.uniform(KUHN).replace({"J": bad}),
    "security_value(strategy)": lambda bad: evaluation.security_value(PENNIES, 0, bad),
    "local_best_response(continuation)": lambda bad: evaluation.local_best_response(
        KUHN, 0, games.Profile.uniform(KUHN), continuation=bad
    ),
    "Profile(strategies)": lambda bad: games.Profile(bad, PENNIES.domains),
    "Profile(strategies), one": lambda bad: games.Profile([bad, UNIFORM[0]], PENNIES.domains),
    **PROFILES,
    "GameDAG.utility(behaviors)": partial(DAG.utility, 0),
    "GameDAG.to_tree_profile(behaviors)": partial(DAG.to_tree_profile, game=ONCE),
    **{f"{name}, its strategies": lambda bad, f=f: f([bad, bad]) for name, f in PROFILES.items()},
    # Sampling and evaluation
    "OutcomeSampling(reference)": lambda bad: OutcomeSampling(rng(), reference=bad),
    "OutcomeSampling(reference), one": lambda bad: OutcomeSampling(
        rng(), reference=[bad, UNIFORM[0]]
    ),
    "assert_unbiased(profiles)": lambda bad: assert_unbiased(
        PENNIES, ExactUtility(), profiles=[[bad, UNIFORM[0]]]
    ),
    "cce_gaps(distribution)": lambda bad: cce_gaps(PENNIES, bad),
    "ce_gaps(distribution)": lambda bad: ce_gaps(PENNIES, bad),
    "certify_gaps(play)": lambda bad: evaluation.certify_gaps(PENNIES, bad, "ce"),
    "certify_gaps(weights)": lambda bad: evaluation.certify_gaps(
        PENNIES, [[[0.5, 0.5]] * 2] * 2, "ce", weights=bad
    ),
    "best_correlated_equilibrium(objective)": lambda bad: best_correlated_equilibrium(PENNIES, bad),
    "best_coarse_correlated_equilibrium(objective)": lambda bad: best_coarse_correlated_equilibrium(
        PENNIES, bad
    ),
    "best_extensive_form_correlated_equilibrium(objective)": lambda bad: (
        best_extensive_form_correlated_equilibrium(KUHN, bad)
    ),
    "MediatorGame(objective)": lambda bad: evaluation.MediatorGame(KUHN, bad, penalty=1.0),
    "CorrelatedPlan.probability(sequences)": TEAM.probability,
    "Estimate.of(samples)": lambda bad: Estimate.of(bad),
    "sampled_value(strategies)": lambda bad: sampled_value(
        Once(), answers(bad), samples=2, generator=rng()
    ),
    "sampled_local_best_response(strategies)": lambda bad: sampled_local_best_response(
        Once(paid=(1.0, 2.0)), 1, answers(bad), samples=2, generator=rng()
    ),
    "StrategyAgent(strategy)": lambda bad: play_match(
        Once(), [StrategyAgent(answers(bad), rng())] * 2, rounds=2, generator=rng()
    ),
    "hold_em_report(profile)": lambda bad: evaluation.hold_em_report(rk.games.hold_em(), bad),
    "hold_em_table(solutions)": lambda bad: evaluation.hold_em_table(
        {"board": (rk.games.hold_em(), bad)}
    ),
    "range_grid(profile)": lambda bad: display.range_grid(rk.games.hold_em(), bad),
    "simplex(paths)": lambda bad: display.simplex(bad if isinstance(bad, set) else [bad]),
    **{f"payoffs of {name}": lambda bad, f=f: f(Once(bad)) for name, f in BY_RULES.items()},
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_what_holds_numbers_in_no_order_is_refused(entry):
    passed = []
    for name, bad in BAD.items():
        try:
            ENTRIES[entry](bad() if name == "generator" else bad)
            passed.append(name)
        except (TypeError, ValueError) as error:
            message = str(error)
            if len(message) > 500 or not re.search(MESSAGE, message):
                passed.append(f"{name}: {message}")
    assert not passed


@pytest.mark.parametrize("entry", BY_RULES)
def test_what_chance_may_do_comes_in_an_order(entry):
    for bad in ({"h": 0.5, "t": 0.5}, {("h", 0.5), ("t", 0.5)}, {"h1": 0, "t0": 1}):
        with pytest.raises(TypeError, match=r"chance_outcomes\(\) must be a sequence.*, got "):
            BY_RULES[entry](Once(outcomes=bad))


PACKAGES = (
    "averaging checks circuits display engine estimators evaluation games minimizers play sets"
)
NAMED = {"profile", "profiles", "strategies", "reference", "behavior", "behaviors", "parts"}
UNWALKED = {
    "FixedStrategyIteration": "passes what it gets to the game, as SelfPlay does",
    "UpdateContext": "an interface",
    "compare(seeds)": "whole numbers, in any order",
    "Game": "an interface",
    "Baseline": "an interface",
    "ExactBaseline": "called by estimators only",
    "LearnedBaseline": "called by estimators only",
    "sampled_local_best_response(continuation)": "converted as its strategies are",
    "hold_em(ranges)": "texts and mappings are ranges too; tests/games/test_poker_ranges.py",
    "VisitedStrategy": "made by runs and read from files",
    "ImperfectRecallGame.utility": "always raises",
    "ImperfectRecallGame.value": "always raises",
}


def parameters_of_numbers():
    """Yield all public parameters that take sequences of numbers, as ``function(parameter)``."""
    for package in PACKAGES.split():
        module = importlib.import_module(f"regretkit.{package}")
        for name in getattr(module, "__all__", dir(module)):
            for label, function in functions_of(name, getattr(module, name)):
                for parameter in inspect.signature(function).parameters.values():
                    kind = str(parameter.annotation)
                    if re.search(r"_array_like|(Sequence|Iterable)\[(int|float)\]", kind) or (
                        "ndarray" in kind and parameter.name in NAMED
                    ):
                        yield f"{label}({parameter.name})"


def functions_of(name, value):
    if inspect.isroutine(value):
        yield name, value
    elif inspect.isclass(value) and value.__module__.startswith("regretkit."):
        if not issubclass(value, rk.SimplexRule) or value is rk.SimplexRule:
            yield name, value  # the parameter of all rules is one and the same
        for method, function in vars(value).items():
            function = getattr(function, "__func__", function)
            if inspect.isfunction(function) and not method.startswith("_"):
                yield f"{name}.{method}", function


def test_every_parameter_that_takes_numbers_is_walked():
    missing = {
        found
        for found in {*parameters_of_numbers()} - {*ENTRIES}
        if not {found.split(".")[0], found.split("(")[0], found} & {*UNWALKED}
    }
    assert not missing, "\n".join(missing)
