"""Standard games.

A game raises a TypeError for an argument of the wrong type, and a ValueError for one out of range.
It raises a MemoryError early if it does not fit into memory.
"""
