"""The histories of a game as a flat tree, whether or not its players remember everything."""

from collections.abc import Iterable, Sequence
from typing import TypeGuard, TypeVar, final

import numpy as np
from attrs import define
from numpy.typing import ArrayLike, NDArray

from regretkit._util import _validate
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import quote
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games.tree._checks import check_tree
from regretkit.games.tree._from_batch import expand
from regretkit.games.tree._from_history import path_to, walk
from regretkit.games.tree._history import CHANCE, TERMINAL, History
from regretkit.games.tree._history_batch import HistoryBatch
from regretkit.sets._lazy_sequence import LazySequence

Number = TypeVar("Number", bound=np.generic)

_SMALL = np.iinfo(np.int32)


@final
@define(eq=False, repr=False, init=False)
class GameTree:
    """All histories of a game, level by level, in flat read-only arrays.

    History 0 is the empty one. Histories stand in breadth-first order: parents before children,
    shorter histories before longer ones, and the children of one history side by side in the
    order of its actions. The information sets of each player are numbered from 0 in the order
    in which this order first comes to them; a player and such a number identify one, and
    labels are for people and need not differ.

    Nothing here asks for perfect recall; :class:`~regretkit.games.ExtensiveFormGame` does.
    Usually built by :meth:`from_history`, or by :meth:`from_batch` where there are very many.
    Whole numbers are held in 32 bits, and in 64 where those are not enough. Arrays that are passed
    in are copied, unless they are read-only already.

    Parameters
    ----------
    parent
        The history before each history, -1 for the first.
    player
        Who acts at each history: a player, ``CHANCE`` (-1), or ``TERMINAL`` (-2) at an end.
    information_set
        Number of the acting player's information set at each history, -1 where none acts.
    action
        Index of the action that leads from the parent to each history, -1 for the first.
    probability
        Probability with which chance takes that action, 1 where not chance does.
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
        When the arrays do not fit together, the order is another one, chance does not sum to 1
        within ``CHANCE_TOLERANCE``, or a payoff is not finite or beyond 1e300.

    Examples
    --------
    One player chooses between 1 and 2:

    >>> tree = GameTree(
    ...     parent=[-1, 0, 0],
    ...     player=[0, -2, -2],
    ...     information_set=[0, -1, -1],
    ...     action=[-1, 0, 1],
    ...     probability=[1.0, 1.0, 1.0],
    ...     payoffs=[[1.0], [2.0]],
    ...     labels=[["start"]],
    ...     actions=[[["one", "two"]]],
    ... )
    >>> tree
    <GameTree: 3 histories, 2 terminals, 1 information sets>
    >>> tree.history_path(2)
    ('two',)
    """

    parent: Indices
    """The history before each history, -1 for the first, shape ``(histories,)``."""
    player: Indices
    """Who acts, ``CHANCE`` or ``TERMINAL`` where no player does, shape ``(histories,)``."""
    information_set: Indices
    """Number of the information set, -1 where no player acts, shape ``(histories,)``."""
    action: Indices
    """Index, at the parent, of the action that leads here, shape ``(histories,)``."""
    probability: Vector
    """Probability of chance's action that leads here, else 1, shape ``(histories,)``."""
    payoffs: Vector
    """Payoffs at the ends of the game, shape ``(terminals, players)``."""
    terminals: Indices
    """The histories at which the game ends, shape ``(terminals,)``."""
    labels: tuple[Sequence[str], ...]
    """For each player, the names of its information sets; they may be made when asked for."""
    actions: tuple[Sequence[Sequence[str]], ...]
    """For each player and information set, the names of the actions."""
    outcomes: Sequence[Sequence[str]]
    """For each chance history, in order, the names of the outcomes."""
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
        self.labels = tuple(own if isinstance(own, LazySequence) else tuple(own) for own in labels)
        self.actions = tuple(map(_names_of_actions, actions))
        self.outcomes = _names_of_actions(outcomes)
        self.sizes = check_tree(self)

    @classmethod
    def from_history(cls, root: History, *, memory_limit: float | None = None) -> "GameTree":
        """Walk a game from its first history and return all of them.

        Information sets and actions are named by what ``str`` makes of them. One level of
        :class:`~regretkit.games.History` objects is held at a time, with its children.

        Parameters
        ----------
        root
            The empty history.
        memory_limit
            Bytes that building may take, by default all that are available.

        Raises
        ------
        TypeError
            When ``root`` lacks a method, or something is not hashable.
        ValueError
            When an information set has different actions at different histories, actions are
            missing or occur twice, chance does not sum to 1, or payoffs are not one finite
            number for each player; with the history that shows it.
        MemoryError
            When there are more histories than memory has room for.
        """
        return cls(**walk(root, MemoryBudget(memory_limit)))

    @classmethod
    def from_batch(cls, root: HistoryBatch, *, memory_limit: float | None = None) -> "GameTree":
        """Expand a game level by level and return all histories.

        This takes no object for a history, nor for the name of one. The tree is the same as that
        of the same rules by :meth:`from_history`, except that names are made when asked for.

        Parameters
        ----------
        root
            The level of the empty history.
        memory_limit
            Bytes that building may take, by default all that are available.

        Raises
        ------
        TypeError
            When ``root`` lacks a method, or ``child`` returns no level.
        ValueError
            When an array has another shape or type than it should, an information set has
            different actions at different histories, actions are missing, chance does not sum to
            1, or payoffs are not finite; with a history that shows it.
        MemoryError
            When there are more histories than memory has room for.
        """
        return cls(**expand(root, MemoryBudget(memory_limit)))

    @property
    def histories(self) -> int:
        """Number of histories, terminal ones included."""
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
        """Return the names of what may be done at a history."""
        player = int(self.player[history])
        if player == CHANCE:
            return self.outcomes[int(np.searchsorted(self._chance, history))]
        return self.actions[player][int(self.information_set[history])]

    def _repr_html_(self) -> str:
        from regretkit.display._html import game_html

        return game_html(self)

    def __repr__(self) -> str:
        sets = " + ".join(map(str, self.information_sets))
        return (
            f"<GameTree: {self.histories} histories, {self.terminals.size} terminals, "
            f"{sets} information sets>"
        )


def compact(value: Iterable[int], name: str = "value") -> Indices:
    """Return whole numbers as a read-only array, of 32 bits where those are enough."""
    if _is_settled(value, np.int32):
        return value
    array = _validate.whole_numbers(value, name)
    if _SMALL.min <= array.min(initial=0) and array.max(initial=0) <= _SMALL.max:
        array = array.astype(np.int32)
        array.setflags(write=False)
    return array


def _numbers(value: ArrayLike, name: str) -> Vector:
    if _is_settled(value, np.float64):
        return value
    try:
        array = _validate.floats(value, name).copy()
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be an array of numbers, got {quote(value)}") from error
    array.setflags(write=False)
    return array


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
