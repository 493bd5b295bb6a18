"""What no graph can say is refused, with its place and what to write instead, and still runs."""

import inspect
import math
from functools import cached_property

import numpy as np
import pytest
from attrs import define, field
from trace_steps import written

import regretkit as rk
from regretkit import games, play
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


def first_regrets(self):
    return 1.0 + self.regrets


FINE_IN_NUMPY = [
    (
        "if r.max() > 0: return r\nreturn r",
        r"\.max\(\) mixes the blocks; use self.simplices.max\(x\)",
    ),
    (
        "return np.array([max(x, -1.0) for x in r])",
        "a Python loop iterates over entries; write it for whole arrays",
    ),
    (
        "new = r.copy()\nfor k in range(len(r)): new[k] = r[k] / 2\nreturn new",
        r"x\[0\] picks single entries; use a mask",
    ),
    (
        "for k in range(self.simplices.blocks): r[self.simplices.block(k)] *= 0.5\nreturn r",
        "self.simplices picks one block, but a rule must treat all blocks equally",
    ),
    ("return r * self.generator.random(self.dimension)", r"random\(\) draws random numbers"),
    (
        "return r + 0.001 * GENERATOR.random()",
        "its result changes from call to call, as with random numbers",
    ),
    ("return r + 0.0 * np.cumsum(r)", r"use self.simplices.cumulate\(x\)"),
    ("return r @ np.eye(r.size)", "mixes the blocks"),
    (
        "return r / (1 + np.abs(r).sum())",
        r"\.sum\(\) mixes the blocks; use self.simplices.sum\(x\)",
    ),
    (
        "return r * (1 + 0.1 * np.dot(r, r))",
        r"np.dot mixes the blocks; use self.simplices.dot\(x, y\)",
    ),
    ("return r / 2 if str(self.iteration).endswith('3') else r", "a text"),
    ("return np.concatenate([r[:1], r[1:]])", "picks single entries"),
    ("return r * math.erf(self.iteration + 1)", "needs a value; use NumPy's functions"),
    (
        "steps = self.iteration\nwhile steps > 0: steps -= 1\nreturn r",
        "too often, as in a loop; use np.where",
    ),
    ("return r * [0.5, 1.0, 2.0][self.iteration % 3]", r"needs an integer \(range, x\[k\]"),
    (
        "return r if self.simplices.best_response(r)[0] > 0 else 2 * r",
        "the value of best_response, a sum over all blocks",
    ),
    ("return r.astype(np.float32)", r"astype\(.*float32.*\) rounds numbers; leave it out"),
    ("try: return np.sort(r) * 0.5 + r\nexcept Exception: return r", "np.sort mixes the blocks"),
    (
        "return r * self.first",
        "self.first is computed once, but depends on values that change; write @prop",
    ),
    (
        "self.seed = (1103515245 * self.seed + 12345) % 2**31; return r * (self.seed / 2**31)",
        "multiplied and then divided",
    ),
    ("self.scale = 2.0; return r", "_learn sets self.scale, which was neither an array"),
    (
        "made = np.arange(float(r.size)); made += np.abs(r); return made",
        "a constant array cannot be written to; make it with np.zeros_like",
    ),
    ("return r + np.exp(r > 0)", "of booleans has numbers of 8 or 16 bits; use x.astype"),
]
WRONG_IN_NUMPY = [
    ("return r + self.simplices.sum(r)", r"do not fit; use self.simplices.repeat\(x\)"),
    (
        "return r + self.simplices.repeat(self.simplices.repeat(self.total))",
        "expected one number for each block, got one number for each action",
    ),
    ("r[self.total > 0] = 0.0; return r", r"picks single entries|sets single entries"),
]


HOOK = ("declare", "call to call", "multiplied and then", "computed once")
"""What is known of a hook alone, and not of a line in it."""


NAMES = {"__file__": __file__, "__name__": __name__, "np": np, "math": math}
NAMES |= {"GENERATOR": GENERATOR}


def rule(code):
    first = cached_property(first_regrets)
    first.__set_name__(None, "first")
    return type("Mine", (Base,), {"change": written(code, NAMES), "first": first})


def each(rows):
    return pytest.mark.parametrize(("code", "message"), rows)


@each(FINE_IN_NUMPY + WRONG_IN_NUMPY)
def test_a_refusal_names_what_was_done_where_and_what_to_write(code, message):
    with pytest.raises(UntraceableError, match=message) as caught:
        find_kernel(rule(code)(Simplices([2, 3, 3])))
    lines, text = range(1, 3 + code.count("\n")), str(caught.value)
    if any(part in text for part in HOOK):
        lines = [inspect.getsourcelines(Base._learn)[1]]
    assert any(f"({__file__}:{line})" in text for line in lines), text


@pytest.mark.deep_beyond(4)
@each(FINE_IN_NUMPY)
def test_what_is_refused_is_played_in_numpy_and_not_compiled(code, message):
    kind = rule(code)
    assert rk.solve(KUHN, play.Algorithm(kind), iterations=5, engine="numpy").iteration == 5
    with pytest.raises(ValueError, match=rf"cannot be compiled: .*{message}"):
        rk.solve(KUHN, play.Algorithm(kind), iterations=5, engine="compiled")
