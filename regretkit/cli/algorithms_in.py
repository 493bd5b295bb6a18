"""Algorithms as a shell names them: by a name, or by a rule of one's own in a module."""

import ast
import importlib
import inspect
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from attrs import frozen

from regretkit._errors import argument_of
from regretkit._util._validate import quote
from regretkit.cli.exits import Failure, Refusal, reason
from regretkit.cli.recall import Found
from regretkit.minimizer import RegretMinimizer
from regretkit.play import ALGORITHMS, Algorithm, Estimator, SelfPlay, cfr, named

NAMES = ", ".join(ALGORITHMS)

DEFAULT = "cfr+"
"""What is played where neither an algorithm nor a rule is named."""

RULE_HELP = (
    "A rule is module:Class, with hyperparameters if you like, as in "
    "'my_rules:MyRule(power=2)'; modules are looked for in this folder too. It may also be a "
    "function from simplices to a minimizer, or an Algorithm."
)


@frozen
class Choice:
    """An algorithm, and the words that chose it."""

    name: str | None
    """One of ``ALGORITHMS``, or None."""
    rule: str | None
    """A rule of one's own, or None."""
    algorithm: Algorithm

    @property
    def label(self) -> str:
        """What to call it."""
        return " in ".join(filter(None, (self.rule, self.name)))


def chosen(name: str | None, rule: str | None, argument: str = "--rule") -> Choice:
    """Return the algorithm of a name, a rule's own, or one with a rule in another's place.

    A rule alone is played as CFR is: in turns, with the uniform average.
    """
    if rule is None:
        name = name or DEFAULT
        return Choice(name, None, _named(name))
    found = rule_of(rule, argument)
    if isinstance(found, Algorithm):
        if name is not None:
            raise Refusal(
                f"--rule: {quote(rule)} is an Algorithm, which has an order and an averaging of "
                f"its own, got --algorithm {name} as well; leave one of them out"
            )
        return Choice(None, rule, found)
    base = cfr if name is None else _named(name)
    algorithm = Algorithm(found, order=base.order, averaging=base.averaging)
    return Choice(name, rule, algorithm)


def _named(name: str, argument: str = "--algorithm") -> Algorithm:
    try:
        return named(name)
    except (TypeError, ValueError) as error:
        raise Refusal(f"{argument}: {error}") from error


def listed(texts: tuple[str, ...]) -> list[Choice]:
    """Return the algorithms of a list such as ``cfr+,dcfr,my_rules:MyRule(power=2)``."""
    words = [word.strip() for text in texts for word in split(text) if word.strip()]
    if not words:
        raise Refusal(f"--algorithms: got none; name some of {NAMES}, or module:Class")
    choices = []
    for word in dict.fromkeys(words):
        if ":" in word:
            choices.append(chosen(None, word, "--algorithms"))
        else:
            choices.append(Choice(word, None, _named(word, "--algorithms")))
    return choices


def split(text: str) -> list[str]:
    """Split a text at the commas that stand in no parentheses."""
    words, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth <= 0:
            words.append("")
        else:
            words[-1] += letter
    return words


def started(
    choice: Choice,
    found: Found,
    *,
    horizon: int | None,
    engine: str = "auto",
    estimator: Estimator | None = None,
    argument: str | None = None,
) -> SelfPlay:
    """Return a run before its first iteration, or refuse what does not fit together."""
    argument = argument or ("--algorithm" if choice.rule is None else "--rule")
    try:
        return choice.algorithm.start(
            found.game,
            estimator=estimator,
            horizon=horizon,
            engine=engine,
            kinds=found.kinds,
        )
    except (TypeError, ValueError) as error:
        if argument_of(error) == "engine":
            raise Refusal(
                f"--engine: {reason(error)}; leave it out to have the fastest that can"
            ) from error
        hint = f"; pass it as in '{choice.rule}(name=value)'" if "required" in str(error) else ""
        raise Refusal(
            f"{argument}: {choice.label} cannot play {quote(found.game)}: {error}{hint}"
        ) from error
    except (Exception, SystemExit) as error:
        if choice.rule is None:
            raise
        raise Failure(f"{argument}: {blamed(error, choice.rule)}") from error


# Rules


def rule_of(text: str, argument: str = "--rule") -> Algorithm | Callable[..., RegretMinimizer]:
    """Return what ``module:Class`` names; arguments in parentheses are passed to it."""
    place, parenthesis, _ = text.partition("(")
    module_name, colon, name = place.partition(":")
    if not colon or not module_name or not name.strip():
        raise Refusal(
            f"{argument}: must be module:Class, got {quote(text)}; write the name of the module, "
            f"as in my_rules:{name or text}"
        )
    if module_name.endswith(".py") or "/" in module_name:
        stem = Path(module_name).stem
        raise Refusal(
            f"{argument}: must name a module and not a file, got {quote(text)}; go to its folder "
            f"and write {stem}:{name}"
        )
    module = _imported(module_name, text, argument)
    found: Any = _found(module, name.strip(), text, argument)
    if isinstance(found, type) and inspect.isabstract(found):
        missing = ", ".join(sorted(getattr(found, "__abstractmethods__", ())))
        raise Refusal(
            f"{argument}: {quote(text)} is abstract, it lacks {missing}; write these first"
        )
    if not parenthesis:
        made: Algorithm | Callable[..., RegretMinimizer] = found
        return made
    if isinstance(found, Algorithm):
        raise Refusal(
            f"{argument}: {module_name}:{name} is an Algorithm already, got {quote(text)}"
        )
    return _with_arguments(found, text, argument)


def _imported(name: str, text: str, argument: str) -> ModuleType:
    here = _working_folder()
    if here is not None and here not in sys.path:
        sys.path.insert(0, here)  # and leave it, because rules may import more when they play
    try:
        with redirect_stdout(sys.stderr):  # standard output is for results
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise Refusal(
                f"{argument}: there is no module {quote(error.name)} for {quote(text)}, neither in "
                f"{here or 'the working folder, which was deleted,'} nor installed; go to the "
                "folder that holds it"
            ) from error
        raise Refusal(f"{argument}: {blamed(error, name)}") from error
    except (Exception, SystemExit) as error:
        raise Refusal(f"{argument}: {blamed(error, name)}") from error


def _working_folder() -> str | None:
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return None  # it was deleted


def _found(module: ModuleType, name: str, text: str, argument: str) -> Any:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            own = [word for word in vars(module) if not word.startswith("_")]
            raise Refusal(
                f"{argument}: module {module.__name__} ({getattr(module, '__file__', 'built in')}) "
                f"has no {quote(name)}; it has {', '.join(own[:12]) or 'nothing'}"
            )
        found = getattr(found, part)
    if isinstance(found, RegretMinimizer):
        raise Refusal(
            f"{argument}: {quote(text)} is a minimizer already, and each player needs one of its "
            "own; name its class, or a function that makes one"
        )
    if not callable(found) and not isinstance(found, Algorithm):
        raise Refusal(
            f"{argument}: {quote(text)} is {quote(found)}, and neither a class nor a function nor "
            "an Algorithm; name what makes a minimizer"
        )
    return found


def _with_arguments(found: Any, text: str, argument: str) -> Callable[..., RegretMinimizer]:
    wanted = (
        f"{argument}: arguments must be literals with their names, as in (power=2), got "
        f"{quote(text)}"
    )
    try:
        call = ast.parse(f"f({text.partition('(')[2]}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise Refusal(wanted)
        arguments = {cast(str, word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise Refusal(wanted) from error
    if None in arguments:
        raise Refusal(wanted)
    try:
        known = inspect.signature(found).parameters
    except ValueError:
        return partial(found, **arguments)
    open_to_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values())
    unknown = [word for word in arguments if word not in known]
    if unknown and not open_to_all:
        raise Refusal(
            f"{argument}: {quote(text)} has no argument {quote(unknown[0])}; it has "
            f"{', '.join(known) or 'none'}"
        )
    return partial(found, **arguments)


def blamed(error: BaseException, what: str) -> str:
    """Say what went wrong in somebody's own code, and at which line of it."""
    if isinstance(error, SyntaxError):
        return f"{what}: {Path(error.filename or '?').name}, line {error.lineno}: {error.msg}"
    import traceback

    ours = str(Path(__file__).parent.parent)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((ours, "<"))
        and "site-packages" not in frame.filename
        and not frame.filename.startswith(sys.prefix)
    ]
    where = ""
    if frames:
        last = frames[-1]
        where = f" ({Path(last.filename).name}, line {last.lineno}, in {last.name})"
    return (
        f"{what} failed with {type(error).__name__}: {reason(error)}{where}; "
        "--traceback shows all of it"
    )
