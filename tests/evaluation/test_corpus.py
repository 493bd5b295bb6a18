"""Exact answers next to those of many real games, found by others in fractions."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from corpus import CORPUS, reference
from naive_exact import reduced_normal_form

from regretkit import ExtensiveFormGame, load
from regretkit.evaluation import best_correlated_equilibrium, pure_equilibria

MOST_PLANS = 300_000
"""Tables of more outcomes than this are passed by; they take memory and not thought."""


def answers(known):
    """Yield what is known of each game of perfect recall that has this answer, with the game."""
    for name, expected in reference("expected.json").items():
        forgetful = expected.get("perfect_recall") is False
        if known in expected and not forgetful and (CORPUS / name).exists():
            yield name, expected, load(CORPUS / name)


def tables(known):
    """Yield the same as tables of payoffs, in which a tree's players choose plans beforehand."""
    for name, expected, game in answers(known):
        if isinstance(game, ExtensiveFormGame):
            plans = np.prod([np.prod(tree.sizes.astype(float)) for tree in game.domains])
            if plans > MOST_PLANS:
                continue
            game = reduced_normal_form(game)
        yield name, expected, game


def test_there_are_as_many_pure_equilibria_as_are_known_and_they_pay_the_same():
    seen, wrong = 0, {}
    for name, expected, game in tables("pure_nash"):
        known = expected["pure_nash"]
        # The table of a tree is made of sums, which are rounded.
        found = pure_equilibria(game, atol=1e-12 if expected["form"] == "efg" else 0.0)
        paid = {tuple(np.round(game.payoffs[(slice(None), *o)], 6) + 0.0) for o in found}
        listed = {tuple(round(float(Fraction(x)), 6) for x in own) for own in known["payoffs"]}
        seen += 1
        if len(found) != known["count"] or paid != listed:
            wrong[name] = len(found), known["count"]
        if [list(outcome) for outcome in found] != known.get("profiles", list(map(list, found))):
            wrong[name] = found

    assert not wrong
    assert seen > 150


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("kind", ["ce", "cce"])
def test_the_range_of_welfare_is_the_known_one(kind):
    best, seen, wrong = partial(best_correlated_equilibrium, coarse=kind == "cce"), 0, {}
    for name, expected, game in tables("correlated"):
        scale = max(1.0, np.abs(game.payoffs).max())
        maximum, minimum = best(game), best(game, -np.ones(game.players))
        known = [expected["correlated"][f"{kind}_{which}_welfare"] for which in ("max", "min")]
        seen += 1
        if [maximum.value, -minimum.value] != pytest.approx(known, abs=1e-9 * scale):
            wrong[name] = maximum.value, -minimum.value, known
        if max(maximum.gap, minimum.gap, maximum.bound - maximum.value) > 1e-9 * scale:
            wrong[name] = maximum, minimum

    assert not wrong
    assert seen > 150
