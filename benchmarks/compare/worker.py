"""One solver at one game, in a process of its own, that does as it is told line by line."""

import json
import os
import sys
from collections.abc import Callable
from typing import TextIO

from benchmarks.compare.games import GAMES
from benchmarks.compare.peers import PEERS, Contender
from benchmarks.machine import cpu_seconds, peak, pin


def _answers() -> TextIO:
    """Return where answers go; what libraries print goes nowhere."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    return answers


def _obey(contender: Contender, order: str, number: int) -> float:
    if order == "run":
        return cpu_seconds(contender.run, number)
    return contender.gap() if order == "gap" else peak()


def _build(ready: list[Contender], peer: str, game: str, algorithm: str) -> float:
    starter = PEERS[peer].starter()
    return cpu_seconds(lambda: ready.append(starter(GAMES[game], algorithm)))


def main(peer: str, game: str, algorithm: str) -> None:
    answers = _answers()

    def answer(produce: Callable[..., float], *arguments: object) -> bool:
        try:
            said: dict[str, float | str] = {"is": produce(*arguments)}
        except Exception as error:
            said = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(said), file=answers, flush=True)
        return "is" in said

    pin()
    ready: list[Contender] = []
    if answer(_build, ready, peer, game, algorithm):
        for line in sys.stdin:
            answer(_obey, ready[0], *json.loads(line))


if __name__ == "__main__":
    main(*sys.argv[1:])
