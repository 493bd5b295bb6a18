"""Games: what players' coordinates are worth, a catalogue of them, and how to define one's own."""

from typing import TYPE_CHECKING

from regretkit._lazily import lazily
from regretkit.games.catalogue import battle_of_the_sexes as battle_of_the_sexes
from regretkit.games.catalogue import battleship as battleship
from regretkit.games.catalogue import biased_rock_paper_scissors as biased_rock_paper_scissors
from regretkit.games.catalogue import blotto as blotto
from regretkit.games.catalogue import chicken as chicken
from regretkit.games.catalogue import dudo as dudo
from regretkit.games.catalogue import goofspiel as goofspiel
from regretkit.games.catalogue import kuhn_poker as kuhn_poker
from regretkit.games.catalogue import leduc_poker as leduc_poker
from regretkit.games.catalogue import liars_dice as liars_dice
from regretkit.games.catalogue import matching_pennies as matching_pennies
from regretkit.games.catalogue import oshi_zumo as oshi_zumo
from regretkit.games.catalogue import prisoners_dilemma as prisoners_dilemma
from regretkit.games.catalogue import rock_paper_scissors as rock_paper_scissors
from regretkit.games.catalogue import shapley_game as shapley_game
from regretkit.games.catalogue import traffic_light as traffic_light
from regretkit.games.catalogue.claims import dudo_history as dudo_history
from regretkit.games.catalogue.dice import liars_dice_level as liars_dice_level
from regretkit.games.extensive_form import ExtensiveFormGame as ExtensiveFormGame
from regretkit.games.fingerprints import fingerprint as fingerprint
from regretkit.games.gambit import read_efg as read_efg
from regretkit.games.gambit import read_nfg as read_nfg
from regretkit.games.gambit import save as save
from regretkit.games.gambit import write_efg as write_efg
from regretkit.games.gambit import write_nfg as write_nfg
from regretkit.games.game import Game as Game
from regretkit.games.game_tree import GameTree as GameTree
from regretkit.games.history import CHANCE as CHANCE
from regretkit.games.history import CHANCE_TOLERANCE as CHANCE_TOLERANCE
from regretkit.games.history import TERMINAL as TERMINAL
from regretkit.games.history import History as History
from regretkit.games.imperfect_recall import ImperfectRecallGame as ImperfectRecallGame
from regretkit.games.level import Level as Level
from regretkit.games.normal_form import NormalFormGame as NormalFormGame
from regretkit.games.normal_form import matrix_game as matrix_game
from regretkit.games.profile import Profile as Profile
from regretkit.games.registry import load as load
from regretkit.games.registry import names as names
from regretkit.games.registry import register as register

# Loaded when asked for, so that importing the library stays quick
_LATER = {
    "behavior": "Behavior BehaviorLike uniform_behavior",
    "histories": "InformationSet Playable history_of",
    "gambit._pygambit": "from_pygambit to_pygambit",
    "interop": "from_openspiel openspiel_history to_openspiel_policy",
    "state_graph": "StateGraph",
}
if TYPE_CHECKING:
    from regretkit.games.behavior import Behavior as Behavior
    from regretkit.games.behavior import BehaviorLike as BehaviorLike
    from regretkit.games.behavior import uniform_behavior as uniform_behavior
    from regretkit.games.gambit._pygambit import from_pygambit as from_pygambit
    from regretkit.games.gambit._pygambit import to_pygambit as to_pygambit
    from regretkit.games.histories import InformationSet as InformationSet
    from regretkit.games.histories import Playable as Playable
    from regretkit.games.histories import history_of as history_of
    from regretkit.games.interop import from_openspiel as from_openspiel
    from regretkit.games.interop import openspiel_history as openspiel_history
    from regretkit.games.interop import to_openspiel_policy as to_openspiel_policy
    from regretkit.games.state_graph import StateGraph as StateGraph
else:
    __getattr__, __dir__, __all__ = lazily(__name__, _LATER)
