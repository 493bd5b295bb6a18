"""Coordinates as slices where they are consecutive: a view and not a copy."""

from typing import TypeAlias

import numpy as np

from regretkit._util._typing import Indices

Where: TypeAlias = slice | Indices


def as_where(coordinates: Indices) -> Where:
    """Return ``coordinates`` as a slice if each follows the one before it."""
    if coordinates.size and (np.diff(coordinates) == 1).all():
        return slice(int(coordinates[0]), int(coordinates[-1]) + 1)
    return coordinates
