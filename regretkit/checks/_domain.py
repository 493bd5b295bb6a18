"""Checks of the domain: after any utilities and predictions, the strategy is a point of it."""

import numpy as np

from regretkit.checks._helpers import Make, play, require_in_domain, utilities


def strategies_lie_in_the_domain(make: Make) -> None:
    """Require that every strategy is a point of ``domain``."""
    minimizer = make()
    for strategy in play(minimizer, utilities(minimizer)):
        require_in_domain(minimizer, strategy)


def strategies_lie_in_the_domain_after_any_prediction(make: Make) -> None:
    """Require a point of ``domain`` also after ``expect_utility``, little as much is expected."""
    minimizer = make()
    sizes = np.resize([1.0, 1e-6, 1e6], len(utilities(minimizer)))
    predictions = sizes[:, None] * utilities(minimizer, seed=1)
    for utility, prediction in zip(utilities(minimizer), predictions, strict=True):
        minimizer.expect_utility(prediction)
        require_in_domain(minimizer, minimizer.next_strategy())
        minimizer.observe_utility(utility)


def strategies_lie_in_the_domain_at_any_scale(make: Make) -> None:
    """Require a point of ``domain`` also where utilities are of size 1e-6, and of size 1e6."""
    for unit in (1e-6, 1e6):
        minimizer = make()
        for strategy in play(minimizer, unit * utilities(minimizer)):
            require_in_domain(minimizer, strategy)
