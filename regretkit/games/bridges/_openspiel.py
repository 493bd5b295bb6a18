"""Game trees and policies of OpenSpiel."""

from functools import partial
from typing import Any, cast

import numpy as np
from attrs import frozen

from regretkit._util._lazy_import import optional
from regretkit._util._typing import Indices
from regretkit._util._validate import must_be, quote
from regretkit.games._behavioral import ProfileLike, as_vectors
from regretkit.games._extensive_form import ExtensiveFormGame, refined_information_sets
from regretkit.games._profile import Profile
from regretkit.games.bridges._openspiel_states import (
    OpenSpielGame,
    OpenSpielHistory,
    OpenSpielPolicy,
    Row,
    State,
    as_turn_based,
    has_strings,
)
from regretkit.games.tree._build import built, numbered
from regretkit.games.tree._game_tree import GameTree, compact
from regretkit.games.tree._history import CHANCE, History
from regretkit.games.tree._rules import Objects
from regretkit.sets._labels import LazySequence


def from_openspiel(
    game: str | OpenSpielGame, *, refine: bool = False, memory_limit: float | None = None
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
    memory_limit
        Bytes that building may take, by default all that are available.

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
    loaded, turns, by_string = as_turn_based(game)
    name = game if isinstance(game, str) else str(loaded)
    rules = Objects(OpenSpielHistory(turns.new_initial_state(), by_string))
    builder = built(rules, memory_limit)
    arrays, leading = builder.arrays(), builder.leading_actions()
    numbers = refined_information_sets(GameTree(**arrays))[0] if refine else None
    numbers = arrays["information_set"] if numbers is None else numbers
    players, parent = len(arrays["labels"]), compact(arrays["parent"])
    ordered, positions = _in_order(arrays["player"], numbers, players)
    names = partial(
        Names,
        turns,
        parent=parent,
        first=compact(np.searchsorted(parent, np.arange(parent.size + 1))),
        action=compact(np.array([*rules.names, -1])[leading]),
    )
    chance = np.flatnonzero(arrays["player"] == CHANCE)
    labels = zip(map(list, arrays["labels"]), positions, strict=True)
    arrays |= {
        "information_set": compact(ordered),
        "labels": [
            [strings[number] for number in arrays["information_set"][histories].tolist()]
            for strings, histories in labels
        ],
        "actions": [
            LazySequence(histories.size, names(player=actor, positions=histories))
            for actor, histories in enumerate(positions)
        ],
        "outcomes": LazySequence(chance.size, names(player=CHANCE, positions=chance)),
    }
    try:
        return ExtensiveFormGame(GameTree(**arrays), name=name)
    except ValueError as error:
        if refine:
            raise
        raise ValueError(f"{error}, as from_openspiel(..., refine=True) does") from error


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
        For each player a strategy, such as ``run.average``. With a history, such an
        average; the policy is a ``pyspiel.PartialTabularPolicy``, which is uniform elsewhere.

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
        _check_strings(game.has_strings)
        return _visited_policy(pyspiel, profile)
    lazy = game.tree.actions if isinstance(game, ExtensiveFormGame) else ()
    names = [each.make for each in lazy if isinstance(each, LazySequence)]
    if not names or not all(isinstance(each, Names) for each in names):
        raise TypeError(must_be("game", "a game of from_openspiel", game))
    known, built = cast("list[Names]", names), cast("ExtensiveFormGame", game)
    _check_strings(has_strings(pyspiel, known[0].game))
    table: dict[str, Row] = {}
    pairs = zip(built.domains, as_vectors(built, profile), strict=True)
    for player, (domain, strategy) in enumerate(pairs):
        behavior = domain.behavior(strategy)
        for number, label in enumerate(built.tree.labels[player]):
            probabilities = behavior[domain.simplices.block(number)].tolist()
            row = list(zip(known[player].actions(number), probabilities, strict=True))
            if table.setdefault(label, row) != row:
                raise ValueError(
                    f"information state {quote(label)} labels several information sets, one of "
                    f"them player {player}'s number {number}, which are played differently; "
                    "OpenSpiel's policies have one row for all of them"
                )
    policy: OpenSpielPolicy = pyspiel.TabularPolicy(table)
    return policy


def _check_strings(known: bool) -> None:
    if not known:
        raise ValueError(
            "the game has no information state strings, which are the keys of OpenSpiel's policies"
        )


def _visited_policy(pyspiel: Any, profile: object) -> OpenSpielPolicy:
    if not (isinstance(profile, Profile) and profile.visited):
        wanted = "the average or current profile of a run without a tree"
        raise TypeError(must_be("profile", wanted, profile))
    table = {
        record["label"]: list(
            zip(map(int, record["actions"]), record["probabilities"], strict=True)
        )
        for records in profile.to_dict()["players"]
        for record in records
    }
    policy: OpenSpielPolicy = pyspiel.PartialTabularPolicy(table)
    return policy
