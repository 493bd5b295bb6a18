"""Reports on endgames of poker: what each hand has, plays and earns, and what boards have."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from regretkit._util._typing import Vector
from regretkit._util._validate import check_kind
from regretkit.evaluation._gaps import best_response_gains
from regretkit.games._behavioral import ProfileLike, as_vectors
from regretkit.games.poker._cards import RANKS, SUITS
from regretkit.games.public import Compare, Free, PublicGame
from regretkit.games.public._tree import Path, actions_of

_CARDS = {rank + suit for rank in RANKS for suit in SUITS}


def hold_em_report(
    game: PublicGame, profile: ProfileLike, *, nodes: Iterable[Path] | None = None
) -> dict[str, Any]:
    """Return what each hand has, plays and earns with a profile of ``hold_em``, as JSON data.

    Values and EVs are in chips and counted from the middle of the pot, as the payoffs are.

    Parameters
    ----------
    game
        A game of ``hold_em``; any other public game in which both players can lose.
    profile
        Such as ``run.average``.
    nodes
        At which node or nodes hands are reported, as ``"/check/bet 500"``; by default at all
        decisions before another card is dealt.

    Returns
    -------
    dict
        The ``pot``; each player's ``value`` and its ``share`` of the pot; the mean ``rake``;
        ``exploitability``, half of the ``nash_conv``, in ``chips`` and in ``percent`` of the pot;
        and for each of the ``nodes`` the ``player``, the ``actions``, their ``frequencies``, and
        for each of the player's ``hands`` its ``weight`` with the play to the node, its ``equity``
        against what the opponent plays to the node, its ``ev``, the ``strategy``, and the ``evs``
        of the actions. None is the EV of a hand that meets no hand.

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
        "nodes": {f"/{'/'.join(path)}": _at(game, strategies, path) for path in paths},
    }


def hold_em_table(
    solutions: Mapping[str, tuple[PublicGame, ProfileLike]],
) -> list[dict[str, str | float]]:
    """Return one row for each of several boards, and at last their mean: an aggregate report.

    ``solutions`` are a game and a profile of it by the name of the board. In each row are the
    ``board``, the ``value`` of player 0 in chips, its ``share`` of the pot, the exploitability in
    ``percent`` of the pot, the ``rake``, and how often player 0 takes each of its first actions.

    Examples
    --------
    >>> from regretkit.games import Profile, hold_em
    >>> solutions = {}
    >>> for board in ("2c2d2h3c3d", "2c2d2h3cKd"):
    ...     game = hold_em(board)
    ...     solutions[board] = game, Profile.uniform(game)
    >>> [row["board"] for row in hold_em_table(solutions)]
    ['2c2d2h3c3d', '2c2d2h3cKd', 'mean']
    """
    rows: list[dict[str, Any]] = []
    for board, (game, profile) in solutions.items():
        report = hold_em_report(game, profile, nodes=["/"])
        root = report["nodes"]["/"]
        row = {"board": board, "value": report["value"][0], "share": report["share"][0]}
        row |= {"percent": report["exploitability"]["percent"], "rake": report["rake"]}
        rows.append(row | dict(zip(root["actions"], root["frequencies"], strict=True)))
    names = list(dict.fromkeys(name for row in rows for name in row if name != "board"))
    rows = [{"board": row["board"]} | {name: row.get(name, 0.0) for name in names} for row in rows]
    means = {name: float(np.mean([row[name] for row in rows])) for name in names}
    return [*rows, {"board": "mean", **means}]


def _pot(game: PublicGame) -> float:
    """Return what is in the pot at first: twice the least that a player can lose."""
    lost = []
    for node in game.tree.nodes:
        if isinstance(node, Free | Compare):
            pairs = [node.payoff] if isinstance(node, Free) else [node.win, node.lose]
            lost += [-min(pair) for pair in pairs]
    if min(lost, default=0.0) <= 0.0:
        raise ValueError(
            "game must be an endgame of poker, whose loser pays half of the pot at least, got one "
            f"in which a player loses {min(lost, default=0.0):g}; pass games.hold_em()"
        )
    return 2.0 * min(lost)


def _first_street(game: PublicGame) -> list[tuple[str, ...]]:
    """Return the paths to all decisions before a card is dealt."""
    tree = game.tree
    dealt = np.array([bool(names) and names[0] in _CARDS for names in tree.names])
    for node in range(1, dealt.size):  # depth-first, so a parent comes before its children
        dealt[node] |= dealt[tree.parent[node]]
    return [tree.path(node) for node in np.flatnonzero((tree.player >= 0) & ~dealt).tolist()]


def _at(game: PublicGame, strategies: Sequence[Vector], path: tuple[str, ...]) -> dict[str, Any]:
    """Return what the player who decides at a node has, plays and earns with each hand."""
    node = game.tree.find(path)
    player, actions = int(game.tree.player[node]), game.tree.names[node]
    behavior = game.behavior(strategies, path)
    met = game.deal.meeting(player).sums(game.reach(1 - player, strategies, path)[np.newaxis])
    columns = {
        "weight": game.reach(player, strategies, path),
        "equity": game.equity(player, path, strategies),
        "ev": game.ev(player, strategies, path),
    }
    evs = np.stack([game.ev(player, strategies, (*path, action)) for action in actions], axis=1)
    hands = {}
    alive = np.flatnonzero(~np.isnan(behavior[:, 0]))
    for i in alive.tolist():
        about = {name: _number(column[i]) for name, column in columns.items()}
        played = {"strategy": behavior[i].tolist(), "evs": [_number(ev) for ev in evs[i]]}
        hands[game.deal.types[player][i]] = about | played
    probability = (columns["weight"] * met.free[0])[alive]
    total = probability.sum()
    shares = probability @ behavior[alive] / total if total else np.full(len(actions), np.nan)
    return {
        "player": player,
        "actions": list(actions),
        "frequencies": [_number(share) for share in shares],
        "hands": hands,
    }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
