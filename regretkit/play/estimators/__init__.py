"""Estimators: what stands between a game and those who learn in it."""

from regretkit.play.estimators.average_strategy import (
    AverageStrategySampling as AverageStrategySampling,
)
from regretkit.play.estimators.baselines import Baseline as Baseline
from regretkit.play.estimators.baselines import ExactBaseline as ExactBaseline
from regretkit.play.estimators.baselines import LearnedBaseline as LearnedBaseline
from regretkit.play.estimators.chance import ChanceSampling as ChanceSampling
from regretkit.play.estimators.chance import PublicChanceSampling as PublicChanceSampling
from regretkit.play.estimators.checking import assert_unbiased as assert_unbiased
from regretkit.play.estimators.estimator import Estimator as Estimator
from regretkit.play.estimators.estimator import FullSweep as FullSweep
from regretkit.play.estimators.external import ExternalSampling as ExternalSampling
from regretkit.play.estimators.outcome import OutcomeSampling as OutcomeSampling
from regretkit.play.estimators.robust import RobustSampling as RobustSampling
