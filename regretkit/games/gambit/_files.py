"""Files in Gambit's formats."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path

from regretkit._util._files import replace_file
from regretkit._util._validate import quote
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._imperfect_recall import ImperfectRecallGame
from regretkit.games._normal_form import NormalFormGame
from regretkit.games.gambit._efg import ExtensiveForm, parse_efg, write_efg
from regretkit.games.gambit._nfg import parse_nfg, write_nfg
from regretkit.games.gambit._tokens import Tokens


def read_game(path: PathLike[str]) -> ExtensiveFormGame | ImperfectRecallGame | NormalFormGame:
    """Return the game in a file, whose first word determines the format."""
    tokens = Tokens(path)
    if tokens.current not in {"EFG", "NFG"}:
        raise tokens.unexpected("EFG or NFG, with which a game file begins")
    return parse_efg(tokens) if tokens.current == "EFG" else parse_nfg(tokens)


def save(
    game: NormalFormGame | ExtensiveForm, path: str | PathLike[str], *, for_gambit: bool = False
) -> None:
    """Write a game to a file in Gambit's format, which :func:`~regretkit.games.load` reads.

    Parameters
    ----------
    game
        The game, in the form that the file name asks for.
    path
        The file, which ends in ``.nfg`` for a game in normal form and in ``.efg`` for one in
        extensive form. An existing file is replaced atomically.
    for_gambit
        Whether to change what Gambit refuses, as :func:`~regretkit.games.write_efg` does.

    Raises
    ------
    TypeError
        When the game does not have the form of the file name.
    OSError
        When the file cannot be written; an existing file is unchanged.
    ValueError
        When the file name has another ending.

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
        raise ValueError(f"path must end in .nfg or .efg, got {quote(str(path))}")
    text = writers[path.suffix](game, for_gambit=for_gambit)
    replace_file(path, [text.encode()])
