"""Leaves: rules that play without other minimizers, one family a file."""

from regretkit.minimizers._kernel import Kernel as Kernel
from regretkit.minimizers._kernel import KernelTraits as KernelTraits
from regretkit.minimizers.adaptive_hedge import AdaHedge as AdaHedge
from regretkit.minimizers.adaptive_hedge import NormalHedge as NormalHedge
from regretkit.minimizers.adaptive_hedge import NormalPotential as NormalPotential
from regretkit.minimizers.asymmetric import (
    AdaptiveAsymmetricRegretMatchingPlus as AdaptiveAsymmetricRegretMatchingPlus,
)
from regretkit.minimizers.asymmetric import (
    AsymmetricRegretMatchingPlus as AsymmetricRegretMatchingPlus,
)
from regretkit.minimizers.by_roles import AbstractByRoles as AbstractByRoles
from regretkit.minimizers.by_roles import ByRoles as ByRoles
from regretkit.minimizers.conic_blackwell import ConicBlackwell as ConicBlackwell
from regretkit.minimizers.dilated import DilatedMirrorDescent as DilatedMirrorDescent
from regretkit.minimizers.discounted_plus import (
    DiscountedRegretMatchingPlus as DiscountedRegretMatchingPlus,
)
from regretkit.minimizers.discounted_plus import (
    PredictiveDiscountedRegretMatchingPlus as PredictiveDiscountedRegretMatchingPlus,
)
from regretkit.minimizers.extragradient import (
    ExtragradientRegretMatchingPlus as ExtragradientRegretMatchingPlus,
)
from regretkit.minimizers.fixed import BestResponse as BestResponse
from regretkit.minimizers.fixed import Point as Point
from regretkit.minimizers.gradient_descent import OnlineGradientDescent as OnlineGradientDescent
from regretkit.minimizers.gradient_descent import Projectable as Projectable
from regretkit.minimizers.hedge import Hedge as Hedge
from regretkit.minimizers.hedge import OptimisticHedge as OptimisticHedge
from regretkit.minimizers.horizon import ScheduledRegretMatching as ScheduledRegretMatching
from regretkit.minimizers.invariant_norm import (
    NormKeepingRegretMatchingPlus as NormKeepingRegretMatchingPlus,
)
from regretkit.minimizers.magnetic import Magnetic as Magnetic
from regretkit.minimizers.magnetic import MagneticMirrorDescent as MagneticMirrorDescent
from regretkit.minimizers.memories import Cumulative as Cumulative
from regretkit.minimizers.memories import Discounted as Discounted
from regretkit.minimizers.memories import DiscountedPlus as DiscountedPlus
from regretkit.minimizers.memories import LinearAccumulator as LinearAccumulator
from regretkit.minimizers.memories import Plus as Plus
from regretkit.minimizers.memories import ScheduledDiscount as ScheduledDiscount
from regretkit.minimizers.memories_adaptive import LearningTrust as LearningTrust
from regretkit.minimizers.memories_adaptive import NormKeeping as NormKeeping
from regretkit.minimizers.memories_smooth import Restarting as Restarting
from regretkit.minimizers.memories_smooth import Smooth as Smooth
from regretkit.minimizers.memories_smooth import SmoothCorrected as SmoothCorrected
from regretkit.minimizers.mirror_descent import Anchored as Anchored
from regretkit.minimizers.mirror_descent import (
    FollowTheRegularizedLeader as FollowTheRegularizedLeader,
)
from regretkit.minimizers.mirror_descent import Leader as Leader
from regretkit.minimizers.mirror_descent import OnlineMirrorDescent as OnlineMirrorDescent
from regretkit.minimizers.playing import Exponential as Exponential
from regretkit.minimizers.playing import Proportional as Proportional
from regretkit.minimizers.playing import SmoothProportional as SmoothProportional
from regretkit.minimizers.predictive import PredictiveRegretMatching as PredictiveRegretMatching
from regretkit.minimizers.predictive import (
    PredictiveRegretMatchingPlus as PredictiveRegretMatchingPlus,
)
from regretkit.minimizers.predictors import LastUtility as LastUtility
from regretkit.minimizers.predictors import NoPrediction as NoPrediction
from regretkit.minimizers.predictors import ToldUtility as ToldUtility
from regretkit.minimizers.predictors import Trusted as Trusted
from regretkit.minimizers.predictors import Weighted as Weighted
from regretkit.minimizers.proximal import Proximal as Proximal
from regretkit.minimizers.reflected import Reflected as Reflected
from regretkit.minimizers.reflected import ReflectedMirrorDescent as ReflectedMirrorDescent
from regretkit.minimizers.regret_matching import (
    DiscountedRegretMatching as DiscountedRegretMatching,
)
from regretkit.minimizers.regret_matching import LinearRegretMatching as LinearRegretMatching
from regretkit.minimizers.regret_matching import RegretMatching as RegretMatching
from regretkit.minimizers.regret_matching import RegretMatchingPlus as RegretMatchingPlus
from regretkit.minimizers.regularizers import Entropy as Entropy
from regretkit.minimizers.regularizers import Euclidean as Euclidean
from regretkit.minimizers.regularizers import LogBarrier as LogBarrier
from regretkit.minimizers.regularizers import Regularizer as Regularizer
from regretkit.minimizers.regularizers import Tsallis as Tsallis
from regretkit.minimizers.roles import Memory as Memory
from regretkit.minimizers.roles import PlayingRule as PlayingRule
from regretkit.minimizers.roles import Predictor as Predictor
from regretkit.minimizers.roles import State as State
from regretkit.minimizers.simplex_rule import SimplexRule as SimplexRule
from regretkit.minimizers.simplex_rule import state as state
from regretkit.minimizers.smooth import (
    SmoothOptimisticRegretMatchingPlus as SmoothOptimisticRegretMatchingPlus,
)
from regretkit.minimizers.smooth import (
    SmoothPredictiveRegretMatchingPlus as SmoothPredictiveRegretMatchingPlus,
)
from regretkit.minimizers.stable import (
    StablePredictiveRegretMatchingPlus as StablePredictiveRegretMatchingPlus,
)
