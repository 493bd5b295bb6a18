"""Goofspiel: simultaneous bids of cards for prizes."""

from collections.abc import Sequence

from regretkit._util._validate import quote, whole_number
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._memory_budget import MemoryBudget
from regretkit.games._registry import call_text, register
from regretkit.games.catalogue._goofspiel_rules import Rules

ORDERS = ("descending", "ascending", "random")
INFORMATION = ("full", "hidden")
_MOST_CARDS = 62
"""A set of cards is a number of 64 bits."""
RETURNS = ("win_loss", "point_difference", "total_points")


@register
def goofspiel(
    cards: int = 4,
    order: str = "descending",
    information: str = "full",
    players: int = 2,
    *,
    turns: int | None = None,
    returns: str = "win_loss",
    memory_limit: float | None = None,
) -> ExtensiveFormGame:
    """Return Goofspiel, the game of pure strategy, in which cards are bid for prizes.

    Each player holds the cards 1 to n, and there are prizes of 1 to n points. In each turn a prize
    is revealed and all players bid a card simultaneously. The highest card wins the prize; a tie
    wins none. All cards that were bid are discarded. When as many turns are played as there are
    cards, the last is forced.

    The simultaneous bids are a tree in which one player after the other bids without seeing the
    bids of the same turn. An information set is named by the turns so far and the revealed prize:
    ``4:3/2 3:`` if for the prize of 4 points player 0 bid 3 and player 1 bid 2; with hidden bids
    ``4:3>0 3:`` if the player itself bid 3 and player 0 won; ``=`` if no player did.

    Parameters
    ----------
    cards
        Number of cards of each player, and of prizes, from 1 to 62.
    order
        Whether prizes come ``"descending"``, ``"ascending"`` or ``"random"``: drawn by chance.
    information
        Whether bids are laid open after each turn, ``"full"``, or only who won, ``"hidden"``.
    players
        Number of players, at least 2.
    turns
        Number of turns, by default one for each card.
    returns
        What is earned. ``"win_loss"``: those with the most points share 1 and the others share
        -1, or all earn 0 if all have as many. ``"point_difference"``: a player's points less the
        mean of all players'. ``"total_points"``: its points.
    memory_limit
        Bytes that building may take, by default all that are available.

    Raises
    ------
    TypeError
        When a number is not whole.
    ValueError
        When an argument is out of its range, or none of those there are.
    MemoryError
        When memory has no room for the histories.

    Examples
    --------
    >>> game = goofspiel(information="hidden")
    >>> game.tree
    <GameTree: 1077 histories, 576 terminals, 81 + 81 information sets>
    >>> game.tree.labels[0][1], game.tree.actions[0][1]
    ('4:1=  3:', ('2', '3', '4'))

    References
    ----------
    Ross (1971), "Goofspiel: the game of pure strategy", Journal of Applied Probability 8(3).
    With hidden bids: Lanctot, Lisý and Winands (2014), "Monte Carlo tree search in simultaneous
    move games with applications to Goofspiel", Computer Games. Rules as in OpenSpiel's
    ``goofspiel``.
    """
    cards = whole_number(cards, "cards", least=1, most=_MOST_CARDS)
    rules = Rules(
        cards,
        _one_of(order, "order", ORDERS),
        _one_of(information, "information", INFORMATION),
        whole_number(players, "players", least=2),
        cards if turns is None else whole_number(turns, "turns", least=1, most=cards),
        _one_of(returns, "returns", RETURNS),
    )
    MemoryBudget(memory_limit).check_histories(rules.histories, rules.players)
    name = call_text(
        goofspiel,
        cards=cards,
        order=order,
        information=information,
        players=rules.players,
        turns=None if rules.turns == cards else rules.turns,
        returns=returns,
    )
    return ExtensiveFormGame.from_batch(rules.start(), name=name, memory_limit=memory_limit)


def _one_of(value: str, name: str, options: Sequence[str]) -> str:
    if value not in options:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, options))}, got {quote(value)}"
        )
    return value
