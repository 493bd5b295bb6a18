"""The part of a state that belongs to some blocks of simplices."""

from collections.abc import Mapping, Sequence

import numpy as np

from regretkit._util._state import Leaf, StateDict
from regretkit.sets import Simplices, StrategySet


def cut(
    state: Mapping[str, Leaf | StateDict], domain: StrategySet, blocks: Sequence[int]
) -> StateDict:
    """Cut every array with a number for each action, or each block, of a domain to some blocks.

    A number for a single block comes as a number. What has another shape comes whole.
    """
    here: StateDict = {}
    for name, value in state.items():
        here[name] = value
        if isinstance(value, dict):
            here[name] = cut(value, domain, blocks)
        elif isinstance(value, np.ndarray) and isinstance(domain, Simplices):
            if value.shape == (domain.dimension,):
                here[name] = value[domain.coordinates(blocks)]
            elif value.shape == (domain.blocks,):
                here[name] = value[list(blocks)] if len(blocks) > 1 else value[blocks[0]].item()
    return here
