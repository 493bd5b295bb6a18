"""Generate code from a graph: plain loops over the actions of one block."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import count

from regretkit.trace._graph import (
    ELEMENTWISE,
    MATH,
    REDUCTIONS,
    SORTING,
    Node,
    Per,
    in_order,
    nodes_of,
    number,
)

_EXPENSIVE = {*MATH, "divide"}
_LONG = 8
"""Number of operations from which a cheap expression is stored rather than computed again."""
_REDUCED = {
    "sum": ("0.0", "{0} += {1}"),
    "norm": ("0.0", "{0} = hypot({0}, {1})"),
    "max": ("-inf", "x = {1}\n{0} = x if x > {0} else {0}"),
    "argmax": ("first", "x = {1}\nif x > {0}_max:\n    {0}_max, {0} = x, a"),
}
"""The start of each reduction, and the code for the next entry."""
_ROOT_STEPS = 100
_UNROLLED = 4
"""Partial sums of a reduction, which a processor updates in parallel."""
_FEW = 20
"""Most reductions with partial sums: more would take long to compile."""


class Loops:
    """The body of a function that computes outputs of one block.

    Parameters
    ----------
    outputs
        The node to store in each array, by the array's name.
    names
        The code of each input, for arrays without the index.
    workspace
        Names of arrays by action for numbers that several loops need.
    """

    def __init__(
        self,
        outputs: Mapping[str, Node],
        names: Mapping[Node, str],
        workspace: Iterable[str],
    ) -> None:
        self._outputs = outputs
        self._names = dict(names)
        self._free = iter(workspace)
        self._stored: dict[Node, str] = {}
        self._lines: list[str] = []
        self._variables = (f"v{k}" for k in count())
        self._bound: dict[Node, frozenset[Node]] = {}
        for node in nodes_of(outputs.values()):
            self._bound[node] = self._iterates(node)
        self._few = sum(node.op in REDUCTIONS for node in self._bound) <= _FEW

    def _iterates(self, node: Node) -> frozenset[Node]:
        if node.op == "iterate":
            return frozenset([node])
        found = frozenset().union(*(self._bound[arg] for arg in node.args))
        return found - {node.args[-2]} if node.op == "root" else found

    def code(self) -> list[str]:
        """Return the lines of the body."""
        by_block = {n: node for n, node in self._outputs.items() if node.per is not Per.ACTION}
        by_action = {n: node for n, node in self._outputs.items() if n not in by_block}
        reached = [n for n in nodes_of(self._outputs.values()) if not self._bound[n]]
        self._region(reached, list(by_action.values()), 0)
        self._final(by_action)
        for name, node in by_block.items():
            self._lines.append(f"{name}[block] = {self._scalar(node)}")
        return self._lines

    # Stages: the operands of a reduction precede it

    def _region(self, nodes: Sequence[Node], following: Sequence[Node], depth: int) -> None:
        """Write all scalars among ``nodes``; the final loop computes ``following``."""
        level: dict[Node, int] = {}
        for node in nodes:
            level[node] = max((level.get(arg, 0) for arg in self._needs(node)), default=0)
            level[node] += node.op in REDUCTIONS or node.op in SORTING or node.op == "root"
        known = [node for node in nodes if node.per is not Per.ACTION or node.op in SORTING]
        stages = [
            [node for node in known if level[node] == stage]
            for stage in range(max(level.values(), default=0) + 1)
        ]
        loops = [[n.args[0] for n in stage if n.op in REDUCTIONS] for stage in stages]
        for k, stage in enumerate(stages):
            if reductions := [node for node in stage if node.op in REDUCTIONS]:
                later = [node for loop in [*loops[k + 1 :], following] for node in loop]
                self._reduce(reductions, self._to_keep(later, loops[k]), depth)
            for node in stage:
                if node.op == "root":
                    self._root(node, depth)
                elif node.op in SORTING:
                    self._sort(node, depth)
                else:
                    self._name_scalars([node], depth)

    def _name_scalars(self, nodes: Iterable[Node], depth: int) -> None:
        """Write assignments of scalars that have no name yet."""
        for node in nodes:
            new = node.per is not Per.ACTION and node not in self._names
            if new and node.op in ELEMENTWISE:
                name = next(self._variables)
                self._write(depth, f"{name} = {self._expression(node, {})}")
                self._names[node] = name

    def _needs(self, node: Node) -> Iterable[Node]:
        if node.op != "root":
            return node.args
        return [n for n in nodes_of(node.args) if node.args[-2] not in self._bound[n]]

    def _write(self, depth: int, text: str) -> None:
        self._lines += ["    " * depth + line for line in text.split("\n")]

    def _scalar(self, node: Node) -> str:
        if node.op == "fill":
            return self._scalar(node.args[0])
        return number(node.detail) if node.is_constant else self._names[node]

    # Loops

    def _inside(self, outputs: Iterable[Node]) -> list[Node]:
        """Return the nodes by action that a loop computes for these outputs, in order."""

        def computed(node: Node) -> bool:
            return node.per is Per.ACTION and node not in self._stored

        def args(node: Node) -> tuple[Node, ...]:
            return node.args if computed(node) and node.op != "chosen" else ()

        return [node for node in in_order(outputs, args) if computed(node)]

    def _to_keep(self, later: list[Node], current: list[Node]) -> dict[Node, str]:
        """Return the expensive nodes of a loop that later loops need, with their arrays."""
        needed = set(self._inside(later))
        kept: dict[Node, str] = {}
        for node in reversed(self._inside(current)):
            if node in needed and self._is_expensive(node):
                name = next(self._free, None)
                if name is None:
                    break
                kept[node] = self._stored[node] = name
                needed = set(self._inside([n for n in later if n is not node])) - kept.keys()
        for node in kept:
            del self._stored[node]
        return kept

    def _is_expensive(self, node: Node) -> bool:
        operations = (inner for inner in self._inside([node]) if inner.args)
        return node.op in _EXPENSIVE or sum(1 for _ in operations) >= _LONG

    def _reduce(self, reductions: list[Node], kept: dict[Node, str], depth: int) -> None:
        targets = {}
        for node in reductions:
            targets[node] = next(self._variables)
            self._names[node] = targets[node]
            self._write(depth, f"{targets[node]} = {_REDUCED[node.op][0]}")
            if node.op == "argmax":
                self._write(depth, f"{targets[node]}_max = -inf")
        needed = self._inside([node.args[0] for node in reductions])
        simple = self._few and not kept and all(node.op == "sum" for node in reductions)
        begin = "first"
        if simple and not any(node.op == "cumulate" for node in needed) and len(needed) <= 8:
            begin = self._four_sums(reductions, targets, depth)
        self._start_cumulations(needed, depth)
        self._write(depth, f"for a in range({begin}, last):")
        code = self._body([node.args[0] for node in reductions], "a", depth + 1, kept)
        for node, value in zip(reductions, code, strict=True):
            self._write(depth + 1, _REDUCED[node.op][1].format(targets[node], value))
        self._stored.update(kept)

    def _four_sums(self, reductions: list[Node], targets: Mapping[Node, str], depth: int) -> str:
        self._write(depth, "begin = first")
        self._write(depth, "if last - first > 3:")
        parts = range(_UNROLLED)
        for name in targets.values():
            names = ", ".join(f"{name}_{k}" for k in parts)
            self._write(depth + 1, f"{names} = 0.0, 0.0, 0.0, 0.0")
        self._write(depth + 1, f"for quad in range((last - first) // {_UNROLLED}):")
        self._write(depth + 2, f"a = first + {_UNROLLED} * quad")
        for k in parts:
            index = f"a + {k}" if k else "a"
            code = self._body([node.args[0] for node in reductions], index, depth + 2, {})
            for node, value in zip(reductions, code, strict=True):
                self._write(depth + 2, f"{targets[node]}_{k} += {value}")
        for name in targets.values():
            pairs = f"({name}_0 + {name}_1) + ({name}_2 + {name}_3)"
            self._write(depth + 1, f"{name} = {pairs}")
        self._write(depth + 1, f"begin = last - (last - first) % {_UNROLLED}")
        return "begin"

    def _start_cumulations(self, needed: Iterable[Node], depth: int) -> None:
        for node in needed:
            if node.op == "cumulate":
                if node not in self._names:
                    self._names[node] = next(self._variables)
                self._write(depth, f"{self._names[node]} = 0.0")

    def _final(self, outputs: Mapping[str, Node]) -> None:
        """Write the loop that stores outputs."""
        if not outputs:
            return
        self._start_cumulations(self._inside(outputs.values()), 0)
        self._write(0, "for a in range(first, last):")
        values = self._body(list(outputs.values()), "a", 1, {})
        if len(outputs) > 1:  # read all arrays before the first write
            targets = [f"new_{k}" for k in range(len(values))]
            for target, value in zip(targets, values, strict=True):
                self._write(1, f"{target} = {value}")
            values = targets
        for name, value in zip(outputs, values, strict=True):
            self._write(1, f"{name}[a] = {value}")

    def _body(
        self, outputs: list[Node], index: str, depth: int, kept: Mapping[Node, str]
    ) -> list[str]:
        """Write the assignments that outputs need inside a loop; return their expressions."""
        needed = self._inside(outputs)
        uses = Counter(outputs)
        for node in needed:
            code = ELEMENTWISE[node.op].code if node.op in ELEMENTWISE else "{0}"
            for k, arg in enumerate(node.args):
                uses[arg] += max(code.count(f"{{{k}}}"), 1)
        for node in list(uses):  # a repeated number costs nothing per entry
            if node.op in ("repeat", "fill"):
                uses[node] = 1
        codes: dict[Node, str] = {node: f"{name}[{index}]" for node, name in self._stored.items()}
        fresh = 0
        suffix = index.replace("a + ", "")
        for node in needed:
            if node.op == "input" or node.op == "array":
                code = f"{self._names[node]}[{index}]"
            elif node.op in ("repeat", "fill"):
                code = self._scalar(node.args[0])
            elif node.op == "chosen":
                code = f"(1.0 if {index} == {self._names[node.args[0]]} else 0.0)"
            elif node.op == "cumulate":
                self._write(depth, f"{self._names[node]} += {codes[node.args[0]]}")
                code = self._names[node]
            else:
                code = self._expression(node, codes)
            if node in kept:
                self._write(depth, f"n{fresh} = {code}")
                code, fresh = f"n{fresh}", fresh + 1
                self._write(depth, f"{kept[node]}[{index}] = {code}")
            elif uses[node] > 1 and node.op not in ("repeat", "fill"):
                name = f"n{fresh}" if suffix == "a" else f"n{fresh}_{suffix}"
                self._write(depth, f"{name} = {code}")
                code, fresh = name, fresh + 1
            codes[node] = code
        return [codes[node] if node.per is Per.ACTION else self._scalar(node) for node in outputs]

    def _expression(self, node: Node, codes: Mapping[Node, str]) -> str:
        args = [codes[arg] if arg in codes else self._scalar(arg) for arg in node.args]
        if node.op in ("maximum", "minimum") and node.args[1].is_constant:
            sign = "<" if node.op == "maximum" else ">"
            return f"({args[1]} if {args[0]} {sign} {args[1]} else {args[0]})"
        return ELEMENTWISE[node.op].code.format(*args)

    # Searches and sorting

    def _root(self, node: Node, depth: int) -> None:
        *starts, iterate, step = node.args
        dependent = [n for n in nodes_of([step]) if iterate in self._bound[n]]
        for inner in dependent:  # another search may have named the same steps
            self._names.pop(inner, None)
        needed = [arg for n in dependent for arg in n.args if not self._bound[arg]]
        self._keep([arg for arg in needed if arg.op not in ("repeat", "fill")], depth)
        position = next(self._variables)
        self._names[node] = self._names[iterate] = position
        ends = [position] if len(starts) == 1 else [f"{position}_low", f"{position}_high"]
        for name, start in zip(ends, starts, strict=True):
            self._write(depth, f"{name} = {self._scalar(start)}")
        middle = f"{position} = 0.5 * ({' + '.join(ends)})"
        bisects = len(starts) == 2
        steps = node.detail if bisects else _ROOT_STEPS
        self._write(depth, f"for _ in range({steps}):")
        if bisects:
            self._write(depth + 1, middle)
        self._region(dependent, [], depth + 1)
        move = self._scalar(step)
        if bisects:
            low, high = ends
            self._write(depth + 1, f"{low} = ({position} if {move} else {low})")
            self._write(depth + 1, f"{high} = ({high} if {move} else {position})")
            self._write(depth, middle)
        else:
            bound = f"{node.detail!r} * (1.0 + {position})" if node.detail else "0.0"
            self._write(depth + 1, f"{position} += {move}")
            self._write(depth + 1, f"if not {move} > {bound}:\n    break")

    def _keep(self, nodes: Iterable[Node], depth: int) -> None:
        """Write the loop that stores nodes by action in workspace arrays."""
        new = [n for n in nodes if n.per is Per.ACTION and n not in self._stored]
        new = [n for n in new if n.op not in ("input", "array")]
        kept = {n: name for n in dict.fromkeys(new) if (name := next(self._free, None))}
        if kept:
            self._start_cumulations(self._inside(kept), depth)
            self._write(depth, "for a in range(first, last):")
            self._body(list(kept), "a", depth + 1, kept)
            self._stored.update(kept)

    def _sort(self, node: Node, depth: int) -> None:
        """Write the loops over all pairs of actions of a block."""
        self._keep([arg for arg in node.args if arg.op != "rank"], depth)
        name = next(self._free)
        codes = [self._stored.get(arg) or self._names[arg] for arg in node.args]
        update = SORTING[node.op].format(*codes)
        self._write(depth, "for a in range(first, last):\n    x = 0.0")
        self._write(depth, f"    for b in range(first, last):\n        x = {update}")
        self._write(depth, f"    {name}[a] = x")
        self._stored[node] = name
