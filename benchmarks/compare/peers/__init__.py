"""Who is compared. Each module is loaded only in a process that needs it."""

import importlib
from collections.abc import Callable
from typing import Protocol, final

from attrs import frozen

from benchmarks.compare.games import Contest

ALGORITHMS = ("cfr+", "cfr")


class Contender(Protocol):
    """A solver that is ready for its first iteration."""

    def run(self, iterations: int) -> None:
        """Run some iterations, with alternating updates: one for each player."""
        ...

    def gap(self) -> float:
        """Return NashConv of the average, the sum over players, as the library measures it.

        The average is over x_1 to x_T; with weights 1, 2, ... in CFR+, and equal ones in CFR.
        """
        ...


@final
@frozen
class Peer:
    """Where to find a solver."""

    title: str
    module: str
    start: str = "start"

    def starter(self) -> Callable[[Contest, str], Contender]:
        """Return what builds the solver for a game and an algorithm, once it is imported."""
        module = importlib.import_module(f"benchmarks.compare.peers.{self.module}")
        starter: Callable[[Contest, str], Contender] = getattr(module, self.start)
        return starter


PEERS: dict[str, Peer] = {
    "compiled": Peer("regretkit, compiled", "ours", "compiled"),
    "own rule": Peer("regretkit, own rule in NumPy", "ours", "own_rule"),
    "plain loop": Peer("plain loop", "plain_loop"),
    "OpenSpiel C++": Peer("OpenSpiel, C++", "open_spiel_cpp"),
    "OpenSpiel Python": Peer("OpenSpiel, Python", "open_spiel_python"),
    "LiteEFG": Peer("LiteEFG", "lite_efg"),
    "noregret": Peer("noregret", "no_regret"),
}
PACKAGES = ("regretkit", "numpy", "numba", "scipy", "open_spiel", "LiteEFG", "noregret")
