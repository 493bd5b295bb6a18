"""Names of actions, requested from OpenSpiel when they are displayed."""

from typing import final

from attrs import frozen

from regretkit._typing import Indices
from regretkit.games.openspiel._protocols import OpenSpielGame, State


@final
@frozen(eq=False)
class Names:
    """What OpenSpiel calls the actions of a player's information sets, or the outcomes of chance.

    Parameters
    ----------
    game
        The game that was walked, in which one player acts at a time.
    player
        Whose actions they are.
    at
        The first history of each of the player's information sets, or those of chance.
    parent
        The history before each history.
    first
        The first child of each history, and one more than the last history.
    action
        OpenSpiel's number of the action that leads to each history.
    """

    game: OpenSpielGame
    player: int
    at: Indices
    parent: Indices
    first: Indices
    action: Indices

    def __call__(self, number: int) -> tuple[str, ...]:
        """Return the names of the actions of an information set."""
        state = self._state(int(self.at[number]))
        return tuple(state.action_to_string(self.player, own) for own in self.actions(number))

    def actions(self, number: int) -> list[int]:
        """Return OpenSpiel's numbers of the actions of an information set."""
        history = int(self.at[number])
        actions: list[int] = self.action[self.first[history] : self.first[history + 1]].tolist()
        return actions

    def _state(self, history: int) -> State:
        path = []
        while history:
            path.append(int(self.action[history]))
            history = int(self.parent[history])
        state = self.game.new_initial_state()
        for action in reversed(path):
            state.apply_action(action)
        return state
