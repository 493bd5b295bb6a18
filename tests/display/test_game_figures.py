"""Drawings of games: everything is there once, and nothing overlaps."""

import functools
import itertools
import xml.etree.ElementTree as ET
from collections import Counter

import numpy as np
import pytest
from matplotlib.colors import to_hex
from naive_games import chance, decision, end, random_game
from refusals import refusals

import regretkit as rk
from regretkit import games
from regretkit.display import draw_game
from regretkit.display._games import game_figure, probability
from regretkit.display._style import PLAYERS, file_of
from regretkit.games import CHANCE, TERMINAL, ExtensiveFormGame, NormalFormGame, read_efg

pytestmark = pytest.mark.filterwarnings("ignore:Glyph .* missing")

SVG = "{http://www.w3.org/2000/svg}"
DRIVER = """EFG 2 R "Driver" { "Driver" }
p "" 1 1 "exit" { "leave" "go on" } 0
t "" 1 "" { 0 }
p "" 1 1 0
t "" 2 "" { 4 }
t "" 3 "" { 1 }"""
LONG = decision(
    0,
    "what the first player knows",
    **{
        "WWWWWWWWWWWWWWWWWWWWWWWWWWWW": end(-123456.0, 1.0 / 3.0),
        "m" * 40: decision(1, "W" * 60, a=end(1e-9, 1e12), b=end(0.0, -0.0)),
        "日本語の名前": end(5, 5),
    },
)
CHAIN = functools.reduce(
    lambda below, i: decision(i % 2, f"at {i}", go=below, stop=end(i, -i)),
    reversed(range(40)),
    end(0, 0),
)
tree_of = ExtensiveFormGame.from_history


def random_tree(seed):
    return tree_of(random_game(np.random.default_rng(seed), players=3, depth=3))


TREES = {
    "kuhn": games.kuhn_poker,
    "kuhn of four": lambda: games.kuhn_poker(deck=4),
    "driver": lambda: read_efg(DRIVER),
    "long names": lambda: tree_of(LONG),
    "over at once": lambda: tree_of(end(1.0, -1.0), name="over"),
    "nothing to decide": lambda: tree_of(chance([1.0], only=end(3.0, 4.0))),
    "chain": lambda: tree_of(CHAIN),
    **{f"random {seed}": lambda seed=seed: random_tree(seed) for seed in range(12)},
}
MATRICES = {
    "pennies": games.matching_pennies,
    "shapley": games.shapley_game,
    "alone": lambda: NormalFormGame([[1.0, 2.0, 3.0]], actions=[["a", "b", "c"]], name="alone"),
    "three": lambda: NormalFormGame(np.arange(36.0).reshape(3, 2, 3, 2) / 7.0),
    "four": lambda: NormalFormGame(np.arange(96.0).reshape(4, 2, 3, 2, 2)),
    "wide": lambda: rk.matrix_game(
        [[1e-7, 123456.0], [0.1 + 0.2, 0.0]], actions=[["M" * 30, "b"], ["W" * 30, "i"]]
    ),
}
each_tree = pytest.mark.parametrize("make", TREES.values(), ids=TREES)


@functools.cache
def drawn(make):
    """Return the axes of a drawing, laid out."""
    figure = game_figure(make(), 1_000)
    figure.draw_without_rendering()
    return figure.axes[0]


def boxes(axes):
    """Return the texts of histories, which are white on a box."""
    return [text for text in axes.texts if text.get_bbox_patch()]


def leaves(axes, tree):
    """Return the payoffs of terminals, one text each."""
    plain = [text for text in axes.texts if not hasattr(text, "anncoords")]
    rest = [text.get_text() for text in plain[tree.histories - 1 :] if not text.get_bbox_patch()]
    return Counter(tuple(map(float, text.split(", "))) for text in rest)


# Trees


@pytest.mark.deep_beyond(8)
@each_tree
def test_a_tree_shows_each_history_action_and_payoff_once(make):
    tree, axes = make().tree, drawn(make)
    shown = Counter(
        (to_hex(box.get_bbox_patch().get_facecolor()).upper(), box.get_text()[:27])
        for box in boxes(axes)
    )
    assert sum(shown.values()) == int((tree.player != TERMINAL).sum())
    acting = np.flatnonzero((tree.player != CHANCE) & (tree.player != TERMINAL))
    labels = [(int(tree.player[i]), int(tree.information_set[i])) for i in acting]
    for (player, number), count in Counter(labels).items():
        caption = f"{player}: {tree.labels[player][number]}"
        assert shown[PLAYERS[player], caption[:27]] >= count
    rounded = (tuple(float(f"{payoff:.6g}") for payoff in row) for row in tree.payoffs.tolist())
    assert leaves(axes, tree) == Counter(rounded)
    by_chance = tree.player[tree.parent[1:]] == CHANCE
    for history, text in enumerate(axes.texts[: tree.histories - 1], start=1):
        assert text.get_text().startswith(tree.history_path(history)[-1][:27])
        if by_chance[history - 1]:
            assert text.get_text().split()[-1] == probability(tree.probability[history])


@pytest.mark.deep_beyond(6)
@each_tree
def test_a_dashed_line_joins_the_histories_of_an_information_set(make):
    tree, axes = make().tree, drawn(make)
    depths = [len(tree.history_path(history)) for history in range(tree.histories)]
    joins, bows = Counter(), 0
    for player in range(tree.players):
        for number in range(tree.information_sets[player]):
            own = np.flatnonzero((tree.player == player) & (tree.information_set == number))
            if len({depths[history] for history in own}) > 1:
                bows += own.size - 1
            elif own.size > 1:
                joins[PLAYERS[player], own.size - 1] += 1
    lines = axes.get_lines()
    assert all(line.get_linestyle() == "--" for line in lines)
    # A gap in the line after each pair of histories.
    gaps = ((line.get_color(), int(np.isnan(line.get_xdata()).sum())) for line in lines)
    assert Counter(gaps) == joins
    assert sum(not text.get_text() for text in axes.texts if hasattr(text, "anncoords")) == bows
    spans = [
        (float(np.nanmin(x)), np.nanmin(y), np.nanmax(y))
        for x, y in (line.get_data() for line in lines)
    ]
    for (lane, top, bottom), (other, above, below) in itertools.combinations(spans, 2):
        assert lane != other or bottom < above or below < top


def test_kuhn_poker_as_in_the_literature():
    axes = drawn(games.kuhn_poker)
    captions = Counter(box.get_text() for box in boxes(axes))
    assert captions["chance"] == 4
    assert sum(captions.values()) == 4 + 24
    assert captions["1: Qb"] == 2
    payoffs = {(-1.0, 1.0): 9, (1.0, -1.0): 9, (2.0, -2.0): 6, (-2.0, 2.0): 6}
    assert leaves(axes, games.kuhn_poker().tree) == payoffs
    assert axes.get_title(loc="left") == "Kuhn poker"
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["player 0", "player 1", "chance"]
    for value, text in (1 / 3, "1/3"), (1.0, "1"), (np.pi / 4, "0.7854"), (1e-7, "1e-07"):
        assert probability(value) == text


# Tables


@pytest.mark.parametrize("make", MATRICES.values(), ids=MATRICES)
def test_payoffs_are_in_the_row_and_column_of_their_actions(make):
    game, axes = make(), drawn(make)
    names = [[name[:27] for name in domain.labels.actions(0)] for domain in game.domains]
    columns = names[1] if game.players > 1 else ["payoff"]
    payoffs = game.payoffs.reshape(game.players, len(names[0]), len(columns), -1)
    assert len(axes.tables) == payoffs.shape[-1]
    for k, table in enumerate(axes.tables):
        cells = {place: cell.get_text().get_text() for place, cell in table.get_celld().items()}
        assert [cells[0, j + 1][:27] for j in range(len(columns))] == columns
        assert [cells[i + 1, 0][:27] for i in range(len(names[0]))] == names[0]
        for i, j in np.ndindex(*payoffs.shape[1:3]):
            shown = tuple(map(float, cells[i + 1, j + 1].split(", ")))
            assert shown == tuple(float(f"{payoff:.6g}") for payoff in payoffs[:, i, j, k])


def test_other_players_actions_are_above_their_tables():
    axes = drawn(MATRICES["three"])
    assert [text.get_text() for text in axes.texts] == ["player 2: 0", "player 2: 1"]
    things = itertools.chain(*zip(axes.texts, axes.tables, strict=True))
    tops = [thing.get_window_extent().y1 for thing in things]
    assert tops == sorted(tops, reverse=True)


# Both


@pytest.mark.deep_beyond(9)
@pytest.mark.parametrize("make", (TREES | MATRICES).values(), ids=TREES | MATRICES)
def test_no_text_overlaps_another_or_sticks_out(make):
    axes = drawn(make)
    cells = [cell.get_text() for table in axes.tables for cell in table.get_celld().values()]
    every = [*axes.texts, *axes.get_legend().get_texts(), axes.title, *cells]
    texts = [
        (text, (text.get_bbox_patch() or text).get_window_extent().padded(-0.5))
        for text in every
        if text.get_text()
    ]
    paper = axes.figure.bbox.padded(1.0)
    for (one, box), (other, second) in itertools.combinations(texts, 2):
        assert not box.overlaps(second), (one, other)
    for _, box in texts:
        assert paper.x0 <= box.x0 <= box.x1 <= paper.x1
        assert paper.y0 <= box.y0 <= box.y1 <= paper.y1


def test_a_drawing_is_written_as_svg_pdf_or_png(tmp_path):
    axes = draw_game(games.kuhn_poker())
    for ending, start in ("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG"):
        axes.figure.savefig(tmp_path / f"kuhn.{ending}")
        assert (tmp_path / f"kuhn.{ending}").read_bytes().startswith(start)


NASTY = '<a&b> "c" \' \x00\x1b\x85\u2028\ud800\ufffe </svg><script>$x^$'
EVERY = [chr(code) for code in range(0x10000)]
"""All characters of the basic plane, those that XML cannot hold among them."""


@pytest.mark.parametrize(
    "game",
    [
        rk.matrix_game([[1.0]], actions=[[NASTY], [NASTY]], name=NASTY),
        NormalFormGame(np.zeros((3, 1, 1, 1)), actions=[[NASTY]] * 3, name=NASTY),
        tree_of(decision(0, NASTY, **{NASTY: end(1, 2)}), name=NASTY),
        tree_of(chance([1.0], **{NASTY: decision(1, NASTY, **{NASTY: end(0, 0)})})),
    ],
)
def test_names_are_text_and_never_markup(game):
    texts = [t.text or "" for t in ET.fromstring(file_of(game_figure(game))).iter(f"{SVG}text")]
    assert sum('<a&b> "c"' in text and "\\x1b" in text for text in texts) >= 3
    assert not any("\x1b" in text for text in texts)


test_games_that_cannot_be_drawn_are_refused = refusals(
    (games.leduc_poker(), 250, ValueError, "game has 9457 histories, more than the limit of 250"),
    (games.leduc_poker().tree, 250, ValueError, "game has 9457 histories"),
    (games.blotto(), 440, ValueError, "game has 441 outcomes, more than the limit of 440"),
    *((game, 250, TypeError, "game must be") for game in ("kuhn_poker", None)),
    (games.chicken(), 0, ValueError, "limit must be"),
    (games.chicken(), 2.5, TypeError, "limit must be"),
    call=lambda game, limit: draw_game(game, limit=limit),
)
