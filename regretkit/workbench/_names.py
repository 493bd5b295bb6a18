"""Names of algorithms and games: in the library, in modules and files, and in grids."""

import ast
import importlib
import inspect
import itertools
import operator
import re
import sys
import traceback
import types
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from attrs import evolve

from regretkit._util._errors import reason
from regretkit._util._validate import quote
from regretkit.games import ExtensiveFormGame, Game, History, Rules, load, load_rules
from regretkit.minimizer import RegretMinimizer, make_fields
from regretkit.play import Algorithm, Alternating, Power, Simultaneous, named
from regretkit.sets import Simplices

_MOST = 10_000
"""Most points of a grid."""
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER}):({_NUMBER}):({_NUMBER})")
_ORDERS = {"alternating": Alternating(), "simultaneous": Simultaneous()}

# Grids


def expand(text: str) -> list[str]:
    """Return one text for each point of a grid.

    An argument may have several values, as ``2|4``, or a range, as ``1:3:0.5`` for 1 to 3 in steps
    of 0.5.

    Examples
    --------
    >>> expand("dcfr(alpha=1:2:0.5,gamma=2|4)")[:3]
    ['dcfr(alpha=1,gamma=2)', 'dcfr(alpha=1,gamma=4)', 'dcfr(alpha=1.5,gamma=2)']
    """
    place, _, arguments = text.strip().partition("(")
    if not re.search("[|:]", arguments) or not arguments.endswith(")"):
        return [text.strip()]
    choices = []
    for word in split(arguments[:-1], ","):
        name, equals, values = word.rpartition("=")
        choices.append([f"{name}{equals}{value}" for value in _values(values.strip(), text)])
    points = itertools.islice(itertools.product(*choices), _MOST + 1)
    found = [f"{place}({','.join(point)})" for point in points]
    if len(found) > _MOST:
        raise ValueError(f"{quote(text)} has more than {_MOST:,} points")
    return found


def _values(text: str, whole: str) -> Iterator[str]:
    for value in split(text, "|"):
        found = _RANGE.fullmatch(value)
        if found is None:
            if not value or re.fullmatch(r"[-+.\deE]*(:[-+.\deE]*)+", value):
                wanted = "a range must be first:last:step, as in alpha=1:3:0.5"
                raise ValueError(f"{quote(whole)}: cannot read {quote(value)}; {wanted}")
            yield value
            continue
        first, last, step = map(Decimal, found.groups())
        points = int((last - first) / step) + 1 if step and (last - first) / step >= 0 else 0
        if not points:
            raise ValueError(f"{quote(whole)}: the range {quote(value)} has no points")
        yield from (f"{(first + n * step).normalize():f}" for n in range(min(points, _MOST + 1)))


def split(text: str, sign: str) -> list[str]:
    """Return the stripped parts of a text between signs outside brackets."""
    words, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == sign and depth <= 0:
            words.append("")
        else:
            words[-1] += letter
    return [word.strip() for word in words]


def parsed(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the name, the positional and the keyword arguments of a call.

    An argument is a Python literal, or else a string, as in ``sampling=outcome``.
    """
    place, bracket, arguments = text.strip().partition("(")
    source = f"f({arguments if bracket else ')'}"
    try:
        call = ast.parse(source, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"cannot read {quote(text)}: {error.msg}") from error
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError(f"must be a name with arguments, got {quote(text)}")

    def value(node: ast.expr) -> Any:
        try:
            return ast.literal_eval(node)
        except ValueError:
            return ast.get_source_segment(source, node)

    given = {str(keyword.arg): value(keyword.value) for keyword in call.keywords}
    return place.strip(), [value(node) for node in call.args], given


# Modules and files

_FILES: dict[Path, tuple[bytes, types.ModuleType]] = {}
"""The content and the module of each file that this process ran."""


def is_own(text: str) -> bool:
    """Return whether a text is ``module:Name`` or ``file.py:Name``."""
    return ":" in text.partition("(")[0] and not text.startswith("openspiel:")


def short(text: str) -> str:
    """Return a text without its file or module."""
    place, bracket, arguments = text.partition("(")
    return f"{place.rpartition(':')[2].strip()}{bracket}{arguments}" if is_own(text) else text


def source_of(text: object) -> bytes | None:
    """Return the content of the file in ``file.py:Name``, or None without a file."""
    path = file_of(text) if isinstance(text, str) else None
    return None if path is None else path.read_bytes()


def file_of(text: str) -> Path | None:
    """Return the path of the file in ``file.py:Name``, or None without a file."""
    file = text.partition("(")[0].rpartition(":")[0].strip()
    return Path(file).resolve() if file.endswith(".py") else None


def _object(place: str, source: bytes | None) -> Any:
    """Return the object of ``module:Name``, or of ``file.py:Name`` with this source."""
    module, _, name = map(str.strip, place.rpartition(":"))
    if not module or not name:
        raise ValueError(f"must be module:Name or file.py:Name, got {quote(place)}")
    path = file_of(place)
    folder = str(Path.cwd() if path is None else path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # stays: rules may import modules later
    if path is not None and source is None:
        source = path.read_bytes()
    try:
        with redirect_stdout(sys.stderr):  # standard output holds only results
            if path is None or source is None:
                loaded = importlib.import_module(module)
            else:
                loaded = _run_file(path, source)
        return operator.attrgetter(name)(loaded)
    except (Exception, SystemExit) as error:
        raise ValueError(located(error, place)) from error


def _run_file(path: Path, source: bytes) -> types.ModuleType:
    """Return the module of a file with this content; run the file if the content is new.

    Unlike an import, the module corresponds to exactly these bytes, and cannot shadow another one.
    """
    if path not in _FILES or _FILES[path][0] != source:
        module = types.ModuleType(path.name)
        module.__file__ = str(path)
        sys.modules[path.name] = module  # dataclasses resolve annotations there
        exec(compile(source, str(path), "exec"), vars(module))
        _FILES[path] = source, module
    return _FILES[path][1]


def imports_beside(path: Path) -> bool:
    """Return whether other modules of the file's folder are imported."""
    main = getattr(sys.modules["__main__"], "__file__", None)
    files = [getattr(module, "__file__", None) for module in [*sys.modules.values()]]
    others = {Path(f) for f in files if f and "site-packages" not in f and f != main}
    return any(other != path and other.is_relative_to(path.parent) for other in others)


def located(error: BaseException, name: str) -> str:
    """Return the message of an error in a user's code, with the line that raised it."""
    if isinstance(error, SyntaxError):
        return f"{name} {Path(error.filename or '?').name}, line {error.lineno}: {error.msg}"
    library, place = (str(Path(__file__).parents[1]), "<", sys.base_prefix, sys.prefix), ""
    for frame in traceback.extract_tb(error.__traceback__):
        if not frame.filename.startswith(library) and "site-packages" not in frame.filename:
            place = f" ({Path(frame.filename).name}, line {frame.lineno}, in {frame.name})"
    return f"{name} failed with {type(error).__name__}: {reason(error)}{place}".lstrip()


# Algorithms and games


def algorithm_of(text: str, source: bytes | None = None) -> Algorithm:
    """Return the algorithm of an expression, such as ``dcfr(alpha=2,gamma=4)``.

    The text names an algorithm, or a rule or algorithm as ``my_rule.py:MyRule`` or
    ``module:Class``. Its arguments are hyperparameters of the rule, and three of the algorithm:
    ``gamma`` is the power of the averaging weights, ``order`` is ``alternating`` or
    ``simultaneous``, and ``sampling`` is that of ``solve``. ``source`` is the content of the file,
    by default read from disk.

    Examples
    --------
    >>> algorithm_of("dcfr(gamma=4)").averaging
    Power(power=4)
    >>> algorithm_of("mccfr(sampling=outcome)").sampling
    'outcome'
    """
    place, positional, given = parsed(text)
    if positional:
        raise ValueError(f"{quote(text)}: arguments need names, as in (alpha=1.5)")
    base = named(_object(place, source) if is_own(text) else place)
    listed = isinstance(base.local, tuple)
    rules: Any = base.local if isinstance(base.local, tuple) else (base.local,)
    known = set[str]().union(*map(_hyperparameters, rules))
    if "gamma" in given and "gamma" not in known:
        base = evolve(base, averaging=Power(given.pop("gamma")))
    if "sampling" in given and "sampling" not in known:
        base = Algorithm(base, sampling=given.pop("sampling"))
    if "order" in given and "order" not in known:
        if (order := given.pop("order")) not in _ORDERS:
            raise ValueError(f"{quote(text)}: order must be {' or '.join(_ORDERS)}, got {order}")
        base = evolve(base, order=_ORDERS[order])
    if unknown := sorted(given.keys() - known):
        names = ", ".join(sorted({*known, "gamma", "order", "sampling"}))
        raise ValueError(f"{quote(text)}: there is no hyperparameter {unknown[0]}, only {names}")
    bound = []
    for rule in rules:
        own = {name: value for name, value in given.items() if name in _hyperparameters(rule)}
        bound.append(partial(rule, **own) if own else rule)
        if own or is_own(text):
            _check(bound[-1], text)
    return evolve(base, local=tuple(bound) if listed else bound[0]) if given else base


def _hyperparameters(rule: Any) -> set[str]:
    """Return the names of a rule's arguments, without its simplices."""
    if isinstance(rule, type) and issubclass(rule, RegretMinimizer):
        make_fields(rule)
    try:
        parameters = inspect.signature(rule).parameters.values()
    except ValueError:  # some built-in classes have no signature
        return set()
    kinds = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return {p.name for n, p in enumerate(parameters) if n and p.kind in kinds}


def _check(rule: Any, text: str) -> None:
    """Build a rule once, so that invalid arguments fail before a run."""
    try:
        made = rule(Simplices([2, 3]))
    except (Exception, SystemExit) as error:
        raise ValueError(located(error, text)) from error
    if not isinstance(made, RegretMinimizer):
        raise TypeError(f"{text} must return a minimizer, got {quote(made)}")


def load_game(text: str, source: bytes | None = None, or_rules: bool = False) -> Any:
    """Return the game of a name for ``games.load``, or of ``file.py:Name``.

    ``Name`` may be a game, its rules, or a function or class that returns one of these, with
    arguments. A tree that does not fit into memory raises a MemoryError, or with ``or_rules`` the
    result is the rules, if there are any.
    """
    own = is_own(text)
    made = _made(text, source) if own else None
    try:
        if isinstance(made, Rules):
            return ExtensiveFormGame.from_rules(made, name=text)
        if isinstance(made, History):
            return ExtensiveFormGame.from_history(made, name=text)
        return made if own else load(text)
    except MemoryError:
        with suppress(ValueError):  # no rules
            if or_rules:
                return made or load_rules(text)
        raise


def _made(text: str, source: bytes | None) -> Any:
    place, positional, keywords = parsed(text)
    found = _object(place, source)
    if isinstance(found, type) or (callable(found) and not hasattr(found, "domains")):
        try:
            found = found(*positional, **keywords)
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:
            raise ValueError(located(error, text)) from error
    if not isinstance(found, Game | History | Rules):
        raise TypeError(f"{text} must be a game or return one, got {quote(found)}")
    return found
