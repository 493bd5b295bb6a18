"""Game trees from OpenSpiel."""

from functools import partial
from numbers import Real
from typing import Any, final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from regretkit._util._arrays import depths
from regretkit._util._lazy_import import optional
from regretkit._util._typing import Indices
from regretkit._util._validate import quote
from regretkit.games._extensive_form import ExtensiveFormGame, refined_information_sets
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games._payoff_rows import offsets
from regretkit.games.openspiel._states import OpenSpielGame, State, States
from regretkit.games.tree._game_tree import GameTree, compact
from regretkit.games.tree._history import CHANCE, TERMINAL
from regretkit.sets._labels import LazySequence

_HISTORIES = 10_000_000


def from_openspiel(
    game: str | OpenSpielGame,
    *,
    remember: bool = False,
    max_histories: float = _HISTORIES,
    memory_limit: float | None = None,
) -> ExtensiveFormGame:
    """Return a game of OpenSpiel.

    Any number of players, with chance or without. Simultaneous moves become sequential moves that
    the other players observe only after all have moved, as in OpenSpiel's
    ``convert_to_turn_based``. Payoffs are OpenSpiel's returns, the sums of all rewards. Players,
    the order of actions, and the names of actions and outcomes are OpenSpiel's; the label of an
    information set is its information state string, or the history in a game of perfect
    information that has no such strings.

    Parameters
    ----------
    game
        The game, or a name that ``pyspiel.load_game`` knows, with arguments or without.
    remember
        Whether to refine information sets to perfect recall, where information state strings do
        not tell players what they did and observed before. Labels are then not unique.
    max_histories
        Largest number of histories to visit, each of which takes some microseconds.
    memory_limit
        Bytes that building may take, by default all that are available.

    Raises
    ------
    TypeError
        When ``game`` is neither a game of OpenSpiel nor a name, or a limit is no number.
    ValueError
        When OpenSpiel has no such game; when the game is too large, does not list the outcomes of
        chance, or has no information states; when actions differ within an information set; or
        when recall is imperfect, with two histories that show it.
    MemoryError
        When the tree does not fit into memory.

    Examples
    --------
    >>> game = from_openspiel("kuhn_poker(players=3)")
    >>> game
    <kuhn_poker(players=3): 16 + 16 + 16 information sets>
    >>> game.tree.labels[1][0], game.tree.actions[1][0]
    ('1p', ('Pass', 'Bet'))
    >>> from_openspiel("goofspiel(num_cards=3,imp_info=True)").tree.players
    2

    References
    ----------
    Lanctot et al. (2019), "OpenSpiel: A Framework for Reinforcement Learning in Games",
    arXiv:1908.09453.
    """
    if isinstance(max_histories, bool) or not isinstance(max_histories, Real):
        raise TypeError(f"max_histories must be a number, got {quote(max_histories)}")
    if not max_histories >= 1:
        raise ValueError(f"max_histories must be at least 1, got {quote(max_histories)}")
    name, tree = tree_from_openspiel(
        game, MemoryBudget(memory_limit), max_histories, remember=remember
    )
    try:
        return ExtensiveFormGame(tree, name=name)
    except ValueError as error:
        if remember:
            raise
        raise ValueError(f"{error}, as from_openspiel(..., remember=True) does") from error


def tree_from_openspiel(
    game: str | OpenSpielGame,
    budget: MemoryBudget | None = None,
    max_histories: float = _HISTORIES,
    *,
    remember: bool = False,
) -> tuple[str, GameTree]:
    """Return the name and the tree of a game of OpenSpiel, of perfect or imperfect recall."""
    loaded, turns, by_string = as_turn_based(game)
    states = States(turns, budget or MemoryBudget(), max_histories, by_string=by_string)
    tree = _tree_of(turns, states, remember=remember)
    return game if isinstance(game, str) else str(loaded), tree


def as_turn_based(game: object) -> tuple[Any, Any, bool]:
    """Return a game of OpenSpiel, its turn-based form, and whether that has information states."""
    pyspiel: Any = optional("pyspiel", "openspiel")
    loaded: Any = _loaded(pyspiel, game)
    kind = loaded.get_type()
    _check_kind(pyspiel, loaded, kind)
    simultaneous = kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
    turns = pyspiel.convert_to_turn_based(loaded) if simultaneous else loaded
    by_string = has_strings(pyspiel, turns)
    perfect = kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
    if not by_string and (simultaneous or not perfect):
        raise ValueError(
            f"OpenSpiel's {kind.short_name} has no information state strings, which define its "
            "information sets; choose a game that has them"
        )
    return loaded, turns, by_string


def _loaded(pyspiel: Any, game: object) -> object:
    if isinstance(game, pyspiel.Game):
        return game
    if not isinstance(game, str):
        raise TypeError(
            f"game must be a game of OpenSpiel or the name of one, got {quote(game)}; "
            "pass 'leduc_poker' or what pyspiel.load_game returns"
        )
    if "python_" in game:
        optional("open_spiel.python.games", "openspiel")  # registers them with load_game
    try:
        return pyspiel.load_game(game)
    except pyspiel.SpielError as error:
        why = str(error).partition(". Available games are")[0].strip()
        raise ValueError(
            f"game must be one that OpenSpiel can load, got {quote(game)}: {why}; "
            "pyspiel.registered_names() lists the games"
        ) from error


def _check_kind(pyspiel: Any, game: object, kind: Any) -> None:
    """Raise a ValueError for games whose states form no tree."""
    if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        raise ValueError(f"{game} is a mean field game, whose states are not histories")
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise ValueError(
            f"{game} draws outcomes of chance without listing them; "
            "choose a game of another chance_mode"
        )


def has_strings(pyspiel: Any, game: Any) -> bool:
    """Return whether a game has information state strings; some do not declare theirs."""
    if game.get_type().provides_information_state_string:
        return True
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.chance_outcomes()[0][0])
    try:
        return isinstance(state.information_state_string(), str)
    except pyspiel.SpielError:
        return False


@final
@frozen(eq=False)
class Names:
    """OpenSpiel's names of a player's actions or of chance's outcomes, made when asked for."""

    game: OpenSpielGame
    """The turn-based game."""
    player: int
    at: Indices
    """The first history of each of the player's information sets, or those of chance."""
    parent: Indices
    first: Indices
    """First child of each history, and one more than the last history."""
    action: Indices
    """OpenSpiel's number of the action that leads to each history."""

    def __call__(self, number: int) -> tuple[str, ...]:
        """Return the names of the actions of an information set."""
        state = self._state(int(self.at[number]))
        return tuple(
            state.action_to_string(self.player, first_histories)
            for first_histories in self.actions(number)
        )

    def actions(self, number: int) -> list[int]:
        """Return OpenSpiel's numbers of the actions of an information set."""
        history = int(self.at[number])
        actions: list[int] = self.action[self.first[history] : self.first[history + 1]].tolist()
        return actions

    def _state(self, history: int) -> State:
        path = []
        while history:
            path.append(int(self.action[history]))
            history = int(self.parent[history])
        state = self.game.new_initial_state()
        for action in reversed(path):
            state.apply_action(action)
        return state


def _tree_of(game: OpenSpielGame, states: States, *, remember: bool) -> GameTree:
    """Return the tree of all states; ``remember`` refines information sets to perfect recall."""
    shape = _breadth_first(np.array(states.parent), np.array(states.counts))
    acting = np.array(states.player)
    player = compact(np.maximum(acting[shape.order], TERMINAL))
    known = np.array(states.information_set)[shape.order]
    leads = np.append(-1, np.array(states.actions)[shape.entries(acting >= CHANCE)])
    probability = np.ones(player.size)
    drawn = 1 + np.flatnonzero(player[shape.parent[1:]] == CHANCE)
    outcomes = shape.entries(acting == CHANCE)[drawn - 1]
    probability[drawn] = np.array(states.probability)[outcomes]
    terminals = offsets((acting < CHANCE).astype(np.int64))[shape.order[player == TERMINAL]]
    parent, first, leads = map(compact, (shape.parent, shape.first, leads))
    names = partial(Names, game, parent=parent, first=first, action=leads)
    chance = np.flatnonzero(player == CHANCE)

    def build(information_set: Indices, at: list[Indices]) -> GameTree:
        return GameTree(
            parent=parent,
            player=player,
            information_set=compact(information_set),
            action=compact(shape.action),
            probability=probability,
            payoffs=np.array(states.payoffs).reshape(-1, len(at))[terminals],
            labels=[
                [strings[number] for number in known[histories].tolist()]
                for strings, histories in zip(map(list, states.known), at, strict=True)
            ],
            actions=[
                LazySequence(first_histories.size, names(player=actor, at=first_histories))
                for actor, first_histories in enumerate(at)
            ],
            outcomes=LazySequence(chance.size, names(player=CHANCE, at=chance)),
        )

    tree = build(*_in_order(player, known, len(states.known)))
    if not remember:
        return tree
    refined, _ = refined_information_sets(tree)
    return build(*_in_order(player, refined, tree.players))


@final
@frozen(eq=False)
class _BreadthFirst:
    """Histories in breadth-first order; ``order`` and ``counts`` lead back to the walk."""

    parent: Indices
    action: Indices
    first: Indices
    """First child of each history, and one more than the last history."""
    order: Indices
    """Number of each history in the walk."""
    counts: Indices
    """Number of children of each history of the walk."""

    def entries(self, wanted: NDArray[np.bool_]) -> Indices:
        """Return, for each history but the first, the entry of the action that leads to it.

        Entries are those of all actions of the histories of the walk that are ``wanted``.
        """
        begin = offsets(np.where(wanted, self.counts, 0))[self.order]
        entries: Indices = begin[self.parent[1:]] + self.action[1:]
        return entries


def _breadth_first(parent: Indices, counts: Indices) -> _BreadthFirst:
    order = np.argsort(depths(parent), kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    parent_place = place[parent[order]]
    parent_place[0] = -1
    first = 1 + offsets(counts[order])
    action = np.arange(order.size) - first[parent_place]
    action[0] = -1
    return _BreadthFirst(parent_place, action, first, order, counts)


def _in_order(player: Indices, numbers: Indices, players: int) -> tuple[Indices, list[Indices]]:
    """Return information sets numbered by first occurrence, and the first history of each."""
    ordered, at = np.full(player.size, -1), []
    for actor in range(players):
        histories = np.flatnonzero(player == actor)
        _, first, which = np.unique(numbers[histories], return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        ordered[histories] = rank[which]
        at.append(histories[first[order]])
    return ordered, at
