"""Profiles as policies of OpenSpiel."""

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from regretkit._util._lazy_import import optional
from regretkit._util._validate import quote
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._game import as_strategies
from regretkit.games.openspiel._states import OpenSpielPolicy, Row
from regretkit.games.openspiel._tree import Names, has_strings
from regretkit.sets._labels import LazySequence


def to_openspiel_policy(game: ExtensiveFormGame, profile: Iterable[ArrayLike]) -> OpenSpielPolicy:
    """Return a profile as OpenSpiel's ``pyspiel.TabularPolicy``.

    OpenSpiel's functions accept it, those in C++ such as ``pyspiel.nash_conv`` as well as those
    in Python. For a game with simultaneous moves, it is a policy of
    ``pyspiel.convert_to_turn_based(game)``. Information sets that the player's strategy does not
    reach are played uniformly.

    Parameters
    ----------
    game
        A game returned by :func:`~regretkit.games.from_openspiel`.
    profile
        For each player a strategy, such as ``run.average``.

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
    names = _names(game)
    if not has_strings(pyspiel, names[0].game):
        raise ValueError(
            f"{game.name} has no information state strings, which are the keys of a TabularPolicy"
        )
    strategies = as_strategies(game, profile)
    table: dict[str, Row] = {}
    for player, (domain, strategy) in enumerate(zip(game.domains, strategies, strict=True)):
        behavior = domain.behavior(strategy).tolist()
        begin = 0
        for number, actions in enumerate(map(names[player].actions, range(domain.points))):
            label = game.tree.labels[player][number]
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


def _names(game: ExtensiveFormGame) -> list[Names]:
    """Return, for each player, OpenSpiel's numbers and names of actions."""
    if isinstance(game, ExtensiveFormGame):
        lazy = [own.make for own in game.tree.actions if isinstance(own, LazySequence)]
        names = [make for make in lazy if isinstance(make, Names)]
        if len(names) == game.players:
            return names
    raise TypeError(
        f"game must come from from_openspiel, which knows OpenSpiel's numbers of actions, "
        f"got {quote(game)}"
    )
