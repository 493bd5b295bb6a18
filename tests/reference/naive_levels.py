"""Large games written once more, history by history, and rules that ask histories."""

from collections import Counter

import numpy as np
from attrs import evolve, frozen

from regretkit.games import CHANCE, TERMINAL, Batch, Rules

# The rules of games that the catalogue builds in arrays


@frozen
class LiarsDice:
    """Every die that was rolled, in order, and every bid as quantity and face."""

    dice: int
    sides: int
    players: int = 2
    rolled: tuple = ()
    bids: tuple = ()
    called: bool = False

    def is_terminal(self):
        return self.called

    def player(self):
        dealt = len(self.rolled) == self.dice * self.players
        return len(self.bids) % self.players if dealt else CHANCE

    def chance_outcomes(self):
        return [(str(face), 1.0 / self.sides) for face in range(1, self.sides + 1)]

    def actions(self):
        total = self.dice * self.players
        bids = [(q, face) for q in range(1, total + 1) for face in range(1, self.sides + 1)]
        higher = [bid for bid in bids if not self.bids or bid > self.bids[-1]]
        return [f"{q}-{face}" for q, face in higher] + (["liar"] if self.bids else [])

    def child(self, action):
        if action == "liar":
            return evolve(self, called=True)
        if "-" in action:
            return evolve(self, bids=(*self.bids, tuple(map(int, action.split("-")))))
        return evolve(self, rolled=(*self.rolled, int(action)))

    def information_set(self):
        first = self.player() * self.dice
        dice = sorted(self.rolled[first : first + self.dice])
        return " ".join(["".join(map(str, dice)), *(f"{q}-{face}" for q, face in self.bids)])

    def payoffs(self):
        quantity, face = self.bids[-1]
        bidder = (len(self.bids) - 1) % self.players
        caller = len(self.bids) % self.players
        matching = sum(die in (face, self.sides) for die in self.rolled)
        payoffs = [0.0] * self.players
        payoffs[bidder] = 1.0 if matching >= quantity else -1.0
        payoffs[caller] = -payoffs[bidder]
        return payoffs


@frozen
class Leduc:
    """What was dealt and every action of both rounds; the pot is counted anew at each history."""

    players: int = 2
    ranks: int = 0
    suits: int = 2
    merge_suits: bool = False
    raises: int = 2
    cards: tuple = ()
    rounds: tuple = ("",)

    def deck(self):
        ranks = "A23456789TJQK"[-(self.ranks or self.players + 1) :]
        suits = [""] * self.suits if self.merge_suits else "shdc"[: self.suits]
        return [rank + suit for rank in ranks for suit in suits]

    def table(self):
        """Return stakes, who has folded, who is to act (None after a round), and the raises."""
        paid, folded, raises = [1] * self.players, [False] * self.players, 0
        waiting = []
        for size, actions in zip((2, 4), self.rounds, strict=False):
            waiting, raises = [i for i in range(self.players) if not folded[i]], 0
            for action in actions:
                player = waiting.pop(0)
                folded[player] = action == "f"
                if action != "f":
                    paid[player] = max(paid) + size * (action == "r")
                if action == "r":
                    raises += 1
                    order = [(player + step) % self.players for step in range(1, self.players)]
                    waiting = [i for i in order if not folded[i]]
        return paid, folded, waiting[0] if waiting else None, raises

    def is_terminal(self):
        _, folded, mover, _ = self.table()
        return folded.count(False) == 1 or (len(self.rounds) == 2 and mover is None)

    def player(self):
        mover = self.table()[2]
        return CHANCE if len(self.cards) < self.players or mover is None else mover

    def chance_outcomes(self):
        left = Counter(self.deck())
        left.subtract(self.cards)
        return [(card, count / left.total()) for card, count in left.items() if count]

    def actions(self):
        paid, _, mover, raises = self.table()
        folding = ["f"] if paid[mover] < max(paid) else []
        return [*folding, "c"] + (["r"] if raises < self.raises else [])

    def child(self, action):
        if self.player() == CHANCE:
            rounds = (*self.rounds, "") if len(self.cards) == self.players else self.rounds
            return evolve(self, cards=(*self.cards, action), rounds=rounds)
        return evolve(self, rounds=(*self.rounds[:-1], self.rounds[-1] + action))

    def information_set(self):
        label = f"{self.cards[self.player()]}:{self.rounds[0]}"
        return label if len(self.rounds) == 1 else f"{label}/{self.cards[-1]}:{self.rounds[1]}"

    def payoffs(self):
        paid, folded, _, _ = self.table()
        public = self.cards[self.players :]

        def hand(player):
            rank = self.cards[player][0]
            return rank in "".join(public), "A23456789TJQK".index(rank)

        showing = [i for i in range(self.players) if not folded[i]]
        best = max(map(hand, showing))
        winners = [i for i in showing if hand(i) == best]
        share = sum(paid) / len(winners)
        return [share * (i in winners) - paid[i] for i in range(self.players)]


@frozen
class Goofspiel:
    """The prizes in the order they came, and the bids of each turn, the current one last."""

    cards: int
    order: str
    information: str
    players: int
    turns: int
    returns: str
    prizes: tuple = ()
    bids: tuple = ((),)

    def _over(self):
        """Return the turns that are over, one that plays itself among them."""
        turns = [bids for bids in self.bids if len(bids) == self.players]
        if self.turns == self.cards and len(turns) == self.turns - 1:
            left = [set(range(1, self.cards + 1)) - {t[p] for t in turns} for p in self._players]
            turns.append(tuple(hand.pop() for hand in left))
        return turns

    @property
    def _players(self):
        return range(self.players)

    def _prize(self, turn):
        if self.order == "random" and turn < len(self.prizes):
            return self.prizes[turn]
        if self.order == "random":
            return (set(range(1, self.cards + 1)) - set(self.prizes)).pop()
        return turn + 1 if self.order == "ascending" else self.cards - turn

    def _winner(self, bids):
        (best, *_) = sorted(bids, reverse=True)
        return bids.index(best) if Counter(bids)[best] == 1 else None

    def is_terminal(self):
        return len(self._over()) == self.turns

    def player(self):
        if self.order == "random" and len(self.prizes) < len(self.bids):
            return CHANCE
        return len(self.bids[-1])

    def chance_outcomes(self):
        left = [str(p) for p in range(1, self.cards + 1) if p not in self.prizes]
        return [(prize, 1.0 / len(left)) for prize in left]

    def actions(self):
        played = {turn[self.player()] for turn in self.bids[:-1]}
        return [str(card) for card in range(1, self.cards + 1) if card not in played]

    def child(self, action):
        if self.player() == CHANCE:
            return evolve(self, prizes=(*self.prizes, int(action)))
        bids = (*self.bids[:-1], (*self.bids[-1], int(action)))
        return evolve(self, bids=(*bids, ()) if len(bids[-1]) == self.players else bids)

    def information_set(self):
        told = []
        for turn, bids in enumerate(self.bids[:-1]):
            winner = self._winner(bids)
            result = "=" if winner is None else f">{winner}"
            hidden = f"{bids[self.player()]}{result}"
            open_bids = "/".join(map(str, bids))
            told.append(
                f"{self._prize(turn)}:{hidden if self.information == 'hidden' else open_bids}"
            )
        return " ".join([*told, f"{self._prize(len(told))}:"])

    def payoffs(self):
        points = [0.0] * self.players
        for turn, bids in enumerate(self._over()):
            if (winner := self._winner(bids)) is not None:
                points[winner] += self._prize(turn)
        if self.returns == "total_points":
            return points
        if self.returns == "point_difference":
            return [score - sum(points) / self.players for score in points]
        winners = points.count(max(points))
        if winners == self.players:
            return [0.0] * self.players
        losers = self.players - winners
        return [1.0 / winners if score == max(points) else -1.0 / losers for score in points]


# Any histories as rules over columns


class AsRules(Rules):
    """Rules that ask each history of a batch.

    ``key`` makes the observation of an information set from a small number. Of ``spread`` actions
    one is legal.
    """

    def __init__(self, root, key=lambda number: number, spread=1):
        self.root, self.key, self.spread = root, key, spread
        self.numbers, self.known = {}, {}

    def start(self):
        return Batch(node=np.array([self.root], dtype=object))

    def player(self, h):
        return np.array([TERMINAL if x.is_terminal() else x.player() for x in h.node])

    def _moves(self, history):
        if history.player() == CHANCE:
            return [action for action, _ in history.chance_outcomes()]
        return list(history.actions())

    def legal(self, h):
        moves = [self._moves(x) for x in h.node]
        possible = np.zeros((h.size, self.spread * max(map(len, moves))), dtype=bool)
        for row, names in zip(possible, moves, strict=True):
            row[self.spread - 1 :: self.spread][: len(names)] = True
        return possible

    def child(self, h, action):
        node = np.empty(h.size, dtype=object)
        pairs = zip(h.node, action, strict=True)
        node[:] = [x.child(self._moves(x)[a // self.spread]) for x, a in pairs]
        return h.then(node=node)

    def chance(self, h, action):
        pairs = zip(h.node, action, strict=True)
        return [x.chance_outcomes()[a // self.spread][1] for x, a in pairs]

    def observed(self, h):
        known = [x.information_set() for x in h.node]
        numbers = [self.numbers.setdefault(k, len(self.numbers)) for k in known]
        self.known |= {self.key(number): k for number, k in zip(numbers, known, strict=True)}
        return (np.array([self.key(number) for number in numbers]),)

    def payoffs(self, h):
        return np.array([x.payoffs() for x in h.node])

    def action_name(self, player, action):
        return str(action // self.spread)

    def label(self, player, observed):
        return str(self.known[observed])
