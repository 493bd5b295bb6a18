"""Variants of regret matching that users write; ``user_rules`` has the others, and the table."""

import math

import numpy as np
from attrs import define, field

import regretkit as rk

DELAY = 32


def positive(x):
    return np.maximum(x, 0.0)


@define(eq=False)
class PolynomialPotential(rk.SimplexRule):
    """x ~ [R]+^(p - 1), the polynomial potential of Hart and Mas-Colell (2001)."""

    power: float = field(default=4.0, kw_only=True)
    regrets: np.ndarray = rk.state()

    @property
    def exponent(self):
        return self.power - 1.0

    def _propose(self):
        x = self.regrets.copy()
        x[x < 0] = 0
        return self.simplices.normalize(x**self.exponent)

    def _learn(self, utility, strategy):
        self.regrets += self.simplices.regret(utility, strategy)


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
class ExplorationFloor(CubedRegrets):
    """x = (1 - g) x' + g / n with g = 1 / (t + 2): cubed regrets with a floor that shrinks."""

    def _propose(self):
        gamma = 1.0 / (self.iteration + 2)
        return (1 - gamma) * super()._propose() + gamma * self.simplices.uniform()


@define(eq=False)
class DelayedPlus(rk.SimplexRule):
    """R <- R + r, floored at zero only after a delay: regret matching, then regret matching+."""

    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize((self.regrets > 0) * self.regrets)

    def _learn(self, utility, strategy):
        self.regrets = self.simplices.add(self.regrets, self.simplices.regret(utility, strategy))
        if self.iteration >= DELAY:
            self.regrets[self.regrets < 0.0] = 0.0


@define(eq=False)
class TwoSidedDecay(rk.SimplexRule):
    """R <- R + r, then R * t^a / (t^a + 1) if R > 0 and R * b if not (Brown and Sandholm, 2019)."""

    alpha: float = field(default=1.5, kw_only=True)
    keep: float = field(default=0.5, kw_only=True)
    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(self.regrets.clip(min=0.0))

    def _learn(self, utility, strategy):
        t = max(1, self.iteration + 1) ** self.alpha
        self.regrets += self.simplices.regret(utility, strategy)
        gaining = self.regrets > 0
        self.regrets[gaining] *= t / (t + 1)
        self.regrets[~gaining] *= self.keep


@define(eq=False)
class HeavyBall(rk.SimplexRule):
    """v <- b v + r, R <- [R + v]+, x ~ R: momentum (Polyak, 1964) for regret matching+."""

    momentum: float = field(default=0.3, kw_only=True)
    regrets: np.ndarray = rk.state()
    velocity: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(self.regrets)

    def _learn(self, utility, strategy):
        r = self.simplices.regret(utility, strategy)
        self.velocity *= self.momentum
        self.velocity += r
        self.regrets = positive(self.regrets + self.velocity)


@define(eq=False)
class ClippedRegrets(rk.SimplexRule):
    """R <- min(max(R + r, -c), C sqrt(t)), x ~ [R]+: between regret matching and its plus form."""

    lowest: float = field(default=2.0, kw_only=True)
    highest: float = field(default=10.0, kw_only=True)
    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(np.where(self.regrets > 0, self.regrets, 0.0))

    def _learn(self, utility, strategy):
        r = self.simplices.regret(utility, strategy)
        cap = self.highest * math.sqrt(self.iteration + 1)
        self.regrets = np.clip(self.regrets + r, -self.lowest, cap)


@define(eq=False)
class SignRegrets(rk.SimplexRule):
    """R <- R + sign(r), x ~ [R]+: counts wins and losses (as signSGD, Bernstein et al., 2018)."""

    wins: np.ndarray = rk.state()

    def _weaker_guarantee(self):
        return "it counts how often an action gains, and not how much"

    def _propose(self):
        return self.simplices.normalize(np.maximum(0, self.wins))

    def _learn(self, utility, strategy):
        r = self.simplices.regret(utility, strategy)
        self.wins += (r > 0).astype(float) - (r < 0)


@define(eq=False)
class NormalizedRegrets(rk.SimplexRule):
    """R <- R + r / |r|, m <- r / |r|, x ~ [R + m]+: each utility counts alike, the last twice."""

    regrets: np.ndarray = rk.state()
    last: np.ndarray = rk.state()

    def _weaker_guarantee(self):
        return "it forgets how large a utility was"

    def unit(self, r):
        length = np.sqrt(self.simplices.sum(r * r))
        length = np.where(length == 0.0, 1.0, length)
        return r / self.simplices.repeat(length)

    def _propose(self):
        return self.simplices.normalize(positive(self.regrets + self.last))

    def _learn(self, utility, strategy):
        self.last = self.unit(self.simplices.regret(utility, strategy))
        self.regrets += self.last


@define(eq=False)
class SmoothPredictive(rk.SimplexRule):
    """R <- [R + r]+ projected to sum R >= 1, x ~ [R + m]+ (Farina et al., 2023)."""

    regrets: np.ndarray = rk.state()
    prediction: np.ndarray = rk.state()

    def chop(self, regrets):
        short = self.simplices.repeat(self.simplices.sum(regrets)) < 1.0
        return np.where(short, self.simplices.project(regrets), regrets)

    def _propose(self):
        now = self.chop(positive(self.regrets))
        x = self.simplices.normalize(now)
        m = self.simplices.regret(self.prediction, x)
        return self.simplices.normalize(self.chop(positive(now + m)))

    def _expect(self, prediction):
        self.prediction = prediction.copy()

    def _learn(self, utility, strategy):
        r = self.simplices.regret(utility, strategy)
        self.regrets = self.chop(positive(self.regrets + r))
        self.prediction[:] = utility


@define(eq=False)
class LargestNormalized(NormalizedRegrets):
    """As ``NormalizedRegrets``, with the largest |r| of a block for its length."""

    def unit(self, r):
        largest = self.simplices.repeat(self.simplices.max(abs(r)))
        return np.divide(r, largest, out=np.zeros_like(r), where=largest != 0)


@define(eq=False)
class Extrapolated(rk.SimplexRule):
    """R <- [R + r]+, x ~ [R + v]+, v the regret of m = 2 u_t - u_(t-1): a line through the two.

    Predictive regret matching+ (Farina, Kroer and Sandholm, 2021) with another prediction.
    """

    regrets: np.ndarray = rk.state()
    last: np.ndarray = rk.state()
    guess: np.ndarray = rk.state()

    def _propose(self):
        x = self.simplices.normalize(self.regrets)
        ahead = self.regrets + self.simplices.regret(self.guess, x)
        ahead[(ahead < 0) | np.isnan(ahead)] = 0
        return self.simplices.normalize(ahead)

    def _expect(self, prediction):
        self.guess = np.array(prediction)

    def _learn(self, utility, strategy):
        self.regrets += self.simplices.regret(utility, strategy)
        np.copyto(self.regrets, 0.0, where=self.regrets < 0)
        self.last, self.guess = utility.copy(), 2 * utility - self.last


@define(eq=False)
class Squashed(rk.SimplexRule):
    """R <- R + s tanh(r / s), s <- hypot(s, |r|) / 2, x ~ [R]+: outliers count less."""

    regrets: np.ndarray = rk.state()
    scale: np.ndarray = rk.state(per="block")

    def _propose(self):
        return self.simplices.normalize((np.abs(self.regrets) + self.regrets) / 2)

    def _learn(self, utility, strategy):
        r = self.simplices.regret(utility, strategy)
        s = np.hypot(self.scale, np.sqrt(self.simplices.dot(r, r)))
        s[s == 0] = 1
        self.scale = s * 0.5
        s = self.simplices.repeat(s)
        self.regrets += s * np.tanh(r / s)


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
class Unreached(rk.SimplexRule):
    """R <- [d R + r]+, x ~ R, and nothing is discounted by utilities that are zero."""

    discount: float = field(default=0.98, kw_only=True)
    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(self.regrets)

    def _learn(self, utility, strategy):
        if not utility.any():
            return
        self.regrets *= self.discount
        self.regrets += self.simplices.regret(utility, strategy)
        self.regrets[self.regrets < 0] = 0


@define(eq=False)
class Window(rk.SimplexRule):
    """x ~ [sum of the last k r]+: regret matching that forgets what is long ago."""

    size: int = field(default=60, kw_only=True)

    def __attrs_post_init__(self):
        super().__attrs_post_init__()
        self.recent = np.zeros((self.size, self.dimension))

    def _propose(self):
        return self.simplices.normalize(positive(self.recent.sum(axis=0)))

    def _learn(self, utility, strategy):
        self.recent[self.iteration % self.size] = self.simplices.regret(utility, strategy)
