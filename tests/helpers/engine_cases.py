"""The ways to run self-play, what to run in them, and how to tell that they agree."""

import inspect
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest

import regretkit as rk
from regretkit import SelfPlay
from regretkit.engine import _compiled, _sampled_run
from regretkit.engine.kernels._iteration import over_range, over_sequences
from regretkit.estimators import ExactUtility
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


def random_player():
    return RandomPlayer(np.random.default_rng(9))


def orders(players):
    """Return ways to make an order of play, by name."""
    alternating = {f"from {p}": partial(Alternating, first=p) for p in range(players)}
    return {"simultaneous": Simultaneous, "random": random_player, **alternating}


UNIFORM = Uniform()


def started(
    game, makers, order=Alternating, averaging=UNIFORM, engine="numpy", sampling=ExactUtility
):
    """Return a run before its first iteration, of one rule or of a maker for each player."""
    if callable(makers):
        makers = [Algorithm(makers).minimizer] * game.players
    return SelfPlay(
        game,
        [make(domain) for make, domain in zip(makers, game.domains, strict=True)],
        order=order(),
        averaging=averaging,
        horizon=HORIZON,
        estimator=sampling(),
        engine=engine,
    )


def rules_of(run):
    return [getattr(minimizer, "rule", minimizer) for minimizer in run.minimizers]


# How far apart


DERIVED = "_strategy", "_behavior", "_weights", "sums", "parent_sums"
"""What one engine has at once, and the other when asked."""


def assert_alike(run, second, rtol=1e-11):
    """Require equal states, draws and strategies: floats up to ``rtol`` of the largest beside them.

    With ``rtol`` 0 the bits are the same.
    """
    _assert_alike(run.state_dict(), second.state_dict(), rtol)
    for name in ("average", "current", "last_profile"):
        found, expected = (dict(enumerate(getattr(each, name))) for each in (run, second))
        _assert_alike(found, expected, rtol, f"{name}.")


def assert_same_bits(run, second):
    assert_alike(run, second, 0.0)


def _assert_alike(found, expected, rtol, path=""):
    assert found.keys() == expected.keys()
    kinds = np.ndarray | float
    names = {name for name in found.keys() - {*DERIVED} if isinstance(found[name], kinds)}
    size = max((np.abs(expected[name]).max(initial=0.0) for name in names), default=0.0)
    for name in found.keys() - {*DERIVED}:
        value, other, place = found[name], expected[name], f"{path}{name}"
        if name in names:
            np.testing.assert_allclose(value, other, rtol=0.0, atol=rtol * size, err_msg=place)
        elif isinstance(value, dict):
            _assert_alike(value, other, rtol, f"{place}.")
        else:
            assert value == other, place


@contextmanager
def in_python():
    """Run the functions that would be compiled as the Python that they are."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (_compiled, _sampled_run):
            patch.setattr(module, "MachineCode", Written)
        yield


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
