"""Evaluation of profiles: gaps, exact solutions, estimates and regrets.

A profile has a strategy for each player: a vector of its set, a function of an information set and
its actions, or a mapping from information sets to probabilities, as ``{"J": [0.8, 0.2], ...}``.
Functions and mappings must cover every information set of the player.

Linear programs raise a ``RuntimeError`` if HiGHS finds no optimum, and a ``MemoryError`` if they do
not fit into memory.
"""

from regretkit.evaluation._gaps import best_response as best_response
from regretkit.evaluation._gaps import best_response_gains as best_response_gains
from regretkit.evaluation._gaps import duality_gap as duality_gap
from regretkit.evaluation._gaps import expected_value as expected_value
from regretkit.evaluation._gaps import exploitability as exploitability
from regretkit.evaluation._gaps import nash_conv as nash_conv
from regretkit.evaluation._gaps import security_value as security_value
from regretkit.evaluation._hold_em import hold_em_report as hold_em_report
from regretkit.evaluation._local_best_response import (
    local_best_response as local_best_response,
)
from regretkit.evaluation._local_best_response import (
    sampled_local_best_response as sampled_local_best_response,
)
from regretkit.evaluation._monte_carlo import Estimate as Estimate
from regretkit.evaluation._monte_carlo import sampled_value as sampled_value
from regretkit.evaluation._normal_form import Elimination as Elimination
from regretkit.evaluation._normal_form import dominated_actions as dominated_actions
from regretkit.evaluation._normal_form import eliminate_dominated as eliminate_dominated
from regretkit.evaluation._normal_form import pareto_optimal_outcomes as pareto_optimal_outcomes
from regretkit.evaluation._normal_form import pure_equilibria as pure_equilibria
from regretkit.evaluation._regret_ledger import RegretLedger as RegretLedger
from regretkit.evaluation.correlated._distributions import (
    CorrelatedEquilibrium as CorrelatedEquilibrium,
)
from regretkit.evaluation.correlated._distributions import (
    best_correlated_equilibrium as best_correlated_equilibrium,
)
from regretkit.evaluation.correlated._distributions import cce_gaps as cce_gaps
from regretkit.evaluation.correlated._distributions import ce_gaps as ce_gaps
from regretkit.evaluation.correlated._mediator import MediatorGame as MediatorGame
from regretkit.evaluation.correlated._plans import CorrelatedPlan as CorrelatedPlan
from regretkit.evaluation.correlated._play import CorrelatedPlay as CorrelatedPlay
from regretkit.evaluation.correlated._programs import (
    ExtensiveFormCorrelatedEquilibrium as ExtensiveFormCorrelatedEquilibrium,
)
from regretkit.evaluation.correlated._programs import TeamMaxmin as TeamMaxmin
from regretkit.evaluation.correlated._programs import (
    best_extensive_form_correlated_equilibrium as best_extensive_form_correlated_equilibrium,
)
from regretkit.evaluation.correlated._programs import team_maxmin as team_maxmin
from regretkit.evaluation.exact._certificate import Certificate as Certificate
from regretkit.evaluation.exact._certificate import Deviation as Deviation
from regretkit.evaluation.exact._certify import certify as certify
from regretkit.evaluation.exact._certify import certify_gaps as certify_gaps
from regretkit.evaluation.exact._finish import finish as finish
from regretkit.evaluation.exact._linear_programs import ExactSolution as ExactSolution
from regretkit.evaluation.exact._linear_programs import SecurityLevel as SecurityLevel
from regretkit.evaluation.exact._linear_programs import maxmin as maxmin
from regretkit.evaluation.exact._linear_programs import solve_zero_sum as solve_zero_sum
