"""Decision points with a single action, calls of the engine, and runs in pieces."""

import numpy as np
import pytest
from attrs import define
from hypothesis import given
from hypothesis import strategies as st

import regretkit as rk
from regretkit import SelfPlay, games, state
from regretkit.engine._executor import next_batch
from regretkit.play import Last, Linear

pytestmark = pytest.mark.deep  # nearly all the time goes into compiling


LIARS_DICE = games.liars_dice(sides=3)
# Visible results


@define(eq=False)
class OfUtilities(rk.SimplexRule):
    """Goes by what actions earned, and not by regret: it looks at single actions as well."""

    earned: np.ndarray = state()

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.earned, 0.0))

    def _learn(self, utility, strategy):
        self.earned += utility


RULES = {
    "rm+": rk.RegretMatchingPlus,
    "discounted": rk.DiscountedRegretMatching,
    "predictive": rk.PredictiveRegretMatchingPlus,
    "hedge": lambda simplices: rk.Hedge(simplices, rate=0.5),
    "of utilities": OfUtilities,
}


def begun(rule, engine):
    return SelfPlay(LIARS_DICE, [rk.CFR(d, rule) for d in LIARS_DICE.domains], engine=engine)


def numbers_of(run):
    """Return all that a run has come to."""
    learned = [array for m in run.minimizers for array in m.rule._learned().values()]
    utilities = [
        m[p].utilities
        for m, d in zip(run.minimizers, LIARS_DICE.domains, strict=True)
        for p in range(d.points)
    ]
    behaviors = [m.rule.next_strategy() for m in run.minimizers]
    return [*run.average, *run.current, *run.last_profile, *behaviors, *utilities, *learned]


@pytest.mark.parametrize("name", RULES)
def test_forced_moves_are_played_in_machine_code_as_in_numpy(name):
    rule = RULES[name]
    fast, slow, mixed = (begun(rule, way) for way in ("compiled", "numpy", "numpy"))
    fast.run(20)
    slow.run(20)
    mixed.run(7)
    moved = begun(rule, "compiled")
    moved.load_state_dict(mixed.state_dict())
    moved.run(13)

    for run in (fast, moved):
        for found, expected in zip(numbers_of(run), numbers_of(slow), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-11)


@define(eq=False)
class OfUtilitiesByBlock(OfUtilities):
    """Counts its iterations, block by block."""

    counted: np.ndarray = state(per="block")

    def _learn(self, utility, strategy):
        self.earned += self.simplices.regret(utility, strategy)
        self.counted += 1.0


def test_numbers_by_block_stay_where_they_are():
    fast, slow = (begun(OfUtilitiesByBlock, way).run(10) for way in ("compiled", "numpy"))
    for found, expected in zip(numbers_of(fast), numbers_of(slow), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("averaging", [Linear(), Last()])
def test_a_run_in_pieces_has_the_same_bits(averaging):
    def run():
        players = [rk.CFR(d, rk.RegretMatchingPlus) for d in LIARS_DICE.domains]
        return SelfPlay(LIARS_DICE, players, averaging=averaging, engine="compiled")

    whole, pieces = run().run(12), run().run(1).run(3).run(8)
    assert [a.tobytes() for a in numbers_of(whole)] == [a.tobytes() for a in numbers_of(pieces)]


@given(st.integers(1, 4096), st.floats(1e-7, 1e4))
def test_calls_are_short_unless_they_would_be_of_few_iterations(count, took):
    pace, seconds = next_batch(count, took), took / count
    assert pace >= 1
    assert pace * seconds <= 0.1 + 1e-9 or pace <= 16
    assert pace * seconds <= 1.0 + 1e-9 or pace == 1
    assert pace <= max(8 * count, 16)
