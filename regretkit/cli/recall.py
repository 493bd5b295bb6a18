"""Games in which somebody forgets: refused, or played all the same where somebody asks for it."""

import click
from attrs import frozen

from regretkit.cli.exits import Refusal
from regretkit.cli.games_in import game_of
from regretkit.games import Game, ImperfectRecallGame, Profile
from regretkit.play._algorithms import Kinds

recall_option = click.option(
    "--imperfect-recall",
    "forgetful",
    is_flag=True,
    help="Take a game in which somebody forgets as well: players play alike where they cannot "
    "tell the difference, and nothing is promised about where that leads.",
)


@frozen
class Found:
    """A game as it is played."""

    game: Game
    """The game, or the one in which everybody remembers where somebody forgets."""
    forgetful: ImperfectRecallGame | None = None
    """The game in which somebody forgets, if it is one."""

    @property
    def kinds(self) -> Kinds | None:
        """Which decision points are to be played alike, None where nobody forgets."""
        return None if self.forgetful is None else self.forgetful.coarse_information_set

    def forgotten(self, profile: Profile) -> Profile:
        """Return what strategies come to where somebody forgets, elsewhere themselves."""
        return profile if self.forgetful is None else self.forgetful.coarsen(profile)

    def check_gap(self, gap: float | None) -> None:
        """Refuse a gap as a goal where somebody forgets."""
        if gap is not None and self.forgetful is not None:
            raise Refusal(
                f"--gap: got {gap:g}, but where somebody forgets no gap is known to vanish; pass "
                "--iterations or --time"
            )


def found_game(text: str, argument: str = "GAME", *, forgetful: bool) -> Found:
    """Return a game to be played, or refuse one in which somebody forgets unless that is meant."""
    game = game_of(text, argument)
    if not isinstance(game, ImperfectRecallGame):
        return Found(game)
    if not forgetful:
        raise Refusal(
            f"{argument}: {why(game)}; or pass --imperfect-recall, which takes it all the same, "
            "but promises nothing"
        )
    return Found(game.refinement, game)


def why(game: ImperfectRecallGame) -> str:
    """Say who forgets, without what only Python can do about it."""
    return game.recall_violation


def responses(forgetful: bool) -> str:
    """Return what to call the best responses by which a gap is measured.

    Where somebody forgets they remember everything, and others gain no more.
    """
    return "best responses that forget nothing" if forgetful else "best responses"
