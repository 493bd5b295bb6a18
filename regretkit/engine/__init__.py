"""The compiled engine: self-play and best responses in machine code.

Results are those of NumPy. The first run or gap imports this package, which registers the engine
with ``play`` and ``evaluation``. Machine code is loaded on first use.
"""

from regretkit.engine._compiled import Compiled
from regretkit.engine._responses import responder
from regretkit.evaluation._gaps import register_responder
from regretkit.play._engines import register_engine

register_engine(Compiled())
register_responder(responder)
