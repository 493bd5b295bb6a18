"""Estimators of utilities: exact, chance sampling, and Monte Carlo CFR."""

from regretkit.estimators._chance import ChanceSampling as ChanceSampling
from regretkit.estimators._estimator import Estimator as Estimator
from regretkit.estimators._estimator import ExactUtility as ExactUtility
from regretkit.estimators._estimator import assert_unbiased as assert_unbiased
from regretkit.estimators._leaf_values import LeafValues as LeafValues
from regretkit.estimators._mccfr import AverageStrategySampling as AverageStrategySampling
from regretkit.estimators._mccfr import BanditFeedback as BanditFeedback
from regretkit.estimators._mccfr import ExternalSampling as ExternalSampling
from regretkit.estimators._mccfr import LearnedBaseline as LearnedBaseline
from regretkit.estimators._mccfr import OutcomeSampling as OutcomeSampling
