"""Estimators that sample, by name and seed."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from regretkit._util._validate import did_you_mean, quote, whole_number
from regretkit.estimators._baselines import LearnedBaseline
from regretkit.estimators._chance import ChanceSampling
from regretkit.estimators._estimator import Estimator
from regretkit.estimators._mccfr import ExternalSampling, OutcomeSampling

SAMPLINGS: Mapping[str, Callable[[np.random.Generator], Estimator]] = MappingProxyType(
    {
        "chance": ChanceSampling,
        "external": ExternalSampling,
        "outcome": OutcomeSampling,
        "outcome-baseline": lambda draws: OutcomeSampling(draws, baseline=LearnedBaseline()),
    }
)
"""Estimators by the names that ``solve`` and the command line take."""


def sampling_estimator(sampling: str, seed: int | np.random.Generator = 0) -> Estimator:
    """Return a new estimator that samples, or refuse the name or the seed."""
    if not isinstance(sampling, str):
        raise TypeError(
            f"sampling must be a name, got {quote(sampling)}; pass an estimator as estimator="
        )
    if sampling not in SAMPLINGS:
        raise ValueError(
            f"sampling must be one of {', '.join(map(repr, SAMPLINGS))}, got {quote(sampling)}"
            f"{did_you_mean(sampling.lower(), SAMPLINGS)}"
        )
    if not isinstance(seed, np.random.Generator):
        seed = np.random.default_rng(whole_number(seed, "seed", least=0))
    return SAMPLINGS[sampling](seed)
