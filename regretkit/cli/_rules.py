"""User-defined rules and algorithms, named as ``module:Class``."""

import ast
import importlib
import inspect
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias, cast

from regretkit._util._validate import quote
from regretkit.cli._exit_codes import Refusal, reason
from regretkit.minimizer import RegretMinimizer
from regretkit.play import Algorithm

Rule: TypeAlias = Algorithm | Callable[..., RegretMinimizer]


def load_rule(text: str, argument: str = "--rule") -> Rule:
    """Return the object that ``module:Class`` names, with the arguments in parentheses bound."""
    place, parenthesis, arguments = text.partition("(")
    module_name, colon, name = place.partition(":")
    stem, wanted = module_name, ""
    if not colon or not module_name or not name.strip():
        stem, name, wanted = "my_rules", name or text, "be module:Class"
    elif module_name.endswith(".py") or "/" in module_name:
        stem, wanted = Path(module_name).stem, "name a module of this folder and not a file"
    if wanted:
        raise Refusal(f"{argument}: must {wanted}, got {quote(text)}; write {stem}:{name}")
    rule = _attribute(_imported(module_name, text, argument), name.strip(), text, argument)
    if not parenthesis:
        return cast(Rule, rule)
    if isinstance(rule, Algorithm):
        raise Refusal(f"{argument}: {place} is an Algorithm already, got {quote(text)}")
    return _with_arguments(rule, arguments, text, argument)


def _imported(name: str, text: str, argument: str) -> ModuleType:
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
        if missing is not None and f"{name}.".startswith(f"{missing}."):
            raise Refusal(
                f"{argument}: there is no module {quote(missing)} for {quote(text)}, neither in "
                f"{folder} nor installed; go to the folder that contains it"
            ) from error
        raise Refusal(f"{argument}: {rule_error(error, name)}") from error


def _attribute(module: ModuleType, name: str, text: str, argument: str) -> Any:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            names = [word for word in vars(module) if not word.startswith("_")]
            raise Refusal(
                f"{argument}: module {module.__name__} ({getattr(module, '__file__', 'built in')}) "
                f"has no {quote(name)}; it has {', '.join(names[:12]) or 'nothing'}"
            )
        found = getattr(found, part)
    if isinstance(found, RegretMinimizer):
        raise Refusal(
            f"{argument}: {quote(text)} is a minimizer already, and each player needs its own; "
            "name its class, or a function that returns one"
        )
    if not callable(found) and not isinstance(found, Algorithm):
        raise Refusal(
            f"{argument}: {quote(text)} is {quote(found)}, and neither a class nor a function nor "
            "an Algorithm; name one that returns a minimizer"
        )
    if isinstance(found, type) and inspect.isabstract(found):
        missing = ", ".join(sorted(getattr(found, "__abstractmethods__", ())))
        raise Refusal(
            f"{argument}: {quote(text)} is abstract, it lacks {missing}; write these first"
        )
    return found


def _with_arguments(
    rule: Any, arguments: str, text: str, argument: str
) -> Callable[..., RegretMinimizer]:
    try:
        call = ast.parse(f"f({arguments}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
            raise ValueError(text)
        values = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise Refusal(
            f"{argument}: arguments must be literals with their names, as in (power=2), got "
            f"{quote(text)}"
        ) from error
    try:
        known = inspect.signature(rule).parameters
    except ValueError:
        return partial(rule, **values)
    takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values())
    unknown = [word for word in values if word not in known]
    if unknown and not takes_all:
        raise Refusal(
            f"{argument}: {quote(text)} has no argument {quote(unknown[0])}; it has "
            f"{', '.join(known) or 'none'}"
        )
    return partial(rule, **values)


def rule_error(error: BaseException, rule: str) -> str:
    """Return the message of an error in a user's code, with the line that raised it."""
    if isinstance(error, SyntaxError):
        return f"{rule}: {Path(error.filename or '?').name}, line {error.lineno}: {error.msg}"
    library = str(Path(__file__).parents[1])
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((library, "<", sys.prefix))
        and "site-packages" not in frame.filename
    ]
    where = ""
    if frames:
        last = frames[-1]
        where = f" ({Path(last.filename).name}, line {last.lineno}, in {last.name})"
    return (
        f"{rule} failed with {type(error).__name__}: {reason(error)}{where}; "
        "--traceback shows all of it"
    )
