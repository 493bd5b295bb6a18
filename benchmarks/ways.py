"""One iteration of CFR+ in each way to run it: objects, NumPy, vectorized and compiled.

Microseconds of processor time per iteration, in which both players learn once, the best of several
turns: one object for each information set (``circuit``), the flat ``CFR`` in NumPy, the same with
payoffs and trees in machine code, and whole iterations in machine code. A full run writes a table
into docs/.

    $ python -m benchmarks ways
    $ python -m benchmarks ways --quick
"""

import sys
from collections.abc import Callable, Mapping, Sequence

import regretkit as rk
from benchmarks.compare.games import GAMES
from benchmarks.machine import best_times, pin
from benchmarks.pages import PAGE, number, put, table
from benchmarks.runs import tree_game
from regretkit.play import Linear, SelfPlay

WAYS: Mapping[str, tuple[Callable[..., rk.RegretMinimizer], str]] = {
    "objects": (rk.circuit, "numpy"),
    "numpy": (rk.CFR, "numpy"),
    "vectorized": (rk.CFR, "vectorized"),
    "compiled": (rk.CFR, "compiled"),
}
MOST = 6_000
"""Information sets up to which there is time for an object for each."""


def row(title: str, game: rk.ExtensiveFormGame, turns: int) -> list[str]:
    """Return what an iteration takes in each way."""
    few = sum(tree.points for tree in game.domains) <= MOST
    runs = {}
    for way, (make, engine) in WAYS.items():
        if few or way != "objects":
            players = [make(tree, rk.RegretMatchingPlus) for tree in game.domains]
            runs[way] = SelfPlay(game, players, averaging=Linear(), engine=engine).run
    best = best_times(runs, turns)
    return [title, *(number(best[way] * 1e6) if way in best else "" for way in WAYS)]


def main(arguments: Sequence[str]) -> None:
    pin()
    quick = "--quick" in arguments
    names = ("kuhn", "leduc") if quick else [*GAMES]
    rows = [
        row(GAMES[name].title, tree_game(GAMES[name].ours), 3 if quick else 20) for name in names
    ]
    text = table(["game", *WAYS], rows)
    print(text)
    if not quick:
        put(PAGE, "ways", text)


if __name__ == "__main__":
    main(sys.argv[1:])
