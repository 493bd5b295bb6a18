"""Games of the catalogue and others as public games."""

import itertools
import math

import numpy as np

from regretkit.games.public import (
    Chance,
    Compare,
    Deal,
    Decision,
    Free,
    Outcome,
    PublicGame,
    PublicTree,
)

RANKS = "A23456789TJQK"


def kuhn(cards=3):
    call = Decision(1, {"p": Free(1), "b": Compare(2, -2)})
    answer = Decision(0, {"p": Free(-1), "b": Compare(2, -2)})
    check = Decision(1, {"p": Compare(1, -1), "b": answer})
    numbers = np.arange(cards)
    deal = Deal((RANKS[-cards:],) * 2, cards=[numbers[:, None]] * 2, strengths=[numbers] * 2)
    return PublicGame(PublicTree(Decision(0, {"p": check, "b": call})), deal, name=f"kuhn({cards})")


def leduc(ranks=3, weights=None, *, merged=False):
    """Leduc poker with two suits, and weights of the ranks; merged, of public cards of one suit."""
    cards = np.arange(2 * ranks)
    names = [RANKS[-ranks:][card // 2] + "sh"[card % 2] for card in cards]
    # A pair with the public card wins, else the higher rank.
    orders = {
        names[public]: [np.where(cards // 2 == public // 2, ranks, cards // 2)] * 2
        for public in cards
    }

    def second_round(public):
        return lambda stake: bets(stake, 4, lambda stake: Compare(stake, -stake, order=public))

    def deal_card(stake):
        alive = {name: np.where(names == np.array(name), 0.0, 1.0) for name in names}
        shown = {}
        for name, other in zip(names[::2], names[1::2], strict=True):
            for card, images in ((name, {other: 1}),) if merged else ((name, {}), (other, {})):
                node, factors = second_round(card)(stake), (alive[card],) * 2
                shown[card] = Outcome(node, 1 / (len(names) - 2), factors, images)
        return Chance(shown)

    weights = np.ones((2, ranks)) if weights is None else weights
    deal = Deal(
        (names, names),
        weights=np.repeat(weights, 2, axis=1).tolist(),
        cards=[cards[:, None]] * 2,
        strengths=orders,
        symmetries=[(cards, cards), (cards ^ 1, cards ^ 1)] if merged else (),
    )
    return PublicGame(PublicTree(bets(1, 2, deal_card)), deal, name=f"leduc({ranks})")


def bets(stake, size, showdown, player=0, to_call=0, raises=0, checked=False):
    """Return a round of betting, in which both have paid ``stake`` before the last raise."""
    following = {}
    if to_call:
        following["f"] = Free(-stake if player == 0 else stake)
    if to_call or checked:
        following["c"] = showdown(stake + to_call)
    else:
        following["c"] = bets(stake, size, showdown, 1 - player, 0, raises, True)
    if raises < 2:
        paid = stake + to_call
        following["r"] = bets(paid, size, showdown, 1 - player, size, raises + 1)
    return Decision(player, following)


def liars_dice(dice=1, sides=4):
    """Return liar's dice, in which the highest face is wild."""
    rolls = list(itertools.combinations_with_replacement(range(sides), dice))
    counts = [[roll.count(face) for face in range(sides)] for roll in rolls]
    weights = [math.factorial(dice) / math.prod(map(math.factorial, count)) for count in counts]
    counts = np.array(counts, dtype=float)
    shown = counts + counts[:, -1:] * (np.arange(sides) < sides - 1)
    claims = [(number, face) for number in range(1, 2 * dice + 1) for face in range(sides)]
    # Player 0's type is the higher where the bid is true.
    orders = {
        f"{number}-{face + 1}": (shown[:, face], number - 0.5 - shown[:, face])
        for number, face in claims
    }
    bids = list(orders)

    def after(last, player):
        following = {bid: after(i, 1 - player) for i, bid in enumerate(bids) if i > last}
        if last >= 0:
            paid = -1 if player == 0 else 1  # to player 0 if the bid is true
            following["liar"] = Compare(paid, -paid, order=bids[last])
        return Decision(player, following)

    names = ["".join(str(face + 1) for face in roll) for roll in rolls]
    deal = Deal((names, names), weights=(weights, weights), strengths=orders)
    return PublicGame(PublicTree(after(-1, 0)), deal, name=f"liars_dice({dice}, {sides})")


def river(cards=6, seed=0, rake=0.0, *, ties=False, weights=None, chips=1.0, hands=None):
    """Return a game of hands of two cards with a bet and a raise, in a random order of strength."""
    generator = np.random.default_rng(seed)
    held = np.array(list(itertools.combinations(range(cards), 2)))
    strengths = generator.permutation(len(held)) // (3 if ties else 1)
    drawn = generator.uniform(0.5, 1, (2, len(held)))
    weights = drawn if weights is None else weights
    order = np.arange(len(held)) if hands is None else hands

    def showdown(stake):
        paid = rake * 2 * stake
        win = chips * (stake - paid), -chips * stake
        return Compare(win, win[::-1])

    def fold(player, stake):
        paid = chips * (stake - rake * 2 * stake), -chips * stake
        return Free(paid if player == 1 else paid[::-1])

    def decision(player, paid, raises):
        """Return the node at which a player acts after bets; ``paid`` by both, in order."""
        stake, maximum = min(paid), max(paid)
        following = {}
        if maximum > stake:
            following["fold"] = fold(player, stake)
            following["call"] = showdown(maximum)
        elif player == 0:
            following["check"] = decision(1, paid, raises)
        else:
            following["check"] = showdown(stake)
        if raises < 2:
            raised = [*paid]
            raised[player] = maximum + 2 * maximum
            following["bet"] = decision(1 - player, tuple(raised), raises + 1)
        return Decision(player, following)

    names = ["-".join(map(str, hand)) for hand in held[order]]
    deal = Deal(
        (names, names),
        weights=tuple(weight[order] for weight in weights),
        cards=[held[order]] * 2,
        strengths=[strengths[order]] * 2,
    )
    return PublicGame(PublicTree(decision(0, (1, 1), 0)), deal, name=f"river({cards})")


def one_card(values, others):
    """Return one-card poker in which the players draw from decks of their own."""
    call = Decision(1, {"fold": Free(1), "call": Compare(2, -2)})
    root = Decision(0, {"check": Compare(1, -1), "bet": call})
    names = [[str(i) for i in range(len(each))] for each in (values, others)]
    return PublicGame(PublicTree(root), Deal(names, strengths=(values, others)), name="one card")


# Strategies


def on_whole(merged, whole, profile):
    """Return the profile of a game with the behavior of that in which outcomes are merged."""
    strategies, layout = [], whole.layout
    for player, domain in enumerate(whole.domains):
        behavior = np.full(domain.dimension - 1, np.nan)
        for node in layout.decisions[player].tolist():
            alive = layout.contexts[layout.context[node]].alive[player]
            found = merged.behavior(profile, whole.tree.path(node))
            for action, played in enumerate(found.T):
                sequences = layout.sequences(player, int(layout.last[player, node + 1]) + action)
                behavior[sequences[alive] - 1] = played[alive]
        strategies.append(domain.sequence_form(behavior))
    return strategies


def random_profile(game, seed=0):
    generator = np.random.default_rng(seed)
    return [
        tree.sequence_form(tree.simplices.normalize(generator.exponential(size=tree.dimension - 1)))
        for tree in game.domains
    ]


def points_on(game, tree, player):
    """Return the decision point of a game for each one of its tree, by its label."""
    ours, theirs = (each.domains[player].simplices.labels for each in (game, tree))
    return np.array([ours.find(theirs.block(i)) for i in range(tree.domains[player].points)])


def on_tree(game, tree, profile):
    """Return the profile of a game's tree with the same behavior everywhere."""
    strategies = []
    for player, strategy in enumerate(profile):
        ours, points = game.domains[player], points_on(game, tree, player)
        behavior = ours.behavior(strategy)[ours.simplices.coordinates(points)]
        strategies.append(tree.domains[player].sequence_form(behavior))
    return strategies
