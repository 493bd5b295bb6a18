"""Small games in Gambit's formats after accidents, and a process of its own that reads many.

$ python tests/helpers/mutated_games.py FIRST LAST
"""

import json
import random
import re
import resource
import sys
import tempfile
import time
from pathlib import Path

from assert_games import assert_same_game

import regretkit as rk
from regretkit.games import (
    kuhn_poker,
    load,
    read_efg,
    read_nfg,
    traffic_light,
    write_efg,
    write_nfg,
)

COMMENTED = """EFG 2 D "Commented" { "A" "B" } // players
"A description"
p "" 1 -3 "s" { "a" "b" } 2 "toll" { -1/2, .5 }
c "" 1 { "l" 1/3 "r" 2/3 } /* inner outcome */ 0
t "" 1 "" { 1.5e2, -7 } t "" 1
p "" 1 0 "\\"q\\"" { "x" "" } 0 t "" 1 t "" 0
"""
OUTCOMES = (
    'NFG 1 R "" { "A" "B" } { { "u" "" } { "l" "r" } } "" { { "" 1, 2 } { "w" 3 4 } } 1 2 0 1'
)
EXAMPLES = Path(__file__).parents[2] / "examples" / "games"
GAMES = [
    *(path.read_text() for path in sorted(EXAMPLES.iterdir())),
    *(COMMENTED, OUTCOMES, write_efg(kuhn_poker()), write_nfg(traffic_light())),
]
TOKEN = re.compile(r'"[^"]*"|[{},]|[^\s{},"]+|\s+')
NUMBER = re.compile(r"[-+.\d]")
EXTREMES = [
    *("0", "-0", "-1", "2", "1e100", "-1e100", "1e101", "1e-400", "1e999999999", "nan", "-inf"),
    *("1/0", "0/0", "1/3", "1//3", "1e", "2147483648", "-9223372036854775809", "9" * 400),
    *("9" * 5_000, "1/" + "7" * 5_000, "." + "3" * 5_000, "\N{ARABIC-INDIC DIGIT ONE}", "1_0"),
]


def mutant(seed: int) -> bytes:
    """Return one of the games after one to three accidents."""
    draw = random.Random(seed)
    data = draw.choice(GAMES).encode()
    for _ in range(draw.randint(1, 3)):
        data = _accident(draw, data)
    return data


PIECES = ['"', "{", "}", "\\", "//", "/*", "*/", "\ufeff", "\0"]


def _accident(draw: random.Random, data: bytes) -> bytes:
    if not data or draw.random() < 0.25:
        changed = bytearray(data)
        place = draw.randrange(len(data) + 1)
        changed[place : place + 1] = bytes([draw.randrange(256)])
        return bytes(changed)
    tokens = TOKEN.findall(data.decode(errors="replace"))
    current, present = draw.randrange(len(tokens)), draw.randrange(len(tokens))
    numbers = [place for place, token in enumerate(tokens) if NUMBER.match(token)]
    kinds = ["drop", "double", "swap", "extreme", "extreme"]
    kind = draw.choice([*3 * kinds, "cut", "insert"])  # these two are nearly always refused
    if kind == "drop":
        del tokens[current]
    elif kind == "double":
        tokens[current] += " " + tokens[current]
    elif kind == "swap":
        tokens[current], tokens[present] = tokens[present], tokens[current]
    elif kind == "cut":
        del tokens[current:]
    elif kind == "insert":
        tokens.insert(current, draw.choice(PIECES))
    elif numbers:
        tokens[draw.choice(numbers)] = draw.choice(EXTREMES)
    return "".join(tokens).encode()


def check(seed: int, path: Path) -> bool:
    """Check that a mutant is refused properly, or is a game that is read again when written."""
    path.write_bytes(mutant(seed))
    try:
        game = load(path)
    except ValueError as error:
        refusal = str(error)
    else:
        refusal = None
    if refusal is not None:
        assert re.match(rf"{re.escape(str(path))}, line \d+, column \d+: .", refusal), seed
        return False
    if isinstance(game, rk.NormalFormGame):
        assert_same_game(read_nfg(write_nfg(game)), game)
    else:
        assert_same_game(read_efg(write_efg(game)), game)
    return True


def peak_memory() -> int:
    """Return the most bytes that this process held so far."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(first: int, last: int) -> None:
    read, slowest, warm = 0, 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mutant.efg")
        for seed in range(first, last):
            start = time.perf_counter()
            read += check(seed, path)
            slowest = max(slowest, time.perf_counter() - start)
            if seed == first + 2_000:
                warm = peak_memory()
    print(json.dumps({"read": read, "slowest": slowest, "growth": peak_memory() - warm}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
