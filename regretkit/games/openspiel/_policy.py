"""Strategies for OpenSpiel."""

from collections.abc import Iterable, Iterator
from typing import Any

from numpy.typing import ArrayLike

from regretkit._validate import quote
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._game import as_strategies
from regretkit.games.openspiel._from_openspiel import has_strings
from regretkit.games.openspiel._names import Names
from regretkit.games.openspiel._optional import optional
from regretkit.games.openspiel._protocols import OpenSpielPolicy, Row
from regretkit.sets._lazy import Lazy


def to_openspiel_policy(game: ExtensiveFormGame, profile: Iterable[ArrayLike]) -> OpenSpielPolicy:
    """Return a profile as OpenSpiel's own ``pyspiel.TabularPolicy``.

    OpenSpiel's functions take it, those in C++ such as ``pyspiel.nash_conv`` as well as those in
    Python. Of a game in which players move at once, it is a policy for what
    ``pyspiel.convert_to_turn_based`` makes of it. Information sets that are never reached are
    played uniformly.

    Parameters
    ----------
    game
        A game that comes from :func:`~regretkit.games.from_openspiel`.
    profile
        For each player a strategy, such as ``run.average``.

    Raises
    ------
    ImportError
        When OpenSpiel is not installed: ``pip install 'regretkit[openspiel]'``.
    TypeError
        When ``game`` is no such game.
    ValueError
        When there is not one strategy for each player; or when two information sets have the same
        information state string and are not played alike, for which such a policy has no room; or
        the game has no such strings.

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
            f"{game.name} has no information state strings, by which OpenSpiel's policies go"
        )
    strategies = as_strategies(game, profile)
    table: dict[str, Row] = {}
    for player, (domain, strategy) in enumerate(zip(game.domains, strategies, strict=True)):
        behavior = domain.behavior(strategy).tolist()
        begin = 0
        for number, actions in enumerate(_actions(names[player], domain.points)):
            label = game.tree.labels[player][number]
            row = list(zip(actions, behavior[begin : begin + len(actions)], strict=True))
            begin += len(actions)
            if table.setdefault(label, row) != row:
                raise ValueError(
                    f"information state {quote(label)} stands for several information sets, one of "
                    f"them player {player}'s number {number}, and they are not played alike; "
                    "OpenSpiel's policies have one row for all of them"
                )
    policy: OpenSpielPolicy = pyspiel.TabularPolicy(table)
    return policy


def _actions(names: Names, points: int) -> Iterator[list[int]]:
    return map(names.actions, range(points))


def _names(game: ExtensiveFormGame) -> list[Names]:
    """Return what knows OpenSpiel's numbers of every player's actions."""
    if isinstance(game, ExtensiveFormGame):
        lazy = [own.make for own in game.tree.actions if isinstance(own, Lazy)]
        names = [make for make in lazy if isinstance(make, Names)]
        if len(names) == game.players:
            return names
    raise TypeError(
        f"game must come from from_openspiel, which knows OpenSpiel's numbers of actions, "
        f"got {quote(game)}"
    )
