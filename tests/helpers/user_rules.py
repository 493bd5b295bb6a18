"""Rules that users write: plain NumPy on all blocks at once, with what the docs show and no more.

``RULES`` has a name and a factory over simplices for each. The style of each is its author's own;
leave it, as what is tested is that the library runs all of them.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import ClassVar

import numpy as np
from attrs import define, field
from user_regret_matching import (
    BestFew,
    ClippedRegrets,
    CubedRegrets,
    DelayedPlus,
    ExplorationFloor,
    Extrapolated,
    HalvedWhenLarge,
    HeavyBall,
    LargestNormalized,
    NormalizedRegrets,
    PolynomialPotential,
    Restarted,
    SignRegrets,
    SmoothPredictive,
    Squashed,
    TwoSidedDecay,
    Unreached,
    Window,
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

    def _weaker_guarantee(self):
        return "its rates are for utilities whose range is never far below 1"

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
class FixedPerturbations(rk.SimplexRule):
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

    def _weaker_guarantee(self):
        return "it looks at the last utility alone"

    def _propose(self):
        return self.simplices.normalize(self.point)

    def _learn(self, utility, strategy):
        gain = self.simplices.regret(utility, strategy)
        gain *= gain > 0
        total = self.simplices.repeat(self.simplices.sum(gain))
        self.point = (strategy + self.step * gain) / (1 + self.step * total)


@define(eq=False)
class Inertia(rk.SimplexRule):
    """x <- x + min(1/2, 2 / (t + 2)) (b(U) - x), b the best response: Frank and Wolfe (1956)."""

    point: np.ndarray = rk.state()
    earned: np.ndarray = rk.state()

    def _weaker_guarantee(self):
        return "it follows the leader"

    def _propose(self):
        if not self.iteration:
            return self.simplices.uniform()
        return self.point.copy()

    def _learn(self, utility, strategy):
        self.earned += utility
        _, leader = self.simplices.best_response(self.earned)
        step = min(0.5, 2 / (self.iteration + 2))
        self.point = strategy + step * (leader - strategy)


@define(eq=False)
class Dissipative(rk.SimplexRule):
    """L <- (1 - eta tau) L + eta u, x ~ exp(L), eta = sqrt(ln n): Hedge that is drawn to uniform.

    The attractions of Camerer and Ho (1999), where all actions learn alike.
    """

    temperature: float = field(default=0.01, kw_only=True)
    logits: np.ndarray = rk.state()

    def __attrs_post_init__(self):
        super().__attrs_post_init__()
        sizes = [math.log(size) for size in self.simplices.sizes]
        self.eta = self.simplices.repeat(np.sqrt(sizes))

    def _weaker_guarantee(self):
        return "it stays near uniform play"

    def _propose(self):
        return self.simplices.softmax(self.logits)

    def _learn(self, utility, strategy):
        self.logits *= 1 - self.eta * self.temperature
        self.logits += self.eta * utility


@define(eq=False)
class Switchable(rk.SimplexRule):
    """R <- R + r, or [R + r]+ if plus; x ~ [R]+, R^2 or exp(rate R), by the name of the link."""

    link: str = field(default="square", kw_only=True)
    plus: bool = field(default=True, kw_only=True)
    regrets: np.ndarray = rk.state()

    RATE: ClassVar[float] = 0.25

    def _propose(self):
        match self.link:
            case "exponential":
                return self.simplices.softmax(self.regrets, rate=self.RATE)
            case "square":
                return self.simplices.normalize(np.square(np.fmax(self.regrets, 0)))
            case _:
                return self.simplices.normalize(np.fmax(self.regrets, 0))

    def _learn(self, utility, strategy):
        total = self.regrets + self.simplices.regret(utility, strategy)
        self.regrets = np.maximum(total, 0) if self.plus else total


@define(eq=False)
class EntropicByHand(rk.SimplexRule):
    """w <- w exp(eta (u - max u)), x = w / sum (Freund and Schapire, 1997), in plain NumPy."""

    eta: float = field(default=0.1, kw_only=True)
    weights: np.ndarray = rk.state(start=1.0)

    def by_block(self, operation, x):
        return np.repeat(operation.reduceat(x, self.simplices.first), self.simplices.sizes)

    def _propose(self):
        return self.weights / self.by_block(np.add, self.weights)

    def _learn(self, utility, strategy):
        gain = utility - self.by_block(np.maximum, utility)
        weights = strategy * np.exp(self.eta * gain)
        weights /= self.by_block(np.maximum, weights)
        self.weights = np.maximum(weights, TINY)


# This one needs Python


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
    """Return ``PriorHedge`` with weights 1, 2, 3 and so on in each block."""
    return PriorHedge(simplices, prior=simplices.cumulate(np.ones(simplices.dimension)))


NEEDS_PYTHON = {
    "BestFew": "it sorts",
    "EntropicByHand": "it works on blocks by what only NumPy has",
    "HalvedWhenLarge": "it branches on what it has learned",
    "RandomLeader": "it draws",
    "Unreached": "it branches on the utility",
    "Window": "its state has another shape",
}
"""By name, the rules that are no formula for each action, with the reason."""

RULES = [
    (rule.__name__, rule)
    for rule in (
        *(PolynomialPotential, CubedRegrets, Restarted, ExplorationFloor, DelayedPlus),
        *(TwoSidedDecay, HeavyBall, ClippedRegrets, SignRegrets, NormalizedRegrets),
        *(LargestNormalized, SmoothPredictive, Extrapolated, Squashed),
        *(Prod, SquintGrid, AdaNormalHedge, VarianceHedge, Blend, DoublingHedge),
        *(BlockAdaGrad, OptimisticGradient, RootMeanSquares, FixedPerturbations),
        *(BrownVonNeumannNash, Inertia, Dissipative, Switchable, EntropicByHand),
        *(BestFew, HalvedWhenLarge, Unreached, Window, RandomLeader),
    )
]
RULES += [
    ("PriorHedge", with_prior),
    ("Switchable, exponential", partial(Switchable, link="exponential", plus=False)),
    ("HeavyBall, heavier", partial(HeavyBall, momentum=0.8)),
]
"""By name, what makes each rule over simplices, untrained."""
