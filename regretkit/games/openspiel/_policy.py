"""Profiles as policies of OpenSpiel."""

from typing import Any, cast

from regretkit._util._lazy_import import optional
from regretkit._util._validate import check_kind, quote
from regretkit.games._behavioral import ProfileLike, as_vectors
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._visited_profile import VisitedProfile
from regretkit.games.openspiel._states import (
    OpenSpielHistory,
    OpenSpielPolicy,
    Row,
    has_strings,
)
from regretkit.games.openspiel._tree import Names
from regretkit.games.tree._history import History
from regretkit.sets._labels import LazySequence


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
        return _visited_policy(pyspiel, profile)
    names, built = _names(game), cast(ExtensiveFormGame, game)
    if not has_strings(pyspiel, names[0].game):
        raise ValueError(
            f"{built.name} has no information state strings, which are the keys of a TabularPolicy"
        )
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


def _visited_policy(pyspiel: Any, profile: object) -> OpenSpielPolicy:
    check_kind(profile, VisitedProfile, "profile", "run.average of a run of LazyMCCFR")
    table = {
        str(state): [
            (int(str(action)), float(probability))
            for action, probability in zip(strategy.actions(state), strategy[state], strict=True)
        ]
        for strategy in cast(VisitedProfile, profile)
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
