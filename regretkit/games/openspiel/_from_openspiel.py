"""Games of OpenSpiel."""

from numbers import Real
from typing import Any

from regretkit._validate import quote
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games.openspiel._optional import optional
from regretkit.games.openspiel._protocols import OpenSpielGame
from regretkit.games.openspiel._states import States
from regretkit.games.openspiel._tree import tree_of
from regretkit.games.tree._game_tree import GameTree

_HISTORIES = 10_000_000


def from_openspiel(
    game: str | OpenSpielGame,
    *,
    remember: bool = False,
    max_histories: float = _HISTORIES,
    memory_limit: float | None = None,
) -> ExtensiveFormGame:
    """Return a game of OpenSpiel.

    Any number of players, with chance or without. Simultaneous moves become sequential moves that
    the other players observe only after all have moved, as in OpenSpiel's own
    ``convert_to_turn_based``. Payoffs are OpenSpiel's returns: the sums of all rewards. Players,
    the order of actions, and the names of actions and outcomes are OpenSpiel's; the label of an
    information set is its information state string. In a game of perfect information that has no
    such strings it is the history.

    Parameters
    ----------
    game
        The game, or a name that ``pyspiel.load_game`` knows, with arguments or without.
    remember
        Whether players remember what they did and were told even where the information state
        string does not say so. Information sets are then split where this makes a difference,
        and some labels come more than once.
    max_histories
        Walk at most so many histories, each of which takes some microseconds.
    memory_limit
        Bytes that building may take, by default all that are available.

    Raises
    ------
    ImportError
        When OpenSpiel is not installed: ``pip install 'regretkit[openspiel]'``.
    TypeError
        When ``game`` is neither a game of OpenSpiel nor a name, or a limit is no number.
    ValueError
        When OpenSpiel has no such game; when the game is too large, has outcomes of chance that
        it does not list, or does not say what players know; when actions differ within an
        information set; or when a player forgets, with two histories that show it.
    MemoryError
        When there are more histories than memory has room for.

    Examples
    --------
    >>> game = from_openspiel("kuhn_poker(players=3)")
    >>> game
    <kuhn_poker(players=3): 16 + 16 + 16 information sets>
    >>> game.tree.labels[1][0], game.tree.actions[1][0]
    ('1p', ('Pass', 'Bet'))
    >>> from_openspiel("goofspiel(num_cards=3,imp_info=True)").tree.players
    2

    References
    ----------
    Lanctot et al. (2019), "OpenSpiel: A Framework for Reinforcement Learning in Games",
    arXiv:1908.09453.
    """
    if isinstance(max_histories, bool) or not isinstance(max_histories, Real):
        raise TypeError(f"max_histories must be a number, got {quote(max_histories)}")
    if not max_histories >= 1:
        raise ValueError(f"max_histories must be at least 1, got {quote(max_histories)}")
    name, tree = walked(game, MemoryBudget(memory_limit), max_histories, remember=remember)
    try:
        return ExtensiveFormGame(tree, name=name)
    except ValueError as error:
        if remember:
            raise
        raise ValueError(f"{error}, as from_openspiel(..., remember=True) does") from error


def walked(
    game: str | OpenSpielGame,
    budget: MemoryBudget | None = None,
    max_histories: float = _HISTORIES,
    *,
    remember: bool = False,
) -> tuple[str, GameTree]:
    """Return the name and the tree of a game of OpenSpiel, of perfect or imperfect recall."""
    loaded, turns, by_string = as_turn_based(game)
    states = States(turns, budget or MemoryBudget(), max_histories, by_string=by_string)
    tree = tree_of(turns, states, remember=remember)
    return game if isinstance(game, str) else str(loaded), tree


def as_turn_based(game: object) -> tuple[Any, Any, bool]:
    """Return a game as OpenSpiel has it, one in which players move in turn, and how they know.

    That is whether information state strings say what they know, or else histories.
    """
    pyspiel: Any = optional("pyspiel", "openspiel")
    loaded: Any = _loaded(pyspiel, game)
    kind = loaded.get_type()
    _check_kind(pyspiel, loaded, kind)
    together = kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
    turns = pyspiel.convert_to_turn_based(loaded) if together else loaded
    by_string = has_strings(pyspiel, turns)
    open_play = kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
    if not by_string and (together or not open_play):
        raise ValueError(
            f"OpenSpiel's {kind.short_name} has no information state strings, and without them "
            "nothing says what players know; choose a game that has them"
        )
    return loaded, turns, by_string


def _loaded(pyspiel: Any, game: object) -> object:
    if isinstance(game, pyspiel.Game):
        return game
    if not isinstance(game, str):
        raise TypeError(
            f"game must be a game of OpenSpiel or the name of one, got {quote(game)}; "
            "pass 'leduc_poker' or what pyspiel.load_game returns"
        )
    if "python_" in game:
        optional("open_spiel.python.games", "openspiel")  # which makes them known to load_game
    try:
        return pyspiel.load_game(game)
    except pyspiel.SpielError as error:
        why = str(error).partition(". Available games are")[0].strip()
        raise ValueError(
            f"game must be one that OpenSpiel can load, got {quote(game)}: {why}; "
            "pyspiel.registered_names() lists the games"
        ) from error


def _check_kind(pyspiel: Any, game: object, kind: Any) -> None:
    """Refuse games without a tree that could be walked."""
    if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        raise ValueError(f"{game} is a mean field game, whose states are no histories of players")
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise ValueError(
            f"chance does not list its outcomes in {game}, it only draws them; "
            "choose a game of another chance_mode"
        )


def has_strings(pyspiel: Any, game: Any) -> bool:
    """Say whether a game has information state strings, which some have that do not say so."""
    if game.get_type().provides_information_state_string:
        return True
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.chance_outcomes()[0][0])
    try:
        return isinstance(state.information_state_string(), str)
    except pyspiel.SpielError:
        return False
