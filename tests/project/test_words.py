"""The words that the project does without, counted at zero in everything that a reader sees."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = ["regretkit", "docs", "README.md", "examples", "tests", "benchmarks", "changelog.d"]

# The plain word stands in the table of docs/contributing.md.
DENIED = [
    *("somebody", "nobody", "everybody", "anybody", "whoever", "whatever", "comes to the same"),
    *("goes on", "so many", "is worth", "to the bit"),
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


# Without those that NumPy and Python use themselves: other, out, where and ones.
PRONOUNS_AND_ADVERBS = """
it its they them their theirs one others another some any each all both none nothing something
everything this that these those which who what same such mine ours several many few
here there when how why now then before after already still once twice again ever never always
only alone apart away back far forth further hence late later least less more most much often
over quite rather so soon thus together too up down within without inside outside ahead beside
below above besides along yet instead meanwhile afterwards else elsewhere otherwise nowhere
until since
"""


def test_names_in_the_library_are_no_pronouns_and_no_adverbs():
    nodes = [
        node
        for path in (ROOT / "regretkit").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
    ]
    names = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    names += [n.arg for n in nodes if isinstance(n, ast.arg)]
    found = Counter(name for name in names if name.strip("_") in PRONOUNS_AND_ADVERBS.split())
    assert len(names) > 15_000
    assert found.total() < 0.005 * len(names), f"name what the values are, not {found}"
