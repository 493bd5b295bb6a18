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
that it takes minutes. A full run writes a table into docs/.

    $ python -m benchmarks reading
    $ python -m benchmarks reading --quick
"""

import importlib
import io
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from benchmarks.machine import TURN, best_times, cpu_seconds, pin, versions
from benchmarks.pages import PAGE, number, put, table
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

Figures = Mapping[str, float]


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


def files(quick: bool) -> dict[str, str]:
    """Return the texts to read."""
    wides = [7] if quick else [9, 11]
    deeps = [3_000] if quick else [10_000, 100_000]
    crowds = [30] if quick else [100, 1_000]
    return {
        "Kuhn poker": write_efg(kuhn_poker()),
        "Kuhn poker, 3 players": write_efg(kuhn_poker(3)),
        "Liar's dice, 4 sides": write_efg(liars_dice(sides=4)),
        "Leduc poker": write_efg(leduc_poker()),
        **{f"long, {levels} levels": wide(levels, True) for levels in wides},
        **{f"short, {levels} levels": wide(levels, False) for levels in wides},
        **{f"own names, {levels} levels": own_names(levels) for levels in wides},
        **{f"deep, {levels:,} levels": deep(levels) for levels in deeps},
        **{f"deep by chance, {levels:,} levels": lucky(levels) for levels in deeps},
        **{f"1,000 players, {ends:,} ends": crowd(1_000, ends) for ends in crowds},
    }


def memory(text: str) -> int:
    """Return the most bytes that reading holds at once."""
    tracemalloc.start()
    kept = read_efg(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return peak


def measure(text: str, seconds: float) -> dict[str, float]:
    """Read a text, and say what it took."""
    tree = read_efg(text).tree
    sizes = {"letters": len(text), "nodes": tree.histories, "players": tree.players}
    del tree
    turns = max(4, int(seconds / max(cpu_seconds(read_efg, text), TURN)))
    readers: dict[str, Callable[[], object]] = {"ours": partial(read_efg, text)}
    try:
        gambit = importlib.import_module("pygambit")
    except ImportError:
        gambit = None
    if gambit is not None and sizes["nodes"] <= GAMBITS:
        readers["theirs"] = lambda: gambit.read_efg(io.BytesIO(text.encode()))
    times = best_times({name: _often(read) for name, read in readers.items()}, turns)
    return {**sizes, "memory": memory(text), **times}


def _often(read: Callable[[], object]) -> Callable[[int], object]:
    def reads(times: int) -> None:
        for _ in range(times):
            read()

    return reads


def page(found: Mapping[str, Figures]) -> str:
    """Return the table, and whether the target is reached."""
    header = ["file", "MB", "nodes", "nodes a second", "MB a second"]
    header += ["bytes a node", "bytes a letter", "Gambit, times as long"]
    rows = []
    for name, f in found.items():
        cells = [f"{f['letters'] / 1e6:.2f}", f"{f['nodes']:,.0f}", f"{speed(f):,.0f}"]
        cells += [f"{f['letters'] / f['ours'] / 1e6:.1f}", f"{f['memory'] / f['nodes']:,.0f}"]
        cells += [f"{f['memory'] / f['letters']:.0f}"]
        rows.append([name, *cells, number(f["theirs"] / f["ours"]) if "theirs" in f else ""])
    counted = {name: f for name, f in found.items() if f["nodes"] >= SMALL and f["players"] <= MANY}
    slowest = min(counted, key=lambda name: speed(counted[name]))
    reached = "which reaches" if speed(counted[slowest]) >= TARGET else "**which does not reach**"
    says = (
        f"Of files with at least {SMALL} nodes and at most {MANY} players, the slowest is read at "
        f"{speed(counted[slowest]):,.0f} nodes a second ({slowest}), {reached} the target of "
        f"{TARGET:,}."
    )
    measured = f"Measured with {versions(['regretkit', 'numpy', 'pygambit'])}."
    return f"{measured}\n\n{table(header, rows)}\n\n{says}"


def speed(figures: Figures) -> float:
    """Return how many nodes are read in a second."""
    return figures["nodes"] / figures["ours"]


def main(arguments: Sequence[str]) -> None:
    quick = "--quick" in arguments
    pin()
    texts = files(quick)
    text = page({name: measure(text, 0.1 if quick else SECONDS) for name, text in texts.items()})
    print(text)
    if not quick:
        put(PAGE, "reading", text)


if __name__ == "__main__":
    main(sys.argv[1:])
