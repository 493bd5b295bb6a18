"""Random rules over simplices, written as NumPy source: expression trees of all that a rule may do.

``random_rule(seed)`` returns the source of ``_propose`` and ``_learn`` of one, and its class.
"""

import math
import random
from functools import cache

import numpy as np
from attrs import make_class

import regretkit as rk

NUMBERS = ("0.5", "2.0", "0.25", "-1.0", "1.5", "3", "0.1")
ELEMENTWISE = (
    *("np.abs({0})", "-{0}", "np.exp(np.minimum({0}, 3.0))", "np.sqrt(np.abs({0}))", "{0} ** 2"),
    *("np.tanh({0})", "np.sign({0})", "np.log1p(np.abs({0}))", "np.square({0})", "{0}.clip(-1, 1)"),
    *("np.clip({0}, -2.0, 2.0)", "np.maximum({0}, 0)", "np.floor({0})", "np.abs({0}) ** 0.75"),
    *("({0} > 0) * {0}", "abs({0})", "np.arctan({0})", "np.expm1(np.minimum({0}, 2.0))"),
    *("np.where({0} < 0, 0.0, {0})", "np.nan_to_num({0})", "np.clip({0}, 0, None)", "{0}.copy()"),
    *("np.sin({0})", "np.fmax({0}, 0.125)", "np.ceil({0})", "np.log(np.abs({0}) + 1)"),
)
PAIRS = (
    *("{0} + {1}", "{0} - {1}", "{0} * {1}", "np.maximum({0}, {1})", "np.minimum({0}, {1})"),
    *("{0} / (np.abs({1}) + 1)", "np.hypot({0}, {1})", "np.add({0}, {1})", "({0} > {1}) * 1.0"),
    *("({0} >= {1}).astype(float) - ({0} < {1})", "np.where({0} > {1}, {1}, {0})"),
    *("np.divide({0}, {1}, out=np.zeros_like({1}), where={1} != 0)", "{0} % (np.abs({1}) + 1)"),
)
BY_ACTION = (
    *("simplices.normalize(np.maximum({0}, 0.0))", "simplices.softmax({0})", "simplices.uniform()"),
    *("simplices.softmax({0}, {n})", "simplices.project({0})", "simplices.cumulate({0})"),
    *(
        "simplices.best_response({0})[1]",
        "simplices.regret({0}, simplices.softmax({1}))",
        "simplices.add({0}, {1})",
    ),
    *("simplices.repeat({b})", "simplices.repeat({b})", "simplices.normalize(np.abs({0}))"),
    *("{0} - simplices.repeat(simplices.max({0}))", "simplices.repeat({b}) * {0}"),
    "simplices.regret({0}, simplices.normalize(np.abs({1})))",
    *("simplices.sort({0})[0]", "{1}[simplices.sort({0})[1]]"),
)
BY_BLOCK = (
    *("simplices.sum({a})", "simplices.dot({a}, {c})", "simplices.max({a})", "simplices.norm({a})"),
    *(
        "simplices.expectation({a}, simplices.softmax({c}))",
        "simplices.sizes * 1.0",
        "simplices.max({a})",
    ),
    *("simplices.sum({a} * {c})", "np.log(simplices.sizes)", "simplices.sum({a} ** 2)"),
)
OF_ITERATION = (
    *("(self.iteration + 1)", "math.sqrt(self.iteration + 1)", "(self.iteration + 1) ** -0.5"),
    *("1.0 / (self.iteration + 2)", "self.iteration % 3", "np.sqrt(self.iteration)"),
    *("self.rate ** (self.iteration + 1)", "math.log(self.iteration + 2)", "self.iteration // 2"),
    *("(self.iteration + 1) ** self.rate", "math.exp(-self.iteration)", "self.rate"),
    *("np.log1p(self.iteration)", "(0.5 if self.iteration < 3 else 0.25)"),
    *("min(1.0, 2.0 / (self.iteration + 1))", "max(self.iteration, 1) ** 1.5", "self.halved"),
)
CONDITIONS = (
    *("self.iteration % 3 == 0", "self.iteration >= 2", "not self.iteration", "self.rate > 0.6"),
    *("(self.iteration + 1) % 2 == 0 and self.iteration > 1", "0 < self.iteration <= 3"),
)
ROOT = (
    "simplices.newton(np.ones(simplices.blocks), lambda x: np.maximum("
    "simplices.sum((simplices.repeat(x) + np.abs({a})) ** -2) - 1.0, 0.0) "
    "/ (2.0 * simplices.sum((simplices.repeat(x) + np.abs({a})) ** -3)))"
)


class Writer:
    """Writes random functions, a line at a time."""

    def __init__(self, seed, actions, blocks):
        self.random = random.Random(seed)
        self.states = {"action": [f"self.a{k}" for k in range(actions)]}
        self.states["block"] = [f"self.b{k}" for k in range(blocks)]
        self.lines, self.count = [], 0

    def begin(self, header, by_action):
        self.lines.append(header)
        self.names = {
            "action": [*self.states["action"] * 2, *by_action],
            "block": [*self.states["block"] * 3],
        }
        self.write("simplices = self.simplices")

    def write(self, line, depth=1):
        self.lines.append("    " * depth + line)

    def one_of(self, *choices):
        return self.random.choice(choices)

    # Expressions

    def number(self):
        if self.random.random() < 0.5:
            return self.one_of(*NUMBERS)
        return self.one_of(*OF_ITERATION)

    def expression(self, kind, depth):
        names = self.names[kind]
        if depth == 0 or self.random.random() < 0.1:
            if names and self.random.random() < 0.9:
                return self.one_of(*names)
            return "self.prior" if kind == "action" else "(simplices.sizes * 0.5)"
        p = self.random.random()
        if p < 0.25:
            return self.fill(self.one_of(*ELEMENTWISE), kind, depth - 1)
        if p < 0.45:
            return self.fill(self.one_of(*PAIRS), kind, depth - 1)
        if p < 0.6:
            operation = self.one_of("{0} * {n}", "{0} + {n}", "{n} - {0}", "{0} / ({n} + 4.5)")
            return self.fill(operation, kind, depth - 1)
        if p < 0.68:
            mask = self.mask(kind, depth - 1)
            return f"np.where{self.fill(f'{mask}, {{0}}, {{1}}', kind, depth - 1)}"
        if kind == "block" and p < 0.7:
            return ROOT.replace("{a}", self.expression("action", 0))
        return self.fill(
            self.one_of(*(BY_ACTION if kind == "action" else BY_BLOCK)), kind, depth - 1
        )

    def fill(self, template, kind, depth):
        given = {"a": ("action", depth), "c": ("action", depth), "b": ("block", depth)}
        values = {
            name: self.expression(*of) for name, of in given.items() if f"{{{name}}}" in template
        }
        arguments = [
            self.expression(kind, depth) if f"{{{k}}}" in template else "" for k in range(2)
        ]
        return "(" + template.format(*arguments, n=self.number(), **values) + ")"

    def mask(self, kind, depth):
        one = self.expression(kind, depth)
        template = self.one_of(
            *("({0} > 0)", "({0} <= {1})", "({0} < {n})", "~({0} >= {n})", "({0} != 0)"),
            *("(({0} > 0) & ({1} < 1))", "(({0} < 0) | ({1} > {n}))", "np.isfinite({0})"),
            *("np.logical_and({0} > 0, {1} > 0)", "(({0} > 0) ^ ({1} > 0))"),
        )
        return template.format(one, self.expression(kind, depth), n=self.number())

    # Statements

    def local(self, kind, depth, indent=1):
        name = f"x{self.count}"
        self.count += 1
        self.write(f"{name} = {self.expression(kind, depth)}", indent)
        if indent == 1:
            self.names[kind].append(name)
        return name

    def change(self, target, kind, depth, indent=1):
        """Write a statement that changes an array in place or, where it is an attribute, anew."""
        forms = [
            *("{t} += {e}", "{t} -= {e}", "{t} *= {n}", "{t} /= (1.0 + np.abs({e}))"),
            *("np.maximum({t}, {e}, out={t})", "{t}[{t} < 0] = 0", "{t}[{m}] *= {n}"),
            *("np.copyto({t}, {e}, where={m})", "{t}[:] = {e}", "{t}.fill({n})"),
            *("np.clip({t}, -1.0, {n}, out={t})", "np.add({t}, {e}, out={t})"),
            *("np.multiply({t}, {e}, out={t}, where={m})", "{t}[{m}] = {n}"),
            *("m = {m}\n{t}[m] = {e}[m]", "m = {m}\n{t}[m] += {e}[m]", "{t}[{m}] -= 0.25"),
        ]
        if target.startswith("self."):
            forms += ["{t} = {e}.copy()", "{t} = ({e}).copy()", "{t} = {t} + {e}"] * 3
        values = {"t": target, "e": "", "m": "", "n": self.number()}
        form = self.one_of(*forms)
        if "{e}" in form:
            values["e"] = f"({self.expression(kind, depth)})"
        if "{m}" in form:
            values["m"] = self.mask(kind, min(depth, 1))
        for line in form.format(**values).split("\n"):
            self.write(line, indent)

    def statement(self, depth):
        kind = self.one_of("action", "action", "block") if self.states["block"] else "action"
        p = self.random.random()
        if p < 0.25:
            self.local(kind, depth)
        elif p < 0.35:  # an array of its own, and one more name for it
            name = self.local(kind, depth)
            self.write(f"{name} = np.zeros_like({name}) + {name}")
            self.write(f"y = {name}")
            self.change("y", kind, depth)
        elif p < 0.45:
            self.write(f"if {self.one_of(*CONDITIONS)}:")
            for _ in range(self.random.randint(1, 2)):
                self.change(self.one_of(*self.states[kind]), kind, depth, 2)
            if self.random.random() < 0.5:
                self.write("else:")
                self.change(self.one_of(*self.states[kind]), kind, depth, 2)
        elif p < 0.5 and len(self.states["action"]) > 1:
            self.write("self.a0, self.a1 = self.a1, self.a0")
        elif p < 0.55:
            name = self.one_of(*self.states["action"])
            self.write("for k in range(1, 3):")
            self.write(f"{name} += np.sin(k * {self.expression('action', 1)})", 2)
        else:
            self.change(self.one_of(*self.states[kind]), kind, depth)


@cache
def _family(actions, blocks):
    fields = {f"a{k}": rk.state(start=k % 2) for k in range(actions)}
    fields |= {f"b{k}": rk.state("block", start=k % 2) for k in range(blocks)}
    return make_class("Family", fields, bases=(rk.SimplexRule,), eq=False)


def random_rule(seed, depth=3):
    """Return the source of a random rule, and its class."""
    chosen = random.Random(seed)
    arrays = chosen.randint(1, 4)
    actions = chosen.randint(1, arrays)
    writer = Writer(seed + 1, actions, arrays - actions)
    writer.begin("def _propose(self):", [])
    for _ in range(chosen.randint(0, 2)):
        writer.local("action", 2)
    ends = ("simplices.normalize(np.maximum({0}, 0.0))", "simplices.softmax({0})")
    ends += ("simplices.project({0})", "simplices.normalize(np.abs({0}))", "1.0 * {0}")
    writer.write(f"return {writer.fill(writer.one_of(*ends), 'action', depth - 1)}")
    writer.begin("def _learn(self, utility, strategy):", ["utility"] * 3 + ["strategy"])
    writer.write("r = simplices.regret(utility, strategy)")
    writer.names["action"] += ["r"] * 3
    for _ in range(chosen.randint(1, 4)):
        writer.statement(depth - 1)
    source = "\n".join(writer.lines)
    namespace = {"np": np, "math": math}
    exec(compile(source, f"<random rule {seed}>", "exec"), namespace)
    members = {name: namespace[name] for name in ("_propose", "_learn")}
    members |= {"rate": chosen.choice([0.5, 0.75, 1.5]), "halved": property(_halved)}
    members |= {"__attrs_post_init__": _with_prior}
    return source, type("RandomRule", (_family(actions, arrays - actions),), members)


def _halved(self):
    return self.rate / 2


def _with_prior(self):
    rk.SimplexRule.__attrs_post_init__(self)
    self.prior = 1.0 + np.arange(self.dimension) % 3
