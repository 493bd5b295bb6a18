"""The gallery shows every picture that its script draws, as the script draws it."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from test_examples import load_main

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images" / "gallery"
PAGE = (ROOT / "docs" / "gallery.md").read_text()


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gallery")
    load_main(ROOT / "examples" / "gallery.py")(str(folder), iterations=20)
    plt.close("all")
    return folder


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_the_page_shows_each_picture_once_and_says_what_is_on_it():
    shown = re.findall(r"!\[([^]]+)\]\(images/gallery/([^)]+)\)", PAGE)
    assert sorted(name for _, name in shown) == sorted(names(IMAGES))
    assert all(len(text.split()) > 4 for text, _ in shown)


def test_the_script_draws_all_of_them(drawn):
    assert names(drawn) == names(IMAGES)


def test_figures_have_the_size_that_they_would_have_now(drawn):
    # What else is in them depends on the version of matplotlib.
    for path in IMAGES.iterdir():
        stored, now = (ET.parse(folder / path.name).getroot() for folder in (IMAGES, drawn))
        for side in ("width", "height"):
            assert float(stored.get(side)[:-2]) == pytest.approx(
                float(now.get(side)[:-2]), rel=0.02
            )


def test_every_public_figure_is_in_the_gallery():
    from regretkit import display

    functions = [
        name for name in display.__all__ if callable(getattr(display, name)) and name.islower()
    ]
    assert len(functions) == 8
    for name in functions:
        assert f"`display.{name}`" in PAGE
