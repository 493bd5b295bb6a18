"""Public games: after a private deal, both players observe every action and every chance move.

Poker is an example. A public game consists of a public tree, private types, and payoffs that are
linear in the opponent's reach. Its utilities need neither a game tree nor a matrix.
"""

from regretkit.games.public._deal import Deal as Deal
from regretkit.games.public._game import PublicGame as PublicGame
from regretkit.games.public._subgame import PublicSubgame as PublicSubgame
from regretkit.games.public._tree import Chance as Chance
from regretkit.games.public._tree import Compare as Compare
from regretkit.games.public._tree import Decision as Decision
from regretkit.games.public._tree import Free as Free
from regretkit.games.public._tree import Outcome as Outcome
from regretkit.games.public._tree import PublicTree as PublicTree
from regretkit.games.public._tree import Table as Table
