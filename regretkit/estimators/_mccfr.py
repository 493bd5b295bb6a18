"""Estimators of Monte Carlo CFR, and bandit feedback."""

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from attrs import Attribute, define, field
from attrs.validators import optional

from regretkit._machine_code import linkable
from regretkit._state import NOT_STATE, Stateful, is_finite_array
from regretkit._util._typing import Indices, Vector
from regretkit._util._validate import (
    as_generator,
    at_least_zero,
    did_you_mean,
    finite,
    of_kind,
    positive,
    quote,
    share,
    whole_number,
)
from regretkit.estimators._chance import ChanceSampling
from regretkit.estimators._estimator import Estimator
from regretkit.estimators._flat_tree import FlatTree, TraversalBuffers, flat_tree, traversal_buffers
from regretkit.estimators._traversal import (
    Choose,
    Decision,
    SamplingData,
    SamplingRule,
    compiled_walker,
    follow_all,
    follow_average,
    follow_one,
    pick,
    update_baseline,
    walker,
)
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame
from regretkit.games._game import as_profile, tree_hint
from regretkit.sets import DecisionTree, StrategySet

_NO_BASELINE = np.zeros((1, 1))
NONE = np.zeros(0)


class FlatGame(NamedTuple):
    """A game in flat arrays, and the buffers of its traversals."""

    game: ExtensiveFormGame
    tree: FlatTree
    buffers: TraversalBuffers
    behavior: Vector
    utility: Vector


def above_zero_to_one(_: object, attribute: "Attribute[float]", value: float) -> None:
    """Require a number in (0, 1]."""
    positive(_, attribute, value)
    if value > 1.0:
        raise ValueError(f"{attribute.name} must be above 0 and at most 1, got {quote(value)}")


@define(eq=False)
class LearnedBaseline(Stateful):
    """Baseline values of histories: discounted averages of earlier samples.

    At history h, with b(ha) the baseline after action a, and q the probability to sample a,

        estimate(ha)  =  b(ha) + 1[a was sampled] (u(ha) - b(ha)) / q

    Estimates stay unbiased for any baseline, and a good baseline reduces their variance. Values
    start at zero and are updated at each visited history:

        b(h)  <-  b(h) + rate (u(h) - b(h))

    Parameters
    ----------
    rate
        Weight of the newest sample, in (0, 1].

    Examples
    --------
    >>> from regretkit.games import leduc_poker
    >>> from regretkit.play import OutcomeSampling
    >>> estimator = OutcomeSampling(np.random.default_rng(1), baseline=LearnedBaseline())

    References
    ----------
    Schmid, Burch, Lanctot, Moravcik, Kadlec and Bowling (2019), "Variance reduction in Monte Carlo
    counterfactual regret minimization (VR-MCCFR) for extensive form games using baselines", AAAI.
    Davis, Schmid and Bowling (2020), "Low-variance and zero-variance baselines for extensive-form
    games", ICML, for baselines by history.
    """

    rate: float = field(default=0.5, kw_only=True, validator=above_zero_to_one)
    values: Vector | None = field(default=None, init=False, repr=False)
    """Baseline values, shape ``(players, histories)``, None before the first sample."""

    def _check_state(self, state: Mapping[str, object]) -> None:
        if not (state["values"] is None or is_finite_array(state["values"], 2)):
            raise ValueError("values must be None or a matrix of finite numbers")

    def values_in(self, game: ExtensiveFormGame) -> Vector:
        """Return the values for a game, new zeros if its shape differs from the last game's."""
        shape = (game.players, game.tree.histories)
        if self.values is None or self.values.shape != shape:
            self.values = np.zeros(shape)
        return self.values


@define(eq=False)
class TraversalEstimator(Estimator, Stateful):
    """Base class: samples actions of the updated player, and one of each opponent and of chance.

    Parameters
    ----------
    generator
        A random generator, or its seed. It draws depth first.
    baseline
        A ``LearnedBaseline``, None by default.

    Attributes
    ----------
    visited
        Number of visited histories in all calls, or of payoffs of a normal form.
    """

    generator: np.random.Generator = field(converter=as_generator, repr=False)
    baseline: LearnedBaseline | None = field(
        default=None,
        kw_only=True,
        validator=optional(of_kind(LearnedBaseline, "LearnedBaseline()")),
    )
    visited: int = field(default=0, init=False, repr=False)
    _flat_game: FlatGame | None = field(default=None, init=False, repr=False, metadata=NOT_STATE)

    @abc.abstractmethod
    def _choose(self) -> Choose:
        """Return the function that samples actions of the updated player."""

    def _sampling_data(self, game: Game) -> SamplingData:
        """Return the arrays that this function reads and writes, empty by default."""
        return NONE, NONE

    def _parameters(self) -> Sequence[float]:
        """Return the numbers that this function reads."""
        return ()

    def utility(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        if isinstance(game, NormalFormGame):
            return self._in_normal_form(game, player, profile)
        played, tree, buffers, behavior, utility = self.flat_game(game)
        profile = as_profile(profile, game.domains)
        behaviors(game.domains, profile, behavior)
        sequences = slice(*tree.sequences[player : player + 2].tolist())
        utility[sequences] = 0.0
        baseline = _NO_BASELINE
        if self.baseline is not None:
            baseline = self.baseline.values_in(played)
        # Machine code does not support subclasses of Generator.
        fast = type(self.generator) is np.random.Generator and linkable()
        walk = (compiled_walker if fast else walker)(self._choose(), self.baseline is not None)
        data, parameters = self._sampling_data(game), np.array(self._parameters())
        arguments = (tree, behavior, utility, buffers, data, parameters, baseline)
        _, visited = walk(player, *arguments, self.generator)
        self.visited += int(visited)
        if self.baseline is not None:
            update_baseline(player, visited, self.baseline.rate, buffers, baseline)
        return utility[sequences].copy()

    def flat_game(self, game: Game) -> FlatGame:
        """Return a game in flat arrays, with a cache of the last game."""
        if self._flat_game is None or self._flat_game.game is not game:
            if not isinstance(game, ExtensiveFormGame):
                raise TypeError(
                    "game must be in extensive or normal form to be sampled, got "
                    f"{quote(game)}{tree_hint(game)}"
                )
            tree = flat_tree(game)
            size = int(tree.sequences[-1])
            buffers = traversal_buffers(tree, with_baseline=self.baseline is not None)
            behavior = np.concatenate([np.zeros(size), tree.chances])
            self._flat_game = FlatGame(game, tree, buffers, behavior, np.zeros(size))
        return self._flat_game

    def _in_normal_form(
        self, game: NormalFormGame, player: int, profile: Sequence[Vector]
    ) -> Vector:
        if self.baseline is not None:
            raise TypeError(
                f"baseline {quote(self.baseline)} needs a tree, got {quote(game)}; use "
                "BanditFeedback(generator, baseline=...)"
            )
        profile = as_profile(profile, game.domains)
        begin = starts(game.domains)
        behavior, root = np.zeros(int(begin[-1])), int(begin[player])
        behaviors(game.domains, profile, behavior)
        utility, data = np.zeros(profile[player].size), self._sampling_data(game)
        size = utility.size
        actions, probabilities = np.zeros(size, dtype=np.uint32), np.zeros(size)
        if self._choose() is follow_average:
            data[0][root] += 1.0
        lower = draw_actions(profile[:player], self.generator)
        decision = Decision(player, root, root + 1, size, 1.0, 1.0 / size)
        rule = SamplingRule(data, np.array(self._parameters()), self.generator)
        sampled = self._choose()(decision, behavior, actions, probabilities, rule)
        higher = draw_actions(profile[player + 1 :], self.generator)
        self.visited += sampled
        index: list[int | slice] = [player, *lower, slice(None), *higher]
        chosen, payoffs = actions[:sampled], game.payoffs[tuple(index)]
        utility[chosen] = payoffs[chosen] / probabilities[:sampled]
        return utility


def draw_actions(strategies: Iterable[Vector], generator: np.random.Generator) -> list[int]:
    """Draw an action from each strategy, in order."""
    return [pick(generator, strategy, 0, strategy.size) for strategy in strategies]


def starts(domains: Sequence[StrategySet]) -> Indices:
    """Return the first index of each player's sequences in concatenated arrays, and the total.

    Simplices count as a tree whose decision points all follow the empty sequence.
    """
    sizes = [d.dimension + (not isinstance(d, DecisionTree)) for d in domains]
    return np.cumsum([0, *sizes])


def behaviors(domains: Sequence[StrategySet], profile: Sequence[Vector], behavior: Vector) -> None:
    """Write all players' behavioral strategies, uniform at decision points of zero reach."""
    begin = starts(domains)
    for player, (domain, strategy) in enumerate(zip(domains, profile, strict=True)):
        distributions = behavior[begin[player] + 1 : begin[player + 1]]
        if isinstance(domain, DecisionTree):
            strategy = domain.behavior(strategy)
        distributions[...] = strategy


# The estimators


@define(eq=False)
class ExternalSampling(TraversalEstimator):
    """Enumerate the actions of the updated player, and sample those of chance and the opponents.

    With Z the visited terminals, the estimate at the player's last sequence a before them is

        u[a]  =  sum over z in Z after a of  payoff(z)

    It is unbiased, because z is visited with the probability that chance and the opponents play z.
    The player's own actions add no variance. If two players move in turn, a sample visits about the
    square root of the number of histories.

    Parameters
    ----------
    generator
        A random generator, or its seed. It draws depth first: one number at each visited history at
        which chance or an opponent has more than one action. The initial chance moves share one
        number, as in ``OutcomeSampling``.
    baseline
        A ``LearnedBaseline``, None by default.

    Examples
    --------
    >>> from regretkit import CFR, RegretMatching, SelfPlay
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> players = [CFR(tree, RegretMatching) for tree in game.domains]
    >>> sampling = ExternalSampling(np.random.default_rng(1))
    >>> run = SelfPlay(game, players, estimator=sampling).run(1_000)
    >>> bool(abs(game.value(run.average)[0] + 1 / 18) < 0.02)
    True

    References
    ----------
    Lanctot, Waugh, Zinkevich and Bowling (2009), "Monte Carlo sampling for regret minimization in
    extensive games", NIPS. The text was not read; tests check the mean over samples.
    """

    def _choose(self) -> Choose:
        return follow_all


@define(eq=False)
class OutcomeSampling(TraversalEstimator):
    """Sample one terminal history.

    Chance and the opponents draw from their distributions. The updated player draws from a mixture
    of its own distribution b and the uniform one, over n actions:

        q  =  exploration / n  +  (1 - exploration) b

    The estimate is nonzero only at the player's last sequence:

        u[a]  =  payoff / product of the q's of the player's sampled actions

    It is unbiased if all q are positive. The variance of an estimate of u is about ``u^2 / q``,
    which exploration bounds. In a normal form with ``exploration=0.0``, this is ``BanditFeedback``.

    Parameters
    ----------
    generator
        A random generator, or its seed. It draws one number for each visited history with more than
        one action. Without a baseline, the chance moves before any player acts share one number, as
        long as they have at most 64 outcomes.
    exploration
        Share of the uniform distribution, from 0 to 1.
    baseline
        A ``LearnedBaseline``, None by default. It reduces the variance of this estimator the most.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> uniform = [domain.relative_interior_point() for domain in game.domains]
    >>> sampling = OutcomeSampling(np.random.default_rng(1))
    >>> int(np.count_nonzero(sampling.utility(game, 0, uniform)))
    1

    References
    ----------
    Lanctot, Waugh, Zinkevich and Bowling (2009), "Monte Carlo sampling for regret minimization in
    extensive games", NIPS. The text was not read; tests check the mean over samples.
    """

    exploration: float = field(default=0.6, kw_only=True, validator=share)

    def _choose(self) -> Choose:
        return follow_one

    def _parameters(self) -> Sequence[float]:
        return (self.exploration,)


@define(eq=False)
class AverageStrategySampling(TraversalEstimator):
    """Sample actions of the updated player by their share in its average strategy.

    The traversal follows action a, independently of other actions, with probability

        q[a]  =  min(1, max(epsilon, (beta + tau s[a]) / (beta + sum of s)))

    where s is the sum of the player's strategies in all calls, in sequence form. The payoff of a
    terminal is divided by the product of the q's before it. Chance and the opponents draw one
    action, as in ``ExternalSampling``.

    For a large tau, frequent actions have the variance of external sampling. Rare actions have a
    variance of about ``u^2 / epsilon``.

    Parameters
    ----------
    generator
        A random generator, or its seed. It draws depth first: at each history of the player, one
        number for each action with q below 1.
    epsilon
        Smallest probability, in (0, 1].
    tau
        Factor of the average strategy, positive. A larger one follows more actions.
    beta
        Offset, positive. In about the first ``beta`` calls, most actions are followed.
    baseline
        A ``LearnedBaseline``, None by default.

    Examples
    --------
    >>> from regretkit.games import kuhn_poker
    >>> game = kuhn_poker()
    >>> uniform = [domain.relative_interior_point() for domain in game.domains]
    >>> sampling = AverageStrategySampling(np.random.default_rng(1), beta=1e6)

    At first it follows all actions, as external sampling does:

    >>> from regretkit.play import ExternalSampling
    >>> external = ExternalSampling(np.random.default_rng(1))
    >>> drawn = [estimator.utility(game, 0, uniform) for estimator in (sampling, external)]
    >>> np.array_equal(*drawn)
    True

    References
    ----------
    Gibson, Burch, Lanctot and Szafron (2012), "Efficient Monte Carlo counterfactual regret
    minimization in games with many player actions", NIPS, where s is a sampled estimate of this
    sum. The text was not read; tests check the mean over all samples.
    """

    epsilon: float = field(default=0.05, kw_only=True, validator=above_zero_to_one)
    tau: float = field(default=1_000.0, kw_only=True, validator=positive)
    beta: float = field(default=1e6, kw_only=True, validator=positive)
    _played: Vector | None = field(default=None, init=False, repr=False)
    """For each sequence, s at its last visit."""
    _seen: Vector | None = field(default=None, init=False, repr=False)
    """For each decision point, s of its parent sequence at the last visit."""

    def _check_state(self, state: Mapping[str, object]) -> None:
        for name in ("_played", "_seen"):
            if not (state[name] is None or is_finite_array(state[name])):
                raise ValueError(f"{name} must be None or a vector of finite numbers")

    def _choose(self) -> Choose:
        return follow_average

    def _parameters(self) -> Sequence[float]:
        return (self.epsilon, self.tau, self.beta)

    def _sampling_data(self, game: Game) -> SamplingData:
        size = int(starts(game.domains)[-1])
        points = sum(
            d.points if isinstance(d, DecisionTree) else getattr(d, "blocks", 0)
            for d in game.domains
        )
        played, seen = self._played, self._seen
        if played is None or seen is None or (played.size, seen.size) != (size, points):
            self._played, self._seen = played, seen = np.zeros(size), np.zeros(points)
        return played, seen


@define(eq=False)
class BanditFeedback(Estimator, Stateful):
    """Draw one action of every player of a normal form, and estimate utilities from the payoff.

    With action a drawn from the player's strategy x, payoff r and baseline c,

        u[a]  =  c + (r - c) / (x[a] + implicit),    u[b]  =  c  for other actions b

    With ``implicit`` 0 the estimate is unbiased, and equals ``OutcomeSampling`` without exploration
    and with a constant baseline. Its variance at action a is about ``(r - c)^2 / x[a]``, so the
    minimizer must explore: EXP3 is ``Hedge`` in ``ExplorationMixture`` with this estimator. A
    positive ``implicit`` bounds the estimate and biases it towards c. If no payoff exceeds c, the
    bias favors rare actions, as in EXP3-IX.

    Parameters
    ----------
    generator
        A random generator, or its seed. It draws one number for each player with more than one
        action.
    baseline
        c, in units of payoff. EXP3 has 0. EXP3-IX has the largest payoff, because it uses losses.
    implicit
        Implicit exploration, at least 0.

    Examples
    --------
    EXP3 in self-play, in a game with dominant actions:

    >>> from regretkit import Hedge, SelfPlay, matrix_game
    >>> from regretkit.circuits import ExplorationMixture
    >>> from regretkit.play import Simultaneous
    >>> players = [ExplorationMixture(Hedge(2, rate=0.05), gamma=0.1) for _ in "xy"]
    >>> feedback = BanditFeedback(np.random.default_rng(1))
    >>> game = matrix_game([[0.5, 1.0], [0.0, 0.4]])
    >>> run = SelfPlay(game, players, order=Simultaneous(), estimator=feedback).run(1_000)
    >>> bool(run.average[0][0] > 0.8)
    True

    References
    ----------
    Auer, Cesa-Bianchi, Freund and Schapire (2002), "The nonstochastic multiarmed bandit problem",
    SIAM Journal on Computing 32(1). Neu (2015), "Explore no more: improved high-probability regret
    bounds for non-stochastic bandits", NIPS, for implicit exploration. Neither text was read; tests
    check the mean and the regret.
    """

    generator: np.random.Generator = field(converter=as_generator, repr=False)
    baseline: float = field(default=0.0, validator=finite, kw_only=True)
    implicit: float = field(default=0.0, validator=at_least_zero, kw_only=True)

    def utility(self, game: Game, player: int, profile: Sequence[Vector]) -> Vector:
        if not isinstance(game, NormalFormGame):
            raise TypeError(f"game must be in normal form for bandit feedback, got {quote(game)}")
        profile = as_profile(profile, game.domains)
        strategy = profile[player]
        lower = draw_actions(profile[:player], self.generator)
        (chosen,) = draw_actions([strategy], self.generator)
        higher = draw_actions(profile[player + 1 :], self.generator)
        payoff = game.payoffs[(player, *lower, chosen, *higher)]
        utility = np.full(strategy.size, self.baseline)
        utility[chosen] += (payoff - self.baseline) / (strategy[chosen] + self.implicit)
        return utility


SAMPLINGS: Mapping[str, Callable[[np.random.Generator], Estimator]] = MappingProxyType(
    {
        "chance": ChanceSampling,
        "external": ExternalSampling,
        "outcome": OutcomeSampling,
        "outcome-baseline": lambda draws: OutcomeSampling(draws, baseline=LearnedBaseline()),
    }
)
"""Estimators by their names in ``solve`` and on the command line."""


def sampling_estimator(sampling: str, seed: int | np.random.Generator = 0) -> Estimator:
    """Return a new estimator by its name."""
    if not isinstance(sampling, str):
        raise TypeError(
            f"sampling must be a name, got {quote(sampling)}; pass estimators as estimator="
        )
    if sampling not in SAMPLINGS:
        raise ValueError(
            f"sampling must be one of {', '.join(map(repr, SAMPLINGS))}, got {quote(sampling)}"
            f"{did_you_mean(sampling.lower(), SAMPLINGS)}"
        )
    if not isinstance(seed, np.random.Generator):
        seed = np.random.default_rng(whole_number(seed, "seed", minimum=0))
    return SAMPLINGS[sampling](seed)
