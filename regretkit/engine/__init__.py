"""Compiled ways to run self-play: they add speed, and no meaning.

``SelfPlay`` imports this package when a run first asks for an engine, and machine code is loaded
when one is chosen.
"""

from regretkit.engine._compiled import Compiled

ENGINES = (Compiled(),)
"""The fastest first."""
