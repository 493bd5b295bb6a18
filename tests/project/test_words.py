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


def occurrences(text: str, words: str) -> int:
    """Count some words, in either case and across the ends of lines and comments."""
    pattern = r"\b" + r"[\s#]+".join(map(re.escape, words.split())) + r"\b"
    return len(re.findall(pattern, text, re.IGNORECASE))


@pytest.mark.parametrize("words", DENIED)
def test_words_that_the_table_replaces_are_in_no_file(words):
    found = {str(path.relative_to(ROOT)): occurrences(path.read_text(), words) for path in pages()}

    assert len(found) > 300
    assert not {path: count for path, count in found.items() if count}


def test_words_are_found_across_lines_and_not_within_others():
    assert occurrences("Goes\n# on. It goes one step, and forgoes on.", "goes on") == 1
