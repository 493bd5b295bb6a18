"""Purification and thresholding: strategies without their rarely played actions."""

from collections.abc import Callable

from attrs import frozen

from regretkit.evaluation._gaps import nash_conv
from regretkit.games import Game, Profile
from regretkit.games._behavioral import ProfileLike, as_vectors


@frozen(eq=False)
class PurifiedProfile:
    """A purified profile, and its gap before and after.

    Examples
    --------
    >>> from regretkit.games import rock_paper_scissors
    >>> purified = purify(rock_paper_scissors(), [[0.4, 0.3, 0.3], [0.3, 0.4, 0.3]])
    >>> round(purified.gap_before, 12), purified.gap_after
    (0.2, 2.0)
    """

    profile: Profile
    gap_before: float
    """Gap of the original profile."""
    gap_after: float
    """Gap of the purified profile."""

    def _repr_html_(self) -> str:
        from regretkit.display._html import facts

        gaps = ("gap before", self.gap_before), ("gap after", self.gap_after)
        return facts(*gaps, profile=self.profile)


def threshold(
    game: Game,
    profile: ProfileLike,
    minimum: float,
    *,
    gap: Callable[[Game, Profile], float] = nash_conv,
) -> PurifiedProfile:
    """Remove every action whose probability is below a threshold.

    At each information set, the remaining probabilities are scaled to sum to one. The most
    probable action always remains, with all actions of exactly the same probability. Averages of
    iterative algorithms keep bad actions of early iterations with small probability.

    Parameters
    ----------
    minimum
        The threshold, from 0, which changes nothing, to 1.
    gap
        Called with the game and a profile; ``nash_conv`` by default, the sum over players.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> game = kuhn_poker()
    >>> purified = threshold(game, solve(game, "cfr+", iterations=100).average, 0.05)
    >>> purified.profile["Q"], purified.profile["Kb"]
    (array([1., 0.]), array([0., 1.]))
    >>> purified.gap_before > purified.gap_after
    True

    References
    ----------
    Ganzfried, Sandholm and Waugh (2012), "Strategy purification and thresholding: effective
    non-equilibrium approaches for playing large games", AAMAS.
    """
    original = Profile(as_vectors(game, profile), game.domains, game)
    simplified = original.threshold(minimum)
    return PurifiedProfile(simplified, gap(game, original), gap(game, simplified))


def purify(
    game: Game,
    profile: ProfileLike,
    *,
    gap: Callable[[Game, Profile], float] = nash_conv,
) -> PurifiedProfile:
    """Play the most probable action at each information set.

    It is ``threshold`` with ``minimum=1``.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> game = kuhn_poker()
    >>> purified = purify(game, solve(game, "cfr+", iterations=100).average)
    >>> purified.profile["J"], purified.profile["K"]
    (array([1., 0.]), array([0., 1.]))
    """
    return threshold(game, profile, 1.0, gap=gap)
