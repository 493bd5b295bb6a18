"""Public games from a shell: played, measured and shown; what wants a tree says so."""

import pytest


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


def test_a_public_game_is_solved_exactly(report):
    came = report("exact", "hold_em", "--out", "a.json")
    assert came["value"] == pytest.approx([25.0, -25.0], abs=1e-11)
    assert report("evaluate", "hold_em", "a.json")["gap"] < 1e-11


def test_the_value_of_a_public_game_is_proven_in_fractions(refused, report, folder):
    came = report("exact", "hold_em", "--finish", "--rational", "--certificate", "proof.json")
    assert came["fraction"] == report("verify", "proof.json", "hold_em")["fraction"] == "25"
    path = folder / "proof.json"
    path.write_text(path.read_text().replace('"lower": ["25"', '"lower": ["24"'))
    told = refused("verify", path, "hold_em", code=1)
    assert "lower of player 0 is not what the profile proves" in told
    assert "is of another game" in refused("verify", path, "kuhn_poker", code=1)


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
        (("exact", "hold_em", "--linear-program"), "to_tree"),
        (("exact", "hold_em", "--concept", "efce"), "--concept: hold_em is a public game"),
        (("exact", "hold_em(rake=0.05)"), "GAME: hold_em(rake=0.05) is a public game"),
    ],
)
def test_what_wants_a_tree_is_refused(refused, words, message):
    assert message in refused(*words)
