"""Public trees: decisions, public moves of chance, and terminals."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
from attrs import Factory, define, field, frozen
from numpy.typing import ArrayLike, NDArray

from regretkit._util._arrays import read_only
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import (
    did_you_mean,
    floats,
    must_be,
    number,
    quote,
)
from regretkit.games._game import check_payoffs, check_player
from regretkit.games.tree._history import CHANCE, TERMINAL

Payoff: TypeAlias = float | Sequence[float]
"""A payoff of each player, or one number that player 1 pays to player 0."""
Child = TypeVar("Child")
Node: TypeAlias = "Decision | Chance | Free | Compare | Table"
Path: TypeAlias = str | Sequence[str]
"""The actions from the root to a node, as ``("check", "bet 500")`` or ``"/check/bet 500"``."""


def _pair(value: Payoff) -> tuple[float, float]:
    pair = floats(value, "a payoff")
    if pair.shape not in ((), (2,)):
        raise ValueError(must_be("a payoff", "one number, or one for each player", value))
    check_payoffs(pair.reshape(-1), str)
    first, second = (pair, -pair) if pair.ndim == 0 else pair
    return float(first), float(second)


@frozen
class Free:
    """A terminal with the same payoffs for all types, such as a fold.

    Parameters
    ----------
    payoff
        Player 1's payment to player 0, or one payoff for each player.

    Examples
    --------
    >>> Free(1), Free((1, 0.5))
    (Free((1.0, -1.0)), Free((1.0, 0.5)))
    """

    payoff: tuple[float, float] = field(converter=_pair)

    def __repr__(self) -> str:
        return f"Free({self.payoff})"


def _mean(terminal: "Compare") -> tuple[float, float]:
    (first, second), (third, fourth) = terminal.win, terminal.lose
    return (first + third) / 2, (second + fourth) / 2


@frozen
class Compare:
    """A terminal at which the stronger type wins, such as a showdown.

    Parameters
    ----------
    win, lose
        The payoff if player 0's type is stronger, and if it is weaker: player 1's payment to player
        0, or one payoff for each player.
    tie
        The payoff if both types are equally strong, by default the mean of ``win`` and ``lose``.
    order
        Name of the ``Deal``'s strengths to compare.

    Examples
    --------
    >>> Compare(2, -2).tie
    (0.0, 0.0)
    >>> Compare((95, -100), (-100, 95)).tie  # the winner of 200 pays a rake of 5
    (-2.5, -2.5)
    """

    win: tuple[float, float] = field(converter=_pair)
    lose: tuple[float, float] = field(converter=_pair)
    tie: tuple[float, float] = field(converter=_pair, default=Factory(_mean, takes_self=True))
    order: str = ""


def _table(value: ArrayLike) -> NDArray[np.float64]:
    table = floats(value, "payoffs")
    table = np.stack([table, -table]) if table.ndim == 2 else table.copy()
    if table.ndim != 3 or len(table) != 2:
        raise ValueError(
            "payoffs must have shape (types of player 0, types of player 1), or (2, types of "
            f"player 0, types of player 1) for both players, got {np.shape(value)}"
        )
    check_payoffs(table, str)
    return read_only(table)


@frozen(eq=False)
class Table:
    """A terminal with a payoff for each pair of types.

    Parameters
    ----------
    payoffs
        Player 1's payments to player 0, shape ``(types of player 0, types of player 1)``, or the
        payoffs of each player, ``(2, types of player 0, types of player 1)``. Entries of
        incompatible types have no effect.

    Examples
    --------
    >>> Table([[1, 0], [0, 1]]).payoffs[1]
    array([[-1., -0.],
           [-0., -1.]])
    """

    payoffs: NDArray[np.float64] = field(converter=_table)


def _children(children: Mapping[str, "Node"]) -> dict[str, "Node"]:
    return {name: _node(child) for name, child in _named(children).items()}


def _node(node: "Node") -> "Node":
    if not isinstance(node, Decision | Chance | Free | Compare | Table):
        raise TypeError(must_be("a node", "a Decision, a Chance or a terminal", node))
    return node


def _named(children: Mapping[str, Child]) -> dict[str, Child]:
    """Return the children of a node by name."""
    children = dict(children)
    if not children or any(not isinstance(name, str) or "/" in name for name in children):
        wanted = "at least one, named by strings without a slash"
        raise ValueError(must_be("actions and outcomes", wanted, [*children]))
    return children


def _player(_: object, __: object, player: int) -> None:
    check_player(player, 2)


@frozen(eq=False)
class Decision:
    """A public decision of a player.

    Parameters
    ----------
    player
        The acting player, 0 or 1.
    children
        For each action the next node: a ``Decision``, a ``Chance``, or a terminal.

    Examples
    --------
    >>> Decision(1, {"fold": Free(1), "call": Compare(2, -2)}).children["fold"]
    Free((1.0, -1.0))
    """

    player: int = field(validator=_player)
    children: Mapping[str, Node] = field(converter=_children)


def _both_factors(value: Sequence[ArrayLike | None]) -> tuple[Vector | None, Vector | None]:
    first, second = (None if factors is None else floats(factors, "factors") for factors in value)
    for factors in (first, second):
        if factors is not None and not (factors >= 0).all() * np.isfinite(factors).all():
            raise ValueError(must_be("factors", "finite numbers, at least 0, one a type", factors))
    return first, second


def _probability(value: float) -> float:
    return number(value, "probability", minimum=0)


def _images(value: Mapping[str, int]) -> dict[str, int]:
    return dict(value)


def _kept(value: Iterable[int] | None) -> tuple[int, ...] | None:
    return None if value is None else tuple(value)


@frozen(eq=False)
class Outcome:
    """An outcome of a public move of chance: its probability, and the next node.

    Given the types i and j of the players, its probability is

        probability * factors[0][i] * factors[1][j]

    A public card has factor 0 for types that hold it, and 1 for others.

    Parameters
    ----------
    node
        The next node: a ``Decision``, a ``Chance``, or a terminal.
    probability
        The part of the probability that does not depend on types, at least 0.
    factors
        For each player, a factor at least 0 for each type, or None for ones.
    images
        Names of further outcomes, each with the number of a symmetry of the ``Deal`` that maps this
        outcome to it. An image has the same probability, and permuted factors and subtree.
    symmetries
        The numbers of the symmetries that preserve the outcome and its subtree. They must be a
        group. By default, all symmetries that preserve the factors.

    Examples
    --------
    Player 0's second type holds the public card; no type of player 1 does:

    >>> Outcome(Compare(1, -1), probability=0.25, factors=([1, 0], None)).factors
    (array([1., 0.]), None)
    """

    node: Node = field(converter=_node)
    probability: float = field(default=1.0, converter=_probability)
    factors: tuple[Vector | None, Vector | None] = field(
        converter=_both_factors, default=(None, None)
    )
    images: Mapping[str, int] = field(factory=dict, converter=_images)
    symmetries: tuple[int, ...] | None = field(default=None, converter=_kept)


def _outcomes(outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
    outcomes = _named(outcomes)
    images = [name for outcome in outcomes.values() for name in outcome.images]
    if images and len(_named(dict.fromkeys([*outcomes, *images]))) < len(outcomes) + len(images):
        wanted = "of different names, with their images"
        raise ValueError(must_be("outcomes", wanted, [*outcomes, *images]))
    return outcomes


@frozen(eq=False)
class Chance:
    """A public move of chance.

    Parameters
    ----------
    outcomes
        The outcomes by name. Their probabilities must sum to 1 for all compatible types.

    Examples
    --------
    >>> coin = Chance({"heads": Outcome(Free(1), 0.5), "tails": Outcome(Free(-1), 0.5)})
    >>> coin.outcomes["tails"].node
    Free((-1.0, 1.0))
    """

    outcomes: Mapping[str, Outcome] = field(converter=_outcomes)


@define(eq=False, repr=False, init=False)
class PublicTree:
    """The public actions and moves of chance of a game, as flat arrays in depth-first order.

    Node 0 is the root. Children of a node are numbered in the order of its actions.

    Parameters
    ----------
    root
        A ``Decision`` or a ``Chance``, with all its descendants.

    Examples
    --------
    >>> answer = Decision(1, {"fold": Free(1), "call": Compare(2, -2)})
    >>> tree = PublicTree(Decision(0, {"check": Compare(1, -1), "bet": answer}))
    >>> tree
    <PublicTree: 1 + 1 decisions, 3 terminals>
    >>> tree.names[tree.find("/bet")]
    ('fold', 'call')
    """

    player: Indices
    """The acting player of each node, ``CHANCE`` or ``TERMINAL``, shape ``(nodes,)``."""
    parent: Indices
    """The parent of each node, -1 at the root, shape ``(nodes,)``."""
    action: Indices
    """Index, at the parent, of the action that leads to each node, -1 at the root."""
    names: tuple[tuple[str, ...], ...]
    """The actions of each node."""
    nodes: tuple[Node, ...]
    """The nodes, with the payoffs of terminals."""
    outcome: tuple[Outcome | None, ...]
    """The outcome of chance that leads to each node, None after decisions."""
    unlocked: "PublicTree | None"
    """The tree before ``PublicGame.lock``, with the same numbers of nodes, or None."""

    def __init__(self, root: Decision | Chance) -> None:
        if not isinstance(root, Decision | Chance):
            raise TypeError(must_be("root", "a Decision or a Chance", root))
        nodes: list[Node] = []
        parent, action, outcome = [], [], []
        names: list[tuple[str, ...]] = []
        # A stack instead of recursion, since trees may be deep
        waiting: list[tuple[Node | Outcome, int, int]] = [(root, -1, -1)]
        while waiting:
            entry, source, number = waiting.pop()
            node = entry.node if isinstance(entry, Outcome) else entry
            outcome.append(entry if isinstance(entry, Outcome) else None)
            parent.append(source)
            action.append(number)
            following = children_of(node)
            names.append(tuple(following))
            index = len(nodes)
            nodes.append(node)
            numbered = [(child, index, i) for i, child in enumerate(following.values())]
            waiting += reversed(numbered)
        self.nodes, self.names, self.outcome = tuple(nodes), tuple(names), tuple(outcome)
        self.parent, self.action = read_only(np.array(parent)), read_only(np.array(action))
        self.player = read_only(np.array([_mover(node) for node in nodes]))
        self.unlocked = None

    @property
    def terminals(self) -> Indices:
        """The terminal nodes, in order."""
        return np.flatnonzero(self.player == TERMINAL)

    def path(self, node: int) -> tuple[str, ...]:
        """Return the names of the actions that lead to a node."""
        path = []
        while node:
            path.append(self.names[self.parent[node]][self.action[node]])
            node = int(self.parent[node])
        return tuple(reversed(path))

    def place(self, node: int) -> str:
        """Return the path to a node, for error messages."""
        return quote("/" + "/".join(self.path(node)))

    def find(self, path: Path) -> int:
        """Return the node after these actions: ``"/check/bet 500"`` or ``("check", "bet 500")``.

        An image of an outcome leads to the node of the outcome itself.
        """
        return self.find_image(path)[0]

    def find_image(self, path: Path) -> tuple[int, tuple[int, ...]]:
        """Return ``find(path)``, and the symmetries of the images on the path."""
        node, symmetries = 0, list[int]()
        for name in actions_of(path):
            known = self.nodes[node]
            for outcome in known.outcomes.values() if isinstance(known, Chance) else ():
                symmetries += [outcome.images[name]] if name in outcome.images else []
            node = self.child(node, name)
        return node, tuple(symmetries)

    def child(self, node: int, action: str) -> int:
        """Return the child after an action, an outcome, or an image of an outcome."""
        names = self.names[node]
        if isinstance(known := self.nodes[node], Chance):
            items = known.outcomes.items()
            action = next((name for name, outcome in items if action in outcome.images), action)
        if action not in names:
            raise ValueError(
                f"{quote(action)} is no action at {self.place(node)}; the actions are "
                f"{quote(names)}{did_you_mean(str(action), names)}"
            )
        return int(np.flatnonzero(self.parent == node)[names.index(action)])

    def __repr__(self) -> str:
        decisions = " + ".join(str(np.count_nonzero(self.player == i)) for i in (0, 1))
        return f"<PublicTree: {decisions} decisions, {self.terminals.size} terminals>"


def actions_of(path: Path) -> tuple[str, ...]:
    """Return the actions of a path."""
    return tuple(filter(None, path.split("/"))) if isinstance(path, str) else tuple(path)


def children_of(node: Node) -> "Mapping[str, Node | Outcome]":
    """Return the children of a node."""
    if isinstance(node, Decision):
        return node.children
    return node.outcomes if isinstance(node, Chance) else {}


def _mover(node: Node) -> int:
    if isinstance(node, Decision):
        return node.player
    return CHANCE if isinstance(node, Chance) else TERMINAL
