"""Checks of rules over simplices: what neighbours, order, constants and units may do to them."""

import numpy as np

from regretkit._util._validate import quote
from regretkit.checks._helpers import (
    Make,
    expected_play,
    play,
    require_alike,
    require_same,
    twins,
    utilities,
)
from regretkit.sets import Simplices


def blocks_are_independent(make: Make) -> None:
    """Require that a rule over simplices plays each block exactly as it would play it alone."""
    simplices = Simplices([3, 2, 3])
    rule = make().on_domain(simplices)
    if rule is None:
        return
    shown = utilities(rule)
    joint = expected_play(rule, shown)
    for number, size in enumerate(simplices.sizes):
        single, block = make().on_domain(Simplices(int(size))), simplices.block(number)
        if single is None:
            raise AssertionError(f"it plays over {quote(simplices)}, but not over {size} actions")
        separate = expected_play(single, shown[:, block])
        if isinstance(separate[1], float):
            require_same(joint[0][:, block], separate[0], "a block depends on its neighbours")
        else:
            error = np.asarray(joint[1])[:, block]
            require_alike(
                (joint[0][:, block], error), separate, "a block depends on its neighbours"
            )


def strategies_are_invariant_to_action_order(make: Make) -> None:
    """Require that a rule over a simplex, shown its actions in another order, plays as before."""
    straight, shuffled = (make().on_domain(Simplices(4)) for _ in range(2))
    if straight is None or shuffled is None:
        return
    order, shown = np.array([2, 0, 3, 1]), utilities(straight)
    mean, error = expected_play(straight, shown)
    require_alike(
        (mean[:, order], np.broadcast_to(error, mean.shape)[:, order]),
        expected_play(shuffled, shown[:, order]),
        "it plays otherwise when its actions are listed in another order",
    )


def strategies_are_invariant_to_added_constants(make: Make) -> None:
    """Require that a rule over a simplex plays as before when all its actions earn more."""
    plain, shifted = (make().on_domain(Simplices(3)) for _ in range(2))
    if plain is None or shifted is None:
        return
    shown = utilities(plain)
    constants = np.linspace(-3.0, 2.0, len(shown))[:, None]
    require_alike(
        expected_play(plain, shown),
        expected_play(shifted, shown + constants),
        "it plays otherwise when all actions earn more",
    )


def strategies_are_invariant_to_scale(make: Make) -> None:
    """Require that a rule that claims to be ``scale_free`` plays the same bits in any unit."""
    reference, *copies = twins(make, 5)
    if not reference.scale_free:
        return
    shown = utilities(reference)
    played = play(reference, shown)
    for minimizer, power in zip(copies, (30, -30, 300, -300), strict=True):
        scaled = play(minimizer, shown * 2.0**power)
        require_same(
            played, scaled, f"it plays otherwise when utilities are multiplied by 2^{power}"
        )
