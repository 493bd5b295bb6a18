"""The contract as code: checks that every minimizer passes, ours or yours.

Each check is a function of a factory, because most of them need several new objects, and says in
its docstring what it requires.
"""

from regretkit.checks._checks import CHECKS as CHECKS
from regretkit.checks._checks import check_minimizer as check_minimizer
from regretkit.checks._checks import checks_of as checks_of
from regretkit.checks._checks import parametrize_with_checks as parametrize_with_checks
from regretkit.checks._checks import run_check as run_check
from regretkit.checks._contract import Check as Check
from regretkit.checks._contract import Make as Make
from regretkit.checks._samples import every_sample as every_sample
