"""Games and reference numbers kept beside the repository, because their licence keeps them out.

This is the one place where a test may be passed over, besides those that ask Gambit or
OpenSpiel itself where it is installed: without the numbers there is nothing to compare with.
"""

import json
from pathlib import Path

import pytest

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
