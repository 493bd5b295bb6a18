"""HTML for notebooks: tables of games, profiles and results, and drawings of small games."""

import base64
import html
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from regretkit.display._games import (
    game_figure,
    size_of,
    size_rows,
    table_lines,
    tree_lines,
    tree_of,
)
from regretkit.display._style import escaped, file_of, number, shortened, title_of
from regretkit.games import (
    ExtensiveFormGame,
    Game,
    GameTree,
    ImperfectRecallGame,
    NormalFormGame,
    Profile,
)
from regretkit.games._profile import MOST, blocks_of, label_of, shown_actions
from regretkit.games.public import PublicGame

_DRAWN = 120
"""Most histories, or outcomes, of a game that is drawn."""

AnyGame: TypeAlias = (
    ExtensiveFormGame | NormalFormGame | ImperfectRecallGame | PublicGame | GameTree
)

_BAR = "rgba(0, 114, 178, 0.28)"


def table(rows: Iterable[Sequence[str]], header: Sequence[str] = ()) -> str:
    """Return an HTML table; the first cell of each row is bold, others may be a ``_Cell``."""
    head = "".join(f"<th>{escaped(name)}</th>" for name in header)
    style = 'style="text-align: left; white-space: pre"'
    body = "".join(
        f"<tr><th {style}>{escaped(first)}</th>{''.join(map(_cell, rest))}</tr>"
        for first, *rest in rows
    )
    return (
        f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"
    )


class _Cell(str):
    """A cell as HTML."""

    __slots__ = ()


def _cell(content: str) -> str:
    if isinstance(content, _Cell):
        return content
    return f'<td style="text-align: left">{escaped(content)}</td>'


def facts(*pairs: tuple[str, str | float], profile: Profile | None = None) -> str:
    """Return a table of named facts, with a profile below."""
    rows = [(name, fact if isinstance(fact, str) else number(fact)) for name, fact in pairs]
    return f"{table(rows)}{'' if profile is None else profile_html(profile)}"


def game_html(game: AnyGame | Game) -> str:
    """Return a figure of a small game, or text without matplotlib; the sizes of a large game."""
    if not isinstance(game, AnyGame):
        return f"<pre>{escaped(repr(game))}</pre>"
    name = str(getattr(game, "name", None) or type(game).__name__)
    reason = shortened(getattr(game, "recall_violation", None) or "", 400)
    about = f"<p>{escaped(reason)}</p>" if reason else ""
    if isinstance(game, PublicGame) or size_of(game)[0] > _DRAWN:
        return f"<p><b>{escaped(name)}</b></p>{table(size_rows(game))}{about}"
    try:
        svg = base64.b64encode(file_of(game_figure(game, _DRAWN))).decode()
    except ImportError:
        if isinstance(game, NormalFormGame):
            text = "\n".join(table_lines(game))
        else:
            text = "\n".join(tree_lines(tree_of(game), _DRAWN))
        return f"<p><b>{escaped(name)}</b></p><pre>{html.escape(text)}</pre>{about}"
    image = f'<img alt="{escaped(title_of(name))}" src="data:image/svg+xml;base64,{svg}"'
    return f'{image} style="max-width: 100%; height: auto"/>{about}'


def profile_html(profile: Profile) -> str:
    """Return a table for each player, with a row for each information set."""
    return "".join(_player(profile, player) for player in range(len(profile)))


def _player(profile: Profile, player: int) -> str:
    heading, domain = f"<p><b>player {player}</b></p>", profile.domains[player]
    simplices = blocks_of(domain)
    if simplices is None:
        return f"{heading}<pre>{escaped(str(profile[player]))}</pre>"
    unreached, rows = set(profile.unreached(player).tolist()), []
    for index in range(min(simplices.blocks, MOST)):
        actions = simplices.labels.actions(index)
        played, zeros = shown_actions(actions, profile[player, index])
        note = "never reached" if index in unreached else f"{zeros} others 0.0000" if zeros else ""
        flag = [_Cell(f"<td><i>{note}</i></td>")] if note else []
        name = shortened(label_of(simplices, index) or "", 60)
        rows.append([name, *(_probability(*pair) for pair in played), *flag])
    remaining = simplices.blocks - MOST
    rest = f"<p>… {remaining:,} more information sets</p>" if remaining > 0 else ""
    return f"{heading}{table(rows)}{rest}"


def _probability(action: str, probability: float) -> _Cell:
    """Return a cell with the probability of an action, as text and as a bar."""
    share = f"{100 * probability:.1f}%"
    bar = f"linear-gradient(90deg, {_BAR} {share}, transparent {share})"
    text = f"{escaped(shortened(action))} {probability:.4f}"
    return _Cell(f'<td style="text-align: left; background: {bar}">{text}</td>')
