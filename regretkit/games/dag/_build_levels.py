"""Putting together what goes on alike, level by level, in arrays."""

from collections.abc import Hashable
from itertools import zip_longest
from typing import NamedTuple, Protocol, final

import numpy as np
from attrs import define, field

from regretkit._util._typing import Indices
from regretkit._util._validate import floats, quote
from regretkit.games.dag._build import Found, Merged
from regretkit.games.tree._history import CHANCE, TERMINAL
from regretkit.games.tree._history_batch import HistoryBatch


class AggregatedBatch(HistoryBatch, Protocol):
    """A level that says what of the past still matters."""

    def state(self, at: Indices) -> Indices:
        """Return what of the past still matters, a row of numbers for each history."""
        ...


def merged_levels(root: AggregatedBatch) -> Merged:
    """Put histories together whose rows of numbers are equal, on the way down."""
    merging = _Merging(root)
    [number] = merging.number(root)
    level, here = root, [number]
    while here:
        at, action = merging.visit(level, here)
        if not at.size:
            break
        before = len(merging.states)
        found = np.array(merging.number(level.child(at, action)))
        for history, child in zip(at.tolist(), found.tolist(), strict=True):
            merging.states[here[history]].children.append(child)
        # The first history of each new state stands for all of them.
        _, first = np.unique(found, return_index=True)
        again = np.setdiff1d(np.arange(found.size), first)
        new = np.sort(first[found[first] >= before])
        known = np.sort(np.append(again, first[found[first] < before]))
        merging.look_ahead(level, at[known], action[known], found[known])
        level, here = level.child(at[new], action[new]), found[new].tolist()
    merging.check()
    return Merged(merging.states, 0, *merging.names())


class _Seen(NamedTuple):
    """What can be seen of a history without looking ahead."""

    key: Hashable
    player: int
    information_set: int
    """What the rules call it, -1 where no player acts."""
    payoffs: tuple[float, ...]


def _seen(level: AggregatedBatch) -> list[_Seen]:
    player = np.asarray(level.player())
    rows = np.asarray(level.state(np.arange(player.size))).tolist()
    known = np.full(player.size, -1)
    payoffs: dict[int, tuple[float, ...]] = {}
    for who in np.unique(player).tolist():
        at = np.flatnonzero(player == who)
        if who == TERMINAL:
            paid = floats(level.payoffs(at), "payoffs()").tolist()
            payoffs = dict(zip(at.tolist(), map(tuple, paid), strict=True))
        elif who != CHANCE:
            known[at] = level.information_set(at)
    # Nothing of the past matters any more once the game is over, but what it paid.
    return [
        _Seen(("over", *payoffs[h]) if h in payoffs else tuple(row), who, own, payoffs.get(h, ()))
        for h, (row, who, own) in enumerate(zip(rows, player.tolist(), known.tolist(), strict=True))
    ]


def _moves(level: HistoryBatch) -> tuple[Indices, Indices]:
    """Return all that may be done at the histories of a level, in their order."""
    player, moves = np.asarray(level.player()), [np.zeros((2, 0), dtype=np.int64)]
    for who in np.unique(player[player != TERMINAL]).tolist():
        at = np.flatnonzero(player == who)
        row, action = np.nonzero(np.asarray(level.actions(at)))
        moves.append(np.stack([at[row], action]))
    together = np.concatenate(moves, axis=1)
    at, action = together[:, np.argsort(together[0], kind="stable")]
    return at, action


@final
@define(eq=False)
class _Merging:
    root: HistoryBatch
    states: list[Found] = field(factory=list)
    _numbers: dict[Hashable, int] = field(factory=dict)
    _facts: list[_Seen] = field(factory=list)
    """What was seen of the history that stands for each state."""
    _ahead: dict[int, list[_Seen]] = field(factory=dict)
    """What follows another history of a state, where there is one."""
    _sets: list[dict[int, int]] = field(factory=list)
    """For each player, the numbers of its information sets by what the rules call them."""
    _possible: list[list[Indices]] = field(factory=list)

    def number(self, level: AggregatedBatch) -> list[int]:
        """Return the number of the state of each history, noting those that are new."""
        found = []
        for seen in _seen(level):
            place = self._numbers.setdefault(seen.key, len(self.states))
            if place == len(self.states):
                number = self._known(seen.player, seen.information_set)
                self.states.append(Found(seen.player, number, payoffs=seen.payoffs))
                self._facts.append(seen)
            elif seen != self._facts[place]:
                raise _differ(self._facts[place], seen)
            found.append(place)
        return found

    def look_ahead(
        self, level: AggregatedBatch, at: Indices, action: Indices, states: Indices
    ) -> None:
        """Note what follows the first history of each state that does not stand for it."""
        _, first = np.unique(states, return_index=True)
        chosen = np.sort([f for f in first.tolist() if int(states[f]) not in self._ahead])
        if not chosen.size:
            return
        others = level.child(at[chosen], action[chosen])
        before, after = _moves(others)
        numbers = states[chosen].tolist()
        self._ahead.update((number, []) for number in numbers)
        if before.size:
            for history, seen in zip(
                before.tolist(), _seen(others.child(before, after)), strict=True
            ):
                self._ahead[numbers[history]].append(seen)

    def check(self) -> None:
        """Refuse states of which two histories are followed by what differs."""
        for number, ahead in self._ahead.items():
            follows = [self._facts[child] for child in self.states[number].children]
            for one, other in zip_longest(follows, ahead):
                if one != other:
                    raise _differ(one, other)

    def _known(self, player: int, called: int) -> int:
        """Return the number of an information set."""
        if player < 0:
            return -1
        while player >= len(self._sets):
            self._sets.append({})
            self._possible.append([])
        return self._sets[player].setdefault(called, len(self._sets[player]))

    def visit(self, level: HistoryBatch, here: list[int]) -> tuple[Indices, Indices]:
        """Return all moves of some new states, the histories of a level."""
        at, action = _moves(level)
        player = np.asarray(level.player())
        own = np.split(action, np.searchsorted(at, np.arange(1, player.size)))
        drawing = np.flatnonzero(player == CHANCE)
        for history in np.flatnonzero(player >= 0).tolist():
            self._note(int(player[history]), here[history], own[history])
        if drawing.size:
            drawn = np.isin(at, drawing)
            chances = floats(level.probability(at[drawn], action[drawn]), "probability()")
            cuts = np.searchsorted(at[drawn], drawing[1:])
            for history, dealt in zip(drawing.tolist(), np.split(chances, cuts), strict=True):
                state = self.states[here[history]]
                self.states[here[history]] = Found(
                    CHANCE, -1, state.children, tuple(dealt.tolist())
                )
        return at, action

    def _note(self, player: int, state: int, actions: Indices) -> None:
        """Note what may be done at an information set, or refuse other actions there."""
        noted, number = self._possible[player], self.states[state].information_set
        noted.extend([np.zeros(0, dtype=np.int64)] * (number + 1 - len(noted)))
        if not noted[number].size:
            noted[number] = actions
        elif not np.array_equal(noted[number], actions):
            raise ValueError(
                f"information set {quote(self._label(player, number))} of player {player} has "
                "other actions in one state than in another; give them different information sets"
            )

    def _label(self, player: int, number: int) -> str:
        return self.root.label(player, list(self._sets[player])[number])

    def names(self) -> tuple[list[list[str]], list[list[tuple[str, ...]]]]:
        """Return the names of information sets, and of their actions."""
        labels = [[self.root.label(who, key) for key in own] for who, own in enumerate(self._sets)]
        actions = [
            [tuple(self.root.action_name(who, action) for action in own.tolist()) for own in sets]
            for who, sets in enumerate(self._possible)
        ]
        return labels, actions


def _differ(one: _Seen | None, other: _Seen | None) -> ValueError:
    return ValueError(
        f"histories of one state differ, or go on differently: {one} and {other}; only what goes "
        "on alike may have the same state"
    )
