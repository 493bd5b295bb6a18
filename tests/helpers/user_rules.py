"""Rules that users write: plain NumPy on all blocks at once, with what the docs show and no more.

``RULES`` has a name and a factory over simplices for each. The style of each is its author's own;
leave it, as what is tested is that the library runs all of them.
"""

import math
from collections.abc import Callable

import numpy as np
from attrs import define, field
from user_regret_matching import (
    ClippedRegrets,
    CubedRegrets,
    DelayedPlus,
    ExplorationFloor,
    HeavyBall,
    NormalizedRegrets,
    PolynomialPotential,
    Restarted,
    SignRegrets,
    SmoothPredictive,
    TwoSidedDecay,
    positive,
)

import regretkit as rk

TINY = 1e-12
RATES = (0.5, 0.125, 0.03125)


def normal_potential(regret, magnitude):
    """Return ``exp([R]+^2 / 3 C)``."""
    return np.exp(positive(regret) ** 2 / (3.0 * magnitude))


# Multiplicative weights


@define(eq=False)
class Prod(rk.SimplexRule):
    """w <- w (1 + eta r / max |r|), x ~ w (Cesa-Bianchi, Mansour and Stoltz, 2007)."""

    eta: float = field(default=0.2, kw_only=True)
    weights: np.ndarray = rk.state(start=1.0)
    largest: np.ndarray = rk.state(per="block")

    def _propose(self):
        return self.simplices.normalize(self.weights)

    def _learn(self, utility, strategy):
        r = self.simplices.regret(utility, strategy)
        self.largest = np.maximum(self.largest, self.simplices.max(np.abs(r)))
        scale = np.where(self.largest > 0, self.largest, 1)
        self.weights *= 1 + self.eta * r / self.simplices.repeat(scale)
        self.weights = self.simplices.normalize(self.weights)


@define(eq=False)
class SquintGrid(rk.SimplexRule):
    """x ~ sum over eta of eta exp(eta R - eta^2 V), V <- V + r^2 (Koolen and van Erven, 2015)."""

    regrets: np.ndarray = rk.state()
    squares: np.ndarray = rk.state()

    def _propose(self):
        weights = np.zeros_like(self.regrets)
        for eta in RATES:
            weights += eta * np.exp(eta * self.regrets - eta**2 * self.squares)
        return self.simplices.normalize(weights)

    def _learn(self, utility, strategy):
        r = self.simplices.regret(utility, strategy)
        self.regrets += r
        self.squares += r**2


@define(eq=False)
class AdaNormalHedge(rk.SimplexRule):
    """x ~ f(R + 1, C + 1) - f(R - 1, C + 1), f = exp([R]+^2 / 3C) (Luo and Schapire, 2015).

    R and C, the sums of r and |r|, are in units of the largest |r| so far.
    """

    regrets: np.ndarray = rk.state()
    magnitudes: np.ndarray = rk.state()
    unit: np.ndarray = rk.state(per="block")

    def _propose(self):
        unit = self.simplices.repeat(np.where(self.unit > 0, self.unit, 1.0))
        regret, magnitude = self.regrets / unit, self.magnitudes / unit + 1
        weights = normal_potential(regret + 1, magnitude)
        weights -= normal_potential(regret - 1, magnitude)
        return self.simplices.normalize(weights)

    def _learn(self, utility, strategy):
        r = self.simplices.regret(utility, strategy)
        self.regrets += r
        self.magnitudes += np.abs(r)
        np.maximum(self.unit, self.simplices.max(np.abs(r)), out=self.unit)


@define(eq=False)
class VarianceHedge(rk.SimplexRule):
    """x ~ exp(eta R), eta = sqrt(ln n / (V + max^2)), V <- V + Var(u) under x.

    The second-order bound of Cesa-Bianchi, Mansour and Stoltz (2007).
    """

    regrets: np.ndarray = rk.state()
    variance: np.ndarray = rk.state("block")
    range: np.ndarray = rk.state("block")

    @property
    def rates(self):
        actions = self.simplices.sum(np.ones(self.dimension))
        return np.sqrt(np.log(actions) / (self.variance + self.range**2 + TINY))

    def _propose(self):
        return self.simplices.softmax(self.regrets * self.simplices.repeat(self.rates))

    def _learn(self, utility, strategy):
        deviation = utility - self.simplices.repeat(self.simplices.expectation(utility, strategy))
        self.regrets += deviation
        self.variance += self.simplices.expectation(deviation**2, strategy)
        self.range = np.maximum(self.range, self.simplices.max(np.abs(deviation)))


@define(eq=False)
class PriorHedge(rk.SimplexRule):
    """x ~ p exp(eta_t R), eta_t given as a function of t: Hedge from a prior of the user's."""

    prior: np.ndarray = field(kw_only=True)
    rate: Callable[[int], float] = field(default=lambda t: 1 / math.sqrt(t + 1), kw_only=True)
    total: np.ndarray = rk.state()

    def on_domain(self, simplices):
        return None  # the prior is for these actions

    def _propose(self):
        return self.simplices.softmax(np.log(self.prior) + self.rate(self.iteration) * self.total)

    def _learn(self, utility, strategy):
        self.total += self.simplices.regret(utility, strategy)


@define(eq=False)
class Blend(rk.SimplexRule):
    """x = l softmax(R / sqrt(t)) + (1 - l) [R]+ / sum, l = t^-1/4: first soft, later matching."""

    regrets: np.ndarray = rk.state()

    def _propose(self):
        t = self.iteration + 1
        weight = t**-0.25
        soft = self.simplices.softmax(self.regrets, 1.0 / np.sqrt(t))
        matching = self.simplices.normalize(np.maximum(self.regrets, 0.0))
        return weight * soft + (1.0 - weight) * matching

    def _learn(self, utility, strategy):
        np.add(self.regrets, self.simplices.regret(utility, strategy), out=self.regrets)


@define(eq=False)
class DoublingHedge(rk.SimplexRule):
    """Hedge with eta = 1 / sqrt(length), anew at t = 1, 3, 7, ... (Auer et al., 1995)."""

    regrets: np.ndarray = rk.state()
    length: int = field(default=1, init=False, repr=False)
    left: int = field(default=1, init=False, repr=False)

    def _propose(self):
        return self.simplices.softmax(self.regrets, rate=self.length**-0.5)

    def _learn(self, utility, strategy):
        self.regrets += self.simplices.regret(utility, strategy)
        self.left -= 1
        if self.left == 0:
            self.length *= 2
            self.left = self.length
            self.regrets.fill(0.0)


# Gradients, leaders, dynamics


@define(eq=False)
class BlockAdaGrad(rk.SimplexRule):
    """x <- P(x + r / sqrt(G)), G <- G + |r|^2 in each block (Duchi, Hazan and Singer, 2011)."""

    point: np.ndarray = rk.state()
    squares: np.ndarray = rk.state(per="block")

    def _propose(self):
        return self.simplices.uniform() if self.iteration == 0 else self.point.copy()

    def _learn(self, utility, strategy):
        r = self.simplices.regret(utility, strategy)
        self.squares += self.simplices.sum(r**2)
        rate = np.zeros_like(self.squares)
        seen = self.squares > 0
        rate[seen] = 1.0 / np.sqrt(self.squares[seen])
        self.point = self.simplices.project(strategy + r * self.simplices.repeat(rate))


@define(eq=False)
class OptimisticGradient(rk.SimplexRule):
    """z <- P(z + eta u), x = P(z + eta m), m the last utility (Popov, 1980; Wei et al., 2021)."""

    eta: float = field(default=0.1, kw_only=True)
    centre: np.ndarray = rk.state()
    guess: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.project(self.centre + self.eta * self.guess)

    def _expect(self, prediction):
        self.guess[:] = prediction

    def _learn(self, utility, strategy):
        self.centre = self.simplices.project(self.centre + self.eta * utility)
        self.guess[:] = utility


@define(eq=False)
class RootMeanSquares(rk.SimplexRule):
    """v <- b v + (1 - b) r^2, R <- [R + r / (sqrt(v) + e)]+, x ~ R (RMSProp, Hinton, 2012)."""

    memory: float = field(default=0.99, kw_only=True)
    regrets: np.ndarray = rk.state()
    moments: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(self.regrets)

    def _learn(self, utility, strategy):
        r = self.simplices.regret(utility, strategy)
        self.moments *= self.memory
        self.moments += (1 - self.memory) * r**2
        unbiased = self.moments / (1 - self.memory ** (self.iteration + 1))
        self.regrets += r / (np.sqrt(unbiased) + TINY)
        np.clip(self.regrets, 0.0, None, out=self.regrets)


@define(eq=False)
class QuantilePerturbations(rk.SimplexRule):
    """x = mean over k of the leader of U + sqrt(t) p_k, p_k of action i being sin^2(k i).

    Follow the perturbed leader (Kalai and Vempala, 2005), without randomness.
    """

    draws: int = field(default=20, kw_only=True)
    earned: np.ndarray = rk.state()

    def exemptions(self):
        reason = "a perturbation depends on the number of the action"
        return {"strategies_are_invariant_to_action_order": reason}

    def _propose(self):
        number = self.simplices.cumulate(np.ones(self.dimension))
        x = np.zeros(self.dimension)
        for k in range(1, self.draws + 1):
            noise = np.sin(k * number) ** 2
            leader = self.simplices.best_response(
                self.earned + np.sqrt(self.iteration + 1) * noise
            )[1]
            x += leader
        return x / self.draws

    def _learn(self, utility, strategy):
        self.earned += utility


@define(eq=False)
class BrownVonNeumannNash(rk.SimplexRule):
    """x <- (x + h [r]+) / (1 + h sum [r]+), the dynamics of Brown and von Neumann (1950)."""

    step: float = field(default=0.5, kw_only=True)
    point: np.ndarray = rk.state(start=1.0)

    def _propose(self):
        return self.simplices.normalize(self.point)

    def _learn(self, utility, strategy):
        gain = self.simplices.regret(utility, strategy)
        gain *= gain > 0
        total = self.simplices.repeat(self.simplices.sum(gain))
        self.point = (strategy + self.step * gain) / (1 + self.step * total)


# What no formula for each action says: these need Python


@define(eq=False)
class BestFew(rk.SimplexRule):
    """x ~ [R]+ where R is among the k largest of its block: regret matching, made sparse."""

    kept: int = field(default=2, kw_only=True)
    regrets: np.ndarray = rk.state()

    def thresholds(self, values):
        sizes = self.simplices.sizes
        rows = np.full(self.simplices.blocks * sizes.max(), -np.inf).reshape(sizes.size, -1)
        rows[np.arange(sizes.max()) < sizes[:, None]] = values
        return np.sort(rows, axis=1)[:, -self.kept :][:, 0]

    def _propose(self):
        x = positive(self.regrets)
        return self.simplices.normalize(x * (x >= self.simplices.repeat(self.thresholds(x))))

    def _learn(self, utility, strategy):
        self.regrets += self.simplices.regret(utility, strategy)


@define(eq=False)
class HalvedWhenLarge(rk.SimplexRule):
    """R <- [R + r]+, all halved while any is above a limit: regrets that never grow large."""

    limit: float = field(default=1.0, kw_only=True)
    regrets: np.ndarray = rk.state()

    def exemptions(self):
        return {"blocks_are_independent": "a large regret in one block halves all others"}

    def _propose(self):
        return self.simplices.normalize(self.regrets)

    def _learn(self, utility, strategy):
        self.regrets = positive(self.regrets + self.simplices.regret(utility, strategy))
        if self.regrets.max() > self.limit:
            self.regrets *= 0.5


@define(eq=False)
class RandomLeader(rk.SimplexRule):
    """x = the leader of U + sqrt(t) Gumbel noise: follow the perturbed leader (Hannan, 1957)."""

    generator: np.random.Generator = field(
        factory=lambda: np.random.default_rng(1), init=False, repr=False
    )
    earned: np.ndarray = rk.state()

    def _weaker_guarantee(self):
        return "its regret is small in expectation, against those who do not see what it draws"

    def _propose(self):
        noise = self.generator.gumbel(size=self.dimension)
        return self.simplices.best_response(self.earned + math.sqrt(self.iteration + 1) * noise)[1]

    def _learn(self, utility, strategy):
        self.earned += utility


def with_prior(simplices):
    """Return ``PriorHedge`` that believes twice as much in the second action of a block, etc."""
    return PriorHedge(simplices, prior=simplices.cumulate(np.ones(simplices.dimension)))


VALUE_DEPENDENT = {"BestFew", "HalvedWhenLarge", "RandomLeader"}
"""Names of the rules that run as Python alone: they sort, branch on what they learned, or draw."""

RULES = [
    (rule.__name__, rule)
    for rule in (
        *(PolynomialPotential, CubedRegrets, Restarted, ExplorationFloor, DelayedPlus),
        *(TwoSidedDecay, HeavyBall, ClippedRegrets, SignRegrets, NormalizedRegrets),
        *(SmoothPredictive, Prod, SquintGrid, AdaNormalHedge, VarianceHedge, Blend),
        *(DoublingHedge, BlockAdaGrad, OptimisticGradient, RootMeanSquares),
        *(QuantilePerturbations, BrownVonNeumannNash),
        *(BestFew, HalvedWhenLarge, RandomLeader),
    )
] + [("PriorHedge", with_prior)]
"""By name, what makes each rule over simplices, untrained."""
