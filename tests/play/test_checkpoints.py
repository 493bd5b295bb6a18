"""Checkpoints: a run that was put back from a file continues bitwise identically."""

import inspect
from functools import partial

import numpy as np
import pytest
from attrs import define, field, frozen
from engine_cases import ENGINES, RULES, assert_same_bits, started
from factories import apart
from refusals import refusals
from test_contract import ROWS, trained

import regretkit as rk
from regretkit import SelfPlay, games, matrix_game
from regretkit._state import Stateful
from regretkit.evaluation import nash_conv
from regretkit.play import (
    ALGORITHMS,
    Algorithm,
    Alternating,
    AtGeometricSteps,
    Averaging,
    BanditFeedback,
    ChanceSampling,
    Checkpoint,
    Estimator,
    Every,
    Extragradient,
    HorizonPower,
    Last,
    Linear,
    Order,
    Power,
    RandomPlayer,
    Recorder,
    Simultaneous,
    StopAtGap,
    StopWhenConverged,
    hs_dcfr,
    hs_pcfr_plus,
    named,
    resume,
)
from regretkit.play._checkpoint_file import described, difference, rebuilt, subclasses

KUHN = games.kuhn_poker()
LEDUC = games.leduc_poker(merge_suits=True)


def drawn(seed, bits=np.random.PCG64):
    return np.random.Generator(bits(seed))


# How to play; what draws at random is new each time, and begins elsewhere in a second run.
WAYS = {
    "plain": lambda seed: {},
    "simultaneous": lambda seed: {"order": Simultaneous(), "averaging": Linear()},
    "second first": lambda seed: {"order": Alternating(first=1), "averaging": Last()},
    "random player": lambda seed: {"order": RandomPlayer(drawn(seed))},
    "sampled": lambda seed: {"estimator": ChanceSampling(drawn(seed, np.random.MT19937))},
    "both": lambda seed: {
        "order": RandomPlayer(drawn(seed, np.random.Philox)),
        "estimator": ChanceSampling(drawn(seed + 1, np.random.SFC64)),
        "averaging": Power(2.5),
    },
    "extragradient": lambda seed: {"order": Extragradient(), "averaging": HorizonPower(15.0)},
}
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def players(game, local=rk.RegretMatchingPlus):
    return [Algorithm(local).minimizer(domain) for domain in game.domains]


def start(way, seed=1, local=rk.RegretMatchingPlus, game=KUHN):
    return SelfPlay(game, players(game, local), horizon=50, **way(seed))


# Bitwise identical


@each_way
def test_a_run_from_a_file_goes_on_as_if_never_stopped(way, tmp_path):
    whole, cut = start(way).run(30), start(way).run(11)
    cut.save(tmp_path / "run")

    # Order, averaging, estimator and the generators' states are in the file.
    run = SelfPlay.load(tmp_path / "run", KUHN, players(KUHN))

    assert run.iteration == 11
    assert_same_bits(run, cut)
    assert_same_bits(run.run(19), whole)
    np.testing.assert_equal(run.state_dict(), whole.state_dict())


@each_way
def test_parts_that_are_passed_take_up_the_state_from_the_file(way, tmp_path):
    whole = start(way).run(30)
    start(way).run(11).save(tmp_path / "run")

    run = SelfPlay.load(tmp_path / "run", KUHN, players(KUHN), **way(99))

    assert_same_bits(run.run(19), whole)


@pytest.mark.deep_beyond(1)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rule", ["rm+", "drm", "prm+", "adaptive", "optimistic omd euclid"])
@pytest.mark.parametrize("game", [KUHN, LEDUC], ids=str)
def test_every_engine_goes_on_to_the_same_bits(game, rule, engine, tmp_path):
    whole = started(game, RULES[rule], engine=engine).run(40)
    started(game, RULES[rule], engine=engine).run(17).save(tmp_path / "run")

    run = SelfPlay.load(tmp_path / "run", game, players(game, RULES[rule]))

    assert run.engine == engine
    assert_same_bits(run.run(23), whole)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_that_is_saved_on_its_way_is_not_disturbed_by_it(engine, tmp_path):
    whole = started(LEDUC, rk.RegretMatchingPlus, engine=engine).run(40)
    run = started(LEDUC, rk.RegretMatchingPlus, engine=engine)

    run.run(40, callbacks=[Checkpoint(tmp_path / "run", every=7)])

    assert_same_bits(run, whole)
    loaded = SelfPlay.load(tmp_path / "run", LEDUC, players(LEDUC))
    assert loaded.iteration == 35
    assert_same_bits(loaded.run(5), whole)


def test_another_engine_can_be_asked_for(tmp_path):
    started(LEDUC, rk.RegretMatchingPlus, engine="numpy").run(3).save(tmp_path / "run")

    run = SelfPlay.load(tmp_path / "run", LEDUC, players(LEDUC), engine="compiled").run(7)

    assert run.engine == "compiled"
    twin = started(LEDUC, rk.RegretMatchingPlus).run(10)
    assert nash_conv(LEDUC, run.average) == pytest.approx(nash_conv(LEDUC, twin.average), rel=1e-9)


def test_a_run_with_bandit_feedback_goes_on_to_the_same_bits(tmp_path):
    game = matrix_game([[0.5, 1.0], [0.0, 0.4]])

    def begun():
        feedback = BanditFeedback(np.random.default_rng(1), baseline=1.0, implicit=0.1)
        local = [rk.Hedge(2, rate=0.05) for _ in "xy"]
        return SelfPlay(game, local, order=Simultaneous(), estimator=feedback)

    begun().run(20).save(tmp_path / "run")
    run = SelfPlay.load(tmp_path / "run", game, [rk.Hedge(2, rate=0.05) for _ in "xy"])

    assert_same_bits(run.run(20), begun().run(40))


@pytest.mark.deep_beyond(35)
@pytest.mark.parametrize("name", ROWS)
def test_every_minimizer_of_the_contract_goes_into_a_file_and_back(name, tmp_path):
    make = ROWS[name]
    player, fresh = trained(make), make()
    game = Bilinear(player.domain)
    still = rk.Point(np.ones(1))
    SelfPlay(game, [player, still]).save(tmp_path / "run")

    SelfPlay.load(tmp_path / "run", game, [fresh, rk.Point(np.ones(1))])

    np.testing.assert_array_equal(fresh.next_strategy(), player.next_strategy())
    np.testing.assert_equal(fresh.state_dict(), player.state_dict())
    # What it has learned is no part of how it was built.
    assert difference(described(player), described(make()), "player") is None


class Bilinear:
    """A game of one who decides, and another who does not."""

    def __init__(self, domain):
        self.domains = (domain, rk.Simplices(1))

    def utility(self, player, profile, payoff_of=None):
        return np.linspace(-1.0, 1.0, self.domains[player].dimension)

    def value(self, profile):
        return np.zeros(2)


def test_every_component_of_a_run_is_rebuilt_from_its_description():
    made = [
        *(way(3) for way in WAYS.values()),
        {"averaging": rk.play.Quadratic(), "order": Alternating()},
        {"averaging": rk.play.Uniform(), "estimator": rk.play.ExactUtility()},
        {"estimator": BanditFeedback(np.random.default_rng(1), baseline=0.5)},
        {"estimator": rk.play.ExternalSampling(drawn(1), baseline=rk.play.ExactBaseline())},
        {"estimator": rk.play.OutcomeSampling(drawn(2), exploration=0.3, reference=[np.ones(2)])},
        {"estimator": rk.play.RobustSampling(drawn(3), actions=3)},
        {"estimator": rk.play.AverageStrategySampling(drawn(4), epsilon=0.1, tau=2.0, beta=3.0)},
        {"estimator": rk.play.PublicChanceSampling(drawn(5))},
    ]
    bases, seen = {"order": Order, "averaging": Averaging, "estimator": Estimator}, set()

    for parts in made:
        for name, part in parts.items():
            again = rebuilt(described(part), bases[name])
            assert type(again) is type(part)
            assert difference(described(part), described(again), name) is None
            seen.add(type(part))
    for base in bases.values():
        ours = {kind for kind in subclasses(base) if kind.__module__.startswith("regretkit")}
        assert {kind for kind in ours if not inspect.isabstract(kind)} <= seen


# When it is saved


def test_a_period_counts_iterations_of_the_run(tmp_path):
    watch, saved = Checkpoint(tmp_path / "run", every=10), []

    def look(run):
        saved.append(watch.iteration)

    run = start(WAYS["plain"]).run(7).run(25, callbacks=[watch, look])

    assert saved == [None] * 2 + [10] * 10 + [20] * 10 + [30] * 3
    assert run.run(20, callbacks=[watch]).iteration == 52
    assert watch.iteration == 50


def test_a_run_is_saved_when_what_it_holds_stops_it(tmp_path):
    stop = Every(3, StopAtGap(0.05))
    watch = Checkpoint(tmp_path / "run", every=1_000, callbacks=[stop])

    run = start(WAYS["plain"]).run(500, callbacks=[watch])

    assert watch.iteration == run.iteration < 500
    assert SelfPlay.load(tmp_path / "run", KUHN, players(KUHN)).iteration == run.iteration


# What was written down


def curve():
    return Recorder({"gap": lambda run: nash_conv(run.game, run.average)})


@pytest.mark.parametrize(
    "wrap", [lambda r: r, partial(Every, 4), partial(AtGeometricSteps, ratio=1.3)]
)
def test_a_curve_goes_on_as_if_never_stopped(wrap, tmp_path):
    whole, path = curve(), tmp_path / "run"
    start(WAYS["plain"]).run(40, callbacks=[wrap(whole)])
    watch = Checkpoint(path, every=17, callbacks=[wrap(curve())])
    start(WAYS["plain"]).run(20, callbacks=[watch])

    record = curve()
    again = Checkpoint(path, every=17, callbacks=[wrap(record)])
    run = SelfPlay.load(path, KUHN, players(KUHN), callbacks=again.callbacks)
    assert run.iteration == 17
    run.run(23, callbacks=[again])

    assert record.iterations == whole.iterations
    assert record.values == whole.values


@pytest.mark.parametrize("stopped", [13, 14, 20, 21, 29])
def test_a_run_stops_where_it_would_have_stopped(stopped, tmp_path):
    def stops():
        return [
            AtGeometricSteps(StopAtGap(0.02), ratio=1.05),
            Every(3, StopWhenConverged(atol=4e-3)),
        ]

    path, end = tmp_path / "run", start(WAYS["plain"]).run(500, callbacks=stops()).iteration
    assert 30 < end < 500
    for first in (0, 1):
        alone = start(WAYS["plain"]).run(500, callbacks=stops()[first : first + 1]).iteration
        held = stops()[first : first + 1]
        start(WAYS["plain"]).run(stopped, callbacks=held).save(path, callbacks=held)

        others = stops()[first : first + 1]
        run = SelfPlay.load(path, KUHN, players(KUHN), callbacks=others)

        assert run.run(500, callbacks=others).iteration == alone


def test_all_plain_values_can_be_saved(tmp_path):
    seen = [3, 0.1 + 0.2, -0.0, np.nan, np.inf, None, "text", True, np.arange(3), np.float64(2.5)]
    record = Recorder({"seen": lambda run: seen[run.iteration - 1]})
    run = start(WAYS["plain"]).run(len(seen), callbacks=[record])
    run.save(tmp_path / "run", callbacks=[record])

    again = Recorder({"seen": print})
    SelfPlay.load(tmp_path / "run", KUHN, players(KUHN), callbacks=[again])

    np.testing.assert_equal(again.values, record.values)
    assert [type(value) for value in again.values["seen"][:8]] == [type(v) for v in seen[:8]]
    assert again.values["seen"][8].flags.writeable
    assert again.iterations == record.iterations


@pytest.mark.parametrize(
    "value", [lambda run: run.average, lambda run: object(), lambda run: [1.0], lambda run: 1j]
)
def test_what_no_file_can_hold_is_refused_with_its_place(value, tmp_path):
    record = Recorder({"value": value})
    run = start(WAYS["plain"]).run(2, callbacks=[record])

    message = r"(?s)callbacks\[0\]\.callback.values\['value'\]\[0\] is .*, which a checkpoint"
    with pytest.raises(TypeError, match=message):
        run.save(tmp_path / "run", callbacks=[Every(1, record)])
    assert list(tmp_path.iterdir()) == []


def test_callbacks_without_a_state_are_called_and_leave_nothing(tmp_path):
    seen = []
    notes = [lambda run: seen.append(run.iteration)]

    start(WAYS["plain"]).run(12, callbacks=[Checkpoint(tmp_path / "run", every=5, callbacks=notes)])

    assert seen == [*range(1, 13)]
    assert SelfPlay.load(tmp_path / "run", KUHN, players(KUHN), callbacks=[print]).iteration == 10


def test_callbacks_that_do_not_fit_are_refused_and_are_as_they_were(tmp_path):
    record = curve()
    start(WAYS["plain"]).run(5, callbacks=[record]).save(tmp_path / "run", callbacks=[record])
    other, used = Recorder({"other": print}), StopAtGap(0.1)
    load = partial(SelfPlay.load, tmp_path / "run", KUHN, players(KUHN))

    for wrong in ([used], [curve(), curve()], [Every(2, curve())]):
        with pytest.raises(ValueError, match=r"holds what callbacks \['Recorder'\] have written"):
            load(callbacks=wrong)
    with pytest.raises(ValueError, match=r"does not fit this run: .*\['other'\], got"):
        load(callbacks=[other])
    assert other.iterations == []
    # Without any, only the run is put back.
    assert load().iteration == 5


# Of another run


def saved(tmp_path, **ways):
    path = tmp_path / "run"
    local = partial(rk.DiscountedRegretMatching, alpha=1.5)
    SelfPlay(KUHN, players(KUHN, local), **ways).run(3).save(path)
    return path


LOCAL = partial(rk.DiscountedRegretMatching, alpha=1.5)
OTHERS = {
    "rule": (
        rk.RegretMatching,
        r"minimizers\[0\]\.rule was DiscountedRegretMatching\(.* is Regret",
    ),
    "number": (
        partial(rk.DiscountedRegretMatching, alpha=2.0),
        r"minimizers\[0\]\.rule\.alpha was 1\.5 when the checkpoint was written, but is 2\.0 now",
    ),
    "structure": (
        apart(LOCAL),
        r"minimizers\[0\]\.rule was Discounted.* is Product",
    ),
}


@pytest.mark.parametrize(("local", "message"), OTHERS.values(), ids=OTHERS)
def test_other_minimizers_are_refused_by_what_differs(local, message, tmp_path):
    with pytest.raises(ValueError, match=f"run is of another run: {message}"):
        SelfPlay.load(saved(tmp_path), KUHN, players(KUHN, local))


def test_minimizers_that_are_built_alike_are_welcome_however_they_were_built(tmp_path):
    def local(simplices):
        return rk.DiscountedRegretMatching(simplices, alpha=1.5)

    assert SelfPlay.load(saved(tmp_path), KUHN, players(KUHN, local)).iteration == 3
    ways = [lambda: rk.CFR(KUHN.domains[0], LOCAL), lambda: rk.circuit(KUHN.domains[0], LOCAL)]
    for make in ways:
        assert difference(described(make()), described(make()), "player") is None
    assert difference(*(described(make()) for make in ways), "player") is not None


def test_another_order_averaging_or_estimator_is_refused(tmp_path):
    path, load = saved(tmp_path), partial(SelfPlay.load, game=KUHN)

    for ways, message in [
        ({"order": Simultaneous()}, r"order was Alternating\(first=0\) .* is Simultaneous\(\) now"),
        ({"order": Alternating(first=1)}, r"order\.first was 0 .* is 1 now"),
        ({"averaging": Linear()}, r"averaging was Uniform\(\) .* is Linear"),
        ({"estimator": ChanceSampling(drawn(1))}, r"estimator was ExactUtility\(\)"),
    ]:
        with pytest.raises(ValueError, match=f"is of another run: {message}"):
            load(path, minimizers=players(KUHN, LOCAL), **ways)
    sampled = saved(tmp_path, estimator=ChanceSampling(drawn(1)))
    other = ChanceSampling(drawn(1, np.random.MT19937))
    with pytest.raises(ValueError, match=r"estimator\.generator\.bits was 'PCG64' .* 'MT19937'"):
        load(sampled, minimizers=players(KUHN, LOCAL), estimator=other)


@pytest.mark.parametrize(
    "game", [games.kuhn_poker(deck=4), games.kuhn_poker(players=3), games.matching_pennies()]
)
def test_another_game_is_refused_by_its_fingerprint(game, tmp_path):
    message = rf"belongs to the game kuhn_poker \(fingerprint {games.fingerprint(KUHN)}\), but this"
    for read in (partial(SelfPlay.load, minimizers=players(game)), resume):
        with pytest.raises(ValueError, match=message):
            read(saved(tmp_path), game=game)


def test_a_game_with_other_payoffs_is_refused_though_all_else_is_the_same(tmp_path):
    matrix = np.random.default_rng(1).normal(size=(3, 3))
    run = SelfPlay(matrix_game(matrix), [rk.RegretMatching(3) for _ in "xy"]).run(3)
    run.save(tmp_path / "run")

    with pytest.raises(ValueError, match="belongs to the game without a name"):
        SelfPlay.load(tmp_path / "run", matrix_game(2 * matrix), run.minimizers)


# With parts of one's own


@define(eq=False)
class Tent(Averaging, Stateful):
    """Counts what it was asked for."""

    peak: int
    asked: int = field(default=0, init=False)

    def weight(self, t, horizon):
        self.asked += 1
        return float(min(t, self.peak))


@frozen
class Backwards(Order):
    """The last one learns first."""

    def iterate(self, table):
        profile = [table.strategy(player) for player in range(table.players)]
        for player in reversed(range(table.players)):
            table.learn(player, profile)


@define(eq=False)
class Noisy(Estimator):
    """Draws at random, and has no state."""

    generator: np.random.Generator

    def utility(self, game, player, profile):
        utility = game.utility(player, profile)
        return utility + self.generator.normal(size=utility.size)


class Mine(rk.SimplexRule):
    """Regret matching with a number that is no field."""

    def __init__(self, simplices, floor=0.0):
        super().__init__(simplices)
        self.floor, self.regrets = floor, np.zeros(self.dimension)

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, self.floor))

    def _learn(self, utility, strategy):
        self.regrets += self.simplices.regret(utility, strategy)


def test_parts_of_ones_own_are_passed_and_take_up_their_state(tmp_path):
    def begun():
        return SelfPlay(KUHN, players(KUHN, Mine), order=Backwards(), averaging=Tent(5))

    whole, cut = begun().run(12), begun().run(7)
    cut.save(tmp_path / "run")
    load = partial(SelfPlay.load, tmp_path / "run", KUHN)

    for missing in ({"order": Backwards()}, {"averaging": Tent(5)}):
        with pytest.raises(ValueError, match=r"(Tent \(own\)\(peak=5\)|Backwards \(own\)\(\))"):
            load(players(KUHN, Mine), **missing)
    ways = {"order": Backwards(), "averaging": Tent(5)}
    with pytest.raises(ValueError, match=r"rule\.floor was 0\.0 .* is 0\.5 now"):
        load(players(KUHN, partial(Mine, floor=0.5)), **ways)
    with pytest.raises(ValueError, match=r"averaging\.peak was 5 .* is 6 now"):
        load(players(KUHN, Mine), **(ways | {"averaging": Tent(6)}))
    run = load(players(KUHN, Mine), **ways)
    assert run.averaging.asked == cut.averaging.asked
    assert_same_bits(run.run(5), whole)


def test_a_class_of_ones_own_is_not_taken_for_one_of_the_library_of_the_same_name(tmp_path):
    Linear = type("Linear", (Averaging,), {"weight": lambda self, t, horizon: 1.0})
    SelfPlay(KUHN, players(KUHN), averaging=Linear()).run(3).save(tmp_path / "run")

    with pytest.raises(ValueError, match=r"the averaging Linear \(own\)\(\).*; pass averaging"):
        SelfPlay.load(tmp_path / "run", KUHN, players(KUHN))


def test_chance_that_cannot_be_saved_is_refused(tmp_path):
    run = SelfPlay(KUHN, players(KUHN), estimator=Noisy(drawn(1))).run(2)

    with pytest.raises(TypeError, match=r"estimator draws at random, but Noisy.* has no state"):
        run.save(tmp_path / "run")


# Algorithms with a name


@pytest.mark.deep_beyond(6)
@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("game", [KUHN, games.shapley_game()], ids=str)
def test_what_solve_began_is_resumed(name, game, tmp_path):
    path = tmp_path / "run"
    rk.solve(game, name, iterations=60, callbacks=[Checkpoint(path, every=25)])
    whole = rk.solve(game, name, iterations=60)

    run = resume(path)

    assert (run.iteration, run.horizon) == (50, 60)
    assert_same_bits(run.run(run.horizon - run.iteration), whole)


def test_what_solve_began_by_sampling_is_resumed(tmp_path):
    def solved(iterations):
        sampling = ChanceSampling(np.random.default_rng(3))
        return rk.solve(KUHN, "cfr", iterations=iterations, estimator=sampling)

    solved(20).save(tmp_path / "run")

    assert_same_bits(resume(tmp_path / "run").run(20), solved(40))
    loaded = resume(tmp_path / "run", estimator=ChanceSampling(np.random.default_rng(9)))
    assert_same_bits(loaded.run(20), solved(40))


@pytest.mark.parametrize("target", [0.05, 0.01])
def test_a_target_is_met_at_the_same_iteration(target, tmp_path):
    whole = rk.solve(KUHN, "cfr+", target_gap=target, engine="numpy")
    before = whole.iteration - 2
    rk.solve(KUHN, "cfr+", iterations=before, engine="numpy").save(tmp_path / "run")

    # Where solve looks depends on nothing but the iteration.
    look = AtGeometricSteps(StopAtGap(target), ratio=1.05)
    run = resume(tmp_path / "run").run(1_000, callbacks=[look])

    assert_same_bits(run, whole)


def test_an_algorithm_without_a_name_has_to_be_passed(tmp_path):
    mine = Algorithm(rk.RegretMatching, averaging=Power(7.0))
    for algorithm in (mine, hs_pcfr_plus, hs_dcfr(40)):
        rk.solve(KUHN, algorithm, iterations=20).save(tmp_path / "run")

        with pytest.raises(ValueError, match=r"no algorithm of cfr, cfr\+, .* makes; pass the alg"):
            resume(tmp_path / "run")
        run = resume(tmp_path / "run", algorithm=algorithm)
        assert_same_bits(run, rk.solve(KUHN, algorithm, iterations=20))
        with pytest.raises(ValueError, match="is of another run"):
            resume(tmp_path / "run", algorithm="cfr+")


def test_a_run_from_parts_is_recognized_as_the_algorithm_that_it_is(tmp_path):
    run = SelfPlay(KUHN, players(KUHN, rk.RegretMatchingPlus), averaging=Linear()).run(5)
    run.save(tmp_path / "run")

    assert_same_bits(resume(tmp_path / "run"), named("cfr+").start(KUHN).run(5))


def test_a_game_without_a_name_has_to_be_passed(tmp_path):
    game = matrix_game([[1.0, 0.0], [0.0, 2.0]])
    rk.solve(game, "cfr", iterations=5).save(tmp_path / "run")

    with pytest.raises(ValueError, match="no registered game is called so; pass it as game"):
        resume(tmp_path / "run")
    assert resume(tmp_path / "run", game).iteration == 5


# What is refused


POSITIVE = "seconds must be a finite number above 0"
test_when_to_save_must_be_clear = refusals(
    ({}, ValueError, "pass one of seconds and every, got seconds=None and every=None"),
    ({"seconds": 1.0, "every": 1}, ValueError, "pass one of seconds and every"),
    ({"every": 0}, ValueError, "every must be a whole number, at least 1, got 0"),
    ({"every": 2.5}, TypeError, "every must be a whole number"),
    *(({"seconds": x}, ValueError, POSITIVE) for x in (0.0, -1, np.nan, np.inf)),
    ({"seconds": "10"}, TypeError, "seconds must be a number, got '10'"),
    ({"every": 1, "callbacks": print}, TypeError, "callbacks must be a sequence"),
    ({"every": 1, "callbacks": [3]}, TypeError, r"callbacks\[0\] must be a function"),
    call=lambda arguments: Checkpoint("run", **arguments),
)


def test_where_nothing_could_be_saved_is_refused_before_anything_is_played(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*missing'; make it first"):
        Checkpoint(tmp_path / "missing" / "run", every=1)
    with pytest.raises(IsADirectoryError, match="is a folder; name a file"):
        Checkpoint(tmp_path, every=1)
    with pytest.raises(OSError, match="too long"):
        Checkpoint(tmp_path / ("n" * 300), every=1)
    with pytest.raises(TypeError, match=r"path must be a text or a pathlib\.Path, got 3"):
        Checkpoint(3, every=1)


def test_a_file_that_is_not_there_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        resume(tmp_path / "run")


def test_nothing_in_a_checkpoint_is_ever_unpickled():
    from regretkit.play import _checkpoint_file

    assert not {"pickle", "marshal", "eval", "exec"} & {*dir(_checkpoint_file)}
    assert inspect.getsource(_checkpoint_file).count("np.load(") == 1
    assert "np.load(io.BytesIO(data), allow_pickle=False)" in inspect.getsource(_checkpoint_file)
