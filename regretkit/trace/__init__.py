"""Tracing: a rule's NumPy code runs once on symbols, which record the graph of a kernel."""

from regretkit.trace._find import describe_kernel as describe_kernel
from regretkit.trace._find import find_kernel as find_kernel
from regretkit.trace._find import upcoming_parameters as upcoming_parameters
from regretkit.trace._javascript import as_javascript as as_javascript
from regretkit.trace._kernel import Kernel as Kernel
from regretkit.trace._kernel import KernelTraits as KernelTraits
from regretkit.trace._symbols import UntraceableError as UntraceableError
