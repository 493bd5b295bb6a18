"""Subgames with gadgets, and games with a depth limit: trees cut out of the tree of a game."""

import abc
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regretkit._util._arrays import depths, segment_sum
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import candidates, must_be, quote, whole_numbers
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._game import check_player, check_recall, tree_hint
from regretkit.games._profile import (
    BehavioralStrategyLike,
    Profile,
    ProfileLike,
    as_vector,
    as_vectors,
)
from regretkit.games.tree._build import numbered
from regretkit.games.tree._game_tree import GameTree
from regretkit.games.tree._history import CHANCE, TERMINAL, path_text
from regretkit.games.tree._sequences import last_sequences, levels, reach_of_chance
from regretkit.sets._labels import LazySequence

Columns: TypeAlias = dict[str, Any]
"""Histories of a new game, in any order, with a column for each attribute; see ``_rows``."""


def public_states(game: ExtensiveFormGame, histories: int | Iterable[int]) -> list[Indices]:
    """Divide histories into the smallest sets at which a ``Subgame`` can begin.

    A chain of information sets connects the continuations of the histories of a set. If all actions
    are public, these sets are the public states.

    Parameters
    ----------
    game
        A game in extensive form.
    histories
        Numbers of histories in ``game.tree``, or the length of all histories to divide. No history
        may follow another, and no information set may lead out of what follows them.

    Examples
    --------
    After player 0 bets in Kuhn poker, only player 1 acts, so it knows its card:

    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> passed, *bet = public_states(game, 3)
    >>> [[game.tree.history_path(history) for history in state] for state in bet[:1]]
    [[('J', 'Q', 'b'), ('K', 'Q', 'b')]]
    """
    _check(game)
    chosen = _histories(game, histories, "histories")
    among = _connected(game.tree, _root_of(game.tree, chosen, "histories"), range(game.players))
    return [chosen[among == number] for number in range(int(among.max()) + 1)]


class PartialGame(ExtensiveFormGame):
    """A game with some of the histories of another game, and a few added ones.

    The base class of ``Subgame`` and ``DepthLimitedGame``.
    """

    game: ExtensiveFormGame
    """The whole game."""
    player: int
    """The player to solve for."""
    information_sets: tuple[Indices, ...]
    """For each player, the number in ``game`` of each information set, -1 for added ones."""

    def restrict(self, profile: ProfileLike) -> Profile:
        """Return the profile of this game that plays like a profile of the whole game.

        At added information sets it takes the first action.
        """
        strategies, played = as_vectors(self.game, profile), list[Vector]()
        for i, (own, whole) in enumerate(zip(self.domains, self.game.domains, strict=True)):
            behavior, (here, there) = np.zeros(own.simplices.dimension), self._shared(i)
            behavior[own.simplices.first] = 1.0
            behavior[here] = whole.behavior(strategies[i])[there]
            played.append(own.sequence_form(behavior))
        return Profile(played, self.domains, self)

    def glue(self, blueprint: ProfileLike, solution: ProfileLike) -> Profile:
        """Return the blueprint with the strategy of ``player`` in a solution of this game.

        The opponent's strategy in a gadget is no strategy of the game, so it keeps the blueprint.
        """
        strategies: list[Vector] = list(as_vectors(self.game, blueprint))
        i, (here, there) = self.player, self._shared(self.player)
        behavior = self.game.domains[i].behavior(strategies[i]).copy()
        behavior[there] = self.domains[i].behavior(as_vectors(self, solution)[i])[here]
        strategies[i] = self.game.domains[i].sequence_form(behavior)
        return Profile(strategies, self.game.domains, self.game)

    def _shared(self, player: int) -> tuple[Indices, Indices]:
        """Return the actions of the shared information sets, here and in the whole game."""
        shared = np.flatnonzero(self.information_sets[player] >= 0)
        whole = self.game.domains[player].simplices
        there = whole.coordinates(self.information_sets[player][shared])
        return self.domains[player].simplices.coordinates(shared), there

    @abc.abstractmethod
    def _added(self, key: int) -> tuple[str, tuple[str, ...]]:
        """Return the label and the actions of an added information set or move of chance."""

    def _build(self, parts: Sequence[Columns], name: str) -> Indices:
        """Construct the game of these histories, and return the history of each of them."""
        rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        order = np.lexsort((rows["number"], rows["rank"], rows["length"]))
        history = np.argsort(order)
        rows = {name: column[order] for name, column in rows.items()}
        player, key, whole = rows["player"], rows["key"], self.game.tree
        information_set, names = np.full(order.size, -1), list[Indices]()
        for i in range(2):
            own = np.flatnonzero(player == i)
            information_set[own], new = numbered(key[own], np.zeros(0, dtype=np.int64))
            names.append(key[own][new])
        # A move of chance of the whole game by its number there, an added one by its key
        drawn = np.flatnonzero(player == CHANCE)
        chance = np.cumsum(whole.player == CHANCE)[rows["source"][drawn]] - 1
        chance = np.where(rows["source"][drawn] >= 0, chance, key[drawn])
        tree = GameTree(
            parent=np.append(-1, history[rows["parent"][1:]]),
            player=player,
            information_set=information_set,
            probability=rows["probability"],
            payoffs=np.stack([rows["first"], rows["second"]], axis=1)[player == TERMINAL],
            labels=[self._names(0, own, whole.labels[i]) for i, own in enumerate(names)],
            actions=[self._names(1, own, whole.actions[i]) for i, own in enumerate(names)],
            outcomes=self._names(1, chance, whole.outcomes),
        )
        self.information_sets = tuple(np.where(own >= 0, own, -1) for own in names)
        ExtensiveFormGame.__init__(self, tree, name=f"{self.game.name or 'game'}, {name}")
        return history

    def _names(self, kind: int, keys: Indices, known: Sequence[Any]) -> LazySequence[Any]:
        return LazySequence(keys.size, partial(self._name, kind, keys, known))

    def _name(self, kind: int, keys: Indices, known: Sequence[Any], number: int) -> Any:
        key = int(keys[number])
        return known[key] if key >= 0 else self._added(key)[kind]


class Subgame(PartialGame):
    """A subgame of a two-player constant-sum game, to solve it again for one player.

    No information set leads out of a subgame. Its *border sets* divide its first histories by what
    the opponent knows: two are in one set if a chain of the opponent's information sets in the
    subgame connects them.

    Let x be the player's strategy in the blueprint, w(h) the probability of the moves of chance and
    x before history h, and w(B) the sum of w over border set B. The opponent's counterfactual
    best-response value is

        v(B)  =  max over y of  sum over terminals z after B of  w(z) y(z | B) payoff(z)  /  w(B)

    ============== =================================================================================
    gadget         before the subgame
    ============== =================================================================================
    ``resolve``    Chance draws a first history h with probability proportional to w(h). The
                   opponent, who knows B, follows, or terminates the game and earns v(B).
    ``max-margin`` The opponent chooses B and pays v(B). Chance draws h in B in proportion to w(h).
    ``reach``      As ``max-margin``, but the opponent pays v(B) and its *gifts* before B.
    ``unsafe``     Chance draws h with the probability in the blueprint.
    ============== =================================================================================

    The gift of the opponent's action a at information set I is v(I) - v(I, a), with v as above.

    Let e be the gap of a solution. After ``glue``, a best response to the player's strategy earns
    at most W e more than before: W is ``reach`` for ``resolve``, and 1 for ``max-margin`` and
    ``reach``. ``unsafe`` has no bound. For several subgames of one blueprint the bounds add up.
    This holds for gifts measured in the blueprint, the largest ones for which it does.

    The game omits border sets with w(B) = 0, where ``glue`` keeps the blueprint.

    Parameters
    ----------
    game
        A two-player game of constant sum. For public games there is ``PublicSubgame``.
    root
        The first histories, as numbers in ``game.tree``: one of ``public_states``, or a union. Or
        the number or the ``history_path`` of one history, for its public state.
    blueprint
        A profile of the game.
    player
        The player.
    gadget
        ``"resolve"``, ``"max-margin"``, ``"reach"`` or ``"unsafe"``.

    Examples
    --------
    Leduc poker after two checks and the queen of spades:

    >>> from regretkit import solve
    >>> from regretkit.evaluation import best_response
    >>> from regretkit.games import leduc_poker
    >>> game = leduc_poker()
    >>> blueprint = solve(game, "cfr+", iterations=30).average
    >>> subgame = Subgame(game, ("Jh", "Ks", "c", "c", "Qs"), blueprint, player=0)
    >>> subgame
    <leduc_poker, resolve: 15 + 20 information sets>
    >>> better = subgame.glue(blueprint, solve(subgame, exact=True).profile)
    >>> bool(best_response(game, 1, better)[0] <= best_response(game, 1, blueprint)[0] + 1e-9)
    True

    References
    ----------
    Burch, Johanson and Bowling (2014), "Solving imperfect information games using decomposition",
    AAAI. Moravcik, Schmid, Ha, Hladik and Gaukrodger (2016), "Refining subgames in large imperfect
    information games", AAAI. Brown and Sandholm (2017), "Safe and nested subgame solving for
    imperfect-information games", NIPS.
    """

    gadget: str
    roots: Indices
    """The first histories, as numbers in ``game.tree``, sorted by border set."""
    border: Indices
    """The number of the border set of each of ``roots``."""
    values: Vector
    """What the opponent earns by terminating, or pays, at each border set, in units of payoff."""
    reach: float
    """The sum of w over the roots; with ``unsafe`` the probability of reaching the subgame."""
    _root_of: Indices
    _last: Indices
    _chance: Vector

    def __init__(
        self,
        game: ExtensiveFormGame,
        root: int | Sequence[str] | Iterable[int],
        blueprint: ProfileLike,
        *,
        player: int,
        gadget: str = "resolve",
    ) -> None:
        _check(game, player)
        check_gadget(game, gadget, ("resolve", "max-margin", "reach", "unsafe"))
        self.game, self.player, self.gadget = game, player, gadget
        tree, strategies = game.tree, as_vectors(game, blueprint)
        self._last, self._chance = last_sequences(tree), reach_of_chance(tree)
        weight = self._weights(strategies)
        if gadget == "unsafe":
            weight *= strategies[1 - player][self._last[1 - player]]
        roots = _root(game, root)
        border = _connected(tree, _root_of(tree, roots, "root"), [1 - player])
        reached = (np.bincount(border, weight[roots]) > 0.0)[border]
        if not reached.any():
            raise ValueError("the blueprint never reaches root")
        roots, (border, _) = roots[reached], numbered(border[reached], np.zeros(0, np.int64))
        order = np.argsort(border, kind="stable")
        self.roots, self.border = roots[order], border[order]
        self._root_of = _root_of(tree, self.roots, "root", closed=False)
        self.reach = float(weight[self.roots].sum())
        self.values = self._best_values(strategies, gifts=gadget == "reach")
        rows, length, parent, probability = self._gadget(weight[self.roots])
        inside = np.flatnonzero(self._root_of >= 0)
        of, lengths = self._root_of[inside], depths(tree.parent)
        part = _copied(game, inside, sum(each["length"].size for each in rows))
        part["length"] = lengths[inside] - lengths[self.roots[of]] + length
        part["rank"], first = of, np.searchsorted(inside, self.roots)
        part["parent"][first], part["probability"][first] = parent, probability
        if gadget in ("max-margin", "reach"):
            price = np.where(part["player"] == TERMINAL, self.values[self.border[of]], 0.0)
            for i, name in enumerate(("first", "second")):
                part[name] += price if i == player else -price
        self._build([*rows, part], gadget)

    def _gadget(self, weight: Vector) -> tuple[list[Columns], int, Indices, Vector]:
        """Return the added histories, and the roots' length, parents and probabilities there."""
        opponent, sets, each = 1 - self.player, np.arange(self.values.size), np.arange(weight.size)
        if self.gadget in ("max-margin", "reach"):
            start = _rows(1, player=opponent, key=-2)
            order = {"parent": 0, "length": 1, "rank": np.searchsorted(self.border, sets)}
            chance = _rows(sets.size, player=CHANCE, key=-3 - sets, **order)
            share = weight / np.bincount(self.border, weight)[self.border]
            return [start, chance], 2, 1 + self.border, share
        start, share = _rows(1, player=CHANCE, key=-2), weight / weight.sum()
        if self.gadget == "unsafe":
            return [start], 1, np.zeros_like(each), share
        order = {"parent": 0, "length": 1, "rank": each, "probability": share}
        choice = _rows(each.size, player=opponent, key=-3 - self.border, **order)
        # ``number`` sorts it after the root, the other child.
        order = {"parent": 1 + each, "length": 2, "rank": each, "number": self.game.tree.histories}
        earned = self.values[self.border]
        paid = earned, (self.game.constant_sum or 0.0) - earned
        end = _rows(each.size, first=paid[opponent], second=paid[self.player], **order)
        return [start, choice, end], 2, 1 + each, np.ones(each.size)

    def _added(self, key: int) -> tuple[str, tuple[str, ...]]:
        tree, opponent, number = self.game.tree, 1 - self.player, -3 - key
        chosen = self.gadget in ("max-margin", "reach")
        if chosen == (number >= 0):  # a move of chance
            roots = self.roots[self.border == number] if chosen else self.roots
            return "", tuple(" ".join(tree.history_path(root)) for root in roots.tolist())
        # A border set has the name of the opponent's first information set in it, if any.
        own = np.flatnonzero((tree.player == opponent) & (self._root_of >= 0))[::-1]
        found = np.full(self.values.size, -1)
        found[self.border[self._root_of[own]]] = tree.information_set[own]
        names = [f"{i} {tree.labels[opponent][j] if j >= 0 else ''}" for i, j in enumerate(found)]
        if chosen:
            return "border", tuple(names)
        return f"border {names[number]}", ("follow", "terminate")

    def margins(self, profile: ProfileLike) -> Vector:
        """Return ``values`` minus those against a new strategy, in a profile of the whole game.

        An exact solution of a safe gadget has margins of at least 0. ``max-margin`` maximizes the
        smallest margin, ``reach`` the smallest one with gifts.
        """
        margins: Vector = self.values - self._best_values(as_vectors(self.game, profile))
        return margins

    def _weights(self, strategies: Sequence[Vector]) -> Vector:
        """Return w of each history of the whole game."""
        weights: Vector = self._chance * strategies[self.player][self._last[self.player]]
        return weights

    def _best_values(self, strategies: Sequence[Vector], *, gifts: bool = False) -> Vector:
        """Return v of each border set against a strategy of the player, with gifts or without."""
        tree, opponent, inside = self.game.tree, 1 - self.player, self._root_of >= 0
        domain, count = self.game.domains[opponent], int(self.border[-1]) + 1
        weight, last = self._weights(strategies), self._last[opponent]
        # The opponent's first information sets in the subgame
        own = np.flatnonzero(inside & (tree.player == opponent))
        at = np.full(domain.points + 1, -1)
        at[tree.information_set[own]] = self.border[self._root_of[own]]
        first = np.flatnonzero(at[:-1] >= 0)
        first = first[at[domain.point_of_sequence[domain.parent_sequence[first]]] < 0]
        best = domain.best_values(self.game.utility(opponent, strategies))[1:]
        highest = domain.simplices.max(best)
        total = segment_sum(at[first], highest[first], count)
        # Terminals before any of them
        end = np.flatnonzero(inside[tree.terminals])
        history = tree.terminals[end]
        root = self._root_of[history]
        early = last[history] == last[self.roots[root]]
        paid = weight[history] * tree.payoffs[end, opponent] * early
        total += segment_sum(self.border[root], paid, count)
        values: Vector = total / segment_sum(self.border, weight[self.roots], count)
        if not gifts:
            return values
        own, repeat = np.flatnonzero(tree.player == opponent), domain.simplices.repeat
        of_set = segment_sum(tree.information_set[own], weight[own], domain.points)
        before, weights = np.zeros(domain.dimension), repeat(of_set)
        np.divide(repeat(highest) - best, weights, out=before[1:], where=weights > 0.0)
        for level in domain.levels:
            before[level.sequences] += level.inflow(before)
        values += before[last[self.roots[np.searchsorted(self.border, np.arange(count))]]]
        return values


class DepthLimitedGame(PartialGame):
    """A two-player game up to some histories, the *leaves*, where the opponent chooses a strategy.

    After a leaf, the player keeps to the blueprint x. The opponent chooses a strategy y_k, the
    blueprint's or one of ``continuations``. Leaf h pays

        u(h, k)  =  sum over terminals z after h of  c(z | h) x(z | h) y_k(z | h) payoffs(z)

    The opponent distinguishes leaves as it does border sets of a ``Subgame``. With all its pure
    strategies as continuations, equilibria are optimal among the player's strategies with the
    blueprint after leaves.

    A subgame with a depth limit is ``Subgame(limited, root, limited.restrict(blueprint), ...)``.
    ``play.LeafValues`` computes the payoffs of leaves from beliefs instead.

    Parameters
    ----------
    game
        A two-player game.
    leaves
        Histories, as in ``public_states``: their numbers, or their length.
    blueprint
        A profile of the game.
    player
        The player.
    continuations
        Strategies of the opponent: vectors, functions or mappings.

    Examples
    --------
    Kuhn poker in which player 0 always folds to a bet:

    >>> from regretkit import solve
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> blueprint = Profile.uniform(game).replace({card + "pb": [1, 0] for card in "JQK"})
    >>> limited = DepthLimitedGame(game, 4, blueprint, player=1)
    >>> limited.glue(blueprint, solve(limited, exact=True).profile)["Jp"]
    array([0., 1.])

    References
    ----------
    Brown, Sandholm and Amos (2018), "Depth-limited solving for imperfect-information games",
    NeurIPS.
    """

    leaves: Indices
    """The leaves that are no terminals, as histories of the whole game, shape ``(leaves,)``."""
    ends: Indices
    """The terminals of this game after each leaf, one for each strategy, ``(leaves, K)``."""
    _border: Indices

    def __init__(
        self,
        game: ExtensiveFormGame,
        leaves: int | Iterable[int],
        blueprint: ProfileLike,
        *,
        player: int,
        continuations: Sequence[Vector | BehavioralStrategyLike] = (),
    ) -> None:
        _check(game, player)
        self.game, self.player = game, player
        tree, opponent, strategies = game.tree, 1 - player, list(as_vectors(game, blueprint))
        leaf = _histories(game, leaves, "leaves")
        self.leaves = leaf = leaf[tree.player[leaf] != TERMINAL]
        leaf_of = _root_of(tree, leaf, "leaves")
        self._border = _connected(tree, leaf_of, [opponent])
        paid = [_expected_payoffs(game, strategies)[leaf]]
        for continuation in continuations:
            strategies[opponent] = as_vector(continuation, game.domains[opponent], opponent)
            paid.append(_expected_payoffs(game, as_vectors(game, strategies))[leaf])
        kept = np.sort(np.append(np.flatnonzero(leaf_of < 0), leaf))
        rows, place = _copied(game, kept, 0), np.searchsorted(kept, leaf)
        rows["length"] = depths(tree.parent)[kept]
        rows["player"][place], rows["key"][place] = opponent, -2 - self._border
        # ``number`` puts the choices where the leaf's children were.
        order = {"length": rows["length"][place] + 1, "number": np.searchsorted(tree.parent, leaf)}
        choices = [
            _rows(leaf.size, parent=place, first=first, second=second, **order)
            for first, second in (payoffs.T for payoffs in paid)
        ]
        history = self._build([rows, *choices], "depth-limited")
        self.ends = history[kept.size :].reshape(len(paid), leaf.size).T

    def _added(self, key: int) -> tuple[str, tuple[str, ...]]:
        leaf = int(self.leaves[np.argmax(self._border == -2 - key)])
        names = (f"continuation {k}" for k in range(1, self.ends.shape[1]))
        return f"leaf {' '.join(self.game.tree.history_path(leaf))}", ("blueprint", *names)


def _rows(count: int, **columns: Any) -> Columns:
    """Return columns of histories, terminals by default.

    ``parent`` numbers the rows of all parts of a game. ``length``, ``rank`` and ``number`` sort
    them breadth-first. ``key`` is the information set, below -1 for an added one or for an added
    move of chance. ``source`` is the history of the whole game, or -1. ``first`` and ``second`` are
    payoffs.
    """
    default = dict.fromkeys(("length", "rank", "number", "first", "second"), 0.0)
    default |= {"parent": -1, "player": TERMINAL, "key": -1, "source": -1, "probability": 1.0}
    filled = {**default, **columns}
    return {name: np.array(np.broadcast_to(value, count)) for name, value in filled.items()}


def _copied(game: ExtensiveFormGame, histories: Indices, begin: int) -> Columns:
    """Return columns of histories of a game, which are rows from ``begin`` of a new one."""
    tree, paid = game.tree, np.zeros((2, histories.size))
    ends = tree.player[histories] == TERMINAL
    paid[:, ends] = tree.payoffs[np.searchsorted(tree.terminals, histories[ends])].T
    parent = begin + np.searchsorted(histories, tree.parent[histories])
    return _rows(
        histories.size,
        number=histories,
        source=histories,
        parent=np.where(tree.parent[histories] < 0, -1, parent),
        player=tree.player[histories],
        key=tree.information_set[histories],
        probability=tree.probability[histories],
        first=paid[0],
        second=paid[1],
    )


def _expected_payoffs(game: ExtensiveFormGame, strategies: Sequence[Vector]) -> NDArray[np.float64]:
    """Return the expected payoffs of a profile after each history, ``(histories, players)``."""
    tree, last = game.tree, last_sequences(game.tree)
    values, played = np.zeros((tree.histories, game.players)), tree.probability.copy()
    for i, (domain, strategy) in enumerate(zip(game.domains, strategies, strict=True)):
        moved = 1 + np.flatnonzero(tree.player[tree.parent[1:]] == i)
        played[moved] = domain.behavior(strategy)[last[i][moved] - 1]
    values[tree.terminals] = tree.payoffs
    for level in reversed([*levels(tree)]):
        np.add.at(values, tree.parent[level], played[level, np.newaxis] * values[level])
    return values


def _root_of(tree: GameTree, roots: Indices, name: str, *, closed: bool = True) -> Indices:
    """Return the number of each history's root, which may be itself, and -1 without one.

    Raise a ValueError if a root follows another, or an information set leads out of their subgame.
    """
    root_of = np.full(tree.histories, -1)
    root_of[roots] = np.arange(roots.size)
    for level in levels(tree):
        above, here = root_of[tree.parent[level]], root_of[level]
        if ((above >= 0) & (here >= 0)).any():
            later = level.start + int(np.argmax((above >= 0) & (here >= 0)))
            raise ValueError(f"{name} has {_path(tree, later)} and a history before it")
        here[above >= 0] = above[above >= 0]
    for player, sizes in enumerate(tree.sizes) if closed else ():
        own = np.flatnonzero(tree.player == player)
        sets, inside = tree.information_set[own], root_of[own] >= 0
        part = np.bincount(sets, inside, sizes.size)
        cut = (part > 0) & (part < np.bincount(sets, minlength=sizes.size))
        if cut.any():
            members = sets == np.argmax(cut)
            one, other = (int(own[members & (inside == within)][0]) for within in (True, False))
            raise ValueError(
                f"{name} must contain whole information sets, but that of player {player} with "
                f"label {quote(tree.labels[player][int(np.argmax(cut))])} leads out: "
                f"{_path(tree, one)} is in it, {_path(tree, other)} is not"
            )
    return root_of


def _connected(tree: GameTree, root_of: Indices, players: Iterable[int]) -> Indices:
    """Return a number for each root; those connected by information sets have the same."""
    from scipy.sparse import coo_array  # not at the top: they take time to load
    from scipy.sparse.csgraph import connected_components

    size = int(root_of.max()) + 1
    first, roots, sets = size, list[Indices](), list[Indices]()
    for player in players:
        own = np.flatnonzero((tree.player == player) & (root_of >= 0))
        roots.append(root_of[own])
        sets.append(first + tree.information_set[own])
        first += tree.sizes[player].size
    one, other = np.concatenate(roots), np.concatenate(sets)
    graph = coo_array((np.ones(one.size), (one, other)), shape=(first, first))
    _, component = connected_components(graph, directed=False)
    return numbered(component[:size].astype(np.int64), np.zeros(0, dtype=np.int64))[0]


def _histories(game: ExtensiveFormGame, chosen: Any, name: str) -> Indices:
    """Return histories given by their numbers, or by their length, sorted."""
    tree, numbers = game.tree, whole_numbers(chosen, name)
    found = np.unique(numbers)
    if np.ndim(chosen) == 0:
        found = np.flatnonzero(depths(tree.parent) == numbers[0])
    if not found.size or found[0] < 0 or found[-1] >= tree.histories:
        wanted = f"a length of histories, or numbers of histories from 0 to {tree.histories - 1}"
        raise ValueError(must_be(name, wanted, chosen))
    return found


def _root(game: ExtensiveFormGame, root: Any) -> Indices:
    """Return the first histories of a subgame."""
    if isinstance(root, tuple) and all(isinstance(name, str) for name in root):
        near = _histories(game, len(root), "root")
        known = [h for h in near.tolist() if game.tree.history_path(h) == root]
        if not known:
            raise ValueError(must_be("root", "an existing history", root))
        root = known[0]
    if np.ndim(root) > 0:
        return _histories(game, root, "root")
    history = int(_histories(game, [root], "root")[0])
    states = public_states(game, int(depths(game.tree.parent)[history]))
    return next(state for state in states if history in state)


def _path(tree: GameTree, history: int) -> str:
    return path_text(tree.history_path(history))


def _check(game: Any, player: int | None = None) -> None:
    """Raise an error unless a game has a tree of perfect recall, and two players."""
    check_recall(game)
    if not isinstance(game, ExtensiveFormGame):
        raise TypeError(must_be("game", "an ExtensiveFormGame", game) + tree_hint(game))
    if player is not None and game.players != 2:
        raise ValueError(f"game must have two players, got {game.players}")
    check_player(player or 0, 2)


def check_gadget(game: Any, gadget: str, known: Sequence[str]) -> None:
    """Raise a ValueError unless a game supports subgames, and a gadget is a known one."""
    if game.constant_sum is None:
        raise ValueError(f"game must have a constant sum of payoffs, got {quote(game)}")
    if gadget not in known:
        raise ValueError(f"gadget must be one of {candidates(known)}, got {quote(gadget)}")
