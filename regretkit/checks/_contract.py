"""Checks of the contract: domain, verbs, state, invariances of rules, and regret growth."""

import copy
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from regretkit._state import generators, with_parts
from regretkit._util._typing import Vector
from regretkit._util._validate import quote
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import Simplices, StrategySet

Make: TypeAlias = Callable[[], RegretMinimizer]
"""Builds a new minimizer."""

Check: TypeAlias = Callable[[Make], None]
"""Raises an error when the minimizers that a factory builds do not keep one law of the contract."""

_ITERATIONS = 12
_SEEDS = 300


def utilities(minimizer: RegretMinimizer, seed: int = 0, count: int = _ITERATIONS) -> Vector:
    """Return random utilities, one row for each iteration."""
    return np.random.default_rng(seed).normal(size=(count, minimizer.dimension))


def twins(make: Make, count: int = 2) -> list[RegretMinimizer]:
    """Return new minimizers in one and the same state, random ones in that of one generator."""
    made = [make() for _ in range(count)]
    for twin in made[1:]:
        twin.load_state_dict(made[0].state_dict())
    return made


def play(minimizer: RegretMinimizer, utilities: Iterable[Vector]) -> Vector:
    """Return what is played against some utilities, one row for each and one for the next."""
    played = []
    for utility in utilities:
        played.append(minimizer.next_strategy().copy())
        minimizer.observe_utility(utility)
    return np.array([*played, minimizer.next_strategy()])


def expected_play(minimizer: RegretMinimizer, utilities: Vector) -> tuple[Vector, Vector | float]:
    """Return what is played and its standard error, which is 0 where no chance is involved."""
    if not list(generators(minimizer)):
        return play(minimizer, utilities), 0.0
    samples = []
    for seed in range(_SEEDS):
        sample = copy.deepcopy(minimizer)
        for generator in generators(sample):
            generator.bit_generator.state = type(generator.bit_generator)(seed).state
        samples.append(play(sample, utilities))
    return np.mean(samples, axis=0), np.std(samples, axis=0) / np.sqrt(_SEEDS)


def require(condition: bool, message: str) -> None:
    """Raise ``AssertionError`` unless a condition holds."""
    if not condition:
        raise AssertionError(message)


def require_in_domain(minimizer: RegretMinimizer, strategy: Vector) -> None:
    """Require that a strategy is a point of the domain."""
    require(
        minimizer.domain.contains(strategy, atol=1e-7),
        f"{strategy} was played, outside {minimizer.domain!r}",
    )


def require_same(left: Vector, right: Vector, message: str) -> None:
    """Require the same bits."""
    np.testing.assert_array_equal(left, right, err_msg=message)


def require_same_strategy(left: RegretMinimizer, right: RegretMinimizer, message: str) -> None:
    """Require the same bits of two minimizers' strategies."""
    require_same(left.next_strategy(), right.next_strategy(), message)


def require_alike(
    left: tuple[Vector, Vector | float], right: tuple[Vector, Vector | float], message: str
) -> None:
    """Require equality up to rounding, or in distribution where chance is involved."""
    allowed = 1e-9 + 6.0 * np.hypot(left[1], right[1])
    difference = np.abs(left[0] - right[0])
    require(bool((difference <= allowed).all()), f"{message}, by {difference.max():.3g}")


def strategies_lie_in_the_domain(make: Make) -> None:
    """Require that every strategy is a point of ``domain``."""
    minimizer = make()
    for strategy in play(minimizer, utilities(minimizer)):
        require_in_domain(minimizer, strategy)


def strategies_lie_in_the_domain_after_any_prediction(make: Make) -> None:
    """Require a point of ``domain`` also after ``expect_utility``, little as much is expected."""
    minimizer = make()
    sizes = np.resize([1.0, 1e-6, 1e6], len(utilities(minimizer)))
    predictions = sizes[:, None] * utilities(minimizer, seed=1)
    for utility, prediction in zip(utilities(minimizer), predictions, strict=True):
        minimizer.expect_utility(prediction)
        require_in_domain(minimizer, minimizer.next_strategy())
        minimizer.observe_utility(utility)


def strategies_lie_in_the_domain_at_any_scale(make: Make) -> None:
    """Require a point of ``domain`` also where utilities are of size 1e-6, and of size 1e6."""
    for unit in (1e-6, 1e6):
        minimizer = make()
        for strategy in play(minimizer, unit * utilities(minimizer)):
            require_in_domain(minimizer, strategy)


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
    require_same_strategy(asked, reference, "asking changed what it learned")


def inputs_are_neither_changed_nor_kept(make: Make) -> None:
    """Require that a utility is not written to, and may be overwritten by the caller at once."""
    subject, reference = twins(make)
    for utility in utilities(subject):
        reused = utility.copy()
        for minimizer, verb in ((subject, "expect_utility"), (subject, "observe_utility")):
            getattr(minimizer, verb)(reused)
            require_same(utility, reused, f"{verb} changed its argument")
        reused[:] = 1e6
        reference.expect_utility(utility)
        reference.observe_utility(utility)
    require_same_strategy(subject, reference, "an argument was kept and not copied")


def outputs_are_read_only(make: Make) -> None:
    """Require that strategies are read-only and do not change once returned."""
    minimizer = make()
    for utility in utilities(minimizer):
        strategy = minimizer.next_strategy()
        require(not strategy.flags.writeable, "a strategy can be written to")
        copied = strategy.copy()
        minimizer.observe_utility(utility)
        minimizer.next_strategy()
        require_same(copied, strategy, "a strategy that was handed out changed later")


def rejected_input_leaves_the_state_unchanged(make: Make) -> None:
    """Require that a utility of a wrong length or not finite is refused and leaves no trace."""
    subject, reference = twins(make)
    for utility in utilities(subject):
        bad: list[object] = [np.zeros(subject.dimension + 1), [[0.0]], None, "utility"]
        if subject.dimension:
            bad += [np.append(utility[1:], value) for value in (np.nan, np.inf)]
        for argument in bad:
            for verb in (subject.observe_utility, subject.expect_utility):
                try:
                    verb(argument)  # type: ignore[arg-type]
                except (TypeError, ValueError):
                    continue
                raise AssertionError(f"{verb.__name__}({quote(argument)}) was not refused")
        require_same_strategy(reference, subject, "a refused utility changed the strategy")
        subject.observe_utility(utility)
        reference.observe_utility(utility)
    require_same_strategy(reference, subject, "a refused utility was learned from")


def a_later_prediction_replaces_earlier_ones(make: Make) -> None:
    """Require that a later prediction for an iteration replaces an earlier one.

    Minimizers that play at random are passed over: what they draw may change with every word.
    """
    subject, reference = twins(make)
    if list(generators(subject)):
        return
    for utility, prediction in zip(utilities(reference), utilities(reference, seed=1), strict=True):
        subject.expect_utility(-10.0 * prediction[::-1])
        for minimizer in (subject, reference):
            minimizer.expect_utility(prediction)
        np.testing.assert_allclose(
            subject.next_strategy(),
            reference.next_strategy(),
            atol=1e-9,
            err_msg="what it was told before the last expectation changed its strategy",
        )
        for minimizer in (subject, reference):
            minimizer.observe_utility(utility)


def a_prediction_applies_to_one_iteration(make: Make) -> None:
    """Require that a prediction applies to one iteration only.

    A minimizer that keeps it plays the next iteration as if told the same once more. So three in
    one state are compared: one that is told nothing more, one that is told the same once more,
    and one that is told the opposite. If predictions matter, the first may be near the second by
    chance in some iterations, but not in all.
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
        repeated_strategy = repeated.next_strategy()
        kept += float(np.abs(silent.next_strategy() - repeated_strategy).sum())
        moved += float(np.abs(opposite.next_strategy() - repeated_strategy).sum())
    require(
        kept > 0.01 * moved or moved == 0.0,
        "an iteration later it still plays as if told the same once more: by all iterations "
        f"together, it is {kept:.3g} from that, and who is told the opposite {moved:.3g}",
    )


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
    require_same_strategy(original, duplicate, "a copy plays otherwise")
    play(duplicate, utilities(original, seed=1))
    second = utilities(original, seed=2)
    require_same(play(original, second), play(twin, second), "a copy shares state")


def state_round_trips(make: Make) -> None:
    """Require that a state, taken out and put into a new object, continues bitwise identically."""
    original, restored = make(), make()
    play(original, utilities(original))
    play(restored, utilities(original, seed=3, count=5))
    state = original.state_dict()
    restored.load_state_dict(state)
    second = utilities(original, seed=1)
    expected = play(original, second)
    require_same(expected, play(restored, second), "a restored state continues differently")
    reloaded = make()
    reloaded.load_state_dict(state)
    require_same(expected, play(reloaded, second), "a state changed after it was taken out")


def blocks_are_independent(make: Make) -> None:
    """Require that a rule over simplices plays each block exactly as it would play it alone."""
    simplices = Simplices([3, 2, 3])
    rule = make().on_domain(simplices)
    if rule is None:
        return
    shown = utilities(rule)
    joint = expected_play(rule, shown)
    for number, size in enumerate(simplices.sizes):
        single, block = make().on_domain(Simplices(int(size))), simplices.block(number)
        if single is None:
            raise AssertionError(f"it plays over {quote(simplices)}, but not over {size} actions")
        separate = expected_play(single, shown[:, block])
        message, played = "a block depends on its neighbours", joint[0][:, block]
        if isinstance(separate[1], float):
            require_same(played, separate[0], message)
        else:
            require_alike((played, np.asarray(joint[1])[:, block]), separate, message)


def strategies_are_invariant_to_action_order(make: Make) -> None:
    """Require that a rule over a simplex, shown its actions in another order, plays as before."""
    straight, shuffled = (make().on_domain(Simplices(4)) for _ in range(2))
    if straight is None or shuffled is None:
        return
    order, shown = np.array([2, 0, 3, 1]), utilities(straight)
    mean, error = expected_play(straight, shown)
    require_alike(
        (mean[:, order], np.broadcast_to(error, mean.shape)[:, order]),
        expected_play(shuffled, shown[:, order]),
        "it plays otherwise when its actions are listed in another order",
    )


def strategies_are_invariant_to_added_constants(make: Make) -> None:
    """Require that a rule over a simplex plays as before when all its actions earn more."""
    plain, shifted = (make().on_domain(Simplices(3)) for _ in range(2))
    if plain is None or shifted is None:
        return
    shown = utilities(plain)
    constants = np.linspace(-3.0, 2.0, len(shown))[:, None]
    require_alike(
        expected_play(plain, shown),
        expected_play(shifted, shown + constants),
        "it plays otherwise when all actions earn more",
    )


def is_scale_free(minimizer: RegretMinimizer) -> bool:
    """Return whether a minimizer and all of its parts claim it."""
    held = with_parts(minimizer)
    return all(part.scale_free for part in held if isinstance(part, RegretMinimizer))


def strategies_are_invariant_to_scale(make: Make) -> None:
    """Require that a rule that claims to be ``scale_free`` plays the same bits in any unit."""
    reference, *copies = twins(make, 5)
    if not is_scale_free(reference):
        return
    shown = utilities(reference)
    played = play(reference, shown)
    for minimizer, power in zip(copies, (30, -30, 300, -300), strict=True):
        scaled = play(minimizer, shown * 2.0**power)
        require_same(
            played, scaled, f"it plays otherwise when utilities are multiplied by 2^{power}"
        )


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
    """Give the least utility to what is played most, and a little more to one coordinate."""
    utility = -x.copy()
    utility[:1] += 0.3 * np.abs(x).max(initial=0.0)
    return utility


def _constant(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Favour the same point for ever.

    The cosines of 0, 1, 2 and so on are linearly independent over the rational numbers, by the
    theorem of Lindemann and Weierstrass, and so no two points of floats have the same value.
    """
    return np.cos(np.arange(x.size))


def _opposite(x: Vector, t: int, generator: np.random.Generator) -> Vector:
    """Favour for ever the coordinate of least utility against the constant adversary."""
    return -_constant(x, t, generator)


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

CONSTANT = MappingProxyType({"constant": _constant, "constant-opposite": _opposite})
"""Two more, by name: strategies that ignore utilities have linear regret against one of them."""


ALL_ADVERSARIES = MappingProxyType({**ADVERSARIES, **CONSTANT})
"""The seven adversaries that a minimizer is tested against, by name."""

UNITS = tuple(2.0**power for power in sorted(range(-48, 49, 3), key=abs))
"""Units of utility in which regret may be small, the unit 1 first and the closest to it next."""


def regret_grows_slowly(make: Make) -> None:
    """Require that regret stays far below the number of iterations, against seven adversaries.

    A utility opens a range of payoffs over the domain. Regret may reach ``2 sqrt(dimension)``
    times the root of the sum of the squares of these ranges, which is ``2 sqrt(dimension T)``
    ranges where all T are alike. There are 400 iterations, and at least 30 for each dimension.

    A minimizer that ignores utilities fails on any set of more than one point. Two of the
    adversaries give a constant utility, one the negative of the other, and the regrets against
    them add up to ``T`` ranges: half of that is above the bound for ``T > 16 dimension``.

    A learning rate, a floor or a temperature is in some unit of utility, and is neither right nor
    wrong before that is known. So it is enough that there is one unit in which regret is as small
    against all seven: 1, or else a power of 8 between ``2^-48`` and ``2^48``. What claims to be
    ``scale_free`` has no unit to choose.
    """
    adversaries, messages = list(ALL_ADVERSARIES), []
    for unit in UNITS[:1] if is_scale_free(make()) else UNITS:
        found = fault(make, unit, adversaries)
        if found is None:
            return
        adversary, message = found
        messages.append(message)
        # An adversary that succeeds in one unit most likely does in the next, and is tried first.
        adversaries.remove(adversary)
        adversaries.insert(0, adversary)
    other_units = ", and no other unit of utility is any better for it" if messages[1:] else ""
    raise AssertionError(messages[0] + other_units)


def fault(
    make: Make, unit: float = 1.0, adversaries: Iterable[str] = ALL_ADVERSARIES
) -> tuple[str, str] | None:
    """Return the adversary against which regret is too large in a unit, and a message about it."""
    for name in adversaries:
        minimizer = make()
        iterations = max(400, 30 * minimizer.dimension)
        regret, bound = _regret_and_bound(minimizer, ALL_ADVERSARIES[name], iterations, unit)
        if not regret <= bound:
            return name, (
                f"against the {name} adversary its regret after {iterations} iterations is "
                f"{regret:g}, above {bound:g}"
            )
    return None


def _regret_and_bound(
    minimizer: RegretMinimizer, adversary: Adversary, iterations: int, unit: float
) -> tuple[float, float]:
    """Return the external regret, and what it may be, with an allowance for rounding."""
    generator, domain = np.random.default_rng(7), minimizer.domain
    reach = _reach(domain)
    total, earned, squares, size = np.zeros(minimizer.dimension), 0.0, 0.0, 0.0
    for t in range(iterations):
        strategy = minimizer.next_strategy()
        # As if no coordinate were larger than 1, so that no adversary is larger than the others
        utility = unit * adversary(strategy / reach, t, generator)
        total += utility
        earned += float(utility @ strategy)
        size += reach * float(np.abs(utility).sum())
        squares += (domain.best_response(utility)[0] + domain.best_response(-utility)[0]) ** 2
        minimizer.observe_utility(utility)
    bound = 2.0 * float(np.sqrt(minimizer.dimension * squares)) + 1e-9 * size
    return domain.best_response(total)[0] - earned, bound


def _reach(domain: StrategySet) -> float:
    """Return the size of the largest coordinate of any point, 1 where all are zero."""
    axes = np.eye(domain.dimension)
    corners = [domain.best_response(sign * axis)[0] for axis in axes for sign in (1.0, -1.0)]
    return float(np.abs(corners).max(initial=0.0)) or 1.0
