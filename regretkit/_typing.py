"""The two array types that the whole library speaks."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.signedinteger[Any]]
"""Of int64, or of int32 where there are very many and that is enough."""
