"""Agents, and matches between them."""

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
from regretkit.games._profile import Behavior, behaviors
from regretkit.games.tree._history import actions_of, check_length, outcomes_of, payoffs_of


@frozen
class Observation:
    """The information set at which an agent acts, and its legal actions.

    Examples
    --------
    >>> situation = Observation(player=0, information_set="Kpb", actions=("p", "b"))
    >>> situation.actions[1]
    'b'
    """

    player: int
    """The player that acts."""
    information_set: Hashable
    """The player's information set, whose ``str`` is its name."""
    actions: tuple[Hashable, ...]
    """The legal actions."""


@runtime_checkable
class Agent(Protocol):
    """Protocol of agents, which map an ``Observation`` of any player to an action.

    Examples
    --------
    >>> class Timid:
    ...     def act(self, situation):
    ...         return 0
    >>> isinstance(Timid(), Agent)
    True
    """

    def act(self, situation: Observation) -> int:
        """Return the index of an action in ``situation.actions``."""
        ...


@define(eq=False)
class StrategyAgent:
    """An agent that draws actions from a strategy.

    Parameters
    ----------
    strategy
        A profile; or a function of an information set and its actions that returns their
        probabilities; or a dict from information sets to probabilities. Functions and dicts serve
        all players, or come in a list with one for each player.
    generator
        A random generator, or its seed.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> agent = StrategyAgent(solve(kuhn_poker(), iterations=100).average, np.random.default_rng(1))
    >>> agent.act(Observation(0, "Kpb", ("p", "b")))  # with the king, it calls
    1
    """

    strategy: Profile | BehavioralStrategyLike | Sequence[BehavioralStrategyLike]
    generator: np.random.Generator = field(converter=as_generator, repr=False)
    _parts: dict[int, Behavior] = field(init=False, repr=False)
    """The strategy of each player that has acted."""

    def __attrs_post_init__(self) -> None:
        known = self.strategy
        parts = behaviors(known) if isinstance(known, Sequence) else behaviors([known])
        self._parts = dict(enumerate(parts))

    def act(self, situation: Observation) -> int:
        """Return the index of a drawn action."""
        player = situation.player
        if player not in self._parts:
            if isinstance(self.strategy, Sequence):
                raise ValueError(
                    f"strategy must have an entry for player {player}, got {len(self._parts)}"
                )
            self._parts[player] = Behavior(self._parts[0].strategy, player)
        distribution = self._parts[player](situation.information_set, situation.actions)
        return pick(distribution, self.generator)


@define(eq=False)
class HumanAgent:
    """An agent whose actions a person types.

    An answer is the name of an action or an unambiguous prefix of it, in upper or lower case.
    Actions with equal names get numbers. The agent repeats the question after an invalid answer. An
    exception of ``ask``, such as ``EOFError``, ends the match.

    Parameters
    ----------
    ask
        A function of a question that returns the answer, such as ``input``.
    tell
        A function of a line of text, such as ``print``.

    Examples
    --------
    >>> answers = iter(["x", "b"])
    >>> def ask(question):
    ...     answer = next(answers)
    ...     print(question + answer)
    ...     return answer
    >>> HumanAgent(ask, print).act(Observation(1, "Kb", ("p", "b")))
    You are player 1. Information set: Kb
    p or b? x
    There is no action 'x'.
    p or b? b
    1
    """

    ask: Callable[[str], str] = field(validator=is_callable(), repr=False)
    tell: Callable[[str], object] = field(validator=is_callable(), repr=False)

    def act(self, situation: Observation) -> int:
        """Print the information set, and return the index of the person's action."""
        names = [str(action).strip() for action in situation.actions]
        if not all(names) or len(set(names)) < len(names):
            names = [f"{number}. {name}".strip() for number, name in enumerate(names, start=1)]
        known = str(situation.information_set)
        self.tell(f"You are player {situation.player}. Information set: {known or '(empty)'}")
        if len(names) == 1:
            self.tell(f"The only action is {names[0]}.")
            return 0
        while True:
            answer = self.ask(f"{', '.join(names[:-1])} or {names[-1]}? ").strip()
            meant = _meant(answer, names)
            if len(meant) == 1:
                return meant[0]
            no_action = "Several actions begin with" if meant else "There is no action"
            self.tell(f"{no_action} {quote(answer)}.")

    def on_round_end(self, round: "Round") -> None:
        """Print the actions and the payoff of the round."""
        self.tell(f"Actions: {' '.join(round.moves)}")
        for agent, payoff in zip(round.agents, round.payoffs, strict=True):
            if agent is self:
                self.tell(f"You earn {payoff:+g}.")


def _meant(answer: str, names: list[str]) -> list[int]:
    """Return the actions that match an answer: exact before prefix, same case before either."""
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
    """The number of the round, from 1."""
    moves: tuple[str, ...]
    """The actions of chance and of the players, in order."""
    agents: tuple[Agent, ...] = field(repr=False)
    """The agents, in the order of the arguments of ``play_match``."""
    payoffs: tuple[float, ...]
    """The payoff of each agent."""


@frozen(eq=False)
class Match:
    """The payoffs of agents in a match.

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
    """The payoff of each agent in each round, shape ``(rounds, agents)``."""
    bounds: tuple[Bounds, ...] | None = None
    """The least and the largest payoff of each agent, None if unknown."""

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean payoff of each agent, shape ``(agents,)``."""
        mean: NDArray[np.float64] = self.payoffs.mean(axis=0)
        return mean

    def estimate(self, agent: int) -> Estimate:
        """Return an agent's mean payoff, with confidence intervals of its expectation."""
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
    """Play rounds of a game between agents, and return their payoffs.

    Parameters
    ----------
    game
        A game, its tree, or its rules: ``Rules`` or the empty ``History``.
    agents
        One agent for each player, in order. The method ``on_round_end`` is optional: it is called
        with the ``Round`` after each round.
    rounds
        Number of rounds, at least 1.
    generator
        The random generator of chance moves, or its seed. Agents have their own generators.
    rotate
        Whether each agent takes the place of the next player after every round.
    bounds
        The least and the largest payoff of any player, for intervals with guaranteed coverage. The
        default is the range of the game's payoffs, if it has a tree.

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
    notified = [
        getattr(agent, "on_round_end", None) for agent in {id(a): a for a in agents}.values()
    ]
    for number in range(rounds):
        places = [(place + number * rotate) % len(agents) for place in range(len(agents))]
        moves, earned = _play(root, [agents[agent] for agent in places], generator)
        payoffs[number, places] = earned
        result = Round(number + 1, tuple(moves), agents, tuple(payoffs[number].tolist()))
        for notify in filter(None, notified):
            notify(result)
    payoffs.setflags(write=False)
    match = Match(payoffs, known)
    for agent in range(len(agents)):
        match.estimate(agent)  # raises an error if payoffs are out of bounds
    return match


def _as_agents(agents: Sequence[Agent]) -> tuple[Agent, ...]:
    for number, agent in enumerate(agents):
        if not isinstance(agent, Agent) or isinstance(agent, type):
            raise TypeError(
                f"agents[{number}] must have the method act of an Agent, got {quote(agent)}; for a "
                "strategy pass StrategyAgent(strategy, generator)"
            )
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
        raise ValueError(f"agents must have an entry for player {player}, got {len(agents)}")
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
