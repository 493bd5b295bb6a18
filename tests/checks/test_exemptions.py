"""Exemptions are few, each has its reason, and the documentation prints them all."""

import re
from inspect import isabstract
from pathlib import Path

from factories import parts_of
from test_contract import ROWS

from regretkit import circuits, minimizers

PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "exemptions.md").read_text()


def declared():
    """Return what classes declare of themselves, and not only pass on from their parts."""
    found = set()
    for make in ROWS.values():
        for minimizer in parts_of(make()):
            _, *inner = parts_of(minimizer)
            passed_on = {item for part in inner for item in part.exemptions().items()}
            own = minimizer.exemptions().items() - passed_on
            found |= {(type(minimizer).__name__, name, reason) for name, reason in own}
    public = {*dir(minimizers), *dir(minimizers.contrib), *dir(circuits)}
    return {row for row in found if row[0] in public}


def test_the_documentation_prints_every_exemption_with_its_reason():
    printed = set(re.findall(r"^\| `(\w+)` \| `(\w+)` \| (.+) \|$", PAGE, re.MULTILINE))
    assert printed == declared()
    assert {name for _, name, _ in printed} == {"regret_grows_slowly"}
    # One more needs a reason that is a theorem or a definition, and this number changed by hand.
    assert len(printed) == 19


def test_the_documentation_lists_the_leaves_that_claim_to_be_scale_free():
    listed = re.findall(r"`(\w+)`", PAGE.splitlines()[-1])
    public = [*vars(minimizers).values(), *vars(minimizers.contrib).values()]
    leaves = {kind for kind in public if isinstance(kind, type) and not isabstract(kind)}
    assert listed == sorted(kind.__name__ for kind in leaves if getattr(kind, "scale_free", 0))
