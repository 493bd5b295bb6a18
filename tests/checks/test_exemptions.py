"""Exemptions are few, each has its reason, and the documentation prints them all."""

import re
from inspect import isabstract
from pathlib import Path

from test_contract import ROWS

import regretkit as rk
from regretkit import circuits, minimizers
from regretkit._state import parts
from regretkit.checks import CHECKS

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "exemptions.md"


def declared():
    """Return what classes declare of themselves, and not only pass on from their parts."""
    found = set()

    def look(minimizer):
        from_parts = {}
        for _, part in parts(minimizer):
            if isinstance(part, rk.RegretMinimizer):
                look(part)
                from_parts |= part.exemptions()
        for name, reason in minimizer.exemptions().items():
            if from_parts.get(name) != reason:
                found.add((type(minimizer).__name__, name, reason))

    for make in ROWS.values():
        look(make())
    public = {*dir(minimizers), *dir(minimizers.contrib), *dir(circuits)}
    return {row for row in found if row[0] in public}


def printed():
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    return set(rows)


def test_the_documentation_prints_every_exemption_with_its_reason():
    assert printed() == declared()


def test_exemptions_are_counted():
    # One more needs a reason that is a theorem or a definition, and this number changed by hand.
    assert len(declared()) == 19


def test_every_exemption_is_from_growth_alone():
    assert {name for _, name, _ in declared()} == {"regret_grows_slowly"}
    assert "regret_grows_slowly" in {check.__name__ for check in CHECKS}


# Claims


def listed():
    _, _, section = PAGE.read_text().partition("## Who claims to be scale free")
    return re.findall(r"^- `(\w+)`$", section, re.MULTILINE)


def test_the_documentation_lists_the_leaves_that_claim_to_be_scale_free():
    public = [*vars(minimizers).values(), *vars(minimizers.contrib).values()]
    leaves = {kind for kind in public if isinstance(kind, type) and not isabstract(kind)}
    assert listed() == sorted(kind.__name__ for kind in leaves if getattr(kind, "scale_free", 0))


def test_claims_are_counted():
    # One more, or one fewer, is a decision about a class, and this number changed by hand.
    assert len(listed()) == 18
