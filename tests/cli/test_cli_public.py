"""Public games from a shell: played, measured and shown; what wants a tree says so."""

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_public_game_is_played_measured_and_resumed(run):
    played, saved = "played.json", "run"
    code, out, _ = run("solve", "hold_em", "--iterations", 20, "--out", played)
    assert code == 0
    assert "all-in" in out
    code, out, _ = run("evaluate", "hold_em", played)
    assert code == 0
    assert "exploitability" in out
    assert run("solve", "hold_em", "--iterations", 5, "--checkpoint", saved)[0] == 0
    assert run("resume", saved, "--iterations", 10)[0] == 0


def test_a_public_game_is_shown_by_its_sizes(run):
    code, out, _ = run("show", "hold_em")
    assert code == 0
    assert "public, 2 players" in out
    assert "12 x 6 types" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show", "hold_em", "--plot", "game.svg"), "to_tree"),
        (("convert", "hold_em", "game.efg"), "public game"),
        (("exact", "hold_em"), "to_tree"),
    ],
)
def test_what_wants_a_tree_is_refused(run, words, message):
    code, _, err = run(*words)
    assert code == 2
    assert message in err
