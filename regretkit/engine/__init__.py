"""Compiled ways to run self-play: they add speed, and no meaning.

The first run or gap imports this package, which registers with ``play`` and ``evaluation``. Machine
code is loaded when it is first needed.
"""

from regretkit.engine._compiled import Compiled
from regretkit.engine._responses import responder
from regretkit.evaluation._gaps import register_responder
from regretkit.play._engines import register_engine

register_engine(Compiled())
register_responder(responder)
