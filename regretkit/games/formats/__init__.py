"""Game files in Gambit's formats ``.efg`` and ``.nfg``."""
