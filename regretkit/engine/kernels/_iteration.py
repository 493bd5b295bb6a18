"""Whole iterations of CFR and its kin, as functions that are compiled, and run as Python too.

The driver goes through the ranges of decision points (``Trees``): from the leaves to the root,
where each rule learns from the values of what follows, and from the root to the leaves, which gives
the next x. A rule is one function for a range, called by its address: it is compiled by itself.
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
    """The rules of a run, and what they learned."""

    functions: Any
    """The address of each rule's machine code; the function itself in Python."""
    of_range: Indices
    """For each range the number of its rule, and where its parameters begin; shape
    ``(ranges, 2)``."""
    by_action: Vector
    """Arrays with a number for each sequence, shape ``(arrays, sequences)``,"""
    by_point: Vector
    """and with a number for each point, shape ``(arrays, points)``."""
    around: Indices | None
    """For each player the number of the circuits around its tree, -1 without, and where their
    parameters begin; None where no player has any."""


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
    """Play one iteration for each row of ``turns``: the players updated, in turn, then -1.

    ``parameters[t]`` are those of all rules, a single row for all iterations, and ``weights[t]``
    the factors of the average so far and of x. Each player has three steps: its utility, the
    backward pass and the forward pass. With ``simultaneous``, each step is taken for all players
    before the next one; otherwise each player takes its three steps in turn.
    """
    trees, iterates, movers = arrays.trees, arrays.iterates, turns.shape[1]
    circuits = arrays.rules.around is not None
    for t in range(turns.shape[0]):
        decay, weight, row = weights[t, 0], weights[t, 1], min(t, parameters.shape[0] - 1)
        if t == turns.shape[0] - 1:
            for a in range(iterates.last_strategy.size):
                iterates.last_strategy[a] = iterates.strategy[a]
        # One loop for both schedules: compiling the steps twice takes half as long again.
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
    """Pass a utility through the circuits around a tree, or a strategy back."""
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
    """Update a player's rules, with what deviations gain where they learn over these."""
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
    """Add the x of all players to the average that are not updated."""
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
    """Return a rule as one function for a range: ``propose`` and ``learn`` are its kernel.

    ``places`` says for each of the rule's arrays whether it has a number for each action, and which
    row of ``Rules.by_action`` or ``by_point`` it is.
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
        # For a number of actions known at compile time, the compiler unrolls all loops.
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
    """Return circuits around a tree as one function for all its sequences.

    ``rows`` of ``Rules.by_action`` are their arrays. The one at ``core`` is what is within: what
    that plays, and then what it learns from.
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
"""The first point of a range, their number, their stride, and the first sequence."""
Touched: TypeAlias = tuple[Vector, Vector, Vector, Vector, Vector, Vector]
"""Utility, b, values, both kinds of a rule's arrays, and its parameters."""
Sequences: TypeAlias = tuple[Vector, Vector, Vector, Vector]
"""Utility, x, arrays by sequence, and parameters."""
