"""The endgames of Libratus as arguments of ``hold_em``.

Brown and Sandholm (2018), "Superhuman AI for heads-up no-limit poker: Libratus beats top
professionals", Science 359. The files are those of the repository LibratusEndgames.
"""

import itertools
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

_STACK = 20_000
"""Chips of each player before the hand, with blinds of 50 and 100."""


def read_libratus(path: str | PathLike[str]) -> dict[str, Any]:
    """Return board, ranges, pot and stack of an endgame, as arguments of ``hold_em``.

    A file has lines ``-board 4s8hTc9h2s``, ``-pot 500``, and ``-reach`` with 1,326 numbers for each
    player; the first player acts first. The order of hands is 2s2h, 2s2d, 2s2c, 2s3s, ..., AdAc.
    """
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    fields: dict[str, str] = {}
    for line in lines:
        name, _, fields[name] = line.strip().partition(" ")
    ranges = np.array(fields["-reach"].split(), dtype=np.float64).reshape(2, 1326)
    # regretkit numbers cards by rank, then by suit in the order cdhs; the files have the order shdc
    cards = [4 * rank + "cdhs".index(suit) for rank in range(13) for suit in "shdc"]
    hands = np.sort(np.array(list(itertools.combinations(cards, 2))))
    pot = int(fields["-pot"])
    return {
        "board": fields["-board"],
        "ranges": tuple(ranges[:, np.lexsort((hands[:, 1], hands[:, 0]))]),
        "pot": pot,
        "stack": _STACK - pot // 2,
    }
