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
    made,
    pairs,
    table,
)

from regretkit import _compiler, _machine_code, games
from regretkit._compiler import CannotCompileError, object_code, translate
from regretkit._machine_code import MachineCode
from regretkit.engine.kernels import _iteration


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(_machine_code.FOLDER, str(tmp_path))


REFUSED = r"""
try:\n  x[0] = 1.0\nexcept ValueError:\n  pass  -> Try is not in the subset
def inner(): pass  -> FunctionDef is not in the subset
y = [a for a in x]  -> '.*' is not in the subset
y = (*n.shape, 1)  -> '.*' is not in the subset
y = np.zeros(3)  -> a call of
y = x[0] ** 2  -> .. of a variable
y = x.T  -> 'T' of an array
y = single[0]  -> an array of float32
y = u[0]\ny = 2.5  -> y0 becomes float, was unsigned
"""


@pytest.mark.parametrize("case", REFUSED.strip().splitlines())
def test_refusals_name_the_line(case):
    lines, reason = case.split("  -> ")
    lines = re.sub(r"^y =", "y0 =", lines.replace(r"\n", "\n"), flags=re.MULTILINE)
    text = "def function(x, n, u, single):\n" + textwrap.indent(lines, "    ") + "\n"
    arguments = np.zeros(3), np.zeros(3, int), np.zeros(2, np.uint64), np.zeros(2, np.float32)
    with pytest.raises(CannotCompileError, match=rf"^<string>:\d+: {reason}"):
        MachineCode(made(text)).prepared(*arguments)


@pytest.mark.parametrize("argument", ["text", 1j])
def test_refusals_of_arguments(argument):
    with pytest.raises(CannotCompileError):
        MachineCode(doubled).prepared(argument)


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
    names = [f"np.{name}(a)" for name in LIBRARY.split()[:-2]] + [
        "a % b",
        "math.pow(a, b)",
        "np.rint(a)",
    ]
    text, symbols = translate(table(names), (x, y, np.zeros((len(names), x.size))))
    for triple in "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu":
        assert undefined_symbols(object_code(text, triple=triple)) <= C_LIBRARY | set(symbols)
    assert {"exp", "pow", "fmod"} <= set(symbols)
