"""Algorithms, and user-defined rules that are named as ``module:Class``."""

import importlib
import inspect
import operator
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from regretkit._util._errors import argument_of
from regretkit._util._validate import quote
from regretkit.cli._arguments import AnyNamed, NamedRules, Settings, split_at_commas
from regretkit.cli._console import Failure, Refusal, reason, reporting
from regretkit.estimators._named import SAMPLINGS
from regretkit.games._registry import _parsed
from regretkit.minimizer import RegretMinimizer
from regretkit.play import ALGORITHMS, Algorithm, LazyMCCFR, SelfPlay, named
from regretkit.play._solve import default_algorithm, doubt_of_reaching, start_by_rules


@frozen
class Choice:
    """An algorithm, and the words that chose it."""

    name: str | None
    """One of ``ALGORITHMS``, or several by player, or None."""
    rule: str | None
    """A user-defined rule, or a list by player that has one, or None."""
    algorithm: Algorithm
    argument: str
    """The option that chose it."""

    @classmethod
    def of(
        cls, name: str | None, rule: str | None, sample: str | None = None, argument: str = ""
    ) -> "Choice":
        """Return the algorithm of a name, a rule, or an algorithm with its rule replaced.

        A rule alone is played as in CFR: alternating updates, with the uniform average.
        """
        argument = argument or ("--algorithm" if rule is None else "--rule")
        if rule is None:
            name = name or default_algorithm(sampled=sample is not None)
            name, rule = (None, name) if ":" in name else (name, None)
        with reporting(argument):
            algorithm = _algorithm(rule or name or "", named_only=rule is None)
            if name is not None and rule is not None:
                if not isinstance(algorithm, Algorithm):
                    algorithm = evolve(named(name), local=algorithm)
                else:
                    raise ValueError(
                        f"{quote(rule)} is an Algorithm, which has its own order and averaging, "
                        f"got --algorithm {name} as well; leave one of them out"
                    )
            return cls(name, rule, Algorithm(algorithm, sampling=sample), argument)

    @property
    def label(self) -> str:
        """The name in reports."""
        return " in ".join(filter(None, (self.rule, self.name)))

    def start(
        self, game: AnyNamed, settings: Settings, *, seed: int | None = None
    ) -> SelfPlay | LazyMCCFR:
        """Return a run before its first iteration, or refuse what does not fit together."""
        gap, seed = settings.gap, settings.seed if seed is None else seed
        game.check_gap(gap)
        if isinstance(game, NamedRules):
            self._check_by_rules(game, settings)
            with self._starting(game):
                return start_by_rules(
                    game.played, self.algorithm, seed=seed or 0, horizon=settings.iterations
                )
        if gap is not None and settings.iterations is None and settings.seconds is None:
            doubt = doubt_of_reaching(gap, game.played, self.algorithm, None)
            if doubt is not None:
                raise Refusal(
                    f"--gap: {gap:g} alone could go on forever: {doubt}; pass --iterations or "
                    "--time as well"
                )
        with self._starting(game):
            return self.algorithm.start(
                game.played,
                seed=seed or 0,
                horizon=settings.iterations,
                engine=settings.engine,
                groups=game.groups,
            )

    def _check_by_rules(self, game: NamedRules, settings: Settings) -> None:
        sampling = self.algorithm.sampling
        if sampling is None:
            raise Refusal(
                f"{game.refusal}; or pass --sample external, which plays without the tree"
            )
        if sampling == "chance":
            raise Refusal("--sample: must be external or outcome without a tree, got chance")
        game.refuse(plot=settings.plot, engine=settings.engine != "auto")

    @contextmanager
    def _starting(self, game: AnyNamed) -> Iterator[None]:
        try:
            yield
        except (TypeError, ValueError) as error:
            if argument_of(error) == "engine":
                raise Refusal(f"--engine: {reason(error)}; leave it out") from error
            played = game.text if isinstance(game, NamedRules) else quote(game.played)
            told = f"{self.label} cannot play {played}: {reason(error)}"
            raise Refusal(f"{self.argument}: {told}") from error
        except (Exception, SystemExit) as error:
            if self.rule is None:
                raise
            raise Failure(f"{self.argument}: {rule_error(error, self.rule)}") from error


def check_seeds(choices: Sequence[Choice], **given: int | None) -> None:
    """Refuse options of seeds if no algorithm samples."""
    for name, value in given.items():
        if value is not None and all(choice.algorithm.sampling is None for choice in choices):
            raise Refusal(
                f"--{name}: got {value}, but nothing is drawn at random without --sample "
                f"{' or '.join(SAMPLINGS)}; leave it out"
            )


def choices_of(texts: tuple[str, ...], sample: str | None = None) -> list[Choice]:
    """Return the algorithms of lists such as ``cfr+,dcfr,my_rules:MyRule(power=2)``."""
    words = dict.fromkeys(word for text in texts for word in split_at_commas(text) if word)
    if not words:
        known = ", ".join(ALGORITHMS)
        raise Refusal(f"--algorithms: got none; name some of {known}, or module:Class")
    return [Choice.of(word, None, sample, "--algorithms") for word in words]


def _algorithm(text: str, *, named_only: bool) -> Any:
    """Return the rule or the algorithm of a text, or that of a list by player."""
    words = split_at_commas(text)
    parts = [
        named(word) if named_only or word in ALGORITHMS else _load_rule(word) for word in words
    ]
    return parts[0] if len(parts) == 1 else Algorithm(parts)


def _load_rule(text: str) -> Any:
    """Return the rule or algorithm that ``module:Class`` names, with its arguments bound."""
    place, parenthesis, arguments = text.partition("(")
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
    if problem := _problem(rule, with_arguments=bool(parenthesis)):
        raise ValueError(f"{quote(text)} is {problem}")
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
    with suppress(ValueError):  # some built-in classes have no signature
        known = inspect.signature(rule)
        try:
            known.bind_partial(**keywords)  # names first what is not known, then what is missing
            known.bind(None, **keywords)
        except TypeError as error:
            names = ", ".join(known.parameters) or "none, but a rule takes simplices"
            advice = f"it has {names}, pass them as in '{place}(name=value)'"
            raise TypeError(f"{quote(text)} {error}; {advice}") from error
    return partial(rule, **keywords) if keywords else rule


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
    return (
        f"{rule} failed with {type(error).__name__}: {reason(error)}{location}; "
        "--traceback shows all of it"
    )
