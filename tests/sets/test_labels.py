"""Blocks may have names; a name finds a block only where it is the only one."""

import copy
import pickle
import zlib

import numpy as np
import pytest
from refusals import refusals

from regretkit import Simplices, games


def test_a_label_finds_the_one_block_that_has_it():
    simplices = Simplices(
        [2, 3, 2], labels=["J", "Q", "K"], actions=[["f", "c"], ["a", "b", "c"], ["f", "c"]]
    )
    assert simplices.labels.find("Q") == simplices.labels.find(1) == 1
    assert simplices.labels.find("K") == simplices.labels.find(np.int64(2)) == 2
    assert [simplices.labels.block(number) for number in range(3)] == ["J", "Q", "K"]
    assert simplices.names_of(4) == ("Q", "c")
    selected = simplices.select([2, 1]).labels
    assert [selected.block(0), selected.block(1)] == ["K", "Q"]
    assert [selected.actions(0), selected.actions(1)] == [("f", "c"), ("a", "b", "c")]
    unnamed = Simplices([2, 3]).labels
    assert (unnamed.block(1), unnamed.actions(1)) == ("1", ("0", "1", "2"))
    assert simplices.labels.named
    assert not unnamed.named


def test_names_with_the_same_checksum_are_told_apart():
    names = ["plumless", "buckeroo", "plumless"]
    assert zlib.crc32(names[0].encode()) == zlib.crc32(names[1].encode())
    labels = Simplices([2] * 3, labels=names).labels
    assert labels.find("buckeroo") == 1
    assert labels.numbers("plumless") == [0, 2]
    assert labels.numbers("other") == []


def test_names_that_a_game_makes_when_asked_are_found_copied_and_stored():
    for tree in games.leduc_poker().domains:
        labels = tree.simplices.labels
        names = [labels.block(number) for number in range(tree.points)]
        assert [labels.find(name) for name in names] == [*range(tree.points)]
        chosen = [5, 0, 17]
        part = tree.simplices.select(chosen)
        for twin in (part, copy.deepcopy(part), pickle.loads(pickle.dumps(part))):
            assert [twin.labels.block(i) for i in range(3)] == [names[k] for k in chosen]
            actions = [labels.actions(number) for number in chosen]
            assert [twin.labels.actions(i) for i in range(3)] == actions


test_a_label_that_finds_no_single_block_is_refused = refusals(
    (["J", "Q", "J"], "J", ValueError, r"ambiguous: decision points \[0, 2\]"),
    (["jack", "jake", "king"], "jak", ValueError, r"did you mean 'jake' or 'jack'\?"),
    (None, "A", ValueError, "the numbers go from 0"),
    (["J", "Q", "K"], 3, ValueError, "from 0 to 2"),
    (["J", "Q", "K"], -1, ValueError, "from 0 to 2"),
    call=lambda labels, key: Simplices([2, 3, 2], labels=labels).labels.find(key),
)


@pytest.mark.parametrize(
    "names", [{"labels": ["a"]}, {"labels": "ab"}, {"actions": [["x", "y"], ["z"]]}]
)
def test_names_that_do_not_fit_the_sizes_are_refused(names):
    with pytest.raises((TypeError, ValueError), match=next(iter(names))):
        Simplices([2, 3], **names)
