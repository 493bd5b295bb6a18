"""Public games: after the deal, both players see every action and every move of chance.

A public tree, private types, and payoffs that are linear in the opponent's reach over its types:
poker is one of them. Their utilities need neither a game tree nor a matrix.
"""

from regretkit.games.public._deal import Deal as Deal
from regretkit.games.public._game import PublicGame as PublicGame
from regretkit.games.public._tree import Chance as Chance
from regretkit.games.public._tree import Compare as Compare
from regretkit.games.public._tree import Decision as Decision
from regretkit.games.public._tree import Free as Free
from regretkit.games.public._tree import Outcome as Outcome
from regretkit.games.public._tree import PublicTree as PublicTree
from regretkit.games.public._tree import Table as Table
