"""What notebooks show of a run."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import numpy as np

from regretkit.evaluation import nash_conv
from regretkit.games import ExtensiveFormGame, NormalFormGame
from regretkit.games._pictures.html import facts
from regretkit.games._pictures.svg import shortened

if TYPE_CHECKING:
    from regretkit.play.self_play import SelfPlay

_QUICK = 100_000
"""The gap of games with at most so many ends, or outcomes, takes no time to speak of."""


class Displayed:
    """A run that notebooks show as a table: what it is made of, and what it came to."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return facts(*_facts(cast("SelfPlay", self)))


def _facts(run: "SelfPlay") -> Iterator[tuple[str, str | float]]:
    yield "game", repr(run.game)
    for player, minimizer in enumerate(run.minimizers):
        yield f"player {player}", shortened(repr(minimizer), 200)
    yield "order", repr(run.order)
    yield "averaging", repr(run.averaging)
    yield "estimator", repr(run.estimator)
    yield "engine", run.engine
    yield "iterations", f"{run.iteration:,}"
    if run._broken is not None:
        yield "broken", shortened(run._broken, 400)
    elif run.iteration and _ends(run) <= _QUICK and run._averages[0]._weight:
        yield "NashConv of the average", nash_conv(run.game, run.average)


def _ends(run: "SelfPlay") -> float:
    """Return how many ends, or outcomes, a game has; infinitely many if it cannot be said."""
    game = run.game
    return game.payoffs[0].size if isinstance(game, ExtensiveFormGame | NormalFormGame) else np.inf
