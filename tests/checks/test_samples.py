"""Samples are enumerated: every result of what may be drawn, with its probability."""

import pytest

from regretkit.checks import every_sample


@pytest.mark.parametrize(
    ("draw", "probability"),
    [
        (lambda g: g.random() < 0.3, 0.3),
        (lambda g: g.random() >= 0.3, 0.7),
        (lambda g: (g.random(4) < 0.25)[2] == (g.random() < 1 / 3), 1 / 12 + 1 / 2),
        (lambda g: g.integers(5) % 2, 0.4),
        (lambda g: g.integers(3, 5) == 3, 0.5),
        (lambda g: g.choice(["a", "b", "c"], p=[0.2, 0.5, 0.3]) == "b", 0.5),
        (lambda g: g.choice(6) < 2, 1 / 3),
        (lambda g: g.choice(4, p=[0.5, 0.0, 0.5, 0.0]) < 2, 0.5),
        (lambda g: True, 1.0),
    ],
)
def test_draws_may_be_made_in_many_ways(draw, probability):
    found = [*every_sample(draw)]
    assert min(p for p, _ in found) > 0.0
    assert sum(p for p, happens in found if happens) == pytest.approx(probability)
    assert sum(p for p, _ in found) == pytest.approx(1.0)


def test_numbers_may_be_looked_at_again_and_forks_depend_on_what_was_drawn():
    def bucket(generator):
        number = generator.random()
        return next(k for k, bound in enumerate([0.1, 0.1, 0.6, 1.0]) if number < bound)

    def first_head(generator):
        return next(k for k in range(3) if k == 2 or generator.random() < 0.5)

    assert [*every_sample(bucket)] == [(0.1, 0), (pytest.approx(0.5), 2), (pytest.approx(0.4), 3)]
    assert [*every_sample(first_head)] == [(0.5, 0), (0.25, 1), (0.25, 2)]
    with pytest.raises(ValueError, match="more than 2 samples"):
        list(every_sample(first_head, 2))


@pytest.mark.parametrize(
    "draw",
    [
        lambda g: g.normal() < 0.0,
        lambda g: float(g.random()) < 0.5,
        lambda g: g.random() + 0.5 < 1.0,
        lambda g: g.integers(2, size=3)[0],
    ],
)
def test_other_draws_cannot_be_enumerated(draw):
    with pytest.raises(TypeError):
        list(every_sample(draw))
