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

import regretkit as rk

TINY = 1e-12


def positive(x):
    return np.maximum(x, 0.0)


def normal_potential(regret, magnitude):
    """Return ``exp([R]+^2 / 3 C)``."""
    return np.exp(positive(regret) ** 2 / (3.0 * magnitude))


# Regret matching


@define(eq=False)
class CubedRegrets(rk.SimplexRule):
    """R <- [R + r]+, x ~ R^3: regret matching+ (Tammelin, 2014) with cubed regrets."""

    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(self.regrets * self.regrets * self.regrets)

    def _learn(self, utility, strategy):
        expected = self.simplices.dot(utility, strategy)
        self.regrets += utility - self.simplices.repeat(expected)
        np.maximum(self.regrets, 0, out=self.regrets)


@define(eq=False)
class Restarted(CubedRegrets):
    """Cubed regrets, R <- R / 2 after every k iterations: restarts that do not forget it all."""

    period: int = field(default=40, kw_only=True)

    def _learn(self, utility, strategy):
        super()._learn(utility, strategy)
        if (self.iteration + 1) % self.period == 0:
            self.regrets /= 2


@define(eq=False)
class NormalizedRegrets(rk.SimplexRule):
    """R <- R + r / |r|, m <- r / |r|, x ~ [R + m]+: each utility counts alike, the last twice."""

    regrets: np.ndarray = rk.state()
    last: np.ndarray = rk.state()

    no_guarantee = "it forgets how large a utility was"

    def unit(self, r):
        length = np.sqrt(self.simplices.sum(r * r))
        length = np.where(length == 0.0, 1.0, length)
        return r / self.simplices.repeat(length)

    def _propose(self):
        return self.simplices.normalize(positive(self.regrets + self.last))

    def _learn(self, utility, strategy):
        self.last = self.unit(self.simplices.regret(utility, strategy))
        self.regrets += self.last


# What no formula for each action says: these need Python


@define(eq=False)
class HalvedWhenLarge(rk.SimplexRule):
    """R <- [R + r]+, all halved while any is above a limit: regrets that never grow large."""

    limit: float = field(default=1.0, kw_only=True)
    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(self.regrets)

    def _learn(self, utility, strategy):
        self.regrets = positive(self.regrets + self.simplices.regret(utility, strategy))
        if self.regrets.max() > self.limit:
            self.regrets *= 0.5


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

    no_guarantee = "its rates are for utilities whose range is never far below 1"

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
class FixedPerturbations(rk.SimplexRule):
    """x = mean over k of the leader of U + sqrt(t) p_k, p_k of action i being sin^2(k i).

    Follow the perturbed leader (Kalai and Vempala, 2005), without randomness.
    """

    draws: int = field(default=20, kw_only=True)
    earned: np.ndarray = rk.state()

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

    no_guarantee = "its regret is small in expectation, against those who do not see what it draws"

    def _propose(self):
        noise = self.generator.gumbel(size=self.dimension)
        return self.simplices.best_response(self.earned + math.sqrt(self.iteration + 1) * noise)[1]

    def _learn(self, utility, strategy):
        self.earned += utility


def with_prior(simplices):
    """Return ``PriorHedge`` with weights 1, 2, 3 and so on in each block."""
    return PriorHedge(simplices, prior=simplices.cumulate(np.ones(simplices.dimension)))


NEEDS_PYTHON = {"HalvedWhenLarge", "RandomLeader"}
"""Rules that are no formula for each action: they branch on what was learned, or draw."""

RULES = [
    (rule.__name__, rule)
    for rule in (
        *(CubedRegrets, Restarted, NormalizedRegrets, Prod, AdaNormalHedge, VarianceHedge, Blend),
        *(DoublingHedge, BlockAdaGrad, OptimisticGradient, FixedPerturbations, Switchable),
        *(EntropicByHand, HalvedWhenLarge, RandomLeader),
    )
]
RULES += [
    ("PriorHedge", with_prior),
    ("Switchable, exponential", partial(Switchable, link="exponential", plus=False)),
]
"""By name, what makes each rule over simplices, untrained."""
