"""The laws of the contract: domain, verbs, state, and invariances of rules."""

import copy
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from regretkit._state import generators, with_parts
from regretkit._util._typing import Vector
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import Simplices

Make: TypeAlias = Callable[[], RegretMinimizer]
"""Builds a new minimizer."""

Check: TypeAlias = Callable[[Make], None]
"""Raises ``AssertionError`` when the minimizers that a factory builds break one law."""

_ITERATIONS = 12
_SEEDS = 300


# What checks have in common


def require(condition: bool, message: str) -> None:
    """Raise ``AssertionError`` unless a condition holds."""
    if not condition:
        raise AssertionError(message)


def require_same(left: Vector, right: Vector, message: str) -> None:
    """Require the same bits."""
    np.testing.assert_array_equal(left, right, err_msg=message)


def require_in_domain(minimizer: RegretMinimizer, strategy: Vector) -> None:
    """Require that a strategy is a point of the domain."""
    require(
        minimizer.domain.contains(strategy, atol=1e-7),
        f"{strategy} was played, outside {minimizer.domain!r}",
    )


def utilities(minimizer: RegretMinimizer, seed: int = 0) -> Vector:
    """Return random utilities, one row for each iteration."""
    return np.random.default_rng(seed).normal(size=(_ITERATIONS, minimizer.dimension))


def twins(make: Make, count: int = 2) -> list[RegretMinimizer]:
    """Return new minimizers in one and the same state, the states of generators included."""
    made = [make() for _ in range(count)]
    for twin in made[1:]:
        twin.load_state_dict(made[0].state_dict())
    return made


def play(minimizer: RegretMinimizer, utilities: Iterable[Vector]) -> Vector:
    """Return the strategies against some utilities, one row for each and one for the next."""
    played = []
    for utility in utilities:
        played.append(minimizer.next_strategy().copy())
        minimizer.observe_utility(utility)
    return np.array([*played, minimizer.next_strategy()])


def is_scale_free(minimizer: RegretMinimizer) -> bool:
    """Return whether a minimizer and all of its parts claim it."""
    held = with_parts(minimizer)
    return all(part.scale_free for part in held if isinstance(part, RegretMinimizer))


# Where it plays


def strategies_lie_in_the_domain(make: Make) -> None:
    """Require that every strategy is a point of ``domain``, for utilities of size 1, 1e-6, 1e6."""
    for unit in (1.0, 1e-6, 1e6):
        minimizer = make()
        for strategy in play(minimizer, unit * utilities(minimizer)):
            require_in_domain(minimizer, strategy)


def strategies_lie_in_the_domain_after_any_prediction(make: Make) -> None:
    """Require a point of ``domain`` also after predictions of size 1, 1e-6 and 1e6."""
    minimizer = make()
    sizes = np.resize([1.0, 1e-6, 1e6], _ITERATIONS)
    predictions = sizes[:, None] * utilities(minimizer, seed=1)
    for utility, prediction in zip(utilities(minimizer), predictions, strict=True):
        minimizer.expect_utility(prediction)
        require_in_domain(minimizer, minimizer.next_strategy())
        minimizer.observe_utility(utility)


# Its verbs


def asking_changes_nothing(make: Make) -> None:
    """Require that a minimizer asked often plays exactly as one asked once."""
    asked, reference = twins(make)
    for utility in utilities(asked):
        first = asked.next_strategy().copy()
        for _ in range(2):
            asked.state_dict()
            require_same(first, asked.next_strategy(), "asked again, it answered otherwise")
        asked.observe_utility(utility)
        reference.observe_utility(utility)
    message = "asking changed what it learned"
    require_same(asked.next_strategy(), reference.next_strategy(), message)


def a_later_prediction_replaces_earlier_ones(make: Make) -> None:
    """Require that a later prediction for an iteration replaces an earlier one.

    Minimizers that play at random pass: each prediction may make them draw again.
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
            "a prediction before the last one changed its strategy",
        )
        for minimizer in (subject, reference):
            minimizer.observe_utility(utility)


def a_prediction_applies_to_one_iteration(make: Make) -> None:
    """Require that a prediction applies to one iteration only.

    Three minimizers in one state are compared: without a new prediction, with the same again, and
    with the opposite one. The first must not always play as the second.
    """
    silent, repeated, opposite = twins(make, 3)
    kept = moved = 0.0
    for utility, prediction in zip(
        utilities(silent), 100.0 * utilities(silent, seed=1), strict=True
    ):
        silent.expect_utility(prediction)
        silent.observe_utility(utility)
        for minimizer, told in ((repeated, prediction), (opposite, -prediction)):
            minimizer.load_state_dict(silent.state_dict())
            minimizer.expect_utility(told)
        again = repeated.next_strategy()
        kept += float(np.abs(silent.next_strategy() - again).sum())
        moved += float(np.abs(opposite.next_strategy() - again).sum())
    require(
        kept > 0.01 * moved or moved == 0.0,
        f"an iteration later it plays as if a prediction were repeated, up to {kept:.3g}",
    )


def inputs_are_neither_changed_nor_kept(make: Make) -> None:
    """Require that a utility is neither overwritten nor kept."""
    subject, reference = twins(make)
    for utility in utilities(subject):
        reused = utility.copy()
        for verb in (subject.expect_utility, subject.observe_utility):
            verb(reused)
            require_same(utility, reused, f"{verb.__name__} changed its argument")
        reused[:] = 1e6
        reference.expect_utility(utility)
        reference.observe_utility(utility)
    message = "an argument was kept and not copied"
    require_same(subject.next_strategy(), reference.next_strategy(), message)


def returned_strategies_do_not_change(make: Make) -> None:
    """Require that a strategy, once returned, is read-only and stays as it is."""
    minimizer = make()
    for utility in utilities(minimizer):
        strategy = minimizer.next_strategy()
        require(not strategy.flags.writeable, "a strategy can be written to")
        copied = strategy.copy()
        minimizer.observe_utility(utility)
        minimizer.next_strategy()
        require_same(copied, strategy, "a strategy changed after it was returned")


# Its state


def equal_states_give_equal_strategies(make: Make) -> None:
    """Require that two minimizers in one state play the same against the same utilities."""
    first, second = twins(make)
    shown = utilities(first)
    require_same(play(first, shown), play(second, shown), "two in one state differ")


def copies_are_independent(make: Make) -> None:
    """Require that a copy starts from the same state and then shares none of it."""
    original = make()
    play(original, utilities(original))
    twin = make()
    twin.load_state_dict(original.state_dict())
    duplicate = copy.deepcopy(original)
    message = "a copy plays otherwise"
    require_same(original.next_strategy(), duplicate.next_strategy(), message)
    play(duplicate, utilities(original, seed=1))
    second = utilities(original, seed=2)
    require_same(play(original, second), play(twin, second), "a copy shares state")


def state_round_trips(make: Make) -> None:
    """Require that a state, taken out and put into a new object, continues bitwise identically."""
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
    require_same(expected, play(reloaded, second), "a state changed after it was taken out")


# Invariances of rules over simplices


def rules_over(make: Make, *simplices: Simplices) -> list[RegretMinimizer]:
    """Return new rules over these simplices, none where a minimizer plays on another set."""
    made = [make().on_domain(each) for each in simplices]
    return [rule for rule in made if rule is not None]


def expected_play(minimizer: RegretMinimizer, utilities: Vector) -> tuple[Vector, Vector]:
    """Return the mean of the strategies and its standard error, 0 unless it plays at random."""
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
    """Require equality up to rounding, or in distribution where chance is involved."""
    difference = np.abs(left[0] - right[0])
    allowed = rounding + 6.0 * np.hypot(left[1], right[1])
    require(bool((difference <= allowed).all()), f"{message}, by {difference.max():.3g}")


def blocks_are_independent(make: Make) -> None:
    """Require that a rule over simplices plays each block exactly as it would play it alone."""
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
        require_alike(joint, separate, "a block depends on its neighbours", rounding=0.0)


def strategies_are_invariant_to_action_order(make: Make) -> None:
    """Require that a rule over a simplex, shown its actions in another order, plays as before."""
    if not (rules := rules_over(make, Simplices(4), Simplices(4))):
        return
    straight, shuffled = rules
    order, shown = np.array([2, 0, 3, 1]), utilities(straight)
    mean, error = expected_play(straight, shown)
    require_alike(
        (mean[:, order], error[:, order]),
        expected_play(shuffled, shown[:, order]),
        "it plays otherwise when its actions are listed in another order",
    )


def strategies_are_invariant_to_added_constants(make: Make) -> None:
    """Require that a rule over a simplex plays as before when all its actions earn more."""
    if not (rules := rules_over(make, Simplices(3), Simplices(3))):
        return
    plain, shifted = rules
    shown = utilities(plain)
    constants = np.linspace(-3.0, 2.0, len(shown))[:, None]
    require_alike(
        expected_play(plain, shown),
        expected_play(shifted, shown + constants),
        "it plays otherwise when all actions earn more",
    )


def strategies_are_invariant_to_scale(make: Make) -> None:
    """Require that a minimizer that claims to be ``scale_free`` plays the same bits in any unit."""
    reference, *copies = twins(make, 5)
    if not is_scale_free(reference):
        return
    shown = utilities(reference)
    played = play(reference, shown)
    for minimizer, power in zip(copies, (30, -30, 300, -300), strict=True):
        scaled = play(minimizer, shown * 2.0**power)
        message = f"it plays otherwise when utilities are multiplied by 2^{power}"
        require_same(played, scaled, message)


# Adversaries

Adversary: TypeAlias = Callable[[Vector, int, np.random.Generator], Vector]
"""From the strategy, the iteration (from 0) and a generator to a utility."""


def _random(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Draw every coordinate, some better than others in the mean."""
    return generator.normal(size=x.size) + np.linspace(-0.5, 0.5, x.size)


def _alternating(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Favour even coordinates in two iterations of three, and odd ones in the third."""
    even = np.arange(x.size) % 2 == 0
    return np.where(even == (t % 3 < 2), 1.0, -1.0)


def _sign_flipping(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Keep a direction for ever longer, then turn it around."""
    return np.linspace(-1.0, 1.0, x.size) * (1.0 if int(np.log2(t + 1.0)) % 2 else -1.0)


def _drifting(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Let the best coordinate wander slowly."""
    return np.cos(t / 60.0 + 2.0 * np.pi * np.arange(x.size) / max(1, x.size))


def _punishing(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Return small utilities of likely coordinates, and a little more for one coordinate."""
    utility = -x.copy()
    utility[:1] += 0.3 * np.abs(x).max(initial=0.0)
    return utility


ADVERSARIES = MappingProxyType(
    {
        "random": _random,
        "alternating": _alternating,
        "sign-flipping": _sign_flipping,
        "drifting": _drifting,
        "best-reply-punishing": _punishing,
    }
)
"""The five adversaries against learning minimizers, by name."""
