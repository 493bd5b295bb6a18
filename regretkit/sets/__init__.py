"""Strategy sets: the compact convex sets that minimizers play on."""

from regretkit.sets._base import StrategySet as StrategySet
from regretkit.sets._convex_bodies import Ball as Ball
from regretkit.sets._convex_bodies import Box as Box
from regretkit.sets._convex_bodies import Polytope as Polytope
from regretkit.sets._convex_bodies import Singleton as Singleton
from regretkit.sets._decision_problem import DecisionDAG as DecisionDAG
from regretkit.sets._decision_problem import DecisionTree as DecisionTree
from regretkit.sets._decision_problem import Level as Level
from regretkit.sets._operations import AffineImageSet as AffineImageSet
from regretkit.sets._operations import Hull as Hull
from regretkit.sets._operations import MinkowskiSumSet as MinkowskiSumSet
from regretkit.sets._operations import ProductSet as ProductSet
from regretkit.sets._simplices import Simplices as Simplices
from regretkit.sets._simplices import SimplicesLike as SimplicesLike
from regretkit.sets._simplices import as_simplices as as_simplices
