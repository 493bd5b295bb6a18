"""Games from OpenSpiel and pygambit, and strategies and games for them; both are optional."""

from regretkit.games.interop.gambit import from_pygambit as from_pygambit
from regretkit.games.interop.gambit import to_pygambit as to_pygambit
from regretkit.games.interop.openspiel import from_openspiel as from_openspiel
from regretkit.games.interop.policy import to_openspiel_policy as to_openspiel_policy
from regretkit.games.interop.rules import openspiel_history as openspiel_history
