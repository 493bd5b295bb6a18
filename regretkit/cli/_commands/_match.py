"""Strategies that play matches against each other, and their payoffs."""

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import field, frozen

from regretkit.cli._arguments import name_of
from regretkit.cli._console import say, show, show_json, show_table
from regretkit.cli._exit_codes import DONE
from regretkit.cli._interrupt import StopRequest
from regretkit.cli._progress import ProgressLine, clock
from regretkit.display._style import number
from regretkit.evaluation import Estimate, sampled_value
from regretkit.games import ExtensiveFormGame, NormalFormGame, Profile, fingerprint

_BATCH = 1 << 14
"""Matches between two checks for a stop request."""

_CONFIDENCE = 0.95


@frozen
class Lineup:
    """A game, and the strategies that play it, beside the user if there is one."""

    game: ExtensiveFormGame | NormalFormGame
    strategies: tuple[tuple[str, Profile], ...]
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


@frozen
class _Seating:
    """Which participant each player is, and the payoffs so far."""

    participants: Sequence[int]
    profile: Profile
    estimates: list[tuple[Estimate, ...]] = field(factory=list)
    """The payoffs of the players, batch by batch."""

    @property
    def matches(self) -> int:
        return sum(batch[0].samples for batch in self.estimates)

    def play(self, lineup: Lineup, matches: int, generator: np.random.Generator) -> None:
        if matches:
            self.estimates.append(sampled_value(lineup.game, self.profile, matches, generator))


def play_matches(lineup: Lineup, matches: int, seed: int, *, quiet: bool, as_json: bool) -> int:
    """Play matches, report the payoffs, and return the exit code."""
    seatings, generator, remaining = _seatings(lineup), np.random.default_rng(seed), matches
    with StopRequest() as request, ProgressLine(quiet=quiet) as line:
        began = time.monotonic()
        while remaining and not request.requested():
            batch = min(remaining, _BATCH * len(seatings))
            for place, seating in enumerate(seatings):
                seating.play(lineup, len(range(place, batch, len(seatings))), generator)
            remaining -= batch
            done = matches - remaining
            line.update(_progress(done, matches, began), done, remaining)
        code = DONE if request.code is None or not remaining else request.code
    report = {
        "game": name_of(lineup.game),
        "fingerprint": fingerprint(lineup.game),
        "matches": matches - remaining,
        "seat": lineup.seat,
        "seed": seed,
        "confidence": _CONFIDENCE,
        "results": _results(lineup, seatings) if remaining < matches else [],
        "stopped_by": "matches" if code == DONE else "interrupt",
    }
    if as_json:
        show_json(report)
    else:
        _show(report)
    if code != DONE:
        say(f"interrupted after {matches - remaining:,} of {matches:,} matches")
    return code


def _progress(done: int, matches: int, began: float) -> list[str]:
    rate = done / max(time.monotonic() - began, 1e-9)
    remaining = clock((matches - done) / rate)
    return [f"match {done:,} of {matches:,}", f"{rate:,.0f}/s", f"{remaining} left"]


def _seatings(lineup: Lineup) -> list[_Seating]:
    """Return the seatings between which the matches rotate."""
    profiles = [profile for _, profile in lineup.strategies]
    if len(profiles) == 1:
        return [_Seating(range(lineup.players), profiles[0])]
    game, seatings = lineup.game, []
    for turn in range(lineup.players if lineup.seat is None else 1):
        participants = lineup.participants(turn)
        vectors = [profiles[p][player] for player, p in enumerate(participants)]
        seatings.append(_Seating(participants, Profile(vectors, game.domains, game)))
    return seatings


def _results(lineup: Lineup, seatings: Sequence[_Seating]) -> list[dict[str, Any]]:
    """Return the payoffs of each participant per match."""
    matches = sum(seating.matches for seating in seatings)
    shares = [seating.matches / matches for seating in seatings]
    values = [lineup.game.value(seating.profile) for seating in seatings]
    results = []
    for participant in range(lineup.players):
        players = [seating.participants.index(participant) for seating in seatings]
        seats = list(zip(seatings, players, strict=True))
        estimate = pooled([batch[p] for seating, p in seats for batch in seating.estimates])
        several = estimate.samples > 1
        expected = zip(shares, values, players, strict=True)
        results.append(
            {
                "strategy": lineup.strategies[participant % len(lineup.strategies)][0],
                "players": players,
                "mean": estimate.mean,
                "standard_error": estimate.standard_error if several else None,
                "interval": list(estimate.normal_interval(_CONFIDENCE)) if several else None,
                "expected": math.fsum(share * float(value[p]) for share, value, p in expected),
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


def _show(report: dict[str, Any]) -> None:
    show(
        f"game     {report['game']}",
        f"matches  {report['matches']:,}, drawn from seed {report['seed']}",
        "",
    )
    rows = [
        (
            row["strategy"],
            f"player {row['players'][0]}" if len(row["players"]) == 1 else "each in turn",
            number(row["mean"]),
            "" if row["interval"] is None else " to ".join(map(number, row["interval"])),
            number(row["expected"]),
        )
        for row in report["results"]
    ]
    heads = ("strategy", "plays for", "earned", "95 % interval", "expected")
    show_table(heads, rows, right=(2, 4), soft=0)
    show(
        "",
        "Earned is the mean of the matches; the interval is approximate, for many matches.",
        "Expected is the exact mean of the same seatings.",
    )
