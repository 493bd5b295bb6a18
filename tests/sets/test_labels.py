"""Blocks may have names; a name finds a block only where it is the only one."""

import copy
import pickle
import zlib

import numpy as np
import pytest
from refusals import refusals

from regretkit import DecisionTree, Simplices
from regretkit.sets._labels import LazySequence


def test_a_label_finds_the_one_block_that_has_it():
    simplices = Simplices(
        [2, 3, 2], labels=["J", "Q", "K"], actions=[["f", "c"], ["a", "b", "c"], ["f", "c"]]
    )
    assert simplices.labels.find("Q") == simplices.labels.find(1) == 1
    assert simplices.labels.actions(1) == ("a", "b", "c")
    assert Simplices([2, 3]).labels.actions(1) == ("0", "1", "2")


test_a_label_that_finds_no_single_block_is_refused_with_what_would_do = refusals(
    (["J", "Q", "J"], "J", r"'J' is ambiguous: decision points \[0, 2\]"),
    (["J", "Q", "K"], "A", r"no decision point 'A'; the labels are 'J', 'Q', 'K'"),
    (None, "A", r"none is named here; pass a number from 0 to 2"),
    (["J", "Q", "K"], 3, r"the numbers go from 0 to 2"),
    (["J", "Q", "K"], -1, r"the numbers go from 0 to 2"),
    call=lambda labels, key: Simplices([2, 3, 2], labels=labels).labels.find(key),
    error=ValueError,
)


@pytest.mark.parametrize("key", [1.5, None, (1,)])
def test_a_label_that_is_neither_name_nor_number_is_refused(key):
    with pytest.raises(TypeError):
        Simplices([2, 3, 2], labels=["J", "Q", "K"]).labels.find(key)


test_names_that_do_not_fit_the_sizes_are_refused = refusals(
    ({"labels": ["a"]}, ValueError, "labels must hold 2 strings, got 1"),
    ({"labels": "ab"}, TypeError, "labels must be a sequence"),
    ({"actions": [["x"]]}, ValueError, "actions must name those of 2 decision points"),
    ({"actions": [["x", "y"], ["z"]]}, ValueError, r"actions\[1\] must hold 3 strings, got 1"),
    call=lambda names: Simplices([2, 3], **names),
)


# Names that are made when asked for


def called(number):
    return f"point {number}"


def numbered(number):
    return (f"{number}:no", f"{number}:yes")


LAZY = {"labels": LazySequence(1000, called), "actions": LazySequence(1000, numbered)}
HELD = {"labels": [*map(called, range(1000))], "actions": [*map(numbered, range(1000))]}


def test_lazy_names_are_found_like_stored_ones():
    lazy, held = Simplices([2] * 1000, **LAZY), Simplices([2] * 1000, **HELD)
    for number in (0, 1, 517, 999):
        assert lazy.labels.block(number) == held.labels.block(number)
        assert lazy.labels.actions(number) == held.labels.actions(number)
        assert lazy.labels.find(called(number)) == number
    assert lazy.labels.numbers("point 1000") == held.labels.numbers("point 1000") == []


def test_no_name_is_made_before_it_is_requested():
    def never(number):
        raise RuntimeError

    tree = DecisionTree(
        [0, 1, 2], [2] * 3, labels=LazySequence(3, never), actions=LazySequence(3, never)
    )

    part = tree.simplices.select([2, 0])
    with pytest.raises(RuntimeError):
        part.labels.block(0)


def test_names_with_the_same_checksum_are_told_apart():
    names = ["plumless", "buckeroo", "plumless"]
    assert zlib.crc32(names[0].encode()) == zlib.crc32(names[1].encode())
    labels = Simplices([2] * 3, labels=names).labels
    assert labels.find("buckeroo") == 1
    assert labels.numbers("plumless") == [0, 2]


def test_too_few_such_names_are_refused():
    with pytest.raises(ValueError, match="labels must hold 3 strings, got 2"):
        Simplices([2] * 3, labels=LazySequence(2, called))
    with pytest.raises(ValueError, match="name those of 3 decision points, got 2"):
        Simplices([2] * 3, actions=LazySequence(2, numbered))


def test_a_lazy_sequence_is_a_sequence():
    lazy, held = LazySequence(7, called), tuple(map(called, range(7)))

    assert len(lazy) == 7
    assert lazy == held
    assert lazy != held[:6]
    assert lazy != (*held[:6], "other")
    assert lazy != list(held)
    assert (lazy[-1], lazy[np.int32(3)], lazy[1:6:2]) == (held[-1], held[3], held[1:6:2])
    assert [*lazy] == [*held]
    assert lazy.index("point 4") == 4
    assert lazy.select(np.array([5, 0])) == (held[5], held[0])
    assert repr(lazy).endswith("'point 5', ... 7 items)")
    with pytest.raises(IndexError):
        lazy[7]


@pytest.mark.parametrize(
    "duplicated", [copy.deepcopy, lambda lazy: pickle.loads(pickle.dumps(lazy))]
)
def test_a_lazy_sequence_can_be_copied_and_stored(duplicated):
    lazy = LazySequence(7, called).select(np.array([3, 6]))
    assert duplicated(lazy) == lazy
