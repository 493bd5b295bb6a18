"""The contract as code: laws that every minimizer keeps, ours or yours.

Each law is a function of a factory, because most of them need several new objects, and says in
its docstring what it requires. A minimizer that does not keep one says so, with the reason, in
:meth:`~regretkit.RegretMinimizer.exemptions`; a circuit passes on what its parts say.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from regretkit._laws import LAWS as LAWS
from regretkit._laws import Law as Law
from regretkit._laws import Make as Make
from regretkit._state import Stateful, generators, parts
from regretkit._validate import quote
from regretkit.minimizer import RegretMinimizer

if TYPE_CHECKING:
    import pytest


def check_minimizer(make: Make) -> None:
    """Raise ``AssertionError`` at the first law that minimizers from ``make`` break.

    Parameters
    ----------
    make
        Builds a new, untrained minimizer each time it is called.

    Raises
    ------
    AssertionError
        When a law is broken; the message begins with the name of the law.
    TypeError
        When ``make`` is no function without arguments that returns a minimizer.
    ValueError
        When ``make`` returns the same object twice, or two that share a part; when it returns one
        that has learned already; when an exemption names no law, or gives no reason.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> check_minimizer(lambda: RegretMatching(3))
    """
    for law in laws_of(_built(make, "make")):
        keep(law, make)


def parametrize_with_checks(factories: Mapping[str, Make]) -> "pytest.MarkDecorator":
    """Return a pytest mark that runs a test once for each factory and each of its laws.

    The test takes ``law`` and ``make`` and calls ``keep(law, make)``; its ids read like
    ``product:asking_changes_nothing``. Needs pytest.

    Parameters
    ----------
    factories
        By name, functions that build a new, untrained minimizer each time they are called.

    Raises
    ------
    TypeError, ValueError
        When ``factories`` is no dict, or :func:`check_minimizer` would refuse one of them.

    Examples
    --------
    >>> from regretkit import Hedge
    >>> @parametrize_with_checks({"hedge": lambda: Hedge(3, rate=0.1)})
    ... def test_my_minimizers_keep_the_contract(law, make):
    ...     keep(law, make)
    """
    import pytest

    if not isinstance(factories, Mapping):
        raise TypeError(
            f"factories must be a dict from names to functions, got {quote(factories)}; "
            'pass {"mine": lambda: RegretMatching(3)}'
        )
    rows = [
        pytest.param(law, make, id=f"{name}:{law.__name__}")
        for name, make in factories.items()
        for law in laws_of(_built(make, f"factories[{quote(name)}]"))
    ]
    return pytest.mark.parametrize(("law", "make"), rows)


def laws_of(minimizer: RegretMinimizer) -> list[Law]:
    """Return the laws that a minimizer claims to keep.

    Raises
    ------
    TypeError
        When ``minimizer`` is none, or its exemptions are no dict.
    ValueError
        When an exemption names no law, or gives no reason.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> len(laws_of(RegretMatching(3))) == len(LAWS)
    True
    """
    exempt = _exemptions(_as_minimizer(minimizer, "minimizer must be"))
    return [law for law in LAWS if law.__name__ not in exempt]


def keep(law: Law, make: Make) -> None:
    """Raise ``AssertionError`` if minimizers from ``make`` break a law, and name it.

    Raises
    ------
    AssertionError
        When the law is broken; the message begins with its name.
    TypeError, ValueError
        When :func:`check_minimizer` would refuse ``make``.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> for law in LAWS:
    ...     keep(law, lambda: RegretMatching(3))
    """
    subject = _built(make, "make")
    try:
        law(make)
    except AssertionError as error:
        raise AssertionError(f"{law.__name__} is broken by {quote(subject)}: {error}") from error
    except Exception as error:
        error.add_note(f"while {law.__name__} was checked of {quote(subject)}")
        raise


def _exemptions(minimizer: RegretMinimizer) -> Mapping[str, str]:
    """Return the laws that a minimizer does not keep, once each of them is one with a reason."""
    declared = minimizer.exemptions()
    if not isinstance(declared, Mapping):
        raise TypeError(
            f"exemptions of {quote(minimizer)} must be a dict from names of laws to reasons, "
            f"got {quote(declared)}"
        )
    names = [law.__name__ for law in LAWS]
    unknown = [name for name in declared if name not in names]
    if unknown:
        raise ValueError(
            f"exemptions of {quote(minimizer)} name {quote(unknown)}, which are no laws; the laws "
            f"are {names}"
        )
    blank = [
        name
        for name, reason in declared.items()
        if not isinstance(reason, str) or not reason.strip()
    ]
    if blank:
        raise ValueError(
            f"exemptions of {quote(minimizer)} give no reason for {quote(blank)}, but "
            f"{quote(declared[blank[0]])}; say in a sentence why it need not keep the law"
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
    held = {id(thing) for thing in _holdings(first)}
    shared = [thing for thing in _holdings(second) if id(thing) in held]
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


def _holdings(minimizer: Stateful) -> Iterator[object]:
    """Yield all mutable parts of a minimizer, at any depth, and their generators."""
    yield from generators(minimizer)
    for _, part in parts(minimizer):
        yield part
        yield from _holdings(part)
