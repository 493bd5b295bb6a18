"""Subgames: the theorems of their gadgets, trees built by hand, and games with a depth limit."""

import itertools
import time

import numpy as np
import pytest

from regretkit import solve
from regretkit.estimators import LeafValues
from regretkit.evaluation import best_response, nash_conv
from regretkit.games import (
    CHANCE,
    DepthLimitedGame,
    ExtensiveFormGame,
    GameTree,
    Profile,
    Subgame,
    as_history,
    goofspiel,
    hold_em,
    kuhn_poker,
    leduc_poker,
    liars_dice,
    prisoners_dilemma,
    public_states,
    read_efg,
    tiny_hanabi,
)
from regretkit.games.public import PublicSubgame

SAFE = "resolve", "max-margin", "reach"
COIN_TOSS = """EFG 2 R "Coin Toss" { "P1" "P2" }
c "" 1 "" { "heads" 1/2 "tails" 1/2 } 0
  p "" 1 1 "heads" { "sell" "play" } 0
    t "" 1 "" { 0.5 -0.5 }
    p "" 2 1 "guess" { "heads" "tails" } 0 t "" 2 "" { -1 1 } t "" 3 "" { 1 -1 }
  p "" 1 2 "tails" { "sell" "play" } 0
    t "" 4 "" { -0.5 0.5 }
    p "" 2 1 0 t "" 5 "" { 1 -1 } t "" 6 "" { -1 1 }
"""


class Dealt:
    """Random payoffs and information: a deal, a public action, public chance, two moves."""

    def __init__(self, seed, moves=()):
        self.seed, self.moves = seed, moves

    def draw(self, kind, *key):
        return np.random.default_rng([self.seed, *map(ord, kind + str(key))])

    def is_terminal(self):
        stopped = len(self.moves) > 2 and self.moves[2] == 2  # player 0 may end the game at once
        return stopped or len(self.moves) == 6

    def player(self):
        return (CHANCE, CHANCE, 0, CHANCE, 1, 0)[len(self.moves)]

    def chance_outcomes(self):
        shares = self.draw("chance", self.moves).dirichlet(np.ones(2 + (len(self.moves) < 2)))
        return list(enumerate(shares.tolist()))

    def actions(self):
        return range(3) if len(self.moves) == 2 else range(2)

    def child(self, action):
        return Dealt(self.seed, (*self.moves, action))

    def information_set(self):
        return self.moves[self.player()], self.moves[2:]

    def payoffs(self):
        paid = float(self.draw("pay", self.moves).normal())
        return [paid, 3.0 - paid]


def lengths(tree):
    found = np.zeros(tree.histories, dtype=int)
    for history in range(1, tree.histories):
        found[history] = found[tree.parent[history]] + 1
    return found


def second_round(game):
    """Return the histories after the public card of Leduc poker."""
    return np.flatnonzero((lengths(game.tree) > 2) & (game.tree.player[game.tree.parent] == CHANCE))


def random_profile(game, seed, power=3):
    generator = np.random.default_rng(seed)
    played = [
        d.simplices.normalize(generator.random(d.dimension - 1) ** power) for d in game.domains
    ]
    made = [d.sequence_form(x) for d, x in zip(game.domains, played, strict=True)]
    return Profile(made, game.domains, game)


def earned(game, player, profile):
    """Return what a best response to the strategy of ``player`` earns."""
    return best_response(game, 1 - player, profile)[0]


GAMES = {
    "leduc": (leduc_poker, lambda game: public_states(game, second_round(game))[::7]),
    "goofspiel": (lambda: goofspiel(4, information="hidden"), lambda game: public_states(game, 2)),
    "liars_dice": (lambda: liars_dice(sides=4), lambda game: public_states(game, 4)[::9]),
}


@pytest.fixture(scope="module")
def played():
    """Games with their roots, and good and bad blueprints of them."""
    found = {}
    for name, (make, roots) in GAMES.items():
        game = make()
        good = solve(game, "cfr+", iterations=300).average
        found[name] = game, roots(game), [good, random_profile(game, 1), Profile.uniform(game)]
    return found


def check_safety(game, root, blueprint, player, gadget, solution=None):
    """Check the theorems of a gadget at one root."""
    subgame = Subgame(game, root, blueprint, player=player, gadget=gadget)
    run = solve(subgame, exact=True) if solution is None else solution(subgame)
    profile = run.profile if solution is None else run.average
    gap = nash_conv(subgame, profile)
    glued = subgame.glue(blueprint, profile)
    before, after = (earned(game, player, each) for each in (blueprint, glued))
    bound = subgame.reach if gadget == "resolve" else 1.0
    assert after <= before + bound * gap + 1e-9
    margins = subgame.margins(glued)
    weight = np.bincount(subgame.border, [weigh(game, player, blueprint, h) for h in subgame.roots])
    slack = gap if gadget != "resolve" else subgame.reach * gap / weight
    assert (margins >= -slack - 1e-9).all()
    # Brown and Sandholm (2017), theorem 1: margins of reached border sets lower exploitability.
    _, response = best_response(game, 1 - player, glued)
    if gadget == "reach":
        reached = [weigh(game, 1 - player, [response] * 2, h, chance=False) for h in subgame.roots]
        lost = np.bincount(subgame.border, reached) > 0
        assert after <= before - (weight * (margins + slack))[lost].max(initial=0.0) + gap + 1e-9
    return subgame, glued


def weigh(game, player, profile, history, *, chance=True):
    """Return the probability of the actions of a player, and of chance, before a history."""
    tree, weight = game.tree, 1.0
    while history > 0:
        parent, action = int(tree.parent[history]), int(tree.action[history])
        if tree.player[parent] == player:
            domain = game.domains[player]
            block = domain.simplices.block(int(tree.information_set[parent]))
            weight *= domain.behavior(profile[player])[block][action]
        elif tree.player[parent] == CHANCE and chance:
            weight *= tree.probability[history]
        history = parent
    return weight


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("gadget", SAFE)
def test_a_safe_gadget_never_helps_the_opponent(played, name, gadget):
    game, roots, blueprints = played[name]
    for number, root in enumerate(roots):
        check_safety(game, root, blueprints[number % 3], number % 2, gadget)


@pytest.mark.parametrize("gadget", SAFE)
def test_bounds_hold_for_solutions_with_a_gap(played, gadget):
    game, roots, blueprints = played["leduc"]
    for iterations, blueprint in zip((1, 10), blueprints, strict=False):
        solution = lambda subgame: solve(subgame, "cfr", iterations=iterations)  # noqa: B023, E731
        check_safety(game, roots[1], blueprint, 0, gadget, solution)


@pytest.mark.parametrize(
    "seeds", [range(24), pytest.param(range(24, 100), marks=pytest.mark.deep)], ids=str
)
def test_safety_on_random_games(seeds):
    for seed in seeds:
        game = ExtensiveFormGame.from_history(Dealt(seed))
        root = public_states(game, 4)[seed % 4]
        blueprint = random_profile(game, seed)
        if seed % 3 == 0:  # close to an equilibrium, but it reaches each root
            pairs = zip(solve(game, exact=True).profile, blueprint, strict=True)
            blueprint = Profile([0.99 * x + 0.01 * y for x, y in pairs], game.domains, game)
        check_safety(game, root, blueprint, seed // 2 % 2, SAFE[seed % 3])


def test_all_subgames_of_one_blueprint(played):
    game, _, blueprints = played["leduc"]
    for blueprint, gadget in zip(blueprints, ("resolve", "reach"), strict=False):
        profile, gaps = blueprint, 0.0
        for root in public_states(game, second_round(game)):
            subgame = Subgame(game, root, blueprint, player=0, gadget=gadget)
            run = solve(subgame, "cfr+", iterations=100)
            profile, gaps = subgame.glue(profile, run.average), gaps + run.nash_conv()
        assert earned(game, 0, profile) <= earned(game, 0, blueprint) + gaps
        if blueprint is blueprints[1]:
            assert earned(game, 0, profile) < earned(game, 0, blueprint) - 0.2


def test_nested_subgames(played):
    game, _, (_, blueprint, _) = played["goofspiel"]
    values = [earned(game, 0, blueprint)]
    for length, iterations in ((2, 3), (4, 300)):
        for root in public_states(game, length):
            subgame = Subgame(game, root, blueprint, player=0)
            run = solve(subgame, "cfr+", iterations=iterations)
            bound = earned(game, 0, blueprint) + subgame.reach * run.nash_conv()
            blueprint = subgame.glue(blueprint, run.average)
            assert earned(game, 0, blueprint) <= bound
        values.append(earned(game, 0, blueprint))
    assert values[2] < values[1] - 0.01 < values[0] - 0.02


def test_max_margin_maximizes_the_smallest_margin(played):
    game, roots, (_, blueprint, _) = played["leduc"]
    for root in roots[:3]:
        least = {}
        for gadget in SAFE[:2]:
            subgame, glued = check_safety(game, root, blueprint, 1, gadget)
            least[gadget] = subgame.margins(glued).min()
        assert least["max-margin"] >= least["resolve"] - 1e-9
        exact = solve(subgame, exact=True)
        assert least["max-margin"] == pytest.approx(-subgame.value(exact.profile)[0], abs=1e-9)


# Coin Toss (Brown and Sandholm, 2017)


@pytest.fixture
def coin_toss():
    return read_efg(COIN_TOSS)


def guess(game, heads, play=(0.5, 0.5)):
    first = {(0, side): [1 - p, p] for side, p in zip(("heads", "tails"), play, strict=True)}
    return Profile.uniform(game).replace({**first, (1, "guess"): [heads, 1 - heads]})


def test_coin_toss_as_in_the_paper(coin_toss):
    assert solve(coin_toss, exact=True).value == pytest.approx(0.0)
    assert earned(coin_toss, 1, guess(coin_toss, 0.25)) == pytest.approx(0.0)
    assert earned(coin_toss, 1, guess(coin_toss, 1.0)) == pytest.approx(0.75)
    assert earned(coin_toss, 1, guess(coin_toss, 0.0)) == pytest.approx(0.25)


@pytest.mark.parametrize(("play", "lost"), [((0.51, 0.5), 0.75), ((0.5, 0.51), 0.25)])
def test_unsafe_loses_what_a_perfect_blueprint_had(coin_toss, play, lost):
    blueprint = guess(coin_toss, 0.25, play)
    for gadget, expected in {"unsafe": lost, "resolve": 0, "max-margin": 0, "reach": 0}.items():
        subgame = Subgame(coin_toss, ("heads", "play"), blueprint, player=1, gadget=gadget)
        glued = subgame.glue(blueprint, solve(subgame, exact=True).profile)
        assert earned(coin_toss, 1, glued) == pytest.approx(expected, abs=1e-12)


def test_gifts_allow_what_other_gadgets_forbid(coin_toss):
    blueprint = guess(coin_toss, 0.5)
    assert earned(coin_toss, 1, blueprint) == pytest.approx(0.25)
    for gadget, heads in {"resolve": 1 / 2, "max-margin": 1 / 2, "reach": 3 / 8}.items():
        subgame = Subgame(coin_toss, ("heads", "play"), blueprint, player=1, gadget=gadget)
        glued = subgame.glue(blueprint, solve(subgame, exact=True).profile)
        assert glued["guess"][0] == pytest.approx(heads)
        assert subgame.values == pytest.approx([0.5 if gadget == "reach" else 0.0, 0.0])
    assert earned(coin_toss, 1, glued) == pytest.approx(1 / 8)
    assert subgame.margins(glued) == pytest.approx([1 / 4, 1 / 4])


def test_gifts_add_up_on_the_way():
    game, blueprint = leduc_poker(), random_profile(leduc_poker(), 4)
    tree, domain, path = game.tree, game.domains[0], ("Jh", "Ks", "c", "r", "r", "c", "Qh")
    best, counts = domain.best_values(game.utility(0, blueprint)), []
    plain, reach = (
        Subgame(game, path, blueprint, player=1, gadget=gadget)
        for gadget in ("max-margin", "reach")
    )
    for root, border in zip(reach.roots.tolist(), reach.border.tolist(), strict=True):
        gifts, history = [], root
        while history > 0:
            parent, action = int(tree.parent[history]), int(tree.action[history])
            if tree.player[parent] == 0:
                number = int(tree.information_set[parent])
                first = int(domain.first_sequence[number])
                values = best[first : first + domain.sizes[number]]
                members = np.flatnonzero((tree.player == 0) & (tree.information_set == number))
                weight = sum(weigh(game, 1, blueprint, h) for h in members.tolist())
                gifts.append((values.max() - values[action]) / weight)
            history = parent
        assert reach.values[border] - plain.values[border] == pytest.approx(sum(gifts), abs=1e-12)
        counts.append(np.count_nonzero(gifts))
    assert max(counts) == 2  # of both decisions before the subgame


def test_gadgets_of_coin_toss_are_the_trees_built_by_hand(coin_toss):
    blueprint = guess(coin_toss, 0.125, (0.75, 0.25))
    sides, names = ("heads", "tails"), {"labels": [["h", "t"], ["g"]]}
    last = {"actions": [[["f", "t"]] * 2, [sides]], "outcomes": [sides]}
    # v(heads) = 1 - 2/8, v(tails) = -3/4; P1 earns them if it terminates, or pays them.
    resolve = GameTree(
        parent=[-1, 0, 0, 1, 1, 2, 2, 3, 3, 5, 5],
        player=[-1, 0, 0, 1, -2, 1, -2, -2, -2, -2, -2],
        information_set=[-1, 0, 1, 0, -1, 0, -1, -1, -1, -1, -1],
        probability=[1, 0.5, 0.5, *[1] * 8],
        payoffs=[[0.75, -0.75], [-0.75, 0.75], [-1, 1], [1, -1], [1, -1], [-1, 1]],
        **names,
        **last,
    )
    margin = GameTree(
        parent=[-1, 0, 0, 1, 2, 3, 3, 4, 4],
        player=[0, -1, -1, 1, 1, -2, -2, -2, -2],
        information_set=[0, -1, -1, 0, 0, -1, -1, -1, -1],
        probability=np.ones(9),
        payoffs=[[-1.75, 1.75], [0.25, -0.25], [1.75, -1.75], [-0.25, 0.25]],
        labels=[["b"], ["g"]],
        actions=[[sides], [sides]],
        outcomes=[["h"], ["t"]],
    )
    for gadget, tree in {"resolve": resolve, "max-margin": margin}.items():
        made = Subgame(coin_toss, ("heads", "play"), blueprint, player=1, gadget=gadget).tree
        for name in ("parent", "player", "information_set", "probability", "payoffs"):
            np.testing.assert_array_equal(getattr(made, name), getattr(tree, name))
    unsafe = Subgame(coin_toss, ("heads", "play"), blueprint, player=1, gadget="unsafe")
    assert unsafe.tree.probability[1:3].tolist() == [0.75, 0.25]
    assert unsafe.reach == 0.5


class ByHand:
    """The resolve gadget of one player's strategy, written on histories without any array.

    ``behavior`` maps an information set to the probabilities of its actions.
    """

    def __init__(self, roots, weights, values, opponent, total, moves=(), inner=None):
        self.parts = roots, weights, values, opponent, total
        self.moves, self.inner = moves, inner

    def then(self, move, inner=None):
        return ByHand(*self.parts, (*self.moves, move), inner)

    def is_terminal(self):
        return self.moves[1:] == ("end",) or (self.inner is not None and self.inner.is_terminal())

    def player(self):
        return (
            (CHANCE, self.parts[3])[len(self.moves)] if self.inner is None else self.inner.player()
        )

    def chance_outcomes(self):
        if self.inner is not None:
            return self.inner.chance_outcomes()
        return [(i, w / sum(self.parts[1])) for i, w in enumerate(self.parts[1])]

    def actions(self):
        return ["go", "end"] if self.inner is None else self.inner.actions()

    def child(self, action):
        if self.inner is not None:
            return self.then(action, self.inner.child(action))
        roots = self.parts[0]
        return self.then(action, roots[self.moves[0]] if action == "go" else None)

    def information_set(self):
        if self.inner is None:
            return "border", self.parts[2][self.moves[0]]
        return self.inner.information_set()

    def payoffs(self):
        if self.inner is not None:
            return self.inner.payoffs()
        paid = self.parts[2][self.moves[0]][1]
        return [self.parts[4] - paid, paid] if self.parts[3] else [paid, self.parts[4] - paid]


def best_value(weighted, opponent, behavior):
    """Return the best-response value of weighted histories, by recursion on the public state."""
    total, waiting = 0.0, {}
    while weighted:
        weight, history = weighted.pop()
        if history.is_terminal():
            total += weight * history.payoffs()[opponent]
        elif history.player() == opponent:
            waiting.setdefault(history.information_set(), []).append((weight, history))
        else:
            acting = history.player()
            shares = (
                [share for _, share in history.chance_outcomes()]
                if acting == CHANCE
                else behavior(history.information_set(), history.actions())
            )
            moves = [move for move, _ in history.chance_outcomes()] if acting == CHANCE else None
            for move, share in zip(moves or history.actions(), shares, strict=True):
                weighted.append((weight * share, history.child(move)))
    for members in waiting.values():
        total += max(
            best_value([(w, h.child(move)) for w, h in members], opponent, behavior)
            for move in members[0][1].actions()
        )
    return total


@pytest.mark.parametrize("seed", range(6))
def test_resolve_agrees_with_a_tree_built_by_hand(seed):
    game, player = ExtensiveFormGame.from_history(Dealt(seed)), seed % 2
    blueprint = random_profile(game, seed)
    behavior = blueprint.behavior(player)
    root = public_states(game, 4)[seed % 4]
    roots, weights, cards = [], [], []
    for history in root.tolist():
        inner = as_history(game)
        for name in game.tree.history_path(history):
            moves = (
                inner.actions() if inner.player() >= 0 else [m for m, _ in inner.chance_outcomes()]
            )
            inner = inner.child(next(move for move in moves if str(move) == name))
        roots.append(inner)
        weights.append(weigh(game, player, blueprint, history))
        cards.append(game.tree.history_path(history)[1 - player])
    values = {}
    for card in set(cards):
        members = [i for i, own in enumerate(cards) if own == card]
        chosen = [(weights[i], roots[i]) for i in members]
        values[card] = best_value(chosen, 1 - player, behavior) / sum(weights[i] for i in members)
    built = ByHand(roots, weights, [(card, values[card]) for card in cards], 1 - player, 3.0)
    by_hand = ExtensiveFormGame.from_history(built)
    subgame = Subgame(game, root, blueprint, player=player)
    assert sorted(subgame.values) == pytest.approx(sorted(values.values()), abs=1e-12)
    assert solve(subgame, exact=True).value == pytest.approx(
        solve(by_hand, exact=True).value, abs=1e-12
    )
    assert [d.dimension for d in subgame.domains] == [d.dimension for d in by_hand.domains]
    utilities = (game.utility(0, Profile.uniform(game)) for game in (subgame, by_hand))
    np.testing.assert_allclose(*map(np.sort, utilities), atol=1e-12)


# Roots and bad input


def test_public_states_of_leduc():
    game = leduc_poker()
    states = public_states(game, second_round(game))
    assert len(states) == 5 * 6
    assert all(len({game.tree.history_path(h)[2:] for h in state}) == 1 for state in states)
    assert [state.tolist() for state in public_states(game, 0)] == [[0]]
    one = Subgame(game, int(states[3][7]), Profile.uniform(game), player=0)
    assert sorted(one.roots) == states[3].tolist()


def test_a_root_that_cuts_an_information_set():
    game = leduc_poker()
    state = public_states(game, second_round(game))[0]
    with pytest.raises(
        ValueError, match=r"player 0 with label '.*' leads out: history .* is in it, .* is not"
    ):
        Subgame(game, state[:-1], Profile.uniform(game), player=0)
    with pytest.raises(ValueError, match=r"root has history .* and a history before it"):
        Subgame(game, [0, 1], Profile.uniform(game), player=0)
    with pytest.raises(ValueError, match="root must be an existing history"):
        Subgame(game, ("Jh", "Jh"), Profile.uniform(game), player=0)


def test_other_bad_input():
    game, leduc = kuhn_poker(), leduc_poker()
    uniform = Profile.uniform(game)
    never = uniform.replace({(0, card): [1, 0] for card in "JQK"})
    with pytest.raises(ValueError, match="never reaches root"):
        Subgame(game, ("J", "Q", "b"), never, player=0)
    with pytest.raises(ValueError, match="gadget must be one of 'resolve'"):
        Subgame(game, 3, uniform, player=0, gadget="safe")
    general, three = tiny_hanabi(), kuhn_poker(players=3)
    with pytest.raises(ValueError, match="constant sum"):
        Subgame(general, 0, Profile.uniform(general), player=0)
    with pytest.raises(ValueError, match="two players"):
        Subgame(three, 0, Profile.uniform(three), player=0)
    with pytest.raises(TypeError, match="ExtensiveFormGame"):
        public_states(prisoners_dilemma(), 0)
    forgetful = read_efg(
        'EFG 2 R "f" { "a" "b" } p "" 1 1 "i" { "l" "r" } 0 t "" 1 "" { 0 0 } '
        'p "" 1 1 0 t "" 2 "" { 0 0 } t "" 3 "" { 1 -1 }'
    )
    with pytest.raises(ValueError, match="imperfect recall"):
        Subgame(forgetful, 0, [np.ones(2) / 2, np.ones(0)], player=0)
    assert Subgame(leduc, 0, Profile.uniform(leduc), player=0).reach == 1.0


def test_histories_that_a_blueprint_never_reaches_keep_its_strategy():
    game = leduc_poker()
    blueprint = Profile.uniform(game).replace({(0, "Jh:"): [1, 0]})
    path = ("Jh", "Ks", "r", "c", "Qs")
    subgame = Subgame(game, path, blueprint, player=0)
    assert not any(subgame.tree.history_path(h)[1:3] == ("Jh",) for h in range(40))
    glued = subgame.glue(blueprint, solve(subgame, exact=True).profile)
    outside = "Jh:cr"
    assert glued[0, outside] == pytest.approx(blueprint[0, outside])


def test_names_and_restriction():
    game = leduc_poker()
    blueprint = random_profile(game, 3)
    for gadget in (*SAFE, "unsafe"):
        subgame = Subgame(game, 0, blueprint, player=1, gadget=gadget)
        inner = subgame.restrict(blueprint)
        assert inner[0, "Jh:"] == pytest.approx(blueprint[0, "Jh:"])
        assert subgame.glue(Profile.uniform(game), inner)[1] == pytest.approx(blueprint[1])
        assert subgame.glue(Profile.uniform(game), inner)[0] == pytest.approx(
            Profile.uniform(game)[0]
        )
        if gadget in ("unsafe", "resolve"):  # the opponent follows
            assert subgame.value(inner) == pytest.approx(game.value(blueprint), abs=1e-12)
    chosen = Subgame(game, ("Jh", "Ks", "c", "c", "Qs"), blueprint, player=1, gadget="max-margin")
    assert chosen.tree.labels[0][0] == "border"
    assert chosen.tree.actions[0][0] == tuple(
        f"{i} {c}:cc/Qs:" for i, c in enumerate(["Js", "Jh", "Qh", "Ks", "Kh"])
    )
    assert chosen.tree.history_path(6) == ("0 Js:cc/Qs:", "Js Jh c c Qs")


# Depth limits


def continuations(game, blueprint, player, count):
    """Return pure strategies of a player, by random utilities."""
    generator, domain = np.random.default_rng(0), game.domains[player]
    return [domain.best_response(generator.normal(size=domain.dimension))[1] for _ in range(count)]


def test_a_depth_limit_without_continuations_has_the_values_of_the_blueprint():
    game, blueprint = leduc_poker(), random_profile(leduc_poker(), 5)
    limited = DepthLimitedGame(game, second_round(game), blueprint, player=0)
    assert limited.value(limited.restrict(blueprint)) == pytest.approx(game.value(blueprint))
    other = random_profile(game, 6)
    glued = limited.glue(blueprint, limited.restrict(other))
    assert limited.value([limited.restrict(other)[0], limited.restrict(blueprint)[1]]) == (
        pytest.approx(game.value([glued[0], blueprint[1]]))
    )


def test_with_all_continuations_the_limit_costs_nothing():
    # Against all pure strategies after the leaves the first round is optimal for the rest of it.
    game = kuhn_poker()
    blueprint = solve(game, exact=True).profile
    own = game.domains[1]
    pure = [
        own.sequence_form(np.array(moves, dtype=float).ravel())
        for moves in itertools.product(([1, 0], [0, 1]), repeat=own.points)
    ]
    limited = DepthLimitedGame(game, 3, blueprint, player=0, continuations=pure)
    assert solve(limited, exact=True).value == pytest.approx(-1 / 18)
    glued = limited.glue(blueprint, solve(limited, exact=True).profile)
    assert earned(game, 0, glued) == pytest.approx(1 / 18)
    alone = DepthLimitedGame(game, 3, blueprint, player=0)
    assert earned(game, 0, alone.glue(blueprint, solve(alone, exact=True).profile)) > 0.1


def test_a_subgame_with_a_depth_limit():
    game = leduc_poker()
    blueprint = random_profile(game, 2)
    more = continuations(game, blueprint, 1, 3)
    limited = DepthLimitedGame(game, second_round(game), blueprint, player=0, continuations=more)
    inner = limited.restrict(blueprint)
    check_safety(limited, public_states(limited, 3)[0], inner, 0, "max-margin")


def test_leaf_values_of_beliefs_are_those_of_continuations():
    game = leduc_poker()
    blueprint = random_profile(game, 4)
    leaves = second_round(game)
    more = continuations(game, blueprint, 1, 2)
    parts = [
        DepthLimitedGame(game, leaves, [blueprint[0], y], player=0) for y in (blueprint[1], *more)
    ]
    alone, several = (
        parts[0],
        DepthLimitedGame(game, leaves, blueprint, player=0, continuations=more),
    )
    # The opponent's best continuation at the beliefs, for each of its information sets there
    cards = [(*path[1:2], *path[2:]) for path in map(game.tree.history_path, alone.leaves.tolist())]
    _, border = np.unique(np.array([" ".join(card) for card in cards]), return_inverse=True)
    ends = np.searchsorted(alone.tree.terminals, alone.ends[:, 0])
    paid = np.array([part.tree.payoffs[ends] for part in parts])

    def best(reach):
        earned = [np.bincount(border, reach[0] * reach[2] * each[:, 1]) for each in paid]
        chosen = np.argmax(earned, axis=0)[border]
        return paid[chosen, np.arange(chosen.size)]

    exact = LeafValues(lambda reach: paid[0])
    profile = random_profile(alone, 8)
    for player in (0, 1):
        utility = exact.utility(alone, player, profile)
        np.testing.assert_array_equal(utility, alone.utility(player, profile))
    run = solve(alone, "cfr+", iterations=300, estimator=LeafValues(best))
    glued = alone.glue(blueprint, run.average)
    found = several.restrict(glued)
    value = solve(several, exact=True).value
    assert earned(several, 0, found) == pytest.approx(-value, abs=0.02)
    with pytest.raises(TypeError, match="DepthLimitedGame without continuations"):
        exact.utility(several, 0, several.restrict(blueprint))


# Public games

TURN = {
    "ranges": ("AsAh,KhQh,Tc9c", "TsTh,AdJd,9d8d"),
    "pot": 100,
    "stack": 200,
    "bets": "a",
    "raises": "",
}


@pytest.fixture(scope="module")
def turn():
    return hold_em("Qs Jh 2h 8c", **TURN)


def test_a_river_after_a_turn_is_the_endgame_of_its_ranges(turn):
    blueprint = random_profile(turn, 1)
    path = "/check/check/3d"
    river = PublicSubgame(turn, path, blueprint, player=0, gadget="unsafe")
    reach = [
        dict(zip(turn.deal.types[i], turn.reach(i, blueprint, path), strict=True)) for i in (0, 1)
    ]
    scale = [max(each.values()) for each in reach]
    ranges = [
        {h: w / top for h, w in each.items() if w} for each, top in zip(reach, scale, strict=True)
    ]
    endgame = hold_em("Qs Jh 2h 8c 3d", ranges, *list(TURN.values())[1:])
    assert river.value(Profile.uniform(river)) == pytest.approx(
        endgame.value(Profile.uniform(endgame))
    )
    values = [solve(game, "dcfr", iterations=300).average for game in (river, endgame)]
    assert river.value(values[0]) == pytest.approx(endgame.value(values[1]), abs=1e-6)


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("gadget", ["resolve", "unsafe"])
def test_public_subgames_are_those_of_the_tree(turn, player, gadget):
    blueprint, path = random_profile(turn, 2), "/check/check/3d"
    tree = turn.to_tree()
    at = [
        h
        for h in range(tree.tree.histories)
        if tree.tree.history_path(h)[2:] == ("check", "check", "3d")
    ]
    played = Profile(
        [np.array(turn_behavior(turn, tree, i, blueprint)) for i in (0, 1)], tree.domains
    )
    assert tree.value(played) == pytest.approx(turn.value(blueprint))
    public = PublicSubgame(turn, path, blueprint, player=player, gadget=gadget)
    subgame = Subgame(tree, at, played, player=player, gadget=gadget)
    runs = [solve(game, exact=True) for game in (public, subgame)]
    assert runs[0].value == pytest.approx(runs[1].value, abs=1e-9)
    assert public.weight == pytest.approx(subgame.reach)
    glued = public.glue(blueprint, runs[0].profile)
    bound = earned(turn, player, blueprint) + public.weight * runs[0].gap
    if gadget == "resolve":
        assert earned(turn, player, glued) <= bound + 1e-9
    np.testing.assert_array_equal(glued[1 - player], blueprint[1 - player])
    assert np.abs(glued[player] - blueprint[player]).max() > 0.001


def turn_behavior(public, tree, player, profile):
    own, domain = public.domains[player], tree.domains[player]
    behavior = np.empty(domain.dimension - 1)
    known = own.behavior(profile[player])
    for block in range(domain.points):
        number = own.simplices.labels.find(domain.simplices.labels.block(block))
        behavior[domain.simplices.block(block)] = known[own.simplices.block(number)]
    return domain.sequence_form(behavior)


def test_the_best_response_of_each_type(turn):
    profile = random_profile(turn, 3)
    for player in (0, 1):
        each = turn.ev(player, profile, best_response=True)
        weight = (
            turn.reach(player, profile)
            * turn.deal.meeting(player).sums(turn.deal.weights[1 - player][np.newaxis]).free[0]
        )
        mean = np.nansum(each * weight) / weight.sum()
        assert mean == pytest.approx(best_response(turn, player, profile)[0])
    for node in ("/check", "/check/check/3d"):
        assert (turn.ev(0, profile, node, best_response=True) >= turn.ev(0, profile, node) - 1e-9)[
            ~np.isnan(turn.ev(0, profile, node))
        ].all()


def test_bad_public_subgames(turn):
    uniform = Profile.uniform(turn)
    with pytest.raises(ValueError, match="'resolve', 'unsafe'"):
        PublicSubgame(turn, "/check", uniform, player=0, gadget="reach")
    raked = hold_em("Qs Jh 2h 8c", **TURN, rake=0.05, cap=30)
    with pytest.raises(ValueError, match="constant sum"):
        PublicSubgame(raked, "/check", uniform, player=0)
    never = turn.lock({"/": [0, 1]})
    with pytest.raises(ValueError, match="never reaches root"):
        PublicSubgame(never, "/check", Profile.uniform(never), player=1)
    with pytest.raises(TypeError, match="PublicGame"):
        PublicSubgame(kuhn_poker(), "/", uniform, player=0)


def test_all_second_rounds_at_once_are_as_fast_as_the_game():
    game = leduc_poker()
    blueprint = solve(game, "cfr+", iterations=100).average
    roots = second_round(game)
    solve(Subgame(game, roots, blueprint, player=0), "cfr+", iterations=10)  # compiles

    def seconds(play):
        begin = time.process_time()
        play()
        return time.process_time() - begin

    def resolve():
        solve(Subgame(game, roots, blueprint, player=0), "cfr+", iterations=2_000)

    whole = min(seconds(lambda: solve(game, "cfr+", iterations=2_000)) for _ in range(3))
    assert min(seconds(resolve) for _ in range(3)) < 3 * whole
