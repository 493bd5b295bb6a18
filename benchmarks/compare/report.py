"""What a comparison came to, as tables and a plot."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias, final

from attrs import frozen

from benchmarks.compare.crew import CHECKPOINTS, Figures
from benchmarks.compare.games import GAMES
from benchmarks.compare.peers import ALGORITHMS, PEERS
from benchmarks.compare.spread import Range, is_inside
from benchmarks.compare.targets import Target, agree, ratio
from benchmarks.pages import Curves, number, table

Found: TypeAlias = Mapping[str, Mapping[str, Figures]]
"""By game and by peer."""


@final
@frozen
class Size:
    """How large a game is."""

    terminals: int
    information_sets: int
    """Of the player who has more of them."""


@final
@frozen
class Report:
    """The comparison of one algorithm over all games."""

    algorithm: str
    found: Found
    sizes: Mapping[str, Size]
    spreads: Mapping[str, Mapping[int, Range]]
    """By game and iteration, the gaps that come of other orders of sums."""

    @property
    def peers(self) -> Sequence[str]:
        """Those who solved at least one of the games."""
        return [peer for peer in PEERS if any(peer in found for found in self.found.values())]

    def times(self) -> str:
        """Return microseconds per iteration."""
        header = ["game", "terminals", "information sets", *(PEERS[p].title for p in self.peers)]
        rows = []
        for game, found in self.found.items():
            size = self.sizes[game]
            cells = [GAMES[game].title, f"{size.terminals:,}", f"{size.information_sets:,}"]
            best = [found[peer].best * 1e6 if peer in found else None for peer in self.peers]
            rows.append(cells + [number(micro) for micro in best])
        return table(header, rows)

    def ratios(self) -> str:
        """Return how many times as long as the compiled way the others take."""
        others = [peer for peer in self.peers if peer != "compiled"]
        rows = []
        for game, found in self.found.items():
            if "compiled" in found:
                cells = [GAMES[game].title]
                for peer in others:
                    known = peer in found
                    cells.append(str(ratio(found[peer], found["compiled"])) if known else "")
                rows.append(cells)
        return table(["game", *(PEERS[peer].title for peer in others)], rows)

    def agreement(self) -> str:
        """Return the gaps that were reached, and how far they are apart."""
        header = ["game", "iterations", "NashConv", "solvers", "differ by", "orders of sums"]
        rows = []
        for game, found in self.found.items():
            for iterations in CHECKPOINTS[-2:]:
                known = [figures for figures in found.values() if iterations in figures.gaps]
                if known:
                    gap = number(known[0].gaps[iterations], 10)
                    low, high = self.spreads[game][iterations]
                    apart = [f"{agree(found, iterations):.0e}", f"{(high - low) / high:.0e}"]
                    title, many = GAMES[game].title, str(len(known))
                    rows.append([title, str(iterations), gap, many, *apart])
        return table(header, rows)

    def setting_up(self) -> str:
        """Return seconds to build and the largest memory of each process."""
        header = ["game", *(PEERS[peer].title for peer in self.peers)]
        rows = []
        for game, found in self.found.items():
            cells = [GAMES[game].title]
            for peer in self.peers:
                known = found.get(peer)
                cells.append(f"{number(known.build, 2)} s, {known.memory:.0f} MiB" if known else "")
            rows.append(cells)
        return table(header, rows)

    def curves(self) -> Curves:
        """Return seconds per iteration against the size of the game, for each peer."""
        curves = {}
        for peer in self.peers:
            points = sorted(
                (self.sizes[game].terminals, found[peer].best)
                for game, found in self.found.items()
                if peer in found
            )
            curves[PEERS[peer].title] = ([x for x, _ in points], [y for _, y in points])
        return curves


def disagreements(report: Report) -> Sequence[str]:
    """Return whose gaps are not those that other orders of sums lead to: they do something else."""
    return [
        f"{report.algorithm}, {GAMES[game].title}: {peer} comes to {gap!r} after {t} iterations"
        for game, found in report.found.items()
        for peer, figures in found.items()
        for t, gap in figures.gaps.items()
        if not is_inside(gap, report.spreads[game][t])
    ]


def verdicts(targets: Sequence[Target]) -> str:
    """Return each target beside what was measured."""
    rows = []
    for target in targets:
        floor = number(target.floor) if target.floor is not None else ""
        of_floor = f"{target.share(target.floor):.0%}" if target.floor is not None else ""
        measured = f"{number(target.value)} {target.unit}".strip()
        marks = [floor, of_floor, number(target.goal), f"{target.share(target.goal):.0%}"]
        rows.append([target.what, measured, *marks, target.verdict()])
    return table(["what", "measured", "floor", "of it", "goal", "of it", "reached"], rows)


def markdown(reports: Sequence[Report], targets: Sequence[Target], versions: str) -> str:
    """Return everything as a part of a page."""
    parts = [f"Measured with {versions}."]
    for report in reports:
        name = report.algorithm.upper()
        parts += [
            f"**{name}, microseconds of processor time per iteration**, the best of all turns:",
            report.times(),
            f"**{name}, how many times as long as the compiled way**, by the best turns, and in "
            "parentheses the quartiles over turns:",
            report.ratios(),
            f"**{name}, the gap reached**, as each library measures it for itself. *Differ by* is "
            "the largest relative difference between solvers, *orders of sums* the one that the "
            "plain loop comes to with its actions and payoffs in other orders:",
            report.agreement(),
        ]
        if report.algorithm == ALGORITHMS[0]:
            parts += [
                "**Seconds to build and the most memory of the process**:",
                report.setting_up(),
            ]
    return "\n\n".join([*parts, "**Targets**:", verdicts(targets)])
