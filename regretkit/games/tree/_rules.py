"""The ``Rules`` interface over batches of histories, and its adapter for ``History`` objects."""

import abc
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import must_be, quote
from regretkit.games.tree._history import (
    CHANCE,
    TERMINAL,
    History,
    actions_of,
    check_history,
    outcomes_of,
)

Column: TypeAlias = Any
"""An array with one number, or one row of numbers, for each history of a batch."""

Mask: TypeAlias = NDArray[np.bool_]


class Batch:
    """Histories of one length, as columns: ``h.paid[i]`` belongs to history ``i``.

    The first axis of every column runs over histories. Rules never change columns in place: they
    call ``then``, which returns the batch of the children.

    Parameters
    ----------
    length
        Number of moves of each history.
    columns
        At least one array; the game chooses their names, shapes and types.

    Examples
    --------
    >>> h = Batch(0, coins=np.array([[5, 5], [3, 4]]), last=np.array([0, 1]))
    >>> h.size, h[[1]].coins
    (2, array([[3, 4]]))
    >>> after = h.then(last=np.array([2, 2]))
    >>> after.length, after.last
    (1, array([2, 2]))
    """

    length: int

    def __init__(self, length: int = 0, **columns: Column) -> None:
        vars(self).update(columns, length=length)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Column: ...

    @property
    def columns(self) -> dict[str, Column]:
        """All columns, by name."""
        return {name: column for name, column in vars(self).items() if name != "length"}

    @property
    def size(self) -> int:
        """Number of histories."""
        return len(next(iter(vars(self).values())))

    def __getitem__(self, rows: Any) -> "Batch":
        """Return the histories with these numbers."""
        return Batch(self.length, **{name: column[rows] for name, column in self.columns.items()})

    def then(self, **changed: Column) -> "Batch":
        """Return the same histories one move later, with some columns changed."""
        return Batch(self.length + 1, **{**self.columns, **changed})


class Rules(abc.ABC):
    """The rules of a game, over batches of histories.

    Each method computes one entry for each history of a batch ``h``, with NumPy. A tree of ten
    million histories takes a few dozen array operations for each length. A method may return a
    number in place of an array, for all histories. Actions are whole numbers from 0. Histories of
    one information set have the same legal actions.

    ============================================== =============================================
    use                                            call
    ============================================== =============================================
    build the tree                                 ``ExtensiveFormGame.from_rules(rules)``
    merge histories with equal ``state``           ``GraphGame.from_rules(rules)``
    play without a tree, compiled to machine code  ``solve(rules, sampling="external")``
    ============================================== =============================================

    Attributes are the parameters of the game. Rules should have no other state.

    Examples
    --------
    A player guesses the outcome of each toss of a fair coin, and earns 1 for each right guess:

    >>> import numpy as np
    >>> from regretkit.games import CHANCE, TERMINAL, Batch, GameTree, Rules
    >>> class Tosses(Rules):
    ...     tosses = 8
    ...     def start(self): return Batch(coin=np.zeros(1, int), right=np.zeros(1))
    ...     def player(self, h):
    ...         turn = TERMINAL if h.length == 2 * self.tosses else CHANCE
    ...         return 0 if h.length % 2 else turn
    ...     def legal(self, h): return np.ones(2, bool)
    ...     def child(self, h, action):
    ...         if h.length % 2:
    ...             return h.then(right=h.right + (h.coin == action))
    ...         return h.then(coin=action)
    ...     def observed(self, h): return (h.length // 2,)
    ...     def payoffs(self, h): return h.right.reshape(-1, 1)
    ...     def action_name(self, player, action): return "ht"[action]
    ...     def label(self, player, toss): return f"call toss {toss}"
    >>> tree = GameTree.from_rules(Tosses())
    >>> tree
    <GameTree: 131071 histories, 65536 terminals, 8 information sets>
    >>> tree.labels[0][7], tree.actions[0][7]
    ('call toss 7', ('h', 't'))
    """

    numbered: bool = False
    """Whether ``observed`` returns one column, the numbers of the player's information sets."""

    @abc.abstractmethod
    def start(self) -> Batch:
        """Return the batch that holds only the empty history."""

    @abc.abstractmethod
    def player(self, h: Batch) -> ArrayLike:
        """Return the acting player of each history, numbered from 0, ``CHANCE`` or ``TERMINAL``."""

    @abc.abstractmethod
    def legal(self, h: Batch) -> Mask:
        """Return True for each legal action, shape ``(h.size, actions)``.

        The same player, or chance, acts at all histories of ``h``. An array of shape ``(actions,)``
        applies to all of them. The number of columns may differ between batches.
        """

    @abc.abstractmethod
    def child(self, h: Batch, action: Indices) -> Batch:
        """Return the histories after ``action[i]`` at history ``i``, usually ``h.then(...)``.

        Different players, or chance, may act at the histories of ``h``.
        """

    @abc.abstractmethod
    def observed(self, h: Batch) -> tuple[Column, ...]:
        """Return the acting player's observations: columns of whole numbers, each ``(h.size,)``.

        Histories of the same player with equal columns belong to the same information set. An array
        of shape ``(h.size, columns)`` counts as several columns. The number of columns is the same
        throughout the game.
        """

    @abc.abstractmethod
    def payoffs(self, h: Batch) -> Vector:
        """Return the payoffs at terminal histories, shape ``(h.size, players)``."""

    def chance(self, h: Batch, action: Indices) -> ArrayLike:
        """Return the probability of chance's ``action[i]`` at history ``i``.

        By default, all legal outcomes are equally likely.
        """
        legal = self.legal(h)
        every = np.broadcast_to(legal, (h.size, legal.shape[-1]))
        probability: Vector = 1.0 / np.count_nonzero(every, axis=1)
        return probability

    def state(self, h: Batch) -> tuple[Column, ...]:
        """Return columns, as in ``observed``, that determine the continuation, for ``GraphGame``.

        Histories of the same player, or of chance, with equal columns must have equal information
        sets, actions, probabilities and payoffs from there on.
        """
        raise TypeError(f"{quote(self)} has no method state(h)")

    def action_name(self, player: int, action: int) -> str:
        """Return the name of an action of a player or of ``CHANCE``, for display."""
        return str(action)

    def label(self, player: int, *observed: int) -> str:
        """Return the name of the information set with these observations, for display."""
        return " ".join(map(str, observed))

    def moves(self, h: Batch) -> tuple[Indices, Indices]:
        """Return the history and the action of each legal move, sorted by history.

        The tree builder calls ``moves`` only. Override it where a mask ``legal`` would be large.
        """
        legal = np.asarray(self.legal(h))
        if legal.ndim < 2:
            count = np.flatnonzero(legal)
            return np.repeat(np.arange(h.size), count.size), np.tile(count, h.size)
        if legal.dtype != np.bool_ or legal.ndim != 2 or len(legal) != h.size:
            raise ValueError(
                f"legal() must be True or False for each action, shape ({h.size}, actions), got "
                f"shape {legal.shape} and type {legal.dtype}"
            )
        row = np.repeat(np.arange(h.size), np.count_nonzero(legal, axis=1))
        return row, np.flatnonzero(legal) - row * legal.shape[1]


class HistoryError(ValueError):
    """An error at one history of a batch. The builder adds the path of the history."""

    def __init__(self, message: str, h: Batch, row: int) -> None:
        super().__init__(message)
        self.place = int(h.place[row])


class Objects(Rules):
    """The rules of ``History`` objects, held in the column ``node``.

    Actions and information sets are numbered by first occurrence. Column ``place`` numbers the
    histories of a level. ``key`` maps a history to its state, by default its method ``state()``.
    """

    def __init__(self, root: Any, key: Callable[[Any], Hashable] | None = None) -> None:
        check_history(root, "root")
        self.root = root
        self.names: list[Hashable] = []
        self._numbers: dict[Hashable, int] = {}
        self._sets: dict[int, dict[Hashable, int]] = {}
        self._listed: dict[int, list[Hashable]] = {}
        self._key = getattr(type(root), "state", None) if key is None else key
        self._states: dict[Hashable, int] = {}

    def start(self) -> Batch:
        return _of_objects(0, [self.root])

    def player(self, h: Batch) -> Indices:
        acting = [TERMINAL if x.is_terminal() else x.player() for x in h.node]
        players = np.array(acting)
        if players.dtype.kind not in "iu" or players.min() < CHANCE:
            for row, (x, player) in enumerate(zip(h.node, acting, strict=True)):
                whole = isinstance(player, int | np.integer)
                if not whole or (player < CHANCE and not x.is_terminal()):
                    wanted = f"a player, numbered from 0, or CHANCE, which is {CHANCE}"
                    raise HistoryError(must_be("player()", wanted, player), h, row)
        return players.astype(np.int64)

    def legal(self, h: Batch) -> Mask:
        row, action = self.moves(h)
        mask = np.zeros((len(h.node), action.max() + 1), dtype=np.bool_)
        mask[row, action] = True
        return mask

    def moves(self, h: Batch) -> tuple[Indices, Indices]:
        listed: list[Sequence[Hashable]]
        name = "actions()"
        if h.node[0].player() == CHANCE:
            name = "chance_outcomes()"
            listed = [[action for action, _ in outcomes_of(x)] for x in h.node]
        else:
            actions_of(h.node[0])  # checks that actions are ordered
            listed = [x.actions() for x in h.node]
        counts = [len(actions) for actions in listed]
        numbers, known = [], self._numbers
        for row, actions in enumerate(listed):
            try:
                numbers += [known[action] for action in actions]
            except KeyError:
                numbers += self._number(actions)
            if not 0 < counts[row] == len(set(actions)):
                wanted = "at least one, without duplicates"
                raise HistoryError(must_be(name, wanted, list(actions)), h, row)
        return np.repeat(np.arange(h.size), counts), np.array(numbers, dtype=np.int64)

    def _number(self, actions: Sequence[Hashable]) -> list[int]:
        for action in actions:
            if self._numbers.setdefault(action, len(self.names)) == len(self.names):
                self.names.append(action)
        return [self._numbers[action] for action in actions]

    def chance(self, h: Batch, action: Indices) -> Vector:
        last, drawn, of = None, [], dict[Hashable, float]()
        for x, number in zip(h.node, action.tolist(), strict=True):
            if x is not last:  # the moves of a history are contiguous
                last, of = x, dict(x.chance_outcomes())
            drawn.append(of[self.names[number]])
        return np.array(drawn, dtype=np.float64)

    def child(self, h: Batch, action: Indices) -> Batch:
        names, pairs = self.names, zip(h.node, action.tolist(), strict=True)
        children = [x.child(names[number]) for x, number in pairs]
        kind = type(self.root)
        for row, (x, made) in enumerate(zip(h.node, children, strict=True)):
            if made is x or (type(made) is not kind and not isinstance(made, History)):
                raise TypeError(
                    must_be(f"child({quote(names[action[row]])})", "a new History", made)
                )
        return _of_objects(h.length + 1, children)

    def observed(self, h: Batch) -> tuple[Indices]:
        known = self._sets.setdefault(h.node[0].player(), {})
        return (np.array([known.setdefault(x.information_set(), len(known)) for x in h.node]),)

    def state(self, h: Batch) -> tuple[Indices]:
        known = self._states
        if not callable(self._key):
            raise TypeError(f"{quote(self.root)} has no method state(); pass a function as state")
        return (np.array([known.setdefault(self._key(x), len(known)) for x in h.node]),)

    def payoffs(self, h: Batch) -> Vector:
        paid = [x.payoffs() for x in h.node]
        try:
            payoffs: Vector = np.array(paid, dtype=np.float64)
        except (TypeError, ValueError):
            payoffs = np.zeros(0)
        if payoffs.ndim == 2 and payoffs.shape[1]:
            return payoffs
        row = next((row for row, each in enumerate(paid) if np.shape(each) != np.shape(paid[0])), 0)
        wanted = "one number for each player, everywhere"
        raise HistoryError(must_be("payoffs()", wanted, paid[row]), h, row)

    def action_name(self, player: int, action: int) -> str:
        return str(self.names[action])

    def label(self, player: int, *observed: int) -> str:
        known = self._sets[player]
        if len(self._listed.get(player, ())) < len(known):
            self._listed[player] = list(known)
        return str(self._listed[player][observed[0]])


def _of_objects(length: int, histories: Sequence[Any]) -> Batch:
    node = np.empty(len(histories), dtype=object)
    node[:] = histories
    return Batch(length, node=node, place=np.arange(len(histories)))
