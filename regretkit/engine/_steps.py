"""The steps of an iteration: each player who learns earns, learns and moves.

Where players learn together, all of them earn before the first one learns, and learn before the
first one moves; otherwise each takes its three steps in turn. Steps are counted so that the code
for either is there once: to compile it twice takes half as long again.
"""

PARTS, EARN, LEARN = 3, 0, 1
"""Steps of each player, and which of them is which; the third one is to move."""


def turn_of(step: int, movers: int, together: bool) -> int:
    """Return the place, in a row of movers, of the one whose step it is."""
    return step % movers if together else step // PARTS


def part_of(step: int, movers: int, together: bool) -> int:
    """Return which of its steps it is."""
    return step // movers if together else step % PARTS
