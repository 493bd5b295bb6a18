"""Exemptions are few, each has its reason, and the documentation prints them all."""

import re
from pathlib import Path

from test_contract import ROWS

import regretkit as rk
from regretkit._state import parts
from regretkit.checks import LAWS

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "exemptions.md"


def declared():
    """Return what classes declare of themselves, and not only pass on from their parts."""
    found = set()

    def look(minimizer):
        below = {}
        for _, part in parts(minimizer):
            if isinstance(part, rk.RegretMinimizer):
                look(part)
                below |= part.exemptions()
        for law, reason in minimizer.exemptions().items():
            if below.get(law) != reason:
                found.add((type(minimizer).__name__, law, reason))

    for make in ROWS.values():
        look(make())
    return {row for row in found if row[0] in dir(rk.minimizers) + dir(rk.circuits)}


def printed():
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    return set(rows)


def test_the_documentation_prints_every_exemption_with_its_reason():
    assert printed() == declared()


def test_exemptions_are_counted():
    # One more needs a reason that is a theorem or a definition, and this number changed by hand.
    assert len(declared()) == 19


def test_nobody_is_exempt_from_more_than_growth():
    assert {law for _, law, _ in declared()} == {"regret_grows_slowly"}
    assert "regret_grows_slowly" in {law.__name__ for law in LAWS}
