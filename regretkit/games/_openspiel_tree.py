"""Game trees and policies of OpenSpiel."""

import itertools
from array import array
from functools import partial
from numbers import Real
from typing import Any, Never, cast

import numpy as np
from attrs import frozen

from regretkit._util._arrays import depths
from regretkit._util._lazy_import import optional
from regretkit._util._typing import Indices
from regretkit._util._validate import check_kind, quote
from regretkit.games._behavioral import ProfileLike, VisitedProfile, as_vectors
from regretkit.games._extensive_form import ExtensiveFormGame, refined_information_sets
from regretkit.games._memory_budget import (
    PLAY_BY_RULES,
    Growth,
    MemoryBudget,
    TooManyHistoriesError,
)
from regretkit.games._openspiel_states import (
    END,
    OpenSpielGame,
    OpenSpielHistory,
    OpenSpielPolicy,
    Row,
    State,
    as_turn_based,
    has_strings,
    openspiel_history,
)
from regretkit.games.tree._build import numbered
from regretkit.games.tree._game_tree import GameTree, compact
from regretkit.games.tree._history import CHANCE, TERMINAL, History, path_text
from regretkit.sets._labels import LazySequence

_CHECK_INTERVAL = 1024
"""Number of histories between two checks of the limits."""

_HISTORIES, _FEW = 10_000_000, 1_000_000


def from_openspiel(
    game: str | OpenSpielGame,
    *,
    refine: bool = False,
    max_histories: float = _HISTORIES,
    memory_limit: float | None = None,
    time_limit: float | None = None,
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
    refine
        Whether to refine information sets to perfect recall, where information state strings do
        not tell players what they did and observed before. Labels are then not unique.
    max_histories
        Largest number of histories to visit, each of which takes some microseconds.
    memory_limit
        Bytes that building may take, by default all that are available.
    time_limit
        Seconds that building may take, by default any number.

    Raises
    ------
    TypeError
        When ``game`` is neither a game of OpenSpiel nor a name, or a limit is no number.
    ValueError
        When OpenSpiel has no such game; when the game is too large, does not list the outcomes of
        chance, or has no information states; when actions differ within an information set; or
        when recall is imperfect, with two histories that show it.
    MemoryError
        When the tree does not fit into memory, by its size so far or by an estimate of its size
        from random plays, made after a second.
    TimeoutError
        When building takes longer than ``time_limit``.

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
    as_turn_based(game)  # first, so that the import of OpenSpiel is not taken for the tree
    budget = MemoryBudget(memory_limit)
    name, tree = tree_from_openspiel(game, budget, max_histories, time_limit, refine=refine)
    try:
        return ExtensiveFormGame(tree, name=name)
    except ValueError as error:
        if refine:
            raise
        raise ValueError(f"{error}, as from_openspiel(..., refine=True) does") from error


def tree_from_openspiel(
    game: str | OpenSpielGame,
    budget: MemoryBudget | None = None,
    max_histories: float = _HISTORIES,
    time_limit: float | None = None,
    *,
    refine: bool = False,
) -> tuple[str, GameTree]:
    """Return the name and the tree of a game of OpenSpiel, of perfect or imperfect recall."""
    loaded, turns, by_string = as_turn_based(game)
    budget = budget or MemoryBudget()
    # So few histories are sooner walked than estimated.
    root = None if max_histories < _FEW else partial(openspiel_history, loaded)
    longest = turns.max_game_length()
    claim = f" (OpenSpiel: up to {longest:,} moves of {turns.num_distinct_actions():,} actions)"
    growth = Growth(budget, time_limit, root, max_histories, claim)
    states = States(turns, budget, growth, max_histories, by_string=by_string)
    tree = _tree_of(turns, states, refine=refine)
    return game if isinstance(game, str) else str(loaded), tree


class States:
    """The states of a game in depth-first order, as arrays with one entry for each state."""

    def __init__(
        self,
        game: OpenSpielGame,
        budget: MemoryBudget,
        growth: Growth,
        maximum: float,
        *,
        by_string: bool,
    ) -> None:
        self._game, self._budget, self._growth, self._most = game, budget, growth, maximum
        self._by_string = by_string
        self.parent = array("q")
        self.player = array("q")
        self.information_set = array("q")
        """Numbered for each player in the order of first occurrence."""
        # Of the action that leads to each state: its index, OpenSpiel's number, its probability
        self.action, self.number, self.probability = array("q"), array("q"), array("d")
        # One entry for each player at each terminal state, and for each player's information sets
        self.payoffs = array("d")
        self.known: list[dict[str, int]] = [{} for _ in range(game.num_players())]
        self._legal: list[list[list[int]]] = [[] for _ in self.known]
        self._walk()

    def _walk(self) -> None:
        """Visit all states; only those on the path to the current one are held."""
        state, parent, index, action, probability = self._game.new_initial_state(), -1, -1, -1, 1.0
        stack: list[tuple[State, list[tuple[int, tuple[int, float]]], int]] = []
        for history in itertools.count():
            self.parent.append(parent)
            self.action.append(index)
            self.number.append(action)
            self.probability.append(probability)
            if not history % _CHECK_INTERVAL:
                self._check_size(history, state)
                self._growth.check(history, len(stack))
            moves = list(enumerate(self._visit(state)))
            if moves:
                stack.append((state, moves[::-1], history))
            if not stack:
                break
            state, remaining, parent = stack[-1]
            index, (action, probability) = remaining.pop()
            if remaining:
                state = state.child(action)
            else:
                # The last use of this state: changing it is faster than copying it.
                stack.pop()
                state.apply_action(action)
        self._check_size(len(self.parent), state)

    def _visit(self, state: State) -> Row:
        """Record one state, and return its actions with their probabilities, 1 for a player's."""
        player = int(state.current_player())  # older games in Python return an enumeration
        self.player.append(player)
        if player >= 0:
            return [(action, 1.0) for action in self._decision(state, player)]
        self.information_set.append(-1)
        if player == END:
            self.payoffs.extend(state.returns())
            return []
        if player != CHANCE:
            raise ValueError(
                f"no single player acts at {_text(state)}: OpenSpiel's current_player() is "
                f"{player}; only players and chance, one at a time, are supported"
            )
        return state.chance_outcomes() or self._refuse_nothing(state)

    def _decision(self, state: State, player: int) -> list[int]:
        known, legal = self.known[player], self._legal[player]
        key = (
            state.information_state_string() if self._by_string else state.history_str() or "start"
        )
        number = known.setdefault(key, len(known))
        actions = state.legal_actions()
        if number == len(legal):
            legal.append(actions or self._refuse_nothing(state))
        elif actions != legal[number]:
            pairs = zip(self.player, self.information_set, strict=False)
            first, path = next(i for i, pair in enumerate(pairs) if pair == (player, number)), []
            while first:
                path.append(str(self.number[first]))
                first = self.parent[first]
            raise ValueError(
                f"information state {quote(key)} of player {player} has actions "
                f"{quote(legal[number])} at {path_text(path[::-1])}, but {quote(actions)} at "
                f"{_text(state)}; this is not a game in extensive form"
            )
        self.information_set.append(number)
        return actions

    def _check_size(self, found: int, state: State) -> None:
        self._budget.check_objects(found)
        if found > self._most:
            raise TooManyHistoriesError(
                f"the game has more than {int(self._most):,} histories; the one reached is "
                f"{len(state.history())} actions long: {_text(state)}; choose a smaller game, "
                f"or {PLAY_BY_RULES}, or pass max_histories to walk on"
            )

    def _refuse_nothing(self, state: State) -> Never:
        raise ValueError(f"no action is legal at {_text(state)}, which is not terminal")


def _text(state: State) -> str:
    return path_text([str(action) for action in state.history()])


@frozen(eq=False)
class Names:
    """OpenSpiel's names of a player's actions or of chance's outcomes, made when asked for."""

    game: OpenSpielGame
    """The turn-based game."""
    player: int
    positions: Indices
    """The first history of each of the player's information sets, or those of chance."""
    parent: Indices
    first: Indices
    """First child of each history, and one more than the last history."""
    action: Indices
    """OpenSpiel's number of the action that leads to each history."""

    def __call__(self, number: int) -> tuple[str, ...]:
        """Return the names of the actions of an information set."""
        state = self._state(int(self.positions[number]))
        return tuple(state.action_to_string(self.player, action) for action in self.actions(number))

    def actions(self, number: int) -> list[int]:
        """Return OpenSpiel's numbers of the actions of an information set."""
        history = int(self.positions[number])
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


def _tree_of(game: OpenSpielGame, states: States, *, refine: bool) -> GameTree:
    """Return the tree of all states; ``refine`` refines information sets to perfect recall."""
    # Depth-first order lists the states of each level in breadth-first order.
    order = np.argsort(depths(np.array(states.parent)), kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    acting = np.array(states.player)
    player = compact(np.maximum(acting[order], TERMINAL))
    known = np.array(states.information_set)[order]
    parent = compact(np.append(-1, place[np.array(states.parent)[order[1:]]]))
    first = compact(np.searchsorted(parent, np.arange(order.size + 1)))
    leads = compact(np.array(states.number)[order])
    terminals = (np.cumsum(acting < CHANCE) - 1)[order[player == TERMINAL]]
    names = partial(Names, game, parent=parent, first=first, action=leads)
    chance = np.flatnonzero(player == CHANCE)

    def build(information_set: Indices, positions: list[Indices]) -> GameTree:
        return GameTree(
            parent=parent,
            player=player,
            information_set=compact(information_set),
            action=compact(np.array(states.action)[order]),
            probability=np.array(states.probability)[order],
            payoffs=np.array(states.payoffs).reshape(-1, len(positions))[terminals],
            labels=[
                [strings[number] for number in known[histories].tolist()]
                for strings, histories in zip(map(list, states.known), positions, strict=True)
            ],
            actions=[
                LazySequence(first_histories.size, names(player=actor, positions=first_histories))
                for actor, first_histories in enumerate(positions)
            ],
            outcomes=LazySequence(chance.size, names(player=CHANCE, positions=chance)),
        )

    tree = build(*_in_order(player, known, len(states.known)))
    if not refine:
        return tree
    refined, _ = refined_information_sets(tree)
    return build(*_in_order(player, refined, tree.players))


def _in_order(player: Indices, numbers: Indices, players: int) -> tuple[Indices, list[Indices]]:
    """Return information sets numbered by first occurrence, and the first history of each."""
    ordered, positions = np.full(player.size, -1), []
    for actor in range(players):
        histories = np.flatnonzero(player == actor)
        ordered[histories], first = numbered(numbers[histories], known=histories[:0])
        positions.append(histories[first])
    return ordered, positions


def to_openspiel_policy(
    game: ExtensiveFormGame | History[int], profile: ProfileLike
) -> OpenSpielPolicy:
    """Return a profile as OpenSpiel's ``pyspiel.TabularPolicy``.

    OpenSpiel's functions accept it, those in C++ such as ``pyspiel.nash_conv`` as well as those
    in Python. For a game with simultaneous moves, it is a policy of
    ``pyspiel.convert_to_turn_based(game)``. Information sets that the player's strategy does not
    reach are played uniformly.

    Parameters
    ----------
    game
        A game returned by ``from_openspiel``, or a history returned by ``openspiel_history``.
    profile
        For each player a strategy, such as ``run.average``. With a history, a ``VisitedProfile``;
        the policy is a ``pyspiel.PartialTabularPolicy``, which is uniform elsewhere.

    Raises
    ------
    TypeError
        When ``game`` is no such game.
    ValueError
        When there is not one strategy for each player, when two information sets with the same
        information state string are played differently, which such a policy cannot represent, or
        when the game has no such strings.

    Examples
    --------
    >>> import pyspiel
    >>> from regretkit import evaluation, solve
    >>> from regretkit.games import from_openspiel
    >>> game = from_openspiel("kuhn_poker")
    >>> average = solve(game, "cfr+", iterations=100).average
    >>> policy = to_openspiel_policy(game, average)
    >>> theirs = pyspiel.nash_conv(pyspiel.load_game("kuhn_poker"), policy)
    >>> abs(theirs - evaluation.nash_conv(game, average)) < 1e-12
    True
    """
    pyspiel: Any = optional("pyspiel", "openspiel")
    if isinstance(game, OpenSpielHistory):
        _check_strings(game.has_strings, "the game")
        return _visited_policy(pyspiel, profile)
    names, built = _names(game), cast("ExtensiveFormGame", game)
    _check_strings(has_strings(pyspiel, names[0].game), built.name)
    strategies = as_vectors(built, profile)
    table: dict[str, Row] = {}
    for player, (domain, strategy) in enumerate(zip(built.domains, strategies, strict=True)):
        behavior = domain.behavior(strategy).tolist()
        begin = 0
        for number, actions in enumerate(map(names[player].actions, range(domain.points))):
            label = built.tree.labels[player][number]
            row = list(zip(actions, behavior[begin : begin + len(actions)], strict=True))
            begin += len(actions)
            if table.setdefault(label, row) != row:
                raise ValueError(
                    f"information state {quote(label)} labels several information sets, one of "
                    f"them player {player}'s number {number}, which are played differently; "
                    "OpenSpiel's policies have one row for all of them"
                )
    policy: OpenSpielPolicy = pyspiel.TabularPolicy(table)
    return policy


def _check_strings(known: bool, name: str | None) -> None:
    if not known:
        raise ValueError(
            f"{name} has no information state strings, which are the keys of OpenSpiel's policies"
        )


def _visited_policy(pyspiel: Any, profile: object) -> OpenSpielPolicy:
    check_kind(profile, VisitedProfile, "profile", "run.average of a run of LazyMCCFR")
    table = {
        str(state): [
            (int(str(action)), float(probability))
            for action, probability in zip(strategy.actions(state), strategy[state], strict=True)
        ]
        for strategy in cast("VisitedProfile", profile)
        for state in strategy
    }
    policy: OpenSpielPolicy = pyspiel.PartialTabularPolicy(table)
    return policy


def _names(game: ExtensiveFormGame | History[int]) -> list[Names]:
    """Return, for each player, OpenSpiel's numbers and names of actions."""
    if isinstance(game, ExtensiveFormGame):
        lazy = [
            sequence.make for sequence in game.tree.actions if isinstance(sequence, LazySequence)
        ]
        names = [make for make in lazy if isinstance(make, Names)]
        if len(names) == game.players:
            return names
    raise TypeError(
        f"game must come from from_openspiel, which knows OpenSpiel's numbers of actions, "
        f"got {quote(game)}"
    )
