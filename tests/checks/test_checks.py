"""Each check finds the minimizers that fail it."""

import copy

import numpy as np
import pytest
from attrs import define

import regretkit as rk
from regretkit.checks import (
    CHECKS,
    check_minimizer,
    parametrize_with_checks,
    run_check,
)


class Follower(rk.RegretMinimizer):
    """A sound minimizer over three actions, for others to break."""

    def __init__(self, secret=None):
        self.domain, self.secret = rk.Simplices(3), np.zeros(3)
        self.regrets, self.other = np.zeros(3), np.zeros(3)

    def _propose(self):
        return self.domain.normalize(np.maximum(self.regrets, 0.0))

    def _learn(self, utility, strategy):
        self.regrets = self.regrets + self.domain.regret(utility, strategy)


@define(eq=False)
class Matching(rk.SimplexRule):
    """Regret matching, for others to break."""

    scale_free = True  # so that the growth of regret is checked in one unit

    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0))

    def _learn(self, utility, strategy):
        self.regrets += self.simplices.regret(utility, strategy)


def mine(base=Follower, **members):
    return type("Mine", (base,), members)


def setting(name, value):
    """Return a hook that learns as ``Follower`` does, and then sets an attribute."""

    def _learn(self, utility, strategy):
        Follower._learn(self, utility, strategy)
        setattr(self, name, value(self, utility))

    return _learn


def with_added(name):
    """Return a hook that plays as ``Follower`` does after it added an attribute to the regrets."""
    return lambda self: self.domain.normalize(np.maximum(self.regrets + getattr(self, name), 0.0))


class ChangesWhenAsked(Follower):
    def next_strategy(self):
        self.other[0] += 0.01
        return super().next_strategy()

    _propose = with_added("other")


class AnswersOnce(Follower):
    asked = False

    def next_strategy(self):
        strategy = self.domain.uniform() if self.asked else super().next_strategy()
        self.asked = True
        return strategy

    _learn = setting("asked", lambda self, utility: False)


def expects(total):
    """Return a minimizer whose prediction, or the sum of all of them, applies for ever."""

    def _expect(self, prediction):
        self.other = total * self.other + prediction - prediction.mean()

    return mine(_propose=with_added("other"), _expect=_expect)


def expects_beyond_the_set(self, prediction):
    self.other = np.clip(prediction, -4e-7, 4e-7)


class WritesToItsStrategy(Follower):
    def __init__(self):
        super().__init__()
        self.weights = np.ones(3) / 3

    def _propose(self):
        return self.weights.view()

    def _learn(self, utility, strategy):
        self.weights *= np.exp(0.1 * np.tanh(utility - utility.max()))
        self.weights /= self.weights.sum()


GLOBAL = np.random.default_rng(0)


class SharesRegrets(Follower):
    shared = np.zeros(3)

    def __init__(self):
        super().__init__()
        SharesRegrets.shared = np.zeros(3)

    def _propose(self):
        return self.domain.normalize(np.maximum(SharesRegrets.shared, 0.0))

    def _learn(self, utility, strategy):
        SharesRegrets.shared = SharesRegrets.shared + utility - utility @ strategy


def learn_in_place(self, utility, strategy):
    self.regrets += self.domain.regret(utility, strategy)


def by_place(self):
    first = self.simplices.repeat(self.simplices.first.astype(float))
    place = np.arange(self.simplices.dimension) - first
    return self.simplices.softmax(0.3 * self.regrets - 0.1 * place)


def by_all_blocks(self):
    return self.simplices.softmax(20.0 * self.regrets / (1.0 + np.abs(self.regrets).sum()))


def by_level(self, utility, strategy):
    self.regrets += utility


def above_a_tolerance(self):
    return self.simplices.normalize(np.where(self.regrets > 1e-6, self.regrets, 0.0))


def is_traced(array):
    return type(array) is not np.ndarray


def other_floor_when_traced(self):
    floor = 0.1 if is_traced(self.regrets) else 0.0
    return self.simplices.normalize(np.maximum(self.regrets, floor))


class LearnsOtherwiseWhenTraced(Matching):
    """Learns a sum for each block that does not affect strategies."""

    learned: np.ndarray = rk.state(per="block")

    def _learn(self, utility, strategy):
        super()._learn(utility, strategy)
        self.learned = self.learned + (2.0 if is_traced(self.regrets) else 1.0)


def forgets_at_zeros_unless_traced(self, utility, strategy):
    factor = 1.0 if is_traced(utility) or utility.any() else 0.5
    self.regrets = factor * self.regrets + self.simplices.regret(utility, strategy)


BROKEN = {
    "strategies_lie_in_the_domain": [
        mine(_propose=lambda self: (1.0 + 4e-7) * Follower._propose(self))
    ],
    "strategies_lie_in_the_domain_after_any_prediction": [
        mine(
            _propose=lambda self: Follower._propose(self) + self.other,
            _learn=setting("other", lambda self, utility: np.zeros(3)),
            _expect=expects_beyond_the_set,
        )
    ],
    "asking_changes_nothing": [ChangesWhenAsked, AnswersOnce],
    "a_later_prediction_replaces_earlier_ones": [expects(total=1.0)],
    "a_prediction_applies_to_one_iteration": [expects(total=0.0)],
    "inputs_are_neither_changed_nor_kept": [
        mine(_propose=with_added("other"), _learn=setting("other", lambda self, utility: utility))
    ],
    "returned_strategies_do_not_change": [WritesToItsStrategy],
    "equal_states_give_equal_strategies": [
        mine(_propose=lambda self: self.domain.normalize(GLOBAL.random(3)))
    ],
    "copies_are_independent": [
        SharesRegrets,
        mine(__deepcopy__=lambda self, memo: copy.copy(self), _learn=learn_in_place),
    ],
    "state_round_trips": [  # the name of an argument is no state
        mine(
            _propose=with_added("secret"),
            _learn=setting("secret", lambda self, utility: self.secret + utility),
        )
    ],
    "blocks_are_independent": [mine(Matching, _propose=by_all_blocks)],
    "strategies_are_invariant_to_action_order": [mine(Matching, _propose=by_place)],
    "strategies_are_invariant_to_added_constants": [mine(Matching, _learn=by_level)],
    "strategies_are_invariant_to_scale": [mine(Matching, _propose=above_a_tolerance)],
    "kernel_agrees": [
        mine(Matching, _propose=other_floor_when_traced),
        LearnsOtherwiseWhenTraced,
        mine(Matching, _learn=forgets_at_zeros_unless_traced),
    ],
    "regret_grows_slowly": [mine(Matching, _learn=lambda self, utility, strategy: None)],
}
"""For each check, minimizers that fail it."""


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


class Slow(Follower):
    """Plays, until the next power of two, what was best in all iterations so far."""

    def _propose(self):
        return self.domain.best_response(self.other)[1]

    def _learn(self, utility, strategy):
        super()._learn(utility, strategy)
        if (self.iteration + 2) & (self.iteration + 1) == 0:
            self.other = self.regrets


def test_growth_is_checked_against_a_direction_that_turns_around():
    with pytest.raises(AssertionError, match="against the sign-flipping adversary"):
        run_check(CHECKS[-1], Slow)


SOUND = {"follower": Follower, "matching": lambda: Matching([2, 3])}


@parametrize_with_checks(SOUND)
def test_sound_minimizers_keep_every_law(check, make):
    run_check(check, make)


# Other errors say which check was run


def writes_to_utilities(self, utility, strategy):
    utility -= utility @ strategy


@pytest.mark.parametrize("learn", [writes_to_utilities, lambda self, u, x: self.regrets + u])
def test_an_error_gets_a_note(learn):
    with pytest.raises((TypeError, ValueError)) as caught:
        check_minimizer(mine(_learn=learn))
    (note,) = caught.value.__notes__
    assert note.startswith(f"in {CHECKS[0].__name__} of Mine")


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
