"""Public names: one name means one thing in the whole package."""

import importlib
import inspect
import pkgutil
from collections import defaultdict

import pytest

import regretkit as rk
from regretkit import games, play


def public_packages():
    """Yield the package and every package in it whose name is public."""
    yield rk
    for found in pkgutil.walk_packages(rk.__path__, "regretkit."):
        if found.ispkg and not any(part.startswith("_") for part in found.name.split(".")):
            yield importlib.import_module(found.name)


def test_equal_public_names_are_the_same_object():
    places = defaultdict(list)
    for package in public_packages():
        for name in dir(package):
            thing = getattr(package, name)
            if not name.startswith("_") and not inspect.ismodule(thing):
                places[name].append((package.__name__, thing))

    assert len(places) > 200
    different = {
        name: [package for package, _ in found]
        for name, found in places.items()
        if any(thing is not found[0][1] for _, thing in found)
    }
    assert not different


def test_a_class_in_place_of_an_object_is_refused_with_what_to_pass():
    game = games.kuhn_poker()
    players = [rk.CFR(tree, rk.RegretMatching) for tree in game.domains]
    with pytest.raises(TypeError, match=r"must be an Averaging, got .*such as Linear\(\)"):
        rk.SelfPlay(game, players, averaging=play.Linear)
