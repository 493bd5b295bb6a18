"""Files that are no whole checkpoint are refused, each for what it is, and do nothing else."""

import copy
import hashlib
import io
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
LYING = b"\x93NUMPY\1\0v\0{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,)}"
LYING += b" " * (127 - len(LYING)) + b"\n" + bytes(24)
"""An array of 24 bytes that says that it has far more."""


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

REFUSED = r"^run (is truncated or was altered|is no checkpoint)"


def test_every_truncation_is_refused(whole, tmp_path):
    for length in range(len(whole)):
        with pytest.raises(ValueError, match=r"^run is truncated"):
            unpacked(whole[:length], "run")
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        with pytest.raises(ValueError, match=r"run is truncated"):
            load(tmp_path / "run", whole[:length])


def test_every_wrong_byte_is_refused(whole):
    for place, bit in enumerate(np.random.default_rng(SEED).integers(8, size=len(whole))):
        wrong = bytearray(whole)
        wrong[place] ^= 1 << bit
        with pytest.raises(ValueError, match=REFUSED):
            unpacked(bytes(wrong), "run")


@pytest.mark.parametrize("more", [b"\n", b"\0" * 100, None], ids=["a line", "zeros", "itself"])
def test_what_comes_behind_the_end_is_refused(more, whole):
    with pytest.raises(ValueError, match="or was altered"):
        unpacked(whole + (more or whole), "run")


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


def test_a_newer_version_of_the_format_says_so(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("regretkit.play._checkpoint_file.VERSION", 2)
        newer = packed({"a": np.ones(3)})

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
    return packed(content)


VALUES = [..., None, True, -1, 2.5, "x", [], {}, [[1]], {"x": {}}, np.ones(3), np.zeros((2, 0))]


@pytest.mark.deep
def test_a_forged_file_is_refused_or_loads_and_does_nothing_else(whole, tmp_path):
    content = unpacked(whole, "run")
    path, refused = tmp_path / "run", 0
    for place in entries(content):
        for value in VALUES:
            player, second = minimizers()
            path.write_bytes(forged(content, place, value))
            try:
                SelfPlay.load(path, GAME, [player, second])
            except (ValueError, TypeError) as error:
                refused += "run" in str(error)
    assert refused > 100


FLOATS = {"f8.npy": np.ones(3)}
MANIFESTS = [
    (b"", {}),
    (b"\n", {}),
    (b"{}", {}),
    (b"[]", {}),
    (b"null", {}),
    (b'{"version": 1}', {}),
    (b'{"version": 1, "content": []}', {}),
    (b'{"version": 1, "content": {}}', FLOATS),
    (b"[" * 100_000, {}),
    (b"\xff\xfe", {}),
    (b'{"version": ' + b"1" * 5_000 + b"}", {}),
    *(
        (b'{"version": 1, "content": {"game": {"<array>": %s}}}' % array, members)
        for array, members in [
            (b'["f8", 3]', {}),
            (b'["f8", 4]', FLOATS),
            (b'["f8", 2]', FLOATS),
            (b'["f8", -3]', FLOATS),
            (b'["f8", -1]', FLOATS),
            (b'["f8", true, 3]', FLOATS),
            (b'["f8", 0, 99999999999999999999999]', FLOATS),
            (b'["f8", 99999999999, 99999999999]', FLOATS),
            (b'["f8", "3"]', FLOATS),
            (b"[1, 2, 3]", FLOATS),
            (b"null", FLOATS),
            (b'["f4", 3]', {"f4.npy": np.ones(3)}),
            (b'["f8", 3]', {"f8.npy": np.ones((3, 1))}),
            (b'["O", 3]', {"O.npy": np.array([None] * 3)}),
            (b'["V12", 3]', {"V12.npy": np.zeros(3, dtype="f8,i4")}),
            (b'["f8", 3]', {"f8.npy": b"text"}),
            (b'["f8", 3]', {"f8.npy": LYING}),
        ]
    ),
]


def archive_of(manifest, members, compression=zipfile.ZIP_STORED):
    """Return an archive with a right checksum."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("regretkit.json", manifest)
        for name, member in members.items():
            piece = io.BytesIO()
            if isinstance(member, np.ndarray):
                np.save(piece, member)
            else:
                piece.write(member)
            archive.writestr(name, piece.getvalue())
        archive.comment = bytes(64)
    data = file.getvalue()[:-64]
    return data + hashlib.sha256(data).hexdigest().encode()


@pytest.mark.parametrize(("manifest", "members"), MANIFESTS, ids=range(len(MANIFESTS)))
def test_a_forged_archive_is_refused(manifest, members):
    with pytest.raises(ValueError, match="run is not what regretkit writes"):
        unpacked(archive_of(manifest, members), "run")


def test_an_archive_that_grows_when_it_is_read_is_refused():
    manifest = b'{"version": 1, "content": {"a": {"<array>": ["f8", 1000000]}}}'
    data = archive_of(manifest, {"f8.npy": np.zeros(1_000_000)}, zipfile.ZIP_DEFLATED)

    assert len(data) < 20_000
    with pytest.raises(ValueError, match="members are larger than they are in the file"):
        unpacked(data, "run")


# What goes in comes out

PLAIN = {
    "numbers": [0, -1, 2**127, 0.1, -0.0, 5e-324, 1.7976931348623157e308, True, False, None],
    "strange": [float("inf"), float("-inf")],
    "texts": ["", "é\ud800\n", '"', "<array>"],
    "nested": {"": {"a": [[], {}, [{"b": 1}]]}},
}


def test_plain_things_come_back_as_they_were():
    loaded = unpacked(packed(PLAIN), "file")

    assert loaded == PLAIN
    assert [type(value) for value in loaded["numbers"]] == [type(v) for v in PLAIN["numbers"]]
    assert np.signbit(loaded["numbers"][4])


@pytest.mark.parametrize("kind", ["?", "i1", "u1", "i2", "i8", "u8", "f2", "f4", ">f8", ">i4"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (2, 3, 4)])
def test_arrays_come_back_as_they_were(kind, shape):
    generator = np.random.default_rng(1)
    array = np.asarray(generator.normal(size=shape) * 10).astype(kind)
    view = np.asfortranarray(np.stack([array, array]))[1:]

    loaded = unpacked(packed({"a": array, "b": view, "c": array}), "file")

    for found, expected in [(array, loaded["a"]), (view, loaded["b"]), (array, loaded["c"])]:
        assert expected.dtype == found.dtype.newbyteorder("=")
        np.testing.assert_array_equal(expected, found, strict=found.dtype.isnative)


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
        packed({"deep": [thing]})


def test_a_state_of_sampled_play_fits_into_a_file():
    run = SelfPlay(
        games.kuhn_poker(),
        [rk.CFR(tree, rk.RegretMatching) for tree in games.kuhn_poker().domains],
        estimator=ChanceSampling(np.random.default_rng(1)),
    ).run(3)
    state = run.state_dict()

    np.testing.assert_equal(unpacked(packed(state), "file"), state)
