"""Who sits where when a game is played."""

from attrs import frozen

from regretkit.games import ExtensiveFormGame, NormalFormGame, Profile


@frozen
class Table:
    """A game, and who came to play it beside the person, if there is one."""

    game: ExtensiveFormGame | NormalFormGame
    strategies: tuple[tuple[str, Profile], ...]
    """Each by what somebody called it; a single one plays for everybody."""
    seat: int | None
    """Which player the first guest is, None where everybody changes places after every round."""

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.game.domains)

    def seated(self, number: int) -> list[int]:
        """Return which guest each player is in a round, of which the first has the number 0.

        A guest who changes places is the next player in the next round.
        """
        if self.seat is None:
            return [(player - number) % self.players for player in range(self.players)]
        others = list(range(1, self.players))
        others.insert(self.seat, 0)
        return others
