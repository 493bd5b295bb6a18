"""The linear systems of a zero-sum game's equilibria with given supports."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from regretkit._util._arrays import read_only
from regretkit._util._errors import warn
from regretkit._util._typing import Indices, Vector
from regretkit.evaluation._linear_programs import constraint_entries, exponent_of, repaired
from regretkit.evaluation.exact._zero_sum import (
    ExactSolution,
    check_constant_sum,
    constraint_duals,
    exact_solution,
)
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame
from regretkit.games.public import PublicGame
from regretkit.games.public._history import pair_payoffs
from regretkit.sets import DecisionTree, Simplices

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Flags: TypeAlias = NDArray[np.bool_]

_TINY = 1e-6
"""Probabilities below it are left from the first iterations of a run."""
_LOSS = 1e-13
"""The smallest loss of a sequence that is no rounding, in units of the largest payoff."""
_REGULARIZATION = 1e-7
_REFINEMENTS = 12
_MOST_KEPT = 1_000_000
"""Payoffs of the largest game whose systems are kept for other runs."""
_ROUNDING = 2.0**-50
"""What a system of numbers of size one may miss once it is solved."""


class Bounded(NamedTuple):
    """Strategies, and an interval that they prove to hold the value."""

    x: Vector
    y: Vector
    lower: float
    upper: float
    duals: tuple[Vector, Vector]
    """The least p with ``E^T p >= A y`` and q with ``F^T q >= -A^T x``, in units of the systems."""

    @property
    def gap(self) -> float:
        return self.upper - self.lower


class _Entries(NamedTuple):
    """A sparse matrix, entry by entry."""

    row: Indices
    column: Indices
    value: Vector

    def part(self, rows: Indices, columns: Indices) -> "_Entries":
        """Return the entries in these rows and columns, which have new numbers, -1 if left out."""
        row, column = rows[self.row], columns[self.column]
        kept = (row >= 0) & (column >= 0)
        return _Entries(row[kept], column[kept], self.value[kept])


class _Flow(NamedTuple):
    """The constraints ``E x = e`` on a player's strategies: their entries, totals and numbers."""

    entries: _Entries
    totals: Vector
    live: Indices

    def part(self, places: Indices, dropped: Indices) -> "_Flow":
        """Return those on the sequences that have a new number, -1 if left out, without some."""
        rows = self.live.copy()
        rows[dropped] = -1
        part = self.entries.part(rows, places)
        live = np.flatnonzero(np.bincount(part.row, minlength=self.live.size))
        row = _places(live, self.live.size)[part.row]
        return _Flow(part._replace(row=row), self.totals[live], live)


@frozen(eq=False)
class Systems:
    """The linear systems of a game, from which sequences out of the supports are left out."""

    domains: tuple[Simplices | DecisionTree, ...]
    payoffs: _Entries
    """A, by the sequences of player 0 and those of player 1, in units of ``2^scale``;"""
    matrices: "tuple[csr_array, csr_array] | PublicGame"
    """the same, and ``A^T``; or the public game for which they are too large."""
    flows: tuple[_Flow, _Flow]
    ranks: tuple[Indices, Indices, Indices, Indices]
    """When sequences of player 0, points of 1, points of 0 and sequences of 1 are eliminated."""
    scale: int
    width: float
    """The range of payoffs,"""
    sum: float | None
    """and what those of both players add up to."""

    @classmethod
    def of(cls, game: Any) -> "Systems":
        """Return those of a constant-sum game of two players; runs on one game share them."""
        if isinstance(game, NormalFormGame | ExtensiveFormGame | PublicGame) and game in _KEPT:
            return _KEPT[game]
        systems = cls._built(check_constant_sum(game, public=True))
        if systems.are_there and systems.payoffs.value.size <= _MOST_KEPT:
            _KEPT[game] = systems
        return systems

    @classmethod
    def _built(cls, game: Any) -> "Systems":
        from scipy.sparse import csr_array

        direct, payoffs = None, game.payoffs[0]
        if isinstance(game, NormalFormGame):
            row, column = np.nonzero(payoffs)
            value = payoffs[row, column]
        elif isinstance(game, PublicGame):
            try:
                row, column, value = pair_payoffs(game.layout)
            except MemoryError as error:
                warn(f"finish learns, and there are no systems to solve: {error}")
                direct, value = game, np.empty(0)
                row = column = np.empty(0, dtype=np.int64)
        else:
            payoffs, (row, column) = game.tree.payoffs[:, 0], game.sequences
            value = game.payoffs[0]
        flows = []
        for domain in game.domains:
            rows, columns, signs, totals = constraint_entries(domain)
            flow = _Entries(rows, columns, signs)
            flows.append(_Flow(flow, totals, np.arange(totals.size)))
        scale = exponent_of(value)
        value = np.ldexp(value, -scale)
        m, n = (domain.dimension for domain in game.domains)
        matrices = direct or (
            csr_array((value, (row, column)), shape=(m, n)),
            csr_array((value, (column, row)), shape=(n, m)),
        )
        width = float(payoffs.max() - payoffs.min())
        entries = _Entries(row, column, value)
        (x, p), (y, q) = map(_depths, game.domains)
        ranks = 1 - 4 * x, 2 - 4 * q, 3 - 4 * p, -4 * y  # those far down depend on few others
        pair, total = (flows[0], flows[1]), game.constant_sum
        return cls(game.domains, entries, matrices, pair, ranks, scale, width, total)

    @property
    def are_there(self) -> bool:
        """Whether they fit into memory."""
        return not isinstance(self.matrices, PublicGame)

    def utilities(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        """Return ``A y`` and ``A^T x``."""
        if isinstance(self.matrices, PublicGame):
            both = (self.matrices.utility(player, [x, y], 0) for player in (0, 1))
            return next(both), next(both)
        return self.matrices[0] @ y, self.matrices[1] @ x

    def bounded(self, x: Vector, y: Vector) -> Bounded:
        """Return strategies with the interval that best responses to them prove."""
        earned, lost = self.utilities(x, y)
        p, q = map(constraint_duals, self.domains, (earned, -lost))
        upper, lower = float(self.flows[0].totals @ p), 0.0 - float(self.flows[1].totals @ q)
        lower, upper = math.ldexp(lower, self.scale), math.ldexp(upper, self.scale)
        return Bounded(x, y, lower, upper, (p, q))

    def solution(self, game: Any, found: Bounded, method: str) -> ExactSolution:
        """Return strategies of the game with the interval that they prove."""
        duals = [read_only(np.ldexp(dual, self.scale)) for dual in found.duals]
        known = (duals[0], duals[1]) if self.sum == 0.0 else None
        return exact_solution(game, *found[:4], method, known)

    def losses(self, point: Bounded) -> list[Vector]:
        """Return what each sequence earns less than the best ones, against the other strategy."""
        best: list[Any] = [
            np.bincount(flow.entries.column, flow.entries.value * dual[flow.entries.row])
            for flow, dual in zip(self.flows, point.duals, strict=True)
        ]
        earned, lost = self.utilities(point.x, point.y)
        return [best[0] - earned, best[1] + lost]

    def likely_supports(self, point: Bounded) -> list[Flags]:
        """Return the sequences whose probability is larger than what they lose, and not tiny."""
        pairs = zip((point.x, point.y), self.losses(point), strict=True)
        return [x > np.maximum(lost, _TINY) for x, lost in pairs]

    def corrected_supports(self, point: Bounded) -> list[Flags]:
        """Return the supports of a point with best responses, and without what loses most."""
        losses, strategies = self.losses(point), (point.x, point.y)
        ratios = [
            np.where((x > 0.0) & (lost > _LOSS), lost / np.maximum(x, _LOSS), 0.0)
            for x, lost in zip(strategies, losses, strict=True)
        ]
        maximum = max(ratio.max() for ratio in ratios)
        return [
            ((x > 0.0) | (domain.best_response(-lost)[1] > 0.0))
            & ((ratio < maximum) | (ratio == 0.0))
            for domain, x, lost, ratio in zip(self.domains, strategies, losses, ratios, strict=True)
        ]

    def system(self, supports: Sequence[Flags]) -> "System":
        """Return the equations with these supports."""
        kept = [_unknowns(*pair) for pair in zip(self.domains, supports, strict=True)]
        (_, own, _), (_, other, _) = kept
        flows = [
            flow.part(places, forced)
            for flow, (_, places, forced) in zip(self.flows, kept, strict=True)
        ]
        return System([k[:2] for k in kept], flows, self.payoffs.part(own, other))

    def look(self, system: "System", average: Bounded) -> Bounded:
        """Return the solutions of a system that are nearest to ``average``.

        With z = (x, q) and B the equations of player 0, those of player 1 are ``B^T w = d`` with
        w = (-p, y), so that both players' take one factorization.
        """
        (S, own), (T, other) = system.unknowns
        (E, e, points), (F, f, others) = system.flows
        A, (p, q) = system.payoffs, average.duals
        entries = _Entries(
            np.concatenate([E.row, e.size + A.column, e.size + F.column]),
            np.concatenate([E.column, A.row, S.size + F.row]),
            np.concatenate([E.value, A.value, -F.value]),
        )
        z, w = _nearest_solutions(
            entries,
            (np.append(average.x[S], -q[others]), np.append(-p[points], average.y[T])),
            (np.append(e, np.zeros(T.size)), np.append(np.zeros(S.size), -f)),
            np.argsort(
                np.concatenate(
                    [r[i] for r, i in zip(self.ranks, (S, others, points, T), strict=True)]
                ),
                kind="stable",
            ),
        )
        found = (z[: S.size], own), (w[e.size :], other)
        strategies = (np.append(values, 0.0)[places] for values, places in found)
        return self.bounded(*map(repaired, strategies, self.domains))


class System(NamedTuple):
    """The equations of both players with given supports, without what is forced."""

    unknowns: list[tuple[Indices, Indices]]
    """The sequences of each player, and the number of each sequence among them."""
    flows: list[_Flow]
    payoffs: _Entries


_KEPT: WeakKeyDictionary[Game, Systems] = WeakKeyDictionary()
"""Those of games of at most ``_MOST_KEPT`` payoffs."""


def _depths(domain: Simplices | DecisionTree) -> tuple[Indices, Indices]:
    """Return how many decisions each sequence and each constraint on strategies comes after."""
    depth = np.zeros(domain.dimension, dtype=np.int16)
    if isinstance(domain, Simplices):
        return depth, np.zeros(domain.blocks, dtype=np.int16)
    for before, level in enumerate(domain.levels):
        depth[level.sequences] = 1 + before
    return depth, np.append(0, 1 + depth[domain.parent_sequence]).astype(np.int16)


def _unknowns(domain: Simplices | DecisionTree, support: Flags) -> tuple[Indices, Indices, Indices]:
    """Return the sequences that are unknown, the number of each sequence's, and forced decisions.

    Where a decision has a single action in the support, that action has the probability of the
    sequence before it: it shares its number, and the decision's constraint is left out. Those that
    are outside the support have the number -1.
    """
    same, forced = np.arange(support.size), np.empty(0, dtype=np.int64)
    if isinstance(domain, DecisionTree):
        simplices = domain.simplices
        forced = np.flatnonzero(simplices.sum(support[1:].astype(np.float64)) == 1.0)
        actions = simplices.coordinates(forced)
        actions = actions[support[1 + actions]]
        same[1 + actions] = domain.parent_sequence[forced]
        while not np.array_equal(same, further := same[same]):
            same = further
    unknown = np.flatnonzero(support & (same == np.arange(support.size)))
    places = np.where(support, _places(unknown, support.size)[same], -1)
    return unknown, places, 1 + forced


def _nearest_solutions(
    entries: _Entries, points: tuple[Vector, Vector], wanted: tuple[Vector, Vector], order: Indices
) -> tuple[Vector, Vector]:
    """Return z of ``B z = c`` and w of ``B^T w = d`` nearest to two points, or what comes near.

    Steps of ``[I B^T; B -delta I]``, whose unknowns are eliminated in an order, need neither full
    rank nor as many equations as unknowns.
    """
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    row, column, value = entries
    n, place = points[0].size, _places(order, order.size)
    rows = place[np.concatenate([row + n, column, np.arange(order.size)])]
    columns = place[np.concatenate([column, row + n, np.arange(order.size)])]
    in_z = order < n
    diagonal = np.where(in_z, 1.0, -_REGULARIZATION)
    data = np.concatenate([value, value, diagonal[place]])
    by_column = np.argsort(columns, kind="stable")
    begin = np.append(0, np.cumsum(np.bincount(columns)))
    system = csc_array((data[by_column], rows[by_column], begin))
    factors = splu(
        system,
        permc_spec="NATURAL",
        diag_pivot_thresh=0.0,
        relax=1,
        panel_size=1,
        options={"SymmetricMode": True, "Equil": False},
    )
    point, totals = np.concatenate(points)[order], np.concatenate(wanted[::-1])[order]
    missed = totals + diagonal * point - system @ point
    both = np.array([~in_z, in_z])  # the equations of each player
    for _ in range(_REFINEMENTS):
        steps = factors.solve((both * missed).T)
        nearer = point + np.where(in_z, steps[:, 0], steps[:, 1])
        still = totals + diagonal * nearer - system @ nearer
        largest = np.abs(both * still).max(axis=1)
        better = largest < 0.5 * np.abs(both * missed).max(axis=1)
        point = np.where(better[~in_z * 1], nearer, point)
        missed = np.where(better[in_z * 1], still, 0.0)
        if not (better & (largest > _ROUNDING)).any():
            break
    found = point[place]
    return found[:n], found[n:]


def _places(kept: Indices, size: int) -> Indices:
    """Return the new number of each, -1 of those that are not kept."""
    places = np.full(size, -1)
    places[kept] = np.arange(kept.size)
    return places
