"""Games in which somebody forgets."""

from collections.abc import Sequence
from typing import final

from attrs import define, field

from regretkit._typing import Vector
from regretkit.games.extensive_form import ExtensiveFormGame
from regretkit.games.game_tree import GameTree
from regretkit.sets import StrategySet


@final
@define(eq=False, repr=False)
class ImperfectRecallGame:
    """A game in which somebody forgets: it has histories, but no sequence form.

    A player that forgets what it did or knew has no strategy set in which every payoff is
    linear, and regret minimization over sequences promises nothing about it. So whatever asks
    for the players' sets, self-play above all, is refused with the information set that shows
    why; there is no switch to play such a game all the same. What happens in it can be read
    off the tree.

    Parameters
    ----------
    tree
        The histories of the game.
    name
        What to call the game.

    Raises
    ------
    TypeError
        When ``tree`` is not a game tree.
    ValueError
        When nobody forgets.

    Examples
    --------
    A driver comes to two exits and cannot tell them apart:

    >>> from regretkit.games import read_efg
    >>> game = read_efg('''EFG 2 R "Absent-minded driver" { "Driver" }
    ...     p "" 1 1 "exit" { "leave" "go on" } 0
    ...     t "" 1 "first" { 0 }
    ...     p "" 1 1 0
    ...     t "" 2 "second" { 4 }
    ...     t "" 3 "missed" { 1 }''')
    >>> game
    <Absent-minded driver: 1 information sets, imperfect recall>
    >>> game.tree.payoffs.ravel()
    array([0., 4., 1.])
    >>> game.domains
    Traceback (most recent call last):
    ...
    ValueError: imperfect recall: player 0 cannot tell the empty history from 'go on', ...

    References
    ----------
    Piccione and Rubinstein (1997), "On the interpretation of decision problems with imperfect
    recall", Games and Economic Behavior 20(1).
    """

    tree: GameTree
    name: str | None = field(default=None, kw_only=True)
    reason: str = field(init=False)
    """Who forgets, and the information set that shows it."""

    def __attrs_post_init__(self) -> None:
        try:
            ExtensiveFormGame(self.tree)
        except ValueError as error:
            self.reason = _shortened(str(error))
        else:
            raise ValueError("nobody forgets in tree; pass it to ExtensiveFormGame")

    @property
    def players(self) -> int:
        """Number of players."""
        return self.tree.players

    @property
    def domains(self) -> tuple[StrategySet, ...]:
        """Refuse: a player that forgets has no sequence form."""
        raise ValueError(self.reason)

    def utility(self, player: int, profile: Sequence[Vector], of: int | None = None) -> Vector:
        """Refuse: sequences of a player that forgets have no worth of their own."""
        raise ValueError(self.reason)

    def value(self, profile: Sequence[Vector]) -> Vector:
        """Refuse: there are no strategies to evaluate."""
        raise ValueError(self.reason)

    def __repr__(self) -> str:
        sets = " + ".join(map(str, self.tree.information_sets))
        name = self.name or "ImperfectRecallGame"
        return f"<{name}: {sets} information sets, imperfect recall>"


def _shortened(text: str) -> str:
    """Return a reason without the middle of the histories in it, if they are very long."""
    return text if len(text) <= 2_000 else f"{text[:1_000]} ... {text[-1_000:]}"


def playable(tree: GameTree, name: str | None = None) -> ExtensiveFormGame | ImperfectRecallGame:
    """Return the game of a tree, which cannot be played where somebody forgets."""
    try:
        return ExtensiveFormGame(tree, name=name)
    except ValueError:
        return ImperfectRecallGame(tree, name=name)
