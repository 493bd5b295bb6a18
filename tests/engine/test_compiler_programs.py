"""Random functions as machine code compute what they compute in Python."""

import random
import re
import textwrap

import numpy as np
import pytest
from test_compiler import FLOATS, INTS, assert_same, made

from regretkit import _machine_code

# The numbers i are whole, f floats, and m whole or floats: these occur beside floats only, as 0 and
# 0.0 differ when they are negated. What is whole in Python has no upper limit: k occurs at the
# right only, beside a number of NumPy. The first choice ends a recursion.
GRAMMAR = {
    "i": "i0; i1; i2; n[<at7>]",
    "whole": """<i>; (<i> <any_op> <right>); (<whole> <op> <right>); np.int64(<least>(<i>, <right>))
        np.int64(max(-9.0, min(9.0, <real>))); (<i> if <test> else <i>); <sign>(<i>); ~(<i>)
        helper_i(<i>, <i>, n)""",
    "right": "<i>; <whole>; k0; k1; 3; -7; 70; 0; 1",
    "f": "f0; f1; f2; x[<at8>]; g[<at3>, <at5>]; g[<at3>][<at5>]",
    "real": """<f>; (<f> <real_op> <real>); (<real> <op> <float>); np.float64(<least>(<f>, <real>))
        (<f> if <test> else <f>); <sign>(<f>); np.sqrt(<f>); np.floor(<f>)
        helper_f(<f>, <whole>, g[<at3>])""",
    "float": "<f>; <real>; m0; m1; 0.5; -3.0; k0",
    "test": """i0 <compare> i1; <whole> <compare> <whole>; <real> <compare> <float>
        i0 <compare> i1 <compare> i2; (<test>) and not (<test>); (<test>) or (<test>)""",
    "at3": "0; -1; 2; -3; <whole> % 3; <whole> % 3 - 3",
    "at5": "1; -1; 4; -5; <whole> % 5; <whole> % 5 - 5",
    "at7": "2; -1; 6; -7; <whole> % 7; <whole> % 7 - 7",
    "at8": "3; -1; 7; -8; <whole> % 8; <whole> % 8 - 8",
    "any_op": "+; -; *; //; %; &; |; ^; <<; >>",
    "real_op": "+; -; *; /; //; %",
    "op": "+; -; *",
    "least": "min; max",
    "sign": "-; abs",
    "compare": "<; <=; >; >=; ==; !=",
    "over": "range(3); range(2, -2, -1); range(<whole> % 4); range(-3, 3, 2)",
    "leave": "break; return i0, f0",
    "simple": """i<0> = <whole>; f<0> = <real>; m0 = <real>; m1 = <whole> % 9; m0 = k1
        x[<at8>] = <real>; g[<at3>, <at5>] = <real>; n[<at7>] = <whole>; f0, f1 = x[:2]
        f0, f1 = f1, f0; i0, i2, f2 = i2, i0, f0; f<0> <op>= <real>; i<0> <any_op>= <whole>
        x[<at8>] <op>= <real>; g[<at3>][-2] <real_op>= <real>; n[<at7>] <any_op>= <whole>""",
    "0": "0; 1; 2",
    "statement": r"""<simple>; if <test>:\n<block>; if <test>:\n<block>\nelse:\n<block>
        if <test>:\n<block>\nelif <test>:\n<block>\nelse:\n<block>
        for k<0> in <over>:\n<block>; if <test>:\n    return i1, f1
        <c> = 0\nwhile <c> < 3 or <test>:\n<block>\n    <c> += 1\n    if <c> > 2:\n        <leave>
        for k0 in <over>:\n<block>\n    if <test>:\n        <leave>""",
}
CHOICES = {name: re.split(r"; |\n\s*", text) for name, text in GRAMMAR.items()}

PROGRAM = """
def helper_i(a, b, n):
    for k in range(b % 5):
        if n[k] > a:
            return a * 3 - k
        a += n[k]
    return a ^ b

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
    m0, m1, k0, k1, k2 = n[3] % 4, n[4] % 4, 1, 2, 3
{body}
    return i2, f2

def function(n, x, g, last):
    last[0], last[1] = program(n, x, g, last)
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(_machine_code.FOLDER, str(tmp_path))


def written(generator, name, level=0, depth=0):
    """Return random text for a name of the grammar, within ``level`` blocks."""
    if name == "block":
        names = ["statement" if level < 2 else "simple"] * generator.randrange(1, 3)
        lines = [written(generator, inner, level + 1) for inner in names]
        return textwrap.indent("\n".join(lines), "    ")
    choices = CHOICES[name]
    chosen = choices[0] if depth > 2 else generator.choice(choices)
    chosen = chosen.replace(r"\n", "\n").replace("<c>", f"c{level}")
    return re.sub(r"<(\w+)>", lambda m: written(generator, m[1], level, depth + 1), chosen)


def assert_random_program(seed):
    generator, numbers = random.Random(seed), np.random.default_rng(seed)
    body = "\n".join(written(generator, "statement") for _ in range(generator.randrange(3, 6)))
    text = PROGRAM.format(body=textwrap.indent(body, "    "))
    n, x = numbers.choice([*INTS, 3, 4, -5], 7), numbers.choice([*FLOATS, 1.5, -2.25], 8)
    g = numbers.normal(size=(3, 5))
    try:
        assert_same(made(text), n, x, g if seed % 3 else g[:, ::-1], np.zeros(2))
    except Exception as error:
        raise AssertionError(f"seed {seed}\n{text}\n{error}") from error


DEEP = [pytest.param(batch, marks=pytest.mark.deep) for batch in range(2, 10)]


@pytest.mark.parametrize("batch", [0, 1, *DEEP])
def test_random_programs(batch):
    for seed in range(20 * batch, 20 * batch + 20):
        assert_random_program(seed)
