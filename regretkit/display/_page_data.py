"""The data of a page that runs algorithms, and the JavaScript of their rules.

``page_files/engine.js`` describes the data.
"""

import inspect
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, cast

import numpy as np

from regretkit._util._typing import Vector
from regretkit.display._circuits import Node, outline
from regretkit.display._style import title_of
from regretkit.engine._support import PlacedRule, Structure, structure_of
from regretkit.evaluation import best_response_gains
from regretkit.games import ExtensiveFormGame, Game, NormalFormGame, Profile
from regretkit.games.tree._sequences import reach_of_chance
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import RegretMatching, RegretMatchingPlus
from regretkit.play import (
    Algorithm,
    Alternating,
    Delayed,
    HorizonPower,
    Last,
    Linear,
    Power,
    Quadratic,
    Simultaneous,
    Uniform,
)
from regretkit.play._averaging import Averaging
from regretkit.play._orders import Order, UpdateSchedule
from regretkit.sets import DecisionTree, Simplices
from regretkit.trace import Kernel, UntraceableError, find_kernel
from regretkit.trace._javascript import PRELUDE, functions_as_javascript, schedule_as_javascript
from regretkit.trace._rule import held_at

_MOST_NODES = 5_000
"""Most nodes of a game tree that is drawn and played."""
_MOST_BOXES = 60
"""Most decision points of a player with a box each in a circuit."""
_RECORDED = 40_000
"""Most numbers of a recorded run."""
_STOPS = {1: 9, 2: 7, 3: 3}
"""Values of each hyperparameter, by the number of hyperparameters; others are fixed."""
_POWERS = (Power, Uniform, Linear, Quadratic, Delayed)
_FACTORS = (0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0)
_AROUND_ZERO = {-2.0, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 2.0}


# Games


def game_data(game: NormalFormGame | ExtensiveFormGame) -> dict[str, Any]:
    """Return a game as ``page_files/engine.js`` describes it."""
    table, two = isinstance(game, NormalFormGame), game.players == 2
    shares = _shares(game) if isinstance(game, ExtensiveFormGame) else [np.ones(1)] * game.players
    return {
        "name": title_of(str(game.name or "game")),
        "players": [
            {"name": f"player {player}", "points": _points(domain, shares[player])}
            for player, domain in enumerate(game.domains)
        ],
        "constant": game.constant_sum,
        "range": np.ptp(game._outcomes(), axis=1).tolist(),
        "matrix": np.moveaxis(game.payoffs, 0, -1).tolist() if table and two else None,
        "rows": _rows(game) if isinstance(game, ExtensiveFormGame) and two else None,
        "leaves": None if two else _leaves(game),
        "nodes": [*_nodes(game)] if _size(game) <= _MOST_NODES else None,
    }


def _points(domain: Any, shares: Vector) -> list[dict[str, Any]]:
    simplices = domain if isinstance(domain, Simplices) else domain.simplices
    parents = [0] if isinstance(domain, Simplices) else domain.parent_sequences.tolist()
    return [
        {
            "label": simplices.labels.block(j) if simplices.labels.named else "",
            "parent": parents[j],
            "first": int(simplices.first[j]),
            "size": int(simplices.sizes[j]),
            "actions": [*simplices.labels.actions(j)],
            "share": float(shares[j]),
        }
        for j in range(simplices.blocks)
    ]


def _shares(game: ExtensiveFormGame) -> list[Vector]:
    """Return, for each decision point, the weight of chance at its histories, at most 1."""
    tree, chance = game.tree, reach_of_chance(game.tree)
    found = []
    for player, domain in enumerate(game.domains):
        own = np.flatnonzero(tree.player == player)
        weights = np.bincount(tree.information_set[own], chance[own], minlength=domain.points)
        found.append(np.minimum(weights, 1.0))
    return found


def _rows(game: ExtensiveFormGame) -> list[dict[str, list[float]]]:
    """Return the players' payoffs as sparse matrices."""
    found = []
    for given in (game._payoff_rows(player, player) for player in range(2)):
        arrays = {"row": given.row, "sumBegin": given.sums.begin, "summed": given.sums.column}
        arrays |= {name: getattr(given.rows, name) for name in ("begin", "column", "value")}
        found.append({name: array.tolist() for name, array in arrays.items()})
    return found


def _leaves(game: NormalFormGame | ExtensiveFormGame) -> dict[str, Any]:
    if isinstance(game, ExtensiveFormGame):
        return {"sequences": game.sequences.tolist(), "payoffs": game.payoffs.tolist()}
    sequences = 1 + np.indices(game.payoffs.shape[1:]).reshape(game.players, -1)
    return {"sequences": sequences.tolist(), "payoffs": game._outcomes().tolist()}


def _size(game: NormalFormGame | ExtensiveFormGame) -> int:
    return game.tree.histories if isinstance(game, ExtensiveFormGame) else 2 * game.size


def _nodes(game: NormalFormGame | ExtensiveFormGame) -> Iterator[dict[str, Any]]:
    """Yield the histories of a game in breadth-first order."""
    if isinstance(game, NormalFormGame):
        yield from _table_nodes(game)
        return
    tree, paid = game.tree, iter(game.tree.payoffs.tolist())
    for history in range(tree.histories):
        player, parent = int(tree.player[history]), int(tree.parent[history])
        ends = player < -1
        yield {
            "parent": parent,
            "edge": tree._names(parent)[tree.action[history]] if history else "",
            "player": None if ends else player,
            "point": int(tree.information_set[history]) if player >= 0 else None,
            "chance": float(tree.probability[history]),
            "payoffs": next(paid) if ends else None,
        }


def _table_nodes(game: NormalFormGame) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a table, whose players choose in turn."""
    sizes, paid = game.payoffs.shape[1:], iter(game._outcomes().T.tolist())
    begin, before = 0, 0
    for depth in range(game.players + 1):
        count = math.prod(sizes[:depth])
        names = game.domains[depth - 1].labels.actions(0) if depth else ()
        for k in range(count):
            ends = depth == game.players
            yield {
                "parent": before + k // len(names) if depth else -1,
                "edge": names[k % len(names)] if depth else "",
                "player": None if ends else depth,
                "point": None if ends else 0,
                "chance": 1.0,
                "payoffs": next(paid) if ends else None,
            }
        before, begin = begin, begin + count


# Algorithms


class Code:
    """The kernels and schedules of a page; equal ones are one function."""

    def __init__(self) -> None:
        self._kernels = dict[str, tuple[str, str]]()
        self._schedules = dict[str, str]()

    def add(self, kernel: Kernel) -> dict[str, Any]:
        """Add a kernel, and return the names of its functions."""
        schedule = schedule_as_javascript(kernel.parameters)
        if kernel.source not in self._kernels:
            name = f"k{len(self._kernels)}"
            self._kernels[kernel.source] = name, functions_as_javascript(kernel)
        return {
            "kernel": self._kernels[kernel.source][0],
            "schedule": self._schedules.setdefault(schedule, f"s{len(self._schedules)}"),
            "parameters": len(kernel.parameters.nodes),
        }

    def script(self) -> str:
        """Return the script that defines ``KERNELS``."""
        returned = "return {propose, learn};"
        kernels = [
            f"{n}: (() => {{\n{text}\n{returned}\n}})()," for n, text in self._kernels.values()
        ]
        schedules = [f"{name}: {text}," for text, name in self._schedules.items()]
        lines = ["const KERNELS = (() => {", PRELUDE, "return {"]
        lines += ["kernels: {", *kernels, "},", "schedules: {", *schedules, "},", "};", "})();"]
        return "\n".join(["/** The rules of this page. */", *lines])


def algorithm_data(
    game: NormalFormGame | ExtensiveFormGame,
    algorithm: Algorithm,
    iterations: int,
    code: Code,
) -> dict[str, Any]:
    """Return an algorithm as ``page_files/engine.js`` describes it; add its kernels to the code."""
    minimizers = algorithm.minimizers(game)
    data: dict[str, Any] = {
        "source": _source(minimizers),
        "circuit": [_part(outline(x), p, x.domain) for p, x in enumerate(minimizers)],
        "theorem": None,
        "choices": {},
    }
    try:
        data["averagings"] = _averagings(algorithm.averaging, iterations)
        data["orders"] = _orders(algorithm.order, game.players)
        if algorithm.sampling is not None:
            raise UntraceableError("it samples utilities")
        structures = [*map(structure_of, minimizers)]
        for structure in structures:
            if structure.wrapped or structure.deviations is not None:
                raise UntraceableError("it is a circuit around the tree")
        data |= _rules(structures, code)
    except UntraceableError as error:
        data["reason"] = str(error)
        data["averagings"] = [{"label": str(algorithm.averaging)}]
        data["orders"] = [{"label": str(algorithm.order)}]
        data["recorded"] = _recorded(game, algorithm, iterations)
    return data


def _source(minimizers: Sequence[RegretMinimizer]) -> str:
    """Return the source of the players' rules."""
    kinds = dict.fromkeys(
        type(placed.rule) for each in minimizers for placed in structure_of(each).rules
    )
    texts = []
    for kind in kinds:
        try:
            texts.append(textwrap.dedent(inspect.getsource(kind)).rstrip())
        except (OSError, TypeError):  # typed into a shell
            texts.append(f"class {kind.__name__}")
    return "\n\n\n".join(texts)


def _part(node: Node, player: int, domain: Any) -> dict[str, Any]:
    """Return a part of a circuit; CFR has a box for each of few decision points."""
    parts = [_part(part, player, None) for part in node.parts]
    simplices = getattr(domain, "simplices", None)
    if simplices is not None and simplices.blocks <= _MOST_BOXES and parts:
        labels, inner = simplices.labels, parts[-1]
        parts = [
            inner
            | {
                "role": labels.block(j) if labels.named else f"point {j}",
                "place": f"simplex of {simplices.sizes[j]} actions",
                "point": j,
            }
            for j in range(simplices.blocks)
        ]
    place = node.place if node.domain else ""
    point = 0 if isinstance(domain, Simplices) and domain.blocks == 1 else None
    return {
        "role": node.role or f"player {player}",
        "name": node.name,
        "place": place,
        "player": player,
        "point": point,
        "parts": parts,
    }


def _averagings(default: Averaging, horizon: int) -> list[dict[str, Any]]:
    """Return the averaging schemes of a page, the algorithm's own first."""
    schemes = [default, Uniform(), Linear(), Quadratic(), Last()]
    found = [_averaging(scheme, horizon) for scheme in schemes]
    return [each for k, each in enumerate(found) if each not in found[:k]]


def _averaging(scheme: Averaging, horizon: int) -> dict[str, Any]:
    if type(scheme) in _POWERS and isinstance(scheme, Power | Delayed):
        names = {0.0: "uniform", 1.0: "linear", 2.0: "quadratic"}
        label = names.get(scheme.power, f"t to the power {scheme.power:g}")
        delay = scheme.delay if isinstance(scheme, Delayed) else 0
        label += f" after {delay:,} iterations" * (delay > 0)
        return {"label": label, "kind": "power", "exponent": scheme.power, "delay": delay}
    if type(scheme) is Last:
        return {"label": "last strategy", "kind": "last"}
    if type(scheme) is HorizonPower:
        weights = scheme.weights(1, horizon, horizon).tolist()
        label = f"schedule of {horizon:,} iterations"
        return {"label": label, "kind": "table", "weights": weights, "exponent": scheme.power - 5.0}
    raise UntraceableError(f"its averaging scheme {scheme} is a Python function")


def _orders(default: Order, players: int) -> list[dict[str, Any]]:
    """Return the orders of a page, the algorithm's own first."""
    if type(default) not in (Alternating, Simultaneous):
        raise UntraceableError(f"its order {default} is a Python function")
    found = []
    for order in (default, Alternating(), Simultaneous()):
        at_once = isinstance(order, Simultaneous)
        turns = cast("UpdateSchedule", order.schedule(players, 1)).players[0].tolist()
        label = "all at once" if at_once else "in turn"
        label += f", player {turns[0]} first" if turns[0] else ""
        found.append({"label": label, "players": turns, "simultaneous": at_once})
    return [each for k, each in enumerate(found) if each not in found[:k]]


def _rules(structures: Sequence[Structure], code: Code) -> dict[str, Any]:
    """Return the rules of all players, for each choice of hyperparameters."""
    single = all(len(structure.rules) == 1 for structure in structures)
    kinds = {type(placed.rule) for structure in structures for placed in structure.rules}
    choices = _choices(structures[0].rules[0].rule) if single and len(kinds) == 1 else {}
    rules = {}
    for stops in product(*(range(len(choice["values"])) for choice in choices.values())):
        chosen = {
            name: choice["values"][stop]
            for (name, choice), stop in zip(choices.items(), stops, strict=True)
        }
        rules[",".join(map(str, stops))] = [
            [_rule(placed, structure, chosen, code) for placed in structure.rules]
            for structure in structures
        ]
    theorems: dict[Any, str] = {RegretMatching: "uniform", RegretMatchingPlus: "increasing"}
    theorem = theorems.get(next(iter(kinds))) if single and len(kinds) == 1 else None
    shown = {
        name: choice | {"values": [*map(_number, choice["values"])]}
        for name, choice in choices.items()
    }
    return {"choices": shown, "rules": rules, "theorem": theorem}


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _hyperparameters(rule: RegretMinimizer) -> dict[str, Any]:
    """Return the arguments of a rule's class, without its simplices."""
    _, *names = inspect.signature(type(rule)).parameters
    return {name: getattr(rule, name, getattr(rule, f"_{name}", None)) for name in names}


def _with(rule: RegretMinimizer, hyperparameters: Mapping[str, Any]) -> RegretMinimizer:
    """Return a new rule with other hyperparameters."""
    kind: Any = type(rule)
    made: RegretMinimizer = kind(rule.domain, **hyperparameters)
    return made


def _choices(rule: RegretMinimizer) -> dict[str, Any]:
    """Return a few values of each numeric hyperparameter that the rule accepts."""
    held = _hyperparameters(rule)
    numbers = {name: x for name, x in held.items() if type(x) in (int, float)}
    numbers = dict([*numbers.items()][: max(_STOPS)])
    found = {}
    for name, default in numbers.items():
        nearby = _nearby(default, _STOPS[len(numbers)])
        values = sorted({default, *(x for x in nearby if _traced(rule, {**held, name: x}))})
        if len(values) > 1:
            found[name] = {"values": values, "default": values.index(default)}
    return found


def _nearby(default: float, count: int) -> list[float]:
    if math.isinf(default):
        return [0.0, 0.5, 1.0, 2.0, 4.0, 8.0][:count]
    values = {float(f"{default * factor:.3g}") for factor in _FACTORS} if default else _AROUND_ZERO
    if isinstance(default, int):
        values = {*map(round, values)}
    ordered = sorted({*values, default})
    middle = ordered.index(default)
    return ordered[max(middle - count // 2, 0) : middle + count // 2 + 1]


def _traced(rule: RegretMinimizer, chosen: Mapping[str, Any]) -> bool:
    """Return whether a rule with these hyperparameters exists and can be traced."""
    try:
        find_kernel(_with(rule, chosen))
    except Exception:  # a user's rule may refuse a number by any error
        return False
    return True


def _rule(
    placed: PlacedRule, structure: Structure, chosen: Mapping[str, float], code: Code
) -> dict[str, Any]:
    """Return a rule with chosen hyperparameters, and its arrays over all points of its player."""
    rule, domain = placed.rule, cast("Simplices | DecisionTree", structure.learner.domain)
    if chosen:
        rule = _with(rule, {**_hyperparameters(rule), **chosen})
    kernel = find_kernel(rule, exact=True)
    simplices = domain if isinstance(domain, Simplices) else domain.simplices
    points = np.arange(simplices.blocks)[placed.points]

    def spread(numbers: Any, by_action: bool) -> Any:
        """Return the numbers of an array by the player's actions or points, or their only one."""
        numbers = np.asarray(numbers, np.float64)
        if not numbers.size or (numbers == numbers.flat[0]).all():
            return float(numbers.flat[0]) if numbers.size else 0.0
        whole = np.zeros(simplices.dimension if by_action else simplices.blocks)
        whole[placed.actions if by_action else placed.points] = numbers
        return whole.tolist()

    starts = [held_at(rule, path) for path in kernel.learned]
    starts += [constant for constant, _ in kernel.further]
    arrays = [
        [by_action, 0.0 if start is None else spread(start, by_action)]
        for start, by_action in zip(starts, kernel.layout, strict=True)
    ]
    return {
        **code.add(kernel),
        "points": None if points.size == simplices.blocks else points.tolist(),
        "arrays": arrays,
        "numbers": [float(held_at(rule, path)) for path in kernel.numbers],
    }


# Recorded runs


def _recorded(game: Game, algorithm: Algorithm, iterations: int) -> dict[str, Any]:
    """Play a run, and return its strategies after some iterations."""
    size = 2 * sum(domain.dimension for domain in game.domains)
    count = max(10, min(300, _RECORDED // size))
    first = np.arange(min(200, count // 2, iterations) + 1)
    later = np.geomspace(max(first[-1], 1), iterations, count - first.size).round()
    run = algorithm.start(game, horizon=iterations)
    found: dict[str, Any] = {"iterations": [], "strategies": [], "averages": []}
    found["gains"] = {"average": [], "current": []}
    for t in sorted({*first.tolist(), *later.astype(int).tolist()}):
        run.run(t - run.iteration)
        current = run.current
        average = run.average if t else current
        found["iterations"].append(t)
        for which, profile in (("strategies", current), ("averages", average)):
            found[which].append([_digits(profile, player) for player in range(len(profile))])
        for which, profile in (("average", average), ("current", current)):
            found["gains"][which].append(best_response_gains(game, profile).tolist())
    return found


def _digits(profile: Profile, player: int) -> list[float]:
    """Return a player's probabilities with six digits."""
    domain, strategy = profile.domains[player], profile[player]
    behavior = domain.behavior(strategy) if isinstance(domain, DecisionTree) else strategy
    return [float(f"{x:.6g}") for x in behavior]
