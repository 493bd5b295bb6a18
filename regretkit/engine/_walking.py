"""The vectorized engine for sampled iterations: traversals compiled, minimizers in Python."""

from collections.abc import Callable
from typing import final

from typing_extensions import override

from regretkit.estimators._mccfr import TraversalEstimator
from regretkit.play._engines import Executor, NumpyEngine
from regretkit.play._self_play import SelfPlay


@final
class Walking(Executor):
    """The iterations of the numpy engine, with the estimator's traversal compiled.

    Draws and results are bitwise identical to those of the numpy engine.
    """

    def __init__(self, run: SelfPlay, sampler: TraversalEstimator) -> None:
        from regretkit.engine._sampling_code import single_walk

        self._written, self._sampler = NumpyEngine().start(run), sampler
        self._walk = single_walk(sampler._choose(), sampler.baseline is not None)

    @override
    def play(self, iterations: int, interrupted: Callable[[], bool]) -> None:
        self._sampler._walk = self._walk
        try:
            self._written.play(iterations, interrupted)
        finally:
            self._sampler._walk = None
