"""The vectorized way for sampled iterations: samples in machine code, minimizers as they are."""

from typing import final

from typing_extensions import override

from regretkit.play.engines import Drive
from regretkit.play.estimators._sampler import Sampler
from regretkit.play.self_play import SelfPlay


@final
class Walking(Drive):
    """Iterations as they are written, with an estimator that walks in machine code.

    It draws what it would draw without, and comes to the same bits.
    """

    def __init__(self, run: SelfPlay, sampler: Sampler) -> None:
        from regretkit.engine._sampling_code import single_walk

        self._run, self._sampler = run, sampler
        self._walk = single_walk(sampler._choose(), sampler.baseline is not None)

    @override
    def play(self, iterations: int) -> None:
        self._sampler._walk = self._walk
        try:
            for _ in range(iterations):
                self._run._iterate()
        finally:
            self._sampler._walk = None
