"""Colonel Blotto: simultaneous placement of soldiers on fields."""

import math
from itertools import combinations

import numpy as np

from regretkit._util._typing import Indices
from regretkit._util._validate import whole_number
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games._normal_form import NormalFormGame, matrix_game
from regretkit.games._registry import call_text, register

_COUNTED = 100
"""Limit on the binomial coefficient that is computed; no memory holds more outcomes."""


@register
def blotto(soldiers: int = 5, fields: int = 3) -> NormalFormGame:
    """Return Colonel Blotto, in which two players simultaneously place soldiers on fields.

    Each player places all of its soldiers. A field is won by the player with more of them there,
    and by neither in a tie. The player with more fields earns 1 and the other -1; with equally
    many, both earn 0. An action is named by the soldiers on each field, like ``3-1-1``, and there
    are ``comb(soldiers + fields - 1, fields - 1)`` of them.

    Parameters
    ----------
    soldiers
        Number of soldiers of each player, at least 1.
    fields
        Number of fields, at least 1.

    Examples
    --------
    >>> game = blotto()
    >>> game.payoffs.shape
    (2, 21, 21)
    >>> game.actions[0][0], game.actions[0][1], game.actions[0][20]
    ('5-0-0', '4-1-0', '0-0-5')

    References
    ----------
    Borel (1921), "La théorie du jeu et les équations intégrales à noyau symétrique", Comptes
    rendus de l'Académie des sciences 173. Rules as in OpenSpiel's ``blotto``.
    """
    soldiers = whole_number(soldiers, "soldiers", least=1)
    fields = whole_number(fields, "fields", least=1)
    # comb(n, k) is symmetric in k and n - k, and large enough at _COUNTED to be refused
    chosen = min(soldiers, fields - 1, _COUNTED)
    MemoryBudget().check_payoffs(math.comb(soldiers + fields - 1, chosen) ** 2)
    placed = _placements(soldiers, fields)
    names = ["-".join(map(str, placement)) for placement in placed.tolist()]
    # Field by field, so that only a few matrices are held at a time
    won = np.zeros((len(names), len(names)))
    for field in placed.T:
        won += np.sign(field[:, np.newaxis] - field)
    name = call_text(blotto, soldiers=soldiers, fields=fields)
    return matrix_game(np.sign(won), actions=[names, names], name=name)


def _placements(soldiers: int, fields: int) -> Indices:
    """Return all placements in descending order, ``(placements, fields)``, by stars and bars."""
    places = soldiers + fields - 1
    bars = np.array(list(combinations(range(places), fields - 1)), dtype=np.int64)[::-1]
    return np.diff(bars, prepend=-1, append=places) - 1
