"""Reader of the endgames that were published with Libratus."""

import itertools
import math
import re
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from regretkit._util._validate import quote
from regretkit.games.poker._cards import RANKS, card_of, deck_cards, read_board

_STACK = 20_000
"""Chips of each player before the hand, of blinds of 50 and 100."""

_HANDS = 1326


def read_libratus(path: str | PathLike[str]) -> dict[str, Any]:
    r"""Return board, ranges, pot and stack of an endgame, as ``hold_em`` takes them.

    Parameters
    ----------
    path
        A text file with lines ``-round 4``, ``-board 4s8hTc9h2s``, ``-pot 500``, and
        ``-reach`` with 1,326 numbers for each player, of whom the first acts first. The order of
        hands is 2s2h, 2s2d, 2s2c, 2s3s, ..., AdAc.

    Returns
    -------
    dict
        Arguments of ``hold_em``. Each player has 20,000 chips, less half of the pot.

    Raises
    ------
    OSError
        When the file cannot be read.
    ValueError
        When it is no such file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> reach = "-reach " + " ".join(["0.5"] * 2652)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "endgame.txt")
    ...     text = f"-round 4\n-board 4s8hTc9h2s\n-pot 500\n{reach}\n"
    ...     _ = path.write_text(text)
    ...     endgame = read_libratus(path)
    >>> endgame["board"], endgame["pot"], endgame["stack"]
    ('4s8hTc9h2s', 500, 19750)

    References
    ----------
    Brown and Sandholm (2018), "Superhuman AI for heads-up no-limit poker: Libratus beats top
    professionals", Science 359. The files are those of the repository LibratusEndgames.
    """
    fields: dict[str, str] = {}
    for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, value = line.strip().partition(" ")
        fields[name] = value
    board, pot, reach = (fields.get(name, "") for name in ("-board", "-pot", "-reach"))
    read_board(board, deck_cards("2-A"))
    if not re.fullmatch(r"\d{1,5}", pot, re.ASCII) or not 0 < int(pot) < 2 * _STACK:
        raise _unreadable(path, f"whole chips below {2 * _STACK:,} in a line -pot")
    numbers = np.fromiter(map(_number, reach.split()), dtype=np.float64).reshape(-1)
    if numbers.size != 2 * _HANDS or not (np.isfinite(numbers) & (numbers >= 0.0)).all():
        raise _unreadable(path, f"{2 * _HANDS:,} finite numbers, at least 0, in a line -reach")
    cards = [card_of(rank + suit) for rank in RANKS for suit in "shdc"]
    theirs = np.sort(np.array(list(itertools.combinations(cards, 2))))
    ours = np.lexsort((theirs[:, 1], theirs[:, 0]))
    return {
        "board": board,
        "ranges": (numbers[:_HANDS][ours], numbers[_HANDS:][ours]),
        "pot": int(pot),
        "stack": _STACK - int(pot) // 2,
    }


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _unreadable(path: str | PathLike[str], wanted: str) -> ValueError:
    return ValueError(f"{quote(str(path))} is no endgame of Libratus: it must have {wanted}")
