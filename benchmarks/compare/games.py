"""The games that are compared, as both sides call them."""

from typing import final

from attrs import frozen


@final
@frozen
class Contest:
    """A game, and how much faster than others regretkit means to be at it."""

    title: str
    ours: str
    """What regretkit calls it."""
    theirs: str
    """What OpenSpiel calls it."""
    over_open_spiel: float
    """Floor for OpenSpiel's C++ over the compiled way, both in time per iteration."""
    over_lite_efg: float
    """Floor for LiteEFG over the compiled way."""
    own_over_open_spiel: float
    """Floor for OpenSpiel's C++ over a rule that is written in NumPy."""


Floors = tuple[float, float, float]


def _liars_dice(sides: int, floors: Floors) -> Contest:
    ours, theirs = f"liars_dice(sides={sides})", f"liars_dice(dice_sides={sides})"
    return Contest(f"Liar's dice, {sides} sides", ours, theirs, *floors)


def _goofspiel(cards: int, floors: Floors) -> Contest:
    inner = f"goofspiel(imp_info=true,num_cards={cards},points_order=descending)"
    ours = f"goofspiel(cards={cards}, information='hidden')"
    theirs = f"turn_based_simultaneous_game(game={inner})"
    return Contest(f"Goofspiel, {cards} cards", ours, theirs, *floors)


GAMES: dict[str, Contest] = {
    "kuhn": Contest("Kuhn poker", "kuhn_poker", "kuhn_poker", 70, 25, 1),
    "goofspiel4": _goofspiel(4, (260, 40, 25)),
    "leduc": Contest("Leduc poker", "leduc_poker", "leduc_poker", 320, 110, 90),
    "liars4": _liars_dice(4, (185, 95, 50)),
    "goofspiel5": _goofspiel(5, (310, 220, 130)),
    "liars5": _liars_dice(5, (170, 280, 65)),
    "liars6": _liars_dice(6, (145, 370, 60)),
}
