"""What rules are written with: each feature is traced to what NumPy computes."""

import math
from functools import cached_property, partial

import numpy as np
import pytest
from attrs import define, field
from numpy import sqrt as numpy_root
from numpy import zeros as new_zeros
from trace_steps import SIMPLICES, assert_traced

import regretkit as rk
from regretkit.sets import Simplices


@define(eq=False)
class Arrays(rk.SimplexRule):
    """Two arrays by action and one by block; ``a`` becomes what ``new`` returns."""

    a: np.ndarray = rk.state()
    b: np.ndarray = rk.state(start=1.0)
    c: np.ndarray = rk.state("block", start=0.5)

    def __attrs_post_init__(self):
        super().__attrs_post_init__()
        self.held, self.whole = np.ones(self.dimension), np.zeros(self.dimension)

    def new(self, u, x):
        return self.a

    def _propose(self):
        return self.simplices.softmax(self.a + 0.5 * self.b)

    def _learn(self, utility, strategy):
        self.b += 0.5 * utility
        self.c += self.simplices.max(utility)
        self.a = self.new(utility, strategy) + 0.0


def traced(new, simplices=SIMPLICES, **members):
    """Require that a rule with this ``new`` is traced to what it computes in NumPy."""
    kind = type("Rule", (Arrays,), {"new": new, **members})
    assert_traced(kind(simplices))
    assert_traced(kind(Simplices([4, 4, 4])))


def each(**functions):
    rows = [pytest.param(function, id=name) for name, function in functions.items()]
    return pytest.mark.parametrize("new", rows)


# Elementwise


UFUNCS = (
    "absolute add arctan ceil cos cosh divide equal exp expm1 floor floor_divide fmax fmin fmod "
    "greater greater_equal hypot isfinite isinf isnan less less_equal log log10 log1p log2 "
    "logical_and logical_not logical_or logical_xor maximum minimum multiply negative not_equal "
    "power remainder rint sign sin sinh sqrt square subtract tan tanh trunc"
)


@pytest.mark.parametrize("name", UFUNCS.split())
def test_every_ufunc(name):
    ufunc = getattr(np, name)

    def new(self, u, x):
        logical, positive = name.startswith("logical"), name in ("sqrt", "log", "log2", "log10")
        arguments = [u > 0, self.b > 0.5] if logical else [u, self.b - 0.25]
        if positive or name in ("log1p", "power"):
            arguments[0] = np.abs(u)
        return ufunc(*arguments[: ufunc.nin]) * 1.0

    traced(new)


@each(
    add=lambda self, u, x: u + x + 1,
    subtract=lambda self, u, x: 1 - u - x,
    multiply=lambda self, u, x: 2 * u * x,
    divide=lambda self, u, x: 1 / (1 + x) + u / 3,
    floor_divide=lambda self, u, x: u // 0.3 + 2 // (x + 0.1),
    remainder=lambda self, u, x: u % 0.3 + 2 % (x + 0.1),
    power=lambda self, u, x: u**2 + x**0.5 + 2**u + u**3 + (x + 1) ** -1 + u**0 + u**1,
    composed=lambda self, u, x: np.exp2(u) + np.logaddexp(u, x) + np.logaddexp(-np.inf, u - u),
    large_whole_numbers=lambda self, u, x: (
        np.floor(1e30 * u) + np.trunc(-1e25 * x) + 1e15 * np.rint(u)
    ),
    quotient_and_rest=lambda self, u, x: divmod(u, 0.3)[0] - divmod(2, x + 0.1)[1],
    negative=lambda self, u, x: -u + +x,
    absolute=lambda self, u, x: abs(u),
    comparisons=lambda self, u, x: (u > 0) + 2.0 * (u <= x) - (u == u) * 0.5 + (u != x) * 1,
    logic=lambda self, u, x: (
        ((u > 0) & (x > 0.3)) * 2.0 + ((u < 0) | ~(x > 0.2)) * 1.0 + ((u > 0) ^ (x > 0.1))
    ),
    sums_of_booleans=lambda self, u, x: 1.0 * ((u > 0) + (x > 0)) + 3.0 * ((u > 0) * (x > 0.3)),
    largest_of_booleans=lambda self, u, x: np.maximum(u > 0, x > 0.3) + 0.5 * np.minimum(u > 0, x),
    where=lambda self, u, x: np.where(u > 0, u, 0.5) + np.where(x > 0.3, 1, x),
    where_of_numbers=lambda self, u, x: u + np.where(u > 0, 0.5, 0.5),
    clip=lambda self, u, x: (
        np.clip(u, -0.5, x) + u.clip(0) + u.clip(max=0.25) + np.clip(u, 0, None)
    ),
    clip_of_a_constant=lambda self, u, x: u + np.clip(np.arange(u.size) * 0.5, 1, u),
    select=lambda self, u, x: np.select([u > 1, u > 0], [x, u], 0.25),
    rounded=lambda self, u, x: np.round(u) + np.round(x, 2),
    nan_to_num=lambda self, u, x: np.nan_to_num(u),
    new_arrays=lambda self, u, x: (
        np.zeros_like(u) + np.ones_like(u) + np.full_like(u, 2.0) + 0 * np.empty_like(u) + u
    ),
    copies=lambda self, u, x: np.copy(u) + u.copy() + u[:] + u[...] + u.astype(float) + u.T,
    shapes=lambda self, u, x: u * len(u) + np.zeros(u.shape) + u.size + u.ndim + (u.dtype == float),
    sums_of_booleans_as_floats=lambda self, u, x: np.add(u > 0, x > 0.3, dtype=float) + u,
    booleans_as_numbers=lambda self, u, x: (u > 0).astype(float) - (x > 0.3).astype(int),
    infinite=lambda self, u, x: np.isfinite(u) * 1.0 + np.minimum(u, np.inf),
)
def test_operators_and_functions(new):
    traced(new)


# In place


def in_place(self, u, x):
    y = u + 1
    y += x
    y -= 0.5
    y *= self.b
    y /= 2.0
    y **= 2
    y //= 0.125
    y %= 3.0
    return y


def floats_of_booleans(self, u, x):
    y, z = np.zeros_like(u), np.zeros_like(u)
    y[...] = u > 0
    np.greater(x, 0.3, out=z)
    return y + z + y


def out(self, u, x):
    np.add(u, x, out=self.b)
    np.subtract(self.b, 0.5, self.b)
    y = np.empty_like(u)
    np.multiply(self.b, 2, out=y)
    return np.clip(y, 0.1, 0.7, out=y)


def out_where(self, u, x):
    y = np.divide(u, x, out=np.zeros_like(u), where=x > 0.2)
    np.sqrt(np.abs(u), out=y, where=u > 0)
    return y


def masks(self, u, x):
    y = u.copy()
    y[y < 0] = 0
    y[x > 0.3] *= 2
    m = u > 0.5
    y[m] = u[m] - x[m]
    y[~m] += 0.25
    y[m] = np.sqrt(np.abs(y[m])) + 1
    y[self.b == self.b] -= 0.125
    return y


def constant_masks(self, u, x):
    y = u.copy()
    y[np.arange(u.size) % 2 == 0] *= 2
    y[self.even] += u[self.even]
    return y * ((u > 0) | self.even)


def copyto(self, u, x):
    y = u.copy()
    np.copyto(y, 0.0, where=y < 0)
    np.copyto(y, x, where=u > 1)
    z = np.zeros_like(u)
    np.copyto(z, y)
    z[:] += 1
    z[...] = z * 2
    return z


def aliases(self, u, x):
    y = self.b
    y += u
    z = y
    z *= 2
    w = y.copy()
    w += 1
    return y + w + self.b


def new_arrays_by_shape(self, u, x):
    total = np.zeros(self.dimension)
    for k in range(1, 4):
        total += np.sin(k * u)
    shifts = new_zeros(self.simplices.blocks)
    shifts += self.c
    y = np.full(self.dimension, 0.5)
    y[u > 0] = 2.0
    y = y * np.ones(u.size) + np.full(u.size, self.iteration)
    flags = np.zeros(self.dimension, dtype=bool)
    flags[u > 0] = True
    return total + self.simplices.repeat(shifts) + y + flags


def swapped(self, u, x):
    self.a, self.b = self.b, self.a
    self.c, shift = self.simplices.sum(self.a), self.c
    return self.a - self.simplices.repeat(shift)


def undeclared(self, u, x):
    self.held[u > 0] *= 0.5
    self.whole[:] = self.whole + x
    return u * self.held + self.whole


def filled(self, u, x):
    self.b.fill(0.25)
    self.c.fill(self.iteration)
    return u + self.b


EVEN = {"even": property(lambda self: np.arange(self.dimension) % 2 == 0)}


@pytest.mark.parametrize(
    "new",
    [
        *(in_place, floats_of_booleans, out, out_where, masks, copyto, aliases),
        *(new_arrays_by_shape, swapped, filled, undeclared),
    ],
)
def test_changes_in_place(new):
    traced(new)


def test_masks_that_are_constants():
    traced(constant_masks, **EVEN)


# By block


def root(self, u, x):
    d = np.abs(u)

    def step(level):
        above = self.simplices.repeat(level) + d
        short = self.simplices.sum(above**-2) - 1
        return np.maximum(short, 0) / (2 * self.simplices.sum(above**-3))

    level = self.simplices.newton(np.ones(self.simplices.blocks), step, tolerance=1e-12)
    return (self.simplices.repeat(level) + d) ** -2


def roots_by_iteration(self, u, x):
    square = self.simplices.sum(u**2) + 1

    def search(factor):
        return self.simplices.newton(
            np.ones_like(square), lambda p: np.maximum(square - p * p, 0) / (factor * (p + square))
        )

    return self.simplices.repeat(search(2.0) if self.iteration < 2 else search(3.0)) + u


def root_by_halves(self, u, x):
    def short(level):
        return self.simplices.sum(np.maximum(u - self.simplices.repeat(level), 0.0)) > 1.0

    largest = self.simplices.max(u)
    level = self.simplices.bisect(largest - 1.0, largest, short)
    return np.maximum(u - self.simplices.repeat(level), 0.0) + x


def by_rank(self, u, x):
    ordered, order = self.simplices.sort(u + 0.5 * x)
    falling = 1.0 / self.simplices.cumulate(np.ones(self.dimension))
    y = np.empty_like(u)
    y[order] = falling * x[order]
    return y + self.b[order] * ordered + (self.held * 2.0)[order] * self.held[order]


def projected(self, u, x):
    ordered, _ = self.simplices.sort(-u)
    count = self.simplices.cumulate(np.ones_like(u))
    levels = (self.simplices.cumulate(-ordered) - 1.0) / count
    return np.maximum(u - self.simplices.repeat(self.simplices.max(levels)), 0.0)


@each(
    root_by_halves=root_by_halves,
    by_rank=by_rank,
    projected=projected,
    sum=lambda self, u, x: self.simplices.repeat(self.simplices.sum(u * x + u)),
    sum_by_a_number=lambda self, u, x: (
        u * self.simplices.repeat(self.simplices.sum(u * (self.iteration + 0.3)))
    ),
    dot=lambda self, u, x: u - self.simplices.repeat(self.simplices.dot(u, x)),
    value_as_sum=lambda self, u, x: u - self.simplices.repeat(self.simplices.sum(x * u)),
    max=lambda self, u, x: self.simplices.repeat(self.simplices.max(u)) - u,
    norm=lambda self, u, x: u / self.simplices.repeat(self.simplices.norm(u)),
    repeat=lambda self, u, x: self.simplices.repeat(self.c) + self.simplices.repeat(self.c * 2),
    expectation=lambda self, u, x: self.simplices.repeat(self.simplices.expectation(u * u, x)),
    expectation_of_what_was_played=lambda self, u, x: self.simplices.repeat(
        self.simplices.expectation(u, x)
    ),
    regret=lambda self, u, x: self.simplices.regret(u, x) + self.simplices.regret(self.b, x),
    add=lambda self, u, x: self.simplices.add(self.b, u),
    normalize=lambda self, u, x: self.simplices.normalize(np.maximum(u, 0)),
    normalize_nothing=lambda self, u, x: self.simplices.normalize(0 * u) + u,
    normalize_what_cancels=lambda self, u, x: self.simplices.normalize(
        2.0 * self.simplices.cumulate(np.ones_like(u))
        - self.simplices.repeat(self.simplices.sizes)
        - 1.0
    ),
    root_of_what_cancels=lambda self, u, x: np.sqrt(
        np.abs(self.simplices.add(u * 0.3 / 3.0, u * -0.1))
    ),
    softmax=lambda self, u, x: self.simplices.softmax(u) + self.simplices.softmax(u, 0.3),
    softmax_by_iteration=lambda self, u, x: self.simplices.softmax(u, rate=self.iteration**0.5),
    project=lambda self, u, x: self.simplices.project(u) + self.simplices.project(3 * u - x),
    cumulate=lambda self, u, x: self.simplices.cumulate(u) * self.simplices.cumulate(x),
    best_response=lambda self, u, x: self.simplices.best_response(u)[1] + u,
    uniform=lambda self, u, x: self.simplices.uniform() * u,
    sizes=lambda self, u, x: u / self.simplices.repeat(np.sqrt(self.simplices.sizes)),
    by_block=lambda self, u, x: u * self.simplices.repeat(np.where(self.c > 0.5, self.c, 1)),
    root=root,
    roots_by_iteration=roots_by_iteration,
    reduceat=lambda self, u, x: (
        np.repeat(np.add.reduceat(u, self.simplices.first), self.simplices.sizes)
        - np.repeat(np.maximum.reduceat(u, self.simplices.first), self.simplices.sizes)
    ),
)
def test_operations_by_block(new):
    traced(new)


# The iteration


@each(
    operators=lambda self, u, x: (
        u * (self.iteration + 1) ** -0.5 + self.iteration // 2 - self.iteration % 3
    ),
    phases=lambda self, u, x: u * divmod(self.iteration, 3)[1] + divmod(7, self.iteration + 1)[0],
    math=lambda self, u, x: (
        u * math.sqrt(self.iteration + 1)
        + math.log(self.iteration + 2)
        + math.log(self.iteration + 2, 3)
        + math.exp(-self.iteration)
        + math.pow(self.iteration, 0.3)
        + math.floor(self.iteration / 2)
        + math.fmod(self.iteration, 2.5)
        + math.hypot(self.iteration, 2)
        + math.tanh(self.iteration)
        + math.log1p(self.iteration)
        + math.log2(self.iteration + 1)
        + math.fabs(-self.iteration)
    ),
    numpy=lambda self, u, x: u / np.sqrt(self.iteration + 1) + numpy_root(self.iteration),
    choice=lambda self, u, x: u if self.iteration % 2 == 0 else x,
    choices=lambda self, u, x: (
        u * (0.5 if self.iteration < 2 else 2.0) * (3 if self.iteration in (0, 3) else 1)
    ),
    smallest=lambda self, u, x: u * min(0.5, 2 / (self.iteration + 2)) + max(1, self.iteration),
    both=lambda self, u, x: u * (0.5 if self.iteration > 0 and not self.iteration % 2 else 1.5),
    arrays_by_iteration=lambda self, u, x: u * (self.even if self.iteration < 2 else 2 - self.even),
)
def test_the_iteration(new):
    traced(new, **EVEN)


def branches(self, u, x):
    if self.iteration == 0:
        return u
    y = u.copy()
    if self.iteration % 2:
        y[y < 0] = 0
        self.b *= 0.5
    elif self.iteration > 1:
        self.c += 1
    return y


def divisions_by_zero(self, u, x):
    try:
        y = u / self.iteration + u * (1 / self.iteration)
    except ZeroDivisionError:
        y = u
    try:
        y = y * (1 // (self.iteration - 2))
    except ZeroDivisionError:
        return y + (5 % (self.iteration - 1))
    return y


def undefined_logarithms(self, u, x):
    try:
        return u * math.log(self.iteration - 1, 2)
    except ValueError:
        return u * math.sqrt(self.iteration + 1)


@pytest.mark.parametrize("new", [branches, divisions_by_zero, undefined_logarithms])
def test_statements_by_iteration(new):
    traced(new)


# Other code


@define(eq=False)
class Elaborate(Arrays):
    """A rule with functions, a cached property, a static method and hooks of its parent."""

    decay: object = field(default=lambda t: 1 / (t + 1), kw_only=True)
    shift: object = field(default=None, kw_only=True)

    @cached_property
    def constant(self):
        return np.arange(self.dimension) % 3 + 1.0

    @staticmethod
    def doubled(x):
        return 2 * x

    def new(self, u, x):
        y = self.doubled(u) * self.constant * self.decay(self.iteration)
        return y if self.shift is None else self.shift(y)

    def _learn(self, utility, strategy):
        super()._learn(utility, strategy)
        self.a += 0.5


@pytest.mark.parametrize(
    "given", [{}, {"decay": lambda t: 0.9 ** int(t)}, {"shift": partial(np.add, 0.5)}]
)
def test_methods_and_functions(given):
    assert_traced(Elaborate(SIMPLICES, **given))
