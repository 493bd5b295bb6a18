"""Standard games, ready to play.

Every game raises a TypeError for an argument of the wrong type and a ValueError for one out of its
range; one that would not fit into memory raises a MemoryError before it is built.
"""

from regretkit.games.catalogue._battleship import battleship as battleship
from regretkit.games.catalogue._dudo import dudo as dudo
from regretkit.games.catalogue._goofspiel import goofspiel as goofspiel
from regretkit.games.catalogue._kuhn_poker import kuhn_poker as kuhn_poker
from regretkit.games.catalogue._leduc_poker import leduc_poker as leduc_poker
from regretkit.games.catalogue._liars_dice import liars_dice as liars_dice
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
from regretkit.games.catalogue._matrix_games import rock_paper_scissors as rock_paper_scissors
from regretkit.games.catalogue._matrix_games import sealed_bid_auction as sealed_bid_auction
from regretkit.games.catalogue._matrix_games import shapley_game as shapley_game
from regretkit.games.catalogue._matrix_games import traffic_light as traffic_light
from regretkit.games.catalogue._oshi_zumo import oshi_zumo as oshi_zumo
from regretkit.games.catalogue._sheriff import sheriff as sheriff
from regretkit.games.catalogue._signalling import signalling as signalling
from regretkit.games.catalogue._signalling import tiny_hanabi as tiny_hanabi
