"""Reports on poker endgames: the equity, strategy and value of each hand."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from regretkit._util._typing import Vector
from regretkit._util._validate import check_kind
from regretkit.evaluation._gaps import best_response_gains
from regretkit.games._profile import ProfileLike, as_vectors
from regretkit.games.poker._cards import RANKS, SUITS
from regretkit.games.public import Compare, Free, PublicGame
from regretkit.games.public._tree import Path, actions_of

_CARDS = {rank + suit for rank in RANKS for suit in SUITS}


def hold_em_report(
    game: PublicGame, profile: ProfileLike, *, nodes: Iterable[Path] | None = None
) -> dict[str, Any]:
    """Return the equity, strategy and value of each hand in ``hold_em``, as JSON data.

    Values and EVs are in chips. Like the payoffs, they are relative to half of the pot.

    Parameters
    ----------
    game
        A game of ``hold_em``, or another public game in which both players can lose.
    profile
        A profile such as ``run.average``.
    nodes
        The node or nodes to report, as ``"/check/bet 500"``; by default all decisions before the
        next card.

    Returns
    -------
    dict
        - ``pot``; each player's ``value`` and ``share`` of the pot; the mean ``rake``.
        - ``exploitability``: half of the ``nash_conv``, in ``chips`` and in ``percent`` of the pot.
        - ``nodes``: for each path the ``player``, its ``actions``, their ``frequencies``, and
          ``hands``. A hand has its ``weight``, the probability that the player plays it to the
          node; its ``equity`` against the opponent's hands there; its ``ev``; its ``strategy``; and
          the ``evs`` of the actions. The EV of a hand that meets no opposing hand is None.

    Examples
    --------
    >>> from regretkit.games import hold_em
    >>> from regretkit.play import solve
    >>> game = hold_em()
    >>> report = hold_em_report(game, solve(game, "dcfr", iterations=200).average)
    >>> report["pot"], report["exploitability"]["percent"] < 1
    (100.0, True)
    >>> root = report["nodes"]["/"]
    >>> root["actions"], root["hands"]["AsAh"]["equity"]
    (['check', 'all-in 100'], 1.0)
    """
    check_kind(game, PublicGame, "game", "games.hold_em()")
    nodes = [nodes] if isinstance(nodes, str) else nodes
    strategies = as_vectors(game, profile)
    pot, value = _pot(game), game.value(strategies)
    lost = float(best_response_gains(game, strategies).mean())
    paths = _first_street(game) if nodes is None else [*map(actions_of, nodes)]
    return {
        "game": game.name,
        "pot": pot,
        "value": value.tolist(),
        "share": ((value + pot / 2) / pot).tolist(),
        "rake": float(0.0 - value.sum()),
        "exploitability": {"chips": lost, "percent": 100 * lost / pot},
        "nodes": {f"/{'/'.join(path)}": node for path, node in _nodes(game, strategies, paths)},
    }


def _pot(game: PublicGame) -> float:
    """Return the pot at the root: twice the smallest loss over all terminals."""
    pairs = [node.payoff for node in game.tree.nodes if isinstance(node, Free)]
    for node in game.tree.nodes:
        pairs += [node.win, node.lose] if isinstance(node, Compare) else []
    least = min((-min(pair) for pair in pairs), default=0.0)
    if least <= 0.0:
        raise ValueError(
            "game must be a poker endgame, in which the loser pays at least half of the pot, got "
            f"one with a smallest loss of {least:g}"
        )
    return 2.0 * least


def _first_street(game: PublicGame) -> list[tuple[str, ...]]:
    """Return the paths to all decisions before a card is dealt."""
    tree = game.tree
    dealt = np.array([bool(names) and names[0] in _CARDS for names in tree.names])
    for node in range(1, dealt.size):  # depth-first, so a parent comes before its children
        dealt[node] |= dealt[tree.parent[node]]
    return [tree.path(node) for node in np.flatnonzero((tree.player >= 0) & ~dealt).tolist()]


def _nodes(
    game: PublicGame, strategies: Sequence[Vector], paths: Sequence[tuple[str, ...]]
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield each path with its report."""
    tree, evs = game.tree, list[dict[tuple[str, ...], Vector]]()
    for player in (0, 1):
        own = [path for path in paths if tree.player[tree.find(path)] == player]
        own += [(*path, action) for path in own for action in tree.names[tree.find(path)]]
        evs.append(dict(zip(own, game.evs(player, strategies, own), strict=True)))
    for path in paths:
        yield path, _at(game, strategies, path, evs)


def _at(
    game: PublicGame,
    strategies: Sequence[Vector],
    path: tuple[str, ...],
    evs: Sequence[Mapping[tuple[str, ...], Vector]],
) -> dict[str, Any]:
    """Return the report of a node, given each player's EVs there and after each action."""
    behavior = game.behavior(strategies, path)
    node = game.tree.find(path)
    player, actions = int(game.tree.player[node]), game.tree.names[node]
    met = game.deal.meeting(player).sums(game.reach(1 - player, strategies, path)[np.newaxis])
    columns = {
        "weight": game.reach(player, strategies, path),
        "equity": game.equity(player, path, strategies),
        "ev": evs[player][path],
        "strategy": behavior,
        "evs": np.stack([evs[player][*path, action] for action in actions], axis=1),
    }
    alive = np.flatnonzero(~np.isnan(behavior[:, 0]))
    probability = (columns["weight"] * met.free[0])[alive]
    total = probability.sum()
    shares = probability @ behavior[alive] / total if total else np.full(len(actions), np.nan)
    return {
        "player": player,
        "actions": list(actions),
        "frequencies": _numbers(shares.tolist()),
        "hands": {
            game.deal.types[player][i]: {
                name: _numbers(column[i].tolist()) for name, column in columns.items()
            }
            for i in alive.tolist()
        },
    }


def _numbers(value: Any) -> Any:
    """Return a number or a list with None in place of NaN, which JSON lacks."""
    if isinstance(value, list):
        return [*map(_numbers, value)]
    return None if np.isnan(value) else value
