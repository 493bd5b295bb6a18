"""Texts that name algorithms, rules in files, and grids of hyperparameters."""

import ast
import importlib
import inspect
import itertools
import operator
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout, suppress
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from attrs import evolve

from regretkit._util._errors import reason
from regretkit._util._validate import quote
from regretkit.games._registry import _parsed
from regretkit.minimizer import RegretMinimizer, make_fields
from regretkit.play import Algorithm, Alternating, Power, Simultaneous, named

_MOST = 10_000
"""Points of a grid."""
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER}):({_NUMBER}):({_NUMBER})")
_BOUNDS = re.compile(rf"({_NUMBER})(?: *(?::|\.\.+|;| to ) *|-)({_NUMBER}):?")
"""What is meant for a range and has no step."""
_GRID = re.compile(rf"[|:]|= *{_BOUNDS.pattern} *[,)]")
_ORDERS = {"alternating": Alternating(), "simultaneous": Simultaneous()}

# Grids


def expand(text: str) -> list[str]:
    """Return the texts that one with alternatives stands for, one for each point of the grid.

    An argument may have several values, ``2|4``, or those of a range, ``1:3:0.5``: from 1 in steps
    of 0.5 up to 3.

    Raises
    ------
    ValueError
        When a range has no point, an alternative is empty, or there are too many.

    Examples
    --------
    >>> expand("dcfr(alpha=1:2:0.5,gamma=2|4)")[:3]
    ['dcfr(alpha=1,gamma=2)', 'dcfr(alpha=1,gamma=4)', 'dcfr(alpha=1.5,gamma=2)']
    """
    place, parenthesis, arguments = text.partition("(")
    if not parenthesis or not _GRID.search(arguments):
        return [text]
    if not arguments.rstrip().endswith(")"):
        raise ValueError(f"{quote(text)} has no closing parenthesis")
    choices, count = [], 1
    for word in split_at_commas(arguments.rstrip()[:-1]):
        name, equals, values = word.rpartition("=")
        choices.append([f"{name}{equals}{value}" for value in _values(values.strip(), text)])
        count *= len(choices[-1])
        if count > _MOST:
            raise ValueError(f"{quote(text)} has more than {_MOST:,} points; use larger steps")
    return [f"{place}({','.join(point)})" for point in itertools.product(*choices)]


def _values(text: str, whole: str) -> Iterator[str]:
    for value in split_at(text, "|"):
        if not value:
            raise ValueError(f"{quote(whole)} has a grid without points: a value is missing")
        found = _RANGE.fullmatch(value)
        if found is None:
            bounds = _BOUNDS.fullmatch(value)
            if bounds or re.fullmatch(r"[-+.\deE]*(:[-+.\deE]*)+", value):
                told = "a range is first:last:step, as in alpha=1:3:0.5"
                if bounds:
                    ends = [f"{float(end):g}" for end in bounds.groups()]
                    told = f"write {':'.join(ends)}:step, as in 1:3:0.5, or {'|'.join(ends)}"
                raise ValueError(f"{quote(whole)}: cannot read {quote(value)}; {told}")
            yield value
            continue
        first, last, step = map(Decimal, found.groups())
        points = int((last - first) / step) + 1 if step and (last - first) / step >= 0 else 0
        if not 0 < points <= _MOST:
            told = f"more than {_MOST:,} points" if points else "no points"
            raise ValueError(f"{quote(whole)}: the range {quote(value)} has {told}")
        yield from (f"{(first + n * step).normalize():f}" for n in range(points))


def split_at_commas(text: str) -> list[str]:
    """Split a text at the commas outside parentheses, and strip the parts."""
    return split_at(text, ",")


def split_at(text: str, sign: str) -> list[str]:
    """Split a text at a sign outside parentheses, and strip the parts."""
    words, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == sign and depth <= 0:
            words.append("")
        else:
            words[-1] += letter
    return [word.strip() for word in words]


# Algorithms


def algorithm_of(text: str) -> Algorithm:
    """Return the algorithm of an expression, such as ``dcfr(alpha=2,gamma=4)``.

    That is the name of an algorithm, or a rule or algorithm as ``my_rule.py:MyRule`` or
    ``module:Class``. Its arguments are hyperparameters of the rule; and ``gamma``, where the rule
    has none, the power with which the average weights iterations; ``order``, ``"alternating"`` or
    ``"simultaneous"``; and ``sampling``.

    Raises
    ------
    TypeError, ValueError
        When there is none of this name, a rule cannot be imported, or arguments do not fit.

    Examples
    --------
    >>> algorithm_of("dcfr(gamma=4)").averaging
    Power(power=4)
    >>> algorithm_of("mccfr(sampling=outcome)").sampling
    'outcome'
    """
    place, parenthesis, arguments = map(str.strip, text.partition("("))
    if place.endswith((".py", ".py:")):
        told = f"write {place.rstrip(':')}:MyRule"
        raise ValueError(f"{quote(text)} must name the class of a rule in the file; {told}")
    base = named(_rule_at(_module_of(place), text) if ":" in place else place)
    if parenthesis and not arguments.endswith(")"):
        raise ValueError(f"{quote(text)} has no closing parenthesis")
    words = split_at_commas(arguments[:-1]) if arguments[:-1].strip() else []
    given: dict[str, Any] = {}
    for word in words:
        name, _, value = map(str.strip, word.partition("="))
        if not value or not name.isidentifier() or name in given:
            told = f"each once with its name, as in {place}(alpha=1.5)"
            raise ValueError(f"{quote(text)}: arguments are given {told}, got {quote(word)}")
        try:
            given[name] = ast.literal_eval(value)
        except (SyntaxError, ValueError):
            given[name] = value
    return _with(base, given, text)


def _with(base: Algorithm, given: dict[str, Any], text: str) -> Algorithm:
    """Return an algorithm with other hyperparameters."""
    rules: Any = base.local if isinstance(base.local, tuple) else (base.local,)
    known = set[str]().union(*(_hyperparameters(rule) for rule in rules))
    if "gamma" in given and "gamma" not in known:
        base = evolve(base, averaging=Power(given.pop("gamma")))
    if "sampling" in given and "sampling" not in known:
        base = Algorithm(base, sampling=given.pop("sampling"))
    if "order" in given and "order" not in known:
        order = given.pop("order")
        if order not in _ORDERS:
            raise ValueError(
                f"{quote(text)}: order must be {' or '.join(_ORDERS)}, got {quote(order)}"
            )
        base = evolve(base, order=_ORDERS[order])
    if unknown := [name for name in given if name not in known]:
        raise ValueError(
            f"{quote(text)}: there is no hyperparameter {quote(unknown[0])}, only "
            f"{', '.join(sorted({*known, 'gamma', 'order', 'sampling'}))}"
        )
    bound: list[Any] = []
    for rule in rules:
        own = {name: x for name, x in given.items() if name in _hyperparameters(rule)}
        _check_arguments(rule, own, text)
        bound.append(partial(rule, **own) if own else rule)
    if not given:
        return base
    return evolve(base, local=tuple(bound) if isinstance(base.local, tuple) else bound[0])


def _hyperparameters(rule: Any) -> set[str]:
    """Return the names of what a rule takes beside its simplices."""
    try:
        parameters = inspect.signature(rule).parameters.values()
    except ValueError:  # some built-in classes have no signature
        return set()
    kinds = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return {p.name for n, p in enumerate(parameters) if n and p.kind in kinds}


def _module_of(place: str) -> str:
    """Return ``module:Class`` for ``folder/module.py:Class``, whose folder is then looked in."""
    file, _, name = place.rpartition(":")
    if not file.endswith(".py"):
        return place
    path = Path(file).resolve()
    if not path.is_file():
        raise ValueError(f"there is no file {quote(file)} for {quote(place)}")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))  # for good, because rules may import more later
    known = getattr(sys.modules.get(path.stem), "__file__", None) or str(path)
    if Path(known).resolve() != path:
        raise ValueError(
            f"{quote(place)}: another module {path.stem} was imported from {known}; give the file "
            "another name"
        )
    return f"{path.stem}:{name}"


def load_rule(text: str) -> Any:
    """Return the rule or algorithm that ``module:Class`` names, with its arguments bound."""
    place, parenthesis, arguments = text.partition("(")
    rule = _rule_at(place, text, with_arguments=bool(parenthesis))
    if isinstance(rule, Algorithm):
        return rule
    try:
        _, positional, keywords = _parsed(f"f({arguments}" if parenthesis else "f")
    except ValueError:
        positional, keywords = [None], {}
    if positional:
        raise ValueError(
            f"arguments must be literals with their names, as in (power=2), got {quote(text)}"
        )
    _check_arguments(rule, keywords, text)
    return partial(rule, **keywords) if keywords else rule


def _check_arguments(rule: Any, keywords: Mapping[str, Any], text: str) -> None:
    """Refuse arguments that a rule does not take, or lacks."""
    with suppress(ValueError):  # some built-in classes have no signature
        known = inspect.signature(rule)
        try:
            known.bind_partial(**keywords)  # names first what is not known, then what is missing
            known.bind(None, **keywords)
        except TypeError as error:
            names = ", ".join(known.parameters) or "none, but a rule takes simplices"
            place = text.partition("(")[0]
            advice = f"it has {names}, pass them as in '{place}(name=value)'"
            raise TypeError(f"{quote(text)} {error}; {advice}") from error


def _rule_at(place: str, text: str, *, with_arguments: bool = False) -> Any:
    """Return the rule or algorithm that ``module:Class`` names."""
    module, colon, name = map(str.strip, place.partition(":"))
    if not colon or not module or not name:
        wanted = f"{place.strip().removesuffix('.py')}:MyRule" if ".py" in place else ""
        dotted = "" if colon or "." not in place else ":".join(place.rsplit(".", 1))
        wanted = wanted or dotted or f"my_rules:{name or text}"
        raise ValueError(f"must be module:Class, got {quote(text)}; write {wanted}")
    if module.endswith(".py") or "/" in module:
        raise ValueError(
            f"must name a module of this folder and not a file, got {quote(text)}; write "
            f"{Path(module).stem}:{name}"
        )
    imported = _imported(module, text)
    try:
        rule = operator.attrgetter(name)(imported)
    except AttributeError as error:
        names = ", ".join([word for word in vars(imported) if not word.startswith("_")][:12])
        raise ValueError(
            f"module {module} ({getattr(imported, '__file__', 'built in')}) has no {quote(name)}; "
            f"it has {names or 'nothing'}"
        ) from error
    if problem := _problem(rule, with_arguments=with_arguments):
        raise ValueError(f"{quote(text)} is {problem}")
    if isinstance(rule, type) and issubclass(rule, RegretMinimizer):
        make_fields(rule)  # whose arguments are looked at before one is built
    return rule


def _imported(name: str, text: str) -> Any:
    """Import a module of the working folder or an installed one."""
    folder = "the working folder, which was deleted,"
    with suppress(FileNotFoundError):
        folder = str(Path.cwd())
        if folder not in sys.path:
            sys.path.insert(0, folder)  # for good, because rules may import more when they play
    try:
        with redirect_stdout(sys.stderr):  # standard output is for results
            return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is None or not f"{name}.".startswith(f"{missing}."):
            raise ValueError(rule_error(error, name)) from error
        raise ValueError(
            f"there is no module {quote(missing)} for {quote(text)}, neither in {folder} nor "
            "installed; go to the folder that contains it"
        ) from error


def _problem(rule: object, *, with_arguments: bool) -> str:
    """Return what an object is if it is no rule and no algorithm, else nothing."""
    if isinstance(rule, Algorithm):
        return "an Algorithm already, which takes no arguments" if with_arguments else ""
    if isinstance(rule, RegretMinimizer):
        return (
            "a minimizer already, and each player needs its own; name its class, or a function "
            "that returns one"
        )
    if not callable(rule):
        return (
            f"{quote(rule)}, and neither a class nor a function nor an Algorithm; name one that "
            "returns a minimizer"
        )
    missing = ", ".join(sorted(getattr(rule, "__abstractmethods__", ())))
    return f"abstract, it lacks {missing}; write these first" if missing else ""


def rule_error(error: BaseException, rule: str) -> str:
    """Return the message of an error in a user's code, with the line that raised it."""
    if isinstance(error, SyntaxError):
        return f"{rule}: {Path(error.filename or '?').name}, line {error.lineno}: {error.msg}"
    foreign, location = (str(Path(__file__).parents[1]), "<", sys.prefix), ""
    for frame in traceback.extract_tb(error.__traceback__):
        if not frame.filename.startswith(foreign) and "site-packages" not in frame.filename:
            location = f" ({Path(frame.filename).name}, line {frame.lineno}, in {frame.name})"
    return f"{rule} failed with {type(error).__name__}: {reason(error)}{location}"
