"""Game trees as flat arrays, of perfect or imperfect recall."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeGuard, TypeVar

import numpy as np
from attrs import define
from numpy.typing import ArrayLike, NDArray

from regretkit._util import _validate
from regretkit._util._arrays import read_only, segment_sum
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.games._game import check_payoffs, game_repr_html
from regretkit.games.tree._build import path_to, tree_of
from regretkit.games.tree._history import (
    CHANCE,
    CHANCE_TOLERANCE,
    TERMINAL,
    History,
    path_text,
)
from regretkit.games.tree._rules import Objects, Rules
from regretkit.sets._labels import LazySequence

Number = TypeVar("Number", bound=np.generic)

_SMALL = np.iinfo(np.int32)


@define(eq=False, repr=False, init=False)
class GameTree:
    """All histories of a game in breadth-first order, in flat read-only arrays.

    History 0 is the empty one. Parents come before children, shorter histories before longer
    ones, and the children of a history are contiguous, in the order of its actions. The
    information sets of each player are numbered from 0 by first occurrence; labels are for display
    and need not be unique.

    Perfect recall is not required; ``ExtensiveFormGame`` checks it. Trees are
    usually built by ``from_rules`` or ``from_history``. Whole
    numbers are 32-bit where that is enough. Arguments are copied unless they are read-only.

    Parameters
    ----------
    parent
        The parent of each history, -1 for the first. This and the next four arrays have an entry
        for each history, shape ``(histories,)``.
    player
        The acting player, ``CHANCE`` (-1) or ``TERMINAL`` (-2).
    information_set
        Information set of the acting player, -1 without one.
    action
        Index, at the parent, of the action that leads to each history, -1 for the first.
    probability
        Probability of that action if it is chance's, else 1.
    payoffs
        Payoff of each player at each terminal history, shape ``(terminals, players)``.
    labels
        For each player, a name for each information set.
    actions
        For each player and each of its information sets, a name for each action.
    outcomes
        For each chance history, in order, a name for each outcome.

    Raises
    ------
    TypeError
        When an array does not hold numbers, or whole numbers where those are wanted.
    ValueError
        When shapes do not match, the order is not breadth-first, probabilities of chance do not
        sum to 1 within ``CHANCE_TOLERANCE``, or a payoff is not finite or beyond 1e100.

    Examples
    --------
    One player chooses between 1 and 2:

    >>> tree = GameTree(
    ...     parent=[-1, 0, 0], player=[0, -2, -2], information_set=[0, -1, -1],
    ...     action=[-1, 0, 1], probability=[1.0, 1.0, 1.0], payoffs=[[1.0], [2.0]],
    ...     labels=[["start"]], actions=[[["one", "two"]]],
    ... )
    >>> tree
    <GameTree: 3 histories, 2 terminals, 1 information sets>
    >>> tree.history_path(2)
    ('two',)
    """

    parent: Indices
    player: Indices
    information_set: Indices
    action: Indices
    probability: Vector
    payoffs: Vector
    terminals: Indices
    """The terminal histories, in order, shape ``(terminals,)``."""
    labels: tuple[Sequence[str], ...]
    actions: tuple[Sequence[Sequence[str]], ...]
    outcomes: Sequence[Sequence[str]]
    sizes: tuple[Indices, ...]
    """For each player, the number of actions of each information set."""
    _chance: Indices
    """The histories at which chance acts."""

    def __init__(
        self,
        *,
        parent: Iterable[int],
        player: Iterable[int],
        information_set: Iterable[int],
        action: Iterable[int],
        probability: ArrayLike,
        payoffs: ArrayLike,
        labels: Sequence[Sequence[str]],
        actions: Sequence[Sequence[Sequence[str]]],
        outcomes: Sequence[Sequence[str]] = (),
    ) -> None:
        self.parent = compact(parent, "parent")
        self.player = compact(player, "player")
        self.information_set = compact(information_set, "information_set")
        self.action = compact(action, "action")
        self.probability = _numbers(probability, "probability")
        self.payoffs = _numbers(payoffs, "payoffs")
        self.terminals = compact(np.flatnonzero(self.player == TERMINAL), "terminals")
        self._chance = np.flatnonzero(self.player == CHANCE)
        self.labels = tuple(
            names if isinstance(names, LazySequence) else tuple(names) for names in labels
        )
        self.actions = tuple(map(_names_of_actions, actions))
        self.outcomes = _names_of_actions(outcomes)
        self.sizes = _check_tree(self)

    @classmethod
    def from_rules(cls, rules: Rules, *, memory_limit: float | None = None) -> "GameTree":
        """Build the tree of a game from its rules, one batch of histories for each length.

        Labels and names of actions are made when you ask for them.

        Parameters
        ----------
        rules
            The rules of the game.
        memory_limit
            Largest number of bytes that building may take, by default all that are available.

        Raises
        ------
        ValueError
            When the actions of an information set differ or are missing, when probabilities do not
            sum to 1, or when payoffs are not one finite number for each player; with the path of a
            history. Also when a history has more than 20,000 moves.
        MemoryError
            When the tree does not fit into memory, by its size so far or by an estimate of its
            size from random plays.
        """
        return cls(**tree_of(rules, memory_limit))

    @classmethod
    def from_history(cls, root: History, *, memory_limit: float | None = None) -> "GameTree":
        """Build the tree of a game from its empty history, as ``from_rules`` does.

        Labels are ``str`` of information sets and actions. Two lengths of ``History`` objects are
        held at a time.
        """
        arrays = tree_of(Objects(root), memory_limit)
        for name in ("labels", "actions"):
            arrays[name] = list(map(tuple, arrays[name]))
        arrays["outcomes"] = shared(arrays["outcomes"])
        return cls(**arrays)

    @property
    def histories(self) -> int:
        """Number of histories, including terminal ones."""
        return self.parent.size

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.labels)

    @property
    def information_sets(self) -> tuple[int, ...]:
        """Number of information sets of each player."""
        return tuple(map(len, self.labels))

    @property
    def depth(self) -> int:
        """Length of the longest history, chance's actions included."""
        depth, last = 0, self.histories - 1
        while last:
            depth, last = depth + 1, int(self.parent[last])
        return depth

    def history_path(self, history: int) -> tuple[str, ...]:
        """Return the names of the actions, chance's included, that lead to a history."""
        if not isinstance(history, int | np.integer):
            raise TypeError(f"history must be a number, got {quote(history)}")
        if not 0 <= history < self.histories:
            raise ValueError(f"history must be one of 0 to {self.histories - 1}, got {history}")
        return path_to(int(history), self.parent, self.action, self._names)

    def _names(self, history: int) -> Sequence[str]:
        player = int(self.player[history])
        if player == CHANCE:
            return self.outcomes[int(np.searchsorted(self._chance, history))]
        return self.actions[player][int(self.information_set[history])]

    _repr_html_ = game_repr_html

    def __repr__(self) -> str:
        sets = " + ".join(map(str, self.information_sets))
        return (
            f"<GameTree: {self.histories} histories, {self.terminals.size} terminals, "
            f"{sets} information sets>"
        )


def shared(names: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return tuples of names, equal ones as one object."""
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    return [known.setdefault(each, each) for each in names]


def compact(value: Iterable[int], name: str = "value") -> Indices:
    """Return whole numbers as a read-only array, of 32 bits where those are enough."""
    if _is_settled(value, np.int32):
        return value
    array = _validate.whole_numbers(value, name)
    if _SMALL.min <= array.min(initial=0) and array.max(initial=0) <= _SMALL.max:
        return read_only(array.astype(np.int32))
    return array


def _numbers(value: ArrayLike, name: str) -> Vector:
    if _is_settled(value, np.float64):
        return value
    return read_only(_validate.floats(value, name).copy())


def _is_settled(value: object, dtype: type[Number]) -> TypeGuard[NDArray[Number]]:
    """Return whether an array is of a type, and immutable."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype == dtype
        and value.base is None
        and not value.flags.writeable
    )


def _names_of_actions(names: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    return names if isinstance(names, LazySequence) else tuple(map(tuple, names))


# Checks


def _check_tree(tree: GameTree) -> tuple[Indices, ...]:
    """Check all arrays, and return the number of actions of each player's information sets."""
    _check_shapes(tree)
    children = _check_order(tree)
    _check_players(tree, children)
    sizes = [_check_information_sets(tree, player, children) for player in range(tree.players)]
    _check_outcomes(tree, children)

    # All names of actions are checked now, so that messages can show the path of a history.
    def place(history: int) -> str:
        return path_text(tree.history_path(history))

    _check_chance(tree, children, place)
    check_payoffs(tree.payoffs, lambda i: f"{place(int(tree.terminals[i[0]]))}, player {i[1]}")
    return tuple(sizes)


def _first(wrong: NDArray[np.bool_]) -> int:
    """Return the first index at which something is wrong, -1 if nothing is."""
    return int(np.argmax(wrong)) if wrong.any() else -1


class _Children(NamedTuple):
    """The histories that have children, in order, with the numbers of their children."""

    of: Indices
    counts: Indices


def _check_shapes(tree: GameTree) -> None:
    histories = tree.parent.size
    for name in ("player", "information_set", "action", "probability"):
        shape = getattr(tree, name).shape
        if shape != (histories,):
            raise ValueError(
                f"{name} has shape {shape}, but parent has {histories} histories; "
                f"pass one entry for each, shape ({histories},)"
            )
    if not tree.labels:
        raise ValueError("labels is empty: a game needs at least one player; pass a list for each")
    if len(tree.actions) != tree.players:
        raise ValueError(
            f"actions has lists for {len(tree.actions)} players, but labels for {tree.players}"
        )
    terminals, players = wanted = (tree.terminals.size, tree.players)
    if tree.payoffs.shape != wanted:
        raise ValueError(
            f"payoffs has shape {tree.payoffs.shape}, but there are {terminals} terminal "
            f"histories and {players} players; pass shape {wanted}"
        )


def _check_order(tree: GameTree) -> _Children:
    parent, action = tree.parent, tree.action
    if not parent.size or parent[0] != -1:
        raise ValueError("parent must begin with -1: history 0 is the one that has no parent")
    previous, current = parent[:-1], parent[1:]
    number = np.arange(1, parent.size, dtype=parent.dtype)
    if (i := 1 + _first((current < np.maximum(previous, 0)) | (current >= number))) > 0:
        raise ValueError(
            f"parent[{i}] is {parent[i]}, after {parent[i - 1]}; in "
            "breadth-first order parents never decrease and come before their children"
        )
    # Each history is the next child of the same parent, or the first child of another.
    index = np.append(action.dtype.type(-1), np.where(current == previous, action[:-1] + 1, 0))
    if (i := _first(action != index)) >= 0:
        raise ValueError(
            f"action[{i}] is {action[i]}, but history {i} is child {index[i]} of its parent; "
            "list children in the order of their actions"
        )
    first = np.flatnonzero(index == 0)
    return _Children(parent[first], np.diff(np.append(first, parent.size)))


def _check_players(tree: GameTree, children: _Children) -> None:
    player = tree.player
    if (i := _first((player < TERMINAL) | (player >= tree.players))) >= 0:
        raise ValueError(
            f"player[{i}] is {player[i]}, but must be one of 0 to {tree.players - 1}, "
            f"CHANCE ({CHANCE}) or TERMINAL ({TERMINAL})"
        )
    childless = np.ones(player.size, dtype=np.bool_)
    childless[children.of] = False
    if (i := _first((player == TERMINAL) != childless)) >= 0:
        raise ValueError(
            f"player[{i}] is {player[i]}, but history {i} has "
            f"{children.counts[children.of == i].sum()} children; those without any, and no "
            f"others, are TERMINAL ({TERMINAL})"
        )
    if (i := _first((player < 0) & (tree.information_set != -1))) >= 0:
        raise ValueError(
            f"information_set[{i}] is {tree.information_set[i]}, but no player acts at history "
            f"{i}; pass -1 there"
        )


def _check_information_sets(tree: GameTree, player: int, children: _Children) -> Indices:
    acting = np.flatnonzero(tree.player[children.of] == player)
    histories, counts = children.of[acting], children.counts[acting]
    numbers = tree.information_set[histories]
    previous = np.append(-1, np.maximum.accumulate(numbers))
    if (i := _first((numbers < 0) | (numbers > previous[:-1] + 1))) >= 0:
        raise ValueError(
            f"information_set[{histories[i]}] is {numbers[i]}, but those of player {player} up "
            f"to there are 0 to {previous[i]}; number them in the order in which they first occur"
        )
    labels, actions = tree.labels[player], tree.actions[player]
    if not (1 + previous[-1] == len(labels) == len(actions)):
        raise ValueError(
            f"player {player} has {1 + previous[-1]} information sets, but labels names "
            f"{len(labels)} and actions {len(actions)}; pass one of each"
        )
    sizes = counts[numbers > previous[:-1]]
    if isinstance(actions, tuple):
        sizes = np.fromiter(map(len, actions), np.int64, len(actions))
    if (i := _first(sizes[numbers] != counts)) >= 0:
        raise ValueError(
            f"history {histories[i]} has {counts[i]} children, but information set "
            f"{numbers[i]} of player {player} has {sizes[numbers[i]]} actions; an information "
            "set has the same actions at all of its histories"
        )
    return read_only(sizes)


def _check_outcomes(tree: GameTree, children: _Children) -> None:
    acting = np.flatnonzero(tree.player[children.of] == CHANCE)
    if len(tree.outcomes) != acting.size:
        raise ValueError(
            f"outcomes has names for {len(tree.outcomes)} chance histories, but there are "
            f"{acting.size}; pass the names of the outcomes of each"
        )
    if not isinstance(tree.outcomes, tuple):
        return  # names that are made when asked for
    named, counts = np.fromiter(map(len, tree.outcomes), np.int64), children.counts[acting]
    if (i := _first(named != counts)) >= 0:
        raise ValueError(
            f"history {children.of[acting[i]]} has {counts[i]} children, but outcomes names "
            f"{named[i]} of them: {quote(tree.outcomes[i])}"
        )


def _check_chance(tree: GameTree, children: _Children, place: Callable[[int], str]) -> None:
    by_chance = tree.player[children.of] == CHANCE
    drawn, probability = np.append(False, np.repeat(by_chance, children.counts)), tree.probability
    # Comparisons with NaN are false.
    proper = (probability >= 0.0) & (probability < np.inf)
    if (i := _first(~drawn & (probability != 1.0))) >= 0:
        raise ValueError(
            f"probability[{i}] is {probability[i]}, but chance does not lead to history {i}; "
            "pass 1 there"
        )
    if (i := _first(drawn & ~proper)) >= 0:
        *path, outcome = tree.history_path(i)
        raise ValueError(
            f"chance outcome {quote(outcome)} at {path_text(path)} has probability "
            f"{probability[i]}; pass a finite number of at least 0"
        )
    histories, counts = children.of[by_chance], children.counts[by_chance]
    index = np.repeat(np.arange(histories.size), counts)
    total = segment_sum(index, probability[drawn], histories.size)
    if (i := _first(np.abs(total - 1.0) > CHANCE_TOLERANCE)) >= 0:
        raise ValueError(
            f"the probabilities of chance at {place(int(histories[i]))} sum to {total[i]}, not "
            f"to 1 within {CHANCE_TOLERANCE:g}; divide them by their sum"
        )
