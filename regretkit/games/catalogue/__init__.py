"""Standard games, ready to play.

Every game raises a TypeError for an argument of the wrong type and a ValueError for one out of its
range; one that would not fit into memory raises a MemoryError before it is built, or soon after
where its histories cannot be counted quickly.
"""
