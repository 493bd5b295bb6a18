"""The compiler of kernels: functions as machine code compute what they compute in Python."""

import math
import platform
import re
import textwrap
from types import FunctionType
from typing import NamedTuple

import numpy as np
import pytest

from regretkit import _machine_code
from regretkit._compiler import (
    CannotCompileError,
    ObjectCode,
    object_code,
    prefetch,
    translate,
)
from regretkit._machine_code import MachineCode

HUGE = np.iinfo(np.int64)
FLOATS = "0.0 -0.0 1 -1 0.5 2.5 -3.5 7 1e-310 -5e-324 1e300 -1e300 3e18 inf -inf nan"
FLOATS = np.array(FLOATS.split(), float)
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
    names = {"np": np, "math": math, "Pair": Pair, **names}
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


def assert_same(function, *arguments, results=0, run=None):
    """Assert that a function returns and writes the same in Python and as machine code."""
    code = run or MachineCode(function, results)
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

COMPARED = "a < b; a <= b; a > b; a >= b; a == b; a != b"
TESTED = f"""
{COMPARED}; not a; a < b < a; b >= a != b == b; a < b and b > a; a < b or a == b or b != b
not (a < b and (a == a or b == b)); bool(a) and not bool(b); (a < b) & (b != a) | (a == b)
(a < b) ^ (a > b); (a < b) == (b > a); a is None or a is not None
"""
NUMBERS = """
a + b; a - b; a * b; a // b; a % b; min(a, b); max(a, b); max(a, b, a); abs(a); +a; -a
a if a < b else b; a if b else b; a if not a else b
"""
BITS = "a & b; a | b; a ^ b; a << b; a >> b; ~a"
CASES = {
    "floats": (FLOATS, FLOATS, float, f"""
        {NUMBERS}; a / b; np.sqrt(a); np.fabs(a); float(a); np.copysign(a, b); np.rint(a); a // 0.5
        -7.5 % b"""),
    "ints": (INTS, INTS, int, f"""
        {NUMBERS}; {BITS}; a // 3; a % 8; a // -1; a % -5; a // 0; a % 0
        9 // b; a << 3; a >> 63; a >> 64; a << 70; a << -1; a >> -1; int(a); round(a); np.int64(a)
        np.uint32(a)"""),
    "ints to floats": (INTS, INTS, float, """
        a / b; float(a) + 0.5; a * 0.5; 2.0 - a; a // 2.5; a % 2.5; max(a, 0.5); np.float64(a)
        0.5 if a < b else a; math.fabs(a)"""),
    "ints and floats": (INTS, FLOATS, float, """
        a + b; a - b; a * b; a // b; a % b; a / b; b - a; b // a; b % a; min(a, b); max(a, b)"""),
    "uint64": (UNSIGNED, UNSIGNED, np.uint64, f"""
        {NUMBERS}; {BITS}; a // np.uint64(3); a % np.uint64(8); a >> np.uint64(63)
        a << np.uint64(64); np.uint64(a); np.uint64(3) * np.uint64(5) + a"""),
    "uint64 and floats": (UNSIGNED, FLOATS, float, "a + b; a * b; a / b; float(a); b - a"),
    "truth and ints": (TRUTHS, INTS, int, "a + b; a * b; b - a; int(a); b << a; b if a else a"),
    "truth and floats": (TRUTHS, FLOATS, float, "a + b; a * b; b - a; float(a); b / a; a / b"),
    "tests of floats": (FLOATS, FLOATS, bool, f"""
        {TESTED}; math.isnan(b) or math.isfinite(b) or math.isinf(b)"""),
    "tests of ints": (INTS, INTS, bool, TESTED),
    "tests of uint64": (UNSIGNED, UNSIGNED, bool, TESTED),
    "tests of truth": (TRUTHS, TRUTHS, bool, f"{TESTED}; a & b; a | b; a ^ b"),
    "tests of ints and floats": (INTS, FLOATS, bool, COMPARED),
    "tests of floats and truth": (FLOATS, TRUTHS, bool, COMPARED),
}  # fmt: skip


def case(name):
    """Return a function for the expressions of a case, and its arrays."""
    left, right, kind, text = CASES[name]
    expressions = [part.strip() for part in re.split("[;\n]", text) if part.strip()]
    x, y = pairs(left, right)
    return table(expressions), (x, y, np.zeros((len(expressions), x.size), kind))


@pytest.mark.parametrize("name", CASES)
def test_operators(name):
    function, arrays = case(name)
    assert_same(function, *arrays)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="not this processor")
@pytest.mark.parametrize("name", ["floats", "ints", "uint64", "tests of floats"])
def test_operators_on_the_oldest_processors(name):
    function, arrays = case(name)
    text, symbols = translate(function, arrays)
    code = ObjectCode(object_code(text, cpu="x86-64"), symbols)
    entry = _machine_code._link(code, [*map(id, arrays)])
    assert_same(function, *arrays, run=lambda *arrays: entry(*map(id, arrays)))


def test_assignments_with_operators():
    floats = ["+= b", "-= b", "*= b", "/= b", "//= b", "%= b"]
    ints = [*floats[:3], *floats[4:], "&= b", "|= b", "^= b", "<<= b", ">>= b"]
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
    code, out = MachineCode(table(["int(a)"])), np.ones((1, 4), int)
    x = np.array([np.nan, np.inf, -np.inf, 1e300])
    code(x, x, out)
    assert out.tolist() == [[0, HUGE.max, HUGE.min, HUGE.max]]


LIBRARY = "exp log log1p expm1 log2 log10 sin cos tan tanh sinh cosh hypot fmod"


def test_functions_of_the_c_library():
    x, y = pairs(FLOATS, FLOATS)
    names = [f"np.{name}(a)" for name in LIBRARY.split()[:-2]]
    names += [
        "np.hypot(a, b)",
        "np.fmod(a, b)",
        "math.pow(min(abs(a), 9.0) + 0.5, min(max(b, -9.0), 9.0))",
        "np.pi * math.e + math.exp(min(a, 1.0))",
    ]
    python, compiled = (np.zeros((len(names), x.size)) for _ in range(2))
    function = table(names)
    with np.errstate(all="ignore"):
        function(x, y, python)
    MachineCode(function)(x, y, compiled)
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
    MachineCode(function)(big, ints, narrow, wide, truths)
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
            y[0, 0], y[0, -1], y[0][1] = c, a, b + y.size
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
        LIMIT, WEIGHTS = 2.5, (3, 2, (1.0, 0.5))

        def affine(x, by, plus):
            x = x * by
            return x + plus

        def scaled(by):
            def inner(x, k):
                return x * by + WEIGHTS[2][k]
            inner.source = None
            return inner

        def apply(function, x, k):
            return function(x, k)

        def weigh(x, k):
            return x * (k + WEIGHTS[0])

        def function(x, n, out):
            out[0] = affine(x[0], 2.0, LIMIT)
            out[1] = affine(x[1], 3, plus=x[0])
            out[2] = affine(x=2, by=n[0], plus=LIMIT)
            out[3] = apply(weigh, x[2], n[0] % 3) + weigh(x=x[1], k=-1)
            out[7] = x[-1] if LIMIT < 3 else LIMIT.nothing
        """,
    "wrapping": """
        def function(x, n, out):
            h = np.int64(n[0] * 0 + 1)
            for k in range(len(out)):
                h = h * 31 + abs(n[k % 6]) * 1000003
                out[k] = h % 1009 + (h >> 3) % 77 + h % 16 + (h & 255) // 7 + (1 if h < 0 else 2)
        """,
    "constant ranges": """
        def total(over, x):
            found = 0
            for k in over:
                found = (found + 0.5) * k
            return found

        def product(over, x):
            found = 0
            for k in over:
                found += k * x[0]
            return found

        def function(x, n, out):
            out[0] = total(range(3), x) + total(range(1, 4), x) + total(range(n[0]), x)
            out[1] = product(range(3), x) - product(range(1, 9), x)
            for size in (1, 2.5, True, x[0]):
                if size > 2:
                    continue
                last = size
                out[2] += last
            out[3] = last
        """,
    "names of a generator are its own": """
        def function(x, n, out):
            k, kept = 2, tuple(x[k] for k in (0, 1))
            out[0] = kept[0] - kept[1] + x[k]
            for i in range(3):
                pair = tuple((x[i], w) for i, w in ((4, 1), (5, 2)))
                out[1 + i] = pair[0][0] + pair[1][1] * x[i]
        """,
    "several results": """
        def power(x, k, rows):
            if k == 0:
                return 1, x
            result = 1
            for _ in range(k):
                result = result * x
            return result, rows[0] + rows[-1]

        def note(out, value):
            out[8] += value

        def nothing():
            pass

        def function(x, n, out):
            for k in range(5):
                value, other = power(x[k], k, x) if k != 3 else power(2.5, k, x[1:])
                out[k] = value * other
            out[5], out[6] = power(3, 4, n)
            late = x[0] < -100.0 and power(1, 2, x)[0] > 0
            out[7] = power(x[0], 2, n)[0] if late else power(x[1], 2, n)[1]
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
    assert MachineCode(made("def function(x):\n    return x[0]"), 1)(np.arange(5, 9)) == 5


def doubled(x):
    return x * 2.0


def doubles(x):
    prefetch(x, 1)
    for k in range(x.size):
        x[k] = doubled(x[k])


def raises(x):
    raise ValueError


def test_functions_with_a_file():
    x = np.arange(4.0)
    MachineCode(doubles)(x)
    assert x.tolist() == [0.0, 2.0, 4.0, 6.0]
    with pytest.raises(CannotCompileError, match=r"test_compiler.py:\d+: Raise"):
        MachineCode(raises).prepared(x)


def test_random_numbers():
    function = made("""
        def function(generator, x):
            for k in range(x.size):
                x[k] = generator.random() if k % 3 else generator.random() + generator.random()
    """)
    for bits in np.random.PCG64, np.random.MT19937:
        generator, x = np.random.Generator(bits(3)), np.zeros(50)
        twin = copied(generator)
        MachineCode(function)(generator, x)
        expected = np.zeros(50)
        function(twin, expected)
        assert content(x) == content(expected)
        assert generator.random() == twin.random()
