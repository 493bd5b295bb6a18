"""Compiled ways to run self-play: they add speed, and no meaning.

Importing this package makes them known to ``SelfPlay``; machine code is loaded
when a run first asks for it.
"""

from regretkit.engine._compiled import Compiled
from regretkit.engine._vectorized import Vectorized
from regretkit.play._engines import register_engine

register_engine(Vectorized())
register_engine(Compiled(exact=True))
register_engine(Compiled())
