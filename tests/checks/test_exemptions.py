"""Exemptions are few, each has its reason, and the documentation prints them all."""

import re
from inspect import isabstract
from pathlib import Path

from factories import parts_of
from test_contract import ROWS

import regretkit as rk
from regretkit import circuits, minimizers
from regretkit.checks import CHECKS, checks_of

PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "exemptions.md").read_text()


def declared():
    """Return each public class without a guarantee and its reason."""
    held = [part for make in ROWS.values() for part in parts_of(make())]
    found = {(type(part).__name__, part.no_guarantee) for part in held if part.no_guarantee}
    public = {*dir(minimizers), *dir(minimizers.contrib), *dir(circuits)}
    return {row for row in found if row[0] in public}


def test_the_documentation_prints_every_exemption_with_its_reason():
    printed = set(re.findall(r"^\| `(\w+)` \| (.+) \|$", PAGE, re.MULTILINE))
    assert printed == declared()
    # One more needs a reason that is a theorem or a definition, and this number changed by hand.
    assert len(printed) == 19


def test_the_documentation_lists_the_leaves_that_claim_to_be_scale_free():
    listed = re.findall(r"`(\w+)`", PAGE.splitlines()[-1])
    public = [*vars(minimizers).values(), *vars(minimizers.contrib).values()]
    leaves = {kind for kind in public if isinstance(kind, type) and not isabstract(kind)}
    assert listed == sorted(kind.__name__ for kind in leaves if getattr(kind, "scale_free", 0))


def test_a_circuit_need_not_pass_the_check_that_a_part_of_it_does_not_pass():
    inner = rk.BestResponse(rk.Simplices(2))
    (left_out,) = {*CHECKS} - {*checks_of(rk.Product([rk.Product([inner]), rk.RegretMatching(2)]))}
    assert left_out.__name__ == "regret_grows_slowly"
