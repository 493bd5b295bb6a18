"""Baselines: estimates of the values of histories, which reduce the variance of samples."""

import abc
from collections.abc import Mapping

import numpy as np
from attrs import Attribute, define, field

from regretkit._state import NOT_STATE, Stateful, is_finite_array
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import positive, quote
from regretkit.estimators._flat_tree import FlatTree, TraversalBuffers, moves_of, values_at
from regretkit.estimators._traversal import update_baseline
from regretkit.games import ExtensiveFormGame


class Baseline(abc.ABC):
    """Estimates the value of every history for a player.

    An action that was not sampled has its baseline value, and that of a sampled one is corrected:
    with b(ha) the baseline after action a at history h, and an action followed with probability q,

        u(ha)  =  b(ha) + 1[a was followed] (u(ha) - b(ha)) / q

    The correction has mean zero, so that estimates stay unbiased for any baseline. A good
    baseline makes their variance small.

    Examples
    --------
    >>> isinstance(LearnedBaseline(rate=0.1), Baseline)
    True
    """

    @abc.abstractmethod
    def baseline_values(self, game: ExtensiveFormGame, tree: FlatTree, behavior: Vector) -> Vector:
        """Return the values, for every player and history, while ``behavior`` is played."""

    def update(self, player: int, visited: int, buffers: TraversalBuffers) -> None:
        """Learn from a traversal; by default nothing."""
        return


def above_zero_to_one(_: object, attribute: "Attribute[float]", value: float) -> None:
    """Require a number above zero, at most one."""
    positive(_, attribute, value)
    if value > 1.0:
        raise ValueError(f"{attribute.name} must be above 0 and at most 1, got {quote(value)}")


@define(eq=False)
class LearnedBaseline(Baseline, Stateful):
    """The average of earlier samples at each history, old ones discounted.

        b(h)  <-  b(h) + rate (u(h) - b(h))

    It begins with zero, and learns at the histories that samples visit.

    Parameters
    ----------
    rate
        How much the newest sample counts, above 0, at most 1.

    Raises
    ------
    TypeError, ValueError
        When ``rate`` is not such a number.

    Examples
    --------
    >>> from regretkit.games import leduc_poker
    >>> from regretkit.play import OutcomeSampling
    >>> estimator = OutcomeSampling(np.random.default_rng(1), baseline=LearnedBaseline())

    References
    ----------
    Schmid, Burch, Lanctot, Moravcik, Kadlec and Bowling (2019), "Variance reduction in Monte Carlo
    counterfactual regret minimization (VR-MCCFR) for extensive form games using baselines", AAAI.
    Davis, Schmid and Bowling (2020), "Low-variance and zero-variance baselines for extensive-form
    games", ICML, for baselines by history.
    """

    rate: float = field(default=0.5, kw_only=True, validator=above_zero_to_one)
    values: Vector | None = field(default=None, init=False, repr=False)
    """Baseline values, shape ``(players, histories)``, None before the first sample."""

    def _check_state(self, state: Mapping[str, object]) -> None:
        if not (state["values"] is None or is_finite_array(state["values"], 2)):
            raise ValueError("values must be a matrix of finite numbers, or nothing")

    def baseline_values(self, game: ExtensiveFormGame, tree: FlatTree, behavior: Vector) -> Vector:
        shape = (game.players, game.tree.histories)
        if self.values is None or self.values.shape != shape:
            self.values = np.zeros(shape)
        return self.values

    def update(self, player: int, visited: int, buffers: TraversalBuffers) -> None:
        if self.values is not None:
            update_baseline(player, visited, self.rate, buffers, self.values)


@define(eq=False)
class ExactBaseline(Baseline):
    """Know the value of every history while the current strategies are played.

    What the player's strategy earns by an estimate is then what it earns, without any variance, and
    so is the value of every action where the player comes to decide. It takes a sweep of the whole
    game at every call, and so is for comparisons, and for teaching.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import OutcomeSampling
    >>> game = kuhn_poker()
    >>> uniform = [domain.relative_interior_point() for domain in game.domains]
    >>> estimator = OutcomeSampling(np.random.default_rng(1), baseline=ExactBaseline())
    >>> round(float(estimator.utility(game, 0, uniform) @ uniform[0]), 12)
    0.125

    References
    ----------
    Davis, Schmid and Bowling (2020), "Low-variance and zero-variance baselines for extensive-form
    games", ICML, where it is called the oracle.
    """

    _moves: "tuple[FlatTree, Indices] | None" = field(
        default=None, init=False, repr=False, metadata=NOT_STATE
    )

    def baseline_values(self, game: ExtensiveFormGame, tree: FlatTree, behavior: Vector) -> Vector:
        if self._moves is None or self._moves[0] is not tree:
            self._moves = tree, moves_of(game, tree)
        return values_at(game, self._moves[1], behavior)
