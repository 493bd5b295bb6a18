"""The words that the project does without, counted at zero in everything that a reader sees."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = ["regretkit", "docs", "README.md", "examples", "tests", "benchmarks", "changelog.d"]

# The plain word stands in the table of docs/contributing.md.
DENIED = [
    "somebody",
    "nobody",
    "everybody",
    "anybody",
    "whoever",
    "whatever",
    "comes to the same",
    "goes on",
    "so many",
    "is worth",
    "to the bit",
]


def pages() -> list[Path]:
    """Return the files of the project that hold sentences, but for this one."""
    found = [path for place in PLACES for path in [ROOT / place, *(ROOT / place).rglob("*")]]
    texts = [path for path in found if path.suffix in {".py", ".md"} and path.is_file()]
    return [path for path in texts if path != Path(__file__)]


def occurrences(text: str, words: str) -> list[int]:
    """Return the lines with some words, in either case and across ends of lines and comments."""
    pattern = r"\b" + r"[\s#]+".join(map(re.escape, words.split())) + r"\b"
    found = re.finditer(pattern, text, re.IGNORECASE)
    return [1 + text.count("\n", 0, match.start()) for match in found]


@pytest.mark.parametrize("words", DENIED)
def test_words_that_the_table_replaces_are_in_no_file(words):
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in pages()}
    found = {path: lines for path, text in texts.items() if (lines := occurrences(text, words))}
    assert len(texts) > 300
    assert not found, f"say {words!r} with a word of docs/contributing.md; lines by file"


def test_words_are_found_across_lines_and_not_within_others():
    assert occurrences("Goes\n# on. It goes one step, and forgoes on.", "goes on") == [1]
