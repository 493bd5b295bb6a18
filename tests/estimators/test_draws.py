"""Random numbers made many at once are those that calls would have returned, and no more."""

import numpy as np
import pytest

from regretkit.play._lazy_tree import BufferedUniforms

KINDS = [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 1, 3, 511, 512, 513, 1024, 2000])
def test_the_generator_is_left_where_calls_would_have_left_it(kind, count):
    hurried, patient = np.random.Generator(kind(1)), np.random.Generator(kind(1))
    for generator in (hurried, patient):
        generator.integers(5, dtype=np.int32)  # half of what is drawn is kept for the next one

    with BufferedUniforms(hurried) as draws:
        drawn = [draws.random() for _ in range(count)]

    assert drawn == [patient.random() for _ in range(count)]
    assert hurried.random() == patient.random()
    assert hurried.integers(5, dtype=np.int32) == patient.integers(5, dtype=np.int32)


def test_it_is_left_there_as_well_when_something_goes_wrong():
    hurried, patient = np.random.default_rng(1), np.random.default_rng(1)

    def fail():
        with BufferedUniforms(hurried) as draws:
            draws.random()
            raise KeyError

    with pytest.raises(KeyError):
        fail()

    patient.random()
    assert hurried.bit_generator.state == patient.bit_generator.state


def test_two_in_turn_draw_what_one_does():
    hurried, patient = np.random.default_rng(1), np.random.default_rng(1)
    drawn = []
    for count in (5, 600, 2):
        with BufferedUniforms(hurried) as draws:
            drawn += [draws.random() for _ in range(count)]

    assert drawn == patient.random(607).tolist()
