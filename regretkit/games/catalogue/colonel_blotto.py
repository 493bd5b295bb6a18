"""Colonel Blotto: where to send how many soldiers."""

import math
from collections.abc import Iterator

import numpy as np

from regretkit._validate import whole_number
from regretkit.games._memory import Room
from regretkit.games.normal_form import NormalFormGame, matrix_game
from regretkit.games.registry import call_text, register


@register
def blotto(soldiers: int = 5, fields: int = 3) -> NormalFormGame:
    """Return Colonel Blotto, in which two players place their soldiers on fields at once.

    Each player places all of its soldiers. A field is won by whoever has more of them there, and
    by nobody where both have as many. Who wins more fields earns 1 and the other -1; with as many
    fields each, both earn 0. An action is named by the soldiers on each field, like ``3-1-1``,
    and there are ``comb(soldiers + fields - 1, fields - 1)`` of them.

    Parameters
    ----------
    soldiers
        Number of soldiers of each player, at least 1.
    fields
        Number of fields, at least 1.

    Raises
    ------
    TypeError
        When an argument is not a whole number.
    ValueError
        When an argument is below 1.
    MemoryError
        When there are more outcomes than memory has room for.

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
    Room(None).check_payoffs(math.comb(soldiers + fields - 1, fields - 1) ** 2)
    placements = list(_placements(soldiers, fields))
    names = ["-".join(map(str, placement)) for placement in placements]
    placed = np.array(placements)
    # Field by field, so that memory holds no more than a few matrices
    won = np.zeros((len(names), len(names)))
    for field in placed.T:
        won += np.sign(field[:, np.newaxis] - field)
    name = call_text(blotto, soldiers=soldiers, fields=fields)
    return matrix_game(np.sign(won), actions=[names, names], name=name)


def _placements(soldiers: int, fields: int) -> Iterator[tuple[int, ...]]:
    """Yield every way of placing all soldiers, with as many as possible in front first."""
    if fields == 1:
        yield (soldiers,)
        return
    for here in range(soldiers, -1, -1):
        for others in _placements(soldiers - here, fields - 1):
            yield (here, *others)
