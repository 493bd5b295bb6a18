"""Evaluation: gaps, exact answers, estimates and regrets.

A profile has for each player a vector of its set, a function of an information set and its actions,
or a mapping from information sets to probabilities, as ``{"J": [0.8, 0.2], ...}``; functions and
mappings say what is played at every information set of the player.

Every function raises ``TypeError`` or ``ValueError`` where an argument is not what its description
says, such as a profile that does not have one strategy for each player; linear programs raise
``RuntimeError`` where HiGHS finds no optimum.
"""

from regretkit.evaluation._certificate import Certificate as Certificate
from regretkit.evaluation._correlated import CorrelatedEquilibrium as CorrelatedEquilibrium
from regretkit.evaluation._correlated import (
    best_coarse_correlated_equilibrium as best_coarse_correlated_equilibrium,
)
from regretkit.evaluation._correlated import (
    best_correlated_equilibrium as best_correlated_equilibrium,
)
from regretkit.evaluation._correlated import cce_gaps as cce_gaps
from regretkit.evaluation._correlated import ce_gaps as ce_gaps
from regretkit.evaluation._correlated_plans import CorrelatedPlan as CorrelatedPlan
from regretkit.evaluation._correlated_play import CorrelatedPlay as CorrelatedPlay
from regretkit.evaluation._extensive_correlated import (
    ExtensiveFormCorrelatedEquilibrium as ExtensiveFormCorrelatedEquilibrium,
)
from regretkit.evaluation._extensive_correlated import MediatorGame as MediatorGame
from regretkit.evaluation._extensive_correlated import TeamMaxmin as TeamMaxmin
from regretkit.evaluation._extensive_correlated import (
    best_extensive_form_correlated_equilibrium as best_extensive_form_correlated_equilibrium,
)
from regretkit.evaluation._extensive_correlated import team_maxmin as team_maxmin
from regretkit.evaluation._finish import finish as finish
from regretkit.evaluation._gap_certificate import Deviation as Deviation
from regretkit.evaluation._gap_certificate import GapCertificate as GapCertificate
from regretkit.evaluation._gap_certificate import certify_gaps as certify_gaps
from regretkit.evaluation._gaps import best_response as best_response
from regretkit.evaluation._gaps import best_response_gains as best_response_gains
from regretkit.evaluation._gaps import duality_gap as duality_gap
from regretkit.evaluation._gaps import expected_value as expected_value
from regretkit.evaluation._gaps import exploitability as exploitability
from regretkit.evaluation._gaps import nash_conv as nash_conv
from regretkit.evaluation._gaps import security_value as security_value
from regretkit.evaluation._hold_em import hold_em_report as hold_em_report
from regretkit.evaluation._hold_em import hold_em_table as hold_em_table
from regretkit.evaluation._linear_programs import ExactSolution as ExactSolution
from regretkit.evaluation._linear_programs import SecurityLevel as SecurityLevel
from regretkit.evaluation._linear_programs import maxmin as maxmin
from regretkit.evaluation._linear_programs import minmax as minmax
from regretkit.evaluation._linear_programs import solve_zero_sum as solve_zero_sum
from regretkit.evaluation._local_best_response import (
    local_best_response as local_best_response,
)
from regretkit.evaluation._local_best_response import (
    sampled_local_best_response as sampled_local_best_response,
)
from regretkit.evaluation._monte_carlo import Estimate as Estimate
from regretkit.evaluation._monte_carlo import sampled_value as sampled_value
from regretkit.evaluation._normal_form import Elimination as Elimination
from regretkit.evaluation._normal_form import QuantalResponse as QuantalResponse
from regretkit.evaluation._normal_form import dominated_actions as dominated_actions
from regretkit.evaluation._normal_form import eliminate_dominated as eliminate_dominated
from regretkit.evaluation._normal_form import nash_equilibria as nash_equilibria
from regretkit.evaluation._normal_form import pareto_optimal_outcomes as pareto_optimal_outcomes
from regretkit.evaluation._normal_form import pure_equilibria as pure_equilibria
from regretkit.evaluation._normal_form import quantal_response_path as quantal_response_path
from regretkit.evaluation._purification import PurifiedProfile as PurifiedProfile
from regretkit.evaluation._purification import purify as purify
from regretkit.evaluation._purification import threshold as threshold
from regretkit.evaluation._rational import certify as certify
from regretkit.evaluation._regret_ledger import RegretLedger as RegretLedger
