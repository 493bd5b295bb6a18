"""Numbers that depend on the iteration alone, for many iterations at once."""

from collections.abc import Sequence
from typing import final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from regretkit._util._typing import Vector
from regretkit.trace._graph import ELEMENTWISE, Node, nodes_of


def values_at(nodes: Sequence[Node], iterations: Vector) -> NDArray[np.float64]:
    """Return each node's number in each iteration, shape ``(nodes, iterations)``."""
    values: dict[Node, NDArray[np.float64]] = {}
    with np.errstate(all="ignore"):
        for node in nodes_of(nodes):
            if node.op == "constant":
                values[node] = np.asarray(node.detail)
            elif node.op == "iteration":
                values[node] = iterations
            else:
                values[node] = ELEMENTWISE[node.op].numpy(*(values[arg] for arg in node.args))
    rows = [np.broadcast_to(values[node], iterations.shape) for node in nodes]
    return np.array(rows, np.float64).reshape(len(nodes), iterations.size)


@final
@frozen
class Schedule:
    """The parameters of a kernel, iteration by iteration or many at once."""

    nodes: tuple[Node, ...]

    def __call__(self, iteration: int) -> tuple[float, ...]:
        return tuple(values_at(self.nodes, np.array([float(iteration)]))[:, 0].tolist())

    def rows(self, first: int, count: int) -> Vector:
        """Return those of ``count`` iterations, shape ``(count, parameters)``."""
        return np.ascontiguousarray(
            values_at(self.nodes, np.arange(first, first + count, dtype=np.float64)).T
        )
