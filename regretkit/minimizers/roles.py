"""The roles of which a family of rules is made.

A rule over simplices **remembers** what its actions would have earned, may **predict** what they
will earn next, and **plays** from the two:

    x  =  play(memory + prediction)

Regret matching remembers every regret, regret matching+ only what is positive, Hedge plays
exponential weights instead of positive parts, and so on. Each role is a value that holds
hyperparameters and no state: its methods are pure functions of the state they are given, a dict
of arrays with one number for each action or each block.
"""

import abc
import math
from typing import TypeAlias

import numpy as np

from regretkit._util._typing import Vector
from regretkit.minimizers._by_block import Belief, BlockMemory, Play
from regretkit.sets import Simplices

State: TypeAlias = dict[str, Vector]


class Memory(abc.ABC):
    """How regrets add up: R, from one iteration to the next.

    Examples
    --------
    >>> import numpy as np
    >>> from regretkit.minimizers import Cumulative
    >>> memory, simplices = Cumulative(), Simplices(2)
    >>> R = memory.remember(simplices, memory.start(simplices), np.array([1.0, -1.0]), 1)
    >>> R["regrets"]
    array([ 1., -1.])
    """

    @property
    def least(self) -> float:
        """The least number that R may hold; minus infinity by default."""
        return -math.inf

    scale_free: bool = True
    """Whether scaling regrets by a power of two scales R by exactly that power."""

    @abc.abstractmethod
    def start(self, simplices: Simplices) -> State:
        """Return the state before the first iteration; entry ``"regrets"`` is R."""

    @abc.abstractmethod
    def remember(self, simplices: Simplices, state: State, regret: Vector, iteration: int) -> State:
        """Return the state after ``iteration`` (from 1), which brought this ``regret``."""

    def carried(self, simplices: Simplices, state: State, iteration: int) -> Vector:
        """Return R as it will stand when the regret of the coming ``iteration`` is added to it.

        That is what predicted regrets are added to. This default is R as it stands.
        """
        return state["regrets"]

    def by_block(self) -> BlockMemory | None:
        """Return how to remember one block in plain loops, None if it cannot be, as by default.

        What can be remembered so can be compiled.
        """
        return None

    def idle(self, simplices: Simplices, state: State, iteration: int, count: int) -> State:
        """Return the state after ``count`` iterations of zero utility, from ``iteration`` on.

        This default replays them one by one.
        """
        nothing = np.zeros(simplices.dimension)
        for later in range(iteration, iteration + count):
            state = self.remember(simplices, state, nothing, later)
        return state


class Predictor(abc.ABC):
    """What the coming regrets are guessed to be: v, as regrets against the last strategy.

    Its entries stand in one state with those of the memory.

    Examples
    --------
    >>> from regretkit.minimizers import NoPrediction
    >>> NoPrediction().predict({}) is None
    True
    """

    @abc.abstractmethod
    def start(self, simplices: Simplices) -> State:
        """Return its entries before the first iteration."""

    @abc.abstractmethod
    def observe(self, state: State, regret: Vector, strategy: Vector) -> State:
        """Return its entries after an iteration of this ``regret`` and ``strategy``."""

    @abc.abstractmethod
    def expect(self, simplices: Simplices, state: State, utility: Vector, unaided: Vector) -> State:
        """Return the entries that change when ``utility`` is expected in the coming iteration.

        ``unaided`` is the strategy that would be played without any prediction.
        """

    @abc.abstractmethod
    def predict(self, state: State) -> Vector | None:
        """Return v, shape ``(dimension,)``, or None where nothing is ever predicted."""

    def belief(self) -> Belief | None:
        """Return what is predicted unless told otherwise, None if it is nothing simple.

        What has a belief can be compiled.
        """
        return None


class PlayingRule(abc.ABC):
    """How a strategy follows from regrets, predicted ones included.

    Examples
    --------
    >>> import numpy as np
    >>> from regretkit.minimizers import Proportional
    >>> Proportional().play(Simplices(3), np.array([3.0, 1.0, -2.0]))
    array([0.75, 0.25, 0.  ])
    """

    scale_free: bool = False
    """Whether regrets times a power of two give the same bits."""

    @abc.abstractmethod
    def play(self, simplices: Simplices, regrets: Vector) -> Vector:
        """Return the strategy, a new array of shape ``(dimension,)``."""

    def by_block(self) -> tuple[Play, float] | None:
        """Return how to play one block in plain loops, and at which rate, None if it cannot.

        What can be played so can be compiled.
        """
        return None
