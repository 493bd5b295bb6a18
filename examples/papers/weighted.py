"""DCFR+ and PDCFR+ against CFR+, DCFR and PCFR+: Xu et al. (2024).

The paper also uses subgames of no-limit hold'em, and up to 20,000 iterations.
"""

from rebuild import Found, Paper, times

POKER = ("Kuhn", "Leduc", "River")
BEFORE = ("CFR+", "DCFR", "PCFR+")


def ahead_elsewhere(found: Found) -> tuple[bool, str]:
    """Compare PDCFR+ with the best of the earlier ones, outside poker."""
    ratios = {
        game: min(found.last(game, name) for name in BEFORE) / found.last(game, "PDCFR+")
        for game in found.games()
        if not game.startswith(POKER)
    }
    return min(ratios.values(), default=1.0) >= 1.0, f"best earlier gap over its: {times(ratios)}"


def dominated(found: Found) -> tuple[bool, str]:
    """Compare PDCFR+ with PCFR+."""
    ratios = {g: found.last(g, "PCFR+") / found.last(g, "PDCFR+") for g in found.games()}
    return min(ratios.values()) >= 1.0, f"gap of PCFR+ over its: {times(ratios)}"


def everywhere(found: Found) -> tuple[bool, str]:
    """Compare PDCFR+ with the best of the earlier ones, in poker, and DCFR+ with CFR+."""
    ratios, plus = {}, {}
    for game in found.games():
        if game.startswith(POKER):
            earlier = min(found.last(game, name) for name in BEFORE)
            ratios[game] = earlier / found.last(game, "PDCFR+")
        plus[game] = found.last(game, "CFR+") / found.last(game, "DCFR+")
    told = f"best earlier gap over its: {times(ratios)}; gap of CFR+ over DCFR+'s: {times(plus)}"
    return min(ratios.values(), default=1.0) >= 1.0, told


PAPER = Paper(
    name="weighted",
    source='Xu, Li, Liu, Fu, Fu, Xing and Cheng (2024), "Minimizing weighted counterfactual regret '
    'with optimistic online mirror descent", IJCAI, arXiv:2404.13891',
    games={
        "Kuhn poker": "kuhn_poker",
        "Leduc poker": "leduc_poker",
        "River, 20 cards": "hold_em('2c 3d 3h 5c 6c', ('*', '*'), 40, 180, deck='2-6')",
        "Goofspiel, 4 cards": "goofspiel(cards=4)",
        "Goofspiel, 4 cards, hidden": "goofspiel(cards=4, information='hidden')",
        "Liar's dice, 4 sides": "liars_dice(sides=4)",
        "Battleship": "battleship(2, 3, lengths=[2])",
        "Small matrix": "regret_matching_cycle",
    },
    algorithms={
        "CFR+": "cfr+",
        "DCFR": "dcfr",
        "PCFR+": "pcfr+",
        "DCFR+": "dcfr+",
        "PDCFR+": "pdcfr+",
    },
    iterations=2_000,
    says={
        "PDCFR+ is faster than earlier variants of CFR outside poker.": ahead_elsewhere,
        "Its weights mitigate dominated actions: it is ahead of PCFR+.": dominated,
        "It is ahead in poker too.": everywhere,
    },
    small=(["Kuhn poker", "Goofspiel, 4 cards"], 100),
)

if __name__ == "__main__":
    PAPER.main()
