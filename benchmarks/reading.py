"""How fast ``.efg`` files are read, and how much memory that takes.

The files are made here: two players take turns with three actions each, and nobody sees what the
other does. In the long form every node declares everything and every end of the game is an
outcome of its own, as programs write it; in the short one what was declared is named by its
number. The third file has nothing but levels. Times are the processor's, since others may use the
machine too; the last step, the players' sequence forms, is part of them and also shown alone.
Memory is the most that was held at once beside the text, counted in a second run.

    $ python -m benchmarks.reading
    $ python -m benchmarks.reading --quick
"""

import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial

from regretkit.games import ExtensiveFormGame, read_efg

HEADING = 'EFG 2 R "generated" { "A" "B" }\n'
ACTIONS = range(3)


def wide(levels: int, declare_always: bool) -> str:
    """Return a complete tree; a player's information sets are told apart by its own actions."""
    lines: list[str] = []
    numbers: dict[tuple[int, ...], int] = {}
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        path = waiting.pop()
        if len(path) == levels:
            number = len(lines) if declare_always or len(lines) < 1_000 else None
            first, second = sum(path), 0.25 * len(lines)
            outcome = "0" if number is None else f'{number} "" {{ {first}, {second} }}'
            lines.append(f't "" {outcome}')
            continue
        player = len(path) % 2
        known = len(numbers)
        number = numbers.setdefault((player, *path[player::2]), 1 + known)
        new = declare_always or number > known
        declared = f'"set {number}" {{ "a" "b" "c" }} ' if new else ""
        lines.append(f'p "" {1 + player} {number} {declared}0')
        waiting.extend((*path, action) for action in reversed(ACTIONS))
    return HEADING + "\n".join(lines)


def deep(levels: int) -> str:
    """Return a tree in which the players take turns to stop or to go down another step."""
    lines = [
        f'p "" {1 + i % 2} {1 + i} "" {{ "stop" "go" }} 0\nt "" {1 + i} "" {{ {i}, 0 }}'
        for i in range(levels)
    ]
    return HEADING + "\n".join([*lines, 't "" 0'])


def fastest(action: Callable[[], object], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def memory(text: str) -> int:
    tracemalloc.start()
    read_efg(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    sizes_wide, sizes_deep = ((9,), (10_000,)) if quick else ((9, 10, 11, 12), (10_000, 100_000))
    files = {f"long, {levels} levels": wide(levels, True) for levels in sizes_wide}
    files |= {f"short, {levels} levels": wide(levels, False) for levels in sizes_wide}
    files |= {f"deep, {levels:,} levels": deep(levels) for levels in sizes_deep}
    titles = ["MB", "nodes", "nodes per second", "last step", "bytes per node"]
    print(f"{'':<24}" + "".join(f"{title:>18}" for title in titles))
    for name, text in files.items():
        nodes, tree = text.count("\n"), read_efg(text).tree
        seconds = fastest(partial(read_efg, text))
        last = fastest(partial(ExtensiveFormGame, tree)) / seconds
        speed, share = nodes / seconds, memory(text) / nodes
        sizes = f"{len(text) / 1e6:>18.1f}{nodes:>18,}"
        print(f"{name:<24}{sizes}{speed:>18,.0f}{last:>18.0%}{share:>18.0f}")


if __name__ == "__main__":
    main()
