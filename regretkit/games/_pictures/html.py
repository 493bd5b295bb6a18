"""What notebooks show of games and profiles: small ones in full, large ones by their sizes."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from regretkit.games._pictures.drawing import draw_game, size_of
from regretkit.games._pictures.svg import escaped, number, shortened
from regretkit.games._strategy_rows import (
    MOST,
    behavior_of,
    blocks_of,
    label_of,
    never_reached,
)
from regretkit.games.extensive_form import ExtensiveFormGame
from regretkit.games.game_tree import GameTree
from regretkit.games.imperfect_recall import ImperfectRecallGame
from regretkit.games.normal_form import NormalFormGame

if TYPE_CHECKING:
    from regretkit.games.profile import Profile

_DRAWN = 120
"""Games of at most so many histories, or outcomes, are drawn."""

_BAR = "rgba(0, 114, 178, 0.28)"


def table(rows: Iterable[Sequence[str]], header: Sequence[str] = ()) -> str:
    """Return a table of cells that are HTML already, the first of each row in bold."""
    head = "".join(f"<th>{escaped(name)}</th>" for name in header)
    body = "".join(
        f'<tr><th style="text-align: left">{first}</th>{"".join(map(_cell, rest))}</tr>'
        for first, *rest in rows
    )
    return (
        f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"
    )


def facts(*pairs: tuple[str, str | float], profile: "Profile | None" = None) -> str:
    """Return what something comes to, a line a fact, and a profile below."""
    rows = [
        (escaped(name), escaped(fact) if isinstance(fact, str) else f"{fact:.6g}")
        for name, fact in pairs
    ]
    return f"{table(rows)}{'' if profile is None else profile_html(profile)}"


def _cell(content: str) -> str:
    return content if content.startswith("<td") else f'<td style="text-align: left">{content}</td>'


def game_html(game: ExtensiveFormGame | NormalFormGame | ImperfectRecallGame | GameTree) -> str:
    """Return a game as its picture, or its sizes where it is large."""
    size, _ = size_of(game)
    about = ""
    if isinstance(game, ImperfectRecallGame):
        about = f"<p>{escaped(shortened(game.reason, 400))}</p>"
    if size <= _DRAWN:
        return f'<div style="overflow-x: auto">{draw_game(game, limit=_DRAWN)}</div>{about}'
    return f"<p><b>{escaped(_name(game))}</b></p>{table(_sizes(game))}{about}"


def _name(game: object) -> str:
    return str(getattr(game, "name", None) or type(game).__name__)


def _sizes(
    game: ExtensiveFormGame | NormalFormGame | ImperfectRecallGame | GameTree,
) -> Iterator[tuple[str, str]]:
    if isinstance(game, NormalFormGame):
        yield "actions", " x ".join(f"{count:,}" for count in game.payoffs.shape[1:])
        yield "outcomes", f"{game.payoffs[0].size:,}"
    else:
        tree = game if isinstance(game, GameTree) else game.tree
        yield "players", str(tree.players)
        yield "histories", f"{tree.histories:,}"
        yield "of these, ends", f"{tree.terminals.size:,}"
        yield "longest history", f"{tree.depth:,} actions"
        yield "information sets", " + ".join(f"{count:,}" for count in tree.information_sets)
    if isinstance(game, ExtensiveFormGame):
        yield "sequences", " + ".join(f"{domain.dimension:,}" for domain in game.domains)
    if isinstance(game, ExtensiveFormGame | NormalFormGame):
        total = game.constant_sum
        yield "payoffs add up to", "no constant" if total is None else number(total)


def profile_html(profile: "Profile") -> str:
    """Return a profile as a table for each player: an information set a row."""
    return "".join(_player(profile, player) for player in range(len(profile)))


def _player(profile: "Profile", player: int) -> str:
    heading = f"<p><b>player {player}</b></p>"
    domain, strategy = profile.domains[player], profile[player]
    simplices = blocks_of(domain)
    if simplices is None:
        return f"{heading}<pre>{escaped(str(strategy))}</pre>"
    behavior = behavior_of(strategy, domain)
    unreached = set(never_reached(strategy, domain).tolist())
    rows = []
    for place in range(min(simplices.blocks, MOST)):
        pairs = zip(
            simplices.labels.actions(place), behavior[simplices.block(place)].tolist(), strict=True
        )
        flag = ["<i>never reached</i>"] if place in unreached else []
        name = shortened(label_of(simplices, place) or "", 60)
        rows.append([escaped(name), *(_probability(*pair) for pair in pairs), *flag])
    more = simplices.blocks - MOST
    rest = f"<p>… {more:,} more information sets</p>" if more > 0 else ""
    return f"{heading}{table(rows)}{rest}"


def _probability(action: str, probability: float) -> str:
    """Return a cell with an action's probability, and a bar as long as that behind it."""
    share = f"{100 * probability:.1f}%"
    bar = f"linear-gradient(90deg, {_BAR} {share}, transparent {share})"
    name = escaped(shortened(action))
    return f'<td style="text-align: left; background: {bar}">{name} {probability:.4f}</td>'
