"""The prose of the package, the documentation and the examples avoids a private grammar."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [
    *ROOT.glob("README.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "regretkit").rglob("*.py"),
    *(ROOT / "examples").rglob("*.py"),
]
PHRASES = (
    *("what comes out", "what was learned", "what is none", "is none of", "are told to"),
    *("is told to", "to be asked", "goes on", "hardly", "would rather", "most likely"),
)


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_is_nowhere(phrase):
    pattern = re.compile(rf"\b{phrase}\b".replace(" ", r"\s+"), re.IGNORECASE)
    assert [path for path in FILES if pattern.search(path.read_text())] == []
