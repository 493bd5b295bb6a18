"""The steps of an iteration: each of those who learn earns, and moves.

Where they learn together, first all of them earn, and otherwise each just before it moves. Steps
are counted so that the code for either is there once: to compile it twice takes half as long again.
"""


def turn_of(step: int, movers: int, together: bool) -> int:
    """Return the place, in a row of movers, of the one whose step it is; each has two."""
    if together:
        return step - movers if step >= movers else step
    return step >> 1


def is_earning(step: int, movers: int, together: bool) -> bool:
    """Return whether it is a step to earn, and not to move."""
    return step < movers if together else step & 1 == 0
