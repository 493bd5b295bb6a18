"""Estimates: intervals that are right as often as they say."""

import math

import numpy as np
import pytest
from naive_games import random_profile
from refusals import refusals

from regretkit import NormalFormGame, games
from regretkit.evaluation import Estimate, sampled_value
from regretkit.games import Profile

TOSSES = Estimate.of([1.0, 0.0])


def binomial(n, p):
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def coverage(n, p, interval):
    """Return how often an interval made of n tosses holds the mean p, exactly."""
    right = 0.0
    for heads, chance in enumerate(binomial(n, p)):
        tosses = [1.0] * heads + [0.0] * (n - heads)
        low, high = interval(Estimate.of(tosses, bounds=(0.0, 1.0)))
        right += chance * (low - 1e-12 <= p <= high + 1e-12)
    return right


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [2, 9, 100])
def test_a_bernstein_interval_holds_as_often_as_it_says_however_few_the_samples(n, confidence):
    for p in (0.0, 0.004, 0.05, 0.3, 0.5, 0.97, 1.0):
        assert coverage(n, p, lambda e: e.bernstein_interval(confidence)) >= confidence


def test_a_normal_interval_holds_about_as_often_as_it_says_only_of_many_samples():
    many = coverage(300, 0.4, lambda e: e.normal_interval(0.9))
    rare = coverage(20, 0.004, lambda e: e.normal_interval(0.9))
    assert many == pytest.approx(0.9, abs=0.02)
    assert rare < 0.1  # mostly no head comes up, and the interval is a point


def test_an_interval_is_its_formula():
    samples, n, d = np.random.default_rng(0).uniform(-2.0, 6.0, size=2_000), 2_000, 0.05
    estimate = Estimate.of(samples, bounds=(-2.0, 6.0))
    mean = sum(samples) / n
    variance = sum((x - y) ** 2 for x, y in zip(samples, [mean] * n, strict=True)) / (n - 1)
    log = math.log(4 / d)
    radius = math.sqrt(2 * variance * log / n) + 7 * 8.0 * log / (3 * (n - 1))
    assert estimate.bernstein_interval(1 - d) == pytest.approx((mean - radius, mean + radius))
    radius = 1.959963984540054 * math.sqrt(variance / n)
    assert estimate.normal_interval(1 - d) == pytest.approx((mean - radius, mean + radius))
    assert estimate.standard_error == pytest.approx(math.sqrt(variance / n))


@pytest.mark.parametrize("form", ["tree", "table", "rules"])
def test_games_are_played_with_their_probabilities(form):
    generator, table = np.random.default_rng(3), np.random.default_rng(3).normal(size=(2, 3, 4))
    game = NormalFormGame(table) if form == "table" else games.kuhn_poker()
    profile = [generator.dirichlet(np.ones(n)) for n in (3, 4)]
    if form != "table":
        profile, _ = random_profile(generator, game)
    played = Profile(profile, game.domains, game)
    rules = games.KuhnPoker() if form == "rules" else game
    strategies = [played.behavior(i) for i in (0, 1)] if form == "rules" else played
    found = sampled_value(rules, strategies, 2_000 if form == "rules" else 200_000, 1)
    for estimate, value in zip(found, game.value(profile), strict=True):
        low, high = estimate.normal_interval(1 - 1e-5)
        assert low <= value <= high


test_impossible_samples_bounds_and_intervals_are_refused = refusals(
    (lambda: Estimate.of([1.0, math.nan]), ValueError, "samples must be"),
    (lambda: Estimate.of([1.0, 3.0], (0.0, 2.0)), ValueError, "bounds must contain all samples"),
    (lambda: Estimate.of([1.0], (2.0, 0.0)), ValueError, "bounds must be two finite numbers"),
    (lambda: Estimate.of([1.0], 3.0), TypeError, "bounds must be two finite numbers"),
    (lambda: Estimate.of([1.0]).normal_interval(), ValueError, "a single sample has no var"),
    (lambda: TOSSES.bernstein_interval(), ValueError, "needs bounds"),
    (lambda: TOSSES.normal_interval(95), ValueError, "confidence must be below 1"),
)
