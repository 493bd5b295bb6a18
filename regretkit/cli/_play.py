"""``regretkit play``: matches of the user and of strategies."""

import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click
import numpy as np
from attrs import define

from regretkit._util._errors import printable
from regretkit.cli import _types as types
from regretkit.cli._console import (
    DONE,
    INTERRUPTED,
    Refusal,
    Report,
    asked_for,
    reporting,
    say,
)
from regretkit.cli._types import COUNT, EQUILIBRIUM, GAME_HELP, UNIFORM, NamedGame, option
from regretkit.display._style import aligned, number
from regretkit.evaluation import sampled_value
from regretkit.games import CHANCE, Profile, as_history
from regretkit.play import HumanAgent, Observation, Round, StrategyAgent, play_match


@click.command(
    "play", short_help="Play against a strategy, or let strategies play.", epilog=GAME_HELP
)
@types.game_or_rules
@click.argument("strategies", metavar="[STRATEGY]...", nargs=-1)
@option("--matches", "Let strategies play N matches against each other, without you.", COUNT)
@option("--rounds", "Stop after N rounds; by default, play until you leave.", COUNT)
@option(
    "--seat",
    "Your player, from 0; with --matches, that of the first strategy. By default seats rotate "
    "after every round.",
    types.FROM_ZERO,
)
@option("--seed", "The seed; by default 0 with --matches, else a new one.", types.FROM_ZERO)
@types.as_json
def play(
    game: NamedGame,
    strategies: tuple[str, ...],
    matches: int | None,
    rounds: int | None,
    seat: int | None,
    seed: int | None,
) -> int:
    """Play GAME at the terminal against strategies, or let strategies play against each other.

    STRATEGY is a JSON file from solve or exact, or one of two names. "equilibrium" is the default
    if the tree fits into memory. "uniform" gives all actions the same probability. One strategy
    plays for all other players, and with --matches for all players. Or name one for each, in order.

    Answer with the name of an action or its beginning. Ctrl-C, Ctrl-D and the end of the input
    leave the game and report your payoffs.

    With --matches, the report shows each strategy's mean payoff per match and an approximate 95 %
    confidence interval. If the tree fits into memory, it also shows the exact expectation.
    """
    players, others = game.players, game.players - (matches is None)
    if seat is not None and seat >= players:
        raise Refusal(f"--seat: players are numbered from 0 to {players - 1}, got {seat}")
    default = UNIFORM if game.by_rules else EQUILIBRIUM
    texts = list(strategies) or [default] * min(others, 1)
    if len(texts) not in (min(1, others), others):
        raise Refusal(f"STRATEGY: name one strategy, or {others}, got {len(texts)}")
    profiles = {text: game.strategy(text) for text in dict.fromkeys(texts)}
    texts = texts * others if len(texts) < others else texts
    lineup = [profiles[text] for text in texts]
    if matches is not None:
        return _matches(game, texts, lineup, matches, seat, seed or 0)
    return _Table(game, texts, seat, seed).play(lineup, rounds)


def _seatings(players: int, seat: int | None) -> Iterator[list[int]]:
    """Yield the participant of each player, once for each rotation of the seats."""
    if seat is None:
        for turn in range(players):
            yield [(player - turn) % players for player in range(players)]
    else:
        rest = list(range(1, players))
        yield [*rest[:seat], 0, *rest[seat:]]


def _matches(
    game: NamedGame,
    texts: Sequence[str],
    lineup: Sequence[Any],
    matches: int,
    seat: int | None,
    seed: int,
) -> int:
    """Play matches of strategies, and report the payoffs."""
    players, generator = game.players, np.random.default_rng(seed)
    means, variances, expected = np.zeros((3, players))
    rotations = list(_seatings(players, seat))
    for turn, seats in enumerate(rotations[:matches]):
        count = len(range(turn, matches, len(rotations)))
        share = count / matches
        if game.by_rules:
            profile: Any = [lineup[k].behavior(player) for player, k in enumerate(seats)]
        else:
            own = [lineup[k][player] for player, k in enumerate(seats)]
            profile = Profile(own, game.game.domains)
            expected[seats] += share * game.game.value(profile)
        estimates = sampled_value(game.game, profile, count, generator)
        means[seats] += [share * estimate.mean for estimate in estimates]
        variances[seats] += [(share * estimate.standard_error) ** 2 for estimate in estimates]
    results, rows = [], []
    for text, mean, variance, exact in zip(texts, means, variances, expected, strict=True):
        error = math.sqrt(variance) if variance < math.inf else None
        found = {"strategy": text, "mean": float(mean), "standard_error": error}
        results.append(found | {"expected": None if game.by_rules else float(exact)})
        ends = "" if error is None else f"{mean - 1.96 * error:.4g} to {mean + 1.96 * error:.4g}"
        rows.append((text, number(mean), ends, "" if game.by_rules else number(exact)))
    report = Report({"game": game.name, "matches": matches, "seat": seat, "seed": seed})
    heads = ("strategy", "earned", "95 % interval", "expected")
    report.add(f"game     {game.name}", f"matches  {matches:,}, drawn from seed {seed}", "")
    report.add(*aligned([heads, *rows], right=(1, 3)), results=results)
    report.add("", "earned: mean payoff per match; the interval is a normal approximation")
    return report.write()


# The user at the terminal


@define(eq=False)
class _Table:
    """The rounds of a user against strategies."""

    game: NamedGame
    opponents: Sequence[str]
    seat: int | None
    seed: int | None
    questions: int = 0
    player: int = 0
    """The player of the user in this round."""

    def tell(self, *lines: str, end: str = "\n") -> None:
        """Write lines to standard output, or with --json to standard error."""
        stream = sys.stderr if asked_for("json") else sys.stdout
        print(*map(printable, lines), sep="\n", end=end, file=stream, flush=True)

    def ask(self, question: str) -> str:
        """Return the user's answer, or raise ``EOFError`` at the end of the input."""
        self.questions += 1
        self.tell(question, end="")
        answered = sys.stdin.readline()
        if not answered or not sys.stdin.isatty():  # a terminal echoes the input
            self.tell(answered.rstrip("\r\n"))
        if not answered:
            raise EOFError
        return answered

    def act(self, situation: Observation) -> int:
        """Return the user's action."""
        return HumanAgent(self.ask, self.tell).act(situation)

    def on_round_end(self, round: Round) -> None:
        """Show all actions of the round, each with the information set of its player."""
        history, shown = as_history(self.game.game), list[tuple[str, str]]()
        for move in round.moves:
            player = history.player()
            outcomes = history.chance_outcomes() if player == CHANCE else ()
            actions = [action for action, _ in outcomes] or history.actions()
            action = next(action for action in actions if str(action) == move)
            place = str(history.information_set()).strip() if player != CHANCE else ""
            shown.append((f"  {self._who(player)}: {str(action).strip()}", place))
            history = history.child(action)
        width = max((len(line) for line, _ in shown), default=0)
        self.tell("Actions:")
        for line, place in shown:
            self.tell(f"{line:<{width}}   information set {place}" if place else line)

    def _who(self, player: int) -> str:
        if player == CHANCE:
            return "chance"
        return "you" if player == self.player else f"player {player}"

    def play(self, lineup: Sequence[Any], rounds: int | None) -> int:
        """Play ``rounds`` rounds, or until the user leaves, and report the payoffs."""
        payoffs: list[float] = []
        stopped_by, code = "rounds", DONE
        try:
            self._rounds(lineup, rounds, payoffs)
        except EOFError:
            stopped_by = "end of input"
        except KeyboardInterrupt:
            stopped_by, code = "interrupt", INTERRUPTED
        total, count = math.fsum(payoffs), len(payoffs)
        summary = "You finished no round."
        if payoffs:
            played = "1 round" if count == 1 else f"{count:,} rounds"
            summary = f"You earned {total:+g} in {played}, {total / count:+g} a round."
        self.tell("", summary)
        report = Report({"game": self.game.name, "strategies": list(self.opponents)})
        report.add(seat=self.seat, seed=self.seed, rounds=count, payoffs=payoffs, earned=total)
        report.add(stopped_by=stopped_by)
        report.write()
        if code == INTERRUPTED:
            say("interrupted")
        return code

    def _rounds(self, lineup: Sequence[Any], rounds: int | None, payoffs: list[float]) -> None:
        generator = np.random.default_rng(self.seed)
        agents: list[Any] = [self, *(StrategyAgent(profile, generator) for profile in lineup)]
        seatings = list(_seatings(self.game.players, self.seat))
        against = f"against {', '.join(dict.fromkeys(self.opponents))}" if lineup else "by yourself"
        self.tell(f"You play {self.game.name} {against}. Ctrl-D leaves.")
        while rounds is None or len(payoffs) < rounds:
            asked, seats = self.questions, seatings[len(payoffs) % len(seatings)]
            self.player = seats.index(0)
            self.tell("", f"Round {len(payoffs) + 1}, as player {self.player}")
            with reporting("GAME"):
                places = [agents[participant] for participant in seats]
                match = play_match(self.game.game, places, 1, generator)
            payoffs.append(float(match.payoffs[0, self.player]))
            so_far = f"; total {math.fsum(payoffs):+g}" if len(payoffs) > 1 else ""
            self.tell(f"You earn {payoffs[-1]:+g}{so_far}.")
            if rounds is None and self.questions == asked:
                self.ask("You had no decision. Press Return to continue. ")
