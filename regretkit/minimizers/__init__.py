"""Leaves: rules that play without other minimizers."""

from regretkit.minimizers import contrib as contrib
from regretkit.minimizers._adapter import Adapter as Adapter
from regretkit.minimizers._convex_sets import BestResponse as BestResponse
from regretkit.minimizers._convex_sets import ConicBlackwell as ConicBlackwell
from regretkit.minimizers._convex_sets import OnlineGradientDescent as OnlineGradientDescent
from regretkit.minimizers._convex_sets import Point as Point
from regretkit.minimizers._convex_sets import Projectable as Projectable
from regretkit.minimizers._convex_sets import Proximal as Proximal
from regretkit.minimizers._convex_sets import (
    ResponseBasedApproachability as ResponseBasedApproachability,
)
from regretkit.minimizers._hedge import AdaHedge as AdaHedge
from regretkit.minimizers._hedge import Hedge as Hedge
from regretkit.minimizers._hedge import NormalHedge as NormalHedge
from regretkit.minimizers._hedge import NormalHedgeLink as NormalHedgeLink
from regretkit.minimizers._hedge import OptimisticHedge as OptimisticHedge
from regretkit.minimizers._mirror_descent import AgileProjection as AgileProjection
from regretkit.minimizers._mirror_descent import DilatedMirrorDescent as DilatedMirrorDescent
from regretkit.minimizers._mirror_descent import (
    FollowTheRegularizedLeader as FollowTheRegularizedLeader,
)
from regretkit.minimizers._mirror_descent import MagneticMirrorDescent as MagneticMirrorDescent
from regretkit.minimizers._mirror_descent import OnlineMirrorDescent as OnlineMirrorDescent
from regretkit.minimizers._mirror_descent import ProximalToReference as ProximalToReference
from regretkit.minimizers._mirror_descent import Reflected as Reflected
from regretkit.minimizers._mirror_descent import ReflectedMirrorDescent as ReflectedMirrorDescent
from regretkit.minimizers._mirror_descent import RegularizedLeaderLink as RegularizedLeaderLink
from regretkit.minimizers._regret_matching import Composed as Composed
from regretkit.minimizers._regret_matching import ComposedRule as ComposedRule
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
from regretkit.minimizers._regularizers import Entropy as Entropy
from regretkit.minimizers._regularizers import Euclidean as Euclidean
from regretkit.minimizers._regularizers import LogBarrier as LogBarrier
from regretkit.minimizers._regularizers import Regularizer as Regularizer
from regretkit.minimizers._regularizers import Tsallis as Tsallis
from regretkit.minimizers._roles import Accumulator as Accumulator
from regretkit.minimizers._roles import AdaptiveStep as AdaptiveStep
from regretkit.minimizers._roles import Cumulative as Cumulative
from regretkit.minimizers._roles import Discounted as Discounted
from regretkit.minimizers._roles import DiscountedNonNegative as DiscountedNonNegative
from regretkit.minimizers._roles import ExternalPrediction as ExternalPrediction
from regretkit.minimizers._roles import LastUtilityPrediction as LastUtilityPrediction
from regretkit.minimizers._roles import LinearAccumulator as LinearAccumulator
from regretkit.minimizers._roles import LinkFunction as LinkFunction
from regretkit.minimizers._roles import NonNegative as NonNegative
from regretkit.minimizers._roles import NoPrediction as NoPrediction
from regretkit.minimizers._roles import PositivePartLink as PositivePartLink
from regretkit.minimizers._roles import Predictor as Predictor
from regretkit.minimizers._roles import SoftmaxLink as SoftmaxLink
from regretkit.minimizers._roles import State as State
from regretkit.minimizers._roles import Weighted as Weighted
from regretkit.minimizers._simplex_rule import SimplexRule as SimplexRule
from regretkit.minimizers._simplex_rule import state as state
from regretkit.trace._kernel import Kernel as Kernel
from regretkit.trace._kernel import KernelTraits as KernelTraits
