"""How many histories of OpenSpiel's games are taken over a second, and where the time goes.

Each game is read several times in a process of its own, and the best time counts; it is the
processor's, since others may use the machine too. The walk is that through OpenSpiel's states;
the rest are arrays: the tree, and the players' sequence forms. What OpenSpiel itself takes to make
the states and to say what is known there, with the least around it, is shown next to that.

    $ python -m benchmarks openspiel_import
    $ python -m benchmarks openspiel_import --quick
"""

import json
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from benchmarks.machine import cpu_seconds, in_a_new_process, peak, to_measure

GAMES = (
    "kuhn_poker",
    "leduc_poker",
    "liars_dice",
    "goofspiel(num_cards=5,imp_info=True,points_order=descending)",
    "tic_tac_toe",
)
TURNS = 5


def bare(game: Any) -> int:
    """Visit all states with the calls that every import needs, and store nothing."""
    waiting, found = [game.new_initial_state()], 0
    while waiting:
        state = waiting.pop()
        found += 1
        if state.is_terminal():
            state.returns()
            continue
        if not state.is_chance_node():
            state.information_state_string()
        waiting.extend(map(state.child, state.legal_actions()))
    return found


def measure(name: str) -> dict[str, float]:
    """Take one game over, and say what it took."""
    from regretkit import games
    from regretkit.games._memory_budget import MemoryBudget
    from regretkit.games.openspiel._tree import States

    pyspiel: Any = import_module("pyspiel")
    loaded = pyspiel.load_game(name)
    together = loaded.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
    turns = pyspiel.convert_to_turn_based(loaded) if together else loaded
    tree = games.from_openspiel(name).tree
    memory = peak()
    return {
        "histories": tree.histories,
        "all": min(cpu_seconds(lambda: games.from_openspiel(name)) for _ in range(TURNS)),
        "walk": min(
            cpu_seconds(lambda: States(turns, MemoryBudget(), 1e9, by_string=True))
            for _ in range(TURNS)
        ),
        "bare": min(cpu_seconds(lambda: bare(turns)) for _ in range(TURNS)),
        "memory": memory,
    }


def main(arguments: Sequence[str]) -> None:
    """Print a line for each game."""
    wanted = [argument for argument in arguments if not argument.startswith("-")]
    names = wanted or (GAMES[:2] if "--quick" in arguments else GAMES)
    print("processor seconds, best of several; memory of the whole process, MiB")
    print(
        f"{'game':<62}{'histories':>10}{'s':>8}{'a second':>11}"
        f"{'walk, s':>9}{'bare, s':>9}{'memory':>8}"
    )
    for name in names:
        found = in_a_new_process("benchmarks.openspiel_import", [name])
        print(
            f"{name:<62}{found['histories']:>10,}{found['all']:>8.3f}"
            f"{found['histories'] / found['all']:>11,.0f}{found['walk']:>9.3f}"
            f"{found['bare']:>9.3f}{found['memory']:>8.0f}",
            flush=True,
        )


if __name__ == "__main__":
    asked = to_measure(sys.argv[1:])
    if asked is None:
        main(sys.argv[1:])
    else:
        print(json.dumps(measure(*asked)))
