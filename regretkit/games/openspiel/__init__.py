"""Games from OpenSpiel, and strategies and games for it, where it is installed."""

from regretkit.games.openspiel._from_openspiel import from_openspiel as from_openspiel
from regretkit.games.openspiel._history import openspiel_history as openspiel_history
from regretkit.games.openspiel._policy import to_openspiel_policy as to_openspiel_policy
