"""Reflected mirror descent: its recurrence, the forms that it coincides with, and its bound."""

import numpy as np
import pytest
from factories import ADVERSARIES, play

from regretkit.minimizers import (
    Entropy,
    Euclidean,
    LogBarrier,
    OnlineMirrorDescent,
    ReflectedMirrorDescent,
)


def nearest(point):
    """Project on the simplex by bisection for the level."""
    low, high = point.min() - 1.0, point.max()
    for _ in range(200):
        level = (low + high) / 2.0
        low, high = (level, high) if np.maximum(point - level, 0).sum() > 1.0 else (low, level)
    return np.maximum(point - level, 0.0)


def test_it_is_projected_gradient_descent_along_a_corrected_utility():
    generator, rate = np.random.default_rng(1), 0.3
    player = ReflectedMirrorDescent(4, regularizer=Euclidean(), rate=rate)
    x, expected = np.full(4, 0.25), np.zeros(4)
    for t in range(60):
        assert player.next_strategy() == pytest.approx(x, abs=1e-9)
        utility = generator.normal(size=4)
        player.observe_utility(utility)
        coming = generator.normal(size=4) if t % 3 == 0 else utility
        if t % 3 == 0:
            player.expect_utility(coming)
        x, expected = nearest(x + rate * (utility - expected + coming)), coming


@pytest.mark.parametrize("regularizer", [Entropy(), LogBarrier()])
def test_in_the_interior_it_is_optimistic_mirror_descent(regularizer):
    parts = {"regularizer": regularizer, "rate": 0.3}
    reflected = ReflectedMirrorDescent([2, 3], **parts)
    optimistic = OnlineMirrorDescent([2, 3], **parts, optimistic=True)
    for utility in np.random.default_rng(2).normal(size=(50, 5)):
        assert reflected.next_strategy() == pytest.approx(optimistic.next_strategy(), abs=1e-12)
        reflected.observe_utility(utility)
        optimistic.observe_utility(utility)


def test_at_the_boundary_it_is_another():
    parts = {"regularizer": Euclidean(), "rate": 1.0}
    reflected = ReflectedMirrorDescent(3, **parts)
    optimistic = OnlineMirrorDescent(3, **parts, optimistic=True)
    apart = 0.0
    for utility in np.random.default_rng(3).normal(size=(20, 3)):
        apart = max(apart, np.abs(reflected.next_strategy() - optimistic.next_strategy()).max())
        reflected.observe_utility(utility)
        optimistic.observe_utility(utility)

    assert apart > 0.1


@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_it_pays_for_wrong_predictions_only(adversary):
    # (1 - 1/n) / (2 rate)  +  rate / 2 sum_t |u_t - m_t|^2, up to what all actions have in common
    rate = 0.3
    player = ReflectedMirrorDescent(5, regularizer=Euclidean(), rate=rate)
    x, u = play(player, ADVERSARIES[adversary], 200, np.random.default_rng(4))

    missed = np.diff(u, axis=0, prepend=np.zeros((1, 5)))
    missed -= missed.mean(axis=1, keepdims=True)
    bound = 0.8 / (2.0 * rate) + rate / 2.0 * (missed**2).sum(axis=1).cumsum()
    gains = u - (u * x).sum(axis=1, keepdims=True)
    assert (gains.cumsum(axis=0).max(axis=1) <= bound * (1.0 + 1e-9)).all()
