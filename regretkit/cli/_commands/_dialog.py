"""A user who plays at the terminal."""

import math
import sys
from typing import TextIO, final

import numpy as np

from regretkit.cli._arguments import name_of
from regretkit.cli._commands._match import Lineup
from regretkit.cli._console import clean, discard, say, show_json
from regretkit.cli._exit_codes import DONE
from regretkit.cli._interrupt import INTERRUPTED, StopRequest
from regretkit.games import fingerprint, names
from regretkit.play import Agent, HumanAgent, StrategyAgent, play_match


@final
class Dialog:
    """Questions and answers.

    Parameters
    ----------
    stream
        Where to write.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._is_terminal = stream, stream.isatty()
        self._input: TextIO | None = sys.stdin
        self.questions = 0
        """The number of questions."""
        reconfigure = getattr(self._input, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # bytes that are no text are no action either

    def tell(self, line: str = "", end: str = "\n") -> None:
        """Write a line; a closed terminal is no error."""
        try:
            print(clean(line), end=end, file=self._stream, flush=True)
        except OSError:
            if not self._is_terminal:
                raise
            discard(self._stream)

    def ask(self, question: str) -> str:
        """Return the answer to a question, or raise ``EOFError`` at the end of the input."""
        self.questions += 1
        self.tell(question, end="")
        answer = ""
        try:
            answer = "" if self._input is None else self._input.readline()
        except OSError as error:  # the terminal is closed
            raise EOFError from error
        finally:
            # Only a terminal echoes the input, and ends its line.
            if not answer or self._input is None or not self._input.isatty():
                self.tell(answer.rstrip("\r\n"))
        if not answer:
            raise EOFError
        return answer


def play_at_terminal(lineup: Lineup, rounds: int | None, seed: int | None, *, as_json: bool) -> int:
    """Let the user play, report the payoffs, and return the exit code."""
    dialog = Dialog(sys.stderr if as_json else sys.stdout)
    session = _Session(lineup, dialog, np.random.default_rng(seed))
    stopped_by, code = "rounds", DONE
    with StopRequest(at_once=True) as request:
        try:
            dialog.tell(_welcome(lineup))
            while rounds is None or len(session.payoffs) < rounds:
                session.play_round(wait=rounds is None)
        except EOFError:
            stopped_by = "end of input"
        except KeyboardInterrupt:
            stopped_by, code = "interrupt", request.code or INTERRUPTED
    dialog.tell()
    dialog.tell(_summary(session.payoffs))
    if as_json:
        show_json(
            {
                "game": name_of(lineup.game),
                "fingerprint": fingerprint(lineup.game),
                "strategies": [name for name, _ in lineup.strategies],
                "seat": lineup.seat,
                "seed": seed,
                "rounds": len(session.payoffs),
                "payoffs": session.payoffs,
                "earned": math.fsum(session.payoffs),
                "stopped_by": stopped_by,
            }
        )
    if code != DONE:
        say("interrupted")
    return code


@final
class _Session:
    """The rounds that the user plays."""

    def __init__(self, lineup: Lineup, dialog: Dialog, generator: np.random.Generator) -> None:
        self._lineup, self._dialog, self._generator = lineup, dialog, generator
        others = [StrategyAgent(profile, generator) for _, profile in lineup.strategies]
        others *= lineup.players - 1 if len(others) == 1 else 1
        self._participants: list[Agent] = [HumanAgent(dialog.ask, dialog.tell), *others]
        self.payoffs: list[float] = []
        """What the user earned in each round."""

    def play_round(self, *, wait: bool) -> None:
        """Play a round; ``wait`` for Return after one without a question."""
        dialog, number = self._dialog, len(self.payoffs)
        participants, questions = self._lineup.participants(number), dialog.questions
        player = participants.index(0)
        total = f"; so far you have earned {math.fsum(self.payoffs):+g}" if number else ""
        dialog.tell()
        dialog.tell(f"Round {number + 1}, as player {player}{total}")
        agents = [self._participants[participant] for participant in participants]
        match = play_match(self._lineup.game, agents, 1, self._generator)
        self.payoffs.append(float(match.payoffs[0, player]))
        if wait and dialog.questions == questions:
            dialog.ask("There was no decision for you. Press Return to continue. ")


def _welcome(lineup: Lineup) -> str:
    others = list(dict.fromkeys(name for name, _ in lineup.strategies))
    opponents, seats = " by yourself", ""
    if others:
        opponents = f" against {', '.join(others)}"
        fixed = lineup.seat is not None
        seats = f"; you are player {lineup.seat}" if fixed else "; seats rotate after every round"
    name = name_of(lineup.game)
    known = name.partition("(")[0]
    rules = f" regretkit games {known} explains the game." if known in names() else ""
    return f"You play {name}{opponents}{seats}. Ctrl-D leaves.{rules}"


def _summary(payoffs: list[float]) -> str:
    if not payoffs:
        return "No round was played to its end."
    rounds = "1 round" if len(payoffs) == 1 else f"{len(payoffs):,} rounds"
    total = math.fsum(payoffs)
    return f"In {rounds} you have earned {total:+g}, which is {total / len(payoffs):+g} a round."
