"""Strategy sets: the compact convex sets that minimizers play on."""

from regretkit.sets.affine import AffineImageSet as AffineImageSet
from regretkit.sets.affine import ScaledSet as ScaledSet
from regretkit.sets.ball import Ball as Ball
from regretkit.sets.base import StrategySet as StrategySet
from regretkit.sets.box import Box as Box
from regretkit.sets.decision_tree import DecisionTree as DecisionTree
from regretkit.sets.hull import Hull as Hull
from regretkit.sets.minkowski import MinkowskiSumSet as MinkowskiSumSet
from regretkit.sets.point import Singleton as Singleton
from regretkit.sets.polytope import Polytope as Polytope
from regretkit.sets.product import ProductSet as ProductSet
from regretkit.sets.simplices import Simplices as Simplices
from regretkit.sets.simplices import SimplicesLike as SimplicesLike
from regretkit.sets.simplices import as_simplices as as_simplices
