"""Checks of the contract: domain, methods, state, and invariances of rules."""

import copy
from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np

from regretkit._state import generators, with_parts
from regretkit._util._typing import Vector
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import Simplices

Make: TypeAlias = Callable[[], RegretMinimizer]
"""A function that builds a new minimizer."""

Check: TypeAlias = Callable[[Make], None]
"""A function that raises an ``AssertionError`` if minimizers from a factory fail a requirement."""

_ITERATIONS = 12
_SEEDS = 300


# Helpers


def require(condition: bool, message: str) -> None:
    """Raise an ``AssertionError`` unless ``condition`` holds."""
    if not condition:
        raise AssertionError(message)


def require_same(left: Vector, right: Vector, message: str) -> None:
    """Require equal arrays."""
    np.testing.assert_array_equal(left, right, err_msg=message)


def require_in_domain(minimizer: RegretMinimizer, strategy: Vector) -> None:
    """Require that ``strategy`` lies in the domain."""
    require(
        minimizer.domain.contains(strategy, atol=1e-7),
        f"the strategy {strategy} is outside {minimizer.domain!r}",
    )


def utilities(minimizer: RegretMinimizer, seed: int = 0) -> Vector:
    """Return random utilities, shape ``(iterations, dimension)``."""
    return np.random.default_rng(seed).normal(size=(_ITERATIONS, minimizer.dimension))


def twins(make: Make, count: int = 2) -> list[RegretMinimizer]:
    """Return new minimizers of equal state, including the states of generators."""
    made = [make() for _ in range(count)]
    for twin in made[1:]:
        twin.load_state_dict(made[0].state_dict())
    return made


def play(minimizer: RegretMinimizer, utilities: Iterable[Vector]) -> Vector:
    """Return the strategies against these utilities, and the next one."""
    played = []
    for utility in utilities:
        played.append(minimizer.next_strategy().copy())
        minimizer.observe_utility(utility)
    return np.array([*played, minimizer.next_strategy()])


def is_scale_free(minimizer: RegretMinimizer) -> bool:
    """Return whether a minimizer and all its parts are ``scale_free``."""
    held = with_parts(minimizer)
    return all(part.scale_free for part in held if isinstance(part, RegretMinimizer))


# Domain


def strategies_lie_in_the_domain(make: Make) -> None:
    """Require that strategies lie in ``domain``, for utilities of size 1, 1e-6 and 1e6."""
    for unit in (1.0, 1e-6, 1e6):
        minimizer = make()
        for strategy in play(minimizer, unit * utilities(minimizer)):
            require_in_domain(minimizer, strategy)


def strategies_lie_in_the_domain_after_any_prediction(make: Make) -> None:
    """Require that strategies lie in ``domain`` after predictions of size 1, 1e-6 and 1e6."""
    minimizer = make()
    sizes = np.resize([1.0, 1e-6, 1e6], _ITERATIONS)
    predictions = sizes[:, None] * utilities(minimizer, seed=1)
    for utility, prediction in zip(utilities(minimizer), predictions, strict=True):
        minimizer.expect_utility(prediction)
        require_in_domain(minimizer, minimizer.next_strategy())
        minimizer.observe_utility(utility)


# Methods


def asking_changes_nothing(make: Make) -> None:
    """Require that repeated calls of ``next_strategy`` change no strategy."""
    asked, reference = twins(make)
    for utility in utilities(asked):
        first = asked.next_strategy().copy()
        for _ in range(2):
            asked.state_dict()
            require_same(first, asked.next_strategy(), "a second call returned another strategy")
        asked.observe_utility(utility)
        reference.observe_utility(utility)
    message = "calls of next_strategy changed later strategies"
    require_same(asked.next_strategy(), reference.next_strategy(), message)


def a_later_prediction_replaces_earlier_ones(make: Make) -> None:
    """Require that a later prediction for an iteration replaces an earlier one.

    Random minimizers pass, because they may draw again after each prediction.
    """
    subject, reference = twins(make)
    if any(generators(subject)):
        return
    for utility, prediction in zip(utilities(reference), utilities(reference, seed=1), strict=True):
        subject.expect_utility(-10.0 * prediction[::-1])
        for minimizer in (subject, reference):
            minimizer.expect_utility(prediction)
        difference = np.abs(subject.next_strategy() - reference.next_strategy())
        require(
            bool((difference <= 1e-9).all()),
            "an earlier prediction changed the strategy",
        )
        for minimizer in (subject, reference):
            minimizer.observe_utility(utility)


def a_prediction_applies_to_one_iteration(make: Make) -> None:
    """Require that a prediction applies to one iteration only.

    The check compares three minimizers of equal state: without a new prediction, with the same
    prediction again, and with the opposite one. The first two must differ in some iteration.
    """
    silent, repeated, opposite = twins(make, 3)
    kept = moved = 0.0
    for utility, prediction in zip(
        utilities(silent), 100.0 * utilities(silent, seed=1), strict=True
    ):
        silent.expect_utility(prediction)
        silent.observe_utility(utility)
        for minimizer, next_one in ((repeated, prediction), (opposite, -prediction)):
            minimizer.load_state_dict(silent.state_dict())
            minimizer.expect_utility(next_one)
        again = repeated.next_strategy()
        kept += float(np.abs(silent.next_strategy() - again).sum())
        moved += float(np.abs(opposite.next_strategy() - again).sum())
    require(
        kept > 0.01 * moved or moved == 0.0,
        f"a prediction still applies one iteration later, up to {kept:.3g}",
    )


def inputs_are_neither_changed_nor_kept(make: Make) -> None:
    """Require that minimizers neither change arguments nor keep references to them."""
    subject, reference = twins(make)
    for utility in utilities(subject):
        reused = utility.copy()
        for verb in (subject.expect_utility, subject.observe_utility):
            verb(reused)
            require_same(utility, reused, f"{verb.__name__} changed its argument")
        reused[:] = 1e6
        reference.expect_utility(utility)
        reference.observe_utility(utility)
    message = "a reference to an argument was kept"
    require_same(subject.next_strategy(), reference.next_strategy(), message)


def returned_strategies_do_not_change(make: Make) -> None:
    """Require that returned strategies are read-only and never change."""
    minimizer = make()
    for utility in utilities(minimizer):
        strategy = minimizer.next_strategy()
        require(not strategy.flags.writeable, "a strategy is writable")
        copied = strategy.copy()
        minimizer.observe_utility(utility)
        minimizer.next_strategy()
        require_same(copied, strategy, "a strategy changed after it was returned")


# State


def equal_states_give_equal_strategies(make: Make) -> None:
    """Require equal strategies of two minimizers with equal states and utilities."""
    first, second = twins(make)
    shown = utilities(first)
    require_same(play(first, shown), play(second, shown), "equal states gave different strategies")


def copies_are_independent(make: Make) -> None:
    """Require that a copy has an equal state, and shares none of it."""
    original = make()
    play(original, utilities(original))
    twin = make()
    twin.load_state_dict(original.state_dict())
    duplicate = copy.deepcopy(original)
    message = "a copy has another strategy"
    require_same(original.next_strategy(), duplicate.next_strategy(), message)
    play(duplicate, utilities(original, seed=1))
    second = utilities(original, seed=2)
    require_same(play(original, second), play(twin, second), "a copy shares state")


def state_round_trips(make: Make) -> None:
    """Require that a new object with a loaded state continues bitwise identically."""
    original, restored = make(), make()
    play(original, utilities(original))
    play(restored, utilities(original, seed=3)[:5])
    state = original.state_dict()
    restored.load_state_dict(state)
    second = utilities(original, seed=1)
    expected = play(original, second)
    require_same(expected, play(restored, second), "a restored state continues differently")
    reloaded = make()
    reloaded.load_state_dict(state)
    require_same(expected, play(reloaded, second), "a result of state_dict changed later")


# Invariances of rules over simplices


def rules_over(make: Make, *simplices: Simplices) -> list[RegretMinimizer]:
    """Return new rules over these simplices, none if the minimizer supports no other domain."""
    made = [make().on_domain(each) for each in simplices]
    return [rule for rule in made if rule is not None]


def expected_play(minimizer: RegretMinimizer, utilities: Vector) -> tuple[Vector, Vector]:
    """Return the mean strategies and their standard errors, which are 0 for deterministic ones."""
    if not any(generators(minimizer)):
        played = play(minimizer, utilities)
        return played, np.zeros_like(played)
    samples = []
    for seed in range(_SEEDS):
        sample = copy.deepcopy(minimizer)
        for generator in generators(sample):
            generator.bit_generator.state = type(generator.bit_generator)(seed).state
        samples.append(play(sample, utilities))
    return np.mean(samples, axis=0), np.std(samples, axis=0) / np.sqrt(_SEEDS)


def require_alike(
    left: tuple[Vector, Vector], right: tuple[Vector, Vector], message: str, rounding: float = 1e-9
) -> None:
    """Require means that are equal up to rounding and six standard errors."""
    difference = np.abs(left[0] - right[0])
    allowed = rounding + 6.0 * np.hypot(left[1], right[1])
    require(bool((difference <= allowed).all()), f"{message}, by {difference.max():.3g}")


def blocks_are_independent(make: Make) -> None:
    """Require that a rule's strategy in a block does not depend on other blocks."""
    simplices = Simplices([3, 2, 3])
    rules = rules_over(make, simplices, *(Simplices(int(size)) for size in simplices.sizes))
    if not rules:
        return
    together, *separately = rules
    shown = utilities(together)
    mean, error = expected_play(together, shown)
    for number, single in enumerate(separately):
        own = simplices.block(number)
        separate = expected_play(single, shown[:, own])
        joint = mean[:, own], error[:, own]
        require_alike(joint, separate, "a block depends on other blocks", rounding=0.0)


def strategies_are_invariant_to_action_order(make: Make) -> None:
    """Require that permuting actions permutes the strategies of a rule."""
    if not (rules := rules_over(make, Simplices(4), Simplices(4))):
        return
    straight, shuffled = rules
    order, shown = np.array([2, 0, 3, 1]), utilities(straight)
    mean, error = expected_play(straight, shown)
    require_alike(
        (mean[:, order], error[:, order]),
        expected_play(shuffled, shown[:, order]),
        "its strategy depends on the order of actions",
    )


def strategies_are_invariant_to_added_constants(make: Make) -> None:
    """Require that adding a constant to all utilities does not change the strategies of a rule."""
    if not (rules := rules_over(make, Simplices(3), Simplices(3))):
        return
    plain, shifted = rules
    shown = utilities(plain)
    constants = np.linspace(-3.0, 2.0, len(shown))[:, None]
    require_alike(
        expected_play(plain, shown),
        expected_play(shifted, shown + constants),
        "its strategy depends on a constant added to all utilities",
    )


def strategies_are_invariant_to_scale(make: Make) -> None:
    """Require that scaling utilities by powers of 2 keeps ``scale_free`` strategies bitwise."""
    reference, *copies = twins(make, 5)
    if not is_scale_free(reference):
        return
    shown = utilities(reference)
    played = play(reference, shown)
    for minimizer, power in zip(copies, (30, -30, 300, -300), strict=True):
        scaled = play(minimizer, shown * 2.0**power)
        message = f"scaling utilities by 2^{power} changed the strategy"
        require_same(played, scaled, message)
