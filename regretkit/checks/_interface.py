"""Checks of the verbs: what asking, learning, expecting and refusing may do, and may not."""

import numpy as np

from regretkit._util._state import generators
from regretkit._util._validate import quote
from regretkit.checks._helpers import Make, require, require_same, twins, utilities


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
    require_same(asked.next_strategy(), reference.next_strategy(), "asking changed what it learned")


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
    require_same(
        subject.next_strategy(), reference.next_strategy(), "an argument was kept and not copied"
    )


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
        require_same(
            reference.next_strategy(),
            subject.next_strategy(),
            "a refused utility changed the strategy",
        )
        subject.observe_utility(utility)
        reference.observe_utility(utility)
    require_same(
        reference.next_strategy(), subject.next_strategy(), "a refused utility was learned from"
    )


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
