"""Compiled iterations of CFR and its variants.

``iterate`` walks the ranges of decision points (``Trees``) twice. From the leaves to the root, each
rule observes utilities that include the values of later points. From the root to the leaves, the
new behavioral strategies b give the next x. Each rule is compiled separately, as a function of a
range, and called by its address.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from regretkit._compiler import lanes, width
from regretkit._util._typing import Indices, Vector, as_int64, span
from regretkit.engine._deviations import DeviationArrays
from regretkit.engine._layout import Iterates, Payoffs, Trees
from regretkit.engine.kernels._deviations import set_fixed_points, set_gains
from regretkit.engine.kernels._payoffs import compute_utility
from regretkit.engine.kernels._walks import backward, forward, value_of
from regretkit.trace._kernel import BlockFunction

DISJOINT = True
WITHIN_BOUNDS = True


class Rules(NamedTuple):
    """The rules of a run, and their state."""

    functions: Any
    """The address of each rule's machine code, or in Python the function itself."""
    of_range: Indices
    """Each range's rule and the offset of its parameters, shape ``(ranges, 2)``."""
    by_action: Vector
    """State by sequence, shape ``(arrays, sequences)``."""
    by_point: Vector
    """State by decision point, shape ``(arrays, points)``."""
    around: Indices | None
    """Each player's circuits around its tree (-1: no circuits) and the offset of their parameters,
    shape ``(players, 2)``. None if no player has such circuits."""


class Arrays(NamedTuple):
    """All that iterations read and write."""

    payoffs: Payoffs
    trees: Trees
    iterates: Iterates
    rules: Rules
    deviations: DeviationArrays | None = None


def iterate(
    simultaneous: bool, turns: Indices, parameters: Vector, weights: Vector, arrays: Arrays
) -> None:
    """Play one iteration for each row of ``turns``.

    A row lists the players to update in order, and -1 in unused entries. ``parameters[t]`` holds
    the parameters of all rules; a single row serves all iterations. ``weights[t]`` holds the decay
    d and the weight w of the average: total = d total + w x. A player's update has three steps:
    utility, backward pass, forward pass. With ``simultaneous``, all players finish a step before
    the next step. Otherwise a player finishes its three steps before the next player.
    """
    trees, iterates, movers = arrays.trees, arrays.iterates, turns.shape[1]
    circuits = arrays.rules.around is not None
    for t in range(turns.shape[0]):
        decay, weight, row = weights[t, 0], weights[t, 1], min(t, parameters.shape[0] - 1)
        if t == turns.shape[0] - 1:
            for a in range(iterates.last_strategy.size):
                iterates.last_strategy[a] = iterates.strategy[a]
        # One loop serves both schedules: two loops would compile the steps twice.
        for number in range(3 * movers):
            player = turns[t, number % movers if simultaneous else number // 3]
            step = number // movers if simultaneous else number % 3
            if player >= 0:
                if step == 0:
                    compute_utility(player, arrays.payoffs, trees, iterates)
                elif step == 1:
                    if circuits:
                        transform(player, True, row, parameters, arrays)
                    update(player, row, parameters, arrays)
                else:
                    if arrays.deviations is not None:
                        set_fixed_points(player, arrays)
                    forward(player, decay, weight, trees, iterates)
                    if circuits:
                        transform(player, False, row, parameters, arrays)
        if turns[t, movers - 1] < 0:
            accumulate_idle(turns[t], decay, weight, trees, iterates)


def transform(player: int, learning: bool, row: int, parameters: Vector, arrays: Arrays) -> None:
    """Pass the utility into the circuits around a tree, or the strategy out of them."""
    rules, iterates = arrays.rules, arrays.iterates
    number, offset = rules.around[player]  # type: ignore[index]
    if number >= 0:
        begin = as_int64(arrays.trees.sequence_offsets[player])
        count = as_int64(arrays.trees.sequence_offsets[player + 1]) - begin
        rules.functions[number](
            learning,
            begin,
            count,
            row,
            offset,
            iterates.utility,
            iterates.strategy,
            rules.by_action,
            parameters,
        )


def update(player: int, row: int, parameters: Vector, arrays: Arrays) -> None:
    """Update a player's rules, by the gains of its deviations if it has any."""
    tree = player
    if arrays.deviations is not None:
        set_gains(player, arrays)
        tree = as_int64(arrays.deviations.learners[player])
    backward(tree, update_range, (row, parameters), arrays)


def update_range(r: int, tree: int, given: tuple[int, Vector], arrays: Arrays) -> None:
    """Update the rule of a range."""
    row, parameters = given
    point, count, stride, actions, first = arrays.trees.ranges[r]
    rules, iterates, negligible = arrays.rules, arrays.iterates, arrays.payoffs.negligible[tree]
    number, offset = rules.of_range[r]
    rules.functions[number](
        point,
        count,
        stride,
        actions,
        first,
        row,
        offset,
        negligible,
        iterates.utility,
        iterates.behavior,
        iterates.values,
        rules.by_action,
        rules.by_point,
        parameters,
    )


def accumulate_idle(
    turn: Indices, decay: float, weight: float, trees: Trees, iterates: Iterates
) -> None:
    """Add x to the average of each player without an update in this iteration."""
    for player in range(turn.size):
        idle = True
        for mover in turn:
            idle = idle and mover != player
        if idle:
            for a in span(trees.sequence_offsets, player):
                iterates.total[a] = decay * iterates.total[a] + weight * iterates.strategy[a]


@lru_cache(maxsize=256)
def over_range(
    propose: BlockFunction, learn: BlockFunction, places: tuple[tuple[bool, int], ...]
) -> Callable[..., None]:
    """Return a rule as one function of a range, given its kernel ``propose`` and ``learn``.

    ``places`` gives for each state array whether it is by action, and its row in
    ``Rules.by_action`` or ``Rules.by_point``.
    """
    short = len(propose.__code__.co_code) + len(learn.__code__.co_code) < 5_000

    def update_points(n: int, wide: int, at: At, negligible: float, arrays: Touched) -> None:
        point, count, stride, first = at
        utility, strategy, values, by_action, by_point, parameters = arrays
        for i in range(0, count, wide):
            earned = lanes(utility, first + i, stride, wide)
            played = lanes(strategy, first + i, stride, wide)
            state = tuple(
                lanes(by_action[row], first + i, stride, wide)
                if of_actions
                else lanes(by_point[row], point + i, 1, wide)
                for of_actions, row in places
            )
            value = value_of(n, negligible, earned, played)
            lanes(values, point + i, 1, wide)[0] = value
            learn(0, 0, n, earned, value, played, state, parameters)
            propose(0, 0, n, played, state, parameters)

    def update(
        point: int,
        count: int,
        stride: int,
        actions: int,
        first: int,
        row: int,
        offset: int,
        negligible: float,
        utility: Vector,
        strategy: Vector,
        values: Vector,
        by_action: Vector,
        by_point: Vector,
        parameters: Vector,
    ) -> None:
        at = point, count, stride, first
        arrays = utility, strategy, values, by_action, by_point, parameters[row][offset:]
        # A constant number of actions allows the compiler to unroll all loops.
        if short and actions == 2:
            update_points(2, width(), at, negligible, arrays)
        elif short and actions == 3:
            update_points(3, width(), at, negligible, arrays)
        elif stride < width():
            update_points(actions, 1, (point, count, 1, first), negligible, arrays)
        else:
            update_points(actions, width(), at, negligible, arrays)

    return update


@lru_cache(maxsize=256)
def over_sequences(
    propose: BlockFunction, learn: BlockFunction, rows: tuple[int, ...], core: int
) -> Callable[..., None]:
    """Return the circuits around a tree as one function of all its sequences.

    Their state is ``rows`` of ``Rules.by_action``. Its array ``core`` is the interface to the inner
    minimizer: first the inner strategy, then the inner utility.
    """

    def pass_on(wide: int, at: int, learning: bool, arrays: Sequences) -> None:
        utility, strategy, by_action, parameters = arrays
        earned, played = lanes(utility, at, 1, wide), lanes(strategy, at, 1, wide)
        state = tuple(lanes(by_action[row], at, 1, wide) for row in rows)
        if learning:
            learn(0, 0, 1, earned, 0.0, played, state, parameters)
            earned[0] = state[core][0]
        else:
            state[core][0] = played[0]
            propose(0, 0, 1, played, state, parameters)

    def transform(
        learning: bool,
        begin: int,
        count: int,
        row: int,
        offset: int,
        utility: Vector,
        strategy: Vector,
        by_action: Vector,
        parameters: Vector,
    ) -> None:
        arrays = utility, strategy, by_action, parameters[row][offset:]
        vectors = count // width() * width()
        for i in range(0, vectors, width()):
            pass_on(width(), begin + i, learning, arrays)
        for i in range(vectors, count):
            pass_on(1, begin + i, learning, arrays)

    return transform


At: TypeAlias = tuple[int, int, int, int]
"""First point of a range, number of points, stride, first sequence."""
Touched: TypeAlias = tuple[Vector, Vector, Vector, Vector, Vector, Vector]
"""Utility, b, values, state by action, state by point, parameters."""
Sequences: TypeAlias = tuple[Vector, Vector, Vector, Vector]
"""Utility, x, state by sequence, parameters."""
