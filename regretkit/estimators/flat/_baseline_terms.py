"""What is done on the way through a game, without guesses of what its histories are worth and with.

With guesses, sampled values are replaced by their expectations, if the guesses are right. The
correction has mean zero for any guesses.
"""

from typing import TypeAlias

from regretkit._util._typing import Vector, whole
from regretkit.estimators.flat._action_sampling import Here, played
from regretkit.estimators.flat._flat_tree import TraversalBuffers

Below: TypeAlias = tuple[int, int, float, int]
"""The player, the first history that may follow, the scale, and the number of the visit."""
At: TypeAlias = tuple[Vector, int, int]
"""Weights of what may be drawn, where they begin, and how many they are."""
Into: TypeAlias = tuple[Vector, int, float]
"""Where payoffs are put down, for which sequence, and by what they are multiplied."""

# Without guesses


def put_off(
    waiting: int, followed: int, here: Here, below: Below, behavior: Vector, desk: TraversalBuffers
) -> int:
    """Lay the actions that are to be followed on the desk, but for the first one."""
    first, reach, child, scale = here[2], here[4], below[1], below[2]
    for back in range(followed - 1):
        a, share = whole(desk.follow[followed - 1 - back]), desk.share[followed - 1 - back]
        desk.history[waiting], desk.sequence[waiting] = child + a, first + a
        desk.scale[waiting] = scale / share
        desk.reach[waiting] = reach * played(behavior, a, here)
        waiting += 1
    return waiting


def arrive(visited: int, h: int, above: int, factor: float, desk: TraversalBuffers) -> None:
    pass


def lean(
    player: int,
    child: int,
    drawn: int,
    above: int,
    at: At,
    into: Into,
    desk: TraversalBuffers,
    guesses: Vector,
) -> None:
    pass


def fan_out(
    followed: int,
    here: Here,
    below: Below,
    behavior: Vector,
    utility: Vector,
    desk: TraversalBuffers,
    guesses: Vector,
) -> int:
    return here[2] + whole(desk.follow[0]) if followed == 1 else 0


def end(above: int, payoff: float, desk: TraversalBuffers) -> None:
    pass


# With guesses


def arrive_noting(visited: int, h: int, above: int, factor: float, desk: TraversalBuffers) -> None:
    desk.trail[visited], desk.before[visited], desk.counts[visited] = h, above, factor


def put_off_noting(
    waiting: int, followed: int, here: Here, below: Below, behavior: Vector, desk: TraversalBuffers
) -> int:
    """Put off, and note by how much each action's surprise counts."""
    after = put_off(waiting, followed, here, below, behavior, desk)
    for k in range(1, followed):
        often = played(behavior, whole(desk.follow[k]), here)
        desk.above[after - k], desk.factor[after - k] = below[3], often / desk.share[k]
    return after


def lean_on_guesses(
    player: int,
    child: int,
    drawn: int,
    above: int,
    at: At,
    into: Into,
    desk: TraversalBuffers,
    guesses: Vector,
) -> None:
    """Put down how much better than the action that was drawn they all are on average."""
    weights, first, count = at
    utility, own, scale = into
    mean = 0.0
    for a in range(count):
        mean += weights[first + a] * guesses[player, child + a]
    desk.worth[above] = mean
    utility[own] += scale * (mean - guesses[player, child + drawn])


def fan_out_guessing(
    followed: int,
    here: Here,
    below: Below,
    behavior: Vector,
    utility: Vector,
    desk: TraversalBuffers,
    guesses: Vector,
) -> int:
    """Take each action to be worth what is guessed, and what is followed so much less."""
    first, count = here[2], here[3]
    player, child, scale, above = below
    mean = 0.0
    for a in range(count):
        mean += played(behavior, a, here) * guesses[player, child + a]
        utility[first + a] = scale * guesses[player, child + a]
    for k in range(followed):
        a = whole(desk.follow[k])
        utility[first + a] -= scale / desk.share[k] * guesses[player, child + a]
    desk.worth[above] = mean
    return 0


def end_noting(above: int, payoff: float, desk: TraversalBuffers) -> None:
    desk.worth[above] = payoff


def update_baseline(
    player: int, visited: int, rate: float, desk: TraversalBuffers, guesses: Vector
) -> None:
    """Move guesses towards what a walk has found, from its ends up."""
    for back in range(visited):
        at = visited - 1 - back
        h, above = whole(desk.trail[at]), desk.before[at]
        surprise = desk.worth[at] - guesses[player, h]
        if above >= 0:
            desk.worth[above] += desk.counts[at] * surprise
        guesses[player, h] += rate * surprise
