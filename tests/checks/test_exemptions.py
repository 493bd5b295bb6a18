"""Exemptions are few, each has its reason, and the documentation prints them all."""

import re
from pathlib import Path

from test_contract import ROWS

import regretkit as rk
from regretkit import circuits, minimizers
from regretkit._util._state import parts
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
    assert len(declared()) == 21


def test_every_exemption_is_from_growth_alone():
    assert {name for _, name, _ in declared()} == {"regret_grows_slowly"}
    assert "regret_grows_slowly" in {check.__name__ for check in CHECKS}


# Claims


def claims():
    """Return who stands in a row, what it claims, and what each of its parts claims."""
    found = []

    def look(minimizer):
        parts_of_minimizer = [
            part for _, part in parts(minimizer) if isinstance(part, rk.RegretMinimizer)
        ]
        for part in parts_of_minimizer:
            look(part)
        claim = (type(minimizer).__name__, minimizer.scale_free)
        found.append((*claim, [part.scale_free for part in parts_of_minimizer]))

    for make in ROWS.values():
        look(make())
    return found


def listed():
    _, _, section = PAGE.read_text().partition("## Who claims to be scale free")
    return re.findall(r"^- `(\w+)`$", section, re.MULTILINE)


def test_the_documentation_lists_the_leaves_that_claim_to_be_scale_free():
    leaves = {
        (name, claim)
        for name, claim, _ in claims()
        if name in {*dir(minimizers), *dir(minimizers.contrib)} and name != "Composed"
    }
    assert len(leaves) == len({name for name, _ in leaves})
    assert listed() == sorted(name for name, claim in leaves if claim)


def test_circuits_claim_it_where_all_of_their_parts_do():
    for name, claim, claims_of_parts in claims():
        if name in dir(circuits):
            assert claim == (all(claims_of_parts) and name != "Constrained"), name


def test_claims_are_counted():
    # One more, or one fewer, is a decision about a class, and this number changed by hand.
    assert len(listed()) == 18
