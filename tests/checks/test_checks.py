"""The checks work: for each law there are minimizers that break it, and it finds them."""

import copy

import numpy as np
import pytest
from attrs import define, field

import regretkit as rk
from regretkit.checks import (
    CHECKS,
    check_minimizer,
    parametrize_with_checks,
    run_check,
)


class Follower(rk.RegretMinimizer):
    """A sound little minimizer over three actions, for others to break."""

    def __init__(self):
        self.domain = rk.Simplices(3)
        self.regrets, self.other = np.zeros(3), np.zeros(3)

    def _propose(self):
        return self.domain.normalize(np.maximum(self.regrets, 0.0))

    def _learn(self, utility, strategy):
        self.regrets = self.regrets + self.domain.regret(utility, strategy)


class Outside(Follower):
    """Leaves its set, by no more than an engine would notice."""

    def _propose(self):
        return (1.0 + 4e-7) * super()._propose()


class PlaysWhatItExpects(Follower):
    """Adds a prediction to its strategy."""

    def _propose(self):
        return super()._propose() + np.clip(self.other, -4e-7, 4e-7)

    def _learn(self, utility, strategy):
        super()._learn(utility, strategy)
        self.other = np.zeros(3)

    def _expect(self, prediction):
        self.other = prediction.copy()


class LearnsWhenAsked(Follower):
    """Changes its state each time it is asked."""

    def next_strategy(self):
        self.other[0] += 1.0
        return super().next_strategy()

    def _propose(self):
        return self.domain.normalize(np.maximum(self.regrets, 0.0) + 0.01 * self.other)


class Wavering(Follower):
    """Answers otherwise the second time."""

    asked = False

    def next_strategy(self):
        strategy = self.domain.uniform() if self.asked else super().next_strategy()
        self.asked = True
        return strategy

    def _learn(self, utility, strategy):
        self.regrets = self.regrets + utility - utility.mean()
        self.asked = False


class Expectant(Follower):
    """Keeps a prediction for ever."""

    def _propose(self):
        return self.domain.normalize(np.maximum(self.regrets + self.other, 0.0))

    def _expect(self, prediction):
        self.other = prediction - prediction.mean()


class Learned(Expectant):
    """Adds up predictions, as if they were utilities."""

    def _expect(self, prediction):
        self.other = self.other + prediction - prediction.mean()


class Keeping(Expectant):
    """Keeps the very array that it was given."""

    def _learn(self, utility, strategy):
        super()._learn(utility, strategy)
        self.other = utility

    def _expect(self, prediction):
        pass


class Aliasing(Follower):
    """Returns its own state, and keeps writing to it."""

    def __init__(self):
        super().__init__()
        self.weights = np.ones(3) / 3

    def _propose(self):
        return self.weights.view()

    def _learn(self, utility, strategy):
        self.weights *= np.exp(0.1 * np.tanh(utility - utility.max()))
        self.weights /= self.weights.sum()


class Global(Follower):
    """Draws from a generator that is part of no state."""

    generator = np.random.default_rng(0)

    def _propose(self):
        return self.domain.normalize(Global.generator.random(3))


class Shared(Follower):
    """Keeps its regrets where all of its kind can see them."""

    regrets_of_all = np.zeros(3)

    def __init__(self):
        super().__init__()
        Shared.regrets_of_all = np.zeros(3)

    def _propose(self):
        return self.domain.normalize(np.maximum(Shared.regrets_of_all, 0.0))

    def _learn(self, utility, strategy):
        Shared.regrets_of_all = Shared.regrets_of_all + utility - utility @ strategy


class Forgetful(Follower):
    """Keeps half of its state under the name of an argument, which is no state."""

    def __init__(self, secret=None):
        super().__init__()
        self.secret = np.zeros(3)

    def _propose(self):
        return self.domain.normalize(np.maximum(self.regrets + self.secret, 0.0))

    def _learn(self, utility, strategy):
        super()._learn(utility, strategy)
        self.secret = self.secret + utility


class Shallow(Follower):
    """Writes to arrays that it shares with its copies."""

    def __deepcopy__(self, memo):
        return copy.copy(self)

    def _learn(self, utility, strategy):
        self.regrets += self.domain.regret(utility, strategy)


@define(eq=False)
class Matching(rk.SimplexRule):
    """Regret matching, for others to break."""

    scale_free = True  # so that regret grows alike in all units

    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0))

    def _learn(self, utility, strategy):
        self.regrets += self.simplices.regret(utility, strategy)


class Neighbourly(Matching):
    """Divides by the regrets of all blocks."""

    def _propose(self):
        return self.simplices.softmax(20.0 * self.regrets / (1.0 + np.abs(self.regrets).sum()))


class Ordered(Matching):
    """Prefers the actions that come first."""

    def _propose(self):
        first = self.simplices.repeat(self.simplices.first.astype(float))
        place = np.arange(self.simplices.dimension) - first
        return self.simplices.softmax(0.3 * self.regrets - 0.1 * place)


class Shifted(Matching):
    """Depends on the level of utilities, and not only on their differences."""

    def _learn(self, utility, strategy):
        self.regrets += utility


@define(eq=False)
class Tolerant(Matching):
    """Takes a small regret for zero, and claims that units do not matter."""

    tolerance: float = field(default=1e-6, kw_only=True)
    scale_free = True

    def _propose(self):
        return self.simplices.normalize(np.where(self.regrets > self.tolerance, self.regrets, 0.0))


def is_traced(array):
    return type(array) is not np.ndarray


class PlaysOtherwiseWhenTraced(Matching):
    def _propose(self):
        floor = 0.1 if is_traced(self.regrets) else 0.0
        return self.simplices.normalize(np.maximum(self.regrets, floor))


class LearnsOtherwiseWhenTraced(Matching):
    """Learns another sum for each block, by which it does not play."""

    learned: np.ndarray = rk.state(per="block")

    def _learn(self, utility, strategy):
        super()._learn(utility, strategy)
        self.learned = self.learned + (2.0 if is_traced(self.regrets) else 1.0)


class ForgetsUnlessTraced(Matching):
    """Forgets half of its regrets where the utility is zero, but not as it is traced."""

    def _learn(self, utility, strategy):
        factor = 1.0 if is_traced(utility) or utility.any() else 0.5
        self.regrets = factor * self.regrets + self.simplices.regret(utility, strategy)


class Idle(Matching):
    """Never learns."""

    def _learn(self, utility, strategy):
        pass


BROKEN = {
    "strategies_lie_in_the_domain": [Outside],
    "strategies_lie_in_the_domain_after_any_prediction": [PlaysWhatItExpects],
    "asking_changes_nothing": [LearnsWhenAsked, Wavering],
    "a_later_prediction_replaces_earlier_ones": [Learned],
    "a_prediction_applies_to_one_iteration": [Expectant],
    "inputs_are_neither_changed_nor_kept": [Keeping],
    "returned_strategies_do_not_change": [Aliasing],
    "equal_states_give_equal_strategies": [Global],
    "copies_are_independent": [Shared, Shallow],
    "state_round_trips": [Forgetful],
    "blocks_are_independent": [Neighbourly],
    "strategies_are_invariant_to_action_order": [Ordered],
    "strategies_are_invariant_to_added_constants": [Shifted],
    "strategies_are_invariant_to_scale": [Tolerant],
    "kernel_agrees": [*(PlaysOtherwiseWhenTraced, LearnsOtherwiseWhenTraced, ForgetsUnlessTraced)],
    "regret_grows_slowly": [Idle],
}
"""For each law, minimizers that break it."""


def factory(kind):
    return (lambda: kind(3)) if issubclass(kind, rk.SimplexRule) else kind


def test_every_law_has_a_minimizer_that_breaks_it():
    assert list(BROKEN) == [check.__name__ for check in CHECKS]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_law_finds_what_breaks_it(check):
    for kind in BROKEN[check.__name__]:
        with pytest.raises(AssertionError, match=f"^{check.__name__} is broken by {kind.__name__}"):
            run_check(check, factory(kind))
        with pytest.raises(AssertionError, match=f" is broken by {kind.__name__}"):
            check_minimizer(factory(kind))


SOUND = {"follower": Follower, "matching": lambda: Matching([2, 3])}


@parametrize_with_checks(SOUND)
def test_sound_minimizers_keep_every_law(check, make):
    run_check(check, make)


# Other errors say which check was run


class WritesToUtilities(Follower):
    def _learn(self, utility, strategy):
        utility -= utility @ strategy
        self.regrets = self.regrets + utility


class ReturnsRegrets(Follower):
    def _learn(self, utility, strategy):
        return self.regrets + self.domain.regret(utility, strategy)


@pytest.mark.parametrize("make", [WritesToUtilities, ReturnsRegrets])
def test_an_error_is_raised_as_it_is_with_a_note(make):
    with pytest.raises((TypeError, ValueError)) as caught:
        check_minimizer(make)
    (note,) = caught.value.__notes__
    assert note.startswith(f"while {CHECKS[0].__name__} was checked of {make.__name__}")


# Factories

ONE, GENERATOR = rk.RegretMatching(3), np.random.default_rng(0)


def experienced():
    player = rk.RegretMatching(2)
    player.observe_utility([1.0, 0.0])
    return player


def gambler():
    player = Follower()
    player.generator = GENERATOR
    return player


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: None, TypeError, "the result of make must be a RegretMinimizer, got"),
        *(
            (make, ValueError, "must build a new minimizer each time")
            for make in (lambda: ONE, lambda: rk.Product([ONE]), gambler, experienced)
        ),
    ],
)
def test_a_factory_must_build_new_minimizers(make, error, message):
    for use in (
        check_minimizer,
        lambda make: run_check(CHECKS[0], make),
        lambda make: parametrize_with_checks({"mine": make}),
    ):
        with pytest.raises(error, match=message):
            use(make)
