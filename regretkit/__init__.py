"""Composable regret minimizers, and solvers of games."""

from typing import TYPE_CHECKING

from regretkit._util._lazy_import import lazy_import, on_first_run

# Names are imported at first use. The command line thus starts before NumPy loads, and can handle
# Ctrl-C during that time without a traceback.
_LATER = {
    "checks": "checks",
    "circuits": (
        "circuits ByDecisionPoint CFR ConvexHull PerDecisionPoint PhiRegret Product SwapRegret "
        "circuit"
    ),
    "display": "display",
    "engine": "engine",
    "estimators": "estimators",
    "evaluation": "evaluation CorrelatedPlay best_response exploitability nash_conv",
    "games": "games ExtensiveFormGame NormalFormGame load matrix_game",
    "minimizer": "minimizer RegretMinimizer",
    "minimizers": (
        "minimizers BestResponse DiscountedRegretMatching Hedge LinearRegretMatching "
        "OptimisticHedge Point PredictiveRegretMatching PredictiveRegretMatchingPlus "
        "RegretMatching RegretMatchingPlus SimplexRule state"
    ),
    "play": "play Algorithm Average SelfPlay solve",
    "sets": "sets DecisionTree Simplices",
    "workbench": "workbench compare",
}
if TYPE_CHECKING:
    from regretkit import checks as checks
    from regretkit import circuits as circuits
    from regretkit import display as display
    from regretkit import engine as engine
    from regretkit import estimators as estimators
    from regretkit import evaluation as evaluation
    from regretkit import games as games
    from regretkit import minimizer as minimizer
    from regretkit import minimizers as minimizers
    from regretkit import play as play
    from regretkit import sets as sets
    from regretkit import workbench as workbench
    from regretkit.circuits import CFR as CFR
    from regretkit.circuits import ByDecisionPoint as ByDecisionPoint
    from regretkit.circuits import ConvexHull as ConvexHull
    from regretkit.circuits import PerDecisionPoint as PerDecisionPoint
    from regretkit.circuits import PhiRegret as PhiRegret
    from regretkit.circuits import Product as Product
    from regretkit.circuits import SwapRegret as SwapRegret
    from regretkit.circuits import circuit as circuit
    from regretkit.evaluation import CorrelatedPlay as CorrelatedPlay
    from regretkit.evaluation import best_response as best_response
    from regretkit.evaluation import exploitability as exploitability
    from regretkit.evaluation import nash_conv as nash_conv
    from regretkit.games import ExtensiveFormGame as ExtensiveFormGame
    from regretkit.games import NormalFormGame as NormalFormGame
    from regretkit.games import load as load
    from regretkit.games import matrix_game as matrix_game
    from regretkit.minimizer import RegretMinimizer as RegretMinimizer
    from regretkit.minimizers import BestResponse as BestResponse
    from regretkit.minimizers import DiscountedRegretMatching as DiscountedRegretMatching
    from regretkit.minimizers import Hedge as Hedge
    from regretkit.minimizers import LinearRegretMatching as LinearRegretMatching
    from regretkit.minimizers import OptimisticHedge as OptimisticHedge
    from regretkit.minimizers import Point as Point
    from regretkit.minimizers import PredictiveRegretMatching as PredictiveRegretMatching
    from regretkit.minimizers import PredictiveRegretMatchingPlus as PredictiveRegretMatchingPlus
    from regretkit.minimizers import RegretMatching as RegretMatching
    from regretkit.minimizers import RegretMatchingPlus as RegretMatchingPlus
    from regretkit.minimizers import SimplexRule as SimplexRule
    from regretkit.minimizers import state as state
    from regretkit.play import Algorithm as Algorithm
    from regretkit.play import Average as Average
    from regretkit.play import SelfPlay as SelfPlay
    from regretkit.play import solve as solve
    from regretkit.sets import DecisionTree as DecisionTree
    from regretkit.sets import Simplices as Simplices
    from regretkit.workbench import compare as compare
else:
    __getattr__, __dir__, __all__ = lazy_import(__name__, _LATER)
    on_first_run.append(lambda: __getattr__("engine"))
