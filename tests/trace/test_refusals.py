"""What no graph can say is refused, with its place and what to write instead, and still runs."""

import inspect
import math
import random
from functools import cached_property

import numba
import numpy as np
import pytest
from attrs import define, field

import regretkit as rk
from regretkit import games, play
from regretkit.play._engines import select_engine
from regretkit.sets import Simplices
from regretkit.trace import UntraceableError, find_kernel

KUHN = games.kuhn_poker()
GENERATOR = np.random.default_rng(0)


@define(eq=False)
class Base(rk.SimplexRule):
    """Regret matching, with a hook for what is done to regrets."""

    regrets: np.ndarray = rk.state()
    total: np.ndarray = rk.state("block")
    seen: dict = field(factory=dict, init=False, repr=False)
    seed: int = field(default=1, init=False, repr=False)
    counts: list = field(factory=lambda: [0], init=False, repr=False)
    generator: np.random.Generator = field(
        factory=lambda: np.random.default_rng(5), init=False, repr=False
    )

    def __attrs_post_init__(self):
        super().__attrs_post_init__()
        self.held = np.ones(self.dimension)

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0))

    def _learn(self, utility, strategy):
        self.regrets = self.regrets + self.change(self.simplices.regret(utility, strategy))


def decides(self, r):
    if r.max() > 0:
        return r
    return r


def decides_by_entry(self, r):
    return r if np.maximum(r, 0) is None or self.simplices.max(r).all() else 2 * r


def decides_by_truth(self, r):
    return r if self.simplices.blocks > 0 and (not len(r) or (r > -np.inf).all()) else 0 * r


def loops(self, r):
    return np.array([max(x, -1.0) for x in r])


def loops_by_index(self, r):
    new = r.copy()
    for k in range(len(r)):
        new[k] = r[k] / 2
    return new


def goes_over_blocks(self, r):
    for k in range(self.simplices.blocks):
        r[self.simplices.block(k)] *= 0.5
    return r


def draws(self, r):
    return r * self.generator.random(self.dimension)


def draws_globally(self, r):
    return r + 1e-3 * GENERATOR.random()


def draws_in_python(self, r):
    return r + 1e-3 * random.Random(len(self.counts) + id(r) % 5).random()


def sorts(self, r):
    return r + 0.0 * np.sort(r)


def sums_all(self, r):
    return r / (1 + np.abs(r).sum())


def averages_all(self, r):
    return r - np.mean(r)


def takes_the_best(self, r):
    return r + (np.arange(r.size) == np.argmax(r))


def multiplies_matrices(self, r):
    return r * (1 + 0.1 * np.dot(r, r))


def multiplies_by_the_operator(self, r):
    return r * (1 + 0.1 * (r @ r))


def decides_by_a_text(self, r):
    return r / 2 if str(self.iteration).endswith("3") else r


def shifts(self, r):
    return np.roll(r, 1)


def stacks(self, r):
    return np.concatenate([r[:1], r[1:]])


def as_a_matrix(self, r):
    return r.reshape(1, -1)[0]


def accumulates(self, r):
    return np.add.accumulate(r) * 0.0 + r


def uses_another_function(self, r):
    return np.sinc(r) * 0.0 + r


def converts(self, r):
    return r * float(abs(r.sum()) < np.inf)


def mathematics_of_arrays(self, r):
    return r * math.erf(self.iteration + 1)


def counts_down(self, r):
    steps = self.iteration
    while steps > 0:
        steps -= 1
    return r


def counts_up(self, r):
    return r * sum(1.0 for _ in range(self.iteration))


def picks_by_the_iteration(self, r):
    return r * [0.5, 1.0, 2.0][self.iteration % 3]


def looks_the_iteration_up(self, r):
    return r * {0: 0.5}.get(self.iteration, 1.0)


def rounds_to_single_precision(self, r):
    return r.astype(np.float32)


def passes_over_what_fails(self, r):
    try:
        return np.sort(r) * 0.5 + r
    except Exception:
        return r


def divides_and_sees(self, r):
    try:
        return r * min(1 / (self.iteration - 2), 2.0)
    except ZeroDivisionError:
        return r


def first_regrets(self):
    return 1.0 + self.regrets


def keeps_the_first_regrets(self, r):
    return r * self.first


def draws_by_remainders(self, r):
    self.seed = (1103515245 * self.seed + 12345) % 2**31
    return r * (self.seed / 2**31)


def sets_a_number(self, r):
    self.scale = 2.0
    return r


def fills_a_dict(self, r):
    self.seen["r"] = r
    return r


def counts_in_a_list(self, r):
    self.counts[0] = self.counts[0] + 1
    return r


def counts_by_itself(self, r):
    self.counts.append(self.iteration)
    return r


def writes_to_an_array(self, r):
    made = np.arange(float(r.size))
    made += np.abs(r)
    return made


def writes_to_constants(self, r):
    self.held[r > 0] *= 1.0
    return r


def writes_to_utility(self, r):
    self.given *= 1.0
    return r


def adds_shapes(self, r):
    return r + self.simplices.sum(r)


def sums_blocks(self, r):
    return r + self.simplices.repeat(self.simplices.repeat(self.total))


def masks_of_blocks(self, r):
    r[self.total > 0] = 0.0
    return r


def other_masks(self, r):
    return r + 0.0 * r[r > 0].sum()


def formats(self, r):
    return r * len(f"{r.sum():.3f}") / len(f"{r.sum():.3f}")


def adds_to_booleans(self, r):
    mask = r > 0
    mask += 1.0
    return mask * 1.0


def negates_booleans(self, r):
    return -(r > 0) * 1.0


def subtracts_booleans(self, r):
    return ((r > 0) - (r < 0)) * 1.0


def halves_booleans_in_place(self, r):
    return np.multiply(r > 0, 0.5, out=r > 0) * 1.0


def copies_to_booleans(self, r):
    mask = r > 0
    np.copyto(mask, r)
    return mask * 1.0


def takes_exponentials_of_booleans(self, r):
    return r + np.exp(r > 0)


UNDECLARED = "which is neither an array nor a number beforehand; declare"
FINE_IN_NUMPY = {
    decides: r"\.max\(\) mixes the blocks; use self.simplices.max\(x\)",
    decides_by_entry: r"\.all\(\) mixes the blocks",
    decides_by_truth: r"\.all\(\) mixes the blocks",
    loops: "a Python loop goes over entries; write it for whole arrays",
    loops_by_index: r"x\[0\] picks single entries; use a mask",
    goes_over_blocks: r"picks single entries; use a mask",
    draws: r"random\(\) draws random numbers",
    draws_globally: "_learn draws random numbers; compute with what was learned alone",
    sorts: "np.sort is not known",
    sums_all: r"\.sum\(\) mixes the blocks; use self.simplices.sum\(x\)",
    averages_all: r"np.mean mixes the blocks; use self.simplices.sum\(x\), divided by",
    takes_the_best: r"np.argmax mixes the blocks; use self.simplices.best_response\(x\)",
    multiplies_matrices: r"np.dot mixes the blocks; use self.simplices.dot\(x, y\)",
    multiplies_by_the_operator: r"np.matmul mixes the blocks; use self.simplices.dot\(x, y\)",
    shifts: "np.roll is not known",
    decides_by_a_text: "a text",
    stacks: r"picks single entries",
    as_a_matrix: r"\.reshape\(\)",
    accumulates: r"np.add.accumulate is not known",
    uses_another_function: "np.sinc is not known",
    converts: r"\.sum\(\) mixes the blocks",
    mathematics_of_arrays: r"asks for a value; use NumPy's functions",
    counts_down: r"again and again, as in a loop; use np.where",
    counts_up: r"asks for a whole number \(range, .*; compare, as in self.iteration % 3 == 0",
    picks_by_the_iteration: r"asks for a whole number \(range, x\[k\]",
    looks_the_iteration_up: r"a set or a dict asks for a value; use a tuple",
    rounds_to_single_precision: r"astype\(.*float32.*\) rounds numbers; leave it out",
    passes_over_what_fails: "np.sort is not known",
    divides_and_sees: "divides_and_sees goes by ZeroDivisionError, .*; compare with 0 before",
    keeps_the_first_regrets: "self.first is computed once, of what changes; write @property",
    draws_by_remainders: r"whole numbers beyond 2\*\*53 are divided",
    sets_a_number: f"_learn changes self.scale, {UNDECLARED}",
    fills_a_dict: f"_learn changes self.seen, {UNDECLARED}",
    counts_in_a_list: f"_learn changes self.counts, {UNDECLARED}",
    counts_by_itself: f"_learn changes self.counts, {UNDECLARED}",
    writes_to_an_array: "made beforehand is written to; make it with np.zeros_like",
    writes_to_constants: r"np.array, or a function of other libraries, asks for values",
    other_masks: r"\.sum\(\) mixes the blocks",
    takes_exponentials_of_booleans: r"of booleans has numbers of float16; use x.astype",
    formats: r"\.sum\(\) mixes the blocks",
}
WRONG_IN_NUMPY = {
    adds_to_booleans: r"Cannot cast ufunc 'add' output from dtype\('float64'\) to dtype\('bool'\)",
    negates_booleans: "boolean negative, the `-` operator, is not supported",
    subtracts_booleans: "boolean subtract, the `-` operator, is not supported",
    halves_booleans_in_place: "Cannot cast ufunc 'multiply' output",
    copies_to_booleans: "Cannot cast array data from",
    adds_shapes: r"do not fit; use self.simplices.repeat\(x\)",
    sums_blocks: "one number for each block is needed, but there is one number for each action",
    masks_of_blocks: r"picks single entries|sets single entries",
}


HOOK = ("declare", "numbers; compute", "beyond 2**53", "goes by", "computed once")
"""What is known of a hook alone, and not of a line in it."""


def rule(change, kind=Base):
    first = cached_property(first_regrets)
    first.__set_name__(None, "first")
    return type("Mine", (kind,), {"change": change, "first": first})


def each(functions):
    rows = [pytest.param(f, message, id=f.__name__) for f, message in functions.items()]
    return pytest.mark.parametrize(("change", "message"), rows)


@each(FINE_IN_NUMPY | WRONG_IN_NUMPY)
def test_a_refusal_names_what_was_done_where_and_what_to_write(change, message):
    with pytest.raises(UntraceableError, match=message) as caught:
        find_kernel(rule(change)(Simplices([2, 3, 3])))
    lines, first = inspect.getsourcelines(change)
    places = [f"{__file__}:{first + k}" for k in range(len(lines))]
    text = str(caught.value)
    if any(part in text for part in HOOK):
        assert f"({__file__}:{inspect.getsourcelines(Base._learn)[1]})" in text
        return
    assert "every time" in text or any(f"({place})" in text for place in places), text


@each(FINE_IN_NUMPY)
def test_what_is_refused_is_played_as_vectorized_code_alike(change, message):
    algorithm = play.Algorithm(rule(change))
    runs = [rk.solve(KUHN, algorithm, iterations=5, engine=e) for e in ("numpy", "vectorized")]
    if change is not draws_globally:
        for one, other in zip(*(run.average for run in runs), strict=True):
            np.testing.assert_array_equal(one, other)
    assert select_engine(algorithm.start(KUHN), "auto", 10**9).name == "vectorized"


@each(FINE_IN_NUMPY)
def test_the_compiled_engine_refuses_with_the_same_sentence(change, message):
    with pytest.raises(ValueError, match=rf"cannot be compiled: .*{message}"):
        rk.solve(KUHN, play.Algorithm(rule(change)), iterations=5, engine="compiled")


def test_a_function_that_numba_has_compiled_is_refused_with_what_to_call():
    positive = numba.njit(lambda x: np.maximum(x, 0.0))  # never compiled here
    with pytest.raises(UntraceableError, match=r"call Numba's f\.py_func"):
        find_kernel(rule(lambda self, r: positive(r))(Simplices([2, 3])))
