"""Self-play: minimizers play games, by orders, averagings and estimators."""

from typing import TYPE_CHECKING

from regretkit._state import Stateful as Stateful
from regretkit._util._lazy_import import lazy_import
from regretkit.averaging import Average as Average
from regretkit.averaging import Averaging as Averaging
from regretkit.averaging import HorizonPower as HorizonPower
from regretkit.averaging import Last as Last
from regretkit.averaging import Linear as Linear
from regretkit.averaging import Power as Power
from regretkit.averaging import Quadratic as Quadratic
from regretkit.averaging import Uniform as Uniform
from regretkit.estimators import AverageStrategySampling as AverageStrategySampling
from regretkit.estimators import BanditFeedback as BanditFeedback
from regretkit.estimators import Baseline as Baseline
from regretkit.estimators import ChanceSampling as ChanceSampling
from regretkit.estimators import Estimator as Estimator
from regretkit.estimators import ExactBaseline as ExactBaseline
from regretkit.estimators import ExactUtility as ExactUtility
from regretkit.estimators import ExternalSampling as ExternalSampling
from regretkit.estimators import LearnedBaseline as LearnedBaseline
from regretkit.estimators import OutcomeSampling as OutcomeSampling
from regretkit.estimators import PublicChanceSampling as PublicChanceSampling
from regretkit.estimators import RobustSampling as RobustSampling
from regretkit.estimators import assert_unbiased as assert_unbiased
from regretkit.play._algorithms import ALGORITHMS as ALGORITHMS
from regretkit.play._algorithms import Algorithm as Algorithm
from regretkit.play._algorithms import AlgorithmLike as AlgorithmLike
from regretkit.play._algorithms import apcfr_plus as apcfr_plus
from regretkit.play._algorithms import cfr as cfr
from regretkit.play._algorithms import cfr_plus as cfr_plus
from regretkit.play._algorithms import dcfr as dcfr
from regretkit.play._algorithms import dcfr_plus as dcfr_plus
from regretkit.play._algorithms import hs_dcfr as hs_dcfr
from regretkit.play._algorithms import hs_pcfr_plus as hs_pcfr_plus
from regretkit.play._algorithms import lcfr as lcfr
from regretkit.play._algorithms import mccfr as mccfr
from regretkit.play._algorithms import named as named
from regretkit.play._algorithms import pcfr_plus as pcfr_plus
from regretkit.play._algorithms import pdcfr_plus as pdcfr_plus
from regretkit.play._algorithms import sapcfr_plus as sapcfr_plus
from regretkit.play._callbacks import AtGeometricSteps as AtGeometricSteps
from regretkit.play._callbacks import Callback as Callback
from regretkit.play._callbacks import Every as Every
from regretkit.play._callbacks import StopAtGap as StopAtGap
from regretkit.play._callbacks import StopAtTime as StopAtTime
from regretkit.play._callbacks import StopWhenConverged as StopWhenConverged
from regretkit.play._checkpoint import Checkpoint as Checkpoint
from regretkit.play._checkpoint import resume as resume
from regretkit.play._engines import EngineReport as EngineReport
from regretkit.play._orders import Alternating as Alternating
from regretkit.play._orders import Extragradient as Extragradient
from regretkit.play._orders import Order as Order
from regretkit.play._orders import RandomPlayer as RandomPlayer
from regretkit.play._orders import Simultaneous as Simultaneous
from regretkit.play._orders import UpdateContext as UpdateContext
from regretkit.play._orders import UpdateSchedule as UpdateSchedule
from regretkit.play._recorder import Recorder as Recorder
from regretkit.play._recorder import TrajectoryRecorder as TrajectoryRecorder
from regretkit.play._recorder import TrajectoryRow as TrajectoryRow
from regretkit.play._self_play import SelfPlay as SelfPlay
from regretkit.play._solve import solve as solve

# Loaded when asked for, so that importing the library stays quick
_LATER = {
    "_best_response_play": "BestResponsePlay best_response_play",
    "_comparison": "ComparedRun Comparison compare",
    "_fsicfr": "FixedStrategyIteration",
    "_lazy_mccfr": "LazyMCCFR",
    "_matches": ("Agent RoundObserver HumanAgent Match Observation Round StrategyAgent play_match"),
}
if TYPE_CHECKING:
    from regretkit.play._best_response_play import BestResponsePlay as BestResponsePlay
    from regretkit.play._best_response_play import best_response_play as best_response_play
    from regretkit.play._comparison import ComparedRun as ComparedRun
    from regretkit.play._comparison import Comparison as Comparison
    from regretkit.play._comparison import compare as compare
    from regretkit.play._fsicfr import FixedStrategyIteration as FixedStrategyIteration
    from regretkit.play._lazy_mccfr import LazyMCCFR as LazyMCCFR
    from regretkit.play._matches import Agent as Agent
    from regretkit.play._matches import HumanAgent as HumanAgent
    from regretkit.play._matches import Match as Match
    from regretkit.play._matches import Observation as Observation
    from regretkit.play._matches import Round as Round
    from regretkit.play._matches import RoundObserver as RoundObserver
    from regretkit.play._matches import StrategyAgent as StrategyAgent
    from regretkit.play._matches import play_match as play_match
else:
    __getattr__, __dir__, __all__ = lazy_import(__name__, _LATER)
