"""Game trees and policies of OpenSpiel."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from regretkit._util._lazy_import import optional
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import must_be, quote
from regretkit.games._extensive_form import ExtensiveFormGame, refined_information_sets
from regretkit.games._profile import Profile, ProfileLike, as_vectors
from regretkit.games.bridges._openspiel_states import (
    OpenSpielGame,
    OpenSpielHistory,
    OpenSpielPolicy,
    as_turn_based,
)
from regretkit.games.tree._build import built
from regretkit.games.tree._game_tree import GameTree, shared
from regretkit.games.tree._history import History
from regretkit.games.tree._rules import Batch, Objects
from regretkit.sets._labels import LazySequence


def from_openspiel(game: str | OpenSpielGame, *, refine: bool = False) -> ExtensiveFormGame:
    """Convert a game of OpenSpiel.

    The game may have any number of players, chance, and simultaneous moves. Simultaneous moves
    become sequential moves that nobody observes before all have moved, as in OpenSpiel's
    ``convert_to_turn_based``. Payoffs are OpenSpiel's returns, the sums of all rewards.

    Players, the order of actions, and names of actions and outcomes are those of OpenSpiel. The
    label of an information set is its information state string. In games of perfect information
    without such strings, it is the history.

    Parameters
    ----------
    game
        The game, or its name for ``pyspiel.load_game``, optionally with arguments.
    refine
        Whether to refine information sets to perfect recall, for games whose information state
        strings lack a player's past actions or observations. Labels are then not unique.

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
    rules = _Named(OpenSpielHistory(turns.new_initial_state(), by_string))
    arrays = built(rules)
    players = range(len(arrays["labels"]))
    sets: Sequence[Indices] = [np.arange(len(labels)) for labels in arrays["labels"]]
    if refine:
        arrays["information_set"], sets = refined_information_sets(GameTree(**arrays))
    shown = [[rules.shown[i][number] for number in sets[i].tolist()] for i in players]
    lengths, outcomes = map(len, arrays["outcomes"]), iter(rules.drawn)
    arrays |= {
        "labels": [[arrays["labels"][i][number] for number in sets[i].tolist()] for i in players],
        "actions": [LazySequence(len(own), own.__getitem__) for own in shown],
        "outcomes": shared(tuple(islice(outcomes, length)) for length in lengths),
    }
    try:
        return ExtensiveFormGame(GameTree(**arrays), name=name)
    except ValueError as error:
        if refine:
            raise
        raise ValueError(f"{error}, as from_openspiel(..., refine=True) does") from error


class _Action(str):
    """The name of an action, with its number in OpenSpiel, -1 without state strings."""

    number: int

    def __new__(cls, name: str, number: int = -1) -> "_Action":
        self = super().__new__(cls, name)
        self.number = number
        return self


class _Named(Objects):
    """The rules of states of OpenSpiel. They record the names of actions at first occurrence."""

    def __init__(self, root: OpenSpielHistory) -> None:
        super().__init__(root)
        self.shown: defaultdict[int, list[tuple[_Action, ...]]] = defaultdict(list)
        """For each player, the actions of each information set."""
        self.drawn: list[str] = []
        """The outcomes of all chance histories, in order."""
        self._shared: dict[Any, tuple[_Action, ...]] = {}

    def observed(self, h: Batch) -> tuple[Indices]:
        (numbers,) = super().observed(h)
        shown = self.shown[h.node[0].player()]
        for x, number in zip(h.node, numbers.tolist(), strict=True):
            if number == len(shown):
                numbered = x.actions()
                known = numbered if x.has_strings else [-1] * len(numbered)
                actions = tuple(map(_Action, map(x.action_name, numbered), known))
                shown.append(self._shared.setdefault((actions, *numbered), actions))
        return (numbers,)

    def chance(self, h: Batch, action: Indices) -> Vector:
        pairs = zip(h.node, action.tolist(), strict=True)
        self.drawn += [x.action_name(self.names[number]) for x, number in pairs]
        return super().chance(h, action)


def to_openspiel_policy(
    game: ExtensiveFormGame | History[int], profile: ProfileLike
) -> OpenSpielPolicy:
    """Convert a profile to a ``pyspiel.TabularPolicy``.

    OpenSpiel's functions in C++, such as ``pyspiel.nash_conv``, and in Python accept it. For a game
    with simultaneous moves, it is a policy of ``pyspiel.convert_to_turn_based(game)``. The policy
    is uniform at information sets that the player's strategy does not reach.

    Parameters
    ----------
    game
        A game returned by ``from_openspiel``, or a history returned by ``openspiel_history``.
    profile
        For each player a strategy, such as ``run.average``. If ``game`` is a history, the average
        or current profile of a run without a tree. Then the result is a
        ``pyspiel.PartialTabularPolicy``, which is uniform at unvisited information sets.

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
        if not (isinstance(profile, Profile) and profile.visited):
            wanted = "the average or current profile of a run without a tree"
            raise TypeError(must_be("profile", wanted, profile))
        kind, played, by_string = pyspiel.PartialTabularPolicy, profile, game.has_strings
    else:
        names = game.tree.actions if isinstance(game, ExtensiveFormGame) else ()
        first = next((own[0][0] for own in names if own), None)
        if not (isinstance(game, ExtensiveFormGame) and isinstance(first, _Action)):
            raise TypeError(must_be("game", "a game of from_openspiel", game))
        played = Profile(as_vectors(game, profile), game.domains, {})
        kind, by_string = pyspiel.TabularPolicy, first.number >= 0
    if not by_string:
        raise ValueError(
            "the game has no information state strings, which are the keys of OpenSpiel's policies"
        )
    table: dict[str, list[tuple[int, float]]] = {}
    for player, records in enumerate(played.to_dict()["players"]):
        for record in records:
            numbers = [int(getattr(action, "number", action)) for action in record["actions"]]
            row = list(zip(numbers, record["probabilities"], strict=True))
            if table.setdefault(record["label"], row) != row:
                raise ValueError(
                    f"information state {quote(record['label'])} labels several information sets "
                    f"with different strategies, such as player {player}'s number "
                    f"{record['information_set']}; a policy of OpenSpiel has one row for all of "
                    "them"
                )
    return kind(table)
