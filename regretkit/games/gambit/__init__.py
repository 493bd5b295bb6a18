"""Games in Gambit's two file formats, and games of pygambit."""

from regretkit.games.gambit._efg import read_efg as read_efg
from regretkit.games.gambit._efg import write_efg as write_efg
from regretkit.games.gambit._nfg import read_nfg as read_nfg
from regretkit.games.gambit._nfg import write_nfg as write_nfg
