"""The ways to run self-play, what to run in them, and how to tell that they agree."""

import inspect
from functools import partial

import numpy as np

import regretkit as rk
from regretkit import SelfPlay
from regretkit.engine.kernels._iteration import over_range, over_sequences
from regretkit.minimizers import (
    DiscountedRegretMatchingPlus,
    Entropy,
    Euclidean,
    FollowTheRegularizedLeader,
    OnlineMirrorDescent,
    PredictiveDiscountedRegretMatchingPlus,
)
from regretkit.minimizers.contrib import (
    AdaptiveAsymmetricRegretMatchingPlus,
    AsymmetricRegretMatchingPlus,
    ExtragradientRegretMatchingPlus,
    HSDiscountedRegretMatching,
)
from regretkit.play import (
    Algorithm,
    Alternating,
    HorizonPower,
    Last,
    Linear,
    Power,
    Quadratic,
    RandomPlayer,
    Simultaneous,
    Uniform,
)
from regretkit.trace import find_kernel

FAST = ("compiled",)
ENGINES = (*FAST, "numpy")
HORIZON = 150


def _regularized(kind, regularizer, optimistic=False):
    return partial(kind, regularizer=regularizer, rate=0.3, optimistic=optimistic)


# Rules that are compiled, of all that the named algorithms use and of the regularized ones
RULES = {
    "rm": rk.RegretMatching,
    "rm+": rk.RegretMatchingPlus,
    "linear": rk.LinearRegretMatching,
    "drm": rk.DiscountedRegretMatching,
    "drm(inf,-inf)": partial(rk.DiscountedRegretMatching, alpha=np.inf, beta=-np.inf),
    "drm+": DiscountedRegretMatchingPlus,
    "scheduled": partial(HSDiscountedRegretMatching, horizon=HORIZON),
    "prm": rk.PredictiveRegretMatching,
    "prm+": rk.PredictiveRegretMatchingPlus,
    "asymmetric": AsymmetricRegretMatchingPlus,
    "pdrm+": PredictiveDiscountedRegretMatchingPlus,
    "adaptive": AdaptiveAsymmetricRegretMatchingPlus,
    "told": partial(ExtragradientRegretMatchingPlus, rate=0.3),
    "hedge": partial(rk.Hedge, rate=0.3),
    "optimistic hedge": partial(rk.OptimisticHedge, rate=0.3),
    "ftrl entropy": _regularized(FollowTheRegularizedLeader, Entropy()),
    "optimistic ftrl entropy": _regularized(FollowTheRegularizedLeader, Entropy(), True),
    "ftrl euclid": _regularized(FollowTheRegularizedLeader, Euclidean()),
    "optimistic ftrl euclid": _regularized(FollowTheRegularizedLeader, Euclidean(), True),
    "omd entropy": _regularized(OnlineMirrorDescent, Entropy()),
    "optimistic omd entropy": _regularized(OnlineMirrorDescent, Entropy(), True),
    "omd euclid": _regularized(OnlineMirrorDescent, Euclidean()),
    "optimistic omd euclid": _regularized(OnlineMirrorDescent, Euclidean(), True),
}

AVERAGINGS = {
    "uniform": Uniform(),
    "linear": Linear(),
    "quadratic": Quadratic(),
    "power": Power(3.5),
    "last": Last(),
    "horizon": HorizonPower(15.0),
}


def kernel(rule):
    return find_kernel(rule(rk.Simplices([2, 3])))


def _one_for_each_kernel():
    code = {name: kernel(rule) for name, rule in RULES.items()}
    names = {(code[name].propose, code[name].learn): name for name in reversed(RULES)}
    return {name: RULES[name] for name in RULES if name in names.values()}


# One rule for each piece of machine code: more of them only differ in numbers.
KERNELS = _one_for_each_kernel()


def random_player():
    return RandomPlayer(np.random.default_rng(9))


def orders(players):
    """Return ways to make an order of play, by name."""
    alternating = {f"from {p}": partial(Alternating, first=p) for p in range(players)}
    return {"simultaneous": Simultaneous, "random": random_player, **alternating}


UNIFORM = Uniform()


def started(game, rule, order=Alternating, averaging=UNIFORM, engine="numpy"):
    """Return a run before its first iteration."""
    return SelfPlay(
        game,
        [Algorithm(rule).minimizer(domain) for domain in game.domains],
        order=order(),
        averaging=averaging,
        horizon=HORIZON,
        engine=engine,
    )


def moved(run, engine):
    """Return a new run of the same, continued by another engine."""
    rule = run.minimizers[0].local if isinstance(run.minimizers[0], rk.CFR) else None
    order = random_player if isinstance(run.order, RandomPlayer) else lambda: run.order
    second = started(run.game, rule or run.minimizers[0].on_domain, order, run.averaging, engine)
    second.load_state_dict(run.state_dict())
    return second


# How far apart


def rules_of(run):
    return [getattr(minimizer, "rule", minimizer) for minimizer in run.minimizers]


def learned(rule):
    return dict(_arrays(rule.state_dict()))


def _arrays(state):
    for name, value in state.items():
        if isinstance(value, dict):
            yield from _arrays(value)
        elif isinstance(value, np.ndarray) and name != "_strategy":  # which NumPy finds when asked
            yield name, value


IN_UNITS_OF_REGRET = ("regrets", "predicted_regrets", "errors", "steps")


def apart(run, second, unit=0.0):
    """Return how far two runs' regrets are apart, in units of the largest of the same block."""
    worst = 0.0
    for rule, twin in zip(rules_of(run), rules_of(second), strict=True):
        found, expected, simplices = learned(rule), learned(twin), rule.simplices
        assert found.keys() == expected.keys()
        largest = np.maximum(simplices.max(np.abs(found["regrets"])), unit)
        for name in found.keys() & set(IN_UNITS_OF_REGRET):
            difference = np.abs(found[name] - expected[name])
            by_block = difference.shape == largest.shape
            units = largest if by_block else simplices.repeat(largest)
            nonzero = difference > 0.0
            worst = max([worst, *(difference[nonzero] / units[nonzero])])
    return worst


def apart_in_payoffs(run, second):
    """Return how far two runs' regrets are apart, in units of the largest payoff at least."""
    return apart(run, second, np.abs(run.game.payoffs).max())


def assert_same_bits(run, second):
    assert run.iteration == second.iteration
    for found, expected in zip(run.average, second.average, strict=True):
        np.testing.assert_array_equal(found, expected)
    for found, expected in zip(run.current, second.current, strict=True):
        np.testing.assert_array_equal(found, expected)
    for rule, twin in zip(rules_of(run), rules_of(second), strict=True):
        found, expected = learned(rule), learned(twin)
        assert found.keys() == expected.keys()
        for name, array in found.items():
            np.testing.assert_array_equal(array, expected[name], err_msg=name)


class Written:
    """In place of machine code, the Python that it is made of."""

    def __init__(self, function, results=0):
        self.function = function

    def prepared(self, *arguments):
        return None

    def address(self, *arguments):
        """Return a rule over a range; in its kernel a division by zero is no error."""
        (inner,) = (
            x for x in inspect.getclosurevars(self.function).nonlocals.values() if callable(x)
        )
        parts = inspect.getclosurevars(inner).nonlocals
        kernel = (vars(parts[name])["py_func"] for name in ("propose", "learn"))
        if "places" in parts:
            return over_range(*kernel, parts["places"])
        return over_sequences(*kernel, parts["rows"], parts["core"])

    def __call__(self, *arguments):
        with np.errstate(all="ignore"):
            return self.function(*arguments)
