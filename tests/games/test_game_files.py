"""Games in files: found by path, told apart by what they hold, written and read again."""

from pathlib import Path

import numpy as np
import pytest
from assert_games import assert_same_game

import regretkit as rk
from regretkit import games
from regretkit.games import load, read_efg, read_nfg, save

SHIPPED = Path(__file__).parents[2] / "examples" / "games"
PENNIES = 'NFG 1 R "Pennies" { "Even" "Odd" } { { "H" "T" } { "H" "T" } } 1 -1 -1 1 -1 1 1 -1'
TREE = 'EFG 2 R "Choice" { "A" } p "" 1 1 "s" { "a" "b" } 0 t "" 1 "" { 1 } t "" 2 "" { 2 }'


def file(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# Finding


def test_one_function_takes_a_name_or_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = file(tmp_path, "pennies.nfg", PENNIES)
    for known in (path, str(path), "pennies.nfg", "./pennies.nfg", Path("pennies.nfg")):
        assert_same_game(rk.load(known), read_nfg(PENNIES))
    assert rk.load is load
    assert rk.load("matching_pennies").name == "matching_pennies"


def test_a_file_is_read_by_its_content_and_not_by_its_name(tmp_path):
    for name in ("tree.nfg", "tree.EFG", "tree.txt", "kuhn_poker"):
        assert_same_game(load(file(tmp_path, name, TREE)), read_efg(TREE))
    assert_same_game(load(file(tmp_path, "pennies.efg", PENNIES)), read_nfg(PENNIES))


@pytest.mark.parametrize("wrong", [None, 3, b"NFG 1 R", ["x.efg"]])
def test_what_is_neither_a_name_nor_a_path_is_refused(wrong):
    with pytest.raises(TypeError, match="game must be named by a string"):
        load(wrong)
    for read in (read_efg, read_nfg):
        with pytest.raises(TypeError, match=r"source must be a text or a pathlib\.Path"):
            read(wrong)


def test_a_string_that_looks_like_a_path_is_not_taken_for_a_text(tmp_path):
    path = str(file(tmp_path, "tree.efg", TREE))
    for read in (read_efg, read_nfg):
        with pytest.raises(ValueError, match="pass a Path"):
            read(path)


# Writing


@pytest.mark.parametrize(
    "name", ["kuhn_poker(3)", "leduc_poker", "liars_dice(sides=2)", "traffic_light", "blotto"]
)
def test_a_game_of_the_catalogue_is_the_same_after_a_file(tmp_path, name):
    game = load(name)
    path = tmp_path / f"game.{'nfg' if isinstance(game, rk.NormalFormGame) else 'efg'}"
    save(game, path)
    assert_same_game(load(path), game)


def test_only_what_fits_the_name_of_the_file_is_written_there(tmp_path):
    with pytest.raises(TypeError, match="game must be a NormalFormGame"):
        save(games.kuhn_poker(), tmp_path / "kuhn.nfg")
    with pytest.raises(TypeError, match="game must be in extensive form"):
        save(games.chicken(), tmp_path / "chicken.efg")
    with pytest.raises(ValueError, match=r"path must end in \.nfg or \.efg, got .*chicken\.txt"):
        save(games.chicken(), tmp_path / "chicken.txt")
    assert not list(tmp_path.iterdir())


# The files of this repository


def test_the_shipped_poker_is_kuhns():
    found, known = load(SHIPPED / "three_card_poker.efg"), games.kuhn_poker()
    uniform = [domain.relative_interior_point() for domain in found.domains]
    assert [domain.dimension for domain in found.domains] == [13, 13]
    np.testing.assert_allclose(found.value(uniform), known.value(uniform), atol=1e-15)
    solved = rk.solve(found, "cfr+", iterations=1_000)
    assert found.value(solved.average)[0] == pytest.approx(-1 / 18, abs=1e-3)
