"""Files of games: Gambit's formats ``.efg`` and ``.nfg``."""
