"""A gate at which threads that run machine code wait for each other.

Python's own locks are out of reach for code that has let go of the interpreter, and take longer
than most of what is done between two gates. This one is a counter in memory. Whoever comes last
opens it; the others look again and again, and after a while let others use their processor between
two looks, since a machine may have less to spare than there are threads.
"""

import sys
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from regretkit._typing import Indices

_ARRIVED, _OPENED, _CLOSED, _SIZE = 0, 16, 32, 48
"""Places in a gate, so far apart that no two share a line of a processor's cache."""

_LOOKS = 50
"""Looks at a closed gate before anybody else is let to the processor."""


def new_gate() -> Indices:
    """Return a gate through which nobody has gone."""
    return np.zeros(_SIZE, dtype=np.int64)


def close(gate: Indices) -> None:
    """Let nobody through any more; whoever waits gives up."""
    gate[_CLOSED] = 1


def _added(_context: Any, gate: Any, place: Any, amount: Any) -> Any:
    """Add to a number in memory, in one step; return what it was."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        numbers = context.make_array(signature.args[0])(context, builder, given[0])
        where = builder.gep(numbers.data, [given[1]])
        return builder.atomic_rmw("add", where, given[2], "seq_cst")

    return types.int64(gate, types.intp, types.int64), code


def _seen(_context: Any, gate: Any, place: Any) -> Any:
    """Return a number in memory as it is now, and all that was written before it."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        numbers = context.make_array(signature.args[0])(context, builder, given[0])
        where = builder.gep(numbers.data, [given[1]])
        return builder.load_atomic(where, "acquire", 8)

    return types.int64(gate, types.intp), code


added: Any = intrinsic(_added)
seen: Any = intrinsic(_seen)


def _nothing() -> int:
    return 0


# Windows has another name for it; there, threads look for as long as it takes.
rest: Any = njit(_nothing)
if sys.platform != "win32":
    rest = types.ExternalFunction("sched_yield", types.int32())


def last_to_come(gate: Indices, parts: int) -> bool:
    """Wait until all parts are here; what each of them did before, all see after.

    The last one need not wait, and gets True: it has the others to itself until it opens the gate.
    """
    opened = seen(gate, _OPENED)
    if added(gate, _ARRIVED, 1) == parts - 1:
        added(gate, _ARRIVED, -parts)
        return True
    looks = 0
    while seen(gate, _OPENED) == opened:
        if seen(gate, _CLOSED) != 0:
            raise RuntimeError("another thread has given up")
        looks += 1
        if looks > _LOOKS:
            rest()
    return False


def open_up(gate: Indices) -> None:
    """Let all parts through."""
    added(gate, _OPENED, 1)
