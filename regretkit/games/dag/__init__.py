"""Game DAGs: histories with equal continuations are one node."""
