"""Self-play: minimizers play games, by orders, averagings and estimators."""

from typing import TYPE_CHECKING

from regretkit._lazily import lazily
from regretkit.play._watching import Callback as Callback
from regretkit.play.algorithms import ALGORITHMS as ALGORITHMS
from regretkit.play.algorithms import Algorithm as Algorithm
from regretkit.play.algorithms import apcfr_plus as apcfr_plus
from regretkit.play.algorithms import cfr as cfr
from regretkit.play.algorithms import cfr_plus as cfr_plus
from regretkit.play.algorithms import dcfr as dcfr
from regretkit.play.algorithms import dcfr_plus as dcfr_plus
from regretkit.play.algorithms import hs_dcfr as hs_dcfr
from regretkit.play.algorithms import hs_pcfr_plus as hs_pcfr_plus
from regretkit.play.algorithms import lcfr as lcfr
from regretkit.play.algorithms import named as named
from regretkit.play.algorithms import pcfr_plus as pcfr_plus
from regretkit.play.algorithms import pdcfr_plus as pdcfr_plus
from regretkit.play.algorithms import sapcfr_plus as sapcfr_plus
from regretkit.play.average import Average as Average
from regretkit.play.averaging import Averaging as Averaging
from regretkit.play.averaging import HorizonPower as HorizonPower
from regretkit.play.averaging import Last as Last
from regretkit.play.averaging import Linear as Linear
from regretkit.play.averaging import Power as Power
from regretkit.play.averaging import Quadratic as Quadratic
from regretkit.play.averaging import Uniform as Uniform
from regretkit.play.bandit import BanditFeedback as BanditFeedback
from regretkit.play.callbacks import Every as Every
from regretkit.play.callbacks import Geometrically as Geometrically
from regretkit.play.callbacks import Record as Record
from regretkit.play.callbacks import StopAtGap as StopAtGap
from regretkit.play.callbacks import StopWhenStill as StopWhenStill
from regretkit.play.checkpoints import Checkpoint as Checkpoint
from regretkit.play.checkpoints import resume as resume
from regretkit.play.estimators import AverageStrategySampling as AverageStrategySampling
from regretkit.play.estimators import Baseline as Baseline
from regretkit.play.estimators import ChanceSampling as ChanceSampling
from regretkit.play.estimators import Estimator as Estimator
from regretkit.play.estimators import ExactBaseline as ExactBaseline
from regretkit.play.estimators import ExternalSampling as ExternalSampling
from regretkit.play.estimators import FullSweep as FullSweep
from regretkit.play.estimators import LearnedBaseline as LearnedBaseline
from regretkit.play.estimators import OutcomeSampling as OutcomeSampling
from regretkit.play.estimators import PublicChanceSampling as PublicChanceSampling
from regretkit.play.estimators import RobustSampling as RobustSampling
from regretkit.play.estimators import assert_unbiased as assert_unbiased
from regretkit.play.orders import Alternating as Alternating
from regretkit.play.orders import Extragradient as Extragradient
from regretkit.play.orders import Order as Order
from regretkit.play.orders import RandomPlayer as RandomPlayer
from regretkit.play.orders import Simultaneous as Simultaneous
from regretkit.play.orders import Table as Table
from regretkit.play.orders import Turns as Turns
from regretkit.play.self_play import SelfPlay as SelfPlay
from regretkit.play.solving import solve as solve

# Loaded when asked for, so that importing the library stays quick
_LATER = {
    "against_best_response": "BestResponsePlay best_response_play",
    "agents": "Agent Listener Person Situation StrategyAgent",
    "fixed_strategy": "FixedStrategyIteration",
    "matches": "Match Round play_match",
    "recording": "Moment Trajectories",
    "sampled_self_play": "SampledSelfPlay",
    "unfolded": "Unfolded",
}
if TYPE_CHECKING:
    from regretkit.play.against_best_response import BestResponsePlay as BestResponsePlay
    from regretkit.play.against_best_response import best_response_play as best_response_play
    from regretkit.play.agents import Agent as Agent
    from regretkit.play.agents import Listener as Listener
    from regretkit.play.agents import Person as Person
    from regretkit.play.agents import Situation as Situation
    from regretkit.play.agents import StrategyAgent as StrategyAgent
    from regretkit.play.fixed_strategy import FixedStrategyIteration as FixedStrategyIteration
    from regretkit.play.matches import Match as Match
    from regretkit.play.matches import Round as Round
    from regretkit.play.matches import play_match as play_match
    from regretkit.play.recording import Moment as Moment
    from regretkit.play.recording import Trajectories as Trajectories
    from regretkit.play.sampled_self_play import SampledSelfPlay as SampledSelfPlay
    from regretkit.play.unfolded import Unfolded as Unfolded
else:
    __getattr__, __dir__, __all__ = lazily(__name__, _LATER)
