"""Agents, and matches: agents play a game against each other, round after round."""

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from attrs import define, field, frozen
from attrs.validators import is_callable
from numpy.typing import NDArray

from regretkit._util._validate import as_generator, quote, whole_number
from regretkit.evaluation._monte_carlo import Bounds, Estimate, check_bounds, pick
from regretkit.games import CHANCE, BehavioralStrategyLike, History, Playable, Profile
from regretkit.games._adapters import as_history, payoff_bounds
from regretkit.games._behavioral import Behavior, behaviors
from regretkit.games.tree._history import actions_of, check_length, outcomes_of, payoffs_of


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
    """Receives the outcome of each round; agents of ``play_match`` may implement it.

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
        Draws the actions; or its seed.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> agent = StrategyAgent(solve(kuhn_poker(), iterations=100).average, np.random.default_rng(1))
    >>> agent.act(Observation(0, "Kpb", ("p", "b")))  # who holds the king calls
    1
    """

    strategy: Profile | BehavioralStrategyLike | Sequence[BehavioralStrategyLike]
    generator: np.random.Generator = field(converter=as_generator, repr=False)
    _parts: dict[int, Behavior] = field(init=False, repr=False)
    """The strategies of the players for which it has acted."""

    def __attrs_post_init__(self) -> None:
        known = self.strategy
        parts = behaviors(known) if isinstance(known, Sequence) else behaviors([known])
        self._parts = dict(enumerate(parts))

    def act(self, situation: Observation) -> int:
        """Return the index of an action that was drawn."""
        player = situation.player
        if player not in self._parts:
            if isinstance(self.strategy, Sequence):
                raise ValueError(
                    f"the strategy is of {len(self._parts)} players, but plays for player "
                    f"{player}; it is of another game"
                )
            self._parts[player] = Behavior(self._parts[0].strategy, player)
        distribution = self._parts[player](situation.information_set, situation.actions)
        return pick(distribution, self.generator)


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
        names = [str(action).strip() for action in situation.actions]
        if not all(names) or len(set(names)) < len(names):
            names = [f"{number}. {name}".strip() for number, name in enumerate(names, start=1)]
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


def _meant(answer: str, names: list[str]) -> list[int]:
    """Return which actions an answer may mean."""
    for seen in (str, str.casefold):
        for fits in (str.__eq__, str.startswith):
            meant = [n for n, name in enumerate(names) if fits(seen(name), seen(answer))]
            if meant and answer:
                return meant
    return []


@frozen(eq=False)
class Round:
    """One round of a match.

    Examples
    --------
    >>> Round(1, ("p", "p"), agents=(), payoffs=(1.0, -1.0)).payoffs
    (1.0, -1.0)
    """

    number: int
    """Which one it is, from 1."""
    moves: tuple[str, ...]
    """What chance and the players did, in order."""
    agents: tuple[Agent, ...] = field(repr=False)
    """Who played."""
    payoffs: tuple[float, ...]
    """What each of them earned."""


@frozen(eq=False)
class Match:
    """What agents earned in a match.

    Examples
    --------
    >>> match = Match(np.array([[1.0, -1.0], [-2.0, 2.0]]))
    >>> match.mean
    array([-0.5,  0.5])
    >>> print(match)
    agent 0  -0.5 in about (-3.4, 2.4), of 2 samples
    agent 1  0.5 in about (-2.4, 3.4), of 2 samples
    """

    payoffs: NDArray[np.float64]
    """What each agent earned in each round, shape ``(rounds, agents)``."""
    bounds: tuple[Bounds, ...] | None = None
    """Bounds on each agent's payoffs, None where none are known."""

    @property
    def mean(self) -> NDArray[np.float64]:
        """What each agent earned per round, shape ``(agents,)``."""
        mean: NDArray[np.float64] = self.payoffs.mean(axis=0)
        return mean

    def estimate(self, agent: int) -> Estimate:
        """Return what an agent earned per round, and intervals around it.

        They are about what it would earn in the long run, if rounds do not depend on each other.
        """
        known = None if self.bounds is None else self.bounds[agent]
        return Estimate.of(self.payoffs[:, agent], known)

    def __str__(self) -> str:
        agents = range(self.payoffs.shape[1])
        return "\n".join(f"agent {agent}  {self.estimate(agent)}" for agent in agents)


def play_match(
    game: Playable,
    agents: Sequence[Agent],
    rounds: int,
    generator: np.random.Generator | int,
    *,
    rotate: bool = False,
    bounds: Bounds | None = None,
) -> Match:
    """Let agents play a game against each other, and return what they earned.

    Parameters
    ----------
    game
        A game, its tree, or its rules: ``Rules`` or the empty ``History``.
    agents
        One for each player, in order; a ``RoundObserver`` among them hears of each round.
    rounds
        How many to play, at least 1.
    generator
        Draws chance's moves; agents draw from generators of their own. Or its seed.
    rotate
        Let agents change places after every round, so that each plays for every player in turn.
    bounds
        The least and the largest payoff of any player, for intervals with guaranteed coverage; by
        default those among all terminals of the game, where these are in memory.

    Examples
    --------
    An equilibrium against the uniform strategy:

    >>> from regretkit.games import kuhn_poker, uniform_behavior
    >>> from regretkit.play import StrategyAgent, solve
    >>> game = kuhn_poker()
    >>> profile = solve(game, iterations=1_000).average
    >>> agents = [
    ...     StrategyAgent(profile, np.random.default_rng(1)),
    ...     StrategyAgent(uniform_behavior, np.random.default_rng(2)),
    ... ]
    >>> match = play_match(game, agents, 1_000, np.random.default_rng(3), rotate=True)
    >>> match.estimate(0).normal_interval(0.99)[0] > 0
    True
    """
    rounds = whole_number(rounds, "rounds", minimum=1)
    generator = as_generator(generator)
    root, agents = as_history(game), _as_agents(agents)
    known = payoff_bounds(game) if bounds is None else None
    if bounds is not None:
        known = (check_bounds(bounds, "bounds"),) * len(agents)
    elif known is not None and rotate:
        lowest, highest = min(low for low, _ in known), max(high for _, high in known)
        known = ((lowest, highest),) * len(known)
    payoffs = np.empty((rounds, len(agents)))
    observers = {id(agent): agent for agent in agents if isinstance(agent, RoundObserver)}
    for number in range(rounds):
        places = [(place + number * rotate) % len(agents) for place in range(len(agents))]
        moves, earned = _play(root, [agents[agent] for agent in places], generator)
        payoffs[number, places] = earned
        result = Round(number + 1, tuple(moves), agents, tuple(payoffs[number].tolist()))
        for observer in observers.values():  # once each
            observer.on_round_end(result)
    payoffs.setflags(write=False)
    match = Match(payoffs, known)
    for agent in range(len(agents)):
        match.estimate(agent)  # refuses payoffs out of bounds
    return match


def _as_agents(agents: Sequence[Agent]) -> tuple[Agent, ...]:
    if not isinstance(agents, Sequence):
        raise TypeError(f"agents must be a sequence, one for each player, got {quote(agents)}")
    for number, agent in enumerate(agents):
        if not isinstance(agent, Agent) or isinstance(agent, type):
            raise TypeError(
                f"agents[{number}] must have the method act of an Agent, got {quote(agent)}; for a "
                "strategy, such as uniform_behavior, pass StrategyAgent(strategy, generator)"
            )
    if not agents:
        raise ValueError("agents must be one for each player, got none")
    return tuple(agents)


def _play(
    root: History, agents: Sequence[Agent], generator: np.random.Generator
) -> tuple[list[str], Sequence[float]]:
    history, moves = root, list[str]()
    while not history.is_terminal():
        check_length(len(moves))
        player = history.player()
        if player == CHANCE:
            outcomes = outcomes_of(history)
            action = outcomes[pick(np.array([chance for _, chance in outcomes]), generator)][0]
        else:
            action = _action(history, player, agents)
        moves.append(str(action))
        history = history.child(action)
    payoffs = payoffs_of(history)
    if len(payoffs) != len(agents):
        raise ValueError(
            f"agents must be one for each of the {len(payoffs)} players, got {len(agents)}"
        )
    return moves, payoffs


def _action(history: History, player: int, agents: Sequence[Agent]) -> object:
    if not player < len(agents):
        raise ValueError(f"player {player} acts, but there are {len(agents)} agents; pass more")
    situation = Observation(player, history.information_set(), tuple(actions_of(history)))
    chosen = agents[player].act(situation)
    whole = isinstance(chosen, int | np.integer) and not isinstance(chosen, bool)
    if not (whole and 0 <= chosen < len(situation.actions)):
        wanted = f"one of 0 to {len(situation.actions) - 1}"
        raise ValueError(
            f"{quote(agents[player])} must return the index of an action, {wanted}, at "
            f"{quote(str(situation.information_set))}, got {quote(chosen)}"
        )
    action: object = situation.actions[chosen]
    return action
