"""What a first user types wrongly is taken as it is meant, or refused with the cure."""

import copy
import functools
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from attrs import define

import regretkit as rk
from regretkit import play
from regretkit.evaluation import (
    MediatorGame,
    RegretLedger,
    best_correlated_equilibrium,
    best_extensive_form_correlated_equilibrium,
    best_response,
    certify,
    certify_gaps,
    finish,
    maxmin,
    nash_equilibria,
    sampled_value,
    solve_zero_sum,
)
from regretkit.games import GameDAG, Profile, VisitedProfile, load_rules
from regretkit.trace import find_kernel

EXAMPLES = Path(__file__).parents[2] / "examples/games"
A = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
KUHN = rk.load("kuhn_poker")
KUHN_3 = rk.games.kuhn_poker(players=3)
PENNIES = rk.games.matching_pennies()
RUN = rk.solve(KUHN, "cfr", 2)
RULES = rk.games.load_rules("kuhn_poker")
BY_RULES = rk.solve(RULES, "cfr", 2, seed=1)
DICE = rk.games.load_rules("liars_dice(dice=2)")
ZEROS = np.zeros(3)
PRODUCT = rk.Product([rk.RegretMatching(2), rk.RegretMatching(3)])


class Uniform(rk.SimplexRule):
    def _propose(self):
        return self.simplices.uniform()

    def _learn(self, utility, strategy):
        pass


@dataclass(eq=False)
class Dataclass(Uniform):
    regrets: np.ndarray = rk.state()


class Undefined(Uniform):
    regrets: np.ndarray = rk.state()


@define(eq=False)
class Ones(Uniform):
    """Its strategies do not sum to 1."""

    def _propose(self):
        return np.ones(self.dimension)


@define(eq=False)
class SharedArray(Uniform):
    """Its regrets are one array for all players."""

    regrets: np.ndarray = ZEROS


@define(eq=False)
class Powered(rk.SimplexRule):
    power: float
    _propose = _learn = None


@define(eq=False)
class Swapped(rk.SimplexRule):
    regrets: np.ndarray = rk.state()

    def _propose(self):
        return self.simplices.normalize(np.maximum(self.regrets, 0.0))

    def _learn(self, utility, strategy):
        self.regrets += self.simplices.regret(strategy, utility)


@define(eq=False)
class InPlace(Swapped):
    def _learn(self, utility, strategy):
        utility -= strategy


class OneSimplex(rk.RegretMinimizer):
    """Is made with a number of actions."""

    def __init__(self, actions):
        self.domain = rk.Simplices(range(actions, actions + 1))

    def _propose(self):
        return self.domain.uniform()

    def _learn(self, utility, strategy):
        pass


class Nowhere(rk.RegretMinimizer):
    """Does not say where it plays."""

    def __init__(self, actions):
        self.regrets = np.zeros(actions)

    def _propose(self):
        return np.full(2, 0.5)

    def _learn(self, utility, strategy):
        pass


class Somewhere(Nowhere):
    def __init__(self, actions):
        self.domain = actions


class NotBuilt(OneSimplex, rk.SimplexRule):
    def __init__(self, actions):
        self.regrets = np.zeros(actions)


@define(eq=False)
class Uncalled(rk.SimplexRule):
    regrets: np.ndarray = rk.state
    _propose = _learn = None


@define
class Compared(rk.SimplexRule):
    regrets: np.ndarray = rk.state()
    _propose = _learn = None


@define(eq=False)
class Blocks(Swapped):
    """Computes with a number for each block as if it were one for each action."""

    def _learn(self, utility, strategy):
        self.regrets += utility - self.simplices.expectation(utility, strategy)


@define(eq=False)
class Mixing(Blocks):
    """Takes one expectation over all decision points."""

    def _learn(self, utility, strategy):
        self.regrets += utility - utility @ strategy


@define(eq=False)
class NoPlace(rk.RegretMinimizer):
    """Is made of nothing."""

    _propose = _learn = None


class OwnInit(rk.SimplexRule):
    def __init__(self, actions):
        super().__init__(actions)
        self.regrets = np.zeros(actions)

    _propose = _learn = None


class Node:
    """A learner by other names."""

    def __init__(self, actions):
        self.regrets = np.zeros(actions)


class Duck:
    def next_strategy(self):
        return np.full(2, 0.5)

    def observe_utility(self, utility):
        pass


class Coin:
    """A game in which chance does all; its outcomes are a mapping."""

    def __init__(self, side=""):
        self.side = side

    def is_terminal(self):
        return bool(self.side)

    def player(self):
        return rk.games.CHANCE

    def chance_outcomes(self):
        return {"heads": 0.5, "tails": 0.5}

    def actions(self):
        return []

    def child(self, action):
        return type(self)(action)

    def information_set(self):
        return ""

    def payoffs(self):
        return [0.0]


class Shared(Coin):
    """Its copies share a list."""

    def __init__(self, side=()):
        self.moves = list(side)

    def is_terminal(self):
        return len(self.moves) > 1

    def player(self):
        return 0

    def actions(self):
        return ["left", "right"]

    def child(self, action):
        child = copy.copy(self)
        child.moves.append(action)
        return child

    def information_set(self):
        return " ".join(self.moves)


class Itself(Coin):
    """Its child is changed in place."""

    def chance_outcomes(self):
        return [(f"{self.side}heads", 1.0)]

    def is_terminal(self):
        return len(self.side) > 9

    def child(self, action):
        self.side += action
        return self

    def state(self):
        return self.side


NoPayoffs = type(
    "NoPayoffs",
    (),
    {name: value for name, value in vars(Coin).items() if name not in ("payoffs", "__dict__")},
)


class Begun:
    """Has three of a history's methods."""

    is_terminal = player = actions = Coin.player


class Over:
    def is_terminal(self):
        return True

    def payoffs(self):
        return [0.0]


def from_coin(**methods):
    return rk.ExtensiveFormGame.from_history(type("Bent", (Coin,), methods)())


def rule_with(learn):
    return type("Bent", (rk.SimplexRule,), {"_learn": learn})


def trees(rule):
    return [rk.CFR(tree, rule) for tree in KUHN.domains]


def held(rule, regrets):
    rule.regrets = regrets
    rule.next_strategy()
    rule.observe_utility(ZEROS)


def recorded():
    record = play.Recorder()
    rk.solve(KUHN, "cfr", 1, callbacks=[record])
    return record


CURES = [
    (lambda: RUN.average.save("x.json"), "to_json(path) writes a file"),
    (lambda: rk.list_games(), "games are listed by games.names()"),
    (lambda: rk.__version__, "importlib.metadata.version('regretkit') has it"),
    (lambda: rk.compare(KUHN, "cfr+,dcfr", 1), "several are a list, ['cfr+', 'dcfr']"),
    (lambda: play.resume("run", KUHN, "cfr"), "its arguments are (path, game, *, "),
    (lambda: rk.RegretMatching(3).sample(), "returned by next_strategy()"),
    (lambda: rk.RegretMatching(3).train(9), "SelfPlay(game, minimizers).run(iterations)"),
    (lambda: rk.RegretMatching(3).normalize(ZEROS), "operations are in self.simplices"),
    (lambda: RUN.train(9), "it is continued by run(iterations)"),
    (lambda: RUN.game_value, "game.value(run.average)"),
    (lambda: RUN.regrets, "run.minimizers[0]['K'].state"),
    (lambda: RUN.average.items(), "by label it is profile['K']"),
    (lambda: RUN.average["J", ""], "labels are texts"),
    (lambda: rk.Average().average, "the average is in strategy"),
    (lambda: rk.CFRSolver, "solve(game, 'cfr', iterations=1000)"),
    (lambda: rk.InternalRegret, "minimized by SwapRegret"),
    (lambda: rk.display.plot, "figures are convergence"),
    (lambda: KUHN.save("kuhn.efg"), "games.save(game, path)"),
    (lambda: PENNIES.solve(), "solve(game, 'cfr+', iterations=1000)"),
    (lambda: rk.games.save("kuhn.efg", KUHN), "the game comes first"),
    (lambda: rk.load("games/chess"), "there is no such file"),
    (lambda: rk.load(str(EXAMPLES / "inspection")), "inspection.nfg'?"),
    (lambda: rk.NormalFormGame(A[:2], -A[:2].T), "pass B.T where they are columns"),
    (lambda: from_coin(player=0), "player must be a method"),
    (lambda: rk.ExtensiveFormGame.from_history(Shared()), "or one that shares a list with it"),
    (lambda: rk.compare(PENNIES, "cfr", 1).savefig("a.svg"), "plot().savefig(path)"),
    (
        lambda: rk.display.convergence({"cfr": [RUN, RUN]}),
        "record runs by solve(..., callbacks=[Recorder()])",
    ),
    (lambda: rk.display.heat_map(RUN.average, figsize=5), "two lengths in inches"),
    (lambda: trees(functools.partial(Powered, pow=2.0)), "Powered takes simplices, power"),
    (lambda: trees(lambda: rk.RegretMatching), "as in lambda simplices: ..."),
    (lambda: trees(lambda regrets: regrets >= 0), "it is to return a minimizer"),
    (lambda: trees(NoPlace), "derive NoPlace from SimplexRule"),
    (lambda: trees("rm+"), "pass RegretMatching, or let solve(game, name) play"),
    (lambda: trees({"K": rk.RegretMatching}), "ByDecisionPoint(rules)"),
    (lambda: rk.SelfPlay(KUHN, trees(rk.RegretMatching)[::-1]), "which is player 1's"),
    (lambda: rule_with(lambda self, utility: None), "write def _learn(self, utility, strategy)"),
    (
        lambda: rule_with(lambda self, strategy, utility: None),
        "write def _learn(self, utility, strategy)",
    ),
    (lambda: rk.solve(KUHN, Blocks, 2), "use self.simplices.repeat(x)"),
    (
        lambda: rk.solve(KUHN, "cfr", gap=0.1),
        "its arguments are (game, algorithm, iterations, *, t",
    ),
    (lambda: rk.compare(KUHN, "cfr", 1, seed=1), "sampling, seeds, measures"),
    (lambda: rk.games.leduc_poker(n_players=3), "its arguments are (players, ranks"),
    (lambda: rk.Algorithm("cfr", play.Alternating()), "(local, *, order, averaging"),
    (lambda: play.Recorder(every=3), "its arguments are (measures)"),
    (lambda: finish(KUHN, RUN.average), "its arguments are (run, *, "),
    (lambda: nash_equilibria(A, A.T), "its arguments are (game, *, solver)"),
    (lambda: certify_gaps(KUHN, RUN.average, concept="efce"), "notion"),
    (lambda: rk.display.heat_map(KUHN, RUN.average), "its arguments are (profile, *, "),
    (lambda: rk.compare(PENNIES, "cfr", 1).plot("x.png"), "its arguments are (**options)"),
    (lambda: rk.compare(PENNIES, "cfr", 1).best, "each game and algorithm is one of runs"),
    (lambda: rk.solve(KUHN, "cfr", exact="rational"), "fractions are those of evaluation.certify("),
    (lambda: rk.solve(KUHN, "lp", 1), "solve(game, exact=True) takes a linear program"),
    (lambda: rk.display.tree, "figures are convergence, draw_circuit, draw_game"),
    (lambda: rk.display.circuit, "figures are convergence, draw_circuit, draw_game"),
    (lambda: rk.efce_gap, "it is a method of regretkit.evaluation.CorrelatedPlay"),
    (lambda: KUHN.uniform(), "uniform strategies are games.Profile.uniform(game)"),
    (lambda: KUHN.exploitability(), "as a function: nash_conv(game, profile)"),
    (lambda: KUHN.plot(), "figures are in regretkit.display"),
    (lambda: PENNIES.best_response(0), "best_response(game, player, profile)"),
    (lambda: RUN.average.heatmap(), "figures are in regretkit.display"),
    (lambda: solve_zero_sum(KUHN).strategy, "the strategies are in profile"),
    (lambda: solve_zero_sum(KUHN).nash_conv(), "the sum of both gains is gap"),
    (
        lambda: best_extensive_form_correlated_equilibrium(KUHN).distribution,
        "plan.draw(generator) draws strategies",
    ),
    (
        lambda: best_extensive_form_correlated_equilibrium(KUHN).plan.sample(1),
        "draw(generator) draws strategies",
    ),
    (lambda: best_response(KUHN, RUN.average, 0), "the player comes before the profile"),
    (lambda: maxmin(KUHN_3, 0), "team_maxmin(game, player) has what they guarantee"),
    (lambda: nash_equilibria(KUHN), "solve(game, exact=True) finds one of a zero-sum game"),
    (lambda: rk.CorrelatedPlay(PENNIES, ["ce"]), "in normal form ce_gap() needs none"),
    (lambda: rk.CorrelatedPlay(KUHN).value, "what each player earned is payoffs()"),
    (lambda: rk.CorrelatedPlay(KUHN).nash_conv(), "nash_conv(game, run.average)"),
    (lambda: RUN.resume(10), "it is continued by run(iterations)"),
    (lambda: RUN.value(), "game.value(run.average)"),
    (lambda: BY_RULES.average[0].items(), "iterate over it"),
    (lambda: rk.solve(KUHN, "cfr", time_limit=-1), "time_limit must be a finite number above 0"),
    (lambda: rk.solve(KUHN, "cfr", target_gap=0), "target_gap must be a finite number above 0"),
    (lambda: rk.exploitability(RULES, []), "build its tree with ExtensiveFormGame.from_history"),
    (lambda: rk.exploitability(DICE, []), "histories does not fit into memory; solve"),
    (lambda: rk.solve(DICE, exact=True), "histories does not fit into memory; solve"),
    (lambda: rk.solve(DICE, target_gap=1.0), "leave it out; its tree of about"),
    (
        lambda: rk.solve(MediatorGame(KUHN, penalty=1.0), "efce", 1),
        "of a MediatorGame, play 'pdcfr+",
    ),
    (lambda: rk.circuits.TriggerDeviations(KUHN), "pass game.domains[0]"),
    (lambda: rk.circuits.LinearDeviations(KUHN), "pass game.domains[0]"),
    (lambda: rk.circuits.EFR(KUHN), "pass game.domains[0]"),
    (lambda: rk.RegretMatching(3).update(ZEROS), "learns by observe_utility(utility)"),
    (lambda: rk.RegretMatching(3).observe(ZEROS), "learns by observe_utility(utility)"),
    (lambda: rk.RegretMatching(3).get_strategy(), "returned by next_strategy()"),
    (lambda: rk.RegretMatching(3).average_strategy, "Average"),
    (lambda: rk.RegretMatching(3).swap_regret, "RegretLedger(minimizer) tracks"),
    (lambda: RegretLedger(rk.RegretMatching(3)).regret, "external(minimizer)"),
    (lambda: RegretLedger(rk.RegretMatching(3)).chek, "did you mean 'check'?"),
    (lambda: rk.RegretMatching(3).regret, "did you mean 'regrets'?"),
    (lambda: Powered(power=2.0), "functools.partial(Powered, power=2.0)"),
    (lambda: rk.load(KUHN), "it is a game already"),
    *(
        (lambda table=table, name=name: getattr(table(), name), "a pandas table is to_dataframe()")
        for table in (lambda: RUN.average, recorded, lambda: rk.compare(PENNIES, "cfr", 1))
        for name in ("to_pandas", "to_df", "dataframe")
    ),
    (lambda: rk.solve(RULES, "cfr", 1, sampling="chance"), "sampling needs the game's tree"),
    (lambda: rk.CorrelatedPlay(PENNIES).distribution, "outer products of run.last_profile"),
    (lambda: nash_equilibria(KUHN_3), "nash_conv says how far the average of a run is from one"),
    (lambda: RUN.average.plot(), "figures are in regretkit.display"),
    (lambda: GameDAG.from_history(Itself()), "must be a new history, got the one that it was"),
    (lambda: rk.CFR(KUHN, rk.RegretMatching), "pass game.domains[0], or let solve(game, rule)"),
    (lambda: rk.CFR("kuhn_poker", rk.RegretMatching), "load('kuhn_poker').domains[0]"),
    (lambda: rk.SelfPlay(KUHN, rk.RegretMatching), "let solve(game, RegretMatching) make them"),
    (lambda: rk.SelfPlay(KUHN, "cfr"), "let solve(game, 'cfr') make them"),
    (lambda: rk.SelfPlay(KUHN, [rk.CFR] * 2), "as in CFR(tree, RegretMatching)"),
    (lambda: rk.SelfPlay(PENNIES, [rk.RegretMatching] * 2), "as in RegretMatching(3)"),
    (lambda: rk.SelfPlay(PENNIES, [Duck(), Duck()]), "as in minimizers.Adapter(it, domain)"),
    (lambda: rk.SelfPlay(A, []), "pass matrix_game(A), or NormalFormGame(A, B)"),
    (lambda: rk.solve(A, "cfr", iterations=1), "pass matrix_game(A), or NormalFormGame(A, B)"),
    (lambda: rk.RegretMatching(KUHN.domains[0]), "CFR(tree, RegretMatching)"),
    (lambda: rk.NormalFormGame(A), "use matrix_game"),
    (lambda: rk.NormalFormGame(A, np.eye(2)), "must have one shape, got (3, 3) and (2, 2)"),
    (lambda: rk.load("kuhn-poker"), "did you mean kuhn_poker?"),
    (lambda: rk.load("Kuhn poker"), "did you mean kuhn_poker?"),
    (lambda: rk.solve(KUHN, "cfrplus", iterations=1), "did you mean 'cfr+'?"),
    (
        lambda: play.ExternalSampling("1"),
        "pass a seed such as 1, or numpy.random.default_rng(seed)",
    ),
    (lambda: play.ExternalSampling(-1), "a seed, at least 0"),
    (lambda: rk.Algorithm("cfr", averaging="linear"), "pass one, such as Linear()"),
    (lambda: rk.Algorithm("cfr", order=play.Simultaneous), "pass one, such as Simultaneous()"),
    (lambda: rk.Product(rk.Hedge(2, rate=1.0)), "pass a list of them"),
    (lambda: Dataclass(3), "put @attrs.define(eq=False) before the class in place of @dataclass"),
    (lambda: SharedArray(3), "as regrets: np.ndarray = rk.state()"),
    (lambda: rk.solve(Coin, "cfr", iterations=1), "pass an object, Coin(), and build its tree"),
    (
        lambda: rk.nash_conv(Coin(), []),
        "sampled_local_best_response and uniform_behavior need none",
    ),
    (lambda: Undefined(3), "put @attrs.define(eq=False) before the class"),
    (lambda: Compared(3), "put @attrs.define(eq=False) before the class"),
    (lambda: trees(rk.PerDecisionPoint(OwnInit)), "as in regrets: np.ndarray = rk.state(), in"),
    (lambda: rk.solve(KUHN, rk.CFR, 1), "pass its rule, such as RegretMatching, or 'cfr'"),
    (lambda: rk.solve(KUHN, trees(rk.RegretMatching)[0], 1), "pass its rule, such as Regret"),
    (
        lambda: rk.compare(["cfr+"], [KUHN], 1),
        "the algorithm 'cfr+' among the games; games come first",
    ),
    (lambda: rk.nash_conv(RUN.average, KUHN), "the game comes first"),
    (lambda: rk.SelfPlay(trees(rk.RegretMatching), KUHN), "the game comes first"),
    (
        lambda: rk.display.convergence({"a": rk.compare(PENNIES, "cfr", 1).runs[0]}),
        "; pass its columns",
    ),
    (
        lambda: from_coin(
            chance_outcomes=lambda _: [("heads", 1.0)], child=lambda history, _: history
        ),
        "must be a new history, got the one that it was asked of",
    ),
    (
        lambda: rk.compare(PENNIES, "cfr", 1).plot(ax=None),
        "display.convergence(found.curves()[game], ax=ax)",
    ),
    (lambda: rk.nash_conv(KUHN, rk.solve(KUHN, "cfr", iterations=1)), "pass its average"),
    (lambda: rk.kuhn_poker, "it is regretkit.games.kuhn_poker"),
    (lambda: PENNIES.value([[1.0, 1.0], [0.5, 0.5]]), "a point of Simplices(2)"),
    (lambda: KUHN.value([np.ones(13)] * 2), "tree.sequence_form(behavior)"),
    (lambda: rk.ExtensiveFormGame.from_history(Coin), "got its class Coin; pass Coin()"),
    (lambda: rk.ExtensiveFormGame.from_history(Coin()), "return list(outcomes.items())"),
    (lambda: rk.solve(KUHN, "hedge", iterations=1), "or pass a rule's class"),
    (lambda: rk.solve(KUHN, "leduc_poker", 1), "it is a game"),
    (lambda: rk.solve(KUHN, "RegretMatching", 1), "the class regretkit.minimizers:RegretMatching"),
    (lambda: Nowhere(2).next_strategy(), "never said where it plays; set self.domain, as in"),
    (lambda: trees(rk.PerDecisionPoint(Nowhere)), "never said where it plays; set self.domain"),
    (lambda: Somewhere(2).next_strategy(), "Somewhere plays on 2; set self.domain, as in"),
    (lambda: NotBuilt(2).next_strategy(), "call super().__init__(simplices) when it is built"),
    (lambda: Uncalled(2), "declares regrets = state; call it: rk.state()"),
    (lambda: trees(rk.PerDecisionPoint(Node)), "give it next_strategy and observe_utility, and"),
    (lambda: rk.solve("cfr", KUHN, 1), "the game comes first"),
    (lambda: rk.RegretMatching(PENNIES), "pass game.domains[0]"),
    (
        lambda: rk.solve(KUHN, "cfr", 1, callbacks=[rk.CorrelatedPlay]),
        "callbacks[0] must be an object, got its class CorrelatedPlay; pass CorrelatedPlay(...)",
    ),
    (lambda: rk.solve((A, A), "cfr", 1), "pass matrix_game(A), or NormalFormGame(A, B)"),
    (lambda: from_coin(player=lambda _: None), "or CHANCE, which is -1, got None at the empty"),
    (lambda: from_coin(chance_outcomes=lambda _: [1 / 2, "t"]), "pairs of an action and its"),
    (
        lambda: from_coin(chance_outcomes=lambda _: [("h", 1)], payoffs=lambda _: {}[1]),
        "history 'h'",
    ),
    (lambda: rk.games.nash_equilibria, "it is regretkit.evaluation.nash_equilibria"),
    (lambda: rk.sets.kuhn_pokr, "did you mean regretkit.games.kuhn_poker?"),
    (lambda: rk.CFRPlus, "as in solve(game, 'cfr+')"),
    (lambda: rk.plot, "figures are in regretkit.display"),
    (lambda: rk.display.convergence(RUN), "with record = Recorder()"),
    (lambda: rk.display.convergence(rk.compare(PENNIES, "cfr", 1)), "by its method plot()"),
    (lambda: RUN.average_strategy, "strategies are in average and in current"),
    (lambda: RUN.iterations, "did you mean 'iteration'?"),
    (lambda: BY_RULES.nash_conv(), "a lower bound is in evaluation.sampled_local_best_response"),
    (lambda: BY_RULES.average_policy, "strategies are in average and in current"),
    (lambda: Profile.from_json(KUHN, "p.json"), "pass from_json(path, game)"),
    (lambda: play.StrategyAgent(RUN, 1), "pass its average, run.average"),
    (lambda: play.StrategyAgent(BY_RULES, 1), "pass its average, run.average"),
    (lambda: rk.RegretMatching(3).n, "the number of coordinates is its dimension"),
    (lambda: rk.Hedge(3, rate=1).cumulative_regret, "as in regrets: np.ndarray = rk.state()"),
    (lambda: rk.evaluation.RegretLedger(rk.Hedge), "pass what you play with, as RegretMatching(3)"),
    (
        lambda: rk.evaluation.sampled_local_best_response(KUHN, RUN.average, 0, 9, 1),
        "player must be a whole number, at least 0, got player 0",
    ),
    (lambda: certify(KUHN, solve_zero_sum(KUHN)), "pass its profile, solution.profile"),
    (lambda: solve_zero_sum(KUHN_3), "team_maxmin says what all but one are sure of"),
    (
        lambda: solve_zero_sum(rk.games.sheriff(items=1, bribe=1, rounds=1)),
        "best_extensive_form_correlated_equilibrium what both can agree on",
    ),
    (
        lambda: best_correlated_equilibrium(KUHN),
        "for a tree use best_extensive_form_correlated_equilibrium",
    ),
    (
        lambda: best_extensive_form_correlated_equilibrium(KUHN, "efce"),
        "a concept goes by its name, concept=...",
    ),
    (lambda: rk.solve(KUHN, "efr"), "did you mean 'efr-"),
    (
        lambda: rk.ConvexHull([rk.RegretMatching(2), [1.0, 0.0]], mixing=rk.RegretMatching),
        "members[1] must be a RegretMinimizer, got [1.0, 0.0]; a fixed point is one as Point(",
    ),
    (lambda: rk.CFR(KUHN.domains[0], Duck), "pass PerDecisionPoint(lambda n: minimizers.Adapter("),
    (
        lambda: Profile.from_dict({"format": "", "version": 1, "parents": [], "players": []}),
        "read it by VisitedProfile",
    ),
    *(
        (lambda take=take: take(NoPayoffs()), "must have the methods of a History, got")
        for take in (
            rk.ExtensiveFormGame.from_history,
            lambda game: GameDAG.from_history(game, state=repr),
            lambda game: rk.solve(game, "cfr", 1, seed=1),
            lambda game: rk.compare(game, "cfr", 1),
            lambda game: sampled_value(game, [], 1, 1),
            lambda game: rk.nash_conv(game, []),
            lambda game: play.play_match(game, [play.StrategyAgent(RUN.average, 1)], 1, 1),
            lambda game: play.LazyMCCFR(game, rk.RegretMatching, play.ExternalSampling(1)),
        )
    ),
    *(
        (lambda name=name: rk.solve(KUHN, name, 1), cure)
        for name, cure in (
            ("regret matching", "it is the class regretkit.minimizers:RegretMatching"),
            ("RM+", "it is the class regretkit.minimizers:RegretMatchingPlus"),
            ("hedge", "it is the class regretkit.minimizers:Hedge"),
            ("Linear CFR", "did you mean 'lcfr'?"),
            ("External", "it is a sampling, as in solve(game, sampling='external')"),
        )
    ),
    (lambda: rk.load(A), "pass matrix_game(A), or NormalFormGame(A, B)"),
    (lambda: rk.solve(A, A), "two matrices are one game, NormalFormGame(A, B)"),
    (lambda: rk.Algorithm("cfr").start(A), "pass matrix_game(A), or NormalFormGame(A, B)"),
    (lambda: sampled_value(A, [], 1, 1), "matrix_game(A)"),
    (lambda: rk.load("OpenSpiel:kuhn_poker"), "is named as in 'openspiel:kuhn_poker'"),
    (lambda: RegretLedger(Duck()), "adapt it, as in minimizers.Adapter(it, domain)"),
    (lambda: rk.games.load_rules("kuhn.efg"), "a game file, which load reads, to its tree"),
    (lambda: rk.CFR(KUHN.domains[0], "cfr"), "let solve(game, name) play what has a name"),
    (
        lambda: rk.PerDecisionPoint("cfr"),
        "pass a rule's class, as PerDecisionPoint(RegretMatching)",
    ),
    (lambda: rk.solve(RULES, "efce", 1, seed=1), "circuit <function trigger_regret> needs the"),
    (lambda: rk.play.save, "a run has save(path), and regretkit.games.save writes a game"),
    *(
        (lambda e=e: rk.SelfPlay(KUHN, trees(Swapped), engine=e).run(1), "regret(utility, strategy")
        for e in ("auto", "numpy", "vectorized", "compiled")
    ),
    (lambda: rk.solve(RULES, Swapped, 1, seed=1), "regret(utility, strategy"),
    (lambda: sampled_value(RULES, [RUN.average] * 2, 9, 1), "pass a whole profile, as run.average"),
    (lambda: play.StrategyAgent([BY_RULES.average], 1), "pass run.average[0]"),
    (lambda: rk.ExtensiveFormGame.from_history(Over()), "without ['player', 'chance_outcomes'"),
    (lambda: rk.ExtensiveFormGame.from_batch(Over()), "without ['player', 'actions', 'child', "),
    (lambda: rk.ExtensiveFormGame(Over()), "build one with GameTree.from_history(root)"),
    *(
        (lambda e=e: rk.SelfPlay(KUHN, trees(InPlace), engine=e).run(1), "utility = utility - x")
        for e in ("auto", "numpy", "vectorized", "compiled")
    ),
    (lambda: rk.solve(RULES, InPlace, 1, seed=1), "write utility = utility - x"),
    (lambda: rk.solve(RULES, Ones, 1, seed=1), "Ones returned for iteration 1 must be probabil"),
    (lambda: rk.solve(RULES, Ones, 1, seed=1), "such as self.simplices.normalize"),
    (lambda: rk.RegretMatching(3).observe_utility(0, 1.0), "a number for each action, played or"),
    (lambda: setattr(rk.RegretMatching(3), "regrets", [1, 2, 3]), "rule.state['regrets'][:] = "),
    (lambda: held(Blocks(3), np.ones(2)), "regrets must stay an array of shape (3,), and is"),
    (lambda: rk.Average().add(ZEROS, 2.0), "as in Average(Linear())"),
    (lambda: PRODUCT[0], "write circuit.parts[0]"),
    (lambda: PRODUCT.domain.split, "x[simplices.block(number)]"),
    (lambda: rk.SelfPlay(KUHN, [], alternating=True), "as in order=Alternating()"),
    (lambda: play.Recorder("nash_conv", "seconds"), "as in Recorder(['nash_conv', 'seconds'])"),
    (lambda: rk.compare(PENNIES, "cfr", 1).plot("x.png"), "plot().savefig(path) writes it"),
    (lambda: rk.display.convergence({}, color="red"), "as in ax.lines[0].set_color('red')"),
    (lambda: rk.display.convergence(play.Recorder()), "is a Recorder without rows"),
    (lambda: nash_equilibria(A, A), "NormalFormGame(A, B)"),
    (lambda: rk.solve(KUHN.tree, "cfr", 1), "pass ExtensiveFormGame(tree)"),
    (lambda: rk.load(KUHN.tree), "pass ExtensiveFormGame(tree)"),
    (lambda: rk.solve(KUHN, "cfr", 1, engine="compield"), "did you mean 'compiled'?"),
    (lambda: rk.solve(KUHN, "cfr", 1, engine="numba"), "did you mean 'compiled'?"),
    (lambda: rk.help, "as in help(regretkit.solve)"),
    (lambda: find_kernel(Node), "rule must be a SimplexRule, got "),
    (lambda: find_kernel(rk.CFR), "pass one, as RegretMatching(3)"),
    (lambda: PENNIES.value([{"heads": 1.0}] * 2), "a probability for each action"),
    (lambda: sampled_value(PENNIES, [{"heads": 1.0}] * 2, 9, 1), "a vector such as [0.5, 0.5]"),
    (lambda: Profile.from_labels(PENNIES, {"heads": 1.0}), "or {0: [0.5, 0.5]}"),
    *(
        (lambda take=take: take(Begun()), "without ['chance_outcomes', 'child', 'information_set'")
        for take in (
            rk.ExtensiveFormGame.from_history,
            lambda game: rk.solve(game, "cfr", 1, seed=1),
            lambda game: rk.compare(game, "cfr", 1),
            lambda game: rk.nash_conv(game, []),
            lambda game: sampled_value(game, [], 1, 1),
        )
    ),
    *(
        (
            lambda engine=engine, game=game, make=make: rk.SelfPlay(
                game, make(), engine=engine
            ).run(1),
            "returned for iteration 1, where self.iteration is 0, must be a point of Simplices(",
        )
        for engine in ("numpy", "vectorized")
        for game, make in ((PENNIES, lambda: [Ones(2), Ones(2)]), (KUHN, lambda: trees(Ones)))
    ),
]


@pytest.mark.parametrize(("wrong", "cure"), CURES)
def test_a_common_mistake_is_answered_by_its_cure(wrong, cure):
    with pytest.raises((TypeError, ValueError, AttributeError, KeyError)) as caught:
        wrong()
    # Notes are shown below a traceback.
    assert cure in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])


@pytest.mark.parametrize(
    ("line", "cure"),
    [
        ("from regretkit import Profile", "it is regretkit.games.Profile"),
        ("from regretkit.games import nash_equilibria", "regretkit.evaluation.nash_equilibria"),
        ("from regretkit.minimizers import CFR", "it is regretkit.circuits.CFR"),
        ("from regretkit import MCCFR", "as in solve(game, 'mccfr')"),
    ],
)
def test_an_import_says_where_a_name_is(line, cure):
    with pytest.raises(ImportError, match=re.escape(cure)):
        exec(line, {})


def test_a_package_has_no_names_of_others():
    assert not hasattr(rk.sets, "CFR")
    assert not hasattr(rk.circuits, "__wrapped__")


def test_arguments_by_position_are_taken_as_meant():
    assert RUN.iteration == 2
    assert rk.compare(PENNIES, "cfr", 3).runs[0].columns["iteration"][-1] == 3
    np.testing.assert_array_equal(
        rk.matrix_game(A, 2.0 * A).payoffs, rk.NormalFormGame(A, 2.0 * A).payoffs
    )
    assert rk.load("kuhn_poker", 3).players == rk.load("kuhn_poker", players=3).players == 3


def test_a_record_alone_is_drawn():
    record = play.Recorder()
    rk.solve(KUHN, "cfr", 9, callbacks=[record])

    (line,) = rk.display.convergence(record, y="nash_conv").get_lines()

    np.testing.assert_array_equal(line.get_ydata(), record.values["nash_conv"])


def test_a_file_of_the_other_kind_of_strategies_is_referred_to_its_reader(tmp_path):
    RUN.average.to_json(tmp_path / "tree.json")
    with pytest.raises(ValueError, match="read it by Profile"):
        VisitedProfile.from_json(tmp_path / "tree.json")


def test_rules_take_arguments_as_games_do():
    assert load_rules("kuhn_poker", players=3) == load_rules("kuhn_poker(players=3)")
    assert load_rules("kuhn_poker", 3) == load_rules("kuhn_poker(players=3)")


def test_an_error_inside_of_a_function_says_nothing_of_its_arguments():
    with pytest.raises(TypeError) as caught:
        rk.compare(PENNIES, "cfr", 1, measures=[3])
    assert not getattr(caught.value, "__notes__", [])


def test_a_resumed_run_plays_the_iterations_that_are_asked_for(tmp_path):
    RUN.save(tmp_path / "run")

    resumed = play.resume(tmp_path / "run", iterations=3)

    expected = rk.solve(KUHN, "cfr", 5)
    np.testing.assert_array_equal([*resumed.average], [*expected.average])


def test_games_of_pygambit_are_referred_to_their_reader():
    game = pytest.importorskip("pygambit").Game.from_arrays(A, -A)
    for take in (rk.load, lambda game: rk.solve(game, "cfr", 1)):
        with pytest.raises(TypeError, match=r"from_pygambit\(game\) reads"):
            take(game)


@pytest.mark.parametrize(
    "make",
    [trees, lambda rule: rk.solve(KUHN, rule, 1), lambda rule: rk.Algorithm(rule).start(KUHN)],
)
def test_the_warning_about_a_shared_mixer_points_here(make):
    def hull(simplices):
        members = [rk.RegretMatching(simplices), rk.Hedge(simplices, rate=1.0)]
        return rk.ConvexHull(members, mixing=rk.RegretMatching(2))

    with pytest.warns(RuntimeWarning, match="CFR has no regret bound here") as caught:
        make(hull)
    assert {warning.filename for warning in caught} == {__file__}


def test_a_rule_that_mixes_decision_points_is_told_in_a_warning():
    with pytest.warns(RuntimeWarning, match=r"mixes the blocks; use self.simplices.dot") as caught:
        rk.solve(KUHN, Mixing, 1)
    assert {warning.filename for warning in caught} == {__file__}
    rk.solve(PENNIES, Mixing, 1)  # where each player has one simplex


def test_no_advice_is_added_to_the_error_of_a_rule_that_says_what_to_do():
    for rule in (Undefined, Compared):
        with pytest.raises(TypeError, match=r"put @attrs\.define") as caught:
            trees(rule)
        assert not hasattr(caught.value, "__notes__")


def test_the_labels_are_told_where_an_information_set_was_not_looked_at():
    record = play.TrajectoryRecorder()
    rk.solve(KUHN, "cfr", 1, callbacks=[record])
    with pytest.raises(ValueError, match="there are 'J', 'Q', 'K'"):
        record.path("X")


@pytest.mark.parametrize("take", [trees, lambda rule: rk.SwapRegret(3, rule)])
def test_a_rule_for_one_simplex_is_referred_to_per_decision_point(take):
    with pytest.raises((TypeError, ValueError)) as caught:
        take(OneSimplex)
    notes = getattr(caught.value, "__notes__", [])
    assert "PerDecisionPoint(rule)" in " ".join([str(caught.value), *notes])


def test_a_rule_with_other_arguments_is_referred_to_partial():
    with pytest.raises(TypeError, match="rate") as caught:
        rk.solve(KUHN, rk.Hedge, iterations=1)
    assert "functools.partial(Hedge, name=value)" in " ".join(caught.value.__notes__)


def test_payoffs_of_the_players_may_be_given_one_by_one():
    one_by_one = rk.NormalFormGame(A, -A, name="rps", actions=[["r", "p", "s"]] * 2)
    assert np.array_equal(one_by_one.payoffs, rk.matrix_game(A).payoffs)
    assert one_by_one.name == "rps"
    assert rk.NormalFormGame(*np.zeros((3, 2, 2, 2))).players == 3
    assert rk.NormalFormGame(payoffs=[A, -A]).players == 2


def test_names_of_algorithms_may_have_capitals():
    assert rk.Algorithm("CFR+") == rk.Algorithm("cfr+")
    assert rk.solve(KUHN, "CFR+", iterations=1).iteration == 1


def test_names_of_deviations_may_have_capitals():
    found = best_extensive_form_correlated_equilibrium(KUHN, concept="EFCE")
    assert found.value == best_extensive_form_correlated_equilibrium(KUHN).value
    assert rk.CorrelatedPlay(KUHN, deviations=["EFCE"]).deviations == ("efce",)
    assert MediatorGame(KUHN, concept="NFCCE", penalty=1.0).concept == "nfcce"


def test_a_file_is_looked_for_at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    rk.games.save(PENNIES, tmp_path / "x.nfg")
    assert rk.load("~/x.nfg").players == 2


def test_games_of_openspiel_are_loaded_by_name():
    pyspiel = pytest.importorskip("pyspiel")
    assert rk.load("openspiel: kuhn_poker").players == 2
    assert rk.load("openspiel:kuhn_poker(players=3)").players == 3
    with pytest.raises(TypeError, match=r"from_openspiel\(game\) reads a game of OpenSpiel"):
        rk.load(pyspiel.load_game("kuhn_poker"))


def test_a_seed_stands_for_a_generator():
    def rng():
        return np.random.default_rng(3)

    uniform = Profile.uniform(KUHN)
    for kind in (play.ExternalSampling, play.OutcomeSampling, play.BanditFeedback):
        assert kind(3).generator.random() == rng().random()
    assert play.RandomPlayer(3).generator.random() == rng().random()
    assert sampled_value(KUHN, uniform, 10, 3) == sampled_value(KUHN, uniform, 10, rng())
    matches = [
        play.play_match(KUHN, [play.StrategyAgent(uniform, seed(3))] * 2, 10, seed(3))
        for seed in (int, np.int64, np.random.default_rng)
    ]
    assert all(np.array_equal(match.payoffs, matches[0].payoffs) for match in matches)


@pytest.mark.parametrize("name", ["checks", "estimators", "circuits", "play"])
def test_every_public_package_is_found_by_attribute(name):
    assert getattr(rk, name).__name__ == f"regretkit.{name}"
