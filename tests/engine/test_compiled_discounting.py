"""Regrets that fade, and are only looked at where a sample comes, fade all the same."""

from functools import partial

import numpy as np
import pytest
from attrs import define
from test_compiled_sampling import Fading, assert_alike, drawing, drawn

import regretkit as rk
from regretkit import SelfPlay, games
from regretkit.checks import run_check
from regretkit.checks._kernel import kernel_agrees
from regretkit.minimizers import DiscountedRegretMatchingPlus, Kernel, KernelTraits
from regretkit.play import (
    Alternating,
    ExternalSampling,
    OutcomeSampling,
    RandomPlayer,
    RobustSampling,
    Simultaneous,
)

KUHN_3, LEDUC = games.kuhn_poker(players=3), games.leduc_poker()
RULES = {
    "discounted": rk.DiscountedRegretMatching,
    "forgetting all that is negative": partial(rk.DiscountedRegretMatching, beta=-np.inf),
    "keeping half of it": partial(rk.DiscountedRegretMatching, alpha=1.0, beta=0.0),
    "discounted plus": DiscountedRegretMatchingPlus,
}
ORDERS = {
    "alternating": lambda: Alternating(first=1),
    "simultaneous": Simultaneous,
    "random player": lambda: RandomPlayer(np.random.default_rng(4)),
}
SAMPLERS = {
    "external": drawing(ExternalSampling),
    "outcome": drawing(OutcomeSampling),
    "robust": drawing(RobustSampling, actions=2),
}
each_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def begun(rule, engine="compiled", make=SAMPLERS["external"], order=Alternating, game=LEDUC):
    players = [rk.CFR(tree, rule) for tree in game.domains]
    return SelfPlay(game, players, order=order(), estimator=make(), engine=engine)


def learned(run):
    return [array for m in run.minimizers for array in m.rule._learned().values()]


def bits(run):
    parts = [*learned(run), *run.average, *run.current, *run.last_profile]
    return [part.tobytes() for part in parts], drawn(run)


@pytest.mark.deep_beyond(1)
@each_rule
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_they_are_what_they_are_where_every_iteration_is_told(rule, order):
    for make in SAMPLERS.values():
        fast, slow = (begun(rule, way, make, order).run(150) for way in ("compiled", "numpy"))
        assert_alike(fast, slow)
        for mine, theirs in zip(learned(fast), learned(slow), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
        # Most decision points were not come to in the last iterations.
        assert np.count_nonzero(learned(fast)[0]) > 20


@each_rule
def test_among_three_as_well(rule):
    fast, slow = (begun(rule, way, game=KUHN_3).run(300) for way in ("compiled", "numpy"))

    assert_alike(fast, slow)


@each_rule
@pytest.mark.parametrize("kind", ["external", "outcome"])
def test_a_run_in_pieces_from_a_state_and_from_a_file_has_the_same_bits(rule, kind, tmp_path):
    whole, pieces, moved = (begun(rule, make=SAMPLERS[kind]) for _ in range(3))
    whole.run(400)
    for count in (1, 99, 0, 170, 130):
        pieces.run(count)
    moved.load_state_dict(begun(rule, make=SAMPLERS[kind]).run(170).state_dict())
    moved.run(130).save(tmp_path / "run")
    players = [rk.CFR(tree, rule) for tree in LEDUC.domains]
    loaded = SelfPlay.load(tmp_path / "run", LEDUC, players, engine="compiled")
    loaded.run(100)

    assert bits(pieces) == bits(whole)
    assert bits(loaded) == bits(whole)


@pytest.mark.parametrize("rule", [RULES["discounted"], rk.RegretMatching])
def test_who_changes_regrets_between_two_runs_is_heard(rule):
    run, other = (begun(rule, way).run(50) for way in ("compiled", "numpy"))
    for mine in (run, other):
        for minimizer in mine.minimizers:
            state = minimizer.state_dict()
            regrets = state["rule"]["state"]["regrets"]
            state["rule"]["state"]["regrets"] = 0.25 * regrets + 0.5
            minimizer.load_state_dict(state)
        mine.run(50)

    assert_alike(run, other)  # averages of what was played before among the rest


def test_a_state_moves_between_ways_to_run():
    fast, slow = (begun(RULES["discounted"], way) for way in ("compiled", "numpy"))
    for _ in range(4):
        slow.load_state_dict(fast.run(30).state_dict())
        fast.load_state_dict(slow.run(30).state_dict())
    whole = begun(RULES["discounted"], "numpy").run(240)

    assert_alike(fast, whole)


def test_where_only_some_regrets_fade_or_what_is_played_changes_it_is_said():
    halves = [rk.DiscountedRegretMatching, rk.RegretMatching]
    players = [rk.CFR(tree, rule) for tree, rule in zip(LEDUC.domains, halves, strict=True)]
    with pytest.raises(ValueError, match=r"minimizers\[0\].* fade, unlike those of others"):
        SelfPlay(LEDUC, players, estimator=SAMPLERS["external"](), engine="compiled")
    # The last one forgets so fast that nothing positive is left after some idle iterations.
    for rule in (rk.PredictiveRegretMatchingPlus, partial(rk.DiscountedRegretMatching, alpha=0.5)):
        with pytest.raises(ValueError, match="moves where a sample does not come"):
            begun(rule)


@pytest.mark.parametrize("rule", [*RULES.values(), rk.LinearRegretMatching], ids=str)
def test_numbers_of_many_iterations_are_those_of_each(rule):
    numbers = rule(3)._kernel().parameters

    assert numbers.rows(1, 50).tolist() == [list(numbers(t)) for t in range(1, 51)]
    assert numbers.rows(30, 1).tolist() == [list(numbers(30))]


@define(eq=False)
class SaysItFades(Fading):
    """Fades by a half, and says by which factors."""

    factors: tuple[float, float] = (0.5, 0.5)

    def _kernel(self):
        plain = super()._kernel()
        names = {"state": ["regrets"], "parameters": self.factors}
        names["traits"] = KernelTraits(only_discounts_on_zero_utility=True)
        return Kernel(plain.propose, plain.learn, **names)


def test_a_kernel_that_says_it_fades_otherwise_than_it_does_is_found_out():
    run_check(kernel_agrees, lambda: SaysItFades(3))
    with pytest.raises(AssertionError, match="its kernel declares only_discounts_on_zero_utility"):
        run_check(kernel_agrees, lambda: SaysItFades(3, factors=(0.5, 0.25)))
