"""Averaging: the weights of iterations, and the weighted average of strategies."""

from regretkit.averaging._averaging import Average as Average
from regretkit.averaging._averaging import Averaging as Averaging
from regretkit.averaging._averaging import HorizonPower as HorizonPower
from regretkit.averaging._averaging import Last as Last
from regretkit.averaging._averaging import Linear as Linear
from regretkit.averaging._averaging import Power as Power
from regretkit.averaging._averaging import Quadratic as Quadratic
from regretkit.averaging._averaging import Uniform as Uniform
