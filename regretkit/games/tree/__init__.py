"""Game trees: every history of a game in flat arrays, and how to build one."""
