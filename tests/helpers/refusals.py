"""Tables of what is refused, as tests."""

from contextlib import contextmanager

import pytest


def refusals(*rows, call=None, error=None, match=None):
    """Return a test that calls are refused, one call a row.

    A row holds the arguments of ``call`` or, without it, a function that takes none; then the
    error and the message, unless all rows have the same.
    """

    @pytest.mark.parametrize("row", [row if isinstance(row, tuple) else (row,) for row in rows])
    def test(row):
        row = list(row)
        message = row.pop() if match is None else match
        kind = row.pop() if error is None else error
        refused = row.pop(0) if call is None else call
        with pytest.raises(kind, match=message):
            refused(*row)

    return test


@contextmanager
def memory_left(number):
    """Let a process have this many bytes left."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regretkit.games._memory_budget.available", lambda: number)
        yield
