"""A person who plays at the terminal."""

import math
import sys
from typing import TextIO, final

import numpy as np

from regretkit.cli.exits import DONE
from regretkit.cli.games_in import name_of
from regretkit.cli.screen import clean, drop, say, show_json
from regretkit.cli.seats import Table
from regretkit.cli.stopping import INTERRUPTED, Stopping
from regretkit.games import fingerprint, names
from regretkit.play import Agent, Person, StrategyAgent, play_match

ROUNDS, LEFT, INTERRUPT = "rounds", "end of input", "interrupt"


@final
class Voice:
    """What is said to a person, and what is heard from one.

    Parameters
    ----------
    stream
        Where to write what is said.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._is_terminal = stream, stream.isatty()
        self._input: TextIO | None = sys.stdin
        self.questions = 0
        """How many were asked."""
        reconfigure = getattr(self._input, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # what is no text is an answer that nobody understands

    def tell(self, line: str = "", end: str = "\n") -> None:
        """Write a line, on a terminal that is gone to nobody."""
        try:
            print(clean(line), end=end, file=self._stream, flush=True)
        except OSError:
            if not self._is_terminal:
                raise
            drop(self._stream)

    def ask(self, question: str) -> str:
        """Return the answer to a question, or raise ``EOFError`` at the end of the input."""
        self.questions += 1
        self.tell(question, end="")
        answer = ""
        try:
            answer = "" if self._input is None else self._input.readline()
        except OSError as error:  # the terminal is gone
            raise EOFError from error
        finally:
            # Only a terminal shows what is typed, and goes on to the next line.
            if not answer or self._input is None or not self._input.isatty():
                self.tell(answer.rstrip("\r\n"))
        if not answer:
            raise EOFError
        return answer


def play_at_terminal(table: Table, rounds: int | None, seed: int | None, *, as_json: bool) -> int:
    """Let a person play until it leaves, report what it earned, and return the exit code."""
    voice, why, code = Voice(sys.stderr if as_json else sys.stdout), ROUNDS, DONE
    sitting = _Sitting(table, voice, np.random.default_rng(seed))
    with Stopping(at_once=True) as stopping:
        try:
            voice.tell(_welcome(table))
            while rounds is None or len(sitting.earned) < rounds:
                sitting.play(wait=rounds is None)
        except EOFError:
            why = LEFT
        except KeyboardInterrupt:
            why, code = INTERRUPT, stopping.code or INTERRUPTED
    voice.tell()
    voice.tell(_summary(sitting.earned))
    if as_json:
        show_json(
            {
                "game": name_of(table.game),
                "fingerprint": fingerprint(table.game),
                "strategies": [name for name, _ in table.strategies],
                "seat": table.seat,
                "seed": seed,
                "rounds": len(sitting.earned),
                "payoffs": sitting.earned,
                "earned": math.fsum(sitting.earned),
                "stopped_by": why,
            }
        )
    if code != DONE:
        say("interrupted")
    return code


@final
class _Sitting:
    """A person at a table, round after round."""

    def __init__(self, table: Table, voice: Voice, generator: np.random.Generator) -> None:
        self._table, self._voice, self._generator = table, voice, generator
        person = Person(voice.ask, voice.tell)
        others = [StrategyAgent(profile, generator) for _, profile in table.strategies]
        last = len(others) - 1
        self._guests: list[Agent] = [
            person,
            *(others[min(place, last)] for place in range(table.players - 1)),
        ]
        self.earned: list[float] = []
        """What the person earned in each round."""
        self._total = 0.0

    def play(self, *, wait: bool) -> None:
        """Play a round; one that ends before the person was asked waits for a word, if need be."""
        voice, number = self._voice, len(self.earned)
        seats, asked = self._table.seated(number), voice.questions
        so_far = f"; so far you have earned {self._total:+g}" if number else ""
        voice.tell()
        voice.tell(f"Round {number + 1}, as player {seats.index(0)}{so_far}")
        agents = [self._guests[guest] for guest in seats]
        match = play_match(self._table.game, agents, 1, self._generator)
        self.earned.append(float(match.payoffs[0, seats.index(0)]))
        self._total += self.earned[-1]
        if wait and voice.questions == asked:
            voice.ask("There was nothing for you to do. Return goes on. ")


def _welcome(table: Table) -> str:
    others = list(dict.fromkeys(name for name, _ in table.strategies))
    against = f" against {', '.join(others)}" if others else " by yourself"
    where = ""
    if others:
        change = "everybody changes places after every round"
        where = f"; {change if table.seat is None else f'you are player {table.seat}'}"
    name = name_of(table.game)
    known = name.partition("(")[0]
    rules = f" regretkit games {known} explains the game." if known in names() else ""
    return f"You play {name}{against}{where}. Ctrl-D leaves.{rules}"


def _summary(earned: list[float]) -> str:
    if not earned:
        return "No round was played to its end."
    rounds = "1 round" if len(earned) == 1 else f"{len(earned):,} rounds"
    total = math.fsum(earned)
    return f"In {rounds} you have earned {total:+g}, which is {total / len(earned):+g} a round."
