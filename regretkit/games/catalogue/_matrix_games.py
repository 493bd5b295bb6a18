"""Textbook games in normal form."""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from regretkit._util._typing import Indices
from regretkit._util._validate import floats, must_be, number, whole_number
from regretkit.games._memory_budget import check_payoffs
from regretkit.games._normal_form import NormalFormGame, matrix_game
from regretkit.games._registry import call_text, register

_HANDS = ["rock", "paper", "scissors"]
_COUNTED = 100
"""Largest exponent or binomial argument to compute; beyond it, outcomes exceed any memory."""


@register
def rock_paper_scissors() -> NormalFormGame:
    """Return rock-paper-scissors: rock beats scissors, scissors beat paper, paper beats rock.

    The game is zero-sum with value 0. In equilibrium, each action has probability 1/3.

    Examples
    --------
    >>> rock_paper_scissors().payoffs[0]
    array([[ 0., -1.,  1.],
           [ 1.,  0., -1.],
           [-1.,  1.,  0.]])
    """
    payoffs = [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]
    return matrix_game(payoffs, actions=[_HANDS, _HANDS], name="rock_paper_scissors")


@register
def biased_rock_paper_scissors() -> NormalFormGame:
    """Return rock-paper-scissors with unequal stakes.

    The game is zero-sum with value 0. In the only equilibrium, both play (1, 10, 5) / 16.

    Examples
    --------
    >>> biased_rock_paper_scissors().payoffs[0]
    array([[  0., -25.,  50.],
           [ 25.,   0.,  -5.],
           [-50.,   5.,   0.]])

    References
    ----------
    OpenSpiel's ``matrix_brps``.
    """
    payoffs = [[0, -25, 50], [25, 0, -5], [-50, 5, 0]]
    return matrix_game(payoffs, actions=[_HANDS, _HANDS], name="biased_rock_paper_scissors")


@register
def regret_matching_cycle() -> NormalFormGame:
    """Return a game with three actions each in which the last iterates of RM+ cycle.

    The game is zero-sum with value 1/4. The only equilibrium is (1, 1, 10) / 12 against
    (4, 5, 3) / 12.

    Examples
    --------
    >>> regret_matching_cycle().payoffs[0]
    array([[ 3.,  0., -3.],
           [ 0.,  3., -4.],
           [ 0.,  0.,  1.]])

    References
    ----------
    Cai, Farina, Grand-Clement, Kroer, Lee, Luo and Zheng (2025), "Last-iterate convergence
    properties of regret-matching algorithms in games", ICLR, arXiv:2311.00676.
    """
    payoffs = [[3, 0, -3], [0, 3, -4], [0, 0, 1]]
    return matrix_game(payoffs, name="regret_matching_cycle")


@register
def random_matrix_game(
    rows: int = 10, columns: int | None = None, seed: int = 0, distribution: str = "uniform"
) -> NormalFormGame:
    """Return a zero-sum game with independent random payoffs.

    They are the first draws of NumPy's ``default_rng(seed)``, so other programs can reproduce them.

    Parameters
    ----------
    rows, columns
        Numbers of actions, at least 1. By default there are as many columns as rows.
    seed
        The seed, at least 0.
    distribution
        ``"uniform"`` on [-1, 1), or ``"normal"`` with mean 0 and variance 1.

    Examples
    --------
    >>> random_matrix_game(2, seed=1).payoffs[0].round(2)
    array([[ 0.02,  0.9 ],
           [-0.71,  0.9 ]])
    """
    shape = (
        whole_number(rows, "rows", minimum=1),
        whole_number(rows if columns is None else columns, "columns", minimum=1),
    )
    whole_number(seed, "seed", minimum=0)
    check_payoffs(shape[0] * shape[1])
    generator = np.random.default_rng(seed)
    if distribution not in ("uniform", "normal"):
        raise ValueError(must_be("distribution", "'uniform' or 'normal'", distribution))
    uniform = distribution == "uniform"
    payoffs = generator.uniform(-1.0, 1.0, shape) if uniform else generator.normal(size=shape)
    given = {"rows": rows, "columns": columns, "seed": seed, "distribution": distribution}
    return matrix_game(payoffs, name=call_text(random_matrix_game, **given))


@register
def matching_pennies() -> NormalFormGame:
    """Return matching pennies: player 0 wins if both show the same side, else player 1.

    The game is zero-sum with value 0. In equilibrium, both sides are equally likely.

    Examples
    --------
    >>> matching_pennies().payoffs[0]
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    sides = ["heads", "tails"]
    return matrix_game([[1, -1], [-1, 1]], actions=[sides, sides], name="matching_pennies")


@register
def prisoners_dilemma() -> NormalFormGame:
    """Return the prisoner's dilemma, in which ``defect`` strictly dominates ``cooperate``.

    In the only correlated equilibrium, both defect.

    Examples
    --------
    >>> prisoners_dilemma().payoffs[0]
    array([[ 5.,  0.],
           [10.,  1.]])

    References
    ----------
    Payoffs as in OpenSpiel's ``matrix_pd``.
    """
    actions = ["cooperate", "defect"]
    payoffs = [[[5, 0], [10, 1]], [[5, 10], [0, 1]]]
    return NormalFormGame(payoffs, actions=[actions, actions], name="prisoners_dilemma")


@register
def battle_of_the_sexes() -> NormalFormGame:
    """Return the battle of the sexes: players want to meet, but prefer different concerts.

    There are two pure equilibria. In the mixed equilibrium, each player chooses its favourite
    concert with probability 3/5.

    Examples
    --------
    >>> battle_of_the_sexes().payoffs
    array([[[3., 0.],
            [0., 2.]],
    <BLANKLINE>
           [[2., 0.],
            [0., 3.]]])

    References
    ----------
    Payoffs as in OpenSpiel's ``matrix_bos``.
    """
    actions = ["Bach", "Stravinsky"]
    payoffs = [[[3, 0], [0, 2]], [[2, 0], [0, 3]]]
    return NormalFormGame(payoffs, actions=[actions, actions], name="battle_of_the_sexes")


@register
def chicken() -> NormalFormGame:
    """Return chicken: ``dare`` is best if the other player yields, and worst if both dare.

    Some correlated equilibria pay more than the symmetric Nash equilibrium. One recommends (yield,
    yield) with probability 1/2, and each of (dare, yield) and (yield, dare) with probability 1/4.
    It pays each player 5.25.

    Examples
    --------
    >>> chicken().payoffs[0]
    array([[0., 7.],
           [2., 6.]])

    References
    ----------
    Aumann (1974), "Subjectivity and correlation in randomized strategies", Journal of
    Mathematical Economics 1(1).
    """
    actions = ["dare", "yield"]
    payoffs = [[[0, 7], [2, 6]], [[0, 2], [7, 6]]]
    return NormalFormGame(payoffs, actions=[actions, actions], name="chicken")


@register
def traffic_light(crash: float = -100.0) -> NormalFormGame:
    """Return two cars at a crossing: ``go`` pays 1 if the other stops, else ``crash``.

    For negative ``crash``, each player goes with probability ``1 / (1 - crash)`` in the mixed
    equilibrium. A traffic light, which recommends ``go`` to one player at random, is a correlated
    equilibrium and pays each player 1/2.

    Parameters
    ----------
    crash
        Payoff of each player if both go, a finite number.

    Examples
    --------
    >>> traffic_light().payoffs[0]
    array([[-100.,    1.],
           [   0.,    0.]])

    References
    ----------
    Nisan, Roughgarden, Tardos and Vazirani (2007), "Algorithmic game theory", section 1.3.
    """
    crash = number(crash, "crash")
    actions = ["go", "stop"]
    payoffs = [[[crash, 1.0], [0.0, 0.0]], [[crash, 0.0], [1.0, 0.0]]]
    name = call_text(traffic_light, crash=crash)
    return NormalFormGame(payoffs, actions=[actions, actions], name=name)


@register
def shapley_game() -> NormalFormGame:
    """Return Shapley's game, in which fictitious play cycles.

    Player 0 earns 1 if both choose the same action. Player 1 earns 1 if its action is the next one
    after player 0's, cyclically. All other payoffs are 0. The only Nash equilibrium is uniform and
    pays each player 1/3. Some correlated equilibria pay each 1/2.

    Examples
    --------
    >>> shapley_game().payoffs[1]
    array([[0., 1., 0.],
           [0., 0., 1.],
           [1., 0., 0.]])

    References
    ----------
    Shapley (1964), "Some topics in two-person games", Advances in Game Theory, Annals of
    Mathematics Studies 52.
    """
    actions = ["first", "second", "third"]
    payoffs = [[[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]]
    return NormalFormGame(payoffs, actions=[actions, actions], name="shapley_game")


@register
def blotto(soldiers: int = 5, fields: int = 3) -> NormalFormGame:
    """Return Colonel Blotto, in which two players simultaneously place soldiers on fields.

    Each player places all its soldiers. The player with more soldiers on a field wins it; ties win
    nothing. The player that wins more fields earns 1 and the other -1. If both win equally many,
    both earn 0. The name of an action lists the soldiers on each field, as ``3-1-1``. Each player
    has ``comb(soldiers + fields - 1, fields - 1)`` actions.

    Parameters
    ----------
    soldiers
        Number of soldiers of each player, at least 1.
    fields
        Number of fields, at least 1.

    Examples
    --------
    >>> game = blotto()
    >>> game.payoffs.shape
    (2, 21, 21)
    >>> game.actions[0][0], game.actions[0][1], game.actions[0][20]
    ('5-0-0', '4-1-0', '0-0-5')

    References
    ----------
    Borel (1921), "La théorie du jeu et les équations intégrales à noyau symétrique", Comptes
    rendus de l'Académie des sciences 173. Rules as in OpenSpiel's ``blotto``.
    """
    soldiers = whole_number(soldiers, "soldiers", minimum=1)
    fields = whole_number(fields, "fields", minimum=1)
    # comb(n, k) = comb(n, n - k). With k = _COUNTED it already exceeds any memory.
    chosen = min(soldiers, fields - 1, _COUNTED)
    check_payoffs(math.comb(soldiers + fields - 1, chosen) ** 2)
    placed = _placements(soldiers, fields)
    names = ["-".join(map(str, placement)) for placement in placed.tolist()]
    # Loop over fields: only a few matrices are in memory at a time.
    won = np.zeros((len(names), len(names)))
    for field in placed.T:
        won += np.sign(field[:, np.newaxis] - field)
    name = call_text(blotto, soldiers=soldiers, fields=fields)
    return matrix_game(np.sign(won), actions=[names, names], name=name)


@register
def el_farol(players: int = 5, capacity: int = 3) -> NormalFormGame:
    """Return the El Farol bar problem: going out pays if the bar is not crowded.

    Each player chooses ``go`` or ``stay``. ``go`` pays 1 if at most ``capacity`` players go, else
    -1; ``stay`` pays 0. If ``capacity`` is less than ``players``, a pure profile is an equilibrium
    if and only if exactly ``capacity`` players go.

    Parameters
    ----------
    players
        Number of players, at least 1.
    capacity
        Largest number of players for which the bar is not crowded, at least 0.

    Examples
    --------
    >>> el_farol(players=3, capacity=2).payoffs[0, 0]
    array([[-1.,  1.],
           [ 1.,  1.]])

    References
    ----------
    Arthur (1994), "Inductive reasoning and bounded rationality", American Economic Review 84(2).
    """
    capacity = whole_number(capacity, "capacity", minimum=0)
    played = _profiles(players, 2)
    going = played == 0
    crowded = np.count_nonzero(going, axis=0) > capacity
    payoffs = going * np.where(crowded, -1.0, 1.0)
    name = call_text(el_farol, players=len(payoffs), capacity=capacity)
    return NormalFormGame(payoffs, actions=[["go", "stay"]] * len(payoffs), name=name)


@register
def congestion_game(
    players: int = 3, roads: Sequence[tuple[float, float]] = ((0.0, 1.0), (2.0, 0.0))
) -> NormalFormGame:
    """Return a congestion game, in which each player chooses one of several roads.

    A road ``(a, b)`` with k players costs each of them ``a + b k``. The game has the potential

        sum over roads of  a k + b k (k + 1) / 2

    which changes by the same amount as the cost of a player that changes its road. So pure
    equilibria exist.

    Parameters
    ----------
    players
        Number of players, at least 1.
    roads
        For each road the fixed delay a, and the delay b for each player on it. The default is
        Pigou's example.

    Examples
    --------
    >>> congestion_game(players=2).payoffs[0]
    array([[-2., -1.],
           [-2., -2.]])

    References
    ----------
    Rosenthal (1973), "A class of games possessing pure-strategy Nash equilibria", International
    Journal of Game Theory 2.
    """
    delays = floats(roads, "roads")
    if delays.ndim != 2 or delays.shape[1] != 2 or not delays.size:
        raise ValueError(must_be("roads", "pairs such as ((0, 1), (2, 0))", roads))
    played = _profiles(players, len(delays))
    fixed, slope = delays.T.reshape(2, -1, *[1] * len(played))
    taken = np.stack([np.count_nonzero(played == road, axis=0) for road in range(len(delays))])
    costs = fixed + slope * taken
    payoffs = -np.take_along_axis(costs, played, axis=0)
    name = call_text(
        congestion_game, players=len(payoffs), roads=tuple(map(tuple, delays.tolist()))
    )
    return NormalFormGame(payoffs, name=name)


@register
def sealed_bid_auction(
    values: Sequence[float] = (3.0, 2.0), price: str = "first", bids: int | None = None
) -> NormalFormGame:
    """Return a sealed-bid auction of one item with common knowledge of all values.

    Bids are whole numbers from 0. The highest bidder wins the item; ties are broken uniformly at
    random. The winner pays its bid (``"first"``) or the highest other bid (``"second"``). With
    ``"second"``, bidding one's value is weakly dominant.

    Parameters
    ----------
    values
        Value of the item for each bidder, at least two numbers.
    price
        ``"first"`` or ``"second"``.
    bids
        Number of possible bids, at least 1. By default, bids go up to the highest value.

    Examples
    --------
    >>> sealed_bid_auction(values=(2, 1), price="second").payoffs[0]
    array([[1. , 0. , 0. ],
           [2. , 0.5, 0. ],
           [2. , 1. , 0. ]])

    References
    ----------
    Vickrey (1961), "Counterspeculation, auctions, and competitive sealed tenders", Journal of
    Finance 16(1).
    """
    amounts = floats(values, "values")
    if amounts.ndim != 1 or amounts.size < 2:
        raise ValueError(must_be("values", "numbers, one for each of several bidders", values))
    if price not in ("first", "second"):
        raise ValueError(must_be("price", "'first' or 'second'", price))
    default = max(math.floor(amounts.max()), 0) + 1
    count = default if bids is None else whole_number(bids, "bids", minimum=1)
    bid = _profiles(amounts.size, count)
    ranked = np.sort(bid, axis=0)
    wins = bid == ranked[-1]
    paid = ranked[-1] if price == "first" else ranked[-2]
    surplus = amounts.reshape(-1, *[1] * amounts.size) - paid
    payoffs = wins * surplus / np.count_nonzero(wins, axis=0)
    name = call_text(
        sealed_bid_auction,
        values=tuple(amounts.tolist()),
        price=price,
        bids=None if count == default else count,
    )
    actions = [list(map(str, range(count)))] * amounts.size
    return NormalFormGame(payoffs, actions=actions, name=name)


def _profiles(players: int, actions: int) -> Indices:
    """Return each player's action in all pure profiles, ``(players, actions, actions, ...)``."""
    players = whole_number(players, "players", minimum=1)
    check_payoffs(players * actions ** min(players, _COUNTED))
    return np.indices((actions,) * players)


def _placements(soldiers: int, fields: int) -> Indices:
    """Return all placements in descending order, ``(placements, fields)``, by stars and bars."""
    places = soldiers + fields - 1
    bars = np.array(list(combinations(range(places), fields - 1)), dtype=np.int64)[::-1]
    return np.diff(bars, prepend=-1, append=places) - 1
