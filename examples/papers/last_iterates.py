"""Last iterates of RM+ and of its smooth and extragradient forms: Farina et al. (2023).

The game of three by three and its last iterates are from Cai et al. (2025).
"""

from functools import partial

from rebuild import Found, Paper

from regretkit import PredictiveRegretMatchingPlus, RegretMatchingPlus
from regretkit.minimizers.contrib import (
    ExtragradientRegretMatchingPlus,
    SmoothPredictiveRegretMatchingPlus,
)
from regretkit.play import Algorithm, Alternating, Extragradient, Simultaneous

RATE = 0.1
TURNING = ("RM+", "RM+, alternating", "PRM+")
CONVERGING = ("Smooth PRM+", "ExRM+")
CYCLE = "Three by three"


def turns(found: Found) -> tuple[bool, str]:
    """Measure last iterates that do not converge, in the game of three by three."""
    gaps = {name: found.last(CYCLE, name, "last_nash_conv") for name in TURNING}
    told = ", ".join(f"{name} {gap:.2g}" for name, gap in gaps.items())
    return min(gaps.values()) > 0.01, f"last gaps: {told}"


def converges(found: Found) -> tuple[bool, str]:
    """Measure the last iterates of the other rules, in all games."""
    gaps = {
        f"{name} on {game}": found.last(game, name, "last_nash_conv")
        for game in found.games()
        for name in CONVERGING
    }
    told = ", ".join(f"{name} {gap:.2g}" for name, gap in gaps.items())
    return max(gaps.values()) < 1e-3, f"last gaps: {told}"


def rates(found: Found) -> tuple[bool, str]:
    """Compare the powers of iterations with which the gaps of averages fall."""
    powers = {name: found.slope(CYCLE, name) for name in ("RM+", "PRM+", *CONVERGING)}
    told = ", ".join(f"{name} {power:.2f}" for name, power in powers.items())
    fast = max(powers[name] for name in CONVERGING) <= -0.9
    return fast and powers["RM+"] > -0.7, f"powers of T: {told}"


PAPER = Paper(
    name="last_iterates",
    source='Farina, Grand-Clement, Kroer, Lee and Luo (2023), "Regret matching+: (in)stability and '
    'fast convergence in games", NeurIPS, arXiv:2305.14709',
    games={
        CYCLE: "regret_matching_cycle",
        "Random, 10 by 15": "random_matrix_game(10, 15, seed=0)",
        "Random, 30 by 30": "random_matrix_game(30, seed=0)",
    },
    algorithms={
        "RM+": Algorithm(RegretMatchingPlus, order=Simultaneous()),
        "RM+, alternating": Algorithm(RegretMatchingPlus, order=Alternating()),
        "PRM+": Algorithm(PredictiveRegretMatchingPlus, order=Simultaneous()),
        "PRM+, alternating": Algorithm(PredictiveRegretMatchingPlus, order=Alternating()),
        "Smooth PRM+": Algorithm(
            partial(SmoothPredictiveRegretMatchingPlus, rate=RATE), order=Simultaneous()
        ),
        "ExRM+": Algorithm(
            partial(ExtragradientRegretMatchingPlus, rate=RATE), order=Extragradient()
        ),
    },
    iterations=20_000,
    measures=("nash_conv", "last_nash_conv"),
    drawn=("iteration", "last_nash_conv"),
    says={
        "Last iterates of RM+, alternating or not, and of PRM+ circle (Cai et al.).": turns,
        "Those of smooth PRM+ and ExRM+ converge (Cai et al.).": converges,
        "Averages of smooth PRM+ and ExRM+ converge like 1/T, those of RM+ more slowly.": rates,
    },
    small=([CYCLE], 300),
)

if __name__ == "__main__":
    PAPER.main()
