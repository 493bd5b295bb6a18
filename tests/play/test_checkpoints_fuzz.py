"""Files that are no whole checkpoint are refused, each for what it is, and do nothing else."""

import copy
import hashlib
import json
import pickle
import zipfile

import numpy as np
import pytest

import regretkit as rk
from regretkit import SelfPlay, games
from regretkit.play import ChanceSampling, RandomPlayer, Recorder, resume
from regretkit.play._checkpoint_file import packed, unpacked

GAME = games.matching_pennies()
SEED = 7


def minimizers():
    return [rk.RegretMatching(2), rk.RegretMatchingPlus(2)]


def begun():
    order = RandomPlayer(np.random.Generator(np.random.MT19937(1)))
    return SelfPlay(GAME, minimizers(), order=order)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the bytes of a small checkpoint."""
    path = tmp_path_factory.mktemp("checkpoints") / "run"
    record = Recorder({"t": lambda run: run.iteration})
    begun().run(5, callbacks=[record]).save(path, callbacks=[record])
    return path.read_bytes()


def load(path, data):
    path.write_bytes(data)
    return SelfPlay.load(path, GAME, minimizers())


def test_the_whole_file_is_read(whole, tmp_path):
    assert load(tmp_path / "run", whole).iteration == 5


# Cut off, altered, foreign


def test_every_truncation_is_refused_as_one(whole, tmp_path):
    for length in range(len(whole)):
        with pytest.raises(ValueError, match=r"^run is truncated: it (has|ends after) \d+"):
            unpacked(whole[:length], "run")
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        with pytest.raises(ValueError, match=r"run is truncated"):
            load(tmp_path / "run", whole[:length])


def test_every_wrong_byte_is_refused(whole):
    generator = np.random.default_rng(SEED)
    for place, bit in enumerate(generator.integers(8, size=len(whole))):
        wrong = bytearray(whole)
        wrong[place] ^= 1 << bit
        with pytest.raises(ValueError, match=r"^run (was altered|is no checkpoint|has version)"):
            unpacked(bytes(wrong), "run")


@pytest.mark.parametrize("bit", range(8))
def test_every_wrong_bit_of_the_first_line_is_refused(whole, bit):
    for place in range(whole.index(b"\n") + 1):
        wrong = bytearray(whole)
        wrong[place] ^= 1 << bit
        with pytest.raises(ValueError, match=r"^run (was alt|is no|has version|is truncated)"):
            unpacked(bytes(wrong), "run")


def test_many_wrong_bytes_are_refused_and_so_are_pieces_that_were_moved(whole):
    generator = np.random.default_rng(SEED)
    for _ in range(500):
        wrong = bytearray(whole)
        start, end = sorted(generator.integers(len(whole), size=2))
        how = generator.integers(4)
        if how == 0:
            wrong[start : end + 1] = generator.bytes(end + 1 - start)
        elif how == 1:
            wrong[start:start] = generator.bytes(1 + end - start)
        elif how == 2:
            del wrong[start : end + 1]
        else:
            wrong += wrong[start : end + 1]
        if bytes(wrong) == whole:
            continue
        with pytest.raises(ValueError, match=r"^run (was|is|has) "):
            unpacked(bytes(wrong), "run")


def test_what_comes_behind_the_end_is_refused(whole):
    for more in (b"\n", b"\0" * 100, whole):
        with pytest.raises(ValueError, match="run was altered"):
            unpacked(whole + more, "run")


def foreign(folder):
    """Yield files that other programs write, and that regretkit writes for other ends."""
    np.savez(folder / "a.npz", np.ones(3))
    yield (folder / "a.npz").read_bytes()
    np.save(folder / "a.npy", np.ones(3))
    yield (folder / "a.npy").read_bytes()
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("state", "regretkit checkpoint 1")
    yield (folder / "a.zip").read_bytes()
    yield pickle.dumps({"state": 1})
    yield json.dumps({"state": 1}).encode()
    rk.solve(GAME, iterations=1).average.to_json(folder / "a.json")
    yield (folder / "a.json").read_bytes()
    yield games.write_nfg(GAME).encode()
    yield b"\0" * 1_000
    yield b"regretkit\n"


def test_what_others_wrote_is_refused_as_no_checkpoint(tmp_path):
    for data in foreign(tmp_path):
        path = tmp_path / "run"
        path.write_bytes(data)
        for read in (lambda p: SelfPlay.load(p, GAME, minimizers()), resume):
            with pytest.raises(ValueError, match=r"run is no checkpoint of regretkit: it begins"):
                read(path)


def test_a_newer_version_of_the_format_says_so(whole):
    newer = whole.replace(b"checkpoint 1 ", b"checkpoint 2 ", 1)

    with pytest.raises(ValueError, match="has version 2 of the format, but this is read: 1; use"):
        unpacked(newer, "run")


# Forged content with a correct checksum


def entries(content, path=()):
    """Yield the place of everything in nested dicts and lists."""
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in list(items):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from entries(value, (*path, key))


def forged(content, path, value):
    content = copy.deepcopy(content)
    holder = content
    for key in path[:-1]:
        holder = holder[key]
    if value is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return b"".join(packed(content))


VALUES = [..., None, True, -1, 2.5, "x", [], {}, [[1]], {"x": {}}, np.ones(3), np.zeros((2, 0))]


def test_a_forged_file_is_refused_or_loads_and_does_nothing_else(whole, tmp_path):
    content = unpacked(whole, "run")
    path, refused = tmp_path / "run", 0
    for place in entries(content):
        for value in VALUES:
            player, other = minimizers()
            path.write_bytes(forged(content, place, value))
            try:
                SelfPlay.load(path, GAME, [player, other])
            except (ValueError, TypeError) as error:
                refused += "run" in str(error)
    assert refused > 100


MANIFESTS = [
    b"",
    b"\n",
    b"{}",
    b"{}\n",
    b"[]\n",
    b"null\n",
    b"{\n}\n",
    b"[" * 100_000 + b"\n",
    b'{"game": {"<array>": ["<f8", [3], 0]}}\n',
    b'{"game": {"<array>": ["<f8", [-3], 0]}}\n' + b"\0" * 24,
    b'{"game": {"<array>": ["<f8", [3], -8]}}\n' + b"\0" * 24,
    b'{"game": {"<array>": ["|O", [3], 0]}}\n' + b"\0" * 24,
    b'{"game": {"<array>": ["O,i4", [3], 0]}}\n' + b"\0" * 24,
    b'{"game": {"<array>": ["<f8", [0, 99999999999999999999999], 0]}}\n',
    b'{"game": {"<array>": ["<f8", [99999999999, 99999999999], 0]}}\n',
    b'{"game": {"<array>": null}}\n',
    b'{"game": {"<array>": [1, 2, 3]}}\n',
    b'{"game": {"<array>": ["<f8", "3", 0]}}\n',
    b"\xff\xfe\n",
    b'{"n": ' + b"1" * 5_000 + b"}\n",
]


@pytest.mark.parametrize("body", MANIFESTS)
def test_a_forged_manifest_is_refused(body, tmp_path):
    digest = hashlib.sha256(body).hexdigest()
    path = tmp_path / "run"
    path.write_bytes(f"regretkit checkpoint 1 {len(body):020d} {digest}\n".encode() + body)

    with pytest.raises(ValueError, match="run is not what regretkit writes"):
        SelfPlay.load(path, GAME, minimizers())


# What goes in comes out

PLAIN = {
    "numbers": [0, -1, 2**127, 0.1, -0.0, 5e-324, 1.7976931348623157e308, True, False, None],
    "strange": [float("inf"), float("-inf")],
    "texts": ["", "é\ud800\n", '"', "<array>"],
    "nested": {"": {"a": [[], {}, [{"b": 1}]]}},
}


def test_plain_things_come_back_as_they_were():
    again = unpacked(b"".join(packed(PLAIN)), "file")

    assert again == PLAIN
    assert [type(value) for value in again["numbers"]] == [type(v) for v in PLAIN["numbers"]]
    assert np.signbit(again["numbers"][4])


@pytest.mark.parametrize("kind", ["?", "i1", "u1", "i2", "i8", "u8", "f2", "f4", ">f8", ">i4"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (2, 3, 4)])
def test_arrays_come_back_as_they_were(kind, shape):
    generator = np.random.default_rng(1)
    array = np.asarray(generator.normal(size=shape) * 10).astype(kind)
    view = np.asfortranarray(np.stack([array, array]))[1:]

    again = unpacked(b"".join(packed({"a": array, "b": view, "c": array})), "file")

    for mine, theirs in [(array, again["a"]), (view, again["b"]), (array, again["c"])]:
        assert theirs.dtype == mine.dtype.newbyteorder("=")
        np.testing.assert_array_equal(theirs, mine, strict=mine.dtype.isnative)


@pytest.mark.parametrize(
    "thing",
    [
        object(),
        {1, 2},
        b"bytes",
        1j,
        print,
        {1: "x"},
        {"<array>": 1},
        np.array([object()]),
        np.array(["x"]),
        np.array([1j]),
        np.zeros(2, dtype="f8,i4"),
        np.datetime64("2020-01-01"),
    ],
    ids=lambda thing: repr(thing).partition(" at 0x")[0],  # the same in every process
)
def test_what_is_not_plain_is_refused(thing):
    with pytest.raises(TypeError, match=r"content\['deep'\]\[0\].*checkpoint"):
        list(packed({"deep": [thing]}))


def test_a_state_of_sampled_play_fits_into_a_file():
    run = SelfPlay(
        games.kuhn_poker(),
        [rk.CFR(tree, rk.RegretMatching) for tree in games.kuhn_poker().domains],
        estimator=ChanceSampling(np.random.default_rng(1)),
    ).run(3)
    state = run.state_dict()

    np.testing.assert_equal(unpacked(b"".join(packed(state)), "file"), state)
