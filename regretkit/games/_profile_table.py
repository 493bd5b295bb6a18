"""Strategies as tables: what to do at each information set, for people and for spreadsheets."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.sets import DecisionTree, Simplices, StrategySet

if TYPE_CHECKING:
    from regretkit.games._profile import Profile

MOST = 60
"""A printed table shows at most this many information sets of a player."""


class Row(NamedTuple):
    """One action at one information set."""

    player: int
    information_set: int
    label: str | None
    action: str
    probability: float
    reach: float
    """Probability that the player's own play comes to the information set."""


def blocks_of(domain: StrategySet) -> Simplices | None:
    """Return a player's information sets side by side, None on a set that has none."""
    if isinstance(domain, DecisionTree):
        return domain.simplices
    return domain if isinstance(domain, Simplices) else None


def simplices_of(domain: StrategySet, player: int) -> Simplices:
    """Return a player's information sets side by side, or refuse a set that has none."""
    simplices = blocks_of(domain)
    if simplices is None:
        raise ValueError(
            f"player {player} plays on {quote(domain)}, which has no information sets and so no "
            f"table of what to do there; its vector is profile[{player}]"
        )
    return simplices


def behavior_of(strategy: Vector, domain: StrategySet) -> Vector:
    """Return the distributions over actions at all information sets, side by side."""
    return domain.behavior(strategy) if isinstance(domain, DecisionTree) else strategy


def reach_of(strategy: Vector, domain: StrategySet) -> Vector:
    """Return the probability that a player's own play comes to each of its information sets."""
    simplices = blocks_of(domain)
    if isinstance(domain, DecisionTree):
        return domain.reach(strategy)
    return np.ones(0 if simplices is None else simplices.blocks)


def never_reached(strategy: Vector, domain: StrategySet) -> Indices:
    """Return the information sets to which a player's own play never comes."""
    return np.flatnonzero(reach_of(strategy, domain) == 0.0)


def label_of(simplices: Simplices, number: int) -> str | None:
    """Return what an information set is called, None where none is named."""
    return simplices.labels.block(number) if simplices.labels.named else None


def rows(profile: "Profile") -> Iterator[Row]:
    """Yield a row for each action of each information set of each player."""
    for player, domain in enumerate(profile.domains):
        simplices = simplices_of(domain, player)
        behavior = behavior_of(profile[player], domain)
        reach = reach_of(profile[player], domain).tolist()
        for number in range(simplices.blocks):
            label, own = label_of(simplices, number), behavior[simplices.block(number)].tolist()
            for action, probability in zip(simplices.labels.actions(number), own, strict=True):
                yield Row(player, number, label, action, probability, reach[number])


def table(player: int, strategy: Vector, domain: StrategySet) -> Iterator[str]:
    """Yield the lines that show a player's strategy."""
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
