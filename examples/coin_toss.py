"""Solve the subgame of Coin Toss by each gadget, and print what P1 can earn afterwards.

P1 sees a coin. It sells the coin for 1/2 if it shows heads and -1/2 if tails, or plays: then P2
guesses the side, and P1 wins 1 if the guess is wrong and loses 1 if it is right. The game is from
Brown and Sandholm (2017), "Safe and nested subgame solving for imperfect-information games".

With a path, the script also draws the figure of the documentation (needs matplotlib).

    $ python examples/coin_toss.py
    $ python examples/coin_toss.py docs/images/coin_toss.svg
"""

import sys
from pathlib import Path

import numpy as np

from regretkit import solve
from regretkit.evaluation import best_response
from regretkit.games import ExtensiveFormGame, Profile, Subgame, load

GADGETS = ("unsafe", "resolve", "max-margin", "reach")
Points = dict[str, tuple[float, float]]


def guessing(game: ExtensiveFormGame, heads: float, play: float = 0.5) -> Profile:
    """Return the profile in which P2 guesses heads, and P1 plays with heads, so often."""
    return Profile.uniform(game).replace({"guess": [heads, 1 - heads], "heads": [1 - play, play]})


def earned(game: ExtensiveFormGame, profile: Profile) -> float:
    """Return what P1's best response to P2 earns."""
    return best_response(game, 0, profile)[0]


def solved(game: ExtensiveFormGame, blueprint: Profile) -> Points:
    """Return how often P2 guesses heads after each gadget, and what P1 can earn then."""
    found: Points = {"blueprint": (float(blueprint["guess"][0]), earned(game, blueprint))}
    for gadget in GADGETS:
        subgame = Subgame(game, ("heads", "play"), blueprint, player=1, gadget=gadget)
        glued = subgame.glue(blueprint, solve(subgame, exact=True).profile)
        found[gadget] = float(glued["guess"][0]), earned(game, glued)
    return found


def draw(game: ExtensiveFormGame, panels: dict[str, Points], path: str) -> None:
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "regretkit"
    figure, axes = plt.subplots(1, 2, figsize=(8.0, 3.2), sharey=True, layout="constrained")
    heads = np.linspace(0.0, 1.0, 201)
    curve = [earned(game, guessing(game, share)) for share in heads.tolist()]
    for axis, (title, points) in zip(axes, panels.items(), strict=True):
        axis.plot(heads, curve, color="0.6")
        places: dict[tuple[float, float], list[str]] = {}
        for name, (share, value) in points.items():
            places.setdefault((round(share, 3), round(value, 3)), []).append(name)
        for (share, value), names in places.items():
            axis.plot(share, value, "o", color="C0")
            left = value > 0.05  # of a rising line; the lowest point has room above
            place, side = ((-6, 4), "right") if left else ((0, 24), "center")
            text = {"ha": side, "va": "bottom", "textcoords": "offset points", "fontsize": 8}
            axis.annotate("\n".join(names), (share, value), place, **text)
        axis.set(title=title, xlabel="probability that P2 guesses heads", ylim=(-0.05, 0.85))
    axes[0].set_ylabel("P1's best response earns")
    figure.savefig(path, metadata={"Date": None})


def main(path: str | None = None) -> None:
    game = load(Path(__file__).parent / "games" / "coin_toss.efg")
    assert isinstance(game, ExtensiveFormGame)
    panels = {
        "P2 is perfect, P1 plays heads too often": solved(game, guessing(game, 1 / 4, play=0.51)),
        "P2 guesses at random": solved(game, guessing(game, 1 / 2)),
    }
    for title, points in panels.items():
        print(title)
        for name, (share, value) in points.items():
            print(f"  {name:<10}  guesses heads {share:.3f}  P1 earns {value:.3f}")
    if path is not None:
        draw(game, panels, path)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
