"""What is asked of OpenSpiel's objects, so that code about them is checked without OpenSpiel."""

from collections.abc import Mapping, Sequence
from typing import Protocol, Self, TypeAlias

Row: TypeAlias = Sequence[tuple[int, float]]
"""Actions by OpenSpiel's numbers, each with its probability."""


class State(Protocol):
    """A history, as OpenSpiel's ``pyspiel.State`` has it."""

    def current_player(self) -> int:
        """Return who acts."""
        ...

    def legal_actions(self) -> list[int]:
        """Return what the acting player may do."""
        ...

    def chance_outcomes(self) -> Row:
        """Return what chance may do."""
        ...

    def child(self, action: int) -> "Self":
        """Return a new state, that after an action."""
        ...

    def apply_action(self, action: int) -> None:
        """Become the state after an action."""
        ...

    def information_state_string(self) -> str:
        """Return what the acting player knows."""
        ...

    def history_str(self) -> str:
        """Return what was done so far."""
        ...

    def history(self) -> list[int]:
        """Return what was done so far, by its numbers."""
        ...

    def action_to_string(self, player: int, action: int) -> str:
        """Return what an action is called here."""
        ...

    def returns(self) -> list[float]:
        """Return what each player earned in all."""
        ...


class OpenSpielGame(Protocol):
    """A game, as OpenSpiel's ``pyspiel.Game`` has it."""

    def new_initial_state(self) -> State:
        """Return the empty history."""
        ...

    def num_players(self) -> int:
        """Return how many players there are."""
        ...


class OpenSpielState(State, Protocol):
    """A history that knows its game."""

    def get_game(self) -> OpenSpielGame:
        """Return the game."""
        ...

    def clone(self) -> "Self":
        """Return a copy."""
        ...


class OpenSpielPolicy(Protocol):
    """A strategy for every player, as OpenSpiel's ``pyspiel.TabularPolicy`` has it."""

    def policy_table(self) -> Mapping[str, Row]:
        """Return the distribution over actions for each information state string."""
        ...
