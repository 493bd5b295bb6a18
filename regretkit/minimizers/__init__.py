"""Rules, and other minimizers that contain no minimizers."""

from regretkit.minimizers import contrib as contrib
from regretkit.minimizers._convex_sets import BestResponse as BestResponse
from regretkit.minimizers._convex_sets import ConicBlackwell as ConicBlackwell
from regretkit.minimizers._convex_sets import OnlineGradientDescent as OnlineGradientDescent
from regretkit.minimizers._convex_sets import Point as Point
from regretkit.minimizers._convex_sets import Proximal as Proximal
from regretkit.minimizers._convex_sets import (
    ResponseBasedApproachability as ResponseBasedApproachability,
)
from regretkit.minimizers._hedge import AdaHedge as AdaHedge
from regretkit.minimizers._hedge import Hedge as Hedge
from regretkit.minimizers._hedge import NormalHedge as NormalHedge
from regretkit.minimizers._hedge import OptimisticHedge as OptimisticHedge
from regretkit.minimizers._mirror_descent import DilatedMirrorDescent as DilatedMirrorDescent
from regretkit.minimizers._mirror_descent import (
    FollowTheRegularizedLeader as FollowTheRegularizedLeader,
)
from regretkit.minimizers._mirror_descent import MagneticMirrorDescent as MagneticMirrorDescent
from regretkit.minimizers._mirror_descent import OnlineMirrorDescent as OnlineMirrorDescent
from regretkit.minimizers._mirror_descent import ReflectedMirrorDescent as ReflectedMirrorDescent
from regretkit.minimizers._regret_matching import (
    DiscountedRegretMatching as DiscountedRegretMatching,
)
from regretkit.minimizers._regret_matching import (
    DiscountedRegretMatchingPlus as DiscountedRegretMatchingPlus,
)
from regretkit.minimizers._regret_matching import LinearRegretMatching as LinearRegretMatching
from regretkit.minimizers._regret_matching import (
    PredictiveDiscountedRegretMatchingPlus as PredictiveDiscountedRegretMatchingPlus,
)
from regretkit.minimizers._regret_matching import (
    PredictiveRegretMatching as PredictiveRegretMatching,
)
from regretkit.minimizers._regret_matching import (
    PredictiveRegretMatchingPlus as PredictiveRegretMatchingPlus,
)
from regretkit.minimizers._regret_matching import RegretMatching as RegretMatching
from regretkit.minimizers._regret_matching import RegretMatchingPlus as RegretMatchingPlus
from regretkit.minimizers._regret_matching import RegretRule as RegretRule
from regretkit.minimizers._regularizers import Entropy as Entropy
from regretkit.minimizers._regularizers import Euclidean as Euclidean
from regretkit.minimizers._regularizers import LogBarrier as LogBarrier
from regretkit.minimizers._regularizers import Regularizer as Regularizer
from regretkit.minimizers._regularizers import Tsallis as Tsallis
from regretkit.minimizers._simplex_rule import SimplexRule as SimplexRule
from regretkit.minimizers._simplex_rule import state as state
