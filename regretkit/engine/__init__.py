"""Compiled ways to run self-play: they add speed, and no meaning.

Importing this package makes them known to ``SelfPlay``; machine code is loaded
when a run first asks for it.
"""

from regretkit.engine._compiled import Compiled
from regretkit.engine._vectorized import Vectorized
from regretkit.engine._without_tree import start_without_tree
from regretkit.play._engines import register_engine, register_without_tree

register_engine(Vectorized())
register_engine(Compiled(exact=True))
register_engine(Compiled())
register_without_tree(start_without_tree)
