"""Checkpoints that were altered or forged, and what must become of each: a process of its own.

An altered file has other bytes; a forged one has other content and a right checksum. Memory of the
process is limited, and no file may be opened that only a checkpoint names.

$ python tests/helpers/forging.py altered|forged COUNT SEED
"""

import copy
import math
import os
import resource
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

import regretkit as rk
from regretkit import SelfPlay, games
from regretkit.estimators import LearnedBaseline
from regretkit.games.catalogue._small_poker import KuhnPoker
from regretkit.play import (
    AverageStrategySampling,
    ExternalSampling,
    LazyMCCFR,
    OutcomeSampling,
    RandomPlayer,
    Recorder,
    resume,
)
from regretkit.play._checkpoint_file import packed, unpacked

MOST_MEMORY, MOST_GROWTH = 4 * 2**30, 400 * 2**20  # 280 MiB are those of a compiler
MOST_SECONDS = 30.0  # a file may ask for the compiled engine, which then makes machine code
KUHN, PENNIES = games.kuhn_poker(), games.matching_pennies()

opened: list[str] = []


def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        opened.append(arguments[0])


# What is saved: each comes with what reads it again, given fresh minimizers or none


def trees(local):
    return [rk.CFR(domain, local) for domain in KUHN.domains]


def bits(kind, seed=1):
    return np.random.Generator(kind(seed))


def sampling(seed=1):
    return AverageStrategySampling(bits(np.random.PCG64, seed))


def mccfr(game):
    return LazyMCCFR(game, rk.RegretMatchingPlus, sampler())


def sampler():
    return ExternalSampling(bits(np.random.PCG64))


def record():
    return Recorder({"t": lambda run: run.iteration})


def played(game, minimizers, **ways):
    return SelfPlay(game, minimizers(), engine="numpy", **ways).run(7)


def runs():
    """Return runs to be saved, and for each what makes minimizers for :meth:`SelfPlay.load`."""
    named = {"iterations": 7, "engine": "numpy"}
    matching, plus = partial(trees, rk.RegretMatching), partial(trees, rk.RegretMatchingPlus)
    order = RandomPlayer(bits(np.random.MT19937))
    baseline = OutcomeSampling(bits(np.random.Philox), baseline=LearnedBaseline())
    return [
        (partial(rk.solve, KUHN, "cfr+", **named), None),
        (partial(rk.solve, KUHN, "dcfr", **named), None),
        (partial(played, PENNIES, pair, order=order), pair),
        (partial(played, KUHN, plus, estimator=sampling()), plus),
        (partial(played, KUHN, matching, estimator=baseline), matching),
    ]


def pair():
    return [rk.PredictiveRegretMatchingPlus(2), rk.Hedge(2, rate=0.5)]


def subjects(folder):
    """Yield bytes of checkpoints, and what reads such a file."""
    for make, minimizers in runs():
        run, path = make(), folder / "whole"
        run.save(path)
        read = resume if minimizers is None else partial(load, run.game, minimizers)
        yield path.read_bytes(), read
    for game in (KuhnPoker(), games.load_rules("liars_dice(sides=2)")):
        mccfr(game).run(20).save(folder / "whole")
        yield (folder / "whole").read_bytes(), partial(load_lazily, game)


def load_lazily(game, path):
    return LazyMCCFR.load(path, game, rk.RegretMatchingPlus, sampler())


def load(game, make, path):
    """Load a run, and see that minimizers are unchanged where that is refused."""
    minimizers = make()
    previous = [minimizer.state_dict() for minimizer in minimizers]
    try:
        return SelfPlay.load(path, game, minimizers)
    except ValueError:
        following = [minimizer.state_dict() for minimizer in minimizers]
        np.testing.assert_equal(following, previous)
        raise


# How it is changed


def altered(whole, generator):
    """Return other bytes: some changed, left out, put in, or all that follow cut off."""
    data = bytearray(whole)
    place = int(generator.integers(len(data)))
    kind, size = generator.integers(4), int(generator.integers(1, 9))
    if kind == 0:
        for index in generator.integers(len(data), size=size):
            data[index] ^= int(generator.integers(1, 256))
    elif kind == 1:
        del data[place:]
    elif kind == 2:
        del data[place : place + size]
    else:
        data[place:place] = generator.bytes(size)
    return bytes(data)


def places(content, path=()):
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def at(content, place):
    for step in place:
        content = content[step]
    return content


NUMBERS = [-1, 0, 1, 2, 624, 10**6, 2**31, 2**63, 2**127, -(2**63), 2**200]
FLOATS = [-1.0, -1e-3, 0.0, 0.5, 2.0, 1e300, 1.7e308, -1e300, math.inf, -math.inf, math.nan]
TEXTS = [
    *("", "x", "compiled", "auto", "/dev/zero", "/etc/passwd", "('a', " * 300, "\ud800\x1b[2J"),
    *("openspiel:goofspiel(num_cards=99)", "dudo(dice=10000)"),
    *("goofspiel(9)", "oshi_zumo(coins=10000, horizon=1)"),
]
THINGS = [None, True, [], {}, [[1]], {"x": {}}, {"<kind>": "Uniform"}, [1.0, 2.0]]


def another_array(array, generator):
    array = np.array(array)
    kind = generator.integers(6)
    if array.size and kind <= 2:
        flat = array.reshape(-1)
        number = FLOATS[generator.integers(len(FLOATS))]
        with np.errstate(all="ignore"):
            flat[generator.integers(flat.size)] = (
                number if array.dtype.kind == "f" else np.array(2**31 - 1).astype(array.dtype)
            )
        return array
    if kind == 3:
        return array * 2 if array.dtype.kind != "b" else array
    if kind == 4:
        return array[:-1] if array.ndim else array
    return array.astype(["f4", "i8", ">f8", "?"][generator.integers(4)])


def another(value, generator):
    """Return something that may stand in a value's place."""
    if isinstance(value, np.ndarray) and generator.random() < 0.9:
        with np.errstate(all="ignore"):
            return another_array(value, generator)
    if isinstance(value, float) and generator.random() < 0.8:
        return FLOATS[generator.integers(len(FLOATS))]
    if isinstance(value, int) and generator.random() < 0.8:
        return NUMBERS[generator.integers(len(NUMBERS))]
    if isinstance(value, str) and generator.random() < 0.8:
        return TEXTS[generator.integers(len(TEXTS))]
    pool = [*NUMBERS, *FLOATS, *TEXTS, *THINGS, np.ones(3), np.zeros((2, 0))]
    return pool[generator.integers(len(pool))]


def forged(whole, generator):
    """Return a file of other content, with a right checksum."""
    content = copy.deepcopy(unpacked(whole, "whole"))
    learned, leaves = generator.random(2) < 0.8
    for _ in range(generator.choice([1, 1, 2, 3])):
        found = list(places(content))
        if learned:
            found = [place for place in found if place[0] == "state"]
        if leaves:
            found = [place for place in found if not isinstance(at(content, place), dict | list)]
        if not found:
            break
        *parents, key = found[generator.integers(len(found))]
        holder = at(content, parents)
        if generator.random() < 0.1:
            del holder[key]
        else:
            holder[key] = another(holder[key], generator)
    return packed(content)


# What must become of it


def check_run(run):
    """Check that what a file restored is valid, and plays on to what is valid."""
    assert type(run.iteration) is int
    assert run.iteration >= 0
    check_strategies(run)
    try:
        run.run(1)
    except (ValueError, RuntimeError, TypeError):
        return  # too large numbers, say; the run says so
    check_strategies(run)


def check_strategies(run):
    if isinstance(run, LazyMCCFR):
        for player in (*run.average, *run.current):
            for shares in map(player.__getitem__, player):
                assert_distribution(shares)
        return
    profiles = [run.current]
    if any(average._weight for average in run._averages):
        profiles.append(run.average)
    for profile in profiles:
        for strategy, domain in zip(profile, run.game.domains, strict=True):
            assert domain.contains(strategy, atol=2e-6), strategy


def assert_distribution(shares):
    assert min(shares) >= 0.0, shares
    assert abs(sum(shares) - 1.0) < 1e-5, shares


def trial(read, path, data):
    """Return whether a file is refused, or check what it restored."""
    path.write_bytes(data)
    opened.clear()
    began = time.process_time()
    try:
        with np.errstate(all="ignore"):
            run = read(path)
    except ValueError as error:
        refused = str(error)
    else:
        refused = ""
        with np.errstate(all="ignore"):
            check_run(run)
    assert not refused or str(path) in refused, refused
    assert len(refused) < 1_000, refused
    assert time.process_time() - began < MOST_SECONDS
    hostile = [name for name in opened if name.startswith(("/dev/", "/etc/passwd"))]
    assert not hostile, hostile
    return bool(refused)


def main(change_name, count, seed):
    change = {"altered": altered, "forged": forged}[change_name]
    generator = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        files = list(subjects(Path(folder)))
        for whole, read in files:
            assert not trial(read, Path(folder, "run"), whole)
        previous = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        sys.addaudithook(watch)
        refused = 0
        for number in range(count):
            whole, read = files[number % len(files)]
            data = change(whole, generator)
            if data == whole:
                continue
            try:
                refused += trial(read, Path(folder, "run"), data)
            except BaseException:
                kept = f"{tempfile.gettempdir()}/forged-{os.getpid()}"
                Path(kept).write_bytes(data)
                print(f"trial {number} of subject {number % len(files)}, in {kept}")
                raise
        grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - previous)
    assert grown < MOST_GROWTH, grown
    print(f"{refused} of {count} refused")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
