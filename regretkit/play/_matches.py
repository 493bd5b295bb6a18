"""Matches: agents play a game against each other, round after round."""

from collections.abc import Sequence
from typing import final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from regretkit._util._validate import quote, whole_number
from regretkit.evaluation._monte_carlo import Bounds, Estimate, check_bounds, check_generator, pick
from regretkit.games import CHANCE, History, Playable
from regretkit.games._adapters import as_history, payoff_bounds
from regretkit.games.tree._history import outcomes_of, payoffs_of
from regretkit.play._agents import Agent, Observation, RoundObserver


@final
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


@final
@frozen(eq=False)
class Match:
    """What agents earned in a match.

    Examples
    --------
    >>> match = Match(np.array([[1.0, -1.0], [-2.0, 2.0]]))
    >>> match.mean
    array([-0.5,  0.5])
    >>> print(match)
    agent 0  -0.5 in about (-3.43995, 2.43995), of 2 samples
    agent 1  0.5 in about (-2.43995, 3.43995), of 2 samples
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
    generator: np.random.Generator,
    *,
    rotate: bool = False,
    bounds: Bounds | None = None,
) -> Match:
    """Let agents play a game against each other, and return what they earned.

    Parameters
    ----------
    game
        A game, its tree, or its rules: a ``HistoryBatch`` or the empty ``History``.
    agents
        One for each player, in order; a :class:`RoundObserver` among them hears of each round.
    rounds
        How many to play, at least 1.
    generator
        Draws chance's moves; agents draw from generators of their own.
    rotate
        Let agents change places after every round, so that each plays for every player in turn.
    bounds
        The least and the largest payoff of any player, for intervals with guaranteed coverage; by
        default those among all terminals of the game, where these are in memory.

    Raises
    ------
    TypeError, ValueError
        When ``game`` is none, ``agents`` are not one for each player, an agent returns no index of
        an action, ``rounds`` is not a whole number, at least 1, ``generator`` is no numpy
        ``Generator``, or a payoff is outside ``bounds``.

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
    rounds = whole_number(rounds, "rounds", least=1)
    check_generator(generator)
    root, seated = as_history(game), _seated(agents)
    if bounds is not None:
        known: tuple[Bounds, ...] | None = (check_bounds(bounds, "bounds"),) * len(seated)
    else:
        known = _known(game, rotate)
    payoffs = np.empty((rounds, len(seated)))
    for number in range(rounds):
        places = [(place + number * rotate) % len(seated) for place in range(len(seated))]
        moves, earned = _play(root, [seated[agent] for agent in places], generator)
        payoffs[number, places] = earned
        paid = tuple(payoffs[number].tolist())
        _tell(Round(number + 1, tuple(moves), seated, paid))
    payoffs.setflags(write=False)
    match = Match(payoffs, known)
    for agent in range(len(seated)):
        match.estimate(agent)  # refuses payoffs out of bounds
    return match


def _seated(agents: Sequence[Agent]) -> tuple[Agent, ...]:
    if not isinstance(agents, Sequence):
        raise TypeError(f"agents must be a sequence, one for each player, got {quote(agents)}")
    for number, agent in enumerate(agents):
        if not isinstance(agent, Agent) or isinstance(agent, type):
            raise TypeError(
                f"agents[{number}] must have the method act of an Agent, got {quote(agent)}; for a "
                "strategy pass StrategyAgent(strategy, generator)"
            )
    if not agents:
        raise ValueError("agents must be one for each player, got none")
    return tuple(agents)


def _known(game: Playable, rotate: bool) -> tuple[Bounds, ...] | None:
    """Return between what each agent's payoffs lie."""
    known = payoff_bounds(game)
    if known is None:
        return None
    if rotate:
        lowest, highest = min(low for low, _ in known), max(high for _, high in known)
        return ((lowest, highest),) * len(known)
    return known


def _play(
    root: History, agents: Sequence[Agent], generator: np.random.Generator
) -> tuple[list[str], Sequence[float]]:
    history, moves = root, []
    while not history.is_terminal():
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
    situation = Observation(player, history.information_set(), tuple(history.actions()))
    chosen = agents[player].act(situation)
    whole = isinstance(chosen, int | np.integer) and not isinstance(chosen, bool)
    if not (whole and 0 <= chosen < len(situation.actions)):
        raise ValueError(
            f"{quote(agents[player])} must return the index of an action, one of 0 to "
            f"{len(situation.actions) - 1}, at {quote(str(situation.information_set))}, got "
            f"{quote(chosen)}"
        )
    action: object = situation.actions[chosen]
    return action


def _tell(round: Round) -> None:
    heard: list[object] = []
    for agent in round.agents:
        if isinstance(agent, RoundObserver) and not any(agent is other for other in heard):
            agent.on_round_end(round)
            heard.append(agent)
