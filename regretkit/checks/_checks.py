"""Functions that run checks: all, one, or as pytest tests."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import regretkit.checks._contract as _contract
from regretkit._state import generators, with_parts
from regretkit._util._validate import check_kind
from regretkit.checks._contract import Check, Make
from regretkit.checks._growth import regret_grows_slowly
from regretkit.checks._kernel import kernel_agrees
from regretkit.minimizer import RegretMinimizer

if TYPE_CHECKING:
    import pytest

CHECKS: tuple[Check, ...] = (
    _contract.strategies_lie_in_the_domain,
    _contract.strategies_lie_in_the_domain_after_any_prediction,
    _contract.asking_changes_nothing,
    _contract.a_later_prediction_replaces_earlier_ones,
    _contract.a_prediction_applies_to_one_iteration,
    _contract.inputs_are_neither_changed_nor_kept,
    _contract.returned_strategies_do_not_change,
    _contract.equal_states_give_equal_strategies,
    _contract.copies_are_independent,
    _contract.state_round_trips,
    _contract.blocks_are_independent,
    _contract.strategies_are_invariant_to_action_order,
    _contract.strategies_are_invariant_to_added_constants,
    _contract.strategies_are_invariant_to_scale,
    kernel_agrees,
    regret_grows_slowly,
)
"""All checks, in the order in which ``check_minimizer`` runs them."""


def check_minimizer(make: Make) -> None:
    """Raise an ``AssertionError`` at the first check that minimizers from ``make`` fail.

    The message begins with the name of the check. The growth of regret is not checked if the
    minimizer or a part of it has ``no_guarantee``.

    Parameters
    ----------
    make
        A function that builds a new, untrained minimizer.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> check_minimizer(lambda: RegretMatching(3))
    """
    for check in checks_of(_built(make)):
        run_check(check, make)


def parametrize_with_checks(factories: Mapping[str, Make]) -> "pytest.MarkDecorator":
    """Return a pytest mark that runs a test for each factory and each of its checks.

    The test takes ``check`` and ``make`` and calls ``run_check(check, make)``. Its ids have the
    form ``product:asking_changes_nothing``.

    Parameters
    ----------
    factories
        Functions that build a new, untrained minimizer, by name.

    Examples
    --------
    >>> from regretkit import Hedge
    >>> @parametrize_with_checks({"hedge": lambda: Hedge(3, rate=0.1)})
    ... def test_my_minimizers_keep_the_contract(check, make):
    ...     run_check(check, make)
    """
    import pytest

    rows = [
        pytest.param(check, make, id=f"{name}:{check.__name__}")
        for name, make in factories.items()
        for check in checks_of(_built(make))
    ]
    return pytest.mark.parametrize(("check", "make"), rows)


def checks_of(minimizer: RegretMinimizer) -> list[Check]:
    """Return the checks that apply to a minimizer.

    If a part has ``no_guarantee``, the growth of regret is not checked.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> len(checks_of(RegretMatching(3))) == len(CHECKS)
    True
    """
    held = [part for part in with_parts(minimizer) if isinstance(part, RegretMinimizer)]
    grows = any(part.no_guarantee for part in held)
    return [check for check in CHECKS if not (grows and check is regret_grows_slowly)]


def run_check(check: Check, make: Make) -> None:
    """Raise an ``AssertionError`` that names the check if minimizers from ``make`` fail it.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> for check in CHECKS:
    ...     run_check(check, lambda: RegretMatching(3))
    """
    subject = _built(make)
    try:
        check(make)
    except AssertionError as error:
        raise AssertionError(f"{check.__name__} is broken by {subject!r}: {error}") from error
    except Exception as error:
        error.add_note(f"in {check.__name__} of {subject!r}")
        raise


def _built(make: Make) -> RegretMinimizer:
    """Return a minimizer from ``make``, after a test that it builds new ones."""
    first, second = make(), make()
    check_kind(first, RegretMinimizer, "the result of make", "RegretMatching(3)")
    held, others = ({id(x) for x in (*generators(m), *with_parts(m))} for m in (first, second))
    if held & others or first.iteration:
        raise ValueError(f"make must build a new minimizer each time, got {first!r}")
    return first
