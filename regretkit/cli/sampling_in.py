"""Sampling as a shell asks for it: by the name of an estimator, and a seed."""

from collections.abc import Callable
from types import MappingProxyType

import numpy as np

from regretkit._util._validate import quote
from regretkit.cli.exits import Refusal
from regretkit.play import ChanceSampling, Estimator, ExternalSampling, OutcomeSampling

SAMPLERS: MappingProxyType[str, Callable[[np.random.Generator], Estimator]] = MappingProxyType(
    {"chance": ChanceSampling, "external": ExternalSampling, "outcome": OutcomeSampling}
)
"""The estimators that need nothing but a generator, by what to call them."""


def estimator_of(name: str | None, seed: int | None) -> Estimator | None:
    """Return a new estimator that draws from a seed, None where nothing is to be drawn."""
    if name is None:
        if seed is not None:
            raise Refusal(
                f"--seed: got {seed}, but nothing is drawn at random without --sample "
                f"{' or '.join(SAMPLERS)}; leave it out"
            )
        return None
    if name not in SAMPLERS:
        raise Refusal(f"--sample: must be one of {', '.join(SAMPLERS)}, got {quote(name)}")
    return SAMPLERS[name](np.random.default_rng(0 if seed is None else seed))
