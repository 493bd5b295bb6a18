"""Checkpoints: a run that is resumed from a file continues bitwise identically."""

import hashlib
import io
import json
import os

import numpy as np
import pytest

import regretkit as rk
from regretkit import SelfPlay, games, matrix_game
from regretkit.play import (
    ALGORITHMS,
    Algorithm,
    Alternating,
    At,
    Averaging,
    BanditFeedback,
    ChanceSampling,
    Checkpoint,
    Extragradient,
    HorizonPower,
    Last,
    Linear,
    Order,
    OutcomeSampling,
    Power,
    Quadratic,
    RandomPlayer,
    Recorder,
    Sampled,
    Simultaneous,
    Stateful,
    StopAtGap,
    every,
    geometric,
    hs_dcfr,
    named,
    resume,
)

KUHN, GOOFSPIEL, SHAPLEY = map(games.load, ("kuhn_poker", "goofspiel(4)", "shapley_game"))
DICE = "liars_dice(sides=3)"  # with six actions and more


def assert_same(run, other):
    assert run.iteration == other.iteration
    np.testing.assert_equal(run.state_dict(), other.state_dict())


def drawn(seed, bits=np.random.PCG64):
    return np.random.Generator(bits(seed))


# Bitwise identical


EXACT = [name for name, algorithm in ALGORITHMS.items() if algorithm.sampling is None]
CASES = [
    *(("kuhn_poker", name, None, "auto") for name in EXACT),
    *((DICE, name, None, "compiled") for name in ("cfr", "pcfr+", "dcfr", "efce")),
    *((DICE, "cfr+", None, engine) for engine in ("numpy",)),
    *((DICE, name, "external", "compiled") for name in ("mccfr", "cfr+", "lcfr")),
    *((DICE, "mccfr", sampling, "compiled") for sampling in ("outcome", "outcome-baseline")),
    *(("goofspiel(4)", "cfr", sampling, "auto") for sampling in ("chance", "external")),
    *(("kuhn_poker(players=3)", "mccfr", sampling, "numpy") for sampling in ("outcome", "chance")),
    ("shapley_game", ["cfr", "cfr+"], None, "numpy"),
]


@pytest.mark.parametrize(("game", "name", "sampling", "engine"), CASES)
def test_what_solve_began_is_resumed_from_the_file_alone(game, name, sampling, engine, tmp_path):
    def solved(iterations):
        options = {"sampling": sampling, "seed": 3} if sampling else {}
        return rk.solve(game_of, name, iterations, engine=engine, **options)

    game_of = games.load(game)
    solved(13).save(tmp_path / "run")

    run = resume(tmp_path / "run")

    assert (run.iteration, run.horizon) == (13, 13)
    run.run(17)
    np.testing.assert_equal(
        {**run.state_dict(), "_averages": None}, {**solved(30).state_dict(), "_averages": None}
    )
    for x, y in zip(run.average, solved(30).average, strict=True):
        np.testing.assert_array_equal(x, y)


# How to play, each order, averaging and kind of generator at least once
WAYS = {
    "plain": lambda: {},
    "simultaneous": lambda: {"order": Simultaneous(), "averaging": Linear()},
    "second first": lambda: {"order": Alternating(first=1), "averaging": Last()},
    "random player": lambda: {"order": RandomPlayer(drawn(1)), "averaging": Quadratic()},
    "chance": lambda: {"estimator": ChanceSampling(drawn(1, np.random.MT19937))},
    "outcome": lambda: {"estimator": OutcomeSampling(drawn(1, np.random.PCG64DXSM))},
    "two generators": lambda: {
        "order": RandomPlayer(drawn(1, np.random.Philox)),
        "estimator": ChanceSampling(drawn(2, np.random.SFC64)),
        "averaging": Power(2.5),
    },
    "bandit": lambda: {"order": Simultaneous(), "estimator": BanditFeedback(drawn(1))},
    "extragradient": lambda: {"order": Extragradient(), "averaging": HorizonPower(15.0)},
}


@pytest.mark.parametrize("engine", ["auto", "numpy"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_run_of_own_parts_is_loaded_with_parts_built_alike(way, engine, tmp_path):
    game = SHAPLEY if isinstance(way().get("estimator"), BanditFeedback) else GOOFSPIEL

    def parts():
        return game, named("pcfr+").minimizers(game)

    def start():
        return SelfPlay(*parts(), horizon=50, engine=engine, **way())

    start().run(11).save(tmp_path / "run")

    run = SelfPlay.load(tmp_path / "run", *parts(), **way())

    assert run.horizon == 50
    assert_same(run.run(19), start().run(30))


@pytest.mark.parametrize("name", ["mccfr", "dcfr"])
@pytest.mark.parametrize("sampling", ["external", "outcome"])
@pytest.mark.parametrize("rules", [DICE, "kuhn_poker"])
def test_a_run_without_a_tree_is_resumed_from_the_file_alone(rules, sampling, name, tmp_path):
    def solved(iterations):
        rules_of = games.load_rules(rules)
        return rk.solve(rules_of, name, iterations, sampling=sampling, seed=1)

    solved(20).save(tmp_path / "run")

    run = resume(tmp_path / "run")

    assert isinstance(run, Sampled)
    assert_same(run.run(30), solved(50))


def test_the_state_of_own_parts_and_the_seconds_are_saved(tmp_path):
    class Counts(Averaging, Stateful):
        def __init__(self):
            self.asked = 0

        def weight(self, t, horizon):
            self.asked += 1
            return float(self.asked)

    run = rk.solve(KUHN, Algorithm("cfr", averaging=Counts()), 20)
    run.save(tmp_path / "run")
    again = resume(tmp_path / "run", algorithm=Algorithm("cfr", averaging=Counts()))
    assert again.seconds == run.seconds > 0.0
    assert_same(again.run(5), run.run(5))


# What has to be passed


@pytest.mark.parametrize(
    ("name", "game", "options"),
    [
        ("game", matrix_game([[1.0, -1.0], [-0.5, 2.0]]), lambda: {"algorithm": "cfr"}),
        ("algorithm", KUHN, lambda: {"algorithm": hs_dcfr(50)}),
        (
            "estimator",
            KUHN,
            lambda: {"algorithm": "mccfr", "estimator": OutcomeSampling(drawn(1), exploration=0.3)},
        ),
    ],
)
def test_what_no_name_tells_has_to_be_passed(name, game, options, tmp_path):
    path = tmp_path / "run"
    whole = rk.solve(game, **options(), iterations=5)
    whole.save(path)
    with pytest.raises(ValueError, match=f"pass {name}"):
        resume(path)
    missing = {name: {"game": game, **options()}[name]}
    assert_same(resume(path, **missing).run(4), whole.run(4))


def test_another_game_and_other_parts_are_refused(tmp_path):
    path = tmp_path / "run"
    rk.solve(KUHN, "cfr", 5).save(path)
    for other in (games.kuhn_poker(deck=4), GOOFSPIEL, games.shapley_game()):
        with pytest.raises(ValueError, match="has the game 'kuhn_poker' with fingerprint"):
            resume(path, other)
    for algorithm in ("cfr+", "efce", hs_dcfr(9)):
        with pytest.raises(ValueError, match=r"has SelfPlay, CFR, |does not fit this run: state"):
            resume(path, algorithm=algorithm)


def test_what_draws_without_a_state_is_not_saved(tmp_path):
    class Noisy(Order):
        def __init__(self):
            self.generator = drawn(1)

        def iterate(self, context):
            context.learn(int(self.generator.integers(2)), context.profile())

    run = SelfPlay(KUHN, [rk.CFR(d, rk.RegretMatching) for d in KUHN.domains], order=Noisy())
    with pytest.raises(TypeError, match=r"order has a random generator and must be Stateful"):
        run.run(3).save(tmp_path / "run")


# Callbacks


@pytest.mark.parametrize("schedule", [every(1), every(4), geometric()])
def test_a_curve_goes_on_and_a_stop_comes_where_it_would_have(schedule, tmp_path):
    path = tmp_path / "run"

    def watching():
        record = Recorder(["nash_conv", "last_nash_conv", "external_regret"])
        return record, [At(schedule, record), At(schedule, StopAtGap(0.1))]

    (whole, callbacks), (_, first), (record, again) = watching(), watching(), watching()
    run = rk.solve(KUHN, "cfr", 400, callbacks=callbacks, engine="numpy")
    rk.solve(KUHN, "cfr", 10, callbacks=first, engine="numpy").save(path, callbacks=first)

    resumed = resume(path, callbacks=again).run(390, callbacks=again)

    assert resumed.iteration == run.iteration < 400
    assert record.values == whole.values
    with pytest.raises(ValueError, match="has the callbacks"):
        resume(path, callbacks=again[:1])


def test_a_checkpoint_is_written_at_its_iterations_and_when_a_callback_stops_the_run(tmp_path):
    path, iterations = tmp_path / "run", []

    def look(run):
        iterations.append(resume(path).iteration if path.exists() else None)
        return run.iteration == 25

    watch = Checkpoint(path, every=10, callbacks=[look])
    run = rk.solve(KUHN, "cfr", 100, callbacks=[watch])
    assert iterations == [*[None] * 10, *[10] * 10, *[20] * 5]
    assert run.iteration == watch.iteration == resume(path).iteration == 25
    assert [*tmp_path.iterdir()] == [path]
    rk.solve(KUHN, "cfr", 35, callbacks=[Checkpoint(path, every=10)])
    assert resume(path).iteration == 30


def test_a_checkpoint_is_written_after_some_seconds(tmp_path):
    path, written = tmp_path / "run", set()
    watch = Checkpoint(path, seconds=0.05)

    def look(run):
        written.add(watch.iteration)
        return len(written) == 4

    rk.solve(KUHN, "cfr", 10**9, engine="numpy", callbacks=[watch, look])
    assert resume(path).iteration == max(written - {None})


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("x/run", {"every": 1}, OSError, "there is no folder"),
        ("run", {}, ValueError, "pass either seconds or every"),
        ("run", {"every": 0}, ValueError, "every must be"),
        ("run", {"seconds": -1.0}, ValueError, "seconds must be"),
    ],
)
def test_a_checkpoint_that_cannot_be_written_is_refused(name, options, error, message, tmp_path):
    with pytest.raises(error, match=message):
        Checkpoint(tmp_path / name, **options)


# Altered files


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    rk.solve(KUHN, "pcfr+", 12).save(path)
    return path.read_bytes()


def test_altered_files_are_refused_before_they_are_parsed(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(np, "load", lambda *_, **__: pytest.fail("was parsed"))
    generator, path = drawn(1), tmp_path / "run"
    ends = generator.integers(0, len(whole), 10).tolist()
    altered = [whole[:end] for end in (0, 1, 31, 32, 33, *ends)]
    altered += [whole + b"\n", whole + whole, b"PK\3\4" + bytes(100), os.urandom(1000)]
    for place in generator.integers(0, len(whole), 30).tolist():
        changed = bytearray(whole)
        changed[place] ^= 1 << int(generator.integers(8))
        altered.append(bytes(changed))
    for data in altered:
        path.write_bytes(data)
        with pytest.raises(ValueError, match="is not a checkpoint of regretkit, or is damaged"):
            resume(path)


def forged(whole, change):
    """Return a file whose digest is right, after a change of its head and arrays."""
    with np.load(io.BytesIO(whole[:-32])) as archive:
        arrays = dict(archive)
    head = json.loads(arrays.pop("head").tobytes())
    change(head, arrays)
    file, text = io.BytesIO(), json.dumps(head).encode()
    np.savez(file, head=np.frombuffer(text, np.uint8), **arrays)
    data = file.getvalue()
    return data + hashlib.sha256(data).digest()


class Unpickled:
    def __reduce__(self):
        return pytest.fail, ("was unpickled",)


def test_nothing_is_unpickled_and_no_other_file_is_opened(whole, tmp_path):
    path = tmp_path / "run"

    def pickled(head, arrays):
        arrays["0"] = np.array([Unpickled()], dtype=object)

    path.write_bytes(forged(whole, pickled))
    with pytest.raises(ValueError, match=r"cannot read .*allow_pickle=False"):
        resume(path)

    (tmp_path / "game.efg").write_text(games.write_efg(KUHN))
    for name in (str(tmp_path / "game.efg"), "openspiel:kuhn_poker", "__import__('os')", None):

        def renamed(head, arrays, name=name):
            head["content"]["game"] = name

        path.write_bytes(forged(whole, renamed))
        with pytest.raises(ValueError, match="not in the catalogue"):
            resume(path)


def test_other_versions_and_irregular_files_are_refused(whole, tmp_path):
    path = tmp_path / "run"
    path.write_bytes(forged(whole, lambda head, arrays: head.update(version=4)))
    with pytest.raises(ValueError, match="its format has version 4, not 3"):
        resume(path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        resume(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        resume(tmp_path / "absent")
