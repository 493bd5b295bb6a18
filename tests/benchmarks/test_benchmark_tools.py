"""What benchmarks share: times, memory, tables, pages, and the list of what there is."""

import itertools
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks import __main__ as command
from benchmarks import machine, pages
from benchmarks.machine import best_times, cpu_seconds, peak, to_measure
from benchmarks.pages import draw, number, put, table

ROOT = Path(__file__).parents[2]


def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


# Time


def test_time_is_that_of_the_processor_and_not_of_the_clock():
    assert cpu_seconds(time.sleep, 0.2) < 0.1
    assert cpu_seconds(busy, 0.05) >= 0.05


def test_the_best_turn_counts_and_disturbed_ones_do_not(monkeypatch):
    costs = {"cheap": 1e-3, "dear": 5e-3}
    disturbance = itertools.cycle([0.5, 0.0, 0.3])
    monkeypatch.setattr(
        machine, "cpu_seconds", lambda action, times: times * action(times) + next(disturbance)
    )
    actions = {name: lambda times, cost=cost: cost for name, cost in costs.items()}

    # Of three turns, each action has one that nothing disturbs.
    assert best_times(actions, turns=3) == pytest.approx(costs)


def test_every_action_takes_as_many_turns():
    calls = {"one": [], "two": []}
    actions = {name: made.append for name, made in calls.items()}
    best_times(actions, turns=5, length=0.0)

    assert [len(made) for made in calls.values()] == [7, 7]  # one to load, one to see how long


def test_the_peak_stays_when_memory_is_given_back():
    code = (
        "from benchmarks.machine import peak; before = peak();"
        "bytearray(64 * 2**20); print(peak() - before)"
    )
    command = [sys.executable, "-c", code]
    grown = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout

    assert 60.0 < float(grown) < 80.0
    assert peak() > 1.0


def test_a_process_knows_what_it_was_started_for():
    assert to_measure(["--measure", "a", "b"]) == ["a", "b"]
    assert to_measure(["--quick"]) is None
    assert to_measure([]) is None


# Numbers and tables


@given(st.floats(1e-12, 1e12), st.integers(2, 6))
@example(9.57, 3)  # which without decimals would be 10
def test_a_number_is_what_it_was_to_as_many_digits(value, digits):
    shown = number(value, digits)

    assert float(shown.replace(",", "")) == float(f"{value:.{digits - 1}e}")
    significant = shown.split("e")[0].replace(",", "").replace(".", "").lstrip("0")
    assert len(significant) == max(digits, len(significant.rstrip("0")), whole_digits(shown))


def whole_digits(shown):
    """Return how many digits stand before the point of a number without an exponent."""
    whole = shown.split(".")[0].replace(",", "")
    return 0 if "e" in shown or whole == "0" else len(whole)


def test_nothing_is_shown_as_nothing():
    assert number(None) == ""
    assert number(0.0) == "0"


cells = st.text("abc 123.,()", max_size=12).map(str.strip)


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n))))
def test_a_table_has_its_cells_in_their_places_and_lines_of_one_length(rows):
    header = [f"column {i}" for i in range(len(rows[0]) if rows else 2)]
    lines = table(header, rows).splitlines()

    read = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [read[0], *read[2:]] == [header, *rows]
    assert len({len(line) for line in lines}) == 1


# Pages

PAGE = """# Title

<!-- begin a -->
old
<!-- end a -->

Text.

<!-- begin b -->
<!-- end b -->
"""


def test_a_part_of_a_page_is_replaced_and_nothing_else(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)

    put(page, "a", "new\nlines")
    once = page.read_text()
    put(page, "a", "new\nlines")

    assert page.read_text() == once
    assert once == PAGE.replace("\nold\n", "\n\nnew\nlines\n\n")


@pytest.mark.parametrize(
    "text",
    [
        "no comments",
        "<!-- begin a -->",
        "<!-- end a --> <!-- begin a -->",
        "<!-- begin a --> <!-- end a --> <!-- begin a --> <!-- end a -->",
    ],
)
def test_a_page_without_the_place_for_it_is_refused_and_stays(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)

    with pytest.raises(ValueError, match=r"page\.md must have <!-- begin a -->"):
        put(page, "a", "new")
    assert page.read_text() == text


def test_the_page_of_measurements_has_a_place_for_each():
    text = pages.PAGE.read_text()
    for name in ("compare", "ways", "parts", "size", "time_to_gap"):
        assert text.count(f"<!-- begin {name} -->") == text.count(f"<!-- end {name} -->") == 1


def test_without_matplotlib_there_is_no_plot_and_one_is_told_why(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    draw(tmp_path / "a.svg", {"curve": ([1.0], [1.0])}, "x", "y", "title")

    assert "pip install 'regretkit[plot]'" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_the_same_curves_are_the_same_file(tmp_path):
    pytest.importorskip("matplotlib")
    for name in ("a.svg", "b.svg"):
        draw(tmp_path / name, {"curve": ([1.0, 2.0], [3.0, 4.0])}, "x", "y", "title")

    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


# The list


def test_every_benchmark_is_listed_with_what_it_says_about_itself(capsys):
    assert command.main([]) == 0
    listed = capsys.readouterr().out

    here = Path(command.__file__).parent
    modules = {path.stem for path in here.glob("[a-z]*.py")} | {"compare"}
    assert command.benchmarks().keys() == modules - command.HELPERS
    assert modules >= command.HELPERS
    for name, says in command.benchmarks().items():
        assert says.endswith(".")
        assert f"  {name}" in listed
        assert says in listed


def test_an_unknown_benchmark_is_refused_with_the_known_ones(capsys):
    assert command.main(["comparison"]) == 2
    said = capsys.readouterr().err

    assert "'comparison'" in said
    assert all(name in said for name in command.benchmarks())
