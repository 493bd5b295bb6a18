"""Games from OpenSpiel, and strategies and games for it, where it is installed."""

from regretkit.games.interop.openspiel import from_openspiel as from_openspiel
from regretkit.games.interop.policy import to_openspiel_policy as to_openspiel_policy
from regretkit.games.interop.rules import openspiel_history as openspiel_history
