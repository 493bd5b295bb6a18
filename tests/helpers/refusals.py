"""Tables of what is refused, as tests."""

import pytest


def refusals(*rows, of=None, error=None, match=None):
    """Return a test that calls are refused, one call a row.

    A row holds the arguments of ``of`` or, without it, a function that takes none; then the error
    and the message, unless all rows have the same.
    """

    @pytest.mark.parametrize("row", [row if isinstance(row, tuple) else (row,) for row in rows])
    def test(row):
        row = list(row)
        message = row.pop() if match is None else match
        kind = row.pop() if error is None else error
        call = row.pop(0) if of is None else of
        with pytest.raises(kind, match=message):
            call(*row)

    return test
