"""Correlated plans: distributions over joint pure strategies, as points of a decision DAG."""

import functools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from regretkit._util._arrays import expand_ranges
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import as_generator, must_be, whole_numbers
from regretkit.games import ExtensiveFormGame, Profile
from regretkit.games._memory_budget import require
from regretkit.games.tree._sequences import sorted_columns
from regretkit.sets import DecisionDAG, DecisionTree, Simplices

if TYPE_CHECKING:
    from scipy.sparse import csr_array


_BYTES_A_COMPONENT = 1000
"""Bytes of a component and its sequences, without the bits of its events."""


@frozen(eq=False)
class CorrelationDAG:
    """The decisions of a mediator that determine the probabilities of some events.

    An event is a tuple of one sequence for each player: the joint plan contains all of them. The
    mediator decides one information set at a time, the earliest first. Each decision contradicts
    some events. The other events split into independent components, which share no undecided
    information set. A decision point is a component: its events and its undecided information sets.
    The probability of an event is the sum of the sequences that complete it.
    """

    domain: DecisionDAG
    information_sets: Indices
    """Player and number of each decision point's information set, shape ``(2, points)``."""
    events: "csr_array"
    """Matrix from a point of ``domain`` to event probabilities, shape ``(events, dimension)``."""


def correlation_dag(
    game: ExtensiveFormGame, events: Indices, memory_limit: float | None = None
) -> CorrelationDAG:
    """Return the DAG of events, shape ``(players, events)``: a sequence for each player."""
    from scipy.sparse import csr_array

    order, groups = sorted_columns(events)
    distinct = events[:, order[np.flatnonzero(np.diff(groups, prepend=-1))]]
    sets, contradicted = _contradicted(game, distinct)
    mentioned = [functools.reduce(operator.or_, masks) for masks in contradicted]
    # Components by their number of undecided information sets, which falls along every path, so
    # that taking the largest number first visits all parents of a component before it
    waiting: list[dict[tuple[int, int], list[int]]] = [{} for _ in range(len(mentioned) + 1)]
    complete: list[tuple[int, int]] = []

    def proceed(alive: int, undecided: int, sequence: int) -> None:
        for component in _components(alive, undecided, mentioned):
            waiting[component[1].bit_count()].setdefault(component, []).append(sequence)
            alive ^= component[0]
        if alive:
            complete.append((sequence, alive))

    proceed((1 << distinct.shape[1]) - 1, (1 << len(mentioned)) - 1, 0)
    parents: list[list[int]] = []
    decided, dimension = list[int](), 1
    bytes_a_component = _BYTES_A_COMPONENT + distinct.shape[1] // 2
    while waiting:
        for (alive, undecided), sequences in waiting.pop().items():
            first = undecided & -undecided
            decided.append(first.bit_length() - 1)
            parents.append(sequences)
            for mask in contradicted[decided[-1]]:
                proceed(alive & ~mask, undecided ^ first, dimension)
                dimension += 1
            if not len(parents) % 1000:
                needed = (len(parents) + sum(map(len, waiting))) * bytes_a_component
                size = f"more than {dimension:,} sequences of correlated plans"
                learn = "solve(game, 'efce', ...) approximates an equilibrium"
                require(size, needed, [learn], limit=memory_limit)
    rows, columns = _completed(complete)
    found = csr_array((np.ones(rows.size), (rows, columns)), shape=(distinct.shape[1], dimension))
    number = np.empty_like(groups)
    number[order] = groups
    domain = DecisionDAG(parents, [len(contradicted[number]) for number in decided])
    return CorrelationDAG(domain, sets[:, decided], csr_array(found[number]))


def _contradicted(game: ExtensiveFormGame, events: Indices) -> tuple[Indices, list[list[int]]]:
    """Return the information sets in events, and the events that each action contradicts.

    Information sets are columns of player and number, the earliest first. A set of events is an
    integer, with a bit for each event.
    """
    tree, sets, masks = game.tree, [], []
    moves = np.array([tree.player, tree.information_set])[:, tree.player >= 0]
    distinct, first = np.unique(moves, axis=1, return_index=True)
    ancestry = [ancestors(domain) for domain in game.domains]
    for player, number in distinct[:, np.argsort(first)].T.tolist():
        domain = game.domains[player]
        start, count = domain.first_sequence[number], domain.sizes[number]
        contains = ancestry[player][events[player], start : start + count].T
        if count > 1 and contains.any():
            sets.append((player, number))
            packed = np.packbits(contains.any(axis=0) & ~contains, axis=1, bitorder="little")
            masks.append([int.from_bytes(row.tobytes(), "little") for row in packed])
    return np.array(sets, dtype=np.int64).reshape(-1, 2).T, masks


def ancestors(domain: DecisionTree) -> NDArray[np.bool_]:
    """Return for each sequence the flags of its prefixes, including itself."""
    contains = np.eye(domain.dimension, dtype=np.bool_)
    for parent, first, size in zip(
        domain.parent_sequence, domain.first_sequence, domain.sizes, strict=True
    ):
        contains[first : first + size] |= contains[parent]
    return contains


def _components(alive: int, undecided: int, mentioned: list[int]) -> list[tuple[int, int]]:
    """Split events into components that share no undecided information set."""
    found: list[tuple[int, int]] = []
    while undecided:
        sets = undecided & -undecided
        undecided ^= sets
        if not (events := alive & mentioned[sets.bit_length() - 1]):
            continue
        components = []
        for component in found:
            if component[0] & events:
                events, sets = events | component[0], sets | component[1]
            else:
                components.append(component)
        found = [*components, (events, sets)]
    return found


def _completed(complete: list[tuple[int, int]]) -> tuple[Indices, Indices]:
    """Return the pairs of an event and a sequence that completes it, as two arrays."""
    rows, columns = [], []
    for sequence, events in complete:
        bits = np.frombuffer(events.to_bytes(-(-events.bit_length() // 8), "little"), np.uint8)
        rows.append(np.flatnonzero(np.unpackbits(bits, bitorder="little")))
        columns.append(np.full(rows[-1].size, sequence))
    return np.concatenate(rows), np.concatenate(columns)


@frozen(eq=False)
class CorrelatedPlan:
    """A distribution over joint plans: tuples of pure strategies that a mediator recommends.

    The mediator draws a joint plan before the game. When a player reaches an information set, the
    mediator recommends the plan's action there. Actions that affect neither a recommendation nor
    the gain of a deviation are drawn uniformly.

    Examples
    --------
    >>> from regretkit.evaluation import best_extensive_form_correlated_equilibrium
    >>> from regretkit.games import sheriff
    >>> game = sheriff(items=2, bribe=1, rounds=1)
    >>> plan = best_extensive_form_correlated_equilibrium(game).plan
    >>> print(plan.draw(1))
    player 0
    ...
    >>> round(plan.probability([1, 0]), 6)  # the smuggler loads nothing
    0.403727
    """

    game: ExtensiveFormGame
    players: tuple[int, ...]
    """The players with recommendations."""
    weights: Vector = field(repr=False)
    """The mediator's strategy, a point of the DAG."""
    _dag: CorrelationDAG = field(repr=False)

    def probability(self, sequences: Sequence[int]) -> float:
        """Return the probability that a joint plan contains given sequences.

        Parameters
        ----------
        sequences
            A sequence for each of ``players``, as its coordinate; 0 is the empty sequence.
        """
        dag, domain, share = self._dag, self._dag.domain, 1.0
        values = np.ones(domain.dimension)
        numbers = whole_numbers(sequences, "sequences")
        trees = [self.game.domains[player] for player in self.players]
        largest = [tree.dimension - 1 for tree in trees]
        if numbers.size != len(trees) or not ((numbers >= 0) & (numbers <= largest)).all():
            wanted = f"one for each of players {self.players}, from 0 to {largest}"
            raise ValueError(must_be("sequences", wanted, numbers))
        for player, tree, last in zip(self.players, trees, numbers.tolist(), strict=True):
            while last:
                number = int(np.searchsorted(tree.first_sequence, last, side="right")) - 1
                action, size = last - tree.first_sequence[number], int(tree.sizes[number])
                matches = (dag.information_sets == [[player], [number]]).all(axis=0)
                first = domain.first_sequence[matches]
                values[expand_ranges(first, np.full(first.size, size))] = 0.0
                values[first + action] = size  # cancels the uniform 1 / size in `share`
                share, last = share / size, int(tree.parent_sequence[number])
        mixed = np.append(0.0, domain.behavior(self.weights))
        # From the last decision points back. Components after a sequence are independent, so their
        # probabilities multiply.
        for level in reversed(domain.levels):
            found = level.simplices.sum(mixed[level.sequences] * values[level.sequences])
            np.multiply.at(values, level.parents, found[level.children])
        return float(values[0] * share)

    def draw(self, generator: np.random.Generator | int) -> Profile:
        """Return a pure strategy for each of ``players``, drawn together.

        Parameters
        ----------
        generator
            A NumPy ``Generator``, or a seed.
        """
        generator, dag = as_generator(generator), self._dag
        mixed, simplices = dag.domain.behavior(self.weights), dag.domain.simplices
        # Inversion: the action is the number of cumulative probabilities below a uniform number
        passed = simplices.cumulate(mixed) <= simplices.repeat(generator.random(simplices.blocks))
        actions = np.minimum(simplices.sum(passed.astype(np.float64)), simplices.sizes - 1)
        choices = actions.astype(np.int64)
        # One action at every decision point that the mediator reaches
        reached = dag.domain.sequence_form(_pure(simplices, choices))
        decided = np.flatnonzero(dag.domain.reach(reached))
        strategies = []
        for player in self.players:
            tree = self.game.domains[player]
            plan = generator.integers(tree.sizes)
            own = decided[dag.information_sets[0, decided] == player]
            plan[dag.information_sets[1, own]] = choices[own]
            strategies.append(tree.sequence_form(_pure(tree.simplices, plan)))
        domains = [self.game.domains[player] for player in self.players]
        return Profile(
            strategies, domains, self.game if len(domains) == self.game.players else None
        )


def _pure(simplices: Simplices, actions: Indices) -> Vector:
    pure = np.zeros(simplices.dimension)
    pure[simplices.first + actions] = 1.0
    return pure
