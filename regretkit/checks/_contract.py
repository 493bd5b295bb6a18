"""Checks of the contract: domain, verbs, state, and invariances of rules over simplices."""

import copy

import numpy as np

from regretkit._util._state import generators
from regretkit._util._validate import quote
from regretkit.checks._helpers import (
    Make,
    expected_play,
    play,
    require,
    require_alike,
    require_in_domain,
    require_same,
    require_same_strategy,
    twins,
    utilities,
)
from regretkit.sets import Simplices


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
    further = utilities(original, seed=2)
    require_same(play(original, further), play(twin, further), "a copy shares state")


def state_round_trips(make: Make) -> None:
    """Require that a state, taken out and put into a new object, continues bitwise identically."""
    original, restored = make(), make()
    play(original, utilities(original))
    play(restored, utilities(original, seed=3, count=5))
    state = original.state_dict()
    restored.load_state_dict(state)
    further = utilities(original, seed=1)
    expected = play(original, further)
    require_same(expected, play(restored, further), "a restored state continues differently")
    reloaded = make()
    reloaded.load_state_dict(state)
    require_same(expected, play(reloaded, further), "a state changed after it was taken out")


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


def strategies_are_invariant_to_scale(make: Make) -> None:
    """Require that a rule that claims to be ``scale_free`` plays the same bits in any unit."""
    reference, *copies = twins(make, 5)
    if not reference.scale_free:
        return
    shown = utilities(reference)
    played = play(reference, shown)
    for minimizer, power in zip(copies, (30, -30, 300, -300), strict=True):
        scaled = play(minimizer, shown * 2.0**power)
        require_same(
            played, scaled, f"it plays otherwise when utilities are multiplied by 2^{power}"
        )
