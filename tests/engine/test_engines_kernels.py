"""User-defined kernels: compiled, cached on disk by their content, or refused with a reason."""

import math
import os
import subprocess
import sys
import textwrap
import warnings
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from attrs import define, field
from refusals import refusals

import regretkit as rk
from regretkit import SelfPlay, games
from regretkit.engine._machine_code import MachineCode
from regretkit.evaluation import nash_conv
from regretkit.play import Alternating, Linear, Simultaneous
from regretkit.trace._kernel import Kernel

pytestmark = pytest.mark.deep  # nearly all the time goes into compiling


KUHN = games.kuhn_poker()
HALF = 0.5


def share(first, last, strategy):
    total = 0.0
    for a in range(first, last):
        total += strategy[a]
    for a in range(first, last):
        strategy[a] = strategy[a] / total if total > 0.0 else 1.0 / (last - first)


def propose(block, first, last, strategy, state, numbers):
    for a in range(first, last):
        strategy[a] = max(state[0][a], 0.0)
    share(first, last, strategy)


def learn(block, first, last, utility, value, strategy, state, numbers):
    for a in range(first, last):
        state[0][a] += utility[a] - value


@define(eq=False)
class Mine(rk.SimplexRule):
    """Regret matching."""

    kernel: Kernel = field(default=Kernel(propose, learn, state=["regrets"]), kw_only=True)
    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0))

    def _learn(self, utility, strategy):
        self.regrets += self.simplices.regret(utility, strategy)

    def _kernel(self):
        return self.kernel


# A rule with everything that a kernel may have: constants from outside and from a closure, numbers
# that change, states by action and by block.


@cache
def fading(floor):
    def fade(block, first, last, utility, value, strategy, state, numbers):
        regrets, worst = state[0], 0.0
        for a in range(first, last):
            regrets[a] = max(HALF * numbers[0] * regrets[a] + utility[a] - value, floor)
            worst = max(worst, abs(utility[a] - value))
        state[1][block] = math.hypot(state[1][block], worst)
        state[2][block] += 1.0

    return fade


def propose_fast(block, first, last, strategy, state, numbers):
    scale = math.sqrt(1.0 + state[2][block]) / (1.0 + state[1][block])
    for a in range(first, last):
        strategy[a] = math.exp(scale * state[0][a])
    share(first, last, strategy)


@define(eq=False)
class Elaborate(rk.SimplexRule):
    """Exponential weights of fading regrets, at a rate that depends on what was met so far."""

    floor: float = field(default=-1.0, kw_only=True)
    regrets: np.ndarray = rk.state()
    worst: np.ndarray = rk.state(per="block")
    count: np.ndarray = rk.state(per="block")

    @staticmethod
    def numbers(t):
        return (1.0 + t / (t + 1.0),)

    def _propose(self):
        scale = np.sqrt(1.0 + self.count) / (1.0 + self.worst)
        return self.simplices.normalize(np.exp(self.simplices.repeat(scale) * self.regrets))

    def _learn(self, utility, strategy):
        regret = self.simplices.regret(utility, strategy)
        factor = HALF * self.numbers(self.iteration + 1)[0]
        self.regrets = np.maximum(factor * self.regrets + regret, self.floor)
        self.worst = np.hypot(self.worst, self.simplices.max(np.abs(regret)))
        self.count += 1.0

    def _kernel(self):
        return Kernel(
            propose_fast,
            fading(self.floor),
            state=["regrets"],
            block_state=["worst", "count"],
            parameters=self.numbers,
        )


def run_of(rule, engine, game=KUHN, order=Alternating):
    minimizers = [rk.CFR(tree, rule) for tree in game.domains]
    return SelfPlay(game, minimizers, order=order(), averaging=Linear(), engine=engine)


def test_a_kernel_of_ones_own_does_what_the_same_rule_of_the_library_does():
    own_rule, library = (run_of(rule, "compiled").run(100) for rule in (Mine, rk.RegretMatching))

    for x, y in zip(
        [*own_rule.average, *own_rule.current], [*library.average, *library.current], strict=True
    ):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        own_rule.minimizers[0].rule.regrets,
        library.minimizers[0].rule.regrets,
        rtol=0.0,
        atol=1e-13,
    )


@pytest.mark.parametrize("order", [Alternating, Simultaneous])
def test_a_kernel_may_have_constants_numbers_and_arrays_by_block(order):
    one, second = (
        run_of(Elaborate, engine, order=order).run(60) for engine in ("compiled", "numpy")
    )

    assert nash_conv(KUHN, one.average) == pytest.approx(nash_conv(KUHN, second.average), rel=1e-9)
    for first_rule, second_rule in zip(one.minimizers, second.minimizers, strict=True):
        for name in ("regrets", "worst", "count"):
            expected = getattr(second_rule.rule, name)
            np.testing.assert_allclose(
                getattr(first_rule.rule, name), expected, rtol=1e-9, atol=1e-12
            )
    assert one.minimizers[0].rule.count.tolist() == [60.0] * KUHN.domains[0].points


def test_what_a_function_closes_over_counts_although_its_code_is_the_same():
    low, high = (run_of(partial(Elaborate, floor=f), "compiled").run(30) for f in (-1.0, 0.0))
    assert all((m.rule.regrets >= 0.0).all() for m in high.minimizers)
    assert any((m.rule.regrets < 0.0).any() for m in low.minimizers)


def test_players_may_share_a_kernel_that_gives_each_its_numbers():
    def players(rule):
        return [
            rk.CFR(tree, partial(rule, rate=r))
            for tree, r in zip(KUHN.domains, (0.1, 2.0), strict=True)
        ]

    one, second = (
        SelfPlay(KUHN, players(rk.Hedge), engine=e).run(50) for e in ("compiled", "numpy")
    )

    for x, y in zip(one.average, second.average, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)


# What does not go


def with_kernel(*functions, **names):
    kernel = Kernel(*functions, **({"state": ["regrets"]} | names))
    return run_of(partial(Mine, kernel=kernel), "compiled")


def allocating(block, first, last, strategy, state, numbers):
    positive = np.maximum(state[0][first:last], 0.0)
    strategy[first:last] = positive / positive.sum()


def of_too_few_arguments(block, first, last, strategy):
    strategy[first] = 1.0


def of_no_kind(block, first, last, strategy, state, numbers):
    strategy[first] = {"one": strategy}


@pytest.mark.parametrize("broken", [allocating, of_too_few_arguments, of_no_kind])
def test_a_kernel_that_cannot_be_compiled_names_its_rule_and_leaves_the_run_whole(broken):
    run = with_kernel(broken, learn)
    kept = run.state_dict()

    with pytest.raises(TypeError, match=r"the kernel of Mine\(.* cannot be compiled: .*py:\d+: "):
        run.run(10)

    assert run.iteration == 0
    assert not np.any(run.minimizers[0].rule.regrets)
    assert kept["minimizers"].keys() == run.state_dict()["minimizers"].keys()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            {"state": ["regret"]},
            r"says that the rule learns 'regret', shape \(12,\), but it learns",
        ),
        ({"state": [], "block_state": ["regrets"]}, r"learns 'regrets', shape \(6,\), but it lear"),
        ({"parameters": lambda t: (1.0,) * (1 + t)}, "parameters must always be as many numbers"),
    ],
)
def test_a_kernel_that_does_not_fit_its_rule_is_refused(names, message):
    run = with_kernel(propose, learn, **names)
    with pytest.raises(ValueError, match=r"^the kernel of Mine\(.* " + message):
        run.run(10)
    assert run.iteration == 0


def decaying(block, first, last, utility, value, strategy, state, numbers):
    for a in range(first, last):
        state[0][a] = numbers[0] * state[0][a] + utility[a] - value


def test_a_kernel_that_reads_numbers_it_does_not_declare_is_refused_before_it_is_compiled():
    # Machine code would read beyond the array, and return strategies all the same.
    message = r"^the kernel of Mine\(.* reads beyond its arrays in learn .* parameters 0 numbers"
    with pytest.raises(TypeError, match=message):
        with_kernel(propose, decaying).run(10)


test_wrong_names_and_parameters_make_no_kernel = refusals(
    ({"state": "regrets"}, TypeError, r"must be several, got 'regrets'; pass \['regrets'\]"),
    ({"parameters": 0.9}, ValueError, r"parameters must have shape .* got \(\)"),
    ({"parameters": ("0.9",)}, TypeError, "parameters must be numbers"),
    call=lambda wrong: Kernel(propose, learn, **wrong),
)


@pytest.mark.parametrize("function", [3, None, "propose", partial(propose), math.exp, Mine])
def test_what_is_no_plain_function_makes_no_kernel(function):
    with pytest.raises(TypeError, match=r"propose must be a plain function, got .*; write it with"):
        Kernel(function, learn)
    with pytest.raises(TypeError, match=r"learn must be a plain function, got .*; write it with"):
        Kernel(propose, function)


def dividing(block, first, last, strategy, state, numbers):
    for a in range(first, last):
        strategy[a] = state[0][a] / (state[0][first] + state[0][last - 1])


def dividing_later(block, first, last, strategy, state, numbers):
    for a in range(first, last):
        strategy[a] = 0.5 / (1.0 if state[0][first] == 0.0 else 0.0)


def test_a_kernel_whose_first_strategy_is_not_finite_is_refused_and_leaves_the_run_whole():
    run = with_kernel(dividing, learn)
    for _ in range(2):
        with pytest.raises(
            ValueError, match=r"kernel of Mine.* proposed must be a distribution.*, got \[nan"
        ):
            run.run(10)
        assert run.iteration == 0
        assert not np.any(run.minimizers[0].rule.regrets)


def test_a_kernel_whose_numbers_stop_being_finite_breaks_the_run():
    run = with_kernel(dividing_later, learn)
    with pytest.raises(
        RuntimeError,
        match=r"broke off in iteration 1: .*kernel of Mine.* a distribution.*, got \[inf",
    ):
        run.run(10)
    with pytest.raises(RuntimeError, match="load a state from before it"):
        run.run(1)


# Kept on disk

SEPARATELY = """
    import sys
    import numpy as np
    from functools import partial
    sys.path.insert(0, {tests!r})
    import test_engines_kernels as own
    import regretkit as rk
    from regretkit import games

    KUHN = games.kuhn_poker()
    rules = {{
        "rm": rk.RegretMatching,
        "hedge": partial(rk.Hedge, rate=0.3),
        "default 1": partial(own.Mine, kernel=own.boosted(1.0)),
        "default 3": partial(own.Mine, kernel=own.boosted(3.0)),
    }}
    for name in {names!r}:
        run = own.run_of(rules[name], "compiled").run(5)
        print(name, [x.tolist() for x in run.average])
"""


def boosted(boost):
    def learn_more(block, first, last, utility, value, strategy, state, numbers, boost=boost):
        for a in range(first, last):
            state[0][a] = state[0][a] * boost + utility[a] - value

    return Kernel(propose, learn_more, state=["regrets"])


@pytest.mark.slow
@pytest.mark.sample
def test_machine_code_from_disk_is_never_taken_for_that_of_another_rule(tmp_path):
    # Compiled in processes of their own, and then all of them loaded into one.
    names = ["rm", "hedge", "default 1", "default 3"]
    separate = [line for name in names for line in compiled_elsewhere([name], tmp_path)]
    assert len(set(separate)) == len(names)
    assert compiled_elsewhere(names, tmp_path) == separate
    assert compiled_elsewhere(names[::-1], tmp_path) == separate[::-1]


def compiled_elsewhere(names, cache):
    code = textwrap.dedent(SEPARATELY).format(tests=str(Path(__file__).parent), names=names)
    folders = os.pathsep.join(filter(None, sys.path))  # also those of the tests' helpers
    environment = os.environ | {"REGRETKIT_CACHE_DIR": str(cache), "PYTHONPATH": folders}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


# What changes during a run


RATE = 0.25


def by_a_global(block, first, last, strategy, state, numbers):
    for a in range(first, last):
        strategy[a] = math.exp(RATE * state[0][a])
    share(first, last, strategy)


def test_a_constant_that_changes_makes_other_machine_code(monkeypatch):
    rule = partial(Mine, kernel=Kernel(by_a_global, learn, state=["regrets"]))
    previous = run_of(rule, "compiled").run(20).current
    monkeypatch.setitem(globals(), "RATE", 4.0)
    following = run_of(rule, "compiled").run(20).current
    assert not np.allclose(np.concatenate(previous), np.concatenate(following), atol=0.05)


@define(eq=False)
class Rated(rk.SimplexRule):
    """Exponential weights with a rate that may be changed."""

    rate: float = field(default=1.0, kw_only=True)
    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.softmax(self.regrets, self.rate)

    def _learn(self, utility, strategy):
        self.regrets += self.simplices.regret(utility, strategy)

    def _kernel(self):
        return Kernel(by_rate, learn, state=["regrets"], parameters=[self.rate])


def by_rate(block, first, last, strategy, state, numbers):
    top = state[0][first]
    for a in range(first, last):
        top = max(top, state[0][a])
    for a in range(first, last):
        strategy[a] = math.exp(numbers[0] * (state[0][a] - top))
    share(first, last, strategy)


def test_a_hyperparameter_that_changes_counts_from_then_on():
    runs = {engine: run_of(Rated, engine).run(10) for engine in ("compiled", "numpy")}
    for run in runs.values():
        for minimizer in run.minimizers:
            minimizer.rule.rate = 0.01
        run.run(10)
    for own_rule, plain_rule in zip(runs["compiled"].current, runs["numpy"].current, strict=True):
        np.testing.assert_allclose(own_rule, plain_rule, atol=1e-12)
    steady = run_of(Rated, "compiled").run(20)
    assert not np.allclose(runs["compiled"].current[0], steady.current[0], atol=0.05)


def test_new_minimizers_are_played_from_then_on():
    run = run_of(Mine, "compiled").run(10)
    run.minimizers = tuple(rk.CFR(tree, rk.RegretMatchingPlus) for tree in KUHN.domains)
    run.run(7)
    assert [minimizer.iteration for minimizer in run.minimizers] == [7, 7]


@pytest.mark.parametrize("broken", [allocating, of_too_few_arguments])
def test_auto_goes_on_without_a_kernel_that_cannot_be_compiled(broken):
    rule = partial(Mine, kernel=Kernel(broken, learn, state=["regrets"]))
    run = run_of(rule, "auto")
    with pytest.warns(RuntimeWarning, match="cannot be compiled: .*the run takes a slower engine"):
        run.run(3)
    assert run.engine == "vectorized"
    plain = run_of(Mine, "numpy").run(3)
    for own_rule, plain_rule in zip(run.average, plain.average, strict=True):
        np.testing.assert_allclose(own_rule, plain_rule, atol=1e-12)


def test_a_kernel_may_name_a_builtin_under_which_a_module_warns():
    def propose(block, first, last, strategy, state, numbers):
        # Asked for its attribute of the same name, numpy warns.
        size = np.ones(last - first).size
        strategy[first:last] = 1.0 / size if isinstance(size, (int, str, object)) else 0.0

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert MachineCode(propose, {})
