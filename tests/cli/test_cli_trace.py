"""``regretkit trace`` shows what a rule is compiled to, or why it is not."""

import bench_victim
import pytest

import regretkit as rk
from regretkit.trace import describe_kernel

RULES = (
    bench_victim.RULE
    + """

@define(eq=False)
class Loops(Mine):
    def _propose(self):
        return np.array([max(regret, 0.0) for regret in self.regrets])


def one_each(simplices):
    return rk.Product([rk.RegretMatching(n) for n in simplices.sizes.tolist()])


def fails(simplices):
    raise ZeroDivisionError("no luck")
"""
)


@pytest.fixture
def folder(folder, monkeypatch):
    (folder / "rules_to_trace.py").write_text(RULES)
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_an_algorithm_shows_its_rule(run):
    code, out, err = run("trace", "cfr+")
    assert (code, err) == (0, "")
    assert out == f"{describe_kernel(rk.RegretMatchingPlus([2, 3]))}\n"


def test_hyperparameters_reach_a_rule(report):
    plain = report("trace", "rules_to_trace:Mine")["text"]
    steeper = report("trace", "rules_to_trace:Mine(power=2.5)")["text"]

    assert "square(%0)" in plain
    assert "power(%0, 2.5)" in steeper
    assert "p0 = 2.5" in steeper


def test_the_code_of_the_exact_engine_is_shown_if_asked_for(report):
    came = report("trace", "cfr", "--exact")
    assert came["exact"] is True
    assert came["text"] == describe_kernel(rk.RegretMatching([2, 3]), exact=True)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Loops", "a Python loop goes over entries; write it for whole arrays ("),
        ("one_each", "it plays several rules; name one of them"),
    ],
)
def test_why_a_rule_cannot_be_traced_is_said_in_one_line(refused, name, reason):
    told = refused("trace", f"rules_to_trace:{name}", code=1)
    assert told.startswith(f"regretkit: NAME: rules_to_trace:{name} cannot be traced: ")
    assert reason in told


def test_a_rule_that_fails_when_it_is_built_says_where(refused):
    told = refused("trace", "rules_to_trace:fails", code=1)
    assert "failed with ZeroDivisionError: no luck (rules_to_trace.py, line" in told


def test_an_unknown_name_is_refused(refused):
    told = refused("trace", "cfr++")
    assert told.startswith("regretkit: NAME: there is no algorithm 'cfr++'")
