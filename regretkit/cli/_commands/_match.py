"""Strategies that play matches against each other, and their payoffs."""

import math
import time
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from attrs import frozen

from regretkit.cli._arguments import name_of
from regretkit.cli._console import DONE, progress, say, show, show_json, show_table
from regretkit.cli._interrupt import StopRequest
from regretkit.cli._run import clock
from regretkit.display._style import number
from regretkit.evaluation import Estimate, sampled_value
from regretkit.games import ExtensiveFormGame, NormalFormGame, Profile, fingerprint

_BATCH = 1 << 14
"""Matches between two checks for a stop request."""

_CONFIDENCE = 0.95

Seating: TypeAlias = tuple[Sequence[int], Profile]
"""Which participant each player is, and the profile that they play."""


@frozen
class Lineup:
    """A game, and the strategies that play it, beside the user if there is one."""

    game: ExtensiveFormGame | NormalFormGame
    strategies: Sequence[tuple[str, Profile]]
    """With their names; a single one plays for all players."""
    seat: int | None
    """Which player the first participant is, None if participants rotate."""

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.game.domains)

    def participants(self, number: int) -> list[int]:
        """Return which participant each player is in a round, of which the first has number 0.

        With rotation, a participant is the next player in the next round.
        """
        if self.seat is None:
            return [(player - number) % self.players for player in range(self.players)]
        participants = list(range(1, self.players))
        participants.insert(self.seat, 0)
        return participants

    def seatings(self) -> list[Seating]:
        """Return the seatings between which matches rotate."""
        profiles, game = [profile for _, profile in self.strategies], self.game
        if len(profiles) == 1:
            return [(range(self.players), profiles[0])]
        rounds = range(self.players if self.seat is None else 1)
        seatings: list[Seating] = []
        for participants in map(self.participants, rounds):
            vectors = [profiles[p][player] for player, p in enumerate(participants)]
            seatings.append((participants, Profile(vectors, game.domains, game)))
        return seatings


def play_matches(lineup: Lineup, matches: int, seed: int, *, quiet: bool, as_json: bool) -> int:
    """Play matches, report the payoffs, and return the exit code."""
    seatings, generator, remaining = lineup.seatings(), np.random.default_rng(seed), matches
    batches: list[list[tuple[Estimate, ...]]] = [[] for _ in seatings]
    with StopRequest() as request, progress(quiet=quiet) as show_progress:
        began = time.monotonic()
        while remaining and not request.requested():
            batch = min(remaining, _BATCH * len(seatings))
            for place, (_, profile) in enumerate(seatings):
                count = len(range(place, batch, len(seatings)))
                if count:
                    payoffs = sampled_value(lineup.game, profile, count, generator)
                    batches[place].append(payoffs)
            remaining -= batch
            done = matches - remaining
            rate = done / max(time.monotonic() - began, 1e-9)
            facts = [f"match {done:,} of {matches:,}", f"{rate:,.0f}/s"]
            show_progress([*facts, f"{clock(remaining / rate)} left"], done, remaining)
        code = DONE if request.code is None or not remaining else request.code
    done = matches - remaining
    results = _results(lineup, seatings, batches) if done else []
    if as_json:
        report = {
            "game": name_of(lineup.game),
            "fingerprint": fingerprint(lineup.game),
            "matches": done,
            "seat": lineup.seat,
            "seed": seed,
            "confidence": _CONFIDENCE,
            "results": results,
            "stopped_by": "matches" if code == DONE else "interrupt",
        }
        show_json(report)
    else:
        show(f"game     {name_of(lineup.game)}", f"matches  {done:,}, drawn from seed {seed}", "")
        heads = ("strategy", "plays for", "earned", "95 % interval", "expected")
        show_table(heads, map(_cells, results), right=(2, 4), soft=0)
        show(
            "",
            "Earned is the mean of the matches; the interval is approximate, for many matches.",
            "Expected is the exact mean of the same seatings.",
        )
    if code != DONE:
        say(f"interrupted after {done:,} of {matches:,} matches")
    return code


def _results(
    lineup: Lineup, seatings: Sequence[Seating], batches: Sequence[list[tuple[Estimate, ...]]]
) -> list[dict[str, Any]]:
    """Return the payoffs of each participant per match."""
    matches = [sum(payoffs[0].samples for payoffs in played) for played in batches]
    values = [lineup.game.value(profile) for _, profile in seatings]
    results = []
    for participant in range(lineup.players):
        players = [participants.index(participant) for participants, _ in seatings]
        seats = list(zip(players, matches, values, batches, strict=True))
        estimate = pooled([payoffs[p] for p, _, _, played in seats for payoffs in played])
        several = estimate.samples > 1
        results.append(
            {
                "strategy": lineup.strategies[participant % len(lineup.strategies)][0],
                "players": players,
                "mean": estimate.mean,
                "standard_error": estimate.standard_error if several else None,
                "interval": list(estimate.normal_interval(_CONFIDENCE)) if several else None,
                "expected": math.fsum(
                    count / sum(matches) * float(value[p]) for p, count, value, _ in seats
                ),
            }
        )
    return results


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
    return (
        row["strategy"],
        f"player {row['players'][0]}" if len(row["players"]) == 1 else "each in turn",
        number(row["mean"]),
        "" if row["interval"] is None else " to ".join(map(number, row["interval"])),
        number(row["expected"]),
    )
