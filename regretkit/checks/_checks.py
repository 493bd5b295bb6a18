"""Running the checks: all that apply to a minimizer, one alone, or as tests of pytest."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import regretkit.checks._contract as _contract
from regretkit._state import generators, with_parts
from regretkit._util._validate import quote
from regretkit.checks._contract import Check, Make, regret_grows_slowly
from regretkit.checks._kernel import kernel_agrees
from regretkit.minimizer import RegretMinimizer

if TYPE_CHECKING:
    import pytest

CHECKS: tuple[Check, ...] = (
    _contract.strategies_lie_in_the_domain,
    _contract.strategies_lie_in_the_domain_after_any_prediction,
    _contract.strategies_lie_in_the_domain_at_any_scale,
    _contract.asking_changes_nothing,
    _contract.a_later_prediction_replaces_earlier_ones,
    _contract.a_prediction_applies_to_one_iteration,
    _contract.equal_states_give_equal_strategies,
    _contract.copies_are_independent,
    _contract.state_round_trips,
    _contract.inputs_are_neither_changed_nor_kept,
    _contract.outputs_are_read_only,
    _contract.rejected_input_leaves_the_state_unchanged,
    _contract.blocks_are_independent,
    _contract.strategies_are_invariant_to_action_order,
    _contract.strategies_are_invariant_to_added_constants,
    _contract.strategies_are_invariant_to_scale,
    kernel_agrees,
    regret_grows_slowly,
)
"""All checks, in the order in which they are checked."""


def check_minimizer(make: Make) -> None:
    """Raise ``AssertionError`` at the first check that minimizers from ``make`` break.

    Parameters
    ----------
    make
        Builds a new, untrained minimizer each time it is called.

    Raises
    ------
    AssertionError
        When a check is broken; the message begins with the name of the check.
    TypeError
        When ``make`` is no function without arguments that returns a minimizer.
    ValueError
        When ``make`` returns the same object twice, or two that share a part; when it returns one
        that has learned already; when an exemption names no check, or gives no reason.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> check_minimizer(lambda: RegretMatching(3))
    """
    for check in checks_of(_built(make, "make")):
        run_check(check, make)


def parametrize_with_checks(factories: Mapping[str, Make]) -> "pytest.MarkDecorator":
    """Return a pytest mark that runs a test once for each factory and each of its checks.

    The test takes ``check`` and ``make`` and calls ``run_check(check, make)``; its ids read like
    ``product:asking_changes_nothing``. Needs pytest.

    Parameters
    ----------
    factories
        By name, functions that build a new, untrained minimizer each time they are called.

    Examples
    --------
    >>> from regretkit import Hedge
    >>> @parametrize_with_checks({"hedge": lambda: Hedge(3, rate=0.1)})
    ... def test_my_minimizers_keep_the_contract(check, make):
    ...     run_check(check, make)
    """
    import pytest

    if not isinstance(factories, Mapping):
        raise TypeError(
            f"factories must be a dict from names to functions, got {quote(factories)}; "
            'pass {"mine": lambda: RegretMatching(3)}'
        )
    rows = [
        pytest.param(check, make, id=f"{name}:{check.__name__}")
        for name, make in factories.items()
        for check in checks_of(_built(make, f"factories[{quote(name)}]"))
    ]
    return pytest.mark.parametrize(("check", "make"), rows)


def checks_of(minimizer: RegretMinimizer) -> list[Check]:
    """Return the checks that a minimizer claims to keep.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> len(checks_of(RegretMatching(3))) == len(CHECKS)
    True
    """
    exempt = _exemptions(_as_minimizer(minimizer, "minimizer must be"))
    return [check for check in CHECKS if check.__name__ not in exempt]


def run_check(check: Check, make: Make) -> None:
    """Raise ``AssertionError`` if minimizers from ``make`` break a check, and name it.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> for check in CHECKS:
    ...     run_check(check, lambda: RegretMatching(3))
    """
    subject = _built(make, "make")
    try:
        check(make)
    except Exception as error:
        if isinstance(error, AssertionError):
            message = f"{check.__name__} is broken by {quote(subject)}: {error}"
            raise AssertionError(message) from error
        error.add_note(f"while {check.__name__} was checked of {quote(subject)}")
        raise


def _exemptions(minimizer: RegretMinimizer) -> Mapping[str, str]:
    """Return the checks that a minimizer does not keep, once each of them is one with a reason."""
    declared = minimizer.exemptions()
    if not isinstance(declared, Mapping):
        raise TypeError(
            f"exemptions of {quote(minimizer)} must be a dict from names of checks to reasons, "
            f"got {quote(declared)}"
        )
    names = [check.__name__ for check in CHECKS]
    unknown = [name for name in declared if name not in names]
    if unknown:
        raise ValueError(
            f"exemptions of {quote(minimizer)} name {quote(unknown)}, which are no checks; "
            f"the checks are {names}"
        )
    blank = [
        k for k, reason in declared.items() if not (isinstance(reason, str) and reason.strip())
    ]
    if blank:
        raise ValueError(
            f"exemptions of {quote(minimizer)} give no reason for {quote(blank)}, but "
            f"{quote(declared[blank[0]])}; say in a sentence why it need not keep the check"
        )
    return declared


_FACTORY = "pass a function that builds a new minimizer, as in lambda: RegretMatching(3)"


def _built(make: Make, name: str) -> RegretMinimizer:
    """Return what a factory builds, once it is sure to build new minimizers."""
    if isinstance(make, RegretMinimizer) or not callable(make):
        raise TypeError(f"{name} must be a function, got {quote(make)}; {_FACTORY}")
    first, second = (_as_minimizer(_called(make, name), f"{name} must return") for _ in range(2))
    if first is second:
        raise ValueError(f"{name} returned the same object twice, {quote(first)}; {_FACTORY}")
    # Their parts at any depth, and generators
    held = {id(thing) for thing in (*generators(first), *with_parts(first))}
    shared = [x for x in (*generators(second), *with_parts(second)) if id(x) in held]
    if shared:
        raise ValueError(
            f"what {name} returned twice, {quote(first)}, shares {quote(shared[0])}; "
            "build that anew each time, too"
        )
    if first.iteration:
        raise ValueError(
            f"{name} returned {quote(first)}, which has learned already, for {first.iteration} "
            f"iterations; {_FACTORY}"
        )
    return first


def _called(make: Make, name: str) -> object:
    try:
        return make()
    except TypeError as error:
        # No frame below this one: it was the call that did not fit, and nothing in the function.
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        raise TypeError(
            f"{name} must need no arguments, but calling {quote(make)} says: {error}; {_FACTORY}"
        ) from error


def _as_minimizer(value: object, wanted: str) -> RegretMinimizer:
    if not isinstance(value, RegretMinimizer):
        raise TypeError(f"{wanted} a RegretMinimizer, got {quote(value)}")
    return value
