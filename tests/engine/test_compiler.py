"""The compiler of kernels: functions as machine code compute what they compute in Python."""

import ctypes
import math
import platform
import random
import struct
import textwrap
from types import FunctionType
from typing import NamedTuple

import numpy as np
import pytest
from engine_cases import RULES, started

from regretkit import games
from regretkit.engine import _machine_code
from regretkit.engine._compiler import (
    CannotCompileError,
    ObjectCode,
    object_code,
    prefetch,
    separate,
    translate,
)
from regretkit.engine._machine_code import MachineCode
from regretkit.engine.kernels import _iteration

HUGE = np.iinfo(np.int64)
FLOATS = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.5,
        -3.5,
        7.0,
        1e-310,
        -5e-324,
        1e300,
        -1e300,
        3e18,
        np.inf,
        -np.inf,
        np.nan,
    ]
)
INTS = np.array([0, 1, -1, 2, -3, 7, 63, 64, 200, -64, 2**40, HUGE.min, HUGE.min + 1, HUGE.max])
UNSIGNED = np.array([0, 1, 2, 7, 63, 64, 200, 2**32, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
TRUTHS = np.array([False, True])


class Pair(NamedTuple):
    """A tuple with names."""

    first: object
    second: object


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(_machine_code.FOLDER, str(tmp_path))


# Both ways to run a function


def made(text, **names):
    """Return the last function of a text, which has no file."""
    names = {"np": np, "math": math, "Pair": Pair, "separate": separate, **names}
    text = textwrap.dedent(text)
    exec(text, names)
    functions = [value for value in names.values() if isinstance(value, FunctionType)]
    for function in functions:
        if function.__code__.co_filename == "<string>":
            function.source = text
    return functions[-1]


def copied(argument):
    """Return an argument with copies of its arrays and generators, in the same order of memory."""
    if isinstance(argument, np.ndarray):
        base = np.lib.stride_tricks.as_strided  # a copy with the same strides
        if argument.flags.c_contiguous:
            return argument.copy()
        whole = argument.base.copy()
        offset = argument.ctypes.data - argument.base.ctypes.data
        start = whole.reshape(-1)[offset // whole.itemsize :]
        return base(start, argument.shape, argument.strides)
    if isinstance(argument, np.random.Generator):
        copy = np.random.Generator(type(argument.bit_generator)())
        copy.bit_generator.state = argument.bit_generator.state
        return copy
    if isinstance(argument, tuple):
        items = [copied(item) for item in argument]
        return type(argument)(*items) if hasattr(argument, "_fields") else tuple(items)
    return argument


def content(argument):
    """Return the bytes of the arrays of an argument, with one NaN only."""
    if isinstance(argument, tuple):
        return [content(item) for item in argument]
    if not isinstance(argument, np.ndarray):
        return None
    array = argument.copy()
    if array.dtype.kind == "f":
        array[np.isnan(array)] = np.nan
    return array.tobytes()


def assert_same(function, *arguments, results=0, replaced=None, run=None):
    """Assert that a function returns and writes the same in Python and as machine code."""
    code = run or MachineCode(function, replaced or {}, results)
    python, compiled = copied(arguments), copied(arguments)
    with np.errstate(all="ignore"):
        expected = function(*python)
    found = code(*compiled)
    for k, (one, other) in enumerate(zip(python, compiled, strict=True)):
        if content(one) != content(other):
            np.testing.assert_array_equal(other, one, f"argument {k}")
            places = np.argwhere(np.signbit(one) != np.signbit(other))[:5].tolist()
            raise AssertionError(f"argument {k} differs in the sign of zeros at {places}")
    if results:
        assert found == expected


def statements(lines, names="x, y, out"):
    """Return a function that writes to each row of ``out`` a result for all entries of x, y."""
    body = "".join(f"        {line.format(row=row)}\n" for row, line in enumerate(lines))
    text = f"def function({names}):\n    for i in range(x.size):\n        a, b = x[i], y[i]\n{body}"
    return made(text)


def table(expressions):
    return statements([f"out[{{row}}, i] = {expression}" for expression in expressions])


def pairs(left, right):
    return np.repeat(left, right.size), np.tile(right, left.size)


# Operators

ALL = ["a + b", "a - b", "a * b", "a // b", "a % b"]
BITS = ["a & b", "a | b", "a ^ b", "a << b", "a >> b"]
COMPARED = ["a < b", "a <= b", "a > b", "a >= b", "a == b", "a != b"]
CHOSEN = ["a if a < b else b", "min(a, b)", "max(a, b)", "max(a, b, a)"]
TESTED = [
    *COMPARED,
    "not a",
    "a < b < a",
    "b >= a != b == b",
    "a < b and b > a",
    "a < b or a == b or b != b",
    "not (a < b and (a == a or b == b))",
    "bool(a) and not bool(b)",
    "(a < b) & (b != a) | (a == b)",
    "(a < b) ^ (a > b)",
    "(a < b) == (b > a)",
    "a is None or a is not None",
]
ROUNDED = ["np.floor(a)", "np.ceil(a)", "np.trunc(a)", "np.rint(a)"]
EXACT = ["abs(a)", "np.abs(a)", "-a", "+a", "a if b else -a", "a if not a else b", "float(a)"]
OPERATORS = {
    "floats": (
        FLOATS,
        FLOATS,
        [
            *ALL,
            *CHOSEN,
            *ROUNDED,
            *EXACT,
            "a / b",
            "np.sqrt(a)",
            "np.fabs(a)",
            "np.maximum(a, a + b) + 0.0",
            "np.minimum(a, b) + 0.0",
            "np.copysign(a, b)",
            "a // 0.5",
            "-7.5 % b",
            "a ** 2 if a > 0 else a",
        ],
    ),
    "ints": (
        INTS,
        INTS,
        [
            *ALL,
            *BITS,
            *CHOSEN,
            *EXACT[:-1],
            "~a",
            "a ** 2",
            "a ** 5",
            "a ** 0",
            "a // 3",
            "a % 8",
            "a // -1",
            "a % -5",
            "a // 0",
            "a % 0",
            "9 // b",
            "a << 3",
            "a >> 63",
            "a >> 64",
            "a << 70",
            "int(a)",
            "round(a)",
            "np.int64(a)",
            "np.uint32(a)",
            "np.power(a, 3)",
            "np.floor(a)",
            "np.minimum(a, b)",
            "np.maximum(a, b)",
        ],
    ),
    "ints to floats": (
        INTS,
        INTS,
        [
            "a / b",
            "float(a) + 0.5",
            "a * 0.5",
            "2.0 - a",
            "a // 2.5",
            "a % 2.5",
            "max(a, 0.5)",
            "0.5 if a < b else a",
            "np.float64(a)",
            "np.fabs(a)",
            "math.fabs(a)",
        ],
    ),
    "mixed": (INTS, FLOATS, [*ALL, "a / b", "b - a", "b // a", "b % a", *CHOSEN[1:3]]),
    "uint64": (
        UNSIGNED,
        UNSIGNED,
        [
            *ALL,
            *BITS,
            "~a",
            "-a",
            "a ** 2",
            "max(a, b)",
            "min(a, b)",
            "abs(a)",
            "a // np.uint64(3)",
            "a % np.uint64(8)",
            "a >> np.uint64(63)",
            "a << np.uint64(64)",
            "a if a < b else b",
            "np.uint64(a)",
            "np.uint64(3) * np.uint64(5) + a",
        ],
    ),
    "uint64 to floats": (UNSIGNED, FLOATS, ["a + b", "a * b", "a / b", "float(a)", "b - a"]),
    "truth with ints": (
        TRUTHS,
        INTS,
        ["a + b", "a * b", "b - a", "int(a)", "b << a", "b if a else a"],
    ),
    "truth with floats": (
        TRUTHS,
        FLOATS,
        ["a + b", "a * b", "b - a", "float(a)", "b / a", "a / b"],
    ),
}
CHECKED = {
    "floats": (
        FLOATS,
        FLOATS,
        [
            *TESTED,
            "np.isnan(a)",
            "math.isinf(a)",
            "np.isfinite(a)",
            "math.isnan(b) or math.isfinite(b) or np.isinf(b)",
        ],
    ),
    "ints": (INTS, INTS, TESTED),
    "uint64": (UNSIGNED, UNSIGNED, TESTED),
    "truth": (TRUTHS, TRUTHS, [*TESTED, "a & b", "a | b", "a ^ b"]),
    "mixed": (INTS, FLOATS, COMPARED),
    "mixed truth": (FLOATS, TRUTHS, COMPARED),
}
CASES = [(f"{name}", *case, case[0].dtype) for name, case in OPERATORS.items()]
CASES = [
    (*case[:4], np.dtype(float) if "float" in case[0] or case[0] == "mixed" else case[4])
    for case in CASES
]
CASES = [(*case[:4], np.dtype(int) if case[4] == bool else case[4]) for case in CASES]
CASES += [(f"tests of {name}", *case, np.dtype(bool)) for name, case in CHECKED.items()]
by_name = pytest.mark.parametrize(
    ("name", "left", "right", "expressions", "kind"),
    CASES,
    ids=lambda x: x if isinstance(x, str) else "",
)


@by_name
def test_operators(name, left, right, expressions, kind):
    x, y = pairs(left, right)
    assert_same(table(expressions), x, y, np.zeros((len(expressions), x.size), kind))


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="not this processor")
@by_name
def test_operators_on_the_oldest_processors(name, left, right, expressions, kind):
    x, y = pairs(left, right)
    arrays, function = (x, y, np.zeros((len(expressions), x.size), kind)), table(expressions)
    text, symbols = translate(function, {}, arrays)
    kinds = "".join(_machine_code._flatten(array)[1] for array in arrays)
    entry = _machine_code._link(ObjectCode(object_code(text, cpu="x86-64"), symbols), kinds, 0)
    assert_same(function, *arrays, run=lambda *arrays: entry(*map(id, arrays)))


def test_assignments_with_operators():
    floats = ["+= b", "-= b", "*= b", "/= b", "//= b", "%= b"]
    ints = [*floats[:3], *floats[4:], "&= b", "|= b", "^= b", "<<= b", ">>= b", "**= 2"]
    for numbers, operators in (FLOATS, floats), (INTS, ints):
        x, y = pairs(numbers, numbers)
        out = np.repeat([x], 2 * len(operators), axis=0)
        entries = [f"out[{{row}}, i] {text}" for text in operators]
        lines = [f"c = a; c {text}; out[{{row}}, i - x.size] = c" for text in operators]
        assert_same(statements([*entries, *lines]), x, y, out)


def test_conversions_of_floats():
    x = np.array([0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 2.9, -2.9, 1e15 + 0.5, -(2.0**62), 1e-320])
    names = ["int(a)", "np.int64(a)", "round(a)", "math.floor(a)", "math.ceil(a)", "math.trunc(a)"]
    assert_same(
        table([*names, "int(bool(a))", "round(a) + int(b)"]), x, x, np.zeros((8, x.size), int)
    )
    code, out = MachineCode(table(["int(a)"]), {}), np.ones((1, 4), int)
    x = np.array([np.nan, np.inf, -np.inf, 1e300])
    code(x, x, out)
    assert out.tolist() == [[0, HUGE.max, HUGE.min, HUGE.max]]


LIBRARY = "exp log log1p expm1 log2 log10 sin cos tan tanh sinh cosh cbrt exp2".split()
NAMESAKES = ["arctan(a)", "arcsin(a)", "arctan2(a, b)", "hypot(a, b)", "power(a, b)", "fmod(a, b)"]


def test_functions_of_the_c_library():
    x, y = pairs(FLOATS, FLOATS)
    names = [f"np.{name}(a)" for name in LIBRARY] + [f"np.{text}" for text in NAMESAKES]
    names += ["a ** b", "a ** 0.5", "2.0 ** a", "a ** 3", "np.pi * math.e + math.exp(min(a, 1.0))"]
    python, compiled = (np.zeros((len(names), x.size)) for _ in range(2))
    function = table(names)
    with np.errstate(all="ignore"):
        function(x, y, python)
    MachineCode(function, {})(x, y, compiled)
    for name, expected, found in zip(names, python, compiled, strict=True):
        small = (abs(expected) < 1e22) & (abs(x) < 1e22)  # reductions of huge angles differ
        np.testing.assert_array_max_ulp(found[small], expected[small], 1), name


# Arrays

TYPES = ["f8", "i8", "i4", "i2", "u8", "u4", "u1", "b1"]


@pytest.mark.parametrize("kind", TYPES)
def test_arrays(kind):
    function = made("""
        def function(x, y, out, floats, k):
            for i in range(x.size):
                out[i] = x[i]
                out[-i - 1 - x.size] = x[x.size - 1 - i]
                floats[i] = x[i] * 2.5 if x[i] else -1.5
            for i in range(y.size):
                out[x.size + i] = y[i]
            out[-1], out[-2] = x[k[0]], x[k[1]]
            out[-3] = x[0] if x[-1] == x[-2] else x[-1]
    """)
    numbers = np.arange(-3, 9).astype(kind)
    numbers[:2] = np.array([-1, 300]).astype(kind)
    others = np.array([0, 1, 100], "u8" if kind == "u8" else "i8")
    k, floats = np.array([-2, 5]), np.zeros(12)
    assert_same(function, numbers, others, np.zeros(36, kind), floats, k)
    assert_same(
        function, np.repeat(numbers, 3)[1::3], others[::-1], np.zeros(72, kind)[::-2], floats, k
    )


def test_floats_in_arrays_of_whole_numbers():
    function = made("""
        def function(x, ints, narrow, wide, truths):
            for i in range(x.size):
                ints[i] = narrow[i] = x[i]
                wide[i], truths[i] = abs(x[i]), x[i]
    """)
    x = np.array([0.0, 1.5, -2.7, 1e9, 0.3])
    assert_same(
        function, x, np.zeros(5, int), np.zeros(5, "i4"), np.zeros(5, "u8"), np.zeros(5, bool)
    )
    big = np.array([1e19])
    ints, narrow, wide, truths = (
        np.zeros(1, int),
        np.zeros(1, "i4"),
        np.zeros(1, "u8"),
        np.zeros(1, bool),
    )
    MachineCode(function, {})(big, ints, narrow, wide, truths)
    assert (ints[0], wide[0], truths[0]) == (HUGE.max, 10**19, True)


def test_dimensions():
    function = made("""
        def fill(row, value):
            row[0] += value
            for k in range(1, row.size):
                row[k] = row[k - 1] + value

        def total(rows):
            found = 0.0
            for row in rows:
                for value in row:
                    found += value
            return found

        def function(x, y, out, k):
            n = 0
            for i in range(x.shape[0]):
                for j in range(x.shape[1]):
                    for l in range(len(x[i, j])):
                        out[n] = x[i, j, l] + x[i][j][l] - x[-1 - i, -1 - j][-1 - l]
                        n += 1
            fill(y[1], 2.5)
            fill(y[k[0]], y[0, 1])
            a, b, c = y[-1]
            y[0, 0], y[0, -1], y[0][1] = c, a, b + y.size * y.ndim + x.ndim
            y[k[0], k[0]] -= total(y) + total(x[1]) + total(y[1:]) + total(x[k[0]][:-1])
    """)
    x, y = np.random.default_rng(1).normal(size=(2, 2, 4)), np.arange(9.0).reshape(3, 3)
    assert_same(function, x, y, np.zeros(16), np.array([-2]))
    whole = np.random.default_rng(2).normal(size=(2, 4, 2)).copy()
    assert_same(function, whole.transpose(0, 2, 1), y.T, np.zeros(16), np.array([-2]))


def test_slices():
    function = made("""
        def write(row, out, at):
            out[at[0]] = row.size
            at[0] += 1
            for value in row:
                out[at[0]] += value
            at[0] += 1

        def function(x, ends, out, at):
            for begin in ends:
                for end in ends:
                    write(x[begin:end], out, at)
                write(x[begin:], out, at)
                write(x[: begin - 1], out, at)
                write(x[begin:-2][1:], out, at)
                write(x[-3:begin], out, at)
            write(x[-100:100], out, at)
            write(x[2:-1], out, at)
            write(x[:], out, at)
    """)
    ends, out = (
        np.array([0, 1, 3, 5, 6, 99, -1, -4, -5, -6, -99, HUGE.max, HUGE.min]),
        np.zeros(700),
    )
    assert_same(function, np.arange(1.0, 6.0), ends, out, np.zeros(1, int))
    assert_same(function, np.arange(15.0)[::-3], ends, out, np.zeros(1, int))
    assert_same(function, np.zeros(0), ends, out, np.zeros(1, int))


# Statements and calls

PROGRAMS = {
    "ranges": """
        def function(x, n, out):
            k = 99
            for first in n:
                for last in n:
                    for k in range(first, last):
                        out[0] = out[0] * 3.0 + k
                    for k in range(first, last, 3):
                        out[1] = out[1] * 3.0 + k
                    for k in range(first, last, -1):
                        out[2] = out[2] * 3.0 + k
                    for k in range(last, first - 1, -2):
                        out[3] = out[3] * 3.0 + k
                    out[4] = out[4] * 3.0 + k
            for k in range(7, 3, -2):
                out[5] += k
                k = k + 100
            out[6] = k
            for k in range(3, 3):
                out[7] = 1.0
            own = range(n[0], n[1])
            out[8] = own.stop - own.start
        """,
    "loops": """
        def function(x, n, out):
            k = 0
            while True:
                k += 1
                if k % 3 == 0:
                    continue
                if k > 20:
                    break
                j = 0
                while j < k and x[j % x.size] < 2.0:
                    j += 1
                else_ = j * k
                out[0] += else_ * 0.5
            while x[k % x.size] != x[k % x.size]:
                k -= 1
            for value in x:
                if value > 1.0:
                    break
                for other in (1, 2.5, value):
                    if other == value:
                        continue
                    if other > 2.0:
                        break
                    out[1] += other
            out[2], out[3] = k, value
            while False:
                out[4] = 1.0
        """,
    "variables": """
        def function(x, n, out):
            total, count, mixed = 0, 0, 0
            for value in x:
                mixed = count
                if value > 0.0:
                    mixed = value
                    late = count
                total += mixed
                count = count - 1 if value < 1.0 else count + 2
            first, second = total, mixed
            for _ in range(3):
                first, second = second, first - second
                (a, b), c = (first, second), count
            pair = Pair(a, (b, c))
            if n[0] > 0:
                pair = Pair(b, (a, c - 1))
            out[0], out[1], out[2], out[3] = first, pair.first, pair.second[0], pair.second[1]
            out[4], out[5] = late, x[count]
            signed = 5
            for k in range(8):
                signed -= k
                out[k - 9] = x[signed % x.size]
            row = x[1:]
            if n[1] < 100:
                row = x[2:]
            one = other = row[0]
            out[6] = one + other + len(row) + (row if n[0] < 0 else x)[-1]
        """,
    "returns": """
        def sign(value):
            if value > 0.0:
                return 1
            elif value < 0.0:
                return -1
            return 0.5

        def find(x, value):
            for k in range(x.size):
                if x[k] == value:
                    return k, x[k - 1]
            return -1, value

        def search(k):
            while True:
                if k % 7 == 3:
                    return k
                k += 1

        def write(x, out):
            if x[0] > 100.0:
                return
            for value in x:
                if value == 1.0:
                    out[0] = 77.0
                    return
                out[1] += sign(value)

        def both(flag):
            if flag:
                return True
            else:
                return False

        def function(x, n, out):
            write(x, out)
            for k in range(x.size):
                at, before = find(x, x[k])
                out[2] += at * before if both(x[k] < 0.0) else sign(x[k])
                out[3 + k % 2] += search(k) + (find(x, 0.25)[0] if k > 1 and both(k > 2) else 9)
        """,
    "calls": """
        LIMIT, TABLE, WHOLE = 2.5, np.array([[1.0, np.inf], [-0.0, 5.0]]), np.array([3, 2, 255], np.uint8)
        TABLES = (np.array([True, False]), np.arange(6)[::2])

        def affine(x, by=2.0, *, plus=LIMIT):
            x = x * by
            return x + plus

        def scaled(by):
            def inner(x, k):
                return x * by + TABLE[k, 1 - k]
            inner.source = None
            return inner

        def apply(function, x, k):
            return function(x, k)

        def weigh(x, k, weights=WHOLE):
            return x * weights[k]

        def function(x, n, out):
            out[0] = affine(x[0])
            out[1] = affine(x[1], 3, plus=x[0])
            out[2] = affine(by=n[0], x=2)
            out[3] = apply(weigh, x[2], n[0] % 3) + weigh(x=x[1], k=-1)
            for row in TABLE:
                out[4] += row[0]
            for k in range(-2, 1):
                out[5] += WHOLE[k] * n[k] + TABLE[0][0] + TABLES[0][k] + TABLES[1][k]
            out[6], out[7] = TABLE.size + WHOLE.shape[0], x[-1] if LIMIT < 3 else LIMIT.nothing
        """,
    "separate": """
        @separate
        def power(x, k, rows):
            if k == 0:
                return 1, x
            result = 1
            for _ in range(k):
                result = result * x
            return result, rows[0] + rows[-1]

        @separate
        def note(out, value):
            out[8] += value

        @separate
        def nothing():
            pass

        def function(x, n, out):
            for k in range(5):
                value, other = power(x[k], k, x) if k != 3 else power(2.5, k, x[1:])
                out[k] = value * other
            out[5], out[6] = power(3, 4, n)
            out[7] = power(x[0], 2, n)[0] if x[0] < -100.0 and power(1, 2, x)[0] > 0 else power(x[1], 2, n)[1]
            note(out, x[0])
            note(out, n[0])
            note(out, 3)
            nothing()
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_statements(name):
    function = made(PROGRAMS[name])
    x = np.array([-0.5, 1.0, 0.25, -2.0, 3.5, 0.0, 1e-3])
    assert_same(function, x, np.array([2, -3, 5, 0, 9, -7]), np.zeros(20))


def test_arguments_and_results():
    function = made("""
        def function(pair, flag, k, unsigned, factor, x):
            (a, b), total = pair.first, pair.second[0]
            x[0] = a[1] * b + factor * total[-1] + k
            return k * 2 - 1, flag, int(a[0]) + 5, x.size if unsigned > np.uint64(2**63) else 0
    """)
    pair = Pair((np.arange(3.0), 2.5), (np.arange(4),))
    one = pair, True, -5, np.uint64(2**64 - 1), 0.25, np.zeros(2)
    other = pair, np.bool_(False), np.int64(7), np.uint64(1), np.float64(-0.5), np.zeros(2)
    assert_same(function, *one, results=4)
    assert_same(function, *other, results=4)
    assert MachineCode(made("def function(x):\n    return x[0]"), {}, 1)(np.arange(5, 9)) == 5


def placeholder(x):
    """Return a number; to be replaced."""
    raise NotImplementedError


def doubled(x):
    return x * 2.0


def uses_placeholder(x):
    prefetch(x, 1)
    for k in range(x.size):
        x[k] = placeholder(x[k])


def test_placeholders_and_functions_with_a_file():
    x = np.arange(4.0)
    MachineCode(uses_placeholder, {placeholder: doubled})(x)
    assert x.tolist() == [0.0, 2.0, 4.0, 6.0]
    with pytest.raises(CannotCompileError, match=r"test_compiler.py:\d+: Raise"):
        MachineCode(uses_placeholder, {}).prepared(x)


def test_random_numbers():
    function = made("""
        def function(generator, x):
            for k in range(x.size):
                x[k] = generator.random() if k % 3 else generator.random() + generator.random()
    """)
    for bits in np.random.PCG64, np.random.MT19937:
        generator, x = np.random.Generator(bits(3)), np.zeros(50)
        twin = copied(generator)
        MachineCode(function, {})(generator, x)
        expected = np.zeros(50)
        function(twin, expected)
        assert content(x) == content(expected)
        assert generator.random() == twin.random()


# Random programs


class Writer:
    """Writes a random function of the subset that Python can run as well, with any numbers.

    The numbers i are whole, f floats, and m whole or floats: those occur beside floats only.
    """

    def __init__(self, seed):
        self.random, self.lines, self.depth, self.counters = random.Random(seed), [], 1, []

    def pick(self, *choices):
        choice = self.random.choice(choices)
        return choice() if callable(choice) else choice

    def whole(self, depth=0):
        leaf = lambda: self.pick("i0", "i1", "i2", f"n[{self.index(7, depth + 1)}]")  # noqa: E731
        if depth > 2:
            return leaf()
        right = lambda: self.pick(
            *self.counters, self.whole(depth + 1), str(self.random.randrange(-9, 10))
        )  # noqa: E731
        return self.pick(
            leaf,
            lambda: (
                f"({leaf()} {self.pick('+', '-', '*', '//', '%', '&', '|', '^', '<<', '>>')} {right()})"
            ),
            lambda: f"({self.whole(depth + 1)} {self.pick('+', '-', '*')} {right()})",
            lambda: f"np.int64({self.pick('min', 'max')}({leaf()}, {right()}))",
            lambda: f"np.int64(max(-9.0, min(9.0, {self.real(depth + 1)})))",
            lambda: f"({leaf()} if {self.test(depth + 1)} else {leaf()})",
            lambda: f"{self.pick('-', '~', 'abs')}({leaf()})",
            lambda: f"helper_i({leaf()}, {leaf()}, n)",
        )

    def real(self, depth=0):
        leaf = lambda: self.pick(
            "f0",
            "f1",
            "f2",
            f"x[{self.index(8, depth + 1)}]",  # noqa: E731
            f"g[{self.index(3, depth + 1)}, {self.index(5, depth + 1)}]",
        )
        if depth > 2:
            return leaf()
        right = lambda: self.pick("m0", "m1", self.real(depth + 1), "0.5", "-3.0", *self.counters)  # noqa: E731
        return self.pick(
            leaf,
            lambda: f"({leaf()} {self.pick('+', '-', '*', '/', '//', '%')} {self.real(depth + 1)})",
            lambda: f"({self.real(depth + 1)} {self.pick('+', '-', '*')} {right()})",
            lambda: f"np.float64({self.pick('min', 'max')}({leaf()}, {self.real(depth + 1)}))",
            lambda: f"({leaf()} if {self.test(depth + 1)} else {leaf()})",
            lambda: f"{self.pick('-', 'abs', 'np.sqrt', 'np.floor')}({leaf()})",
            lambda: f"helper_f({leaf()}, {self.whole(depth + 1)}, g[{self.index(3, depth + 1)}])",
        )

    def test(self, depth=0):
        compare = lambda: self.pick("<", "<=", ">", ">=", "==", "!=")  # noqa: E731
        return self.pick(
            lambda: f"{self.whole(depth + 1)} {compare()} {self.whole(depth + 1)}",
            lambda: (
                f"{self.real(depth + 1)} {compare()} {self.pick('m0', 'm1', self.real(depth + 1))}"
            ),
            lambda: f"i0 {compare()} i1 {compare()} i2",
            *(
                [
                    lambda: (
                        f"({self.test(depth + 1)}) {self.pick('and', 'or')} not ({self.test(depth + 1)})"
                    )
                ]
                if depth < 2
                else []
            ),
        )

    def index(self, size, depth=0):
        constant = str(self.random.randrange(-size, size))
        if depth > 2:
            return constant
        number = lambda: f"{self.whole(depth + 1)} % {size}"  # noqa: E731
        return self.pick(constant, number, lambda: f"{number()} - {size}")

    def write(self, line):
        self.lines.append("    " * self.depth + line)

    def block(self, head):
        self.write(head)
        self.depth += 1
        for _ in range(self.random.randrange(1, 3)):
            self.statement()
        self.depth -= 1

    def statement(self):
        kinds = ["whole", "real", "mixed", "entry", "swap", "augmented"]
        kinds += ["if", "for", "while", "leave"] if self.depth < 4 else []
        match self.random.choice(kinds):
            case "whole":
                self.write(f"{self.pick('i0', 'i1', 'i2')} = {self.whole()}")
            case "real":
                self.write(f"{self.pick('f0', 'f1', 'f2')} = {self.real()}")
            case "mixed":
                small = lambda: f"{self.whole(1)} % 9"  # noqa: E731
                self.write(f"{self.pick('m0', 'm1')} = {self.pick(self.real, small)}")
            case "entry":
                at = f"{self.index(3)}, {self.index(5)}"
                self.write(self.pick(f"x[{self.index(8)}] = ", f"g[{at}] = ") + self.real())
                self.write(f"n[{self.index(7)}] = {self.whole()}")
            case "swap":
                self.write(
                    self.pick("f0, f1 = f1, f0", "i0, i2, f2 = i2, i0, f0", "f0, f1 = x[:2]")
                )
            case "augmented":
                target = self.pick("f0", "f1", f"x[{self.index(8)}]", f"g[{self.index(3)}][-2]")
                self.write(f"{target} {self.pick('+=', '-=', '*=')} {self.real(1)}")
                self.write(
                    f"{self.pick('i0', f'n[{self.index(7)}]')} {self.pick('+=', '^=', '>>=')} {self.whole(1)}"
                )
            case "if":
                self.block(f"if {self.test()}:")
                if self.random.random() < 0.3:
                    self.block(f"elif {self.test()}:")
                if self.random.random() < 0.5:
                    self.block("else:")
            case "for":
                counter = f"k{len(self.counters)}"
                over = self.pick(
                    "range(3)", "range(2, -2, -1)", f"range({self.whole(1)} % 4)", "range(-3, 3, 2)"
                )
                self.counters.append(counter)
                self.block(f"for {counter} in {over}:")
                self.counters.pop()
            case "while":
                self.write(f"c{self.depth} = 0")
                self.block(f"while c{self.depth} < 3 or {self.test()}:")
                self.write(f"    c{self.depth} += 1")
                self.write(
                    f"    if c{self.depth} > {self.random.randrange(1, 5)} or {self.test(1)}:"
                )
                self.write(f"        {'break' if self.random.random() < 0.7 else 'return i0, f0'}")
            case "leave" if self.random.random() < 0.7:
                self.write("i1 += 1")
            case "leave":
                self.write(f"if {self.test()}:")
                self.write("    return i1, f1")

    def program(self):
        for _ in range(self.random.randrange(4, 9)):
            self.statement()
        self.write("return i2, f2")
        return "\n".join(self.lines)


PROGRAM = """
def helper_i(a, b, n):
    for k in range(b % 5):
        if n[k] > a:
            return a * 3 - k
        a += n[k]
    return a ^ b
{decorator}
def helper_f(a, k, row):
    total = 0
    for value in row:
        if value != value:
            continue
        total = total + a * value
    if k % 2 == 0:
        a = row[k % 5]
    return total - a + 0.5

def program(n, x, g, last):
    i0, i1, i2, f0, f1, f2 = n[0], n[1], n[2], x[0], x[1], x[2]
    m0, m1 = n[3] % 4, n[4] % 4
{body}

def function(n, x, g, last):
    last[0], last[1] = program(n, x, g, last)
"""


def assert_random_program(seed):
    body = Writer(seed).program()
    text = PROGRAM.format(body=body, decorator="@separate" if seed % 2 else "")
    random_ = np.random.default_rng(seed)
    n, x = random_.choice([*INTS, 3, 4, -5], 7), random_.choice([*FLOATS, 1.5, -2.25], 8)
    g = random_.normal(size=(3, 5))
    try:
        assert_same(made(text), n, x, g if seed % 3 else g[:, ::-1], np.zeros(2))
    except AssertionError as error:
        raise AssertionError(f"seed {seed}\n{text}\n{error}") from error


@pytest.mark.parametrize(
    "batch", [*range(10), *(pytest.param(b, marks=pytest.mark.deep) for b in range(10, 40))]
)
def test_random_programs(batch):
    for seed in range(20 * batch, 20 * batch + 20):
        assert_random_program(seed)


# Refusals

REFUSED = [
    ("try:\n  x[0] = 1.0\nexcept ValueError:\n  pass", "Try is not in the subset"),
    ("with x:\n  pass", "With is not in the subset"),
    ("raise ValueError", "Raise is not in the subset"),
    ("assert x[0] > 0", "Assert is not in the subset"),
    ("del x", "Delete is not in the subset"),
    ("import math", "Import is not in the subset"),
    ("def inner(): pass", "FunctionDef is not in the subset"),
    ("global name\nname = 1", "Global is not in the subset"),
    ("match k:\n  case 1: pass", "Match is not in the subset"),
    ("for a in x:\n  pass\nelse:\n  pass", "else after a loop"),
    ("while k > 0:\n  pass\nelse:\n  pass", "else after a loop"),
    ("yield x[0]", "'.*' is not in the subset"),
    ("y = [a for a in x]", "'.*' is not in the subset"),
    ("y = sum(a for a in x)", "'.*' is not in the subset"),
    ("y = [1, 2]", "'.*' is not in the subset"),
    ("y = {1: 2}", "'.*' is not in the subset"),
    ("y = {1, 2}", "'.*' is not in the subset"),
    ("y = f'{k}'", ".* is not in the subset"),
    ("y = '%d' % k", "a number is needed, not str"),
    ("y = lambda: 0", "'.*' is not in the subset"),
    ("if (y := k) > 0:\n  pass", "'.*' is not in the subset"),
    ("y = (*n.shape, 1)", "'.*' is not in the subset"),
    ("max(*n.shape, 1)", "a starred argument"),
    ("helper(**{})", "'.*' is not in the subset"),
    ("y = np.zeros(3)", "a call of zeros"),
    ("y = x.sum()", "'sum' of an array"),
    ("y = x.T", "'T' of an array"),
    ("y = k.real", "'real' of a number"),
    ("y = k.kind", "'kind' of a number"),
    ("print(k)", "a call of print"),
    ("k()", "a call of integer"),
    ("y = {}.get", "'.*' is not in the subset"),
    ("y = dict()", "a call of dict"),
    ("y = isinstance(k, int)", "a call of isinstance"),
    ("y = recursive(k)", "recursive calls itself"),
    ("y = growing(k)", "growing calls itself"),
    ("y = mutual(k)", "mutual calls itself"),
    ("y = missing", "NameError: 'missing' has no value yet"),
    ("y = late\nlate = 1", "late has no value yet"),
    ("late += 1", "late has no value yet"),
    ("y = math.nothing", "AttributeError"),
    ("y = x[0.5]", "a whole number is needed, not a float"),
    ("y = x[x[0]]", "a whole number is needed, not a float"),
    ("y = x[k > 0]", "a truth value as an index"),
    ("y = x[None]", "a number is needed, not NoneType"),
    ("y = x[0, 0]", "2 indices of an array of 1 dimensions"),
    ("y = x[0:0.5]", "a whole number is needed, not a float"),
    ("y = x[x[0]:]", "a whole number is needed, not a float"),
    ("y = x[::2]", "a slice with a step"),
    ("x[1:] = 0.0", "'.*' is not in the subset"),
    ("x = 1.0\nx[0] = 1.0", "x becomes float 1.0, was an array"),
    ("g[0] = 1.0", "an assignment to something else than an entry"),
    ("g[0] += 1.0", "TypeError"),
    ("TABLE[0] = 1.0", "an assignment to an entry of a constant"),
    ("row = TABLE[1:]\nrow[-1] += 1.0", "an assignment to an entry of a constant"),
    ("pair = (k, 1)\npair[0] = 2", "an assignment to something else than an entry"),
    ("helper.name = 2", "an assignment to something else than"),
    ("y = (k, 1)[k]", "an entry of tuple .* that is not constant"),
    ("y = (k, 1)[2]", "IndexError"),
    ("y = (k, 1)[k:]", "a slice of a tuple whose ends are not constant"),
    ("y = (k, 1)[0.5:]", "TypeError"),
    ("a, b = k, 1, 2", "2 names for tuple"),
    ("a, b, c = range(k)", "3 names for Range"),
    ("y = range(k)[0]", "an entry of Range"),
    ("y = range(k)[1:]", "a slice of Range"),
    ("y = len(range(k))", "the length of a range"),
    ("y = len(k)", "TypeError"),
    ("for a in TEXTS:\n  pass", "a loop over dict"),
    ("for a in k:\n  pass", "a loop over integer"),
    ("for a in range(0, 9, k):\n  pass", "a range whose step is not constant"),
    ("for a in range(0, k, 0):\n  pass", "a range whose step is not constant"),
    ("for a in range(x[0]):\n  pass", "a whole number is needed, not a float"),
    ("r = range(k)\nr = range(k + 1)\nfor a in r:\n  pass", "a loop over Range"),
    ("y = u[0] + k", "uint64 together with int64"),
    ("y = u[0] < k", "uint64 together with int64"),
    ("y = u[0]\ny = k", "y0 becomes integer, was unsigned"),
    ("y = x[0] & k", "the operator BitAnd of floats"),
    ("y = ~x[0]", "the operator Invert of floats"),
    ("y = x @ x", "the operator MatMult"),
    ("y = x + x", "TypeError"),
    ("y = x[0] + x", "a number is needed, not an array"),
    ("y = -x", "TypeError"),
    ("y = k ** k", "a power of whole numbers whose exponent is not constant"),
    ("y = (k > 0) + (k > 1)", "arithmetic of truth values"),
    ("y = -(k > 0)", "arithmetic of truth values"),
    ("y = k and k + 1", "'and' and 'or' of numbers"),
    ("y = (k > 0) and k", "'and' and 'or' of numbers"),
    ("if x:\n  pass", "TypeError"),
    ("y = x and True", "TypeError"),
    ("y = x == x[1:]", "TypeError"),
    ("y = (k, 1) == (2, 1)", "TypeError"),
    ("y = k in (1, 2)", "a number is needed, not tuple"),
    ("y = 1 in (k, 2)", "TypeError"),
    ("y = k is True", "'is' of numbers or arrays"),
    ("y = k if k > 0 else x", "two values of different types"),
    ("y = k if k > 0 else None", "two values of different types"),
    ("y = x if k > 0 else n", "two values of different types"),
    ("y = (recursive if k > 0 else helper)(k)", "two values of different types"),
    ("y = recursive\ny = helper", "y0 becomes function"),
    ("y = 'a'\ny = 'b'", "y0 becomes str 'b', was str 'a'"),
    ("y = x\ny = n", "y0 becomes an array, was an array"),
    ("y = some(k)", "some has a result in some cases only"),
    ("y = 1 // 0", "ZeroDivisionError"),
    ("y = 1.0 / 0.0", "ZeroDivisionError"),
    ("x[0] = 2 ** 64", "18446744073709551616 is no int64"),
    ("y = k + 2 ** 63", "9223372036854775808 is no int64"),
    ("y = (-1) ** 0.5 + x[0]", "a number is needed, not complex"),
    ("y = 'text' + x[0]", "a number is needed, not str"),
    ("y = helper(1, 2)", "helper takes a"),
    ("y = helper()", "helper takes a"),
    ("y = helper(1, a=2)", "helper takes a"),
    ("y = helper(b=2)", "helper takes a"),
    ("y = Pair(1)", "TypeError"),
    ("y = math.log(x[0], 2.0)", "log of 2 numbers"),
    ("y = math.atan2(x[0])", "atan2 of 1 numbers"),
    ("y = round(x[0], 2)", "round of float, int 2"),
    ("y = max(x)", "the largest or smallest of other values"),
    ("y = min()", "the largest or smallest of other values"),
    ("y = np.maximum(k, 1, x)", "the largest or smallest of other values"),
    ("y = min(k, 1, key=abs)", "a call of min"),
    ("y = int(x)", "a number is needed|TypeError"),
    ("y = abs(x)", "TypeError"),
    ("y = float('text')", "ValueError"),
    ("y = generator.random(3)", "random numbers with arguments"),
    ("y = generator.normal()", "AttributeError"),
    ("prefetch(x)", "prefetch takes array, k"),
    ("y = single[0]", "an array of float32"),
    ("single[0] = 1.0", "an array of float32"),
    ("y = swapped[0]", "an array of >f8"),
    ("y = complex_[0]", "an array of complex128"),
    ("y = SINGLE[0]", "an array of float32"),
    ("y = point.size + len(point)", "TypeError"),
    ("y = unread(k)", "the source of unread cannot be read"),
    ("y = empty()", "ValueError"),
]
HELPERS = """
TABLE, TEXTS, SINGLE = np.arange(3.0), {1: 2}, np.zeros(2, np.float32)

def recursive(k):
    return recursive(k - 1) if k > 0 else 0

def growing(k):
    return growing((k, k))

def mutual(k):
    return other(k)

def other(k):
    return mutual(k)

def helper(a):
    return a

def some(k):
    if k > 0:
        return k

def outer():
    def empty():
        return cell
    return empty
    cell = 1

empty = outer()

def function(x, n, g, u, k, generator, single, swapped, complex_, point):
    y = k
"""


def arguments_of_all_types():
    x, n, g, u = np.zeros(3), np.zeros(3, int), np.zeros((2, 2)), np.zeros(2, np.uint64)
    others = np.zeros(2, np.float32), np.zeros(2, ">f8"), np.zeros(2, complex), np.zeros(())
    return x, n, g, u, 3, np.random.default_rng(1), *others


def without_source():
    names = {}
    exec("def unread(k):\n    return k", names)
    return names["unread"]


@pytest.mark.parametrize(("lines", "reason"), REFUSED, ids=[lines for lines, _ in REFUSED])
def test_refusals(lines, reason):
    body = textwrap.indent(lines.replace("y =", "y0 =") if "y =" in lines else lines, "    ")
    function = made(
        HELPERS.strip() + "\n" + body + "\n", unread=without_source(), prefetch=prefetch
    )
    with pytest.raises(CannotCompileError, match=rf"^<string>:\d+: ({reason})"):
        MachineCode(function, {}).prepared(*arguments_of_all_types())


def test_refusals_name_the_line():
    text = "\n\ndef helper(a):\n    b = a\n    return b[\n        0.5\n    ]\n\ndef function(x):\n    helper(x)\n"
    with pytest.raises(CannotCompileError, match="^<string>:5: "):
        MachineCode(made(text), {}).prepared(np.zeros(1))


@pytest.mark.parametrize(
    ("function", "arguments", "results"),
    [
        (doubled, (), 0),
        (doubled, (1.0, 2.0), 0),
        (doubled, ("text",), 0),
        (doubled, (None,), 0),
        (doubled, (1j,), 0),
        (doubled, (1.0,), 2),
        (uses_placeholder, (np.zeros(2),), 1),
        (lambda x: x, (1.0,), 0),
        (without_source(), (1.0,), 0),
    ],
)
def test_refusals_of_arguments_and_results(function, arguments, results):
    with pytest.raises(CannotCompileError):
        MachineCode(function, {placeholder: doubled}, results).prepared(*arguments)


def test_deep_expressions():
    x = np.ones(1)
    assert_same(made(f"def function(x):\n    x[0] = {' + '.join(['x[0]'] * 100)}"), x)
    with pytest.raises(CannotCompileError, match="too deep"):
        MachineCode(made(f"def function(x):\n    x[0] = {'-' * 2000}x[0]"), {}).prepared(x)


# Platforms

TRIPLES = {
    "x86_64-unknown-linux-gnu": b"\x7fELF",
    "aarch64-unknown-linux-gnu": b"\x7fELF",
    "arm64-apple-darwin": b"\xcf\xfa\xed\xfe",
    "x86_64-apple-darwin": b"\xcf\xfa\xed\xfe",
    "x86_64-pc-windows-msvc": b"\x64\x86",
}
C_LIBRARY = {"memset", "memcpy", "memmove", "floor", "ceil", "trunc", "rint", "sincos"}


def undefined_symbols(code):
    """Return the names of the undefined symbols of an ELF file of 64 bits."""
    (at,), (size, count) = (
        struct.unpack_from("<Q", code, 0x28),
        struct.unpack_from("<HH", code, 0x3A),
    )
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, at + size * k) for k in range(count)]
    (table,) = (section for section in sections if section[1] == 2)
    names, found = sections[table[6]][4], set()
    for place in range(table[4], table[4] + table[5], 24):
        name, _, _, section = struct.unpack_from("<IBBH", code, place)
        if section == 0 and name:
            found.add(code[names + name : code.index(b"\0", names + name)].decode())
    return found


@pytest.fixture(scope="module")
def iterations():
    """Return the text of the iterations of CFR+, and the symbols it needs."""
    found, compiled = [], _machine_code.compile_function
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_machine_code, "_ENTRIES", {})
        patch.setattr(_machine_code, "_folders", list)
        patch.setattr(_machine_code, "_write", lambda *_: None)
        patch.setattr(
            _machine_code,
            "compile_function",
            lambda *given: (found.append(given), compiled(*given))[1],
        )
        started(games.kuhn_poker(), RULES["rm+"], engine="compiled").run(2)
    (given,) = (given for given in found if given[0] is _iteration.iterate)
    return translate(*given)


@pytest.mark.parametrize("triple", TRIPLES)
def test_object_code_for_other_platforms(triple, iterations):
    text, symbols = iterations
    code = object_code(text, triple=triple)
    assert code.startswith(TRIPLES[triple])
    if b"ELF" in TRIPLES[triple]:
        assert undefined_symbols(code) <= C_LIBRARY | set(symbols)


def test_every_function_of_the_c_library_is_a_symbol():
    x, y = pairs(FLOATS, FLOATS)
    names = [f"np.{name}(a)" for name in LIBRARY] + ["a % b", "a ** b", "np.rint(a)"]
    text, symbols = translate(table(names), {}, (x, y, np.zeros((len(names), x.size))))
    for triple in "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu":
        assert undefined_symbols(object_code(text, triple=triple)) <= C_LIBRARY | set(symbols)
    assert {"exp", "pow", "fmod"} <= set(symbols)


def test_large_constants():
    large = np.random.default_rng(1).normal(size=40_000)
    function = made("""
        def function(x, k):
            for i in range(x.size):
                x[i] = LARGE[k[i]] * 1.1 + LARGE[-1 - k[i]] + WIDE[i]
    """, LARGE=large, WIDE=np.array([2**64 - 1, 5, 2**63], np.uint64))  # fmt: skip
    assert_same(function, np.zeros(3), np.array([0, 39_999, -7]))
