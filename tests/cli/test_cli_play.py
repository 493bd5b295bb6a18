"""``regretkit play``: strategies against each other, and a user who answers."""

import io
import itertools
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from pseudo_terminal import COMMAND, CTRL_C, environment, interrupted, typed

import regretkit as rk
from regretkit import games
from regretkit.cli._commands import _play
from regretkit.evaluation import Estimate
from regretkit.games import Profile, as_history

KUHN = games.kuhn_poker()
THREE = games.kuhn_poker(players=3)
EXAMPLES = Path(__file__).parents[2] / "examples" / "games"
SURE = 5.0
"""Standard errors within which everything lies that is drawn here."""
CTRL_D = b"\x04"


@pytest.fixture
def folder(folder):
    """Return the working directory, with strategies."""
    rk.solve(KUHN, "cfr+", iterations=200).average.to_json("solved.json")
    rk.solve(THREE, "cfr+", iterations=50).average.to_json("three.json")
    for game, name in ((KUHN, "two"), (THREE, "three")):
        pure(game, "b").to_json(f"{name}_bets.json")
        pure(game, "p").to_json(f"{name}_passes.json")
    return folder


def pure(game, action):
    """Return the profile in which all players always take the same action."""
    vectors = []
    for domain in game.domains:
        simplices = domain.simplices
        names = [name for b in range(simplices.blocks) for name in simplices.labels.actions(b)]
        vectors.append(domain.sequence_form(np.array([float(name == action) for name in names])))
    return Profile(vectors, game.domains, game)


# Strategies against each other


def expected_payoffs(game, seated):
    """Return the expected payoffs where each player plays its part of its own profile."""
    return game.value([profile[player] for player, profile in enumerate(seated)])


def test_mean_payoffs_agree_with_expected_payoffs_over_all_seats(report, folder):
    came = report("play", "kuhn_poker", "solved.json", "uniform", "--matches", 20_000)

    solved = Profile.from_json("solved.json", KUHN)
    uniform = [domain.relative_interior_point() for domain in KUHN.domains]
    both = (
        expected_payoffs(KUHN, [solved, uniform])[0] + expected_payoffs(KUHN, [uniform, solved])[1]
    )
    first, second = came["results"]
    assert [first["strategy"], second["strategy"]] == ["solved.json", "uniform"]
    assert first["expected"] == pytest.approx(both / 2, abs=1e-12)
    assert both / 2 > 0.1  # so that it is no accident to earn something
    assert abs(first["mean"] - first["expected"]) < SURE * first["standard_error"]
    assert first["standard_error"] < 0.02
    assert second["mean"] == pytest.approx(-first["mean"], abs=1e-12)
    low, high = first["interval"]
    assert high - low == pytest.approx(2 * 1.959964 * first["standard_error"], rel=1e-6)


def test_means_and_intervals_have_the_digits_that_the_sample_gives(run):
    for matches, decimals in ((1_000, 3), (20_000, 3), (100, 2)):
        _, out, _ = run("play", "kuhn_poker", "uniform", "--matches", matches)
        rows = [line for line in out.splitlines() if line.startswith("uniform")]
        number = rf"-?\d+\.\d{{{decimals}}}"
        for row in rows:
            assert re.search(rf" {number} +{number} to {number} +-?0\.125$", row), row


def test_about_19_of_20_intervals_contain_the_expected_payoff(report):
    held = 0
    for seed in range(100):
        words = ("play", "kuhn_poker", "uniform", "--matches", 300, "--seed", seed)
        row = report(*words)["results"][0]
        held += row["interval"][0] <= row["expected"] <= row["interval"][1]

    # Of a hundred, a binomial variable of 0.95 is outside with a chance of 1e-4.
    assert 86 <= held <= 100


def test_a_seat_is_kept(report):
    words = ("play", "kuhn_poker", "two_bets.json", "two_passes.json", "--matches", 50)

    # The player that bets wins the ante of the one that passes, in either seat: no bet is called.
    for seat in (0, 1):
        came = report(*words, "--seat", seat)
        assert [row["players"] for row in came["results"]] == [[seat], [1 - seat]]
        assert [row["mean"] for row in came["results"]] == [1.0, -1.0]
        assert [row["interval"] for row in came["results"]] == [[1.0, 1.0], [-1.0, -1.0]]


@pytest.mark.parametrize("matches", [1, 2, 10, 3_000])
def test_three_strategies_take_turns_at_every_seat(report, matches):
    names = ["three.json", "three_bets.json", "uniform"]
    came = report("play", "kuhn_poker(players=3)", *names, "--matches", matches)

    uniform = [domain.relative_interior_point() for domain in THREE.domains]
    own = [Profile.from_json("three.json", THREE), pure(THREE, "b"), uniform]
    expected = np.zeros(3)
    for number in range(matches):  # seats rotate by one from match to match
        guests = [(player - number) % 3 for player in range(3)]
        expected[guests] += expected_payoffs(THREE, [own[guest] for guest in guests])
    for row, known in zip(came["results"], expected / matches, strict=True):
        assert row["expected"] == pytest.approx(known, abs=1e-12)
        if matches > 100:
            assert sorted(row["players"]) == [0, 1, 2]
            assert abs(row["mean"] - known) < SURE * row["standard_error"]
    assert sum(row["mean"] for row in came["results"]) == pytest.approx(0.0, abs=1e-12)


def test_one_strategy_plays_for_all_players(report):
    came = report("play", "kuhn_poker", "solved.json", "--matches", 1_000)

    value = KUHN.value(Profile.from_json("solved.json", KUHN))
    assert [row["players"] for row in came["results"]] == [[0], [1]]
    assert [row["expected"] for row in came["results"]] == pytest.approx(list(value), abs=1e-12)
    assert report("play", "kuhn_poker", "--matches", 5)["results"][0]["strategy"] == "uniform"


def test_matches_depend_on_the_seed_and_on_nothing_else(report):
    words = ("play", "kuhn_poker", "solved.json", "uniform", "--matches", 500)

    means = [report(*words, "--seed", seed)["results"][0]["mean"] for seed in (0, 0, 1)]
    assert means[0] == means[1] != means[2]
    assert report(*words)["results"][0]["mean"] == means[0]


def test_estimates_in_parts_are_the_estimate_of_all():
    generator = np.random.default_rng(1)
    samples = generator.normal(3.0, 2.0, size=500)
    cuts = [0, 1, 2, 40, 41, 300, 500]
    parts = [Estimate.of(samples[a:b]) for a, b in itertools.pairwise(cuts)]

    one, whole = _play.pooled(parts), Estimate.of(samples)
    assert one.samples == whole.samples
    assert one.mean == pytest.approx(whole.mean, rel=1e-12)
    assert one.variance == pytest.approx(whole.variance, rel=1e-12)


def test_the_table_of_a_match_has_the_payoffs(run):
    code, out, err = run("play", "kuhn_poker", "two_bets.json", "two_passes.json", "--matches", 1e3)

    assert (code, err) == (0, "")
    assert re.search(r"^two_bets.json +each in turn +1 +1 to 1 +1$", out, re.MULTILINE)
    assert re.search(r"^two_passes.json +each in turn +-1 +-1 to -1 +-1$", out, re.MULTILINE)
    assert "matches  1,000, drawn from seed 0" in out
    assert run("play", "chicken", "--matches", 1)[0] == 0  # of which no interval comes


def test_ctrl_c_reports_the_matches_up_to_then(run, monkeypatch):
    calls, draw = [], _play.sampled_value

    def pressed(*args):
        calls.append(args)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return draw(*args)

    monkeypatch.setattr(_play, "sampled_value", pressed)
    code, out, err = run("play", "kuhn_poker", "solved.json", "uniform", "--matches", 1e9, "--json")

    came = json.loads(out)
    assert code == 130
    assert err.startswith("regretkit: interrupted after ")
    assert came["stopped_by"] == "interrupt"
    assert len(calls) == 4  # each strategy has been in each seat equally often
    assert came["matches"] == sum(args[2] for args in calls)
    assert came["results"][0]["expected"] > 0.0


# A person


def answered(monkeypatch, text):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def rounds_in(text):
    """Return the rounds in what was shown: which player, what happened, and what it earned."""
    pattern = r"Round (\d+), as player (\d).*?What happened: ([^\n]*)\nYou earn ([^\n]*)\.\n"
    found = re.findall(pattern, text, re.DOTALL)
    return [(int(n), int(p), moves.split(), float(earned)) for n, p, moves, earned in found]


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", "rock_paper_scissors"])
def test_a_user_earns_the_payoffs_of_the_rules(run, monkeypatch, game):
    rules, first = games.load(game), {"rock_paper_scissors": "rock\n"}.get(game, "")
    answered(monkeypatch, (first or "c\nf\np\nb\n") * 200)
    code, out, err = run("play", game, "--rounds", 40, "--seed", 2, "--json")

    played, came = rounds_in(err), json.loads(out)
    assert code == 0
    assert [number for number, *_ in played] == list(range(1, 41))
    assert [player for _, player, *_ in played] == [0, 1] * 20  # places are changed
    for _, player, moves, earned in played:
        history = as_history(rules)
        for move in moves:
            history = history.child(move)
        assert history.is_terminal()
        assert history.payoffs()[player] == earned
    assert came["payoffs"] == [earned for *_, earned in played]
    assert came["earned"] == sum(came["payoffs"]) != 0.0
    assert came["rounds"] == 40
    assert came["stopped_by"] == "rounds"
    assert f"In 40 rounds you have earned {came['earned']:+g}, which is" in err


def test_answers_of_the_user_are_the_actions_played(run, monkeypatch):
    answered(monkeypatch, "p\nb\n" * 3)
    _, out, err = run("play", "kuhn_poker", "two_bets.json", "--rounds", 6, "--seat", 0)

    # Three times it passes, is bet against and calls.
    assert (err, out.count("p or b? p\n"), out.count("p or b? b\n")) == ("", 3, 3)
    answered(monkeypatch, "p\nb\n" * 6)
    _, out, _ = run("play", "kuhn_poker", "two_bets.json", "--rounds", 6, "--seat", 0)
    assert [moves[2:] for _, _, moves, _ in rounds_in(out)] == [["p", "b", "b"]] * 6


def test_every_other_player_has_its_own_strategy(run, monkeypatch):
    answered(monkeypatch, "b\n" * 20)
    words = ("play", "kuhn_poker(players=3)", "three_passes.json", "three_bets.json")
    _, out, _ = run(*words, "--rounds", 20, "--seat", 1)

    # Player 0 passes, the person bets, player 2 calls, and player 0 folds.
    assert [moves[3:] for _, _, moves, _ in rounds_in(out)] == [["p", "b", "b", "p"]] * 20
    answered(monkeypatch, "b\n" * 20)
    words = ("play", "kuhn_poker(players=3)", "three_passes.json", "--rounds", 20, "--seat", 1)
    assert [m[3:] for _, _, m, _ in rounds_in(run(*words)[1])] == [["p", "b", "p", "p"]] * 20


def test_a_seed_deals_the_same_cards_again(run, monkeypatch):
    dealt = []
    for seed in (1, 1, 2):
        answered(monkeypatch, "c\n" * 100)
        out = run("play", "leduc_poker", "--rounds", 10, "--seed", seed)[1]
        dealt.append([moves[:2] for _, _, moves, _ in rounds_in(out)])

    assert len(dealt[0]) == 10
    assert dealt[0] == dealt[1] != dealt[2]


def test_the_end_of_the_input_ends_the_game_and_is_no_fault(report, run, monkeypatch):
    answered(monkeypatch, "b\nwhat?\n")
    words = ("play", "kuhn_poker", "two_passes.json", "--seat", 0)
    code, out, err = run(*words)

    # The first round is over after a bet; the second is left.
    assert (code, err) == (0, "")
    assert "There is no action 'what?'." in out
    assert out.endswith("\n\nIn 1 round you have earned +1, which is +1 a round.\n")
    answered(monkeypatch, "b\nb\n")
    code, out, _ = run(*words, "--json")
    came = json.loads(out)
    assert (code, came["stopped_by"], came["payoffs"]) == (0, "end of input", [1.0, 1.0])
    answered(monkeypatch, "")
    assert run(*words)[1].endswith("No round was played to its end.\n")
    assert '"earned": 0.0' in run(*words, "--json")[1]  # a number of the same kind as others


def test_a_round_without_a_turn_waits_before_the_next(run, monkeypatch):
    Path("no_turn.efg").write_text(
        'EFG 2 R "No turn" { "A" "B" } p "" 1 1 "a" { "l" "r" } 0 '
        't "" 1 "" { 1 -1 } t "" 2 "" { 2 -2 }'
    )
    answered(monkeypatch, "\n\n")
    code, out, _ = run("play", "no_turn.efg", "--seat", 1)

    assert code == 0
    assert out.count("Press Return to continue.") == 3
    assert "In 3 rounds you have earned -" in out  # all of which were over


def test_a_user_can_play_a_one_player_game_of_imperfect_recall(run, monkeypatch):
    answered(monkeypatch, "go\ngo\nleave\ngo\nleave\n")
    _, out, _ = run("play", EXAMPLES / "absent_minded_driver.efg")

    assert out.startswith("You play Absent-minded driver by yourself. Ctrl-D leaves.\n")
    assert [earned for *_, earned in rounds_in(out.replace("go on", "go"))] == [1.0, 0.0, 4.0]
    assert "In 3 rounds you have earned +5" in out


# At a terminal


def test_answers_are_typed_and_ctrl_d_leaves(folder):
    words = ["play", "kuhn_poker", "two_passes.json", "--seat", "0"]
    presses = [("p or b", b"b\n"), ("Round 2.*\\s.*\\s.*p or b", b"x\n"), ("p or b", CTRL_D)]
    code, shown = typed(words, folder, presses)

    assert code == 0
    assert "There is no action 'x'." in shown
    assert "Round 2, as player 0; so far you have earned +1" in shown
    assert shown.endswith("In 1 round you have earned +1, which is +1 a round.\r\n")


def test_ctrl_c_leaves_with_the_code_that_it_has_elsewhere(folder):
    words = ["play", "kuhn_poker", "two_passes.json", "--seat", "0"]
    presses = [("p or b", b"b\n"), ("Round 2.*\\s.*\\s.*p or b", CTRL_C)]
    shown = interrupted(words, folder, presses)

    assert "In 1 round you have earned +1" in shown
    assert shown.endswith("regretkit: interrupted\r\n")


@pytest.mark.parametrize("as_json", [False, True])
def test_a_terminal_that_is_closed_ends_the_game_and_is_no_fault(folder, as_json):
    import pty

    from pseudo_terminal import take_terminal

    parent, terminal = pty.openpty()
    with Path("said").open("wb") as said:
        process = subprocess.Popen(
            [*COMMAND, "play", "kuhn_poker", "--seat", "0", *["--json"] * as_json],
            cwd=folder,
            env=environment(),
            stdin=terminal,
            stdout=said if as_json else terminal,
            stderr=terminal if as_json else said,
            start_new_session=True,
            preexec_fn=lambda: take_terminal(terminal),
        )
    os.close(terminal)
    shown = b""
    while b"p or b" not in shown:
        shown += os.read(parent, 2**16)
    os.close(parent)

    assert process.wait(timeout=60.0) == 128 + signal.SIGHUP
    text = Path("said").read_text()
    if as_json:
        came = json.loads(text)
        assert (came["rounds"], came["stopped_by"]) == (0, "interrupt")
    else:
        assert text == "regretkit: interrupted\n"


@pytest.mark.parametrize("asks", ["SIGTERM", "SIGHUP"])
def test_a_signal_ends_a_match(folder, asks):
    process = subprocess.Popen(
        [*COMMAND, "play", "kuhn_poker", "--seat", "0"],
        cwd=folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not process.stdout.readline().startswith("You are player 0"):
        pass
    process.send_signal(getattr(signal, asks))
    shown, said = process.communicate(timeout=60.0)

    assert process.returncode == 128 + getattr(signal, asks)
    assert shown.endswith("No round was played to its end.\n")
    assert said == "regretkit: interrupted\n"


def test_many_matches_show_how_far_they_are_and_ctrl_c_ends_them(folder):
    words = ["play", "kuhn_poker", "solved.json", "uniform", "--matches", "1000000000"]
    pattern = r"match [\d,]+ of 1,000,000,000  [\d,]+/s  \d+:\d\d:\d\d left"
    shown = interrupted(words, folder, [(pattern, CTRL_C)])

    assert re.search(r"matches  [\d,]+, drawn from seed 0", shown)
    assert re.search(r"interrupted after [\d,]+ of 1,000,000,000 matches", shown)
