"""Pages that run algorithms in the browser: made when the site is built.

Hooks of MkDocs, named in ``mkdocs.yml``. Documents show the pages in frames.
"""

from functools import partial
from typing import Any

from mkdocs.structure.files import File, Files

from regretkit import Hedge, RegretMatching, RegretMatchingPlus, display, games
from regretkit.play import Algorithm, Simultaneous

_PAYOFFS = [[0, -1, 1], [1, 0, -2], [-1, 2, 0]]
"""Scissors against paper counts double, so that uniform strategies are no equilibrium."""
_HANDS = ["rock", "paper", "scissors"]


def _together(rule: Any) -> Algorithm:
    """Return self-play of a rule, all players at once: strategies then circle."""
    return Algorithm(rule, order=Simultaneous())


PAGES = {
    "rock_paper_scissors": lambda: display.page(
        games.matrix_game(_PAYOFFS, actions=[_HANDS, _HANDS], name="rock_paper_scissors"),
        {
            "Regret matching": _together(RegretMatching),
            "RM+": _together(RegretMatchingPlus),
            "Hedge": _together(partial(Hedge, rate=0.1)),
        },
        title="Rock, paper, scissors",
    ),
    "kuhn_poker": lambda: display.page(
        games.kuhn_poker(),
        ["cfr", "cfr+"],
        command="regretkit page kuhn_poker cfr cfr+ --out page.html",
    ),
}


def on_files(files: Files, config: Any) -> None:
    """Add the pages."""
    for name, make in PAGES.items():
        files.append(File.generated(config, f"live/{name}.html", content=make().html))
