"""Games on a board that hides the opponent's pieces: Battleship and phantom tic-tac-toe."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from string import ascii_lowercase

from attrs import asdict, evolve, frozen

from regretkit._util._validate import must_be, number, quote, vector, whole_number, whole_numbers
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._memory_budget import MemoryBudget, level_widths
from regretkit.games._registry import call_text, register, rules_of

Ship = tuple[str, ...]
"""The cells that a ship covers, from left to right or from top to bottom."""

_TRIED = 3_000_000
"""Largest number of cells that are visited to count the placements."""


@register
def battleship(
    height: int = 2,
    width: int = 2,
    lengths: Sequence[int] = (1,),
    values: Sequence[float] | None = None,
    shots: int = 2,
    loss_multiplier: float = 1.0,
    repeated_shots: bool = False,
    *,
    memory_limit: float | None = None,
) -> ExtensiveFormGame:
    """Return Battleship, in which both players hide ships and shoot at the other's.

    Each player has a board, with the cells ``a1``, ``a2``, ... in the first row, ``b1``, ``b2``,
    ... in the second. First they alternate in placing one ship each, in the given order; a ship
    lies in a row or in a column, ships do not overlap, and later ships must still fit. Then they
    alternate in shooting at a cell of the other's board, and observe whether they missed, hit a
    ship, or sank it by hitting all its cells. Player 0 begins. The game ends when all shots are
    fired or a player has lost all ships. A player earns the values of the ships it sank, minus
    ``loss_multiplier`` times those of the ships it lost.

    An information set is named by the player, its ships, and all shots, its own ones with their
    outcome. At ``1:a1-a2/b1,a2 miss,a2`` player 1 has its ship in the first row; player 0 shot at
    ``b1``; player 1 missed with ``a2``; player 0 hit ``a2``.

    Neither player observes the other's fleet, so that it does not matter who places first. But each
    of several ships is a decision of its own, at which a mediator recommends a place: if a fleet
    were placed by one decision, the game would have the same Nash equilibria, and other
    extensive-form correlated ones.

    Parameters
    ----------
    height
        Number of rows of each board, from 1 to 26.
    width
        Number of columns, at least 1.
    lengths
        Number of cells of each ship, at least 1; one ship or more, which all fit on the board.
    values
        Value of each ship, a finite number, at least 0; by default 1 each.
    shots
        Number of shots of each player, at least 1.
    loss_multiplier
        Penalty for losing a ship, relative to the reward for sinking it; a finite number, at least
        0. At 1 the game is zero-sum.
    repeated_shots
        Whether a player may shoot at a cell again. If not, shots are at most the number of cells.
    memory_limit
        Largest number of bytes that building may take, by default all that are available.

    Examples
    --------
    >>> battleship().tree
    <GameTree: 1573 histories, 1072 terminals, 53 + 109 information sets>
    >>> battleship(height=1, width=3, lengths=[2, 1]).tree.actions[0][0]
    ('a1-a2', 'a2-a3')
    >>> battleship(loss_multiplier=2.0).constant_sum is None
    True

    References
    ----------
    Farina, Ling, Fang and Sandholm (2019), "Correlation in extensive-form games: saddle-point
    formulation and benchmarks", NeurIPS. Rules as in OpenSpiel's ``battleship``.
    """
    root = battleship_history(
        height, width, lengths, values, shots, loss_multiplier, repeated_shots
    )
    rules, budget = root.rules, MemoryBudget(memory_limit, walked=True)
    fit = sum(rules.lengths) <= rules.area
    # A fleet of each player, and one shot of each
    budget.check_histories(rules.area * (rules.area - 1) if fit else 1, growing=True)
    if not (fit and any(_openings(rules))):
        raise ValueError(
            f"ships of lengths {list(rules.lengths)} do not fit on {rules.height} x {rules.width} "
            "cells; pass a larger board, or fewer or shorter ships"
        )
    budget.check_levels(_widths(root))
    arguments = asdict(rules, recurse=False)
    if set(rules.values) == {1.0}:
        arguments["values"] = None
    name = call_text(battleship, **arguments)
    return ExtensiveFormGame.from_history(root, name=name, memory_limit=memory_limit)


@rules_of("battleship")
def battleship_history(
    height: int = 2,
    width: int = 2,
    lengths: Sequence[int] = (1,),
    values: Sequence[float] | None = None,
    shots: int = 2,
    loss_multiplier: float = 1.0,
    repeated_shots: bool = False,
) -> "BattleshipHistory":
    """Return the empty history of Battleship, whose ships must fit on the board."""
    height = whole_number(height, "height", minimum=1, maximum=len(ascii_lowercase))
    width = whole_number(width, "width", minimum=1)
    sizes = whole_numbers(lengths, "lengths").tolist()
    lengths = tuple(whole_number(size, "each of lengths", minimum=1) for size in sizes)
    if not lengths:
        raise ValueError("lengths must have one number for each ship, got none; pass at least one")
    earned = vector([1.0] * len(lengths) if values is None else values, len(lengths), "values")
    if earned.min() < 0.0:
        raise ValueError(f"values must be at least 0, got {quote(earned.tolist())}")
    if not isinstance(repeated_shots, bool):
        raise TypeError(must_be("repeated_shots", "True or False", repeated_shots))
    maximum = None if repeated_shots else height * width
    shots = whole_number(shots, "shots", minimum=1, maximum=maximum)
    multiplier = number(loss_multiplier, "loss_multiplier")
    if multiplier < 0.0:
        raise ValueError(must_be("loss_multiplier", "a finite number, at least 0", loss_multiplier))
    values = tuple(earned.tolist())
    return BattleshipHistory(
        Rules(height, width, lengths, values, shots, multiplier, repeated_shots)
    )


def _name(ship: Ship) -> str:
    return ship[0] if len(ship) == 1 else f"{ship[0]}-{ship[-1]}"


@frozen
class Rules:
    height: int
    width: int
    lengths: tuple[int, ...]
    values: tuple[float, ...]
    shots: int
    loss_multiplier: float
    repeated_shots: bool

    def cells(self) -> list[str]:
        """Return the cells of a board, row by row."""
        rows, columns = ascii_lowercase[: self.height], range(1, self.width + 1)
        return [f"{row}{column}" for row in rows for column in columns]

    def places(self, length: int) -> dict[str, Ship]:
        """Return the placements of a ship, in a row or in a column, by name."""
        board, width = self.cells(), self.width
        ships = [
            tuple(board[row * width + column : row * width + column + length])
            for row in range(self.height)
            for column in range(width - length + 1)
        ] + [
            tuple(board[row * width + column :: width][:length])
            for row in range(self.height - length + 1)
            for column in range(width)
        ]
        # A ship of one cell has the same name both ways, and so appears once.
        return {_name(ship): ship for ship in ships}

    @property
    def area(self) -> int:
        return self.height * self.width


@lru_cache(maxsize=16)
def _openings(rules: Rules) -> tuple[Mapping[frozenset[str], int], ...]:
    """Return, for each number of ships, the number of placements by the cells they leave free.

    Only sets of free cells on which the later ships fit are included.
    """
    places = {length: list(rules.places(length).values()) for length in rules.lengths}
    openings = [Counter({frozenset(rules.cells()): 1})]
    tried = 0
    for length in rules.lengths:
        following: Counter[frozenset[str]] = Counter()
        for free, ways in openings[-1].items():
            tried += len(places[length]) * rules.area
            if tried > _TRIED:
                raise MemoryError(
                    f"there are too many ways to place {len(rules.lengths)} ships on "
                    f"{rules.height} x {rules.width} cells to count the histories of the game; "
                    "choose a smaller game"
                )
            for ship in places[length]:
                if free.issuperset(ship):
                    following[free.difference(ship)] += ways
        openings.append(following)
    for (opening, following), length in reversed(
        list(zip(pairwise(openings), rules.lengths, strict=True))
    ):
        for free in list(opening):
            rest = (free.difference(ship) for ship in places[length] if free.issuperset(ship))
            if following.keys().isdisjoint(rest):
                del opening[free]
    return tuple(openings)


def _widths(root: "BattleshipHistory") -> Iterator[int]:
    """Yield the numbers of histories by length."""
    ways = [sum(opening.values()) for opening in _openings(root.rules)]
    for fewer, wider in pairwise(ways):
        yield from (fewer * fewer, wider * fewer)
    placed = root
    while not placed._placed:
        placed = placed.child(placed.actions()[0])
    for width in level_widths(placed, 2 * root.rules.shots):
        yield ways[-1] ** 2 * width


@frozen
class BattleshipHistory:
    rules: Rules
    ships: tuple[Ship, ...] = ()
    """The ships placed so far, alternating between player 0 and player 1."""
    shots: tuple[tuple[str, str], ...] = ()
    """The cells shot at, alternating between player 0 and player 1, with the outcomes."""

    def shape(self) -> Hashable:
        """Return a key of the continuations after all ships are placed."""
        afloat = [set().union(*self.ships[i::2]) - self._fired(1 - i) for i in (0, 1)]
        fired = 0 if self.rules.repeated_shots else len(self.shots)
        return self.player(), fired, *map(len, afloat)

    def is_terminal(self) -> bool:
        fleet = len(self.rules.lengths)
        return len(self.shots) == 2 * self.rules.shots or any(
            len(self._lost(player)) == fleet for player in (0, 1)
        )

    def player(self) -> int:
        return (len(self.ships) + len(self.shots)) % 2

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        return ()

    def actions(self) -> Sequence[str]:
        """Return the placements of the next ship, or the cells to shoot at."""
        player, rules = self.player(), self.rules
        if not self._placed:
            placed = self.ships[player::2]
            free, openings = frozenset(rules.cells()).difference(*placed), _openings(rules)
            return [
                name
                for name, ship in rules.places(rules.lengths[len(placed)]).items()
                if free.issuperset(ship) and free.difference(ship) in openings[len(placed) + 1]
            ]
        fired = set() if rules.repeated_shots else self._fired(player)
        return [cell for cell in rules.cells() if cell not in fired]

    def child(self, action: str) -> "BattleshipHistory":
        if not self._placed:
            ship = self.rules.places(self.rules.lengths[len(self.ships) // 2])[action]
            return evolve(self, ships=(*self.ships, ship))
        return evolve(self, shots=(*self.shots, (action, self._outcome(action))))

    def information_set(self) -> str:
        player = self.player()
        ships = [_name(ship) for ship in self.ships[player::2]]
        shots = [
            f"{cell} {outcome}" if turn % 2 == player else cell
            for turn, (cell, outcome) in enumerate(self.shots)
        ]
        label = f"{player}:{','.join(ships)}"
        return f"{label}/{','.join(shots)}" if shots else label

    def payoffs(self) -> Sequence[float]:
        """Return the value of the ships a player sank, minus the penalty for its own losses."""
        first, second = (
            sum(self.rules.values[ship] for ship in self._lost(player)) for player in (0, 1)
        )
        multiplier = self.rules.loss_multiplier
        return [second - multiplier * first, first - multiplier * second]

    @property
    def _placed(self) -> bool:
        return len(self.ships) == 2 * len(self.rules.lengths)

    def _fired(self, player: int) -> set[str]:
        return {cell for cell, _ in self.shots[player::2]}

    def _lost(self, player: int) -> list[int]:
        """Return the numbers of a player's ships that are sunk."""
        hit = self._fired(1 - player)
        return [number for number, ship in enumerate(self.ships[player::2]) if hit.issuperset(ship)]

    def _outcome(self, cell: str) -> str:
        """Return the outcome of a shot by the acting player."""
        player = self.player()
        hit = self._fired(player) | {cell}
        for ship in self.ships[1 - player :: 2]:
            if cell in ship:
                return "sunk" if hit.issuperset(ship) else "hit"
        return "miss"


_LINES = (*("012", "345", "678"), *("036", "147", "258"), *("048", "246"))
_CELLS = "012345678"


@rules_of("phantom_tic_tac_toe")
def phantom_tic_tac_toe_history(*, abrupt: bool = False) -> "PhantomTicTacToe":
    """Return the empty history of tic-tac-toe in which no player sees the marks of the other.

    The cells are numbered from 0 to 8, row by row. A player that names a cell with a mark of the
    other learns so, and names another one; or loses its turn, if the game is ``abrupt``. Three
    marks in a row win 1 from the other player; a full board is a draw.

    An information set is named by the player and the cells that it named, where ``?`` follows one
    that had a mark: at ``1:4?0`` player 1 named cell 4 in vain, then marked cell 0. The tree has
    some 10 billion histories, so that the game is played without it, by ``LazyMCCFR``.

    Parameters
    ----------
    abrupt
        Whether naming a cell with a mark ends the turn.

    Examples
    --------
    >>> history = phantom_tic_tac_toe_history()
    >>> for cell in ("4", "4", "0", "8"):
    ...     history = history.child(cell)
    >>> history.player(), history.information_set()
    (1, '1:4?0')

    References
    ----------
    Auger (2011), "Multiple tree for partially observable Monte-Carlo tree search", EvoApplications.
    Rules as in OpenSpiel's ``phantom_ttt``, whose players do not learn how often the other tried.
    """
    if not isinstance(abrupt, bool):
        raise TypeError(must_be("abrupt", "True or False", abrupt))
    return PhantomTicTacToe(abrupt)


@frozen
class PhantomTicTacToe:
    abrupt: bool
    marks: tuple[str, ...] = ("", "")
    """The cells that each player marked, in order."""
    named: tuple[str, ...] = ("", "")
    """Those that each player named, with ``?`` after each that had a mark."""
    mover: int = 0

    def is_terminal(self) -> bool:
        return self._wins(0) or self._wins(1) or len("".join(self.marks)) == len(_CELLS)

    def player(self) -> int:
        return self.mover

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        return ()

    def actions(self) -> Sequence[str]:
        return [cell for cell in _CELLS if cell not in self.named[self.mover]]

    def child(self, action: str) -> "PhantomTicTacToe":
        player = self.mover
        taken = action in self.marks[1 - player]
        marks, named = list(self.marks), list(self.named)
        marks[player] += "" if taken else action
        named[player] += f"{action}?" if taken else action
        mover = player if taken and not self.abrupt else 1 - player
        return evolve(self, marks=tuple(marks), named=tuple(named), mover=mover)

    def information_set(self) -> str:
        return f"{self.mover}:{self.named[self.mover]}"

    def payoffs(self) -> Sequence[float]:
        result = float(self._wins(0)) - float(self._wins(1))
        return result, -result

    def _wins(self, player: int) -> bool:
        return any(set(line) <= set(self.marks[player]) for line in _LINES)
