"""Evaluation: what came of play, measured."""

from typing import TYPE_CHECKING

from regretkit._lazily import lazily
from regretkit.evaluation.correlated import CorrelatedPlay as CorrelatedPlay
from regretkit.evaluation.correlated import cce_gaps as cce_gaps
from regretkit.evaluation.correlated import ce_gaps as ce_gaps
from regretkit.evaluation.gaps import best_response as best_response
from regretkit.evaluation.gaps import expected_value as expected_value
from regretkit.evaluation.gaps import exploitability as exploitability
from regretkit.evaluation.gaps import gains as gains
from regretkit.evaluation.gaps import nash_conv as nash_conv
from regretkit.evaluation.gaps import saddle_gap as saddle_gap
from regretkit.evaluation.gaps import worst_case_value as worst_case_value
from regretkit.evaluation.ledger import Ledger as Ledger
from regretkit.evaluation.zero_sum import ExactSolution as ExactSolution
from regretkit.evaluation.zero_sum import solve_zero_sum as solve_zero_sum

# Loaded when asked for, so that importing the library stays quick
_LATER = {
    "cleaning": "Cleaned purify threshold",
    "correlated_programs": (
        "CorrelatedEquilibrium best_coarse_correlated_equilibrium best_correlated_equilibrium"
    ),
    "dominance": "Elimination dominated_actions eliminate_dominated",
    "estimate": "Estimate",
    "local_response": "local_best_response sampled_local_best_response",
    "pure": "pareto_optimal_outcomes pure_equilibria",
    "sampled_play": "sampled_value",
    "security": "Guarantee maxmin minmax",
}
if TYPE_CHECKING:
    from regretkit.evaluation.cleaning import Cleaned as Cleaned
    from regretkit.evaluation.cleaning import purify as purify
    from regretkit.evaluation.cleaning import threshold as threshold
    from regretkit.evaluation.correlated_programs import (
        CorrelatedEquilibrium as CorrelatedEquilibrium,
    )
    from regretkit.evaluation.correlated_programs import (
        best_coarse_correlated_equilibrium as best_coarse_correlated_equilibrium,
    )
    from regretkit.evaluation.correlated_programs import (
        best_correlated_equilibrium as best_correlated_equilibrium,
    )
    from regretkit.evaluation.dominance import Elimination as Elimination
    from regretkit.evaluation.dominance import dominated_actions as dominated_actions
    from regretkit.evaluation.dominance import eliminate_dominated as eliminate_dominated
    from regretkit.evaluation.estimate import Estimate as Estimate
    from regretkit.evaluation.local_response import local_best_response as local_best_response
    from regretkit.evaluation.local_response import (
        sampled_local_best_response as sampled_local_best_response,
    )
    from regretkit.evaluation.pure import pareto_optimal_outcomes as pareto_optimal_outcomes
    from regretkit.evaluation.pure import pure_equilibria as pure_equilibria
    from regretkit.evaluation.sampled_play import sampled_value as sampled_value
    from regretkit.evaluation.security import Guarantee as Guarantee
    from regretkit.evaluation.security import maxmin as maxmin
    from regretkit.evaluation.security import minmax as minmax
else:
    __getattr__, __dir__, __all__ = lazily(__name__, _LATER)
