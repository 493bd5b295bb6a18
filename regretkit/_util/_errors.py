"""Errors with fields, for callers that word the advice differently."""

import functools
import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

Error = TypeVar("Error", bound=Exception)
Function = TypeVar("Function", bound=Callable[..., Any])


def says_arguments(function: Function) -> Function:
    """Have a function, or a class, say its arguments when it is called with others."""
    if isinstance(function, type):
        initialize: Any = vars(function)["__init__"]
        kind: Any = function
        kind.__init__ = says_arguments(initialize)
        return cast("Function", kind)

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except TypeError as error:
            trace = error.__traceback__
            if trace is not None and trace.tb_next is None:  # the function has not begun
                empty, signature = inspect.Parameter.empty, inspect.signature(function)
                bare = [
                    each.replace(annotation=empty, default=empty)
                    for each in signature.parameters.values()
                    if each.name != "self"
                ]
                hint = _CALLS.get(function.__qualname__, "")
                error.add_note(f"its arguments are {inspect.Signature(bare)}{hint}")
            raise

    return cast("Function", call)


def printable(text: str) -> str:
    """Return text with escapes for control characters, surrogates and the like."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def advised(
    kind: type[Error], problem: str, advice: str, *, joint: str = "; ", argument: str = ""
) -> Error:
    """Return an error that ends in advice about what to pass in Python.

    Its field ``problem`` is the message without the advice, and its field ``argument`` names the
    argument that caused it, where one did. The class stays the built-in one.
    """
    error = kind(f"{problem}{joint}{advice}")
    vars(error).update(problem=problem, argument=argument)
    return error


def problem_of(error: BaseException) -> str:
    """Return what an error says, without advice about arguments in Python."""
    problem: str = getattr(error, "problem", str(error))
    return problem


def reason(error: BaseException) -> str:
    """Return the message of an error without advice for Python, or its class, and its notes."""
    if isinstance(error, OSError) and error.strerror:
        location = f"{str(error.filename)!r}: " if error.filename is not None else ""
        return f"{location}{error.strerror}"
    problem = problem_of(error) or type(error).__name__
    return "; ".join([problem, *getattr(error, "__notes__", ())])


def argument_of(error: BaseException) -> str:
    """Return the name of the argument that caused an error, empty where it is unknown."""
    argument: str = getattr(error, "argument", "")
    return argument


_CALLS = {
    "Average.add": "; weights are those of a scheme, as in Average(Linear())",
    "Comparison.plot": "; plot().savefig(path) writes it",
    "Recorder.__init__": "; several are a list, as in Recorder(['nash_conv', 'seconds'])",
    "RegretMinimizer.observe_utility": ": a number for each action, played or not",
    "SelfPlay.__init__": "; who learns when is an order, as in order=Alternating()",
    "convergence": "; the axes that it returns have the lines, as in ax.lines[0].set_color('red')",
    "nash_equilibria": "; two matrices are one game, NormalFormGame(A, B)",
}
"""What to write in place of wrong arguments, by the function's name."""

OF_THE_CALLER = (
    "utilities and strategies belong to the caller; write utility = utility - x, a new array, in "
    "place of utility -= x"
)
"""What is said of code that writes to them."""

MIXES = " mixes the blocks"
"""What is said of a rule's code that is no rule at each decision point."""

STRATEGIES = {"averag|avg|polic|strateg|profile": "strategies are in average and in current"}
"""The hint about attributes of runs."""

RUNS = STRATEGIES | {
    "value|util|payoff": "the values of the players are game.value(run.average)",
    "regret": "minimizers hold them, as in run.minimizers[0]['K'].state in a tree",
    "train|solve|iterate|play|step|fit|resume|continue": "it is continued by run(iterations)",
}
"""The hints about attributes of runs with a tree."""

GAMES = {
    "save|write|to_": "games.save(game, path) writes it",
    "solve|play|run|train": "it is played by solve(game, 'cfr+', iterations=1000)",
    "nash|exploit|gap": "as a function: nash_conv(game, profile), exploitability(...)",
    "best|respon": "as a function: evaluation.best_response(game, player, profile)",
    "uniform": "uniform strategies are games.Profile.uniform(game)",
}
"""The hints about attributes of games."""

TABLES = {
    "pandas|frame|df": "a pandas table is to_dataframe()",
    "save": "a figure is saved by plot().savefig(path), a table by to_csv(path)",
}
"""The hint about attributes of what can be written as a table."""

REGRETS = {
    "regret": "regrets are external(minimizer), internal(minimizer), swap(minimizer)",
    "trigger|gap|ef?c?ce": "gaps are measured by CorrelatedPlay(game, ['efce']), a callback",
}
"""The hint about attributes of ledgers."""

PLAY = {
    "distrib|joint|outcome": "in a callback, sum up the outer products of run.last_profile",
    "nfcce": "what fixed strategies gain, to an NFCCE, is cce_gaps()",
    "value|earn": "what each player earned is payoffs()",
    "nash|exploit": "it is a measure of averages, nash_conv(game, run.average)",
}
"""The hints about attributes of correlated play."""

OPTIMA = {
    "strateg|polic|profile|averag|draw|sampl|distrib": "plan.draw(generator) draws strategies"
}
"""The hint about attributes of optimal equilibria of trees."""

PLANS = {"sampl|strateg|polic|profile|distrib": "draw(generator) draws strategies"}
EXACT = {
    "strateg|polic|averag|equilib": "the strategies are in profile",
    "nash|exploit|conv": "the sum of both gains is gap",
}
VISITED = {
    "item|key|value|dict|get": "iterate over it, and call it with an information set and its "
    "actions; run.average.profile prints all"
}
"""The hints about attributes of joint plans, exact solutions and visited strategies."""


class Hints:
    """Objects that say what to write in place of an attribute that they do not have."""

    __slots__ = ()

    _hints: ClassVar[Mapping[str, str]] = {}
    """By a pattern of the attribute's name; where none matches, a name that is close is told."""

    if not TYPE_CHECKING:  # which would take any name for an attribute

        def __getattr__(self, name):
            if name.startswith("_") or hasattr(type(self), name):
                return object.__getattribute__(self, name)  # which raises its own error
            raise _AbsentError(self, name)


class _AbsentError(AttributeError):
    """The error about an attribute that is missing; ``hasattr`` takes no time for its hint."""

    def __init__(self, thing: Hints, name: str) -> None:
        super().__init__()
        self._missing = thing, name

    def __str__(self) -> str:
        from regretkit._util._validate import did_you_mean  # not at the top: it imports NumPy

        thing, name = self._missing
        every = {**thing._hints, "plot|draw|heat": "figures are in regretkit.display"}
        hints = (f"; {hint}" for part, hint in every.items() if re.search(part, name))
        public = [known for known in dir(thing) if not known.startswith("_")]
        initial = [known for known in public if known[0] == name[0]]  # nfcce is not efcce
        slip = did_you_mean(name, initial, 0.9)  # one letter
        hint = slip or next(hints, "") or did_you_mean(name, public)
        return f"{type(thing).__name__!r} object has no attribute {name!r}{hint}"


_AbsentError.__name__ = _AbsentError.__qualname__ = "AttributeError"
_AbsentError.__module__ = "builtins"


@functools.cache
def warn_once(text: str) -> None:
    """Warn at the first call with this text."""
    warn(text)


def warn(text: str) -> None:
    """Warn at the line from which this library was called."""
    frame, level = inspect.currentframe(), 1
    # Functions that attrs has made have no module.
    while frame and frame.f_globals.get("__name__", "regretkit.").startswith("regretkit."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, RuntimeWarning, stacklevel=level)
