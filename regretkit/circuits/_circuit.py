"""CFR as it is defined: a circuit of hulls, products and points."""

import numpy as np

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.circuits._base import check_depth
from regretkit.circuits._cfr import ByDecisionPoint, LocalRule, local_minimizer
from regretkit.circuits._convex_hull import ConvexHull
from regretkit.circuits._product import Product
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import Point
from regretkit.sets import DecisionTree


def circuit(tree: DecisionTree, local: LocalRule) -> RegretMinimizer:
    """Build the circuit that :class:`CFR` computes, one object for each decision point.

    After a sequence comes the product of the decision points that may follow; at a decision
    point comes the hull of what follows each action, weighed by the local minimizer:

        after(s)  =  {1} x product of at(j) over the decision points j whose parent is s
        at(j)     =  hull of after(a) over the actions a of j

    It plays as ``CFR(tree, local)`` does, and is much slower: it is the definition.

    Parameters
    ----------
    tree
        The player's decisions.
    local
        Called with the simplex of one decision point at a time, returns a minimizer on it.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> player = circuit(DecisionTree([0, 2], [2, 2]), RegretMatching)
    >>> player.observe_utility([0.0, 1.0, 0.0, 4.0, 0.0])
    >>> player.next_strategy()
    array([1., 0., 1., 1., 0.])

    References
    ----------
    Farina, Kroer and Sandholm (2019), "Regret circuits: composability of regret minimizers",
    ICML, PMLR 97.
    """
    if not isinstance(tree, DecisionTree):
        raise TypeError(f"tree must be a DecisionTree, got {quote(tree)}")
    check_depth(2 * tree.depth + 1)
    following: list[list[int]] = [[] for _ in range(tree.dimension)]
    for point, parent in enumerate(tree.parent_sequence):
        following[parent].append(point)

    # The names in ByDecisionPoint are those of the whole tree, not of one decision point.
    if isinstance(local, ByDecisionPoint):
        rules = local.chosen(tree.simplices)
    else:
        rules = [local] * tree.points

    def at(point: int) -> tuple[Indices, RegretMinimizer]:
        """Return the coordinates below a decision point, and what plays there."""
        size = int(tree.sizes[point])
        sequences = tree.first_sequence[point] + np.arange(size)
        following_parts = [[at(child) for child in following[sequence]] for sequence in sequences]
        below = [indices for parts in following_parts for indices, _ in parts]
        coordinates = np.concatenate([sequences, *below])
        members = []
        for action, parts in enumerate(following_parts):
            members.append(_embedded(np.eye(size)[action], sequences, parts, coordinates))
        mixer = local_minimizer(rules[point], tree.simplices.select([point]))
        return coordinates, members[0] if size == 1 else ConvexHull(members, mixer)

    parts = [at(point) for point in following[0]]
    return _embedded(np.ones(1), np.zeros(1, dtype=np.int64), parts, np.arange(tree.dimension))


def _embedded(
    weights: Vector,
    sequences: Indices,
    parts: list[tuple[Indices, RegretMinimizer]],
    coordinates: Indices,
) -> RegretMinimizer:
    """Return the product of a point and ``parts``, zero on the other ``coordinates``."""
    place = {int(sequence): i for i, sequence in enumerate(coordinates)}
    layout = [
        np.array([place[int(sequence)] for sequence in indices])
        for indices in (sequences, *(indices for indices, _ in parts))
    ]
    unused = np.setdiff1d(np.arange(coordinates.size), np.concatenate(layout))
    minimizers = [Point(weights), *(minimizer for _, minimizer in parts)]
    if unused.size:
        layout.append(unused)
        minimizers.append(Point(np.zeros(unused.size)))
    return Product(minimizers, coordinates=layout)
