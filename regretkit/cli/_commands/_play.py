"""``regretkit play``: the user against a strategy, or strategies against each other."""

import math
import sys
import time
from collections.abc import Sequence
from typing import Any, TextIO, TypeAlias

import click
import numpy as np
from attrs import frozen

from regretkit._util._errors import printable
from regretkit.cli import _arguments as arguments
from regretkit.cli import _console as console
from regretkit.cli._arguments import COUNT, FROM_ZERO, GAME_HELP, UNIFORM, NamedGame, option
from regretkit.cli._console import Refusal, StopRequest, answer, asked_for, discard, progress, say
from regretkit.display._style import number
from regretkit.evaluation import Estimate, sampled_value
from regretkit.evaluation._monte_carlo import with_interval
from regretkit.games import Profile, VisitedProfile, fingerprint
from regretkit.play import Agent, HumanAgent, StrategyAgent, play_match
from regretkit.play._callbacks import clock

_BATCH = 1 << 14
"""Matches between two checks for a stop request."""
_BATCH_BY_RULES = 1 << 4
"""The same without a tree, by which matches are played one at a time."""

_CONFIDENCE = 0.95

Payoffs: TypeAlias = list[tuple[Estimate, ...]]
"""The payoffs of the players in each batch of matches."""


@click.command(
    "play", short_help="Play against a strategy, or let strategies play.", epilog=GAME_HELP
)
@arguments.game_or_rules
@click.argument("strategies", metavar="[STRATEGY]...", nargs=-1)
@option("--matches", "Let strategies play N matches against each other, without you.", COUNT)
@option("--rounds", "Stop after N rounds; by default when you leave.", COUNT)
@option(
    "--seat",
    "Which player you are, from 0; with --matches, which one the first strategy is. By default "
    "seats rotate after every round.",
    FROM_ZERO,
)
@option("--seed", "The seed; by default 0 with --matches, else a new one.", FROM_ZERO)
@arguments.quiet
@arguments.as_json
def play(
    game: NamedGame,
    strategies: tuple[str, ...],
    matches: int | None,
    rounds: int | None,
    seat: int | None,
    seed: int | None,
) -> int:
    """Play GAME at the terminal against strategies, or let strategies play against each other.

    STRATEGY is a JSON file that solve or exact wrote; or uniform, the default, which plays all
    actions with the same probability. One strategy plays for all the others, with --matches for
    all players; more are one for each of them, in order.

    Answer with the name of an action or the beginning of it. You leave with Ctrl-D, which is the
    end of the input, or with Ctrl-C. Both report what you have earned; the exit code is 0 after
    the one, and 130 after the other.

    With --matches, the report has the mean payoff of each strategy per match, and its exact
    expectation over the same seatings, if the game's tree fits. The interval contains that with a
    confidence of about 95 %, for many matches.

    Games of imperfect recall need no option.
    """
    if matches is not None and rounds is not None:
        raise Refusal(
            "--rounds: is how long you play, got --matches as well; leave one of them out"
        )
    players = game.players
    has = f"{game.name} has {players} player{'' if players == 1 else 's'}"
    if seat is not None and seat >= players:
        raise Refusal(f"--seat: {has}, numbered from 0 to {players - 1}, got {seat}")
    places = players - (matches is None)
    texts = list(strategies) or [UNIFORM] * bool(places)
    if len(texts) not in (min(1, places), places):
        every, user = ("players", "") if matches else ("the others", ", of which you are one")
        one_each = "" if places == 1 else f", or {places}, one for each"
        wanted = f"one for all {every}{one_each}" if places else "none"
        raise Refusal(f"STRATEGY: {has}{user}; name {wanted}, got {len(texts)}")
    if matches is not None and len(texts) == 1 and seat is not None:
        raise Refusal(
            f"--seat: {texts[0]} plays for all players, got {seat}; leave it out, or name a "
            "strategy for each player"
        )
    profiles = {text: game.load_strategy(text) for text in dict.fromkeys(texts)}
    lineup = Lineup(game, [(text, profiles[text]) for text in texts], seat)
    if matches is not None:
        return _play_matches(lineup, matches, seed or 0)
    return _play_at_terminal(lineup, rounds, seed)


@frozen
class Lineup:
    """A game, and the strategies that play it, beside the user if there is one."""

    game: NamedGame
    strategies: Sequence[tuple[str, Profile | VisitedProfile]]
    """With their names; a single one plays for all players."""
    seat: int | None
    """Which player the first participant is, None if participants rotate."""

    @property
    def players(self) -> int:
        """Number of players."""
        return self.game.players

    def participants(self, number: int) -> list[int]:
        """Return which participant each player is in a round, of which the first has number 0.

        With rotation, a participant is the next player in the next round.
        """
        if self.seat is None:
            return [(player - number) % self.players for player in range(self.players)]
        opponents = list(range(1, self.players))
        return [*opponents[: self.seat], 0, *opponents[self.seat :]]

    def seatings(self) -> list[tuple[list[int], Profile | VisitedProfile]]:
        """Return which participant each player is, and their profile, for each of the rotations."""
        profiles = [profile for _, profile in self.strategies]
        if len(profiles) == 1:
            return [(list(range(self.players)), profiles[0])]
        rotations, game = range(self.players if self.seat is None else 1), self.game.played
        found: list[tuple[list[int], Profile | VisitedProfile]] = []
        for seats in map(self.participants, rotations):
            own: Any = [profiles[p][i] for i, p in enumerate(seats)]
            by_rules = self.game.by_rules
            profile = VisitedProfile(own) if by_rules else Profile(own, game.domains, game)
            found.append((seats, profile))
        return found


def _play_matches(lineup: Lineup, matches: int, seed: int) -> int:
    """Play matches, report the payoffs, and return the exit code."""
    seatings, generator, remaining = lineup.seatings(), np.random.default_rng(seed), matches
    payoffs: list[Payoffs] = [[] for _ in seatings]
    size = _BATCH_BY_RULES if lineup.game.by_rules else _BATCH
    with StopRequest() as request, progress() as show_progress:
        began = time.monotonic()
        while remaining and not request.requested():
            batch = min(remaining, size * len(seatings))
            for place, (_, profile) in enumerate(seatings[:batch]):
                count = len(range(place, batch, len(seatings)))
                drawn = sampled_value(lineup.game.played, profile, count, generator)
                payoffs[place].append(drawn)
            remaining -= batch
            done = matches - remaining
            rate = done / max(time.monotonic() - began, 1e-9)
            facts = [f"match {done:,} of {matches:,}", f"{rate:,.0f}/s"]
            show_progress([*facts, f"{clock(remaining / rate)} left"], done, remaining)
        code = console.DONE if request.code is None or not remaining else request.code
    done, name = matches - remaining, lineup.game.name
    results = [_result(lineup, p, payoffs) for p in range(lineup.players)] if done else []
    report = {
        "game": name,
        "fingerprint": fingerprint(lineup.game.played),
        "matches": done,
        "seat": lineup.seat,
        "seed": seed,
        "confidence": _CONFIDENCE,
        "results": results,
        "stopped_by": "matches" if code == console.DONE else "interrupt",
    }
    heads = ("strategy", "plays for", "earned", "95 % interval", "expected")
    lines = [
        f"game     {name}",
        f"matches  {done:,}, drawn from seed {seed}",
        "",
        *console.table(heads, map(_cells, results), right=(2, 4), soft=0),
        "",
        "Earned is the mean of the matches; the interval is approximate, for many matches.",
    ]
    if not lineup.game.by_rules:
        lines.append("Expected is the exact mean of the same seatings.")
    answer(report, lines)
    if code != console.DONE:
        say(f"interrupted after {done:,} of {matches:,} matches")
    return code


def _result(lineup: Lineup, participant: int, payoffs: Sequence[Payoffs]) -> dict[str, Any]:
    """Return the payoffs of a participant per match."""
    players, earned, expected = [], list[Estimate](), list[float]()
    for batches, (seats, profile) in zip(payoffs, lineup.seatings(), strict=True):
        player = seats.index(participant)
        own = [batch[player] for batch in batches]
        players.append(player)
        earned += own
        if not lineup.game.by_rules:
            value = float(lineup.game.played.value(profile)[player])
            expected.append(sum(part.samples for part in own) * value)
    estimate = pooled(earned)
    sampled = estimate.samples > 1
    return {
        "strategy": lineup.strategies[participant % len(lineup.strategies)][0],
        "players": players,
        "mean": estimate.mean,
        "standard_error": estimate.standard_error if sampled else None,
        "interval": list(estimate.normal_interval(_CONFIDENCE)) if sampled else None,
        "expected": math.fsum(expected) / estimate.samples if expected else None,
    }


def pooled(parts: Sequence[Estimate]) -> Estimate:
    """Return the estimate from all samples of several estimates."""
    samples = sum(part.samples for part in parts)
    if samples == 1:
        return parts[0]
    mean = math.fsum(part.samples * part.mean for part in parts) / samples
    between = [part.samples * (part.mean - mean) ** 2 for part in parts]
    variances = [(part.samples - 1) * part.variance for part in parts if part.samples > 1]
    return Estimate(mean, math.fsum(between + variances) / (samples - 1), samples)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    players, interval = row["players"], row["interval"]
    seats = f"player {players[0]}" if len(players) == 1 else "each in turn"
    mean, *ends = with_interval(row["mean"], interval or (row["mean"], row["mean"]))
    expected = "" if row["expected"] is None else number(row["expected"])
    return row["strategy"], seats, mean, " to ".join(ends if interval else []), expected


class _Dialog:
    """Questions on a stream, and answers from standard input."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._is_terminal = stream, stream.isatty()
        self.questions = 0

    def tell(self, *lines: str, end: str = "\n") -> None:
        """Write lines; a closed terminal is no error."""
        try:
            print(*map(printable, lines), sep="\n", end=end, file=self._stream, flush=True)
        except OSError:
            if not self._is_terminal:
                raise
            discard(self._stream.fileno())

    def ask(self, question: str) -> str:
        """Return the answer to a question, or raise ``EOFError`` at the end of the input."""
        self.questions += 1
        self.tell(question, end="")
        answer = ""
        try:
            answer = sys.stdin.readline()
        except OSError as error:  # the terminal is closed
            raise EOFError from error
        finally:
            if not answer or not sys.stdin.isatty():  # which echoes the input, and ends its line
                self.tell(answer.rstrip("\r\n"))
        if not answer:
            raise EOFError
        return answer


def _play_at_terminal(lineup: Lineup, rounds: int | None, seed: int | None) -> int:
    """Let the user play, report the payoffs, and return the exit code."""
    game, dialog = lineup.game, _Dialog(sys.stderr if asked_for("json") else sys.stdout)
    payoffs: list[float] = []
    stopped_by, code = "rounds", console.DONE
    with StopRequest(at_once=True) as request:
        try:
            dialog.tell(_welcome(lineup))
            _play_rounds(lineup, dialog, payoffs, rounds, np.random.default_rng(seed))
        except EOFError:
            stopped_by = "end of input"
        except KeyboardInterrupt:
            stopped_by, code = "interrupt", request.code or console.INTERRUPTED
    total, count = math.fsum(payoffs), len(payoffs)
    summary = "No round was played to its end."
    if payoffs:
        played = "1 round" if count == 1 else f"{count:,} rounds"
        summary = f"In {played} you have earned {total:+g}, which is {total / count:+g} a round."
    dialog.tell("", summary)
    report = {
        "game": game.name,
        "fingerprint": fingerprint(game.played),
        "strategies": [name for name, _ in lineup.strategies],
        "seat": lineup.seat,
        "seed": seed,
        "rounds": count,
        "payoffs": payoffs,
        "earned": total,
        "stopped_by": stopped_by,
    }
    answer(report, [])
    if code != console.DONE:
        say("interrupted")
    return code


def _welcome(lineup: Lineup) -> str:
    opponents = ", ".join(dict.fromkeys(name for name, _ in lineup.strategies))
    rotate = "seats rotate after every round"
    seats = rotate if lineup.seat is None else f"you are player {lineup.seat}"
    against = f"against {opponents}; {seats}" if opponents else "by yourself"
    name = lineup.game.name
    known = f" regretkit games {name.partition('(')[0]} explains the game."
    return f"You play {name} {against}. Ctrl-D leaves.{known if arguments.is_known(name) else ''}"


def _play_rounds(
    lineup: Lineup,
    dialog: _Dialog,
    payoffs: list[float],
    rounds: int | None,
    generator: np.random.Generator,
) -> None:
    """Play rounds until there are enough or the user leaves, and append the user's payoffs."""
    agents: list[Agent] = [HumanAgent(dialog.ask, dialog.tell)]
    agents += [StrategyAgent(profile, generator) for _, profile in lineup.strategies]
    agents += agents[1:2] * (lineup.players - len(agents))
    while rounds is None or len(payoffs) < rounds:
        asked, participants = dialog.questions, lineup.participants(len(payoffs))
        player, playing = participants.index(0), [agents[p] for p in participants]
        total = f"; so far you have earned {math.fsum(payoffs):+g}" if payoffs else ""
        dialog.tell("", f"Round {len(payoffs) + 1}, as player {player}{total}")
        match = play_match(lineup.game.played, playing, 1, generator)
        payoffs.append(float(match.payoffs[0, player]))
        if rounds is None and dialog.questions == asked:
            dialog.ask("There was no decision for you. Press Return to continue. ")
