"""DCFR and linear CFR against CFR+: Brown and Sandholm (2019).

The paper uses Goofspiel and subgames of Libratus' hands. The rivers here have other cards, and the
script adds poker and dice of other papers.
"""

from bisect import bisect_left

from rebuild import Found, Paper, times

from regretkit import matrix_game, solve


def best_of_all(found: Found) -> tuple[bool, str]:
    """Compare the last gaps of CFR+ and DCFR."""
    ratios = {game: found.last(game, "CFR+") / found.last(game, "DCFR") for game in found.games()}
    return min(ratios.values()) >= 1.0, f"gap of CFR+ over that of DCFR: {times(ratios)}"


def rates(found: Found) -> tuple[bool, str]:
    """Fit the power of iterations with which the gap of CFR+ falls."""
    powers = {game: found.slope(game, "CFR+") for game in found.games()}
    fast = sum(power < -1.0 for power in powers.values())
    return 2 * fast > len(powers), f"powers of T: {times(powers)}"


def mistakes(_: Found) -> tuple[bool, str]:
    """Find the iteration that first plays the second of three actions with certainty."""
    game = matrix_game([[0.0], [1.0], [-1e6]])

    def certain(name: str, iteration: int) -> bool:
        return bool(solve(game, name, iterations=iteration - 1).current[0][1] == 1.0)

    exactly = certain("cfr", 471_407) and not certain("cfr", 471_406)
    linear = bisect_left(range(2_000), x=True, lo=2, key=lambda t: certain("lcfr", t))
    told = "471,407" if exactly else "another number of"
    return exactly and abs(linear - 970) <= 2, f"CFR takes {told} iterations, LCFR {linear}"


PAPER = Paper(
    name="discounting",
    source='Brown and Sandholm (2019), "Solving imperfect-information games via discounted regret '
    'minimization", AAAI, arXiv:1809.04040',
    games={
        "River, 20 cards": "hold_em('2c 3d 3h 5c 6c', ('*', '*'), 40, 180, deck='2-6')",
        "River, 52 cards": "hold_em('Ks Th 7s 4d 2s', ('*', '*'), 1000, 9500)",
        "Goofspiel, 4 cards": "goofspiel(cards=4, order='random')",
        "Goofspiel, 5 cards, in order": "goofspiel(cards=5)",
        "Leduc poker": "leduc_poker",
        "Liar's dice": "liars_dice",
    },
    algorithms={"CFR": "cfr", "CFR+": "cfr+", "LCFR": "lcfr", "DCFR": "dcfr"},
    iterations=1_000,
    says={
        "DCFR (1.5, 0, 2) outperforms CFR+ in every game tested.": best_of_all,
        "CFR+ converges faster than 1/T in many games.": rates,
        "Payoffs 0, 1 and -1,000,000: CFR takes 471,407 iterations, linear CFR 970.": mistakes,
    },
    small=(["Goofspiel, 4 cards", "River, 20 cards"], 100),
)

if __name__ == "__main__":
    PAPER.main()
