"""PCFR+ against CFR+, DCFR and linear CFR, on the suite of papers: Farina et al. (2021).

The paper uses 18 games. The script uses those of the suite with less than 400,000 histories.
"""

from rebuild import Found, Paper

from regretkit.display._style import title_of
from regretkit.workbench import suite

POKER = ("Kuhn", "Leduc", "Hold'em")
MOST = 400_000
OTHERS = ("CFR+", "DCFR", "LCFR")


def ratios(found: Found, *, poker: bool) -> dict[str, float]:
    """Return the best gap of the others over that of PCFR+, by game."""
    return {
        game: min(found.last(game, name) for name in OTHERS) / max(found.last(game, "PCFR+"), 1e-16)
        for game in found.games()
        if game.startswith(POKER) == poker
    }


def ahead_elsewhere(found: Found) -> tuple[bool, str]:
    """Count the games other than poker in which PCFR+ has the smallest gap."""
    won = ratios(found, poker=False)
    lost = [f"{game} ({ratio:.2g})" for game, ratio in won.items() if ratio < 1.0]
    told = f"in {len(won) - len(lost)} of {len(won)}"
    return not lost, f"{told}; not in {', '.join(lost)}" if lost else told


def behind_in_poker(found: Found) -> tuple[bool, str]:
    """Name the games of poker in which another one has a smaller gap."""
    won = ratios(found, poker=True)
    lost = [f"{game} ({ratio:.2g})" for game, ratio in won.items() if ratio < 1.0]
    return 0 < len(lost) <= len(won), f"in {len(lost)} of {len(won)}: {', '.join(lost)}"


def orders(found: Found) -> tuple[bool, str]:
    """Name the games in which the gap of PCFR+ is a hundredth of the others'."""
    far = [game for game, ratio in ratios(found, poker=False).items() if ratio >= 100.0]
    return bool(far), f"in {', '.join(far)}" if far else "in none"


PAPER = Paper(
    name="predictive",
    source='Farina, Kroer and Sandholm (2021), "Faster game solving via predictive Blackwell '
    'approachability", AAAI, arXiv:2007.14358',
    games={
        title_of(each.game): each.game
        for each in suite("papers")
        if (each.histories or 0) < MOST and "'2c" not in each.game
    },
    algorithms={"CFR+": "cfr+", "LCFR": "lcfr", "DCFR": "dcfr", "PCFR+": "pcfr+"},
    iterations=1_000,
    says={
        "Outside poker, PCFR+ is faster than CFR+, DCFR and linear CFR.": ahead_elsewhere,
        "In poker it is not always so: DCFR is ahead.": behind_in_poker,
        "It is ahead by two or more orders of magnitude at times.": orders,
    },
    small=(["Kuhn poker", "Goofspiel (cards=4)"], 100),
)

if __name__ == "__main__":
    PAPER.main()
