"""Agents and matches: strategies play what they say, people what they answer."""

import numpy as np
import pytest
from naive_games import chance, decision, end, random_game, random_profile
from refusals import refusals

from regretkit import ExtensiveFormGame, games
from regretkit.games import (
    Dudo,
    GameTree,
    ImperfectRecallGame,
    LiarsDice,
    Profile,
    as_history,
    uniform_behavior,
)
from regretkit.play import HumanAgent, Observation, StrategyAgent, play_match

KUHN = games.kuhn_poker()
SURE = 1 - 1e-6


def seeded(strategy, seed=0):
    return StrategyAgent(strategy, np.random.default_rng(seed))


def match(game, strategies, rounds=200, seed=0, **ways):
    agents = [
        seeded(strategy_of_agent, seed + 1 + i) for i, strategy_of_agent in enumerate(strategies)
    ]
    return play_match(game, agents, rounds, np.random.default_rng(seed), **ways)


def kuhn_profile(seed=0):
    vectors, _ = random_profile(np.random.default_rng(seed), KUHN)
    return Profile(vectors, KUHN.domains, KUHN)


# Agents


@pytest.mark.parametrize("known", ["Kpb", "J", "Q"])
def test_an_agent_plays_an_action_as_often_as_its_strategy_says(known):
    profile = kuhn_profile(3)
    agent = seeded(profile, 5)
    played = [agent.act(Observation(0, known, ("p", "b"))) for _ in range(5_000)]

    bets = profile[0, known][1]
    deviation = np.sqrt(bets * (1 - bets) / 5_000)
    assert abs(np.mean(played) - bets) <= 5 * deviation


def test_an_agent_refuses_to_play_another_game():
    agent = seeded(kuhn_profile())
    for situation, message in (
        (Observation(0, "unheard of", ("p", "b")), "there is no decision point"),
        (Observation(0, "K", ("fold", "call")), "another game"),
        (Observation(2, "K", ("p", "b")), "must have an entry for player 2"),
    ):
        with pytest.raises(ValueError, match=message):
            agent.act(situation)
    with pytest.raises(ValueError, match="another game"):
        play_match(games.leduc_poker(), [agent, agent], 1, np.random.default_rng(0))


# Matches


@pytest.mark.parametrize("seed", range(3))
def test_agents_earn_what_their_strategies_are_worth(seed):
    generator = np.random.default_rng(seed)
    players = 2 + seed % 2
    root = random_game(generator, players)
    game = ExtensiveFormGame.from_history(root)
    vectors, _ = random_profile(generator, game)
    profile = Profile(vectors, game.domains)

    for form in (game, root):
        played = match(form, [profile] * players, 1_500, seed, bounds=(-9.0, 9.0))
        for agent, value in enumerate(game.value(vectors)):
            low, high = played.estimate(agent).normal_interval(SURE)
            assert low <= value <= high
        np.testing.assert_array_equal(played.mean, played.payoffs.mean(axis=0))


def test_every_kind_of_game_can_be_played():
    forgetful = GameTree.from_rules(Dudo(sides=2, memory=1))
    for game in (
        KUHN,
        KUHN.tree,
        games.chicken(),
        as_history(games.rock_paper_scissors()),
        ImperfectRecallGame(forgetful),
        Dudo(dice=2),
        LiarsDice(dice=2, players=3),
    ):
        agents = 3 if game is not KUHN and "LiarsDice" in type(game).__name__ else 2
        payoffs = match(game, [uniform_behavior] * agents, 5).payoffs
        assert payoffs.shape == (5, agents)
        assert np.isfinite(payoffs).all()


class Seat:
    """Plays the first action, and notes for whom it was asked and what it heard."""

    def __init__(self):
        self.seats, self.heard = [], []

    def act(self, situation):
        self.seats.append(situation.player)
        return 0

    def on_round_end(self, round):
        self.heard.append(round)


def test_agents_change_places_where_they_are_asked_to():
    game = decision(0, "a", x=decision(1, "b", x=decision(2, "c", x=end(1.0, 2.0, 4.0))))
    agents = [Seat(), Seat(), Seat()]

    rotated = play_match(game, agents, 7, np.random.default_rng(0), rotate=True)
    np.testing.assert_array_equal(rotated.payoffs[:3], [[1, 2, 4], [4, 1, 2], [2, 4, 1]])
    assert agents[0].seats == [0, 2, 1, 0, 2, 1, 0]
    fixed = play_match(game, [Seat(), Seat(), Seat()], 2, np.random.default_rng(0))
    np.testing.assert_array_equal(fixed.payoffs, [[1, 2, 4]] * 2)


def test_bounds_are_those_of_whichever_place_an_agent_may_take():
    lopsided = decision(0, "a", x=end(5.0, -1.0), y=end(3.0, 0.0))
    game = ExtensiveFormGame.from_history(lopsided)

    assert match(game, [uniform_behavior] * 2).bounds == ((3.0, 5.0), (-1.0, 0.0))
    assert match(game, [uniform_behavior] * 2, rotate=True).bounds == ((-1.0, 5.0),) * 2
    assert match(lopsided, [uniform_behavior] * 2).bounds is None
    assert match(lopsided, [uniform_behavior] * 2, bounds=(-2, 5)).bounds == ((-2.0, 5.0),) * 2


def test_agents_hear_of_each_round_once():
    game = chance([1.0], deal=decision(0, "a", x=decision(1, "b", x=end(1.0, -1.0))))
    agent = Seat()
    play_match(game, [agent, agent], 2, np.random.default_rng(0))

    assert [round.number for round in agent.heard] == [1, 2]
    assert agent.heard[0].moves == ("deal", "x", "x")
    assert agent.heard[0].payoffs == (1.0, -1.0)


class Wrong:
    def act(self, situation):
        return 2


PLAYED = {"game": KUHN, "agents": [seeded(uniform_behavior)] * 2, "rounds": 3, "generator": 0}
test_what_cannot_be_played_is_refused = refusals(
    ({"game": "kuhn_poker"}, TypeError, "game must be"),
    ({"agents": [uniform_behavior] * 2}, TypeError, "StrategyAgent"),
    ({"agents": [seeded(uniform_behavior)]}, ValueError, "must have an entry for player 1"),
    ({"agents": [seeded(uniform_behavior)] * 3}, ValueError, "got 3"),
    ({"agents": [Wrong()] * 2}, ValueError, "0 to 1"),
    ({"rounds": 0}, ValueError, "rounds"),
    ({"bounds": (-0.5, 0.5)}, ValueError, "bounds must"),
    call=lambda change: play_match(**(PLAYED | change)),
)


# People


def person(*answers):
    said, waiting = [], list(answers)

    def ask(question):
        said.append(question)
        if not waiting:
            raise EOFError
        return waiting.pop(0)

    return HumanAgent(ask, said.append), said


THREE = ("fold", "call", "check")
ANSWERS = [
    *((THREE, ["call"], 1), (THREE, [" f "], 0), (THREE, ["c", "x", "", "check"], 2)),
    *((THREE, ["FO"], 0), (THREE, ["C", "Ch"], 2), (("dudo",), [], 0)),
    *((("bet", "bet"), ["2"], 1), (("1", 1), ["1."], 0), (("", "x"), ["1"], 0)),
]


@pytest.mark.parametrize(("actions", "answers", "chosen"), ANSWERS)
def test_a_person_answers_with_a_name_or_its_beginning_until_it_is_one(actions, answers, chosen):
    player, said = person(*answers)

    assert player.act(Observation(1, "Jb", actions)) == chosen
    assert said[0] == "You are player 1. Information set: Jb"
    assert said[1] == ("fold, call or check? " if actions is THREE else said[1])
    asked_again = {f"There is no action {a!r}." for a in answers[:-1] if a.lower() != "c"}
    asked_again |= {f"Several actions begin with {a!r}." for a in answers[:-1] if a.lower() == "c"}
    assert {line for line in said[2:] if "?" not in line} == asked_again
    assert len(answers) == sum(line.endswith("? ") for line in said)


def test_a_person_plays_a_match_and_hears_what_it_earned():
    player, said = person("b", "nonsense", "b")
    folder = seeded({"Jb": [1, 0], "Qb": [1, 0], "Kb": [1, 0]})

    played = play_match(KUHN, [player, folder], 2, np.random.default_rng(0))
    np.testing.assert_array_equal(played.payoffs, [[1.0, -1.0]] * 2)
    assert said.count("You earn +1.") == 2
    assert said.count("There is no action 'nonsense'.") == 1
    assert next(line for line in said if line.startswith("Actions: ")).endswith(" b p")
