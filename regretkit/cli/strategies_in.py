"""Strategies as a shell names them: in a file, or uniform."""

from pathlib import Path

from regretkit._util._validate import quote
from regretkit.cli.exits import Refusal, refusing
from regretkit.games import Game, Profile

UNIFORM = "uniform"


def profile_of(game: Game, text: str) -> Profile:
    """Return the strategies that a text names, one for each player of a game, or refuse it."""
    if text == UNIFORM:
        return Profile(
            [domain.relative_interior_point() for domain in game.domains], game.domains, game
        )
    hint = f"name a file in .json that solve --out wrote, or {UNIFORM}"
    if not text.strip():
        raise Refusal(f"STRATEGY: got nothing; {hint}")
    if Path(text).suffix.lower() == ".csv":
        raise Refusal(f"STRATEGY: got {quote(text)}, but tables in .csv are not read; {hint}")
    with refusing("STRATEGY", hint):
        try:
            return Profile.from_json(text, game)
        except ValueError as error:
            is_strategy = "file of JSON" not in str(error)
            raise error if is_strategy else ValueError(f"{error}; {hint}") from error
