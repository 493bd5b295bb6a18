"""How fast ``.efg`` files are read, and how much memory that takes.

Most files are made here. In the wide ones two players take turns with three actions each, and
neither sees what the other does. In the long form every node declares everything and every end of
the game is an outcome of its own, as programs write it; in the short one what was declared is named
by its number; with names of their own, actions are called otherwise at every node, and payoffs are
fractions. The deep ones have nothing but levels, at which players or chance stop or continue. Games
of the catalogue are files as ``save`` writes them.

Times are the processor's, the best of several turns, and the players' sequence forms are part of
them. Memory is the most that was held at once beside the text, counted in a run of its own. Gambit
reads the same files in the same turns, where pygambit is installed and unless they are so large
that it takes minutes.
"""

import importlib
import io
import re
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from benchmarks import harness
from benchmarks.harness import Action, Figures, Found, benchmark, best_times, cpu_seconds, repeated
from regretkit.games import kuhn_poker, leduc_poker, liars_dice, read_efg, write_efg

HEADING = 'EFG 2 R "generated" { "A" "B" }\n'
ACTIONS = range(3)
TARGET = 50_000
"""Nodes that should be read in a second of processor time,"""
SMALL, MANY = 500, 10
"""in all files that have at least these nodes and at most these players."""
SECONDS = 2.0
"""Of reading each file, at least four times."""
GAMBITS = 30_000
"""With more nodes than this, Gambit takes too long."""


def paths(levels: int) -> Iterator[tuple[int, ...]]:
    """Yield what was done on the way to each node of a complete tree, in the order of files."""
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        path = waiting.pop()
        yield path
        if len(path) < levels:
            waiting.extend((*path, action) for action in reversed(ACTIONS))


def wide(levels: int, declare_always: bool) -> str:
    """Return a complete tree; a player's information sets are told apart by its own actions."""
    lines: list[str] = []
    numbers: dict[tuple[int, ...], int] = {}
    for path in paths(levels):
        if len(path) == levels:
            said = declare_always or len(lines) < 1_000
            first, second = sum(path), 0.25 * len(lines)
            outcome = f'{len(lines)} "" {{ {first}, {second} }}' if said else "0"
            lines.append(f't "" {outcome}')
            continue
        player = len(path) % 2
        known = len(numbers)
        set_ = numbers.setdefault((player, *path[player::2]), 1 + known)
        said = declare_always or set_ > known
        declared = f'"set {set_}" {{ "a" "b" "c" }} ' if said else ""
        lines.append(f'p "" {1 + player} {set_} {declared}0')
    return HEADING + "\n".join(lines)


def own_names(levels: int) -> str:
    """Return a complete tree in which every node has actions with names of their own."""
    lines = [
        f't "" {1 + i} "" {{ {i}/3, -{i}/7 }}'
        if len(path) == levels
        else f'p "" {1 + len(path) % 2} {1 + i} "" {{ "a{i}" "b{i}" "c{i}" }} 0'
        for i, path in enumerate(paths(levels))
    ]
    return HEADING + "\n".join(lines)


def deep(levels: int) -> str:
    """Return a tree in which the players take turns to stop or to go down another step."""
    lines = [
        f'p "" {1 + i % 2} {1 + i} "" {{ "stop" "go" }} 0\nt "" {1 + i} "" {{ {i}, 0 }}'
        for i in range(levels)
    ]
    return HEADING + "\n".join([*lines, 't "" 0'])


def lucky(levels: int) -> str:
    """Return a tree in which chance stops or continues, and to continue costs something."""
    lines = [
        f'c "" {1 + i} "" {{ "stop" .5 "go" .5 }} 1 "toll" {{ -1, 1 }}\n'
        f't "" {2 + i} "" {{ {i}, 0 }}'
        for i in range(levels)
    ]
    return HEADING + "\n".join([*lines, 't "" 0'])


def crowd(players: int, ends: int) -> str:
    """Return a game in which many earn something, and the first decides how much."""
    names, actions = " ".join(['""'] * players), " ".join(['""'] * ends)
    paid = " ".join(["1"] * players)
    lines = [f't "" {1 + i} "" {{ {paid} }}' for i in range(ends)]
    first = f'EFG 2 R "crowd" {{ {names} }}\np "" 1 1 "" {{ {actions} }} 0\n'
    return first + "\n".join(lines)


FILES: dict[str, Callable[[], str]] = {
    "Kuhn poker": lambda: write_efg(kuhn_poker()),
    "Kuhn poker, 3 players": lambda: write_efg(kuhn_poker(3)),
    "Liar's dice, 4 sides": lambda: write_efg(liars_dice(sides=4)),
    "Leduc poker": lambda: write_efg(leduc_poker()),
    **{f"long, {n} levels": partial(wide, n, declare_always=True) for n in (7, 9, 11)},
    **{f"short, {n} levels": partial(wide, n, declare_always=False) for n in (7, 9, 11)},
    **{f"own names, {n} levels": partial(own_names, n) for n in (7, 9, 11)},
    **{f"deep, {n:,} levels": partial(deep, n) for n in (3_000, 10_000, 100_000)},
    **{f"deep by chance, {n:,} levels": partial(lucky, n) for n in (3_000, 10_000, 100_000)},
    **{f"1,000 players, {n:,} ends": partial(crowd, 1_000, n) for n in (30, 100, 1_000)},
}
QUICK = [name for name in FILES if not re.search(r"( 9| 11|0,000) levels|00 ends", name)]


def memory(text: str) -> int:
    """Return the most bytes that reading holds at once."""
    tracemalloc.start()
    kept = read_efg(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return peak


def slowest(found: Found) -> str:
    """Say whether the target is reached."""
    counted = {
        name: row["nodes a second"]
        for name, row in found.items()
        if row["nodes"] >= SMALL and row["players"] <= MANY
    }
    measured = f"Measured with {harness.versions(['regretkit', 'numpy', 'pygambit'])}."
    if not counted:
        return measured
    name, speed = min(counted.items(), key=lambda item: item[1])
    reached = "which reaches" if speed >= TARGET else "**which does not reach**"
    return (
        f"Of files with at least {SMALL} nodes and at most {MANY} players, the slowest is read at "
        f"{speed:,.0f} nodes a second ({name}), {reached} the target of {TARGET:,}.\n\n"
        f"{measured}"
    )


@benchmark([*FILES], quick=QUICK, head="file", conclude=slowest)
def reading(name: str, quick: bool) -> Figures:
    """How fast ``.efg`` files are read, and how much memory that takes."""
    text = FILES[name]()
    tree = read_efg(text).tree
    nodes, players = tree.histories, tree.players
    del tree
    turns = max(
        4, int((0.1 if quick else SECONDS) / max(cpu_seconds(read_efg, text), harness.TURN))
    )
    readers: dict[str, Action] = {"ours": repeated(partial(read_efg, text))}
    with suppress(ImportError):
        gambit = importlib.import_module("pygambit")
        if nodes <= GAMBITS:
            readers["Gambit"] = repeated(lambda: gambit.read_efg(io.BytesIO(text.encode())))
    times, held = best_times(readers, turns), memory(text)
    return {
        "MB": len(text) / 1e6,
        "nodes": nodes,
        "players": players,
        "nodes a second": nodes / times["ours"],
        "MB a second": len(text) / times["ours"] / 1e6,
        "bytes a node": held / nodes,
        "bytes a letter": held / len(text),
        "Gambit, times as long": times["Gambit"] / times["ours"] if "Gambit" in times else "",
    }
