"""CFR+ against CFR, on one-card poker and rivers: Tammelin (2014).

The paper's subgames of no-limit hold'em are not published, so the rivers here differ.
"""

from statistics import median

from rebuild import Found, Paper, times


def faster(found: Found) -> tuple[bool, str]:
    """Compare the iterations to the last gap of CFR."""
    ratios = {}
    for game in found.games():
        gap = found.last(game, "CFR")
        ratios[game] = found.needed(game, "CFR", gap) / found.needed(game, "CFR+", gap)
    return median(ratios.values()) >= 10.0, f"times fewer iterations: {times(ratios)}"


def current_strategy(found: Found) -> tuple[bool, str]:
    """Compare the last iterate of CFR+ with the average of CFR."""
    ratios = {
        game: found.last(game, "CFR") / found.last(game, "CFR+", "last_nash_conv")
        for game in found.games()
    }
    return min(ratios.values()) >= 1.0, f"gap of CFR's average over it: {times(ratios)}"


def current_of_cfr(found: Found) -> tuple[bool, str]:
    """Compare the last iterate of CFR with its average."""
    ratios = {
        game: found.last(game, "CFR", "last_nash_conv") / found.last(game, "CFR")
        for game in found.games()
    }
    return min(
        ratios.values()
    ) >= 10.0, f"gap of the last over that of the average: {times(ratios)}"


PAPER = Paper(
    name="cfr_plus",
    source='Tammelin (2014), "Solving large imperfect information games using CFR+", '
    "arXiv:1407.5042",
    games={
        "One-card poker, 13 cards": "kuhn_poker(deck=13)",
        "River, 20 cards": "hold_em('2c 3d 3h 5c 6c', ('*', '*'), 40, 180, deck='2-6')",
        "River, 52 cards": "hold_em('Ks Th 7s 4d 2s', ('*', '*'), 1000, 9500)",
        "Leduc poker": "leduc_poker",
    },
    algorithms={"CFR": "cfr", "CFR+": "cfr+"},
    iterations=2_000,
    measures=("nash_conv", "last_nash_conv"),
    says={
        "CFR+ typically outperforms CFR by an order of magnitude or more.": faster,
        "The current strategy of CFR+ is as good as the average of CFR.": current_strategy,
        "That of CFR is not.": current_of_cfr,
    },
    small=(["One-card poker, 13 cards"], 200),
)

if __name__ == "__main__":
    PAPER.main()
