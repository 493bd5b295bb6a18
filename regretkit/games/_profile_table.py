"""Profiles as tables of the actions at each information set."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.sets import DecisionTree, Simplices, StrategySet

if TYPE_CHECKING:
    from regretkit.games._profile import Profile

MOST = 60
"""Largest number of information sets of a player in a printed table."""


class Row(NamedTuple):
    """One action at one information set."""

    player: int
    information_set: int
    label: str | None
    action: str
    probability: float
    reach: float
    """Probability that the player's strategy reaches the information set."""


def blocks_of(domain: StrategySet) -> Simplices | None:
    """Return the simplices of a player's information sets, None on a set without any."""
    if isinstance(domain, DecisionTree):
        return domain.simplices
    return domain if isinstance(domain, Simplices) else None


def simplices_of(domain: StrategySet, player: int) -> Simplices:
    """Return the simplices of a player's information sets, or raise on a set without any."""
    simplices = blocks_of(domain)
    if simplices is None:
        raise ValueError(
            f"player {player} plays on {quote(domain)}, which has no information sets and so no "
            f"table; its vector is profile[{player}]"
        )
    return simplices


def behavior_of(strategy: Vector, domain: StrategySet) -> Vector:
    """Return the distributions over actions at all information sets, concatenated."""
    return domain.behavior(strategy) if isinstance(domain, DecisionTree) else strategy


def reach_of(strategy: Vector, domain: StrategySet) -> Vector:
    """Return the probability that a player's strategy reaches each of its information sets."""
    simplices = blocks_of(domain)
    if isinstance(domain, DecisionTree):
        return domain.reach(strategy)
    return np.ones(0 if simplices is None else simplices.blocks)


def never_reached(strategy: Vector, domain: StrategySet) -> Indices:
    """Return the information sets that a player's strategy does not reach."""
    return np.flatnonzero(reach_of(strategy, domain) == 0.0)


def label_of(simplices: Simplices, number: int) -> str | None:
    """Return the label of an information set, None if they have no labels."""
    return simplices.labels.block(number) if simplices.labels.named else None


def rows(profile: "Profile") -> Iterator[Row]:
    """Yield a row for each action of each information set of each player."""
    for player, domain in enumerate(profile.domains):
        simplices = simplices_of(domain, player)
        behavior = behavior_of(profile[player], domain)
        reach = reach_of(profile[player], domain).tolist()
        for number in range(simplices.blocks):
            label, block = label_of(simplices, number), behavior[simplices.block(number)]
            pairs = zip(simplices.labels.actions(number), block.tolist(), strict=True)
            for action, probability in pairs:
                yield Row(player, number, label, action, probability, reach[number])


def table(player: int, strategy: Vector, domain: StrategySet) -> Iterator[str]:
    """Yield the lines of a player's printed strategy."""
    yield f"player {player}"
    simplices = blocks_of(domain)
    if simplices is None:
        yield f"  {strategy}"
        return
    behavior = behavior_of(strategy, domain)
    unreached = set(never_reached(strategy, domain).tolist())
    shown = range(min(simplices.blocks, MOST))
    names = [printable(label_of(simplices, number) or "") for number in shown]
    width = max(map(len, names), default=0)
    for number, name in zip(shown, names, strict=True):
        actions = map(printable, simplices.labels.actions(number))
        pairs = zip(actions, behavior[simplices.block(number)], strict=True)
        played = "  ".join(f"{action} {probability:.4f}" for action, probability in pairs)
        flag = "  (never reached)" if number in unreached else ""
        yield f"  {name:<{width}}  {played}{flag}"
    if simplices.blocks > MOST:
        yield f"  ... {simplices.blocks - MOST} more information sets"


def printable(text: str) -> str:
    """Return text with escapes for control characters, surrogates and the like."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
