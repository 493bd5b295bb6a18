"""Walking through a part of a game, in plain loops that a compiler understands as well.

The order of draws is the same everywhere: depth first, actions in their order. Where the player
who is to learn acts, first its draws about which actions to follow, then what comes after the first
of these, and so on; where chance or somebody else acts, one number decides. No number is drawn
where there is a single action.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from regretkit._typing import Vector
from regretkit.play.estimators import _hooks
from regretkit.play.estimators._choosing import Choose, Notes, follow_average, pick
from regretkit.play.estimators._flat import CHILD, FIRST, POINT, THE_END, WHO, Desk, Flat

On: TypeAlias = tuple[Flat, Vector, Vector, Desk, Notes, Vector, Vector, np.random.Generator]
"""The arguments of a walk, the player aside."""
Walk: TypeAlias = Callable[
    [int, Flat, Vector, Vector, Desk, Notes, Vector, Vector, np.random.Generator], tuple[int, int]
]
Visit: TypeAlias = Callable[[int, tuple[int, int, int], On], tuple[int, int, int]]


@cache
def walker(choose: Choose, guessing: bool) -> Walk:
    """Return the function that draws one sample and says what a player's sequences are worth.

    It is called as ``walk(player, flat, behavior, utility, desk, notes, numbers, guesses,
    generator)``, with everybody's distributions in ``behavior``, and writes to ``utility`` at the
    decision points that it comes to, and nowhere else. It returns how many these are, and how many
    histories it visited. With ``guessing`` it corrects by what ``guesses`` say that histories are
    worth, and takes notes for :func:`~regretkit.play.estimators._hooks.learn_guesses`.
    """
    begin = _begin_and_count if choose is follow_average else _begin
    visit = _visitor(choose, *_hooks_for(guessing))

    def walk(
        player: int,
        flat: Flat,
        behavior: Vector,
        utility: Vector,
        desk: Desk,
        notes: Notes,
        numbers: Vector,
        guesses: Vector,
        generator: np.random.Generator,
    ) -> tuple[int, int]:
        on = (flat, behavior, utility, desk, notes, numbers, guesses, generator)
        waiting, touched, visited = begin(flat.sequences[player], utility, desk, notes), 0, 0
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
    """Return the function that goes on until the game ends, or the player's turn comes.

    Then the player's actions that are to be followed are put off.
    """

    def visit(player: int, so_far: tuple[int, int, int], on: On) -> tuple[int, int, int]:
        waiting, touched, visited = so_far[0] - 1, so_far[1], so_far[2]
        flat, behavior, utility, desk, notes, numbers, guesses, generator = on
        h, own, above = desk.history[waiting], desk.sequence[waiting], desk.above[waiting]
        scale, reach, factor = desk.scale[waiting], desk.reach[waiting], desk.factor[waiting]
        going = True
        while going:
            arrive(visited, h, above, factor, desk)
            above, factor, visited = visited, 1.0, visited + 1
            who, first, child = flat.node[h, WHO], flat.node[h, FIRST], flat.node[h, CHILD]
            count = flat.node[h + 1, CHILD] - child
            going = who != player and who != THE_END
            if who == THE_END:
                utility[own] += scale * flat.payoffs[first, player]
                end(above, flat.payoffs[first, player], desk)
            elif who == player:
                here = (flat.node[h, POINT], own, first, count, reach)
                known = (notes, numbers, generator)
                followed = choose(here, behavior, desk.follow, desk.share, known)
                desk.points[touched] = here[0]
                touched += 1
                below = (player, child, scale, above)
                fan_out(followed, here, below, behavior, utility, desk, guesses)
                waiting = put_off(waiting, followed, here, below, behavior, desk)
            elif who >= 0:
                at, drawn = (behavior, first, count), pick(generator, behavior, first, count)
                utility[own] += scale * lean(player, child, drawn, above, at, desk, guesses)
                h = child + drawn
            else:
                drawn = pick(generator, flat.probability, child, count)
                deal = (flat.probability, child, count)
                utility[own] += scale * lean(player, child, drawn, above, deal, desk, guesses)
                h = child + drawn
        return waiting, touched, visited

    return visit


def _begin(own: int, utility: Vector, desk: Desk, notes: Notes) -> int:
    """Lay the first history on the desk."""
    utility[own] = 0.0
    desk.history[0], desk.sequence[0], desk.above[0] = 0, own, -1
    desk.scale[0], desk.reach[0], desk.factor[0] = 1.0, 1.0, 1.0
    return 1


def _begin_and_count(own: int, utility: Vector, desk: Desk, notes: Notes) -> int:
    """Lay the first history on the desk, and count one more strategy as played."""
    notes[0][own] += 1.0
    return _begin(own, utility, desk, notes)
