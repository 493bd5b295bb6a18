"""Gambit's file formats, read and written."""

from regretkit.games.formats.reading import read_efg as read_efg
from regretkit.games.formats.reading import read_nfg as read_nfg
from regretkit.games.formats.writing import save as save
from regretkit.games.formats.writing import write_efg as write_efg
from regretkit.games.formats.writing import write_nfg as write_nfg
