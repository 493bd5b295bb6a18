"""Bitwise comparison of this checkout with the first edition, the oracle.

Install the first edition beside this checkout, in an environment of its own:

    $ git worktree add ../first first-edition
    $ python -m venv ../first-environment
    $ ../first-environment/bin/pip install ../first
    $ python -m benchmarks oracle --first ../first-environment/bin/python
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from itertools import product
from statistics import median
from typing import Any, TypeAlias

import numpy as np
from attrs import define

from benchmarks.harness import ROOT, Figures, cpu_seconds, pin, table, times_in_a_turn

REASONS: Mapping[str, str] = {
    "sampled: *ChanceSampling*": "the first edition has no machine code for it",
    "iterations: *apcfr+*": "the weight of predictions is kept by block, and not by action",
}
"""Reasons for differences, by patterns of case names."""

TURNS = 5

# Cases are expressions: a name that one edition lacks fails only there.

Case: TypeAlias = tuple[str, str, int]
"""Expressions of a game and a run, and the number of iterations to compare."""
Cases: TypeAlias = Iterator[tuple[str, Case]]

KINDS = ("leduc_poker", "kuhn_poker(players=3)", "random_matrix_game(30,seed=2)", "hold_em")
"""A game for each kind of payoffs."""
NAMES = (
    *(*KINDS, "kuhn_poker", "liars_dice(sides=3)", "liars_dice(sides=4)", "goofspiel(4)"),
    *("battleship", "pursuit_evasion", "sheriff(items=3)", "oshi_zumo(3)", "matching_pennies"),
    *("rock_paper_scissors", "random_matrix_game(3,seed=1)"),
    "goofspiel(3,order='random',information='hidden',players=3)",
    "leduc_poker(players=3,raises=1,merge_suits=True)",
)
GAMES = {name: f"rk.load({name!r})" for name in NAMES}
GAMES["normal form of three players"] = "rk.NormalFormGame(rng.normal(size=(3, 3, 2, 4)))"
CFR = ("cfr", "cfr+", "pcfr+", "lcfr", "dcfr", "dcfr+", "pdcfr+", "sapcfr+", "apcfr+")


def started(algorithm: str, options: str = "", engine: str = "compiled") -> str:
    """Return the expression of a run of an algorithm. ``engine`` is an expression, too."""
    return f"play.Algorithm({algorithm}).start(game, engine={engine}{options})"


def iterations() -> Cases:
    for (name, game), rule in product(GAMES.items(), CFR):
        yield f"{name}, {rule}", (game, started(repr(rule)), 200)
        if rule == "cfr+" or (name in KINDS and rule in CFR[:3]):
            for order in ("Simultaneous()", "RandomPlayer(rng)"):
                run = started(f"{rule!r}, order=play.{order}")
                yield f"{name}, {rule}, {order}", (game, run, 200)
            yield f"{name}, {rule}, numpy", (game, started(repr(rule), "", "'numpy'"), 200)


def rules() -> Cases:
    made = {
        "infinite exponents": "rk.DiscountedRegretMatching, alpha=np.inf, beta=-np.inf",
        "hedge": "rk.Hedge, rate=0.3",
        "optimistic hedge": "rk.OptimisticHedge, rate=0.3",
        "scheduled exponents": "minimizers.contrib.HSDiscountedRegretMatching, horizon=10**6",
        "own rule": "runs.CubedRegretMatching",
    }
    kinds = "FollowTheRegularizedLeader", "OnlineMirrorDescent"
    for kind, regularizer, optimistic in product(kinds, ("Entropy", "Euclidean"), (False, True)):
        options = f"regularizer=minimizers.{regularizer}(), rate=0.3, optimistic={optimistic}"
        made[f"{kind}, {regularizer}, {optimistic}"] = f"minimizers.{kind}, {options}"
    for name, rule in made.items():
        run = started(f"functools.partial({rule})", ", horizon=10**6")
        yield f"leduc_poker, {name}", (GAMES["leduc_poker"], run, 200)
    averagings = (
        "Uniform()",
        "Linear()",
        "Quadratic()",
        "Power(3.5)",
        "Last()",
        "HorizonPower(15.0)",
    )
    for name, averaging in product(KINDS, averagings):
        run = started(f"'cfr+', averaging=play.{averaging}", ", horizon=10**6")
        yield f"{name}, cfr+, {averaging}", (GAMES[name], run, 200)


def sampled() -> Cases:
    learned = "play.LearnedBaseline(rate=0.1)"
    estimators = {
        "ExternalSampling(rng)": CFR[:4],
        f"ExternalSampling(rng, baseline={learned})": CFR[:1],
        "OutcomeSampling(rng)": CFR[:2],
        f"OutcomeSampling(rng, baseline={learned})": CFR[:1],
        "AverageStrategySampling(rng)": CFR[:1],
        "ChanceSampling(rng)": CFR[:1],
    }
    compiled = ("leduc_poker", "kuhn_poker", "liars_dice(sides=4)")
    for name, engine in (*product(compiled, ["compiled"]), ("kuhn_poker", "numpy")):
        for estimator, algorithms in estimators.items():
            for rule in algorithms if name == "leduc_poker" else algorithms[:1]:
                run = started(repr(rule), f", estimator=play.{estimator}", repr(engine))
                yield f"{name}, {rule}, {engine}, {estimator}", (GAMES[name], run, 2_000)


def deviations() -> Cases:
    efr = "blind_cf", "informed_cf", "blind_action", "informed_action", "bps", "cfps", "csps"
    learners = {f"efr {name}": f"EFR(tree, {name!r})" for name in (*efr, "tips", "bhv")} | {
        "efr tips, prm+": "EFR(tree, 'tips', local=rk.PredictiveRegretMatchingPlus)",
        "triggers, rm+": "trigger_regret(tree, local=rk.RegretMatchingPlus)",
        "triggers, drm": "trigger_regret(tree, local=rk.DiscountedRegretMatching)",
        "triggers, hedge": "trigger_regret(tree, local=functools.partial(rk.Hedge, rate=0.3))",
        "coarse triggers, rm+": "trigger_regret(tree, local=rk.RegretMatchingPlus, coarse=True)",
        "linear swap, rm+": "linear_swap_regret(tree, local=rk.RegretMatchingPlus)",
    }
    options = "order=play.Simultaneous(), averaging=play.Linear(), engine=compiled"
    for name, (title, learner) in product(KINDS[:2], learners.items()):
        players = f"[circuits.{learner} for tree in game.domains]"
        yield f"{name}, {title}", (GAMES[name], f"play.SelfPlay(game, {players}, {options})", 50)


def responses() -> Cases:
    answer = "[evaluation.best_response(game, i, x) for i in range(len(x))]"
    answers = f"[(evaluation.best_response_gains(game, x), {answer}) for x in profiles]"
    profiles = "[oracle.random_profile(game, rng) for _ in range(10)]"
    run = f"(lambda profiles: oracle.Repeated(lambda: {answers}))({profiles})"
    for name in (*KINDS, "goofspiel(4)", "sheriff(items=3)"):
        yield name, (GAMES[name], run, 1_000)  # enough to switch to compiled code


def without_tree() -> Cases:
    goofspiel = "goofspiel(3,order='random',information='hidden')"
    names = "liars_dice(sides=2)", "leduc_poker", goofspiel
    batches = [f"games.load_rules({name!r})" for name in names]
    learned = "RegretMatching", "LinearRegretMatching"
    for game, rule, kind in product(batches, learned, ("ExternalSampling", "OutcomeSampling")):
        # The first edition calls the class LazyMCCFR.
        kinds = "(getattr(play, 'Sampled', None) or play.LazyMCCFR)"
        run = f"{kinds}(game, rk.{rule}, play.{kind}(rng))"
        yield f"{game[6:]}, {rule}, {kind}", (game, run, 60_000)


GROUPS = (iterations, rules, sampled, deviations, responses, without_tree)
CASES = {f"{group.__name__}: {name}": case for group in GROUPS for name, case in group()}


@define
class Repeated:
    """A pretended run: calls a function once in each iteration."""

    call: Callable[[], Any]
    average: Any = None

    def run(self, times: int) -> None:
        for _ in range(times):
            self.average = self.call()


def random_profile(game: Any, rng: np.random.Generator) -> list[Any]:
    """Return random strategies that are equal in both editions."""
    sets = [getattr(domain, "simplices", domain) for domain in game.domains]
    played = [each.normalize(rng.exponential(size=each.dimension)) for each in sets]
    pairs = zip(game.domains, sets, played, strict=True)
    return [x if domain is each else domain.sequence_form(x) for domain, each, x in pairs]


# Answers, in either edition

WORKER = (
    "import regretkit, sys; sys.path.insert(0, sys.argv[1]); "
    "from benchmarks.oracle import answer_all; answer_all()"
)
"""Imports the edition first, then adds this checkout to the path."""
MODULES = ["play", "games", "circuits", "evaluation", "minimizers", "minimizers.contrib"]
AGAIN = "again"
"""Requests the time of another turn of the last case."""


def answer_all() -> None:
    """Read names of cases, or ``AGAIN``, from standard input, and write a JSON line for each."""
    known = {name: import_module(f"regretkit.{name}") for name in MODULES}
    known |= {name: import_module(f"benchmarks.{name}") for name in ("oracle", "runs")}
    known |= {"rk": import_module("regretkit"), "functools": import_module("functools"), "np": np}
    print(json.dumps(known["rk"].__file__), flush=True)
    answer: Figures = {}
    turn: Callable[[], float] = float
    for line in sys.stdin:
        try:
            if (name := json.loads(line)) != AGAIN:
                answer, turn = answered(*CASES[name], dict(known))
            reply = answer | {"us": turn()}
        except Exception as error:  # errors are compared, too
            reply = {"refused": type(error).__name__, "message": str(error).partition("\n")[0]}
        print(json.dumps(reply), flush=True)


def answered(
    game: str, call: str, iterations: int, known: dict[str, Any]
) -> tuple[Figures, Callable[[], float]]:
    """Return digests after some iterations, and a function that times further ones.

    In the first edition, only ``compiled-exact`` has equal bits, and ``compiled`` is timed.
    """
    known["rng"] = np.random.default_rng(7)
    known["game"] = eval(game, known)

    def played(engine: str) -> tuple[Any, float]:
        known.update(compiled=engine, rng=np.random.default_rng(7))
        run = eval(call, known)
        start = cpu_seconds(run.run, 1)
        run.run(iterations - 1)
        return run, start

    run, start = exact, _ = played("compiled")
    engines: Any = getattr(known["play"]._engines, "engine_names", tuple)()
    if "engine=compiled" in call and "compiled-exact" in engines:
        exact, _ = played("compiled-exact")
    answer, times = {"digests": digests(exact), "start": start}, times_in_a_turn(run.run)
    return answer, lambda: cpu_seconds(run.run, times) / times * 1e6


def digests(run: Any) -> dict[str, str]:
    """Return digests of strategies, and of state arrays by name."""
    found: defaultdict[str, Any] = defaultdict(hashlib.sha256)
    for name in ("average", "current", "last_profile"):
        value = getattr(run, name, None)
        # The first edition's profiles of visited information sets hold vectors as ``profile``.
        add(found, name, getattr(value, "profile", value))
    for holder, name in ((run, "information_sets"), (getattr(run, "estimator", None), "visited")):
        add(found, name, np.asarray(getattr(holder, name, 0)))
    if hasattr(run, "state_dict"):
        state = run.state_dict()
        add(found, "", {name: state.get(name) for name in ("minimizers", "estimator")})
    return {name: each.hexdigest() for name, each in found.items()}


def add(found: Mapping[str, Any], name: str, value: Any) -> None:
    """Add the bytes of arrays and floats to the digest of the innermost name."""
    if isinstance(value, dict):
        for key, item in value.items():
            add(found, name if key.isdigit() else key, item)
    elif isinstance(value, Sequence):
        for item in () if isinstance(value, str) else value:
            add(found, name, item)
    elif isinstance(value, np.ndarray | float):
        array = np.asarray(value)
        found[name].update(f"{array.dtype}{array.shape}".encode() + array.tobytes())


# The comparison


@define
class Edition:
    """A process with an edition, restarted after it ends."""

    python: str
    path: str = ""
    """The folder of the edition, empty if it is installed."""
    process: Any = None
    home: str = ""

    def ask(self, name: str) -> Figures:
        if self.process is None:
            command = [self.python, "-P", "-c", WORKER, str(ROOT)]
            options: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            options["env"] = os.environ | {"PYTHONPATH": self.path}
            self.process = subprocess.Popen(command, **options)
            self.home = json.loads(self.process.stdout.readline() or '""')
            if not self.home:
                raise SystemExit(f"{self.python} cannot import regretkit")
        print(json.dumps(name), file=self.process.stdin, flush=True)
        if line := self.process.stdout.readline():
            answer: Figures = json.loads(line)
            return answer
        code, self.process = self.process.wait(), None
        return {"refused": "the process ended", "message": f"exit code {code}"}


def both(name: str, editions: Sequence[Edition]) -> list[Figures]:
    """Return the answers of both editions, with times from alternating turns."""
    answers = [edition.ask(name) for edition in editions]
    for _ in range(TURNS):
        for edition, answer in zip(editions, answers, strict=True):
            if "refused" not in answer:
                turn = edition.ask(AGAIN)
                answer |= {"us": min(answer["us"], turn["us"])} if "us" in turn else turn
    return answers


def compared(name: str, first: Figures, this: Figures) -> Figures:
    """Return the row of a case."""
    row: Figures = {"bits": "equal"}
    if "refused" in first or "refused" in this:
        texts = [f"{x.get('refused', 'played')} {x.get('message', '')}" for x in (first, this)]
        equal = "refused" in first and "refused" in this
        row["bits"] = f"refused: {first['refused']}" if equal else f"differs: {' | '.join(texts)}"
    else:
        ours, theirs = this["digests"], first["digests"]
        if apart := [part for part in theirs if ours.get(part, theirs[part]) != theirs[part]]:
            row["bits"] = f"differs: {', '.join(apart)}"
        row |= {"first, us": first["us"], "this, us": this["us"], "times": this["us"] / first["us"]}
        row |= {"first: start, s": first["start"], "this: start, s": this["start"]}
        row["_alone"] = ours.keys() ^ theirs.keys()
    reason = next((why for pattern, why in REASONS.items() if fnmatchcase(name, pattern)), "")
    if reason and row["bits"].startswith("differs"):
        row["bits"] = f"stated: {reason}"
    return row


def summary(found: Mapping[str, Figures]) -> str:
    """Return counts and ratios of times by group, and parts that only one edition has."""
    kinds, rows = ("equal", "refused", "stated", "differs"), []
    for group in dict.fromkeys(name.partition(":")[0] for name in found):
        chosen = [row for name, row in found.items() if name.partition(":")[0] == group]
        counts = Counter(row["bits"].partition(":")[0] for row in chosen)
        ratios = [row["times"] for row in chosen if "times" in row]
        cells = [group, *(counts[kind] for kind in kinds)]
        rows.append(cells + ([median(ratios), max(ratios)] if ratios else ["", ""]))
    alone = Counter(part for row in found.values() for part in row.get("_alone", ()))
    notes = [f"only one edition has {part}, in {count} cases" for part, count in alone.items()]
    return "\n".join([table(["group", *kinds, "median times", "most"], rows), *notes])


def oracle(arguments: Sequence[str]) -> int:
    """Bits of all results and times, compared with the first edition.

    Each case runs with the first edition, then with this checkout. Strategies and states must be
    bitwise equal, unless ``REASONS`` has a reason. Cases that raise errors in both are not compared
    further. Times are processor times: of an iteration, the best of several turns, and of the first
    iteration, which compiles or loads code. The exit code is 1 if a case differs without a reason.

        $ python -m benchmarks oracle --first ../first-environment/bin/python --quick
        $ python -m benchmarks oracle --first ../first-environment/bin/python sampled "*: hold_em*"
    """
    parser = argparse.ArgumentParser("python -m benchmarks oracle")
    parser.add_argument("--first", required=True, help="an interpreter with the first edition")
    parser.add_argument("--quick", action="store_true", help="every tenth case")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a group, or a pattern of names")
    asked = parser.parse_args(arguments)
    patterns = [name if ":" in name else f"{name}:*" for name in asked.names or "*"]
    chosen = [name for name in CASES if any(fnmatchcase(name, pattern) for pattern in patterns)]
    pin()
    first, this, found = Edition(asked.first), Edition(sys.executable, str(ROOT)), {}
    for name in chosen[:: 10 if asked.quick else 1]:
        found[name] = row = compared(name, *both(name, (first, this)))
        print(f"{name}: {row['bits']}, {row.get('times', 1.0):.2f} times", file=sys.stderr)
        if first.home == this.home:
            raise SystemExit(f"{asked.first} must have its own edition, got {first.home}")
    columns = dict.fromkeys(name for row in found.values() for name in row if name[0] != "_")
    print(table(["case", *columns], [[n, *map(row.get, columns)] for n, row in found.items()]))
    print(f"\n{first.home} next to {this.home}:\n\n{summary(found)}")
    return int(any(row["bits"].startswith("differs") for row in found.values()))
