"""Ctrl-C ends a run between two iterations; a run that failed is broken; copies are their own."""

import copy
import signal
from functools import partial

import numpy as np
import pytest
from attrs import define, field

import regretkit as rk
from regretkit import SelfPlay, games
from regretkit.play import ExternalSampling, Sampled

KUHN = games.kuhn_poker()


@define(eq=False)
class Watched(rk.SimplexRule):
    """Regret matching that calls a function before it learns."""

    before: list = field(factory=list, kw_only=True)
    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0))

    def _learn(self, utility, strategy):
        for action in self.before[:1]:
            action(self)
        self.regrets += self.simplices.regret(utility, strategy)


def with_a_tree(before=(), engine="numpy"):
    players = [rk.CFR(tree, partial(Watched, before=before)) for tree in KUHN.domains]
    return SelfPlay(KUHN, players, engine=engine)


def without_a_tree(before=()):
    sampling = ExternalSampling(np.random.default_rng(1))
    rule = partial(Watched, before=before)
    return Sampled(games.Dudo(sides=2), rule, sampling)


each_kind = pytest.mark.parametrize("start", [with_a_tree, without_a_tree])


def average(run):
    return [strategy.tolist() for strategy in run.average]


def press(*_):
    signal.raise_signal(signal.SIGINT)


# Ctrl-C


def once(times):
    """Return an action that presses Ctrl-C in the third call, a number of times."""
    calls = []

    def action(_):
        calls.append(None)
        if len(calls) == 3:
            for _ in range(times):
                press()

    return action


@pytest.mark.parametrize("start", [with_a_tree, without_a_tree])
def test_an_interrupt_within_an_iteration_waits_for_its_end(start):
    run, seen = start([once(1)]), []
    with pytest.raises(KeyboardInterrupt):
        run.run(100, callbacks=[lambda run: seen.append(run.iteration)])

    assert 1 <= run.iteration < 5
    assert seen == list(range(1, run.iteration))
    # Not of start(), whose rule is traced, and so rounds otherwise
    assert average(run.run(10)) == average(start([once(0)]).run(run.iteration))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@each_kind
def test_a_second_interrupt_ends_an_iteration_and_breaks_the_run(start):
    run = start([once(2)])
    with pytest.raises(KeyboardInterrupt):
        run.run(100)

    with pytest.raises(RuntimeError, match="failed after iteration"):
        run.run(1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@each_kind
def test_an_interrupt_in_a_callback_is_raised_at_once(start):
    run, reached = start(), []

    def callback(run):
        press()
        reached.append(run.iteration)

    with pytest.raises(KeyboardInterrupt):
        run.run(5, callbacks=[callback])

    assert run.iteration == 1
    assert not reached
    assert average(run.run(4)) == average(start().run(5))


# Saved and copied on the way


@each_kind
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_made_by_a_callback_are_independent_runs(start, duplicate):
    run, copies = start(), []
    run.run(2, callbacks=[lambda run: copies.append(duplicate(run))])
    expected = average(start().run(5))

    assert [average(twin.run(5 - twin.iteration)) for twin in copies] == [expected] * 2
    assert run.iteration == 2
    assert average(run.run(3)) == expected
    assert duplicate is copy.deepcopy or copies[0].game is run.game


# Iterations that fail


def fail_when(armed):
    """Return an action that fails while a list holds something, and that cannot be traced."""

    def action(rule):
        if float(rule.regrets[0]) < np.inf and armed:
            raise ZeroDivisionError("no more")

    return action


def broken(start, iteration):
    """Return a run that failed after an iteration, and its state before."""
    armed, states = [], []
    run = start([fail_when(armed)])

    def arm(run):
        if run.iteration == iteration:
            armed.append(True)
            states.append(run.state_dict())

    with pytest.raises(ZeroDivisionError):
        run.run(100, callbacks=[arm])
    armed.clear()
    return run, states[0]


@each_kind
def test_a_run_that_failed_is_broken_and_says_so_until_a_state_mends_it(start, tmp_path):
    run, state = broken(start, 3)
    uses = run.state_dict, lambda: run.run(1), lambda: run.average, lambda: run.current
    for use in (*uses, lambda: run.save(tmp_path / "run")):
        with pytest.raises(RuntimeError, match="failed after iteration 3: ZeroDivisionError"):
            use()
    assert not [*tmp_path.iterdir()]

    run.load_state_dict(state)

    assert average(run.run(2)) == average(start([fail_when([])]).run(5))


# Printed


def test_a_run_prints_what_it_is_and_how_far_it_came():
    game = games.kuhn_poker()
    run = rk.solve(game, ["cfr", "cfr+"], iterations=1_234, sampling="outcome")
    printed = dict(line.split("  ", 1) for line in str(run).splitlines())
    facts = {name: fact.strip() for name, fact in printed.items()}
    assert facts["game"] == "kuhn_poker"
    assert facts["algorithm"] == "cfr, cfr+, outcome sampling"
    assert facts["iterations"] == "1,234"
    assert float(facts["gap"]) == pytest.approx(run.nash_conv(), rel=1e-2)
    assert float(facts["value"].split(", ")[0]) == pytest.approx(
        game.value(run.average)[0], abs=1e-5
    )
    assert facts["engine"] == run.engine
    assert repr(run) == "<SelfPlay of kuhn_poker: 1234 iterations>"


@each_kind
def test_a_run_prints_that_it_has_not_begun_or_is_broken(start):
    assert {line.split()[0] for line in str(start()).splitlines()} >= {"game", "iterations"}
    assert "broken" in str(broken(start, 2)[0])
    assert "Watched" in str(with_a_tree())


def test_play_without_a_tree_is_refused_before_memory_ends(monkeypatch):
    monkeypatch.setattr("regretkit.play._infosets.available", lambda: 2.0**10)
    with pytest.raises(MemoryError, match=r"information sets do not fit .* OutcomeSampling"):
        rk.solve(games.LiarsDice(), "mccfr", iterations=50, seed=1)
