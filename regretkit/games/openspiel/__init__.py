"""Games, histories and policies of OpenSpiel.

All functions raise an ImportError unless it is installed: ``pip install 'regretkit[openspiel]'``.
"""

from regretkit.games.openspiel._states import openspiel_history as openspiel_history
from regretkit.games.openspiel._tree import from_openspiel as from_openspiel
from regretkit.games.openspiel._tree import to_openspiel_policy as to_openspiel_policy
