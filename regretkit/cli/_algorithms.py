"""Algorithms, and user-defined rules that are named as ``module:Class``."""

import importlib
import inspect
import operator
import sys
import traceback
from contextlib import redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from regretkit._util._errors import argument_of
from regretkit._util._validate import quote
from regretkit.cli._arguments import (
    NamedGame,
    Settings,
    option,
    options,
    rule_option,
    split_at_commas,
)
from regretkit.cli._console import Failure, Refusal, reason, refusing
from regretkit.games._registry import _parsed
from regretkit.minimizer import RegretMinimizer
from regretkit.play import ALGORITHMS, Algorithm, SelfPlay, cfr, named
from regretkit.play._algorithms import doubt_of_reaching

NAMES = ", ".join(ALGORITHMS)
DEFAULT = "cfr+"

algorithm_options = options(
    option("--algorithm", f"One of {NAMES}; {DEFAULT} by default.", metavar="NAME"), rule_option
)


@frozen
class Choice:
    """An algorithm, and the words that chose it."""

    name: str | None
    """One of ``ALGORITHMS``, or None."""
    rule: str | None
    """A user-defined rule, or None."""
    algorithm: Algorithm
    argument: str = "--algorithm"
    """The option that chose it."""

    @classmethod
    def of(cls, name: str | None, rule: str | None, argument: str = "") -> "Choice":
        """Return the algorithm of a name, a rule, or an algorithm with its rule replaced.

        A rule alone is played as in CFR: alternating updates, with the uniform average.
        """
        if rule is None:
            name = name or DEFAULT
            with refusing(argument or "--algorithm"):
                return cls(name, None, named(name), argument or "--algorithm")
        argument = argument or "--rule"
        loaded = _load_rule(rule, argument)
        if not isinstance(loaded, Algorithm):
            base = cfr if name is None else cls.of(name, None).algorithm
            return cls(name, rule, evolve(base, local=loaded), argument)
        if name is not None:
            raise Refusal(
                f"--rule: {quote(rule)} is an Algorithm, which has its own order and averaging, "
                f"got --algorithm {name} as well; leave one of them out"
            )
        return cls(None, rule, loaded, argument)

    @property
    def label(self) -> str:
        """The name in reports."""
        return " in ".join(filter(None, (self.rule, self.name)))

    def start(self, game: NamedGame, settings: Settings) -> SelfPlay:
        """Return a run before its first iteration, or refuse what does not fit together."""
        estimator, gap = settings.estimator(), settings.gap
        check_gap(game, gap)
        if gap is not None and settings.iterations is None and settings.seconds is None:
            doubt = doubt_of_reaching(gap, game.played, self.algorithm, estimator)
            if doubt is not None:
                raise Refusal(
                    f"--gap: {gap:g} alone could go on forever: {doubt}; pass --iterations or "
                    "--time as well"
                )
        try:
            return self.algorithm.start(
                game.played,
                estimator=estimator,
                horizon=settings.iterations,
                engine=settings.engine,
                kinds=game.groups,
            )
        except (TypeError, ValueError) as error:
            if argument_of(error) == "engine":
                raise Refusal(f"--engine: {reason(error)}; leave it out") from error
            raise Refusal(
                f"{self.argument}: {self.label} cannot play {quote(game.played)}: {reason(error)}"
                f"{self._hint()}"
            ) from error
        except (Exception, SystemExit) as error:
            if self.rule is None:
                raise
            raise Failure(f"{self.argument}: {rule_error(error, self.rule)}") from error

    def _hint(self) -> str:
        with suppress(ValueError):  # some built-in classes have no signature
            try:
                inspect.signature(self.algorithm.local).bind(None)
            except TypeError:
                return f"; pass it as in '{self.rule}(name=value)'"
        return ""


def check_gap(game: NamedGame, gap: float | None) -> None:
    """Refuse a gap as a limit with imperfect recall."""
    if gap is not None and game.original is not None:
        raise Refusal(
            f"--gap: got {gap:g}, but with imperfect recall no gap is known to vanish; pass "
            "--iterations or --time"
        )


def choices_of(texts: tuple[str, ...]) -> list[Choice]:
    """Return the algorithms of lists such as ``cfr+,dcfr,my_rules:MyRule(power=2)``."""
    words = dict.fromkeys(word for text in texts for word in split_at_commas(text) if word)
    if not words:
        raise Refusal(f"--algorithms: got none; name some of {NAMES}, or module:Class")
    pairs = [(None, word) if ":" in word else (word, None) for word in words]
    return [Choice.of(name, rule, "--algorithms") for name, rule in pairs]


def _load_rule(text: str, argument: str) -> Any:
    """Return the rule or algorithm that ``module:Class`` names, with its arguments bound."""
    place, parenthesis, arguments = text.partition("(")
    module_name, colon, name = place.partition(":")
    stem, wanted = module_name, ""
    if not colon or not module_name or not name.strip():
        stem, name, wanted = "my_rules", name or text, "be module:Class"
    elif module_name.endswith(".py") or "/" in module_name:
        stem, wanted = Path(module_name).stem, "name a module of this folder and not a file"
    if wanted:
        raise Refusal(f"{argument}: must {wanted}, got {quote(text)}; write {stem}:{name}")
    module = _imported(module_name, f"{argument}: ", quote(text))
    try:
        rule = operator.attrgetter(name.strip())(module)
    except AttributeError as error:
        names = [word for word in vars(module) if not word.startswith("_")]
        raise Refusal(
            f"{argument}: module {module_name} ({getattr(module, '__file__', 'built in')}) has no "
            f"{quote(name)}; it has {', '.join(names[:12]) or 'nothing'}"
        ) from error
    if wrong := _unusable(rule, parenthesis):
        raise Refusal(f"{argument}: {quote(text)} is {wrong}")
    if not parenthesis:
        return rule
    try:
        _, positional, keywords = _parsed(f"f({arguments}")
    except ValueError:
        positional, keywords = [None], {}
    if positional:
        raise Refusal(
            f"{argument}: arguments must be literals with their names, as in (power=2), got "
            f"{quote(text)}"
        )
    with suppress(ValueError):  # some built-in classes have no signature
        signature = inspect.signature(rule)
        try:
            signature.bind_partial(**keywords)
        except TypeError as error:
            raise Refusal(
                f"{argument}: {quote(text)} {error}; it has {', '.join(signature.parameters)}"
            ) from error
    return partial(rule, **keywords)


def _imported(name: str, argument: str, text: str) -> Any:
    """Import a module of the working folder or an installed one, or refuse its name."""
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
                f"{argument}there is no module {quote(missing)} for {text}, neither in {folder} "
                "nor installed; go to the folder that contains it"
            ) from error
        raise Refusal(f"{argument}{rule_error(error, name)}") from error


def _unusable(rule: object, arguments: str) -> str:
    """Return what an object is instead of a rule or an algorithm, nothing if it is one."""
    if isinstance(rule, RegretMinimizer):
        return (
            "a minimizer already, and each player needs its own; name its class, or a function "
            "that returns one"
        )
    if isinstance(rule, Algorithm):
        return "an Algorithm already, which takes no arguments" if arguments else ""
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
    foreign = (str(Path(__file__).parents[1]), "<", sys.prefix)
    where = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if not frame.filename.startswith(foreign) and "site-packages" not in frame.filename:
            where = f" ({Path(frame.filename).name}, line {frame.lineno}, in {frame.name})"
    return (
        f"{rule} failed with {type(error).__name__}: {reason(error)}{where}; "
        "--traceback shows all of it"
    )
