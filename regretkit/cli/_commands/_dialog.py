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
    """Questions on a stream, and answers from standard input."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._is_terminal = stream, stream.isatty()
        self._input: TextIO | None = sys.stdin
        self.questions = 0
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
    dialog, generator = Dialog(sys.stderr if as_json else sys.stdout), np.random.default_rng(seed)
    opponents = [StrategyAgent(profile, generator) for _, profile in lineup.strategies]
    opponents *= lineup.players - 1 if len(opponents) == 1 else 1
    agents: list[Agent] = [HumanAgent(dialog.ask, dialog.tell), *opponents]
    payoffs: list[float] = []
    stopped_by, code = "rounds", DONE
    with StopRequest(at_once=True) as request:
        try:
            dialog.tell(_welcome(lineup))
            while rounds is None or len(payoffs) < rounds:
                questions = dialog.questions
                _play_round(lineup, dialog, agents, payoffs, generator)
                if rounds is None and dialog.questions == questions:
                    dialog.ask("There was no decision for you. Press Return to continue. ")
        except EOFError:
            stopped_by = "end of input"
        except KeyboardInterrupt:
            stopped_by, code = "interrupt", request.code or INTERRUPTED
    dialog.tell()
    dialog.tell(_summary(payoffs))
    if as_json:
        show_json(
            {
                "game": name_of(lineup.game),
                "fingerprint": fingerprint(lineup.game),
                "strategies": [name for name, _ in lineup.strategies],
                "seat": lineup.seat,
                "seed": seed,
                "rounds": len(payoffs),
                "payoffs": payoffs,
                "earned": math.fsum(payoffs),
                "stopped_by": stopped_by,
            }
        )
    if code != DONE:
        say("interrupted")
    return code


def _play_round(
    lineup: Lineup,
    dialog: Dialog,
    agents: list[Agent],
    payoffs: list[float],
    generator: np.random.Generator,
) -> None:
    """Play a round, and append the user's payoff."""
    participants = lineup.participants(len(payoffs))
    player = participants.index(0)
    total = f"; so far you have earned {math.fsum(payoffs):+g}" if payoffs else ""
    dialog.tell()
    dialog.tell(f"Round {len(payoffs) + 1}, as player {player}{total}")
    match = play_match(lineup.game, [agents[p] for p in participants], 1, generator)
    payoffs.append(float(match.payoffs[0, player]))


def _welcome(lineup: Lineup) -> str:
    opponents = list(dict.fromkeys(name for name, _ in lineup.strategies))
    against, seats = " by yourself", ""
    if opponents:
        against = f" against {', '.join(opponents)}"
        fixed = lineup.seat is not None
        seats = f"; you are player {lineup.seat}" if fixed else "; seats rotate after every round"
    name = name_of(lineup.game)
    known = name.partition("(")[0]
    rules = f" regretkit games {known} explains the game." if known in names() else ""
    return f"You play {name}{against}{seats}. Ctrl-D leaves.{rules}"


def _summary(payoffs: list[float]) -> str:
    if not payoffs:
        return "No round was played to its end."
    rounds = "1 round" if len(payoffs) == 1 else f"{len(payoffs):,} rounds"
    total = math.fsum(payoffs)
    return f"In {rounds} you have earned {total:+g}, which is {total / len(payoffs):+g} a round."
