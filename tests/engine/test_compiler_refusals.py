"""The compiler refuses what is not in its subset, and makes object code for other platforms."""

import os
import platform
import re
import struct
import textwrap
from functools import partial

import numpy as np
import pytest
from engine_cases import RULES, assert_same_bits, started
from test_compiler import (
    FLOATS,
    LIBRARY,
    assert_same,
    doubled,
    doubles,
    made,
    pairs,
    table,
)

from regretkit import _compiler, _machine_code, games
from regretkit._compiler import CannotCompileError, object_code, prefetch, translate
from regretkit._machine_code import MachineCode
from regretkit.engine.kernels import _iteration


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(_machine_code.FOLDER, str(tmp_path))


REFUSED = r"""
try:\n  x[0] = 1.0\nexcept ValueError:\n  pass  -> Try is not in the subset
with x:\n  pass  -> With is not in the subset
raise ValueError  -> Raise is not in the subset
assert x[0] > 0  -> Assert is not in the subset
del x  -> Delete is not in the subset
import math  -> Import is not in the subset
def inner(): pass  -> FunctionDef is not in the subset
global name\nname = 1  -> Global is not in the subset
match k:\n  case 1: pass  -> Match is not in the subset
for a in x:\n  pass\nelse:\n  pass  -> else after a loop
while k > 0:\n  pass\nelse:\n  pass  -> else after a loop
yield x[0]  -> '.*' is not in the subset
y = [a for a in x]  -> '.*' is not in the subset
y = sum(a for a in x)  -> '.*' is not in the subset
y = [1, 2]  -> '.*' is not in the subset
y = {1: 2}  -> '.*' is not in the subset
y = {1, 2}  -> '.*' is not in the subset
y = f'{k}'  -> .* is not in the subset
y = '%d' % k  -> a number is needed, not str
y = lambda: 0  -> '.*' is not in the subset
if (y := k) > 0:\n  pass  -> '.*' is not in the subset
y = (*n.shape, 1)  -> '.*' is not in the subset
max(*n.shape, 1)  -> a starred argument
helper(**{})  -> '.*' is not in the subset
y = np.zeros(3)  -> a call of zeros
y = x.sum()  -> 'sum' of an array
y = x.T  -> 'T' of an array
y = k.real  -> 'real' of integer
y = k.kind  -> 'kind' of integer
print(k)  -> a call of print
y = {}.get  -> '.*' is not in the subset
y = dict()  -> a call of dict
y = isinstance(k, int)  -> isinstance of other values than tuples
y = recursive(k)  -> recursive calls itself
y = growing(k)  -> growing calls itself
y = mutual(k)  -> mutual calls itself
y = missing  -> NameError: 'missing' has no value yet
y = late\nlate = 1  -> late has no value yet
late += 1  -> late has no value yet
y = math.nothing  -> AttributeError
y = x[0.5]  -> a whole number is needed, not a float
y = x[x[0]]  -> a whole number is needed, not a float
y = x[k > 0]  -> a truth value as an index
y = x[None]  -> a number is needed, not NoneType
y = x[0, 0]  -> 2 indices of an array of 1 dimensions
y = x[0:0.5]  -> a whole number is needed, not a float
y = x[x[0]:]  -> a whole number is needed, not a float
y = x[::2]  -> a slice with a step
x[1:] = 0.0  -> '.*' is not in the subset
x = 1.0\nx[0] = 1.0  -> x becomes float 1.0, was an array
g[0] = 1.0  -> an assignment to something else than an entry
g[0] += 1.0  -> TypeError
TABLE[0] = 1.0  -> an assignment to an entry of a constant
row = TABLE[1:]\nrow[-1] += 1.0  -> an assignment to an entry of a constant
pair = (k, 1)\npair[0] = 2  -> an assignment to something else than an entry
helper.name = 2  -> an assignment to something else than
y = (k, 1)[k]  -> an entry of tuple .* that is not constant
y = (k, 1)[2]  -> IndexError
y = (k, 1)[k:]  -> a slice of a tuple whose ends are not constant
y = (k, 1)[0.5:]  -> TypeError
a, b = k, 1, 2  -> 2 names for tuple
a, b, c = range(k)  -> 3 names for Range
y = range(k)[0]  -> an entry of Range
y = range(k)[1:]  -> a slice of Range
y = len(range(k))  -> the length of a range
y = len(k)  -> TypeError
for a in TEXTS:\n  pass  -> the constant dict
for a in k:\n  pass  -> a loop over integer
for a in range(0, 9, k):\n  pass  -> a range whose step is not constant
for a in range(0, k, 0):\n  pass  -> a range whose step is not constant
for a in range(x[0]):\n  pass  -> a whole number is needed, not a float
r = range(k)\nr = range(k + 1)\nfor a in r:\n  pass  -> a loop over Range
y = u[0] + k  -> uint64 together with int64
y = u[0] < k  -> uint64 together with int64
y = u[0]\ny = k  -> y0 becomes integer, was unsigned
y = x[0] & k  -> the operator BitAnd of floats
y = ~x[0]  -> the operator Invert of floats
y = x @ x  -> the operator MatMult
y = x + x  -> TypeError
y = x[0] + x  -> a number is needed, not an array
y = -x  -> TypeError
y = k ** k  -> a power of whole numbers whose exponent is not constant
y = (k > 0) + (k > 1)  -> arithmetic of truth values
y = -(k > 0)  -> arithmetic of truth values
y = k and k + 1  -> 'and' and 'or' of numbers
y = (k > 0) and k  -> 'and' and 'or' of numbers
if x:\n  pass  -> TypeError
y = x and True  -> TypeError
y = x == x[1:]  -> TypeError
y = (k, 1) == (2, 1)  -> TypeError
y = k in (1, 2)  -> a number is needed, not tuple
y = 1 in (k, 2)  -> TypeError
y = k is True  -> 'is' of numbers or arrays
y = k if k > 0 else x  -> two values of different types
y = k if k > 0 else None  -> two values of different types
y = x if k > 0 else n  -> two values of different types
y = (recursive if k > 0 else helper)(k)  -> two values of different types
y = recursive\ny = helper  -> y0 becomes function
y = 'a'\ny = 'b'  -> y0 becomes str 'b', was str 'a'
y = x\ny = n  -> y0 becomes an array, was an array
y = some(k)  -> some has a result in some cases only
y = 1 // 0  -> ZeroDivisionError
y = 1.0 / 0.0  -> ZeroDivisionError
x[0] = 2 ** 64  -> 18446744073709551616 is no int64
y = k + 2 ** 63  -> 9223372036854775808 is no int64
y = (-1) ** 0.5 + x[0]  -> a number is needed, not complex
y = 'text' + x[0]  -> a number is needed, not str
y = helper(1, 2)  -> helper takes a
y = helper()  -> helper takes a
y = helper(1, a=2)  -> helper takes a
y = helper(b=2)  -> helper takes a
y = Pair(1)  -> TypeError
y = math.log(x[0], 2.0)  -> log of 2 numbers
y = math.atan2(x[0])  -> atan2 of 1 numbers
y = round(x[0], 2)  -> round of float, int 2
y = max(x)  -> the largest or smallest of other values
y = min()  -> the largest or smallest of other values
y = np.maximum(k, 1, x)  -> the largest or smallest of other values
y = min(k, 1, key=abs)  -> a call of min
y = int(x)  -> a number is needed|TypeError
y = abs(x)  -> TypeError
y = float('text')  -> ValueError
y = generator.random(3)  -> random numbers with arguments
y = generator.normal()  -> AttributeError
prefetch(x)  -> prefetch takes array, k
y = single[0]  -> an array of float32
single[0] = 1.0  -> an array of float32
y = swapped[0]  -> an array of >f8
y = complex_[0]  -> an array of complex128
y = SINGLE[0]  -> an array of float32
y = point.size + len(point)  -> TypeError
y = unread(k)  -> the source of unread cannot be read
y = empty()  -> ValueError
"""
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


@pytest.mark.parametrize("case", REFUSED.strip().splitlines())
def test_refusals(case):
    lines, reason = case.split("  -> ")
    lines = re.sub(r"^y =", "y0 =", lines.replace(r"\n", "\n"), flags=re.MULTILINE)
    text = HELPERS.strip() + "\n" + textwrap.indent(lines, "    ") + "\n"
    function = made(text, unread=without_source(), prefetch=prefetch)
    with pytest.raises(CannotCompileError, match=rf"^<string>:\d+: {reason}"):
        MachineCode(function).prepared(*arguments_of_all_types())


def test_refusals_name_the_line():
    text = "\n\ndef helper(a):\n    b = a\n    return b[\n        0.5\n    ]\n\n"
    text += "def function(x):\n    helper(x)\n"
    with pytest.raises(CannotCompileError, match=r"^<string>:5: "):
        MachineCode(made(text)).prepared(np.zeros(1))


@pytest.mark.parametrize(
    ("function", "arguments", "results"),
    [
        (doubled, (), 0),
        (doubled, (1.0, 2.0), 0),
        (doubled, ("text",), 0),
        (doubled, (None,), 0),
        (doubled, (1j,), 0),
        (doubled, (1.0,), 2),
        (doubles, (np.zeros(2),), 1),
        (lambda x: x, (1.0,), 0),
        (without_source(), (1.0,), 0),
    ],
)
def test_refusals_of_arguments_and_results(function, arguments, results):
    with pytest.raises(CannotCompileError):
        MachineCode(function, results).prepared(*arguments)


def test_deep_expressions():
    x = np.ones(1)
    assert_same(made(f"def function(x):\n    x[0] = {' + '.join(['x[0]'] * 100)}"), x)
    with pytest.raises(CannotCompileError, match="too deep"):
        MachineCode(made(f"def function(x):\n    x[0] = {'-' * 2000}x[0]")).prepared(x)


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


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="not this processor")
def test_kernels_on_the_oldest_processors(monkeypatch):
    runs = []
    for cpu in "", "x86-64":
        monkeypatch.setattr(_machine_code, "_ENTRIES", {})
        monkeypatch.setattr(_compiler, "object_code", partial(object_code, cpu=cpu))
        monkeypatch.setenv(_machine_code.FOLDER, f"{os.environ[_machine_code.FOLDER]}-{cpu}")
        runs.append(started(games.leduc_poker(), RULES["prm+"], engine="compiled").run(100))
    assert_same_bits(*runs)


def test_every_function_of_the_c_library_is_a_symbol():
    x, y = pairs(FLOATS, FLOATS)
    names = [f"np.{name}(a)" for name in LIBRARY.split()] + ["a % b", "a ** b", "np.rint(a)"]
    text, symbols = translate(table(names), (x, y, np.zeros((len(names), x.size))))
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
