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
    assert simplices.labels.find("K") == simplices.labels.find(np.int64(2)) == 2
    assert [simplices.labels.block(number) for number in range(3)] == ["J", "Q", "K"]
    assert [simplices.labels.actions(number)[-1] for number in range(3)] == ["c", "c", "c"]
    assert Simplices([2, 3]).labels.actions(1) == ("0", "1", "2")
    assert Simplices([2, 3]).labels.block(1) == "1"
    assert simplices.labels.named
    assert not Simplices([2, 3]).labels.named


def test_selected_blocks_keep_their_names():
    names = {"labels": ["J", "Q", "K"], "actions": [["f"], ["a", "b"], ["c", "d"]]}
    selected = Simplices([1, 2, 2], **names).select([2, 0])
    assert [selected.labels.block(0), selected.labels.block(1)] == ["K", "J"]
    assert [selected.labels.actions(0), selected.labels.actions(1)] == [("c", "d"), ("f",)]


test_a_label_that_finds_no_single_block_is_refused = refusals(
    (["J", "Q", "J"], "J", ValueError, r"ambiguous: decision points \[0, 2\]"),
    (["J", "Q", "K"], "A", ValueError, "no decision point 'A'"),
    (["jack", "queen", "king"], "jak", ValueError, "did you mean 'jack'"),
    (["jack", "jake", "king"], "jak", ValueError, r"did you mean 'jake' or 'jack'\?"),
    (None, "A", ValueError, "none is named"),
    (["J", "Q", "K"], 3, ValueError, "from 0 to 2"),
    (["J", "Q", "K"], -1, ValueError, "from 0 to 2"),
    (["J", "Q", "K"], 1.5, TypeError, "float"),
    call=lambda labels, key: Simplices([2, 3, 2], labels=labels).labels.find(key),
)


test_names_that_do_not_fit_the_sizes_are_refused = refusals(
    ({"labels": ["a"]}, ValueError, "2 strings, got 1"),
    ({"labels": "ab"}, TypeError, "sequence"),
    ({"labels": LazySequence(3, str)}, ValueError, "2 strings, got 3"),
    ({"actions": [["x"]]}, ValueError, "2 decision points"),
    ({"actions": [["x", "y"], ["z"]]}, ValueError, r"actions\[1\]"),
    ({"actions": LazySequence(3, list)}, ValueError, "2 decision points, got 3"),
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

    names = LazySequence(3, never)
    tree = DecisionTree([0, 1, 2], [2] * 3, labels=names, actions=names)

    part = tree.simplices.select([2, 0])
    with pytest.raises(RuntimeError):
        part.labels.block(0)


def test_names_with_the_same_checksum_are_told_apart():
    names = ["plumless", "buckeroo", "plumless"]
    assert zlib.crc32(names[0].encode()) == zlib.crc32(names[1].encode())
    labels = Simplices([2] * 3, labels=names).labels
    assert labels.find("buckeroo") == 1
    assert labels.numbers("plumless") == [0, 2]


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
    with pytest.raises(IndexError):
        lazy[7]


@pytest.mark.parametrize(
    "duplicated", [copy.deepcopy, lambda lazy: pickle.loads(pickle.dumps(lazy))]
)
def test_a_lazy_sequence_can_be_copied_and_stored(duplicated):
    lazy = LazySequence(7, called).select(np.array([3, 6]))
    assert duplicated(lazy) == lazy
