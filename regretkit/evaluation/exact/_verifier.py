"""The check of certificates, by fractions and from the arrays of a game.

It is independent: it shares no code with the functions that make certificates.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from fractions import Fraction
from itertools import accumulate, pairwise, product
from math import lcm, prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from regretkit._util._validate import quote
from regretkit.games import CHANCE, GameTree, NormalFormGame, fingerprint

_WITHIN = Fraction(1, 2**50)
"""Largest relative distance between a float and its fraction."""
_MOST_BITS = 1_000_000
"""Longest common denominator of a distribution; longer sums would take hours."""
_OF_TABLES = "value", "nash", "ce", "cce"
_OF_TREES = "value", "nash", "efce", "efcce", "nfcce"

Numbers: TypeAlias = dict[int, Fraction]
"""A number for each sequence, 0 if missing."""
Decisions: TypeAlias = list[tuple[range, int]]
"""A player's information sets in order: their sequences, and their parent sequence."""
Played: TypeAlias = list[tuple[Numbers, Numbers]]
"""A player's strategy in each profile, times the profile's weight, and its utility."""


def check_certificate(game: Any, certificate: Any) -> None:
    """Raise a ValueError unless all numbers of a certificate hold for a game.

    The numbers must be those of the certificate's distribution. A certificate of a value also needs
    a single profile of two players without gains, and payoffs that sum to a constant.
    """
    if fingerprint(game) != certificate.fingerprint:
        raise ValueError(f"the certificate is for another game than {quote(game)}")
    arrays = _Arrays.of(game)
    if arrays.readings != certificate.readings:
        raise ValueError("the certificate reads the game's floats as other fractions")
    notion, parts = certificate.notion, _distribution(arrays, certificate)
    if notion not in (_OF_TABLES if isinstance(game, NormalFormGame) else _OF_TREES):
        raise ValueError(f"notion {quote(notion)} does not apply to this game")
    if notion in ("value", "nash") and len(parts) != 1:
        raise ValueError(f"notion {quote(notion)} needs one profile")
    lower, upper, gains = certificate.lower, certificate.upper, certificate.gains
    if not len(lower) == len(upper) == len(gains) == len(arrays.decisions):
        raise ValueError("the certificate must have numbers for each player")
    for player, decisions in enumerate(arrays.decisions):
        played = [
            ({s: weight * share for s, share in x[player].items()}, arrays.earned(player, x))
            for weight, x in parts
        ]
        earned, gap, each = _deviations(decisions, notion, played)
        if (lower[player], upper[player], gains[player]) != (earned, earned + gap, each):
            raise ValueError(f"the profile does not prove the numbers of player {player}")
    if notion == "value":
        if lower != upper:
            raise ValueError("a player gains, so the profile proves no value")
        if len(lower) != 2 or not arrays.sum_to(sum(lower, Fraction(0))):
            raise ValueError("payoffs of two players must sum to a constant, without any rounding")


class _Arrays(NamedTuple):
    """A game as sequences and terminals, with fractions."""

    decisions: list[Decisions]
    terminals: list[tuple[tuple[int, ...], Fraction, list[Fraction]]]
    """For each terminal: last sequences, chance's probability c, and payoffs times c."""
    readings: dict[float, Fraction]
    """Fractions of payoffs and chance probabilities that are not floats, as 1/10 for 0.1."""

    @classmethod
    def of(cls, game: Any) -> "_Arrays":
        """Return the arrays of a game. A table becomes a tree with one decision for each player."""
        tree = None if isinstance(game, NormalFormGame) else game.tree
        payoffs = game.payoffs.reshape(game.players, -1).T if tree is None else tree.payoffs
        drawn = np.zeros(0)
        if tree is not None:
            drawn = tree.probability[1:][tree.player[tree.parent[1:]] == CHANCE]
        meant = {v: _fraction(v) for v in np.append(payoffs.ravel(), drawn).tolist()}
        reach: Iterable[Fraction]
        if tree is None:
            own = [range(1, 1 + n) for n in game.payoffs.shape[1:]]
            decisions: list[Decisions] = [[(actions, 0)] for actions in own]
            lasts: Iterable[tuple[int, ...]] = product(*own)
            reach = [Fraction(1)] * len(payoffs)
        else:
            decisions, lasts, reach = _followed(tree, meant)
        terminals = [
            (last, chance, [chance * meant[value] for value in paid])
            for last, chance, paid in zip(lasts, reach, payoffs.tolist(), strict=True)
        ]
        readings = {value: fraction for value, fraction in meant.items() if fraction != value}
        return cls(decisions, terminals, readings)

    def strategy(self, player: int, shares: Any) -> Numbers:
        """Return a strategy of a certificate, or raise a ValueError."""
        x = {s: Fraction(n, shares.denominator or 1) for s, n in shares.numerators.items()}
        own = self.decisions[player]
        known = range(1 + sum(len(sequences) for sequences, _ in own))
        if (
            shares.denominator < 1
            or x.get(0) != 1
            or not all(s in known and share >= 0 for s, share in x.items())
            or any(sum(x.get(s, 0) for s in at) != x.get(before, 0) for at, before in own)
        ):
            raise ValueError(f"player {player} has an invalid strategy")
        return x

    def earned(self, player: int, strategies: Sequence[Numbers]) -> Numbers:
        """Return the utility of each sequence of a player against the other strategies."""
        found: Numbers = defaultdict(Fraction)
        for last, _, paid in self.terminals:
            share = paid[player]
            for other, x in enumerate(strategies):
                if share and other != player:
                    share *= x.get(last[other], 0)
            if share:
                found[last[player]] += share
        return found

    def sum_to(self, total: Fraction) -> bool:
        """Return whether the payoffs at every terminal sum to ``total``."""
        return all(sum(paid) == chance * total for _, chance, paid in self.terminals)


def _distribution(arrays: _Arrays, certificate: Any) -> list[tuple[Fraction, list[Numbers]]]:
    """Return the profiles of a certificate and their weights, or raise a ValueError."""
    parts, unit = [], 1
    for part in certificate.parts:
        if len(part.strategies) != len(arrays.decisions):
            raise ValueError("the certificate must have a strategy for each player")
        own = (abs(shares.denominator) for shares in part.strategies)
        unit = lcm(unit, part.weight.denominator * prod(own))
        if unit.bit_length() > _MOST_BITS:
            raise ValueError("the probabilities have no common denominator of a million bits")
        strategies = [arrays.strategy(i, shares) for i, shares in enumerate(part.strategies)]
        parts.append((part.weight, strategies))
    weights = [weight for weight, _ in parts]
    if sum(weights) != 1 or min(weights) < 0:
        raise ValueError("the weights must be at least 0 and sum to one")
    return parts


def _fraction(value: float) -> Fraction:
    """Return the first convergent of a float's continued fraction within ``_WITHIN``."""
    exact = Fraction(value)
    rest, divisor = exact.as_integer_ratio()
    before, last = (0, 1), (1, 0)
    while True:
        whole, (rest, divisor) = rest // divisor, (divisor, rest % divisor)
        before, last = last, (whole * last[0] + before[0], whole * last[1] + before[1])
        if abs(Fraction(*last) - exact) <= _WITHIN * abs(exact):
            return Fraction(*last)


def _followed(
    tree: GameTree, meant: Mapping[float, Fraction]
) -> tuple[list[Decisions], list[tuple[int, ...]], list[Fraction]]:
    """Return the decisions, and for each terminal the last sequences and chance's probability."""
    decisions = [
        [(range(*edges), 0) for edges in pairwise(accumulate(sizes.tolist(), initial=1))]
        for sizes in tree.sizes
    ]
    lasts, reach = [(0,) * tree.players], [Fraction(1)]
    totals: dict[int, Fraction] = defaultdict(Fraction)
    columns = (column[1:].tolist() for column in (tree.parent, tree.action, tree.probability))
    for before, action, probability in zip(*columns, strict=True):
        mover, last, chance = int(tree.player[before]), lasts[before], reach[before]
        if mover == CHANCE:
            totals[before] += meant[probability]
            chance *= meant[probability]
        else:
            number = int(tree.information_set[before])
            sequences, _ = decisions[mover][number]
            decisions[mover][number] = sequences, last[mover]
            last = (*last[:mover], sequences[action], *last[mover + 1 :])
        lasts.append(last)
        reach.append(chance)
    if any(total != 1 for total in totals.values()):
        raise ValueError("the chances of the game do not sum to one as fractions")
    terminals = tree.terminals.tolist()
    return decisions, [lasts[end] for end in terminals], [reach[end] for end in terminals]


def _best(decisions: Decisions, earned: Mapping[int, Fraction]) -> Numbers:
    """Return the best value of each sequence: best[s] = earned[s] + sum of max below s."""
    best = defaultdict(Fraction, earned)
    for sequences, before in reversed(decisions):
        best[before] += max(best[s] for s in sequences)
    return best


def _deviations(
    decisions: Decisions, notion: str, played: Played
) -> tuple[Fraction, Fraction, dict[tuple[int | None, ...], Fraction]]:
    """Return a player's payoff, the gain of all deviations together, and of each alone."""
    follow: Numbers = defaultdict(Fraction)
    for x, earned in played:
        for s in x.keys() & earned.keys():
            follow[s] += x[s] * earned[s]
    for sequences, before in reversed(decisions):
        follow[before] += sum(follow[s] for s in sequences)
    if notion in ("value", "nfcce"):  # another strategy from the start
        gain = _best(decisions, _where(played, 0, {*follow}))[0] - follow[0]
        return follow[0], max(gain, Fraction(0)), {(None, None, None): gain}
    together: Numbers = defaultdict(Fraction)  # by the sequence before
    gains: dict[tuple[int | None, ...], Fraction] = {}
    for number, (sequences, before) in reversed([*enumerate(decisions)]):
        later, reached = [decisions[number]], set(sequences)
        for at in decisions[number + 1 :]:
            if at[1] in reached:
                later.append(at)
                reached.update(at[0])
        triggers: list[tuple[int | None, int, Sequence[int]]] = [(None, before, sequences)]
        if notion in ("ce", "efce"):  # deviations depend on the recommended action
            triggers = [(action, s, [s]) for action, s in enumerate(sequences)]
        for recommended, source, followed in triggers:
            best = _best(later, _where(played, source, reached))
            own = [best[s] - sum(follow[t] for t in followed) for s in sequences]
            gains |= {(number, recommended, action): gain for action, gain in enumerate(own)}
            together[before] += max(*own, sum((together[t] for t in followed), Fraction(0)))
    return follow[0], together[0], gains


def _where(played: Played, source: int, own: Set[int]) -> Numbers:
    """Return the utilities in the profiles that recommend ``source``, of sequences in ``own``."""
    found: Numbers = defaultdict(Fraction)
    for x, earned in played:
        if source in x:
            for s in earned.keys() & own:
                found[s] += x[source] * earned[s]
    return found
