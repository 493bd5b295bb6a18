"""Walking through a part of a game, in plain loops that a compiler understands as well.

The order of draws is the same everywhere: depth first, actions in their order. Where the player
who is to learn acts, first its draws about which actions to follow, then what comes after the first
of these, and so on; where chance or another player acts, one number decides. First moves of chance
share one, as :mod:`~regretkit.estimators.flat._initial_chance` says, unless a baseline looks at
each of them. No number is drawn where there is a single action.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from regretkit._util._typing import Vector, whole
from regretkit.estimators.flat import _baseline_terms as _hooks
from regretkit.estimators.flat._action_sampling import (
    Choose,
    Here,
    Notes,
    follow_average,
    pick,
    played,
)
from regretkit.estimators.flat._baseline_terms import Below
from regretkit.estimators.flat._flat_tree import FlatTree, TraversalBuffers
from regretkit.estimators.flat._initial_chance import deal, deal_nothing

On: TypeAlias = tuple[
    FlatTree, Vector, Vector, TraversalBuffers, Notes, Vector, Vector, np.random.Generator
]
"""The arguments of a walk, the player aside."""
Walk: TypeAlias = Callable[
    [int, FlatTree, Vector, Vector, TraversalBuffers, Notes, Vector, Vector, np.random.Generator],
    tuple[int, int],
]
Decide: TypeAlias = Callable[[int, int, Here, Below, On], tuple[int, int, float, float, float]]
Visit: TypeAlias = Callable[[int, tuple[int, int, int], On], tuple[int, int, int]]


@cache
def walker(choose: Choose, guessing: bool) -> Walk:
    """Return the function that draws one sample and says what a player's sequences are worth.

    It is called as ``walk(player, flat, behavior, utility, desk, notes, numbers, guesses,
    generator)``, with all players' weights in ``behavior``. It writes to ``utility``, which is zero
    at all decision points before, at those that it comes to, and for the empty sequence. It returns
    how many these are, and how many histories it visited. With ``guessing`` it corrects by what
    ``guesses`` say that histories are worth, and takes notes for
    :func:`~regretkit.estimators.flat._baseline_terms.update_baseline`.
    """
    begin = _begin_and_count if choose is follow_average else _begin
    visit = _visitor(choose, *_hooks_for(guessing))
    opened = deal_nothing if guessing else deal

    def walk(
        player: int,
        flat: FlatTree,
        behavior: Vector,
        utility: Vector,
        desk: TraversalBuffers,
        notes: Notes,
        numbers: Vector,
        guesses: Vector,
        generator: np.random.Generator,
    ) -> tuple[int, int]:
        on = (flat, behavior, utility, desk, notes, numbers, guesses, generator)
        h, visited = opened(flat.opening, generator)
        waiting, touched = begin(h, whole(flat.sequences[player]), utility, desk, notes), 0
        while waiting > 0:
            waiting, touched, visited = visit(player, (waiting, touched, visited), on)
        return touched, visited

    return walk


def _hooks_for(guessing: bool) -> tuple[Any, ...]:
    if guessing:
        noting = (_hooks.arrive_noting, _hooks.end_noting)
        return *noting, _hooks.lean_on_guesses, _hooks.fan_out_guessing, _hooks.put_off_noting
    return _hooks.arrive, _hooks.end, _hooks.lean, _hooks.fan_out, _hooks.put_off


def _visitor(choose: Choose, arrive: Any, end: Any, lean: Any, fan_out: Any, put_off: Any) -> Visit:
    """Return the function that continues until the game ends, or nothing is followed."""
    decide = _decider(choose, fan_out, put_off)

    def visit(player: int, so_far: tuple[int, int, int], on: On) -> tuple[int, int, int]:
        waiting, touched, visited = so_far[0] - 1, so_far[1], so_far[2]
        flat, behavior, utility, desk, _, _, guesses, generator = on
        h, own = whole(desk.history[waiting]), whole(desk.sequence[waiting])
        above, factor = desk.above[waiting], desk.factor[waiting]
        scale, reach = desk.scale[waiting], desk.reach[waiting]
        begin, end_of_own = whole(flat.points[player]), whole(flat.points[player + 1])
        child, place, over = whole(flat.node[4 * h]), whole(flat.node[4 * h + 1]), whole(flat.over)
        while place < over:
            arrive(visited, h, above, factor, desk)
            above, factor, visited = visited, 1.0, visited + 1
            first, count = whole(flat.node[4 * h + 2]), whole(flat.node[4 * h + 3])
            # Children lie side by side. When one of them has been read, another one that is drawn
            # is near; to wait for memory is most of what a walk takes in a large game.
            desk.ahead[0] = flat.node[4 * (child + 1)]
            if begin <= place < end_of_own:
                here = (place, own, first, count, reach, flat.evens[count])
                waiting, a, factor, scale, reach = decide(
                    waiting, touched, here, (player, child, scale, above), on
                )
                touched += 1
                if a < 0:
                    return waiting, touched, visited
                h, own = child + a, first + a
            else:
                drawn = pick(generator, behavior, first, count)
                at, into = (behavior, first, count), (utility, own, scale)
                lean(player, child, drawn, above, at, into, desk, guesses)
                h = child + drawn
            child, place = whole(flat.node[4 * h]), whole(flat.node[4 * h + 1])
        arrive(visited, h, above, factor, desk)
        payoff = flat.payoffs[child + player]
        utility[own] += scale * payoff
        end(visited, payoff, desk)
        return waiting, touched, visited + 1

    return visit


def _decider(choose: Choose, fan_out: Any, put_off: Any) -> Decide:
    """Return what a player does in its turn: follow the first action, and put off the others.

    It returns how many are put off now; that action, -1 where there is none; how much what is found
    there counts here, by what it is multiplied, and how much of the strategy comes there.
    """

    def decide(
        waiting: int, touched: int, here: Here, below: Below, on: On
    ) -> tuple[int, int, float, float, float]:
        _, behavior, utility, desk, notes, numbers, guesses, generator = on
        followed = choose(here, behavior, desk.follow, desk.share, (notes, numbers, generator))
        # Read at once: machine code knows then what was written, and need not wait for it.
        a, share = whole(desk.follow[0]), desk.share[0]
        only = fan_out(followed, here, below, behavior, utility, desk, guesses)
        at = whole(np.uint32(touched))  # so that machine code knows its sign
        desk.points[at], desk.come[at], desk.only[at] = here[0], here[1], only
        if followed == 0:
            return waiting, -1, 0.0, 0.0, 0.0
        waiting = put_off(waiting, followed, here, below, behavior, desk)
        often = played(behavior, a, here)
        return waiting, a, often / share, below[2] / share, here[4] * often

    return decide


def _begin(h: int, own: int, utility: Vector, desk: TraversalBuffers, notes: Notes) -> int:
    """Lay the first history on the desk."""
    utility[own] = 0.0
    desk.history[0], desk.sequence[0], desk.above[0] = np.uint32(h), own, -1
    desk.scale[0], desk.reach[0], desk.factor[0] = 1.0, 1.0, 1.0
    return 1


def _begin_and_count(
    h: int, own: int, utility: Vector, desk: TraversalBuffers, notes: Notes
) -> int:
    """Lay the first history on the desk, and count one more strategy as played."""
    notes[0][own] += 1.0
    return _begin(h, own, utility, desk, notes)
