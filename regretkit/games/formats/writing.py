"""Gambit's two formats, written as a text or into a file."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from regretkit.games.extensive_form import ExtensiveFormGame
from regretkit.games.game_tree import GameTree
from regretkit.games.imperfect_recall import ImperfectRecallGame
from regretkit.games.normal_form import NormalFormGame

ExtensiveForm: TypeAlias = ExtensiveFormGame | ImperfectRecallGame | GameTree


def write_nfg(game: NormalFormGame, *, for_gambit: bool = False) -> str:
    """Return a game in normal form as Gambit's format ``.nfg`` has it.

    :func:`~regretkit.games.read_nfg` makes the same game of it: the same payoffs, to the bit,
    the same name and the same names of actions. Players are called by their number.

    Parameters
    ----------
    game
        The game.
    for_gambit
        Whether to change what Gambit refuses, as :func:`~regretkit.games.write_efg` does.

    Raises
    ------
    TypeError
        When ``game`` is not in normal form.

    Examples
    --------
    >>> from regretkit.games import matching_pennies
    >>> print(write_nfg(matching_pennies()), end="")
    NFG 1 R "matching_pennies" { "Player 1" "Player 2" }
    { { "heads" "tails" } { "heads" "tails" } }
    ""
    1 -1
    -1 1
    -1 1
    1 -1
    """
    # Fractions and decimals take a while to load, and most people only read.
    from regretkit.games.formats._spelling import Spelling, decimal

    if not isinstance(game, NormalFormGame):
        raise TypeError(f"game must be a NormalFormGame, got {game!r}; write_efg writes trees")
    spelling = Spelling(for_gambit)
    sizes = map(str, game.payoffs.shape[1:])
    actions = sizes if game.actions is None else map(spelling.names, game.actions)
    # The first player's actions vary fastest.
    cells = game.payoffs.reshape(game.players, -1, order="F").T
    text = [
        f"NFG 1 R {spelling.heading(game.name, game.players)}",
        f"{{ {' '.join(actions)} }}",
        '""',
        *(" ".join(map(decimal, cell)) for cell in cells.tolist()),
    ]
    return "\n".join(text) + "\n"


def write_efg(game: ExtensiveForm, *, for_gambit: bool = False) -> str:
    """Return a game in extensive form as Gambit's format ``.efg`` has it.

    :func:`~regretkit.games.read_efg` makes the same game of it: the same tree with the same
    numbers, to the bit, the same name and the same labels. Players are called by their number.

    Gambit wants probabilities to sum to exactly 1, and so they are written as fractions that do,
    wherever there are such within their rounding.

    Parameters
    ----------
    game
        The game, or its tree.
    for_gambit
        Whether to change what Gambit 16 refuses: what is no printable ASCII character becomes a
        question mark; an information set gets a number if the player has its label twice; and
        probabilities that sum to 1 only nearly are divided by their sum.

    Raises
    ------
    TypeError
        When ``game`` is no game in extensive form.

    Examples
    --------
    >>> from regretkit.games import read_efg
    >>> game = read_efg('''EFG 2 R "Toss" { "Caller" }
    ...     c "" 1 "coin" { "heads" .5 "tails" .5 } 0
    ...     p "" 1 1 "call" { "heads" "tails" } 0  t "" 1 "" { 1 }  t "" 2 "" { 0 }
    ...     p "" 1 1 "call" { "heads" "tails" } 0  t "" 2 "" { 0 }  t "" 1 "" { 1 }''')
    >>> print(write_efg(game), end="")
    EFG 2 R "Toss" { "Player 1" }
    ""
    c "" 1 "" { "heads" 1/2 "tails" 1/2 } 0
    p "" 1 1 "call" { "heads" "tails" } 0
    t "" 1 "" { 1 }
    t "" 2 "" { 0 }
    p "" 1 1 0
    t "" 2
    t "" 1
    """
    from regretkit.games.formats._efg_lines import lines
    from regretkit.games.formats._spelling import Spelling

    if isinstance(game, ExtensiveFormGame | ImperfectRecallGame):
        tree, name = game.tree, game.name
    elif isinstance(game, GameTree):
        tree, name = game, None
    else:
        raise TypeError(f"game must be in extensive form, got {game!r}; write_nfg writes tables")
    spelling = Spelling(for_gambit)
    heading = f"EFG 2 R {spelling.heading(name, tree.players)}"
    return "\n".join([heading, '""', *lines(tree, spelling)]) + "\n"


def save(
    game: NormalFormGame | ExtensiveForm, path: str | PathLike[str], *, for_gambit: bool = False
) -> None:
    """Write a game into a file in Gambit's format, which :func:`~regretkit.games.load` reads.

    Parameters
    ----------
    game
        The game.
    path
        The file, whose name ends in ``.nfg`` for a game in normal form and in ``.efg`` for one
        in extensive form. What was in it is gone.
    for_gambit
        Whether to change what Gambit refuses, as :func:`~regretkit.games.write_efg` does.

    Raises
    ------
    TypeError
        When the game does not have the form that the name of the file asks for.
    OSError
        When the file cannot be written.
    ValueError
        When the name of the file ends otherwise.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from regretkit.games import kuhn_poker, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "kuhn.efg")
    ...     save(kuhn_poker(), path)
    ...     load(path)
    <kuhn_poker: 6 + 6 information sets>
    """
    path = Path(path)
    writers: dict[str, Callable[..., str]] = {".nfg": write_nfg, ".efg": write_efg}
    if path.suffix not in writers:
        raise ValueError(f"path must end in .nfg or .efg, got {str(path)!r}")
    text = writers[path.suffix](game, for_gambit=for_gambit)
    path.write_text(text, encoding="utf-8", newline="")
