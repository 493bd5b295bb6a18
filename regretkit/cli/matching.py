"""Strategies that play against each other, and what they earn."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import field, frozen

from regretkit.cli.exits import DONE
from regretkit.cli.games_in import name_of
from regretkit.cli.progress import Counter
from regretkit.cli.screen import number, say, show, show_json, show_table
from regretkit.cli.seats import Table
from regretkit.cli.stopping import Stopping
from regretkit.evaluation import Estimate, sampled_value
from regretkit.games import Profile, fingerprint

_AT_ONCE = 1 << 14
"""Matches between two looks at whether somebody wants out."""

CONFIDENCE = 0.95


@frozen
class Arrangement:
    """Who plays for which player, and what came of it so far."""

    guests: Sequence[int]
    """Which guest each player is."""
    profile: Profile
    parts: list[tuple[Estimate, ...]] = field(factory=list)
    """What the players earned, some matches at a time."""

    @property
    def matches(self) -> int:
        """How many were played."""
        return sum(part[0].samples for part in self.parts)

    def play(self, table: Table, matches: int, generator: np.random.Generator) -> None:
        """Play some more, if any."""
        if matches:
            self.parts.append(sampled_value(table.game, self.profile, matches, generator))

    def of(self, guest: int) -> list[Estimate]:
        """Return what a guest earned."""
        return [part[self.guests.index(guest)] for part in self.parts]


def play_by_themselves(table: Table, matches: int, seed: int, *, quiet: bool, as_json: bool) -> int:
    """Play matches, report what was earned, and return the exit code."""
    arrangements, generator, left = arranged(table), np.random.default_rng(seed), matches
    with Stopping() as stopping, Counter("match", matches, wanted=not quiet) as counter:
        while left and not stopping.asked():
            some = min(left, _AT_ONCE * len(arrangements))
            for place, arrangement in enumerate(arrangements):
                arrangement.play(table, len(range(place, some, len(arrangements))), generator)
            left -= some
            counter.at(matches - left)
        code = DONE if stopping.code is None or not left else stopping.code
    report = {
        "game": name_of(table.game),
        "fingerprint": fingerprint(table.game),
        "matches": matches - left,
        "seat": table.seat,
        "seed": seed,
        "confidence": CONFIDENCE,
        "results": results(table, arrangements) if left < matches else [],
        "stopped_by": "matches" if code == DONE else "interrupt",
    }
    if as_json:
        show_json(report)
    else:
        _show(report)
    if code != DONE:
        say(f"interrupted after {matches - left:,} of {matches:,} matches")
    return code


def arranged(table: Table) -> list[Arrangement]:
    """Return the ways in which the strategies sit, one after the other as matches go."""
    own = [profile for _, profile in table.strategies]
    if len(own) == 1:
        return [Arrangement(range(table.players), own[0])]
    rounds = range(table.players if table.seat is None else 1)
    return [
        Arrangement(
            guests := table.seated(number),
            Profile(
                [own[guest][player] for player, guest in enumerate(guests)],
                table.game.domains,
                table.game,
            ),
        )
        for number in rounds
    ]


def results(table: Table, arrangements: Sequence[Arrangement]) -> list[dict[str, Any]]:
    """Return for each guest who it was, and what it earned per match."""
    matches = sum(arrangement.matches for arrangement in arrangements)
    shares = [arrangement.matches / matches for arrangement in arrangements]
    values = [table.game.value(arrangement.profile) for arrangement in arrangements]
    found = []
    for guest in range(table.players):
        places = [arrangement.guests.index(guest) for arrangement in arrangements]
        earned = together([part for own in arrangements for part in own.of(guest)])
        several = earned.samples > 1
        found.append(
            {
                "strategy": table.strategies[guest % len(table.strategies)][0],
                "players": places,
                "mean": earned.mean,
                "standard_error": earned.standard_error if several else None,
                "interval": list(earned.normal_interval(CONFIDENCE)) if several else None,
                "expected": math.fsum(
                    share * float(value[place])
                    for share, value, place in zip(shares, values, places, strict=True)
                ),
            }
        )
    return found


def together(parts: Sequence[Estimate]) -> Estimate:
    """Return the estimate of all the samples that went into several."""
    samples = sum(part.samples for part in parts)
    mean = math.fsum(part.samples * part.mean for part in parts) / samples
    if samples == 1:
        return parts[0]
    squares = [
        part.samples * (part.mean - mean) ** 2
        + (0.0 if part.samples == 1 else (part.samples - 1) * part.variance)
        for part in parts
    ]
    return Estimate(mean, math.fsum(squares) / (samples - 1), samples)


def _show(report: dict[str, Any]) -> None:
    show(
        f"game     {report['game']}",
        f"matches  {report['matches']:,}, drawn from seed {report['seed']}",
        "",
    )
    show_table(
        ("strategy", "plays for", "earned", "95 % interval", "expected"),
        [
            (
                row["strategy"],
                _players(row["players"]),
                number(row["mean"]),
                "" if row["interval"] is None else " to ".join(map(number, row["interval"])),
                number(row["expected"]),
            )
            for row in report["results"]
        ],
        right=(2, 4),
        gives_way=0,
    )
    show(
        "",
        "Earned is the mean of the matches; the interval is approximate, for many matches.",
        "Expected is what the same seatings earn on average, exactly.",
    )


def _players(places: Sequence[int]) -> str:
    return f"player {places[0]}" if len(places) == 1 else "each in turn"
