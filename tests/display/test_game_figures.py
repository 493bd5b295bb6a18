"""Drawings of games: everything is there once, and nothing lies on anything else."""

import functools
import itertools
import re
import xml.etree.ElementTree as ET
from collections import Counter

import numpy as np
import pytest
from matplotlib.colors import to_hex
from naive_games import chance, decision, end, random_game

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


def random_tree(seed):
    return ExtensiveFormGame.from_history(
        random_game(np.random.default_rng(seed), players=3, depth=3)
    )


TREES = {
    "kuhn": lambda: games.kuhn_poker(),
    "kuhn of four": lambda: games.kuhn_poker(deck=4),
    "driver": lambda: read_efg(DRIVER),
    "long names": lambda: ExtensiveFormGame.from_history(
        decision(
            0,
            "what the first player knows",
            **{
                "WWWWWWWWWWWWWWWWWWWWWWWWWWWW": end(-123456.0, 1.0 / 3.0),
                "m" * 40: decision(1, "W" * 60, a=end(1e-9, 1e12), b=end(0.0, -0.0)),
                "日本語の名前": end(5, 5),
            },
        )
    ),
    "over at once": lambda: ExtensiveFormGame.from_history(end(1.0, -1.0), name="over"),
    "nothing to decide": lambda: ExtensiveFormGame.from_history(chance([1.0], only=end(3.0, 4.0))),
    "chain": lambda: ExtensiveFormGame.from_history(
        functools.reduce(
            lambda below, i: decision(i % 2, f"at {i}", go=below, stop=end(i, -i)),
            reversed(range(40)),
            end(0, 0),
        )
    ),
    **{f"random {seed}": lambda seed=seed: random_tree(seed) for seed in range(12)},
}
MATRICES = {
    "pennies": lambda: games.matching_pennies(),
    "shapley": lambda: games.shapley_game(),
    "alone": lambda: NormalFormGame([[1.0, 2.0, 3.0]], actions=[["a", "b", "c"]], name="alone"),
    "three": lambda: NormalFormGame(np.arange(36.0).reshape(3, 2, 3, 2) / 7.0),
    "four": lambda: NormalFormGame(np.arange(96.0).reshape(4, 2, 3, 2, 2)),
    "wide": lambda: rk.matrix_game(
        [[1e-7, 123456.0], [0.1 + 0.2, 0.0]], actions=[["M" * 30, "b"], ["W" * 30, "i"]]
    ),
}
each_tree = pytest.mark.parametrize("make", TREES.values(), ids=TREES)
each_picture = pytest.mark.parametrize("make", (TREES | MATRICES).values(), ids=TREES | MATRICES)


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
    """Return the payoffs that are written, one text a terminal."""
    texts = [text for text in axes.texts if not hasattr(text, "anncoords")]
    rest = [text.get_text() for text in texts[tree.histories - 1 :] if not text.get_bbox_patch()]
    return Counter(tuple(map(float, text.split(", "))) for text in rest)


def rounded(earned):
    return Counter(tuple(float(f"{payoff:.6g}") for payoff in row) for row in earned)


def cells_of(table):
    """Return the texts of a table by rows."""
    cells = table.get_celld()
    rows, columns = (1 + max(numbers) for numbers in zip(*cells, strict=True))
    return [[cells[i, j].get_text().get_text() for j in range(columns)] for i in range(rows)]


def acting(tree):
    return np.flatnonzero((tree.player != CHANCE) & (tree.player != TERMINAL))


# Trees


@pytest.mark.deep_beyond(6)
@each_tree
def test_a_tree_shows_each_history_once_with_its_player_and_information_set(make):
    tree = make().tree
    shown = Counter(
        (to_hex(box.get_bbox_patch().get_facecolor()).upper(), box.get_text()[:27])
        for box in boxes(drawn(make))
    )
    assert sum(shown.values()) == int((tree.player != TERMINAL).sum())
    labels = [(int(tree.player[i]), int(tree.information_set[i])) for i in acting(tree)]
    for (player, number), count in Counter(labels).items():
        caption = f"{player}: {tree.labels[player][number]}"
        assert shown[PLAYERS[player], caption[:27]] >= count


@pytest.mark.deep_beyond(6)
@each_tree
def test_a_dashed_line_joins_the_histories_of_an_information_set(make):
    tree, axes = make().tree, drawn(make)
    depths = [len(tree.history_path(history)) for history in range(tree.histories)]
    joins = Counter()
    bows = 0
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
    drawn_joins = Counter(
        (line.get_color(), int(np.isnan(line.get_xdata()).sum())) for line in lines
    )
    assert drawn_joins == joins
    assert sum(not text.get_text() for text in axes.texts if hasattr(text, "anncoords")) == bows


@each_tree
def test_a_tree_shows_the_payoffs_of_each_end_once(make):
    tree = make().tree
    assert leaves(drawn(make), tree) == rounded(tree.payoffs.tolist())


@each_tree
def test_an_edge_names_its_action_and_the_probability_of_chance(make):
    tree = make().tree
    names = [tree.history_path(history)[-1] for history in range(1, tree.histories)]
    by_chance = tree.player[tree.parent[1:]] == CHANCE
    shown = [text.get_text() for text in drawn(make).texts[: len(names)]]
    for name, text, chance_moves, value in zip(
        names, shown, by_chance, tree.probability[1:], strict=True
    ):
        assert text.startswith(name[:27])
        if chance_moves:
            assert text.split()[-1] == probability(value)


def test_kuhn_poker_as_in_the_literature():
    axes = drawn(games.kuhn_poker)

    captions = Counter(box.get_text() for box in boxes(axes))
    assert captions["chance"] == 4
    assert sum(captions.values()) == 4 + 24
    assert captions["1: Qb"] == 2
    assert leaves(axes, games.kuhn_poker().tree) == {
        (-1.0, 1.0): 9,
        (1.0, -1.0): 9,
        (2.0, -2.0): 6,
        (-2.0, 2.0): 6,
    }
    assert axes.get_title(loc="left") == "Kuhn poker"
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["player 0", "player 1", "chance"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(1 / 3, "1/3"), (0.5, "1/2"), (1.0, "1"), (0.0, "0"), (np.pi / 4, "0.7854"), (1e-7, "1e-07")],
)
def test_probabilities_are_fractions_with_small_denominators(value, text):
    assert probability(value) == text


@pytest.mark.parametrize("make", [TREES["kuhn"], TREES["kuhn of four"], TREES["random 3"]])
def test_lines_that_join_information_sets_never_lie_on_one_another(make):
    spans = [
        (
            float(np.nanmin(line.get_xdata())),
            np.nanmin(line.get_ydata()),
            np.nanmax(line.get_ydata()),
        )
        for line in drawn(make).get_lines()
    ]
    assert spans
    for (lane, top, bottom), (other, above, below) in itertools.combinations(spans, 2):
        assert lane != other or bottom < above or below < top


# Tables


@pytest.mark.parametrize("make", MATRICES.values(), ids=MATRICES)
def test_payoffs_stand_in_the_row_and_column_of_their_actions(make):
    game = make()
    names = [[name[:27] for name in domain.labels.actions(0)] for domain in game.domains]
    columns = names[1] if game.players > 1 else ["payoff"]
    tables = game.payoffs.reshape(game.players, len(names[0]), len(columns), -1)

    drawn_tables = [cells_of(table) for table in drawn(make).tables]
    assert len(drawn_tables) == tables.shape[-1]
    for k, (head, *rows) in enumerate(drawn_tables):
        assert [name[:27] for name in head] == ["", *columns]
        assert [name[:27] for name, *_ in rows] == names[0]
        for i, j in np.ndindex(*tables.shape[1:3]):
            shown = tuple(map(float, rows[i][1 + j].split(", ")))
            assert shown == tuple(float(f"{payoff:.6g}") for payoff in tables[:, i, j, k])


def test_other_players_actions_stand_above_their_tables():
    axes = drawn(MATRICES["three"])
    assert [text.get_text() for text in axes.texts] == ["player 2: 0", "player 2: 1"]
    tops = [
        extent.y1
        for thing in zip(axes.texts, axes.tables, strict=True)
        for extent in [part.get_window_extent() for part in thing]
    ]
    assert tops == sorted(tops, reverse=True)


# Positions


def texts_of(axes):
    """Return where each text is, with the box around it, but for half a pixel."""
    cells = [cell for table in axes.tables for cell in table.get_celld().values()]
    texts = [*axes.texts, *axes.get_legend().get_texts(), axes.title]
    texts += [cell.get_text() for cell in cells]
    return [
        (text, (text.get_bbox_patch() or text).get_window_extent().padded(-0.5))
        for text in texts
        if text.get_text()
    ]


def check_positions(axes):
    texts, paper = texts_of(axes), axes.figure.bbox.padded(1.0)
    for (one, box), (other, second) in itertools.combinations(texts, 2):
        assert not box.overlaps(second), (one, other)
    for _, box in texts:
        assert paper.x0 <= box.x0 <= box.x1 <= paper.x1
        assert paper.y0 <= box.y0 <= box.y1 <= paper.y1


@pytest.mark.deep_beyond(9)
@each_picture
def test_no_text_lies_on_another_or_sticks_out(make):
    check_positions(drawn(make))


@pytest.mark.parametrize(
    ("ending", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")]
)
def test_a_drawing_is_written_as_svg_pdf_or_png(ending, start, tmp_path):
    draw_game(games.kuhn_poker()).figure.savefig(tmp_path / f"kuhn.{ending}")
    assert (tmp_path / f"kuhn.{ending}").read_bytes().startswith(start)


# Names


NASTY = '<a&b> "c" \' \x00\x1b\ud800 </svg><script>$x^$'


@pytest.mark.parametrize(
    "game",
    [
        rk.matrix_game([[1.0]], actions=[[NASTY], [NASTY]], name=NASTY),
        ExtensiveFormGame.from_history(decision(0, NASTY, **{NASTY: end(1, 2)}), name=NASTY),
        ExtensiveFormGame.from_history(
            chance([1.0], **{NASTY: decision(1, NASTY, **{NASTY: end(0, 0)})})
        ),
    ],
)
def test_names_are_text_and_never_markup(game):
    texts = [
        text.text or "" for text in ET.fromstring(file_of(game_figure(game))).iter(f"{SVG}text")
    ]
    assert any('<a&b> "c"' in text and "\\x1b" in text for text in texts)
    assert not any("\x1b" in text for text in texts)


EVERY = [chr(code) for code in range(0x10000)]
"""All characters of the basic plane, those that XML cannot hold among them."""


@pytest.mark.deep_beyond(3)
@pytest.mark.parametrize("code", [0, 8, 0x1B, 0x7F, 0x85, 0x2028, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF])
def test_every_name_in_a_drawing_may_have_control_characters(code):
    name = f"a{chr(code)}b"
    tree = ExtensiveFormGame.from_history(
        chance([1.0], **{name: decision(0, name, **{name: end(1.0)})}), name=name
    )
    three = NormalFormGame(np.zeros((3, 1, 1, 1)), actions=[[name]] * 3, name=name)
    for game in (tree, three):
        svg = file_of(game_figure(game))
        texts = [text.text for text in ET.fromstring(svg).iter(f"{SVG}text")]
        assert sum(bool(re.search(r"a.*b", text)) for text in texts) >= 4


# How much is too much


@pytest.mark.parametrize(
    ("game", "size"),
    [
        (games.leduc_poker(), "9457 histories"),
        (games.leduc_poker().tree, "9457 histories"),
        (games.blotto(), "441 outcomes"),
    ],
)
def test_a_game_too_large_to_draw_is_refused_with_its_size(game, size):
    with pytest.raises(ValueError, match=rf"game has {size}, more than the limit of 250"):
        draw_game(game)


@pytest.mark.parametrize(
    ("game", "limit", "error", "message"),
    [
        *((game, 250, TypeError, "game must be") for game in ("kuhn_poker", None, 3)),
        *((games.chicken(), limit, ValueError, "limit must be") for limit in (0, -1)),
        *((games.chicken(), limit, TypeError, "limit must be") for limit in (2.5, "all")),
        (games.blotto(), 440, ValueError, "the limit of 440"),
    ],
)
def test_invalid_games_and_limits_are_refused(game, limit, error, message):
    with pytest.raises(error, match=message):
        draw_game(game, limit=limit)
