"""Players whose rules have different kernels, in machine code."""

from itertools import product

import numpy as np
import pytest
from engine_cases import KERNELS, RULES, apart_in_payoffs, assert_same_bits

import regretkit as rk
from regretkit import games
from regretkit.engine._kernels import iterate
from regretkit.engine._mixture import mixture
from regretkit.engine._specialize import _mark, filling_for
from regretkit.play import Alternating, Linear, Simultaneous

KUHN = games.kuhn_poker()
PAIRS = [
    ("rm+", "hedge"),
    ("hedge", "drm"),  # fixed numbers next to numbers that change
    ("adaptive", "rm"),  # which keeps numbers for blocks next to one that keeps none
    # What these find, the others find as a rule, and to compile each takes half a minute.
    pytest.param(("prm+", "omd euclid"), marks=pytest.mark.slow),
    pytest.param(("ftrl euclid", "adaptive"), marks=[pytest.mark.slow, pytest.mark.sample]),
]


def run_of(game, names, engine, **how):
    players = zip(names, game.domains, strict=True)
    return rk.SelfPlay(
        game,
        [rk.CFR(domain, RULES[name]) for name, domain in players],
        engine=engine,
        averaging=Linear(),
        **how,
    )


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("order", [Alternating(), Alternating(first=1), Simultaneous()])
@pytest.mark.parametrize("names", PAIRS)
def test_different_rules_agree_with_numpy_iteration_by_iteration(names, order):
    compiled = run_of(KUHN, names, "compiled", order=order)
    for _ in range(40):
        state = compiled.state_dict()
        plain = run_of(KUHN, names, "numpy", order=order)
        plain.load_state_dict(state)
        compiled.run(1)
        plain.run(1)
        assert apart_in_payoffs(compiled, plain) < 1e-12
    assert compiled.engine == "compiled"


@pytest.mark.deep
def test_three_players_with_three_rules():
    game, names = games.kuhn_poker(players=3), ("rm", "hedge", "drm+")

    compiled, plain = (run_of(game, names, way).run(30) for way in ("compiled", "numpy"))

    for mine, other in zip(compiled.average, plain.average, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-9)


def test_each_plays_its_own_rule():
    # Against the same opponent, they part ways from what two players of one rule do.
    mixed = run_of(KUHN, ("rm+", "hedge"), "compiled").run(5)
    for name in ("rm+", "hedge"):
        alike = run_of(KUHN, (name, name), "compiled").run(5)
        assert not np.allclose(np.concatenate(mixed.current), np.concatenate(alike.current))


def test_a_run_cut_in_two_is_bitwise_identical():
    names = ("hedge", "drm")
    whole, halves = run_of(KUHN, names, "compiled").run(60), run_of(KUHN, names, "compiled")

    halves.run(25)
    halves.run(35)

    assert_same_bits(whole, halves)


def test_equal_kernels_stay_as_they_are():
    kernels = [rk.Hedge(2, rate=0.1)._kernel(), rk.Hedge([2, 3], rate=0.2)._kernel()]

    mixed = mixture(kernels)

    assert mixed.whole.propose is kernels[0].propose
    assert [part.kind for part in mixed.parts] == [0, 0]


def test_the_same_mixture_is_the_same_machine_code():
    def whole():
        return mixture([RULES[name](rk.Simplices(2))._kernel() for name in ("rm", "hedge")]).whole

    assert whole().propose is whole().propose
    assert whole().learn is whole().learn


def test_no_two_mixtures_are_kept_on_disk_under_one_name():
    code = {name: rule(rk.Simplices(2))._kernel() for name, rule in KERNELS.items()}
    known = {}
    for names in product(code, repeat=3):
        whole = mixture([code[name] for name in names]).whole
        mark = _mark(iterate, filling_for(whole, "Matrix"))
        assert known.setdefault(mark, tuple(dict.fromkeys(names))) == tuple(dict.fromkeys(names))
    assert len(known) > 1_000
