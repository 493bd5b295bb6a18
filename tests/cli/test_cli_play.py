"""``regretkit play``: strategies against each other, and a user who answers."""

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

import regretkit as rk
from regretkit import games
from regretkit.games import Profile, as_history

KUHN, THREE = games.kuhn_poker(), games.kuhn_poker(players=3)
SURE = 5.0
"""Standard errors within which everything lies that is drawn here."""


@pytest.fixture
def folder(folder):
    """Return the working directory, with strategies."""
    rk.solve(KUHN, "cfr+", iterations=200).average.to_json("solved.json")
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


@pytest.mark.parametrize("seat", [None, 0, 1])
def test_mean_payoffs_agree_with_expected_payoffs_over_the_seats(report, seat):
    given = [] if seat is None else ["--seat", seat]
    words = ("play", "kuhn_poker", "solved.json", "uniform", "--matches", 20_000, *given)
    rows = report(*words)["results"]
    assert rows == report(*words, "--seed", 0)["results"]
    solved, uniform = Profile.from_json("solved.json", KUHN), Profile.uniform(KUHN)
    first = float(KUHN.value([solved[0], uniform[1]])[0])
    second = float(KUHN.value([uniform[0], solved[1]])[1])
    expected = {None: (first + second) / 2, 0: first, 1: second}[seat]
    assert rows[0]["expected"] == pytest.approx(expected, abs=1e-12)
    assert [row["strategy"] for row in rows] == ["solved.json", "uniform"]
    for row in rows:
        assert abs(row["mean"] - row["expected"]) < SURE * row["standard_error"]
    assert rows[0]["mean"] == pytest.approx(-rows[1]["mean"])


@pytest.mark.parametrize("matches", [1, 2, 3_000])
def test_three_strategies_take_turns_at_every_seat(report, matches):
    game, names = "kuhn_poker(players=3)", ["three_bets.json", "three_passes.json", "uniform"]
    rows = report("play", game, *names, "--matches", matches)["results"]
    assert [row["strategy"] for row in rows] == names
    assert sum(row["mean"] for row in rows) == pytest.approx(0.0, abs=1e-9)
    assert sum(row["expected"] for row in rows) == pytest.approx(0.0, abs=1e-9)


def answered(monkeypatch, text):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def rounds_in(text):
    """Return the rounds in what was shown: which player, who did what, and what it earned."""
    pattern = r"Round \d+, as player (\d).*?Actions:\n(.*?)You earn ([^;\n]*?)(?:;|\.\n)"
    found = re.findall(pattern, text, re.DOTALL)
    return [
        (
            int(player),
            re.findall(r"^  (.*?): (.*?)(?: +information set .*)?$", moves, re.MULTILINE),
            float(earned),
        )
        for player, moves, earned in found
    ]


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", "rock_paper_scissors"])
def test_a_user_earns_the_payoffs_of_the_rules_and_reads_who_did_what(run, monkeypatch, game):
    rules, first = games.load(game), {"rock_paper_scissors": "rock\n"}.get(game, "")
    answered(monkeypatch, (first or "c\nf\np\nb\n") * 200)
    code, out, err = run("play", game, "--rounds", 40, "--seed", 2, "--json")
    played, came = rounds_in(err), json.loads(out)
    assert (code, came["strategies"]) == (0, ["equilibrium"])
    assert [player for player, *_ in played] == [0, 1] * 20  # places are changed
    for player, moves, earned in played:
        history = as_history(rules)
        for who, move in moves:
            names = {-1: "chance", player: "you"}
            assert who == names.get(history.player(), f"player {history.player()}")
            history = history.child(move)
        assert history.payoffs()[player] == earned
    assert came["payoffs"] == [earned for *_, earned in played]
    assert came["earned"] == sum(came["payoffs"])


def test_answers_of_the_user_and_of_every_other_player_are_played(run, monkeypatch):
    answered(monkeypatch, "p\nb\n" * 6)
    _, out, _ = run("play", "kuhn_poker", "two_bets.json", "--rounds", 6, "--seat", 0)
    assert [[m for _, m in moves[2:]] for _, moves, _ in rounds_in(out)] == [["p", "b", "b"]] * 6
    answered(monkeypatch, "b\n" * 20)
    words = ("play", "kuhn_poker(players=3)", "three_passes.json", "three_bets.json")
    _, out, _ = run(*words, "--rounds", 20, "--seat", 1)
    # Player 0 passes, the person bets, player 2 calls, and player 0 folds.
    acts = [[m for _, m in moves[3:]] for _, moves, _ in rounds_in(out)]
    assert acts == [["p", "b", "b", "p"]] * 20


def test_a_seed_deals_the_same_cards_again(run, monkeypatch):
    dealt = []
    for seed in (1, 1, 2):
        answered(monkeypatch, "c\n" * 100)
        out = run("play", "leduc_poker", "uniform", "--rounds", 10, "--seed", seed)[1]
        dealt.append([moves[:2] for _, moves, _ in rounds_in(out)])
    assert dealt[0] == dealt[1] != dealt[2]


def test_the_end_of_the_input_ends_the_game_and_is_no_fault(run, monkeypatch):
    answered(monkeypatch, "b\nwhat?\n")
    words = ("play", "kuhn_poker", "two_passes.json", "--seat", 0)
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert "There is no action 'what?'." in out
    assert out.endswith("You earned +1 in 1 round, +1 a round.\n")
    answered(monkeypatch, "")
    assert run(*words)[1].endswith("You finished no round.\n")


def test_a_round_without_a_turn_waits_before_the_next(run, monkeypatch):
    Path("no_turn.efg").write_text(
        'EFG 2 R "No turn" { "A" "B" } p "" 1 1 "a" { "l" "r" } 0 '
        't "" 1 "" { 1 -1 } t "" 2 "" { 2 -2 }'
    )
    answered(monkeypatch, "\n\n")
    code, out, _ = run("play", "no_turn.efg", "--seat", 1)
    assert code == 0
    assert out.count("Press Return to continue.") == 3


def test_games_of_one_player_and_without_a_tree_are_played(run, monkeypatch):
    answered(monkeypatch, "go\ngo\nleave\ngo\nleave\n")
    path = Path(__file__).parents[2] / "examples" / "games" / "absent_minded_driver.efg"
    assert "You earned +5 in 3 rounds" in run("play", path)[1]
    answered(monkeypatch, "(0, 0)\n" * 50)
    code, out, _ = run("play", "phantom_tic_tac_toe", "--rounds", 1, "--seed", 1)
    assert (code, "against uniform" in out) == (0, True)
