"""When a run is to stop, as options say it."""

from attrs import frozen

from regretkit.cli.algorithms_in import Choice
from regretkit.cli.exits import Refusal
from regretkit.cli.journal import Journal
from regretkit.cli.recall import Found
from regretkit.play import Estimator
from regretkit.play._solve import doubt_of_reaching

ITERATIONS = 1_000
"""How many are played where nobody says when to stop."""


@frozen
class Limits:
    """Iterations, a gap and seconds of play, each of which may be None; the first one stops."""

    iterations: int | None
    gap: float | None
    seconds: float | None

    @property
    def none(self) -> bool:
        """Whether there is no limit at all."""
        return self.iterations is None and self.gap is None and self.seconds is None

    def or_default(self) -> "Limits":
        """Return limits of which there is at least one."""
        return Limits(ITERATIONS, None, None) if self.none else self

    def check(self, found: Found, choice: Choice, estimator: Estimator | None = None) -> None:
        """Refuse a gap as the only limit where nothing promises that it is ever reached."""
        found.check_gap(self.gap)
        if self.gap is None or self.iterations is not None or self.seconds is not None:
            return
        doubt = doubt_of_reaching(self.gap, found.game, choice.algorithm, estimator)
        if doubt is not None:
            raise Refusal(
                f"--gap: {self.gap:g} alone could go on forever: {doubt}; pass --iterations or "
                "--time as well"
            )

    def put_into(self, journal: Journal) -> None:
        """Let a journal keep to these limits."""
        journal.most, journal.target, journal.seconds = self.iterations, self.gap, self.seconds
