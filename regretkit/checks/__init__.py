"""Checks of the contract that every minimizer must pass.

Each check is a function of a factory of minimizers. Its docstring is its requirement.
"""

from regretkit.checks._checks import CHECKS as CHECKS
from regretkit.checks._checks import check_minimizer as check_minimizer
from regretkit.checks._checks import checks_of as checks_of
from regretkit.checks._checks import parametrize_with_checks as parametrize_with_checks
from regretkit.checks._checks import run_check as run_check
from regretkit.checks._contract import Check as Check
from regretkit.checks._contract import Make as Make
from regretkit.checks._samples import every_sample as every_sample
