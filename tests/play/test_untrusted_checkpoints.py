"""Checkpoints that were altered are refused; forged ones are refused or restore what is valid."""

import copy
import subprocess
import sys
from pathlib import Path

import forging
import numpy as np
import pytest

import regretkit as rk
from regretkit import SelfPlay, games
from regretkit.games.catalogue._small_poker import KuhnPoker
from regretkit.play import AverageStrategySampling, ExternalSampling, LazyMCCFR, RandomPlayer
from regretkit.play._checkpoint_file import packed, unpacked

KUHN = games.kuhn_poker()
FORGING = Path(forging.__file__)


@pytest.mark.parametrize("change", ["altered", "forged"])
@pytest.mark.parametrize(
    ("count", "seed"),
    [(240, 1), *(pytest.param(2_000, seed, marks=pytest.mark.slow) for seed in range(2, 12))],
)
def test_a_file_from_a_stranger_does_no_harm(change, count, seed):
    command = [sys.executable, str(FORGING), change, str(count), str(seed)]
    child = subprocess.run(command, capture_output=True, text=True, timeout=3_000)

    assert child.returncode == 0, child.stdout + child.stderr
    assert "refused" in child.stdout
    if change == "altered":
        assert f"{count} of {count} refused" in child.stdout


# One by one


def minimizers(rule=rk.RegretMatchingPlus):
    return [rk.CFR(domain, rule) for domain in KUHN.domains]


def saved(run, path):
    run.save(path)
    return unpacked(path.read_bytes(), "run")


def assert_refused(path, content, message, **ways):
    path.write_bytes(packed(content))
    players = minimizers()
    players[0].observe_utility(np.ones(players[0].dimension))
    previous = [player.state_dict() for player in players]

    with pytest.raises(ValueError, match=message):
        SelfPlay.load(path, KUHN, players, **ways)
    np.testing.assert_equal([player.state_dict() for player in players], previous)


@pytest.fixture
def content(tmp_path):
    return saved(SelfPlay(KUHN, minimizers(), engine="numpy").run(5), tmp_path / "run")


def altered(holder, place, change):
    """Replace what stands at a place of nested dicts and lists, by a value or a function of it."""
    *upper, key = place
    for step in upper:
        holder = holder[step]
    with np.errstate(invalid="ignore"):
        holder[key] = change(holder[key]) if callable(change) else change


def negative(array):
    array = array.copy()
    array[-1] = -1.0
    return array


FORGED = {
    "an average off the simplex": (("_averages", "0", "_total"), lambda x: 2.0 * x, "average must"),
    "an average below zero": (("_averages", "1", "_total"), negative, "average must be a point"),
    "another weight": (("_averages", "0", "_weight"), lambda x: x + 1.0, "average must be a point"),
    "an average of no weight": (("_averages", "0", "_weight"), lambda x: 0.0, "average must be"),
    "infinite sums": (("_averages", "0", "_total"), lambda x: x * np.inf, "finite numbers"),
    "another length": (("_averages", "0", "_total"), lambda x: x[:-1], "average must be a point"),
    "other iterations": (("_averages", "0", "iteration"), lambda x: x + 1, "as many iterations"),
    "negative iterations": (("iteration",), lambda x: -1, "must be a number of iterations"),
    "endless iterations": (("iteration",), lambda x: 2**64, "must be a number of iterations"),
    "a truth value": (("iteration",), lambda x: True, "must be a number of iterations"),
    "an unknown engine": (("_last_engine",), lambda x: "magic", "there is no engine 'magic'"),
    "a broken run": (("_failure",), lambda x: "boo", "the run broke off"),
    "strategies played": (("last_profile", "0"), lambda x: 3.0 * x, r"profile\[0\] must be one of"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_state_that_no_run_comes_to_is_refused(name, content, tmp_path):
    place, change, message = FORGED[name]
    altered(content["state"]["run"], place, change)

    assert_refused(tmp_path / "run", content, message)


def test_a_description_of_another_kind_is_refused(content, tmp_path):
    content["built"]["minimizers"][0]["<kind>"] = np.zeros((2, 0))

    assert_refused(tmp_path / "run", content, r"run is of another run: minimizers\[0\] was")


BEYOND = "pos must be from 0 to 624"
ZEROS = np.zeros(624, np.uint32)
BITS = {
    "a position beyond the array": ("MT19937", ("state", "pos"), 10**6, BEYOND),
    "a position before the array": ("MT19937", ("state", "pos"), -1, BEYOND),
    "nothing but zeros": ("MT19937", ("state", "key"), ZEROS, "not be all zeros"),
    "a buffer's position": ("Philox", ("buffer_pos",), -5, "buffer_pos must be from 0 to 4"),
    "an even increment": ("PCG64", ("state", "inc"), 0, "inc must be odd"),
}


@pytest.mark.parametrize("name", BITS)
def test_a_state_that_no_generator_comes_to_is_refused(name, tmp_path):
    kind, place, value, message = BITS[name]
    order = RandomPlayer(np.random.Generator(getattr(np.random, kind)(1)))
    run = SelfPlay(KUHN, minimizers(), order=order, engine="numpy").run(3)
    content = saved(run, tmp_path / "a")
    altered(content["state"]["run"]["order"]["generator"], place, value)

    assert_refused(tmp_path / "a", content, message)


def test_average_sampling_never_looks_beyond_what_was_restored(tmp_path):
    def sampling():
        return AverageStrategySampling(np.random.default_rng(1))

    path = tmp_path / "run"
    run = SelfPlay(KUHN, minimizers(), estimator=sampling(), engine="numpy").run(5)
    content = saved(run, path)
    content["state"]["run"]["estimator"]["_seen"] = np.zeros(1)
    path.write_bytes(packed(content))

    loaded = SelfPlay.load(path, KUHN, minimizers()).run(1)
    assert loaded.estimator._seen.size == 12


# Without a tree


def sampled(path=None):
    arguments = KuhnPoker(), rk.DiscountedRegretMatching
    arguments += (ExternalSampling(np.random.default_rng(1)),)
    return LazyMCCFR(*arguments) if path is None else LazyMCCFR.load(path, *arguments)


def at_first(value):
    """Replace the first entry of a column."""

    def replaced(column):
        return np.append([value], column[1:]).astype(np.result_type(column, type(value)))

    return replaced


UNFOLDED = {
    "sums that do not fit": ("total", at_first(9.0), "at .* do not fit together"),
    "a sum before that is too small": ("reach", lambda column: column + 9.0, "not fit together"),
    "negative sums": ("total", at_first(-1.0), "no negative sums"),
    "a negative reach": ("reach", at_first(-1.0), "no negative sums"),
    "too many sums": ("total", lambda column: np.append(column, 0.0), "for each information set"),
    "no number": ("total", at_first(np.inf), "finite numbers"),
    "sums that overflow": ("total", lambda column: column * 0.0 + 1.7e308, "not fit together"),
    "a strategy": ("strategy", at_first(2.0), "at .* must be probabilities that sum to 1"),
    "negative ones": ("strategy", lambda column: column * 0 + [2, -1] * 6, "probabilities that"),
    "a longer one": ("strategy", lambda column: np.append(column, 0.5), "for each information set"),
    "numbers of another type": ("strategy", lambda column: column.astype("f4"), "strategy must be"),
    "fewer numbers of the rule": ("state", lambda column: column[1:], "state must have 12 entries"),
    "no numbers of the rule": ("state", at_first(np.nan), "state must be an array of finite"),
    "other discounts": ("discounts", at_first(1.0), "up to 0"),
    "fewer discounts": ("discounts", lambda column: column[1:], "discounts must have 24 entries"),
    "a predecessor behind": ("parent", at_first(99), "cannot come after number 99"),
    "no predecessor": ("parent", at_first(-2), "cannot come after number -2"),
    "half a predecessor": ("parent", at_first(0.5), "parent must be an array of whole numbers"),
    "an action too many": ("parent_action", at_first(1), "cannot come after action 1"),
    "an action before all": ("parent_action", at_first(-1), "cannot come after action -1"),
    "no literal": ("keys", lambda _: ["[print()]"] * 6, "malformed"),
    "a deep literal": ("keys", lambda _: ["(" * 9_999], "does not fit this run"),
    "no list of literals": ("keys", lambda _: ["'a'"], "must be texts, whole numbers or literals"),
    "no texts": ("keys", lambda _: "[1]", "must be texts, whole numbers or literals"),
    "no name": ("keys", lambda _: 0.5, "keys must be an array of whole numbers"),
    "what has no hash": ("keys", lambda _: ["[[], [], [], [], [], []]"], "must be whole numbers"),
    "one set twice": ("keys", lambda column: column * 0, "must differ"),
    "fewer sets": ("keys", lambda _: "[]", "an entry for each information set"),
    "no actions": ("sizes", at_first(0), "numbers of actions at least 1"),
    "more actions": ("sizes", at_first(3), "numbers of actions must have the sum 12"),
    "more minimizers": ("minimizers", lambda _: [{}], "minimizers must have 0 entries, got 1"),
    "no minimizers": ("minimizers", lambda _: {}, "minimizers must be a list"),
}
PLAYERS = {
    "more iterations than there were": ((0, "iteration"), 2**60, "in 0 to 30"),
    "no templates": ((0, "templates"), {}, "must have the entries"),
    "other templates": (
        (0,),
        lambda player: player | {"templates": player["infosets"]},
        "templates must be of the numbers of actions",
    ),
    "other numbers of actions": (
        (0, "templates", "sizes"),
        lambda sizes: sizes[:0],
        "must have the sum 2",
    ),
    "no strategy": ((0, "templates", "strategy"), lambda x: x[:0], "for each information set"),
    "other discounts before": (
        (0, "templates", "discounts"),
        lambda x: 0 * x + [1, 0, 0, 0],
        "up to",
    ),
}
UNFOLDED = {
    name: (("players", 0, "infosets", column), *rest) for name, (column, *rest) in UNFOLDED.items()
} | {
    "no columns": (("players", 0, "infosets"), {}, "must have the entries"),
    "fewer players": (("players",), [], "a list with an entry for each player"),
    **{name: (("players", *place), *rest) for name, (place, *rest) in PLAYERS.items()},
}


@pytest.mark.parametrize("name", UNFOLDED)
def test_a_state_without_a_tree_that_no_run_comes_to_is_refused(name, tmp_path):
    place, value, message = UNFOLDED[name]
    content = copy.deepcopy(saved(sampled().run(30), tmp_path / "run"))
    altered(content["state"]["run"], place, value)
    (tmp_path / "run").write_bytes(packed(content))

    with pytest.raises(ValueError, match=message):
        sampled(tmp_path / "run")


def test_many_iterations_in_a_file_take_no_time(tmp_path):
    content = saved(sampled().run(30), tmp_path / "run")
    state = content["state"]["run"]
    state["iteration"] = 2**60
    for player in state["players"]:
        player["iteration"] = 2**60
    (tmp_path / "run").write_bytes(packed(content))

    assert sampled(tmp_path / "run").iteration == 2**60
