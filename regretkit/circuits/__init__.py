"""Circuits: minimizers of bigger sets out of minimizers of smaller ones."""

from regretkit._util._lazy_import import say_where as _say_where
from regretkit.circuits._base import LocalRule as LocalRule
from regretkit.circuits._base import check_distinct as check_distinct
from regretkit.circuits._cfr import CFR as CFR
from regretkit.circuits._cfr import ByDecisionPoint as ByDecisionPoint
from regretkit.circuits._cfr import DecisionPoint as DecisionPoint
from regretkit.circuits._cfr import PerDecisionPoint as PerDecisionPoint
from regretkit.circuits._cfr import SharedStrategies as SharedStrategies
from regretkit.circuits._cfr import SharedStrategy as SharedStrategy
from regretkit.circuits._cfr import circuit as circuit
from regretkit.circuits._constrained import Constrained as Constrained
from regretkit.circuits._efr import DEVIATION_TYPES as DEVIATION_TYPES
from regretkit.circuits._efr import EFR as EFR
from regretkit.circuits._efr import Deviations as Deviations
from regretkit.circuits._maps import DeviationSet as DeviationSet
from regretkit.circuits._maps import FiniteDeviations as FiniteDeviations
from regretkit.circuits._maps import LinearDeviations as LinearDeviations
from regretkit.circuits._maps import MarkovDeviations as MarkovDeviations
from regretkit.circuits._maps import StochasticMatrices as StochasticMatrices
from regretkit.circuits._maps import constant_maps as constant_maps
from regretkit.circuits._maps import internal_maps as internal_maps
from regretkit.circuits._operations import AffineImage as AffineImage
from regretkit.circuits._operations import ConvexHull as ConvexHull
from regretkit.circuits._operations import MinkowskiSum as MinkowskiSum
from regretkit.circuits._operations import Product as Product
from regretkit.circuits._operations import Scaled as Scaled
from regretkit.circuits._phi_regret import AveragedPowerIterate as AveragedPowerIterate
from regretkit.circuits._phi_regret import FixedPoint as FixedPoint
from regretkit.circuits._phi_regret import PhiRegret as PhiRegret
from regretkit.circuits._phi_regret import SwapRegret as SwapRegret
from regretkit.circuits._phi_regret import TreeSwap as TreeSwap
from regretkit.circuits._phi_regret import linear_swap_regret as linear_swap_regret
from regretkit.circuits._phi_regret import stationary as stationary
from regretkit.circuits._phi_regret import trigger_regret as trigger_regret
from regretkit.circuits._stationary import stationary_distribution as stationary_distribution
from regretkit.circuits._trigger import TriggerDeviations as TriggerDeviations
from regretkit.circuits._wrappers import Discount as Discount
from regretkit.circuits._wrappers import ExplorationMixture as ExplorationMixture
from regretkit.circuits._wrappers import Freeze as Freeze
from regretkit.circuits._wrappers import LastIterateByAveraging as LastIterateByAveraging
from regretkit.circuits._wrappers import Restart as Restart
from regretkit.circuits._wrappers import Thresholded as Thresholded

_say_where(__name__)
