"""Strategy sets: the compact convex sets that minimizers play on."""

from regretkit.sets._affine import AffineImageSet as AffineImageSet
from regretkit.sets._affine import ScaledSet as ScaledSet
from regretkit.sets._ball import Ball as Ball
from regretkit.sets._base import StrategySet as StrategySet
from regretkit.sets._box import Box as Box
from regretkit.sets._decision_tree import DecisionTree as DecisionTree
from regretkit.sets._hull import Hull as Hull
from regretkit.sets._hull import MinkowskiSumSet as MinkowskiSumSet
from regretkit.sets._polytope import Polytope as Polytope
from regretkit.sets._polytope import Singleton as Singleton
from regretkit.sets._product import ProductSet as ProductSet
from regretkit.sets._simplices import Simplices as Simplices
from regretkit.sets._simplices import SimplicesLike as SimplicesLike
from regretkit.sets._simplices import as_simplices as as_simplices
