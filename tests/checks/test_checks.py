"""The checks work: for each there is a minimizer that breaks it, and is caught by it."""

from functools import partial

import numpy as np
import pytest
from attrs import define, field

import regretkit as rk
from regretkit.checks import CHECKS, check_minimizer, checks_of, parametrize_with_checks, run_check
from regretkit.trace._kernel import Kernel


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
    def _propose(self):
        return (1.0 + 4e-7) * super()._propose()  # more is refused when it is played


class PlaysWhatItExpects(Follower):
    """Adds what it expects to what it plays, and not to what it plays by."""

    def _propose(self):
        return super()._propose() + np.clip(self.other, -4e-7, 4e-7)

    def _learn(self, utility, strategy):
        super()._learn(utility, strategy)
        self.other = np.zeros(3)

    def _expect(self, prediction):
        self.other = prediction.copy()


class AfraidOfZero(Follower):
    """Adds a little to what it divides by, so that it never divides by zero."""

    def _propose(self):
        positive = np.maximum(self.regrets, 0.0)
        return positive / (positive.sum() + 1e-9) if positive.any() else self.domain.uniform()


class LearnsWhenAsked(Follower):
    def __getattribute__(self, name):
        if name == "next_strategy":
            self.other[0] += 1.0
        return object.__getattribute__(self, name)

    def _propose(self):
        return self.domain.normalize(np.maximum(self.regrets, 0.0) + 0.01 * self.other)


class Expectant(Follower):
    """Keeps expecting what it was once told to expect."""

    def _propose(self):
        return self.domain.normalize(np.maximum(self.regrets + self.other, 0.0))

    def _expect(self, prediction):
        self.other = prediction - prediction.mean()


class Learned(Expectant):
    """Takes what it was told to expect for something that happened."""

    def _expect(self, prediction):
        self.other = self.other + prediction - prediction.mean()


class Reluctant(Expectant):
    """Expects from then on a part of what it was once told to expect."""

    def _learn(self, utility, strategy):
        super()._learn(utility, strategy)
        self.other = 0.3 * self.other


class Global(Follower):
    """Draws from a generator that is part of no state."""

    generator = np.random.default_rng(0)

    def _propose(self):
        return self.domain.normalize(Global.generator.random(3))


class Shared(Follower):
    """Keeps what it learns where all of its kind can see it."""

    regrets_of_all = np.zeros(3)

    def __init__(self):
        super().__init__()
        Shared.regrets_of_all = np.zeros(3)

    def _propose(self):
        return self.domain.normalize(np.maximum(Shared.regrets_of_all, 0.0))

    def _learn(self, utility, strategy):
        Shared.regrets_of_all = Shared.regrets_of_all + utility - utility @ strategy


class Forgetful(Follower):
    """Keeps half of its state under the name of an argument, where no state is looked for."""

    def __init__(self, secret=None):
        super().__init__()
        self.secret = np.zeros(3)

    def _propose(self):
        return self.domain.normalize(np.maximum(self.regrets + self.secret, 0.0))

    def _learn(self, utility, strategy):
        super()._learn(utility, strategy)
        self.secret = self.secret + utility


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
        self.window = self.weights.view()

    def _propose(self):
        return self.weights.view()

    def _learn(self, utility, strategy):
        self.weights *= np.exp(0.1 * np.tanh(utility - utility.max()))
        self.weights /= self.weights.sum()


class Credulous(Follower):
    """Has verbs of its own that check nothing."""

    def observe_utility(self, utility):
        numbers = [0.0] if utility is None or isinstance(utility, str) else utility
        checked = np.resize(np.nan_to_num(np.asarray(numbers, dtype=float)), 3)
        super().observe_utility(checked)


@define(eq=False)
class Matching(rk.SimplexRule):
    """Accumulates regrets, for others to play by."""

    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0))

    def _learn(self, utility, strategy):
        self.regrets += self.simplices.regret(utility, strategy)


class Neighbourly(Matching):
    """Lets every block see what all the others earn."""

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
    """Takes a small regret for none, and claims that units do not matter."""

    tolerance: float = field(default=1e-6, kw_only=True)

    scale_free = True

    def _propose(self):
        return self.simplices.normalize(np.where(self.regrets > self.tolerance, self.regrets, 0.0))


class Idle(Matching):
    """Never learns."""

    def _learn(self, utility, strategy):
        pass


@define(eq=False)
class ShortOfMemory(Matching):
    """Forgets half of all regret in every iteration."""

    rate: float = field(default=1.0, kw_only=True)

    def _propose(self):
        return self.simplices.softmax(self.rate * self.regrets)

    def _learn(self, utility, strategy):
        self.regrets = 0.5 * self.regrets + self.simplices.regret(utility, strategy)


def propose_in_proportion(block, first, last, strategy, state, numbers):
    total = 0.0
    for a in range(first, last):
        strategy[a] = max(state[0][a], 0.0)
        total += strategy[a]
    for a in range(first, last):
        strategy[a] = strategy[a] / total if total > 0.0 else 1.0 / (last - first)


def add_regret(block, first, last, utility, value, strategy, state, numbers):
    for a in range(first, last):
        state[0][a] += utility[a] - value
    state[1][block] += 1.0


@define(eq=False)
class Fast(Matching):
    """Regret matching that counts its iterations in every block, with a kernel of its own."""

    propose: object = field(default=propose_in_proportion, kw_only=True)
    learn: object = field(default=add_regret, kw_only=True)
    count: np.ndarray = rk.state(per="block")

    def _learn(self, utility, strategy):
        super()._learn(utility, strategy)
        self.count += 1.0

    def _kernel(self):
        return Kernel(self.propose, self.learn, state=["regrets"], block_state=["count"])


def propose_uniformly(block, first, last, strategy, state, numbers):
    for a in range(first, last):
        strategy[a] = 1.0 / (last - first)


def propose_to_the_next_as_well(block, first, last, strategy, state, numbers):
    propose_in_proportion(block, first, last, strategy, state, numbers)
    strategy[last] = 0.0


def forget_negative_regret(block, first, last, utility, value, strategy, state, numbers):
    add_regret(block, first, last, utility, value, strategy, state, numbers)
    for a in range(first, last):
        state[0][a] = max(state[0][a], 0.0)


def count_for_the_first(block, first, last, utility, value, strategy, state, numbers):
    add_regret(block, first, last, utility, value, strategy, state, numbers)
    state[1][0] += 1.0


def use_up_the_utility(block, first, last, utility, value, strategy, state, numbers):
    add_regret(block, first, last, utility, value, strategy, state, numbers)
    for a in range(first, last):
        utility[a] -= value


def believe_the_value(block, first, last, utility, value, strategy, state, numbers):
    add_regret(block, first, last, utility, 0.0, strategy, state, numbers)


WRONG_KERNELS = [
    ("its kernel proposes something else than the rule", {"propose": propose_uniformly}),
    ("its kernel writes to what is not its block's", {"propose": propose_to_the_next_as_well}),
    ("its kernel learns other regrets than the rule", {"learn": forget_negative_regret}),
    ("its kernel writes to what is not its block's", {"learn": count_for_the_first}),
    ("its kernel changes the utility that it learns from", {"learn": use_up_the_utility}),
    ("its kernel learns other regrets than the rule", {"learn": believe_the_value}),
]


BROKEN = {
    "strategies_lie_in_the_domain": Outside,
    "strategies_lie_in_the_domain_after_any_prediction": PlaysWhatItExpects,
    "strategies_lie_in_the_domain_at_any_scale": AfraidOfZero,
    "asking_changes_nothing": LearnsWhenAsked,
    "a_later_prediction_replaces_earlier_ones": Learned,
    "a_prediction_applies_to_one_iteration": Expectant,
    "equal_states_give_equal_strategies": Global,
    "copies_are_independent": Shared,
    "state_round_trips": Forgetful,
    "inputs_are_neither_changed_nor_kept": Keeping,
    "outputs_are_read_only": Aliasing,
    "rejected_input_leaves_the_state_unchanged": Credulous,
    "blocks_are_independent": lambda: Neighbourly(3),
    "strategies_are_invariant_to_action_order": lambda: Ordered(3),
    "strategies_are_invariant_to_added_constants": lambda: Shifted(3),
    "strategies_are_invariant_to_scale": lambda: Tolerant(3),
    "kernel_agrees": lambda: Fast(3, learn=forget_negative_regret),
    "regret_grows_slowly": lambda: Idle(3),
}


# What cannot be had without the other: who breaks the first breaks the others too.
WITH_IT = {
    "strategies_lie_in_the_domain": {
        "strategies_lie_in_the_domain_after_any_prediction",
        "strategies_lie_in_the_domain_at_any_scale",
    },
    # A strategy outside the set is refused wherever it is met.
    "strategies_lie_in_the_domain_after_any_prediction": {
        "a_later_prediction_replaces_earlier_ones",
        "a_prediction_applies_to_one_iteration",
        "inputs_are_neither_changed_nor_kept",
    },
    "asking_changes_nothing": {"copies_are_independent", "state_round_trips"},
    "equal_states_give_equal_strategies": {
        "asking_changes_nothing",
        "a_later_prediction_replaces_earlier_ones",
        "copies_are_independent",
        "state_round_trips",
        "inputs_are_neither_changed_nor_kept",
        "rejected_input_leaves_the_state_unchanged",
        "regret_grows_slowly",
    },
    "copies_are_independent": {"equal_states_give_equal_strategies", "state_round_trips"},
    "state_round_trips": {"copies_are_independent", "regret_grows_slowly"},
    "strategies_are_invariant_to_added_constants": {"regret_grows_slowly"},
}


def broken_by(make):
    """Return the names of the checks that break, each of which names itself."""
    found = set()
    for check in CHECKS:
        try:
            run_check(check, make)
        except AssertionError as error:
            found.add(str(error).partition(" is broken by ")[0])
    return found


def test_every_law_has_a_minimizer_that_breaks_it():
    assert list(BROKEN) == [check.__name__ for check in CHECKS]


@pytest.mark.deep_beyond(3)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_check_catches_what_breaks_it_and_no_other_check_does(check):
    make = BROKEN[check.__name__]
    assert broken_by(make) == {check.__name__} | WITH_IT.get(check.__name__, set())
    with pytest.raises(AssertionError, match=" is broken by "):
        check_minimizer(make)


def test_who_expects_a_part_of_it_longer_is_caught_as_well():
    assert broken_by(Reluctant) == {"a_prediction_applies_to_one_iteration"}


@pytest.mark.deep_beyond(3)
@pytest.mark.parametrize(("message", "wrong"), WRONG_KERNELS)
def test_a_kernel_is_held_to_its_rule_and_to_its_block(message, wrong):
    assert broken_by(lambda: Fast([2, 3], **wrong)) == {"kernel_agrees"}
    with pytest.raises(AssertionError, match=f"kernel_agrees is broken by .*{message}"):
        check_minimizer(lambda: Fast([2, 3], **wrong))


def test_a_sound_minimizer_keeps_them_all():
    check_minimizer(Follower)
    check_minimizer(lambda: Fast([2, 3]))


SOUND = {"follower": Follower, "matching": lambda: rk.RegretMatching([2, 3])}


@pytest.mark.deep_beyond(12)
@parametrize_with_checks(SOUND)
def test_the_mark_runs_each_law_on_each_minimizer(check, make):
    run_check(check, make)


def test_the_mark_names_its_rows():
    ids = [parameter.id for parameter in parametrize_with_checks(SOUND).args[1]]
    assert ids[0] == "follower:strategies_lie_in_the_domain"
    assert len(ids) == 2 * len(CHECKS)


# Exemptions


class Exempt(Follower):
    """Declares its argument."""

    def __init__(self, declared):
        super().__init__()
        self.declared = declared

    def exemptions(self):
        return self.declared


def test_an_exemption_is_made_for_a_reason():
    exempt = Exempt({"strategies_are_invariant_to_scale": "it is paid in one currency only"})
    (left_out,) = {*CHECKS} - {*checks_of(exempt)}
    assert left_out.__name__ == "strategies_are_invariant_to_scale"


@pytest.mark.parametrize(
    ("declared", "error", "message"),
    [
        ({"be_nice": ""}, ValueError, r"name \['be_nice'\], which are no checks; the checks are"),
        ({CHECKS[0]: "never"}, ValueError, "which are no checks"),
        ({CHECKS[0].__name__: ""}, ValueError, r"no reason for \['strateg.*say in a sentence"),
        ({CHECKS[0].__name__: " \n"}, ValueError, "no reason for"),
        ({CHECKS[0].__name__: None}, ValueError, "no reason for .* but None"),
        ({CHECKS[0].__name__: True}, ValueError, "no reason for .* but True"),
        ([CHECKS[0].__name__], TypeError, "must be a dict from names of checks to reasons, got"),
        (None, TypeError, "must be a dict from names of checks to reasons, got None"),
    ],
)
def test_an_exemption_from_no_law_or_for_no_reason_is_refused(declared, error, message):
    make = partial(Exempt, declared)
    for call in (lambda: checks_of(make()), lambda: check_minimizer(make)):
        with pytest.raises(error, match=message):
            call()
    with pytest.raises(error, match=message):
        parametrize_with_checks({"mine": make})


def test_a_circuit_is_exempt_from_what_its_parts_do_not_keep():
    follower = rk.BestResponse(rk.Simplices(2))
    product = rk.Product([rk.RegretMatching(2), follower])
    assert product.exemptions() == follower.exemptions() != {}


# Factories

ONE, GENERATOR = rk.RegretMatching(3), np.random.default_rng(0)


class Gambler(Follower):
    """Draws from a generator that is passed in."""

    def __init__(self, generator):
        super().__init__()
        self.generator = generator


def experienced():
    player = rk.RegretMatching(2)
    player.observe_utility([1.0, 0.0])
    return player


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (5, TypeError, "must be a function, got 5; pass a function .* as in lambda: Regret"),
        (ONE, TypeError, r"must be a function, got RegretMatching\(.*; pass a function"),
        (lambda: 5, TypeError, "must return a RegretMinimizer, got 5"),
        (lambda: rk.RegretMatching, TypeError, "must return a RegretMinimizer, got <class"),
        (rk.RegretMatching, TypeError, "must need no arguments, but .* 'simplices'; pass a func"),
        (lambda actions: ONE, TypeError, "must need no arguments, but .* 'actions'; pass a func"),
        (lambda: ONE, ValueError, r"the same object twice, RegretMatching.*; pass a function"),
        (lambda: rk.Product([ONE]), ValueError, r"Product.* shares RegretMatching\(.* anew"),
        (lambda: Gambler(GENERATOR), ValueError, r"Gambler\(\), shares Generator\(PCG64\)"),
        (experienced, ValueError, "which has learned already, for 1 iterations; pass a function"),
    ],
)
def test_what_builds_no_new_minimizers_is_refused(make, error, message):
    with pytest.raises(error, match=r"^(what )?make .*" + message):
        check_minimizer(make)
    with pytest.raises(error, match=r"^(what )?make .*" + message):
        run_check(CHECKS[0], make)
    with pytest.raises(error, match=r"^(what )?factories\['mine'\] .*" + message):
        parametrize_with_checks({"mine": make})


def test_an_error_inside_a_factory_is_not_taken_for_one_of_calling_it():
    with pytest.raises(TypeError, match=r"^sizes must be whole numbers"):
        check_minimizer(lambda: rk.RegretMatching(None))


def test_factories_without_names_and_checks_of_what_is_no_minimizer_are_refused():
    with pytest.raises(TypeError, match="factories must be a dict from names to functions, got"):
        parametrize_with_checks([Follower])
    with pytest.raises(TypeError, match="minimizer must be a RegretMinimizer, got 5"):
        checks_of(5)
