"""Games as SVG and results as HTML: everything is there once, and nothing lies on anything else."""

import functools
import itertools
import xml.etree.ElementTree as ET
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from naive_games import chance, decision, end, random_game

import regretkit as rk
from regretkit import games
from regretkit.evaluation import Ledger, best_correlated_equilibrium, solve_zero_sum, threshold
from regretkit.games import CHANCE, ExtensiveFormGame, NormalFormGame, Profile, read_efg
from regretkit.games._pictures.layout import probability
from regretkit.games._pictures.svg import width_of
from regretkit.plots import draw_game
from regretkit.sets import Ball

SVG = "{http://www.w3.org/2000/svg}"
ABOVE, BELOW = 0.76, 0.24
"""How far letters reach from the line that they stand on, in sizes of the font."""
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


class Rectangle(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float
    what: str

    def overlaps(self, other):
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def parsed(game):
    return ET.fromstring(draw_game(game, limit=1_000))


def everything(root):
    """Yield each element with its class, where it is shifted to, and its font size."""

    def below(element, x, y, size):
        shift = element.get("transform", "translate(0 0)")
        dx, dy = map(float, shift.removeprefix("translate(").removesuffix(")").split())
        size = float(element.get("font-size", size))
        yield element, x + dx, y + dy, size
        for child in element:
            yield from below(child, x + dx, y + dy, size)

    yield from below(root, 0.0, 0.0, 12.0)


def content(element):
    return "".join(element.itertext())


def ink(text, size=12.0, weight="normal"):
    """Return how wide text is in DejaVu Sans, which is wider than other fonts."""
    return size * sum(advance(character, weight) for character in text)


@functools.cache
def advance(character, weight):
    # What one more of them adds, so that spaces count too.
    font = FontProperties(family="DejaVu Sans", weight=weight)
    one, two = (
        TextPath((0, 0), f"|{character * count}|", size=100, prop=font).get_extents().width
        for count in (1, 2)
    )
    return (two - one) / 100


def texts(root):
    """Return where each text is."""
    found = []
    for element, x, y, size in everything(root):
        if element.tag == f"{SVG}text" and content(element).strip():
            width = ink(content(element), size, element.get("font-weight", "normal"))
            start = {"start": 0.0, "middle": width / 2, "end": width}
            left = x + float(element.get("x")) - start[element.get("text-anchor")]
            base = y + float(element.get("y"))
            box = left, base - ABOVE * size, left + width, base + BELOW * size
            found.append(Rectangle(*box, content(element)))
    return found


def boxes(root):
    """Return the boxes of histories."""
    found = []
    for element, x, y, _ in everything(root):
        if element.get("class") in ("history", "chance"):
            box = element.find(f"{SVG}rect")
            left, top = x + float(box.get("x")), y + float(box.get("y"))
            right, bottom = left + float(box.get("width")), top + float(box.get("height"))
            found.append(Rectangle(left, top, right, bottom, content(element)))
    return found


def of_class(root, name):
    return [element for element in root.iter() if element.get("class") == name]


def payoffs_of(element):
    return tuple(float(span.text) for span in element.iter(f"{SVG}tspan"))


# What is there


@each_tree
def test_a_tree_shows_each_history_once_in_its_information_set(make):
    game = make()
    tree, root = game.tree, parsed(game)

    sets = {
        (int(group.get("data-player")), int(group.get("data-number"))): group
        for group in of_class(root, "information-set")
    }
    assert len(sets) == len(of_class(root, "information-set")) == sum(tree.information_sets)
    for (player, number), group in sets.items():
        own = np.flatnonzero((tree.player == player) & (tree.information_set == number))
        assert group.get("data-label") == tree.labels[player][number]
        assert len(of_class(group, "history")) == own.size
        # One dashed line joins them, and who is alone needs none.
        joined = of_class(group, "joined")
        assert [path.get("stroke-dasharray") for path in joined] == ["4 3"] * (own.size > 1)
        assert (joined[0].get("d").count("M") if joined else 0) == own.size - 1
    assert len(of_class(root, "chance")) == int((tree.player == CHANCE).sum())


@each_tree
def test_a_tree_shows_the_payoffs_of_each_end_once(make):
    game = make()

    shown = Counter(payoffs_of(element) for element in of_class(parsed(game), "payoff"))

    rounded = np.vectorize(lambda payoff: float(f"{payoff:.6g}"))(game.tree.payoffs)
    assert shown == Counter(map(tuple, rounded.tolist()))


@each_tree
def test_an_edge_says_what_is_done_and_with_which_probability(make):
    tree = make().tree
    names = [tree.history_path(history)[-1] for history in range(1, tree.histories)]
    by_chance = tree.player[tree.parent[1:]] == CHANCE

    group = next(iter(of_class(parsed(make()), "actions")))
    written = [text.text for text in group]

    for name, drawn, chance_moves, value in zip(
        names, written, by_chance, tree.probability[1:], strict=True
    ):
        assert drawn.startswith(name[:27])
        if chance_moves:
            assert drawn.split()[-1] == probability(value)


def test_kuhn_poker_as_everybody_knows_it():
    root = parsed(games.kuhn_poker())

    assert len(boxes(root)) == 4 + 24
    assert Counter(box.what for box in boxes(root))["1: Qb"] == 2
    assert Counter(payoffs_of(e) for e in of_class(root, "payoff")) == {
        (-1.0, 1.0): 9,
        (1.0, -1.0): 9,
        (2.0, -2.0): 6,
        (-2.0, 2.0): 6,
    }


@pytest.mark.parametrize(
    ("value", "written"),
    [(1 / 3, "1/3"), (0.5, "1/2"), (1.0, "1"), (0.0, "0"), (np.pi / 4, "0.7854"), (1e-7, "1e-07")],
)
def test_probabilities_are_fractions_where_they_are_some(value, written):
    assert probability(value) == written


@pytest.mark.parametrize("make", MATRICES.values(), ids=MATRICES)
def test_a_matrix_shows_the_payoffs_of_each_outcome_once(make):
    game = make()

    shown = Counter(payoffs_of(element) for element in of_class(parsed(game), "payoff"))

    outcomes = itertools.product(*map(range, game.payoffs.shape[1:]))
    earned = [tuple(float(f"{own[outcome]:.6g}") for own in game.payoffs) for outcome in outcomes]
    assert shown == Counter(earned)


@pytest.mark.parametrize("make", MATRICES.values(), ids=MATRICES)
def test_payoffs_stand_in_the_row_and_column_of_their_actions(make):
    game = make()
    root = parsed(game)

    cells = sorted(
        (float(e.get("y")), float(e.get("x")), payoffs_of(e)) for e in of_class(root, "payoff")
    )
    columns = game.payoffs.shape[2] if game.players > 1 else 1
    tables = game.payoffs.reshape(game.players, game.payoffs.shape[1], columns, -1)
    below = np.moveaxis(tables, -1, 1).reshape(game.players, -1, columns)
    for (row, column), (y, x, payoffs) in zip(np.ndindex(*below.shape[1:]), cells, strict=True):
        assert payoffs == tuple(float(f"{p:.6g}") for p in below[:, row, column])
        assert y == cells[row * columns][0]
        assert x == cells[column][1]


def test_other_players_actions_stand_above_their_tables():
    game = NormalFormGame(np.zeros((3, 2, 2, 2)), actions=[["a", "b"], ["c", "d"], ["e", "f"]])

    written = [text.what for text in texts(parsed(game))]

    assert [line for line in written if line.startswith("player 2: ")] == [
        "player 2: e",
        "player 2: f",
    ]


# Where it is


@each_picture
def test_no_text_lies_on_another_or_sticks_out(make):
    root = parsed(make())
    width, height = float(root.get("width")), float(root.get("height"))

    drawn = texts(root)

    for one, other in itertools.combinations(drawn, 2):
        assert not one.overlaps(other), (one, other)
    for text in drawn:
        assert 0.0 <= text.left <= text.right <= width, text
        assert 0.0 <= text.top <= text.bottom <= height, text


@each_tree
def test_no_box_lies_on_another_and_each_holds_its_own_text(make):
    root = parsed(make())
    drawn, written = boxes(root), texts(root)

    for one, other in itertools.combinations(drawn, 2):
        assert not one.overlaps(other), (one, other)
    for box in drawn:
        inside = [text for text in written if text.overlaps(box)]
        assert [text.what for text in inside] == [box.what]
        assert box.left <= inside[0].left <= inside[0].right <= box.right


@pytest.mark.parametrize("make", [TREES["kuhn"], TREES["kuhn of four"], TREES["random 3"]])
def test_lines_that_join_information_sets_never_lie_on_one_another(make):
    spans = []
    for path in of_class(parsed(make()), "joined"):
        commands = path.get("d").replace("Q", " Q").replace("V", " V").split("M")[1:]
        if "V" in path.get("d"):
            lane = {part.split("Q")[1].split()[0] for part in commands}
            heights = [float(part.split()[1].split("H")[0]) for part in commands]
            ends = [float(part.rpartition("H")[0].split()[-1]) for part in commands]
            assert len(lane) == 1
            spans.append((lane.pop(), min(heights), max(ends)))

    assert spans
    for (lane, top, bottom), (other, above, below) in itertools.combinations(spans, 2):
        assert lane != other or bottom < above or below < top


@pytest.mark.parametrize(
    "text", ["Kb", "WMWM@@", "the quick brown fox", "0: Jpb", "iiiiii ll", "-12, 7"]
)
def test_text_has_the_room_that_is_kept_for_it(text):
    assert ink(text) <= width_of(text) <= 2.5 * ink(text)


# What is written into it


NASTY = '<a&b> "c" \' \x00\x1b\ud800 </svg><script>'


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
    root = parsed(game)

    assert {element.tag for element in root.iter()} <= {
        f"{SVG}{tag}" for tag in ("svg", "title", "rect", "g", "text", "tspan", "path")
    }
    assert any("<a&b>" in content(element) for element in root.iter())
    assert not any("\x1b" in content(element) for element in root.iter())
    ET.fromstring(game._repr_html_())


# How much is too much


@pytest.mark.parametrize(
    ("game", "size"),
    [
        (games.leduc_poker(), "9457 histories"),
        (games.leduc_poker().tree, "9457 histories"),
        (games.blotto(), "441 outcomes"),
    ],
)
def test_what_nobody_could_read_is_refused_with_its_size(game, size):
    with pytest.raises(ValueError, match=rf"game has {size}, .* 250 .* pass limit=\d+"):
        draw_game(game)


def test_a_higher_limit_draws_it_all_the_same():
    with pytest.raises(ValueError, match="pass limit=441"):
        draw_game(games.blotto(), limit=440)

    assert draw_game(games.blotto(), limit=441).count('class="payoff"') == 441


@pytest.mark.parametrize("game", ["kuhn_poker", None, 3])
def test_what_is_no_game_is_refused(game):
    with pytest.raises(TypeError, match="game must be"):
        draw_game(game)


@pytest.mark.parametrize("limit", [0, -1, 2.5, "all"])
def test_a_limit_that_is_no_number_of_histories_is_refused(limit):
    with pytest.raises((TypeError, ValueError), match="limit must be"):
        draw_game(games.matching_pennies(), limit=limit)


# In notebooks


def shown(thing):
    return ET.fromstring(f"<div>{thing._repr_html_()}</div>")


def cells(root):
    return [[content(cell).strip() for cell in row] for row in root.iter("tr")]


@pytest.mark.parametrize(
    "make", [TREES["kuhn"], TREES["driver"], TREES["long names"], *MATRICES.values()]
)
def test_a_small_game_is_drawn(make):
    assert len(list(shown(make()).iter(f"{SVG}svg"))) == 1


def test_a_tree_alone_is_drawn_as_well():
    assert len(of_class(shown(games.kuhn_poker().tree), "history")) == 24


def test_a_large_game_is_told_by_its_sizes():
    root = shown(games.leduc_poker())

    assert not list(root.iter(f"{SVG}svg"))
    facts = dict(cells(root))
    # 6 cards, 936 information sets: as everybody counts them.
    assert facts["information sets"] == "468 + 468"
    assert facts["histories"] == "9,457"
    assert facts["payoffs add up to"] == "0"
    assert dict(cells(shown(games.blotto())))["outcomes"] == "441"
    assert (
        dict(cells(shown(games.battleship(loss_multiplier=2))))["payoffs add up to"]
        == "no constant"
    )


def test_a_game_that_cannot_be_played_says_why():
    assert "imperfect recall" in content(shown(read_efg(DRIVER)))


def test_a_profile_shows_each_probability_at_its_information_set():
    game = games.kuhn_poker()
    profile = rk.solve(game, "cfr+", iterations=50).average

    rows = cells(shown(profile))

    assert len(rows) == 12
    for label, *actions in rows:
        told = dict(cell.split() for cell in actions)
        assert list(told) == ["p", "b"]
        np.testing.assert_allclose([float(p) for p in told.values()], profile[label], atol=5e-5)


def test_a_profile_flags_what_is_never_reached_and_cuts_what_is_long():
    tree = games.kuhn_poker().domains[0]
    folding = Profile([tree.sequence_form(np.tile([0.0, 1.0], 6))], [tree])
    large = games.leduc_poker()

    flagged = [row[0] for row in cells(shown(folding)) if row[-1] == "never reached"]

    assert flagged == ["Jpb", "Qpb", "Kpb"]  # after passing, which is never done
    many = shown(Profile([domain.interior_point() for domain in large.domains], large.domains))
    assert len(cells(many)) == 2 * 60
    assert content(many).count("408 more information sets") == 2


def test_a_profile_on_a_ball_shows_its_vectors():

    profile = Profile([np.array([0.5, 0.25])], [Ball([0.0, 0.0], 1.0)])

    assert "[0.5  0.25]" in content(shown(profile))


def test_a_run_shows_what_it_is_made_of_and_what_it_came_to():
    game = games.kuhn_poker()
    run = rk.solve(game, "cfr+", iterations=30)

    before, after = (dict(cells(shown(each))) for each in (rk.play.cfr_plus.start(game), run))

    assert after["iterations"] == "30"
    assert after["averaging"] == "Linear()"
    assert float(after["NashConv of the average"]) == pytest.approx(
        rk.nash_conv(game, run.average), rel=1e-5
    )
    assert before["iterations"] == "0"
    assert "NashConv of the average" not in before


def test_a_run_that_broke_off_says_so():
    class Failing(rk.games.ExtensiveFormGame.__mro__[-1]):
        """Fails in the middle of an iteration."""

        def __init__(self, game):
            self.game, self.domains, self.value = game, game.domains, game.value

        def utility(self, player, profile, of=None):
            if player == 1:
                raise KeyError("half-way")
            return self.game.utility(player, profile, of)

    game = Failing(games.kuhn_poker())
    run = rk.SelfPlay(game, [rk.CFR(tree, rk.RegretMatching) for tree in game.domains])
    with pytest.raises(RuntimeError, match="half-way"):
        run.run(1)

    assert "half-way" in dict(cells(shown(run)))["broken"]


def test_results_show_their_numbers_and_their_profiles():
    game = games.kuhn_poker()
    run = rk.solve(game, "cfr", iterations=200)
    solution, cleaned = solve_zero_sum(game), threshold(game, run.average, 0.05)

    exact, clean = cells(shown(solution)), cells(shown(cleaned))

    assert dict(exact[:4])["value"] == "-0.0555556"
    assert [row[0] for row in exact[:4]] == ["value", "lower", "upper", "gap"]
    assert float(dict(clean[:2])["gap after"]) == pytest.approx(cleaned.gap_after, rel=1e-5)
    assert len(exact) == 4 + 12
    assert len(clean) == 2 + 12


def test_a_ledger_shows_its_accounts():
    player = rk.Product([rk.RegretMatching(2), rk.RegretMatching(3)])
    ledger = Ledger(player)
    player.observe_utility([1.0, 0.0, 0.0, 0.0, 3.0])

    header, top, first, second = cells(shown(ledger))

    assert header == ["node", "external", "internal", "swap", "theorem"]
    assert top[:2] == ["top", "2.5"]
    assert (first[0], second[0], second[1]) == ("parts[0]", "parts[1]", "2")


def test_a_correlated_equilibrium_shows_its_numbers():
    found = best_correlated_equilibrium(games.chicken())

    told = dict(cells(shown(found)))

    assert float(told["value"]) == pytest.approx(found.value, rel=1e-5)
