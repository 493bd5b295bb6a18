"""Games of the catalogue that have no room in memory are refused at once, with their size."""

import time
from functools import partial

import pytest

from regretkit.games import blotto, dudo, liars_dice

TOO_LARGE = {
    "blotto": (partial(blotto, 60, 8), r"outcomes, which take about .* of memory"),
    "blotto of many soldiers": (partial(blotto, 10**6, 3), "choose a smaller game"),
    "dudo of two dice": (partial(dudo, dice=3), r"histories, which take about .* of memory"),
    "dudo of ten dice": (partial(dudo, dice=10), "choose a smaller game"),
    "liar's dice of many": (partial(liars_dice, dice=8), "choose a smaller game"),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_game_too_large_for_memory_is_refused_in_no_time(name):
    make, message = TOO_LARGE[name]
    began = time.process_time()

    with pytest.raises(MemoryError, match=message):
        make()

    assert time.process_time() - began < 2.0


def test_the_size_of_dudo_is_known_before_it_is_built():
    for sides in (2, 3, 4):
        rolls, claims = sides, 2 * sides
        histories = 1 + rolls + rolls**2 * (2 ** (claims + 1) - 1)
        assert dudo(sides=sides).tree.histories == histories
