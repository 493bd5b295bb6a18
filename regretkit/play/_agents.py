"""Agents: who sits at a table and plays, a strategy or a person."""

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Protocol, final, runtime_checkable

import numpy as np
from attrs import define, field, frozen
from attrs.validators import is_callable

from regretkit._util._validate import check_generator, quote
from regretkit.evaluation._monte_carlo import pick
from regretkit.games import BehavioralStrategyLike, Profile
from regretkit.games._behavioral import ValidatedStrategy, behaviors

if TYPE_CHECKING:
    from regretkit.play._matches import Round


@final
@frozen
class Observation:
    """What an agent knows when its turn comes, and what it may do.

    Examples
    --------
    >>> situation = Observation(player=0, information_set="Kpb", actions=("p", "b"))
    >>> situation.actions[1]
    'b'
    """

    player: int
    """Which player it plays for."""
    information_set: Hashable
    """What that player knows; ``str`` makes of it what people call it."""
    actions: tuple[Hashable, ...]
    """What it may do."""


@runtime_checkable
class Agent(Protocol):
    """Maps a situation to an action, for any player.

    Examples
    --------
    >>> class Timid:
    ...     def act(self, situation):
    ...         return 0
    >>> isinstance(Timid(), Agent)
    True
    """

    def act(self, situation: Observation) -> int:
        """Return the index of an action, among those of ``situation``."""
        ...


@runtime_checkable
class RoundObserver(Protocol):
    """Receives the outcome of each round; agents of :func:`play_match` may implement it.

    Examples
    --------
    >>> class Curious:
    ...     def on_round_end(self, round):
    ...         self.last = round.payoffs
    >>> isinstance(Curious(), RoundObserver)
    True
    """

    def on_round_end(self, round: "Round") -> None:
        """Take note of a round that is over."""
        ...


@final
@define(eq=False)
class StrategyAgent:
    """An agent that plays a strategy.

    Parameters
    ----------
    strategy
        A profile, of which it plays the strategy of the player to act: from a run, or from a
        file with ``Profile.from_json``. Or a function of an information set and its actions that
        returns their probabilities, or a dict from information sets to such probabilities: a
        list of these for each player, or one that it plays for every player.
    generator
        Draws the actions.

    Raises
    ------
    TypeError
        When ``strategy`` is nothing of the kind, or ``generator`` is no numpy ``Generator``.
    ValueError
        When a player's set is not made of decisions; later, when it has no part for a player, or
        says nothing about an information set.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> agent = StrategyAgent(solve(kuhn_poker(), iterations=100).average, np.random.default_rng(1))
    >>> agent.act(Observation(0, "Kpb", ("p", "b")))  # who holds the king calls
    1
    """

    strategy: Profile | BehavioralStrategyLike | Sequence[BehavioralStrategyLike]
    generator: np.random.Generator = field(validator=check_generator, repr=False)
    _parts: dict[int, ValidatedStrategy] = field(init=False, repr=False)
    """The strategies of the players for which it has acted."""

    def __attrs_post_init__(self) -> None:
        known = self.strategy
        parts = behaviors(known) if isinstance(known, Sequence) else behaviors([known])
        self._parts = dict(enumerate(parts))

    def act(self, situation: Observation) -> int:
        """Return the index of an action that was drawn."""
        chances = self._played(situation.player)(situation.information_set, situation.actions)
        return pick(chances, self.generator)

    def _played(self, player: int) -> ValidatedStrategy:
        if player not in self._parts and isinstance(self.strategy, Sequence):
            raise ValueError(
                f"the strategy is of {len(self._parts)} players, but plays for player {player}; "
                "it is of another game"
            )
        if player not in self._parts:
            self._parts[player] = ValidatedStrategy(self._parts[0].behavior, player)
        return self._parts[player]


@final
@define(eq=False)
class HumanAgent:
    """An agent whose actions a person chooses, at a terminal or elsewhere.

    An action is answered by its name, or by the beginning of its name where no other begins so,
    in letters of either case; actions with the same name are numbered. Any other answer is asked
    for again. What ``ask`` raises, such as ``EOFError`` at the end of the input, ends the match.

    Parameters
    ----------
    ask
        Called with a question, returns the answer: ``input`` will do.
    tell
        Called with a line for the person to read: ``print`` will do.

    Raises
    ------
    TypeError
        When one of them cannot be called.

    Examples
    --------
    >>> answers = iter(["x", "b"])
    >>> def ask(question):
    ...     answer = next(answers)
    ...     print(question + answer)
    ...     return answer
    >>> HumanAgent(ask, print).act(Observation(1, "Kb", ("p", "b")))
    You are player 1, and know: Kb
    p or b? x
    There is no action 'x'.
    p or b? b
    1
    """

    ask: Callable[[str], str] = field(validator=is_callable(), repr=False)
    tell: Callable[[str], object] = field(validator=is_callable(), repr=False)

    def act(self, situation: Observation) -> int:
        """Return the index of the action that the person chose."""
        names = _told_apart([str(action).strip() for action in situation.actions])
        known = str(situation.information_set)
        self.tell(f"You are player {situation.player}, and know: {known or 'nothing'}")
        if len(names) == 1:
            self.tell(f"All you can do is {names[0]}.")
            return 0
        while True:
            answer = self.ask(f"{', '.join(names[:-1])} or {names[-1]}? ").strip()
            meant = _meant(answer, names)
            if len(meant) == 1:
                return meant[0]
            no_action = "Several actions begin with" if meant else "There is no action"
            self.tell(f"{no_action} {quote(answer)}.")

    def on_round_end(self, round: "Round") -> None:
        """Tell the person what happened, and what it earned."""
        self.tell(f"What happened: {' '.join(round.moves)}")
        for agent, payoff in zip(round.agents, round.payoffs, strict=True):
            if agent is self:
                self.tell(f"You earn {payoff:+g}.")


def _told_apart(names: list[str]) -> list[str]:
    """Return names as they are, or with numbers where two are the same or one is blank."""
    if all(names) and len(set(names)) == len(names):
        return names
    return [f"{number}. {name}".strip() for number, name in enumerate(names, start=1)]


def _meant(answer: str, names: list[str]) -> list[int]:
    """Return which actions an answer may mean."""
    if not answer:
        return []
    for seen in (str, str.casefold):
        for fits in (str.__eq__, str.startswith):
            meant = [n for n, name in enumerate(names) if fits(seen(name), seen(answer))]
            if meant:
                return meant
    return []
