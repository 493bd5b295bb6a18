"""What a player does where samples came, and elsewhere."""

from collections.abc import Hashable, Iterator, Sequence
from typing import final

import numpy as np
from attrs import define

from regretkit._util._typing import Vector


@final
@define(eq=False, repr=False)
class VisitedStrategy:
    """What a player does at the information sets that were met, and uniformly at all others.

    Called with an information set and its actions, it returns their probabilities, as everything
    does that takes a behavior.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import ExternalSampling, LazyMCCFR
    >>> sampling = ExternalSampling(np.random.default_rng(1))
    >>> run = LazyMCCFR(kuhn_poker(), RegretMatching, sampling).run(50)
    >>> first, second = run.average
    >>> len(first), {str(information_set) for information_set in first} >= {"J", "Q", "K"}
    (6, True)
    >>> first("unheard of", ["p", "b"])
    array([0.5, 0.5])
    """

    _distributions: dict[Hashable, Vector]

    def __call__(self, information_set: Hashable, actions: Sequence[Hashable]) -> Vector:
        """Return the probability of each action."""
        known = self._distributions.get(information_set)
        return np.full(len(actions), 1.0 / len(actions)) if known is None else known

    def __getitem__(self, information_set: Hashable) -> Vector:
        return self._distributions[information_set]

    def __contains__(self, information_set: Hashable) -> bool:
        return information_set in self._distributions

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._distributions)

    def __len__(self) -> int:
        return len(self._distributions)

    def __repr__(self) -> str:
        return f"<what to do at {len(self)} information sets>"
