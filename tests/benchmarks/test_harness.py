"""What benchmarks share: rows, times, memory, tables, pages, and the list of what there is."""

import itertools
import sys
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks import __main__ as command
from benchmarks import harness
from benchmarks.harness import (
    Benchmark,
    benchmark,
    best_times,
    cpu_seconds,
    draw,
    number,
    put,
    table,
)


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    """Keep the limits of threads that a command sets away from later tests."""
    monkeypatch.setattr(command, "ONE_THREAD", {})


# Time and memory


def test_time_is_that_of_the_processor_and_not_of_the_clock():
    def busy(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

    assert cpu_seconds(time.sleep, 0.2) < 0.1
    assert cpu_seconds(busy, 0.05) >= 0.05


def test_the_best_turn_counts_and_disturbed_ones_do_not(monkeypatch):
    costs = {"cheap": 1e-3, "dear": 5e-3}
    disturbance = itertools.cycle([0.5, 0.0, 0.3])
    monkeypatch.setattr(
        harness, "cpu_seconds", lambda action, times: times * action(times) + next(disturbance)
    )
    actions = {name: lambda times, cost=cost: cost for name, cost in costs.items()}
    # Of three turns, each action has one that nothing disturbs.
    assert best_times(actions, turns=3) == pytest.approx(costs)


# Rows


def counting(**options):
    """Return a benchmark whose rows count how often they were measured, and down from nine."""
    count = itertools.count()

    @benchmark(["a", "b"], quick=["b"], head="row", **options)
    def counted(row, quick):
        return {"measured": next(count), row: 0.5, "left": 9 - next(count), "_hidden": quick}

    return counted


def test_columns_are_those_of_all_rows_and_what_is_hidden_is_not_printed(capsys):
    counting()([])
    assert capsys.readouterr().out.splitlines() == [
        "| row | measured |     a | left |     b |",
        "| --- | -------: | ----: | ---: | ----: |",
        "| a   |        0 | 0.500 |    8 |       |",
        "| b   |        2 |       |    6 | 0.500 |",
    ]


@pytest.mark.parametrize(
    ("arguments", "rows", "written"),
    [([], "ab", True), (["--quick"], "b", False), (["a"], "a", False)],
)
def test_only_a_full_run_writes_and_draws(arguments, rows, written, tmp_path, capsys):
    drawn, page = [], tmp_path / "page.md"
    page.write_text("<!-- begin counted --><!-- end counted -->")
    counting(page=page, plot=drawn.append, conclude="rows: {}".format)(arguments)
    out = capsys.readouterr().out
    assert [line[2] for line in out.splitlines()[2 : 2 + len(rows)]] == list(rows)
    assert "rows: {" in out
    assert bool(drawn) == (out.partition("\n\n")[0] in page.read_text()) == written


# Numbers, tables and curves


@given(st.floats(1e-12, 1e12), st.integers(2, 6))
@example(9.57, 3)  # which without decimals would be 10
def test_a_number_is_what_it_was_to_as_many_digits(value, digits):
    shown = number(value, digits)
    significant = shown.split("e")[0].replace(",", "").replace(".", "").lstrip("0")
    whole = shown.split(".")[0].replace(",", "")
    places = 0 if "e" in shown or whole == "0" else len(whole)
    assert float(shown.replace(",", "")) == float(f"{value:.{digits - 1}e}")
    assert len(significant) == max(digits, len(significant.rstrip("0")), places)


cells = st.text("abc 123.,()", max_size=12).map(str.strip)


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n))))
def test_a_table_has_its_cells_in_their_places_and_lines_of_one_length(rows):
    header = [f"column {i}" for i in range(len(rows[0]) if rows else 2)]
    lines = table(header, rows).splitlines()
    read = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [read[0], *read[2:]] == [header, *rows]
    assert len({len(line) for line in lines}) == 1


def test_the_same_curves_are_the_same_file(tmp_path):
    pytest.importorskip("matplotlib")
    panels = {title: {"curve": ([1.0, 2.0], [3.0, 4.0])} for title in "abc"}
    for name in ("a.svg", "b.svg"):
        draw(tmp_path / name, panels, "x", "y")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


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
    for _ in range(2):
        put(page, "a", "new\nlines")
        assert page.read_text() == PAGE.replace("\nold\n", "\n\nnew\nlines\n\n")


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


# The list

COMMANDS = {name: command.command(name) for name in command.BENCHMARKS}


def test_every_benchmark_of_a_module_is_registered_and_has_its_place_on_its_page():
    modules = {sys.modules[f"benchmarks.{module}"] for module in command.BENCHMARKS.values()}
    found = [(k, v) for m in modules for k, v in vars(m).items() if isinstance(v, Benchmark)]
    assert {name for name, _ in found} <= COMMANDS.keys()
    places = {name: made.page for name, made in found if made.page is not None}
    for name, page in (places | {"compare": harness.PAGE}).items():
        text = page.read_text()
        assert text.count(f"<!-- begin {name} -->") == text.count(f"<!-- end {name} -->") == 1
