"""The command: ``python -m benchmarks compare``."""

import argparse
import sys
from collections.abc import Sequence

import benchmarks.compare as described
from benchmarks import start, stream
from benchmarks.compare.crew import FULL, QUICK, Effort, Figures, measure
from benchmarks.compare.games import GAMES
from benchmarks.compare.peers import ALGORITHMS, PACKAGES, PEERS
from benchmarks.compare.report import Found, Report, Size, disagreements, markdown
from benchmarks.compare.spread import spread
from benchmarks.compare.targets import (
    Target,
    size_targets,
    speed_targets,
    start_targets,
    stream_targets,
)
from benchmarks.machine import versions
from benchmarks.pages import IMAGES, PAGE, draw, put
from benchmarks.runs import tree_game

QUICK_GAMES = ("kuhn", "goofspiel4", "leduc")
LARGEST = "liars6"


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks compare",
        description=described.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="small games, few and short turns")
    parser.add_argument("--games", nargs="+", choices=[*GAMES], metavar="GAME")
    parser.add_argument("--peers", nargs="+", choices=[*PEERS], metavar="PEER")
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=ALGORITHMS)
    return parser.parse_args(arguments)


def size_of(name: str) -> Size:
    game = tree_game(GAMES[name].ours)
    return Size(game.tree.terminals.size, max(tree.points for tree in game.domains))


def compared(algorithm: str, games: Sequence[str], peers: Sequence[str], effort: Effort) -> Found:
    """Measure game by game, and say right away what came of it."""
    everything: dict[str, dict[str, Figures]] = {}
    for game in games:
        print(f"{algorithm}, {GAMES[game].title}: ", end="", flush=True)
        found, absent = measure(game, algorithm, peers, effort)
        print(", ".join(f"{peer} {figures.best * 1e6:,.2f} us" for peer, figures in found.items()))
        for peer, reason in absent.items():
            print(f"    without {peer}: {reason}")
        if found:
            everything[game] = found
    return everything


def targets_of(report: Report, *, quick: bool) -> Sequence[Target]:
    sets = {game: size.information_sets for game, size in report.sizes.items()}
    targets = list(speed_targets(report.found, sets))
    targets += size_targets(report.found.get(LARGEST, {}))
    targets += stream_targets(stream.fresh(quick=quick))
    targets += start_targets(start.both(processes=1 if quick else 5))
    return targets


def main(arguments: Sequence[str]) -> int:
    asked = parsed(arguments)
    effort = QUICK if asked.quick else FULL
    games = asked.games or (QUICK_GAMES if asked.quick else [*GAMES])
    sizes = {game: size_of(game) for game in games}
    reports = []
    for algorithm in asked.algorithms:
        found = compared(algorithm, games, asked.peers or [*PEERS], effort)
        spreads = {game: spread(game, algorithm) for game in found}
        reports.append(Report(algorithm, found, sizes, spreads))
    targets = targets_of(reports[0], quick=asked.quick)
    page = markdown(reports, targets, versions(PACKAGES))
    print(f"\n{page}")
    if not (asked.quick or asked.games or asked.peers) and len(reports) == len(ALGORITHMS):
        put(PAGE, "compare", page)
        axes = ("ends of the game", "seconds per iteration")
        draw(IMAGES / "compare.svg", reports[0].curves(), *axes, "An iteration of CFR+")
    faults = [fault for report in reports for fault in disagreements(report)]
    print("\n".join(["", "NOT THE SAME ALGORITHM:", *faults]) if faults else "")
    return len(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
