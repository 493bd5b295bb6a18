"""What circuits around a single minimizer have in common."""

import abc
from collections.abc import Mapping
from typing import final

from attrs import define, evolve, field
from typing_extensions import override

from regretkit._util._typing import Vector
from regretkit.circuits._parts import as_part, check_distinct
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import Simplices


def _minimizer(value: RegretMinimizer) -> RegretMinimizer:
    return as_part(value, "minimizer")


@define(eq=False)
class Around(RegretMinimizer):
    """Plays where another minimizer plays, with its help."""

    minimizer: RegretMinimizer = field(converter=_minimizer)

    def __attrs_post_init__(self) -> None:
        check_distinct([self.minimizer])
        self.domain = self.minimizer.domain

    @property
    @final
    @override
    def scale_free(self) -> bool:
        return self.minimizer.scale_free

    @override
    def on_domain(self, simplices: Simplices) -> RegretMinimizer | None:
        there = self.minimizer.on_domain(simplices)
        return None if there is None else evolve(self, minimizer=there)


@define(eq=False)
class Wrapper(Around):
    """Plays what another minimizer plays, and decides what that one learns."""

    @final
    @override
    def exemptions(self) -> Mapping[str, str]:
        return {**super().exemptions(), "regret_grows_slowly": self._promise()}

    @abc.abstractmethod
    def _promise(self) -> str:
        """Say what it promises, other than that its regret grows slower than time."""

    @final
    @override
    def _propose(self) -> Vector:
        return self.minimizer.next_strategy().copy()

    @final
    @override
    def _value(self, utility: Vector) -> float:
        return self.minimizer._value(utility)


@define(eq=False)
class Reshaping(Around):
    """Plays a point made of what another minimizer plays, which learns all the same."""

    @abc.abstractmethod
    def _reshaped(self, strategy: Vector) -> Vector:
        """Return what is played where the minimizer would play ``strategy``, a new array."""

    @final
    @override
    def _propose(self) -> Vector:
        return self._reshaped(self.minimizer.next_strategy())

    @override
    def _learn(self, utility: Vector, strategy: Vector) -> None:
        self.minimizer._update(utility)

    @override
    def _expect(self, prediction: Vector) -> None:
        self.minimizer._predict_internal(prediction)
