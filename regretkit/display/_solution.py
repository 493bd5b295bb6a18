"""The data of a page that shows a profile: public nodes with hands, or information sets."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from regretkit.display._style import number
from regretkit.evaluation import best_response_gains, hold_em_report
from regretkit.games import Game, Profile
from regretkit.games._profile import behavior_of, label_of, reach_of, simplices_of
from regretkit.games.poker._cards import RANKS, SUITS
from regretkit.games.public import Chance, Compare, Free, PublicGame
from regretkit.games.public._tree import Path, PublicTree
from regretkit.games.tree._history import CHANCE, TERMINAL
from regretkit.sets import DecisionTree, StrategySet

_COLUMNS = ("weight", "equity", "ev", "strategy", "evs")
_LOCKED = -3
"""The player of a locked node."""


def solution_data(
    profile: Profile, game: Game | None = None, nodes: Iterable[Path] | None = None
) -> dict[str, Any]:
    """Return a profile as JSON data.

    Games of ``hold_em`` have ``tree``: the public nodes, and at some the range, equity, EV and
    strategy of each hand. Others have ``sets``: each player's information sets. ``facts`` are pairs
    of text. ``nodes`` are the public nodes with hands, by default those before the next card.
    """
    owner = profile._game if game is None else game
    known = owner if isinstance(owner, Game) else None
    if isinstance(known, PublicGame) and _deals_hands(known):
        report = hold_em_report(known, profile, nodes=nodes)
        tree = _public_nodes(known, profile, report)
        return {"facts": _poker_facts(report), "tree": tree, "sets": None}
    facts = []
    if known is not None:
        pairs = zip(known.value(profile), best_response_gains(known, profile), strict=True)
        for player, (value, gain) in enumerate(pairs):
            fact = f"value {value:.6g}; a best response gains {gain:.3g}"
            facts.append([f"player {player}", fact])
    sets = [_sets(strategy, i, profile.domains[i]) for i, strategy in enumerate(profile)]
    return {"facts": facts, "tree": None, "sets": sets}


def _sets(strategy: Any, player: int, domain: StrategySet) -> list[dict[str, Any]]:
    """Return a player's information sets, each with its label, actions and probabilities.

    ``after`` is the player's previous information set and its action there, None for the first.
    """
    simplices, behavior = simplices_of(domain, player), behavior_of(strategy, domain).round(5)
    reach = reach_of(strategy, domain).round(6).tolist()
    after: list[Any] = [None] * simplices.blocks
    if isinstance(domain, DecisionTree):
        owner = np.repeat(np.arange(simplices.blocks), simplices.sizes)
        first = np.cumsum(simplices.sizes) - simplices.sizes
        for k, sequence in enumerate(domain.parent_sequence.tolist()):
            if sequence > 0:
                before = int(owner[sequence - 1])
                after[k] = [before, sequence - 1 - int(first[before])]
    return [
        {
            "label": label_of(simplices, k) or str(k),
            "actions": list(simplices.labels.actions(k)),
            "strategy": behavior[simplices.block(k)].tolist(),
            "reach": reach[k],
            "after": after[k],
        }
        for k in range(simplices.blocks)
    ]


# Public games


def _deals_hands(game: PublicGame) -> bool:
    """Return whether all types are two cards, such as AhKh."""
    return all(
        len(name) == 4 and {name[0], name[2]} <= {*RANKS} and {name[1], name[3]} <= {*SUITS}
        for types in game.deal.types
        for name in types
    )


def _poker_facts(report: Mapping[str, Any]) -> list[list[str]]:
    gap = report["exploitability"]
    return [
        ["pot", number(report["pot"])],
        *(
            [f"player {i}", f"EV {value:.2f} chips, {100 * share:.1f}% of the pot"]
            for i, (value, share) in enumerate(zip(report["value"], report["share"], strict=True))
        ),
        *(
            [["rake", f"{number(report['rake'])} chips on average"]]
            if report["rake"] > 1e-9
            else []
        ),
        ["exploitability", f"{gap['chips']:.3g} chips, {gap['percent']:.2g}% of the pot"],
    ]


def _public_nodes(
    game: PublicGame, profile: Profile, report: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the nodes of the public tree in depth-first order."""
    tree, found = game.tree, {}
    full = [float(game.reach(player, profile).max()) for player in (0, 1)]
    for path, node in report["nodes"].items():
        found[tree.find(path)] = _node(node, full[node["player"]])
    return [
        {
            "parent": int(tree.parent[k]),
            "edge": _edge(tree, k),
            "player": _LOCKED if _is_locked(tree, k) else int(tree.player[k]),
            "note": _note(game, k),
            "report": found.get(k),
        }
        for k in range(len(tree.nodes))
    ]


def _node(node: Mapping[str, Any], full: float) -> dict[str, Any]:
    """Return the report of a node by column; weights are shares of ``full``."""
    rows = [{**row, "weight": row["weight"] / full} for row in node["hands"].values()]
    columns = {name: [_rounded(row[name]) for row in rows] for name in _COLUMNS}
    return {
        "player": node["player"],
        "actions": node["actions"],
        "frequencies": _rounded(node["frequencies"]),
        "hands": [*node["hands"]],
        **columns,
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [*map(_rounded, value)]
    return None if value is None else float(f"{value:.4g}")


def _edge(tree: PublicTree, node: int) -> str:
    """Return the action or the outcome that leads to a node, with the outcome's images."""
    if node == 0:
        return ""
    name = tree.names[tree.parent[node]][tree.action[node]]
    outcome = tree.outcome[node]
    return ", ".join([name, *([] if outcome is None else outcome.images)])


def _is_locked(tree: PublicTree, node: int) -> bool:
    free = tree.unlocked or tree
    return bool(tree.player[node] == CHANCE and free.player[node] >= 0)


def _note(game: PublicGame, node: int) -> str:
    """Return what is paid at a terminal, or the acting player of a locked node."""
    tree, at = game.tree, game.tree.nodes[node]
    if isinstance(at, Free):
        return f"payoffs {', '.join(map(number, at.payoff))}"
    if isinstance(at, Compare):
        return f"showdown: player 0 wins {number(at.win[0])} or loses {number(-at.lose[0])}"
    if isinstance(at, Chance) and _is_locked(tree, node):
        return f"player {int((tree.unlocked or tree).player[node])}'s strategy is locked"
    return "payoffs by table" if tree.player[node] == TERMINAL else ""
