"""Vectors and calls by address: the same bits as Python, in which a vector has one number."""

import numpy as np
import pytest
import test_compiler

from regretkit._compiler import LANES, CannotCompileError, lanes, translate, width
from regretkit._machine_code import MachineCode

EXPRESSIONS = """
x + y * 2.0
x - y / 3
-x
x / y
abs(x)
math.sqrt(x)
math.exp(x)
math.floor(x)
math.pow(x, y)
max(x, y)
min(x, 0.5)
x if x > y else y
1.0 if x <= 0.5 and y >= 0.2 else 0.0
1.0 if x < 0.3 or not y < 0.4 else 2.0
float(x > y)
x if x == y else (y if y != 0.0 else 3.0)
k + x
s * x
(x if s > 1.0 else y)
0.0 if math.isnan(x) else 1.0
1.0 if math.isfinite(y / (x - x)) else 0.0
"""
WRITTEN = """
def compute(count, k, s, left, right, result):
    for i in range(0, count, width()):
        x, y = lanes(left, i, 1, width())[0], lanes(right, i, 1, width())[0]
        lanes(result, i, 1, width())[0] = {expression}
"""


def made(text):
    return test_compiler.made(text, lanes=lanes, width=width)


def numbers(seed):
    generator = np.random.default_rng(seed)
    return generator.choice([0.0, 1.0, 0.25, 0.5, *generator.random(20)], 12)


def in_lanes(function, arguments):
    text, _ = translate(function, arguments)
    return f"<{LANES} x double>" in text


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_expressions(expression):
    function = made(WRITTEN.format(expression=expression))
    left, right, found, expected = numbers(1), numbers(2), np.zeros(12), np.zeros(12)
    arguments = 12, 3, 1.5, left, right
    MachineCode(function)(*arguments, found)
    with np.errstate(all="ignore"):
        function(*arguments, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert in_lanes(function, (*arguments, found))


def test_sums_over_strides_and_the_rest_of_a_vector():
    text = """
def compute(count, stride, table, sums):
    for i in range(0, count, width()):
        total = 0.0
        own = lanes(table, i, stride, width())
        for k in range(5):
            total += own[k]
            own[k] = 0.0 if total > 2.0 else own[k]
        lanes(sums, i, 1, width())[0] = total
"""
    function = made(text)
    table, sums = np.random.default_rng(3).random(5 * 8), np.zeros(8)
    other, expected = table.copy(), np.zeros(8)
    MachineCode(function)(6, 8, table, sums)
    function(8, 8, other, expected)
    np.testing.assert_array_equal(sums, expected)
    np.testing.assert_array_equal(table, other)


@pytest.mark.parametrize(
    "line", ["if own[0] > 1.0: own[0] = 2.0", "while own[0] < 1.0: own[0] += 1.0"]
)
def test_where_lanes_would_branch_there_is_one_at_a_time(line):
    text = f"""
def compute(count, table):
    for i in range(0, count, width()):
        own = lanes(table, i, 1, width())
        {line}
"""
    function = made(text)
    table = np.random.default_rng(3).random(7) + 0.5
    other = table.copy()
    MachineCode(function)(7, table)
    function(7, other)
    np.testing.assert_array_equal(table, other)
    assert not in_lanes(function, (7, table))


def test_a_vector_is_no_index():
    text = """
def compute(table, result):
    result[0] = result[int(lanes(table, 0, 1, width())[0])]
"""
    function = made(text)
    assert not in_lanes(function, (np.zeros(4), np.zeros(4)))


def test_calls_by_address():
    inner = made("def compute(k, s, x, y):\n    x[k] = s * y[k, 1]\n")
    outer = made("def compute(functions, k, x, y):\n    functions[k](k, 2.5, x, y)\n")
    x, y = np.zeros(3), np.arange(6.0).reshape(3, 2)
    addresses = np.array([0, MachineCode(inner).address(1, 1.0, x, y)])
    MachineCode(outer)(addresses, 1, x, y)
    assert x.tolist() == [0.0, 7.5, 0.0]
    outer([None, inner], 1, x, y)
    assert x.tolist() == [0.0, 7.5, 0.0]


def test_a_part_of_an_array_has_no_address_to_pass():
    outer = made("def compute(functions, x):\n    functions[0](x[1:])\n")
    with pytest.raises(CannotCompileError, match="an array that is not an argument"):
        translate(outer, [np.zeros(1, np.int64), np.zeros(3)])


def test_tuples_are_made_of_constants():
    text = """
def compute(table, result):
    rows = tuple(table[k] if whole else table[k][1:] for whole, k in ((True, 1), (False, 0)))
    result[0] = rows[0][0] + rows[1][0]
"""
    function = made(text)
    result = np.zeros(1)
    MachineCode(function)(np.arange(6.0).reshape(2, 3), result)
    assert result[0] == 3.0 + 1.0
