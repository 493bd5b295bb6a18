"""The comparison with other libraries: the command, what it finds out, and the targets."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from statistics import quantiles
from typing import TypeAlias

import numpy as np
from attrs import frozen

from benchmarks.engines import start, stream
from benchmarks.harness import IMAGES, PAGE, Curves, draw, number, put, table, versions
from benchmarks.peers import ALGORITHMS, GAMES, PACKAGES, PEERS
from benchmarks.runs import tree_game
from benchmarks.workers import CHECKPOINTS, FULL, QUICK, Effort, Measured, measure

QUICK_GAMES = ("kuhn", "goofspiel4", "leduc")
LARGEST = "liars6"
Found: TypeAlias = Mapping[str, Mapping[str, Measured]]
"""By game and by peer."""
Range: TypeAlias = tuple[float, float]

# Targets


@frozen
class Target:
    """A number, what it must be at least or at most, and what it should be."""

    name: str
    value: float
    floor: float | None
    goal: float
    unit: str = ""
    more: bool = False
    """Whether more is better."""

    def share(self, mark: float) -> float:
        """Return the share of the mark that is reached; 1 or more if it is reached."""
        return self.value / mark if self.more else mark / self.value

    def verdict(self) -> str:
        """Say what was reached."""
        if self.share(self.goal) >= 1.0:
            return "goal"
        if self.floor is None:
            return "no"
        return "floor" if self.share(self.floor) >= 1.0 else "**neither**"


def ratio(slow: Measured, fast: Measured) -> tuple[float, float, float]:
    """Return how many times as long an iteration takes one solver as another.

    By the quickest turn of each, and the quartiles over rounds in which both took a turn.
    """
    rounds = slow.per_iteration.keys() & fast.per_iteration.keys()
    ratios = [slow.per_iteration[i] / fast.per_iteration[i] for i in rounds]
    low, _, high = quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    return slow.best / fast.best, low, high


def speed_targets(found: Found) -> list[Target]:
    """Return how CFR+ compares with other libraries, game by game.

    Goals are twice the floors.
    """
    targets = []
    for fast, slow, mark in (
        ("compiled", "OpenSpiel C++", "over_open_spiel"),
        ("compiled", "LiteEFG", "over_lite_efg"),
    ):
        for game, peers in found.items():
            if fast in peers and slow in peers:
                floor = float(getattr(GAMES[game], mark))
                name = f"{slow} over {fast}, {GAMES[game].title}"
                best, *_ = ratio(peers[slow], peers[fast])
                targets.append(Target(name, best, floor, 2.0 * floor, "times", more=True))
    return targets


def other_targets(found: Found, *, quick: bool) -> list[Target]:
    """Return what Liar's dice with six sides costs, and a fresh process until it iterates."""
    targets = []
    if (compiled := found.get(LARGEST, {}).get("compiled")) is not None:
        targets = [
            Target("peak memory, Liar's dice, 6 sides", compiled.memory, 250.0, 150.0, "MiB"),
            Target("building it, Liar's dice, 6 sides", compiled.build, 3.0, 0.2, "s"),
        ]
    [payoff] = stream.found(stream.rows, quick).values()
    limit = 2.0 * payoff["adding that, ns"]
    first = start.found(start.quick if quick else start.rows, quick)
    marks = {"kernels on disk": (1.5, 0.5), "nothing on disk": (20.0, 8.0)}
    return [
        *targets,
        Target("per payoff entry and player", payoff["an iteration, ns"], 4.0, limit, "ns"),
        *(
            Target(f"first iteration, {disk}", row["first iteration, s"], *marks[disk], "s")
            for disk, row in first.items()
        ),
    ]


def verdicts(targets: Sequence[Target]) -> str:
    """Return each target beside what was measured."""
    rows = [
        [
            target.name,
            f"{number(target.value)} {target.unit}".strip(),
            target.floor,
            "" if target.floor is None else f"{target.share(target.floor):.0%}",
            target.goal,
            f"{target.share(target.goal):.0%}",
            target.verdict(),
        ]
        for target in targets
    ]
    return table(["what", "measured", "floor", "of it", "goal", "of it", "reached"], rows)


# Gaps that agree


def spread(game: str, algorithm: str) -> dict[int, Range]:
    """Return how far apart gaps are that differ by nothing but the order of sums, by iteration.

    Where regrets are exactly equal, rounding decides what is played, and then what is learned; two
    solvers that do the same come to different gaps. So the plain loop runs several times with
    actions and payoffs in other orders, and what it comes to is how closely others can be asked to
    agree.
    """
    from benchmarks.plain_loop import PlainLoop

    solver, gaps = PlainLoop(GAMES[game].call, algorithm), []
    for order in range(12):
        solver.start_again(np.random.default_rng(order))
        for more in np.diff(CHECKPOINTS, prepend=0).tolist():
            solver.run(more)
            gaps.append(solver.gap())
    by_iteration = np.reshape(gaps, (-1, len(CHECKPOINTS))).T
    return {t: (min(found), max(found)) for t, found in zip(CHECKPOINTS, by_iteration, strict=True)}


def is_inside(gap: float, found: Range) -> bool:
    """Say whether a gap is no further from a range than the range is wide, up to rounding."""
    low, high = found
    room = max(high - low, 1e-6 * high)
    return low - room <= gap <= high + room


def agree(found: Mapping[str, Measured], iterations: int) -> float:
    """Return the largest relative difference of gaps after these iterations."""
    gaps = [peer.gaps[iterations] for peer in found.values() if iterations in peer.gaps]
    return (max(gaps) - min(gaps)) / max(gaps) if gaps else 0.0


# The report


@frozen
class Report:
    """The comparison of one algorithm over all games."""

    algorithm: str
    found: Found
    sizes: Mapping[str, tuple[int, int]]
    """Terminals of a game, and information sets of the player who has more of them."""
    spreads: Mapping[str, Mapping[int, Range]]
    """By game and iteration, the gaps that come of other orders of sums."""

    @property
    def peers(self) -> Sequence[str]:
        """Those who solved at least one of the games."""
        return [peer for peer in PEERS if any(peer in found for found in self.found.values())]

    def by_peer(
        self,
        cell: Callable[[Mapping[str, Measured], Measured], object],
        *,
        peers: Sequence[str] | None = None,
        sizes: Sequence[str] = (),
    ) -> str:
        """Return a table of what solvers come to, with the sizes of the games if they are named."""
        shown = self.peers if peers is None else peers
        rows = [
            [
                GAMES[game].title,
                *self.sizes[game][: len(sizes)],
                *(cell(found, found[peer]) if peer in found else "" for peer in shown),
            ]
            for game, found in self.found.items()
        ]
        return table(["game", *sizes, *(PEERS[peer].title for peer in shown)], rows)

    def times(self) -> str:
        """Return microseconds per iteration."""
        sizes = ("terminals", "information sets")
        return self.by_peer(lambda _, peer: peer.best * 1e6, sizes=sizes)

    def ratios(self) -> str:
        """Return how many times as long as the compiled engine the others take."""

        def cell(found: Mapping[str, Measured], peer: Measured) -> str:
            if "compiled" not in found:
                return ""
            best, low, high = (
                f"{times:,.0f}" if times >= 99.5 else f"{times:.2g}"
                for times in ratio(peer, found["compiled"])
            )
            return f"{best} ({low} to {high})"

        return self.by_peer(cell, peers=[peer for peer in self.peers if peer != "compiled"])

    def setting_up(self) -> str:
        """Return seconds to build and the largest memory of each process."""
        return self.by_peer(lambda _, peer: f"{number(peer.build, 2)} s, {peer.memory:.0f} MiB")

    def agreement(self) -> str:
        """Return the gaps that were reached, and how far they are apart."""
        header = ["game", "iterations", "NashConv", "solvers", "differ by", "orders of sums"]
        rows = []
        for game, found in self.found.items():
            for iterations in CHECKPOINTS[-2:]:
                gaps = [peer.gaps[iterations] for peer in found.values() if iterations in peer.gaps]
                if gaps:
                    low, high = self.spreads[game][iterations]
                    differences = [f"{agree(found, iterations):.0e}", f"{(high - low) / high:.0e}"]
                    shown = [GAMES[game].title, iterations, number(gaps[0], 10), len(gaps)]
                    rows.append([*shown, *differences])
        return table(header, rows)

    def disagreements(self) -> Sequence[str]:
        """Return whose gaps no order of sums leads to: those play another algorithm."""
        return [
            f"{self.algorithm}, {GAMES[game].title}: {peer} comes to {gap!r} after {t} iterations"
            for game, found in self.found.items()
            for peer, measured in found.items()
            for t, gap in measured.gaps.items()
            if not is_inside(gap, self.spreads[game][t])
        ]

    def curves(self) -> Curves:
        """Return seconds per iteration against the size of the game, for each peer."""
        curves = {}
        for peer in self.peers:
            points = sorted(
                (self.sizes[game][0], found[peer].best)
                for game, found in self.found.items()
                if peer in found
            )
            curves[PEERS[peer].title] = ([x for x, _ in points], [y for _, y in points])
        return curves


def summary(report: Report) -> str:
    """Return the table of a report that the page shows."""
    others = [peer for peer in report.peers if peer != "compiled"]
    rows = []
    for game, found in report.found.items():
        ours = found["compiled"]
        times = [number(found[p].best / ours.best) if p in found else "" for p in others]
        rows.append([GAMES[game].title, *report.sizes[game], ours.best * 1e6, *times])
    head = ["game", "terminals", "information sets", f"{PEERS['compiled'].title}, us"]
    head += [f"{PEERS[peer].title}, times" for peer in others]
    return f"Measured with {versions(PACKAGES)}.\n\n{table(head, rows)}"


def markdown(reports: Sequence[Report], targets: Sequence[Target]) -> str:
    """Return everything in Markdown."""
    parts = [f"Measured with {versions(PACKAGES)}."]
    for report in reports:
        name = report.algorithm.upper()
        parts += [
            f"**{name}, microseconds of processor time per iteration**, the best of all turns:",
            report.times(),
            f"**{name}, how many times as long as the compiled engine**, by the best turns, and in "
            "parentheses the quartiles over turns:",
            report.ratios(),
            f"**{name}, the gap reached**, as each library measures it for itself. *Differ by* is "
            "the largest relative difference between solvers, *orders of sums* the one that the "
            "plain loop comes to with its actions and payoffs in other orders:",
            report.agreement(),
        ]
        if report.algorithm == ALGORITHMS[0]:
            parts.append("**Seconds to build and the most memory of the process**:")
            parts.append(report.setting_up())
    return "\n\n".join([*parts, "**Targets**:", verdicts(targets)])


# The command


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks compare",
        description=compare.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="small games, few and short turns")
    parser.add_argument("--games", nargs="+", choices=[*GAMES], metavar="GAME")
    parser.add_argument("--peers", nargs="+", choices=[*PEERS], metavar="PEER")
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=ALGORITHMS)
    return parser.parse_args(arguments)


def compared(algorithm: str, games: Sequence[str], peers: Sequence[str], effort: Effort) -> Report:
    """Measure game by game, and say right away what came of it."""
    everything, sizes = {}, {}
    for name in games:
        game = tree_game(GAMES[name].call)
        sizes[name] = int(game.tree.terminals.size), max(tree.points for tree in game.domains)
        print(f"{algorithm}, {GAMES[name].title}: ", end="", flush=True)
        found, absent = measure(name, algorithm, peers, effort)
        print(", ".join(f"{peer} {figures.best * 1e6:,.2f} us" for peer, figures in found.items()))
        for peer, reason in absent.items():
            print(f"    without {peer}: {reason}")
        if found:
            everything[name] = found
    spreads = {name: spread(name, algorithm) for name in everything}
    return Report(algorithm, everything, sizes, spreads)


def compare(arguments: Sequence[str]) -> int:
    """CFR+ and CFR, with the same updates and averages, next to other libraries.

    Every solver builds each game in a process of its own; on one core and with one thread they then
    take turns of a few iterations. Time is that of the processor per iteration. Before, all come to
    the same iterations, and the gaps of their averages are compared: they must be those of the same
    algorithm. A full run writes tables and a plot into docs/; a quick one, or one of some games or
    peers only, just prints.

        $ python -m benchmarks compare
        $ python -m benchmarks compare --quick
        $ python -m benchmarks compare --games kuhn leduc --peers compiled "OpenSpiel C++"
    """
    asked = parsed(arguments)
    games = asked.games or (QUICK_GAMES if asked.quick else [*GAMES])
    effort, peers = QUICK if asked.quick else FULL, asked.peers or [*PEERS]
    reports = [compared(algorithm, games, peers, effort) for algorithm in asked.algorithms]
    first = reports[0]
    targets = speed_targets(first.found) + other_targets(first.found, quick=asked.quick)
    print(f"\n{markdown(reports, targets)}")
    if not (asked.quick or asked.games or asked.peers) and len(reports) == len(ALGORITHMS):
        put(PAGE, "compare", summary(first))
        axes = "terminals of the game", "seconds per iteration"
        draw(IMAGES / "compare.svg", {"An iteration of CFR+": first.curves()}, *axes)
    faults = [fault for report in reports for fault in report.disagreements()]
    print("\n".join(["", "NOT THE SAME ALGORITHM:", *faults]) if faults else "")
    return len(faults)
