"""Games: normal and extensive form, a catalogue, files, and interfaces to define games."""

from regretkit.games._adapters import InformationSet as InformationSet
from regretkit.games._adapters import Playable as Playable
from regretkit.games._adapters import as_history as as_history
from regretkit.games._behavioral import BehavioralStrategy as BehavioralStrategy
from regretkit.games._behavioral import BehavioralStrategyLike as BehavioralStrategyLike
from regretkit.games._behavioral import ProfileLike as ProfileLike
from regretkit.games._behavioral import VisitedProfile as VisitedProfile
from regretkit.games._behavioral import VisitedStrategy as VisitedStrategy
from regretkit.games._behavioral import uniform_behavior as uniform_behavior
from regretkit.games._efg import read_efg as read_efg
from regretkit.games._efg import write_efg as write_efg
from regretkit.games._extensive_form import ExtensiveFormGame as ExtensiveFormGame
from regretkit.games._extensive_form import ImperfectRecallGame as ImperfectRecallGame
from regretkit.games._fingerprint import fingerprint as fingerprint
from regretkit.games._game import Game as Game
from regretkit.games._game_dag import GameDAG as GameDAG
from regretkit.games._nfg import read_nfg as read_nfg
from regretkit.games._nfg import write_nfg as write_nfg
from regretkit.games._normal_form import NormalFormGame as NormalFormGame
from regretkit.games._normal_form import matrix_game as matrix_game
from regretkit.games._openspiel_states import openspiel_history as openspiel_history
from regretkit.games._openspiel_tree import from_openspiel as from_openspiel
from regretkit.games._openspiel_tree import to_openspiel_policy as to_openspiel_policy
from regretkit.games._profile import Profile as Profile
from regretkit.games._pygambit import from_pygambit as from_pygambit
from regretkit.games._pygambit import to_pygambit as to_pygambit
from regretkit.games._registry import load as load
from regretkit.games._registry import load_rules as load_rules
from regretkit.games._registry import names as names
from regretkit.games._registry import register as register
from regretkit.games._registry import save as save
from regretkit.games.catalogue._bidding_games import goofspiel as goofspiel
from regretkit.games.catalogue._bidding_games import oshi_zumo as oshi_zumo
from regretkit.games.catalogue._board_games import battleship as battleship
from regretkit.games.catalogue._board_games import (
    phantom_tic_tac_toe_history as phantom_tic_tac_toe_history,
)
from regretkit.games.catalogue._general_sum_trees import extended_shapley as extended_shapley
from regretkit.games.catalogue._general_sum_trees import in_out as in_out
from regretkit.games.catalogue._general_sum_trees import sheriff as sheriff
from regretkit.games.catalogue._general_sum_trees import signalling as signalling
from regretkit.games.catalogue._general_sum_trees import tiny_hanabi as tiny_hanabi
from regretkit.games.catalogue._liars_dice import dudo as dudo
from regretkit.games.catalogue._liars_dice import dudo_history as dudo_history
from regretkit.games.catalogue._liars_dice import liars_dice as liars_dice
from regretkit.games.catalogue._liars_dice import liars_dice_batch as liars_dice_batch
from regretkit.games.catalogue._matrix_games import battle_of_the_sexes as battle_of_the_sexes
from regretkit.games.catalogue._matrix_games import (
    biased_rock_paper_scissors as biased_rock_paper_scissors,
)
from regretkit.games.catalogue._matrix_games import blotto as blotto
from regretkit.games.catalogue._matrix_games import chicken as chicken
from regretkit.games.catalogue._matrix_games import congestion_game as congestion_game
from regretkit.games.catalogue._matrix_games import el_farol as el_farol
from regretkit.games.catalogue._matrix_games import matching_pennies as matching_pennies
from regretkit.games.catalogue._matrix_games import prisoners_dilemma as prisoners_dilemma
from regretkit.games.catalogue._matrix_games import random_matrix_game as random_matrix_game
from regretkit.games.catalogue._matrix_games import regret_matching_cycle as regret_matching_cycle
from regretkit.games.catalogue._matrix_games import rock_paper_scissors as rock_paper_scissors
from regretkit.games.catalogue._matrix_games import sealed_bid_auction as sealed_bid_auction
from regretkit.games.catalogue._matrix_games import shapley_game as shapley_game
from regretkit.games.catalogue._matrix_games import traffic_light as traffic_light
from regretkit.games.catalogue._pursuit_evasion import pursuit_evasion as pursuit_evasion
from regretkit.games.catalogue._small_poker import kuhn_poker as kuhn_poker
from regretkit.games.catalogue._small_poker import leduc_batch as leduc_batch
from regretkit.games.catalogue._small_poker import leduc_poker as leduc_poker
from regretkit.games.poker._hold_em import hold_em as hold_em
from regretkit.games.tree._game_tree import GameTree as GameTree
from regretkit.games.tree._history import CHANCE as CHANCE
from regretkit.games.tree._history import CHANCE_TOLERANCE as CHANCE_TOLERANCE
from regretkit.games.tree._history import TERMINAL as TERMINAL
from regretkit.games.tree._history import History as History
from regretkit.games.tree._history import HistoryBatch as HistoryBatch
