"""Games and reference numbers kept beside the repository, because their licence keeps them out.

This is the one place where a test may be passed over, besides those that ask Gambit or
OpenSpiel itself where it is installed: without the numbers there is nothing to compare with.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from naive_games import uniform

from regretkit import evaluation, games

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"


def place(name):
    """Return where a file of the corpus is, or skip the test that asks for it if it is nowhere."""
    path = CORPUS / name
    if not path.exists():
        pytest.skip(f"{name} is not here: it is kept beside the repository, in ../shared/corpus")
    return path


def reference(name):
    """Return a file of the corpus, or skip the test that asks for it where there is none."""
    return json.loads(place(name).read_text())


def each(name, wanted=lambda _: True):
    """Run a test for each entry of a file of the corpus; where it is not here, for one to skip."""
    entries = json.loads((CORPUS / name).read_text()) if (CORPUS / name).exists() else {}
    names = [key for key, entry in entries.get("files", entries).items() if wanted(entry)]
    return pytest.mark.parametrize("name", names or ["expected.json"])


def assert_as_in_openspiel(game, name):
    """Compare sizes, uniform play and best responses to it with what OpenSpiel says of a game."""
    known, tree, profile = reference("openspiel_values.json")[name], game.tree, uniform(game)
    assert tree.histories == known["histories"]
    assert tree.terminals.size == known["terminals"]
    assert (tree.player == games.CHANCE).sum() == known["chance_nodes"]
    assert tree.depth == known["depth"]
    assert [domain.points for domain in game.domains] == known["infosets"]
    assert [domain.dimension for domain in game.domains] == known["sequences"]
    assert max(sizes.max(initial=0) for sizes in tree.sizes) == known["max_actions"]
    best = [evaluation.best_response(game, i, profile)[0] for i in range(game.players)]
    np.testing.assert_allclose(game.value(profile), known["uniform_payoffs"], atol=1e-10)
    np.testing.assert_allclose(best, known["best_response_to_uniform"], atol=1e-10)
    assert abs(evaluation.nash_conv(game, profile) - known["nash_conv_uniform"]) < 1e-10
