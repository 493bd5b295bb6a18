"""Strategies that play matches against each other, and their payoffs."""

import math
import time
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from attrs import frozen

from regretkit.cli._arguments import NamedGame
from regretkit.cli._console import DONE, answer, progress, say, table
from regretkit.cli._interrupt import StopRequest
from regretkit.cli._run import clock
from regretkit.display._style import number
from regretkit.evaluation import Estimate, sampled_value
from regretkit.games import Profile, fingerprint

_BATCH = 1 << 14
"""Matches between two checks for a stop request."""

_CONFIDENCE = 0.95

Payoffs: TypeAlias = list[tuple[Estimate, ...]]
"""The payoffs of the players in each batch of matches."""


@frozen
class Lineup:
    """A game, and the strategies that play it, beside the user if there is one."""

    game: NamedGame
    strategies: Sequence[tuple[str, Profile]]
    """With their names; a single one plays for all players."""
    seat: int | None
    """Which player the first participant is, None if participants rotate."""

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.game.played.domains)

    def participants(self, number: int) -> list[int]:
        """Return which participant each player is in a round, of which the first has number 0.

        With rotation, a participant is the next player in the next round.
        """
        if self.seat is None:
            return [(player - number) % self.players for player in range(self.players)]
        others = list(range(1, self.players))
        return [*others[: self.seat], 0, *others[self.seat :]]

    def seatings(self) -> list[tuple[list[int], Profile]]:
        """Return which participant each player is, and their profile, for each of the rotations."""
        profiles, game = [profile for _, profile in self.strategies], self.game.played
        if len(profiles) == 1:
            return [(list(range(self.players)), profiles[0])]
        rotations = range(self.players if self.seat is None else 1)
        return [
            (seats, Profile([profiles[p][i] for i, p in enumerate(seats)], game.domains, game))
            for seats in map(self.participants, rotations)
        ]


def play_matches(lineup: Lineup, matches: int, seed: int, *, quiet: bool, as_json: bool) -> int:
    """Play matches, report the payoffs, and return the exit code."""
    seatings, generator, remaining = lineup.seatings(), np.random.default_rng(seed), matches
    payoffs: list[Payoffs] = [[] for _ in seatings]
    with StopRequest() as request, progress(quiet=quiet) as show_progress:
        began = time.monotonic()
        while remaining and not request.requested():
            batch = min(remaining, _BATCH * len(seatings))
            for place, (_, profile) in enumerate(seatings[:batch]):
                count = len(range(place, batch, len(seatings)))
                drawn = sampled_value(lineup.game.played, profile, count, generator)
                payoffs[place].append(drawn)
            remaining -= batch
            done = matches - remaining
            rate = done / max(time.monotonic() - began, 1e-9)
            facts = [f"match {done:,} of {matches:,}", f"{rate:,.0f}/s"]
            show_progress([*facts, f"{clock(remaining / rate)} left"], done, remaining)
        code = DONE if request.code is None or not remaining else request.code
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
        "stopped_by": "matches" if code == DONE else "interrupt",
    }
    heads = ("strategy", "plays for", "earned", "95 % interval", "expected")
    lines = [
        f"game     {name}",
        f"matches  {done:,}, drawn from seed {seed}",
        "",
        *table(heads, map(_cells, results), right=(2, 4), soft=0),
        "",
        "Earned is the mean of the matches; the interval is approximate, for many matches.",
        "Expected is the exact mean of the same seatings.",
    ]
    answer(report, lines, as_json=as_json)
    if code != DONE:
        say(f"interrupted after {done:,} of {matches:,} matches")
    return code


def _result(lineup: Lineup, participant: int, payoffs: Sequence[Payoffs]) -> dict[str, Any]:
    """Return the payoffs of a participant per match."""
    players, earned, expected = [], [], []
    matches = [sum(batch[0].samples for batch in batches) for batches in payoffs]
    for count, batches, (seats, profile) in zip(matches, payoffs, lineup.seatings(), strict=True):
        player = seats.index(participant)
        players.append(player)
        earned += [batch[player] for batch in batches]
        value = float(lineup.game.played.value(profile)[player])
        expected.append(count / sum(matches) * value)
    estimate = pooled(earned)
    several = estimate.samples > 1
    return {
        "strategy": lineup.strategies[participant % len(lineup.strategies)][0],
        "players": players,
        "mean": estimate.mean,
        "standard_error": estimate.standard_error if several else None,
        "interval": list(estimate.normal_interval(_CONFIDENCE)) if several else None,
        "expected": math.fsum(expected),
    }


def pooled(parts: Sequence[Estimate]) -> Estimate:
    """Return the estimate from all samples of several estimates."""
    samples = sum(part.samples for part in parts)
    if samples == 1:
        return parts[0]
    mean = math.fsum(part.samples * part.mean for part in parts) / samples
    between = [part.samples * (part.mean - mean) ** 2 for part in parts]
    within = [(part.samples - 1) * part.variance for part in parts if part.samples > 1]
    return Estimate(mean, math.fsum(between + within) / (samples - 1), samples)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    players, interval = row["players"], row["interval"]
    seats = f"player {players[0]}" if len(players) == 1 else "each in turn"
    between = "" if interval is None else " to ".join(map(number, interval))
    return row["strategy"], seats, number(row["mean"]), between, number(row["expected"])
