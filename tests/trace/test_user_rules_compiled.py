"""Rules that users write run in machine code, and random rules do in theirs as in plain Python."""

import numpy as np
import pytest
from user_rules import NEEDS_PYTHON, RULES

import regretkit as rk
from regretkit import games, play
from regretkit.sets import Simplices
from regretkit.trace import UntraceableError, find_kernel


def refusal_of(make):
    try:
        find_kernel(make(Simplices([2, 3])))
    except UntraceableError as error:
        return str(error)
    return ""


def test_six_of_seven_rules_have_a_kernel_and_the_others_say_why_not():
    reasons = {name: refusal_of(make) for name, make in RULES}
    refused = {name for name, reason in reasons.items() if reason}
    assert refused == NEEDS_PYTHON
    assert len(refused) <= len(RULES) / 7
    assert all(".py:" in reasons[name] for name in refused)


@pytest.mark.deep_beyond(2)
@pytest.mark.parametrize(
    "make", [pytest.param(m, id=name) for name, m in RULES if name not in NEEDS_PYTHON]
)
def test_machine_code_plays_as_numpy_does(make):
    for game, iterations in ((games.kuhn_poker(), 60), (games.leduc_poker(), 5)):
        runs = [
            rk.solve(game, play.Algorithm(make), iterations=iterations, engine=engine)
            for engine in ("numpy", "compiled")
        ]
        for one, other in zip(*(run.average for run in runs), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
