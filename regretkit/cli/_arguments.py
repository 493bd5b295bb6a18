"""What the commands are told: numbers, files, games, algorithms, and the options of a run."""

import functools
import math
import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeAlias, cast

import click
from attrs import evolve, frozen
from click.shell_completion import CompletionItem

from regretkit import games
from regretkit._util._files import check_target
from regretkit._util._validate import quote
from regretkit.cli._console import (
    IN_FULL,
    Failure,
    Refusal,
    reason,
    reporting,
    silent_descriptor,
    slow_notice,
)
from regretkit.estimators._mccfr import SAMPLINGS
from regretkit.games import (
    ExtensiveFormGame,
    ImperfectRecallGame,
    NormalFormGame,
    Profile,
    VisitedProfile,
    VisitedStrategy,
)
from regretkit.games._adapters import has_rules_alone
from regretkit.games._extensive_form import game_from_tree
from regretkit.games._memory_budget import is_too_large
from regretkit.games._registry import _RULES, OPENSPIEL
from regretkit.games.public import PublicGame
from regretkit.play import ALGORITHMS, Algorithm, LazyMCCFR, SelfPlay, named
from regretkit.play._algorithms import Groups
from regretkit.play._checkpoint_file import is_checkpoint
from regretkit.play._engines import UnsupportedError, engine_names
from regretkit.play._lazy_tree import players_of
from regretkit.play._measures import GAPS
from regretkit.play._solve import default_algorithm, doubt_of_reaching, start_by_rules
from regretkit.workbench._names import algorithm_of, expand, located, split

Parameter: TypeAlias = click.Parameter | None
AnyGame: TypeAlias = ExtensiveFormGame | NormalFormGame | ImperfectRecallGame | PublicGame
"""What the catalogue, files and OpenSpiel have."""

GAME_HELP = (
    "A GAME is one of the catalogue, with arguments if needed, such as kuhn_poker or "
    "'liars_dice(sides=4)'; or a Gambit file, such as game.efg or ./game; or a game of OpenSpiel, "
    "such as openspiel:leduc_poker. Parentheses need quotation marks in a shell."
)

UNIFORM = "uniform"
_SOURCES = f"an existing file, or {OPENSPIEL}NAME"


def _name(parameter: Parameter) -> str:
    """Return what messages call a parameter, such as ``GAME`` or ``--out``."""
    if isinstance(parameter, click.Argument):
        return (parameter.metavar or str(parameter.name).upper()).strip("[].")
    return "" if parameter is None else parameter.opts[0]


@frozen
class Number(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4
    """A number of which ``accepts`` is true; whole numbers may have commas."""

    name: str
    wanted: str
    accepts: Callable[[float], bool]
    whole: bool = False

    def convert(self, value: Any, param: Parameter, ctx: Any) -> float:
        try:
            number = float(str(value).replace(",", "") if self.whole else value)
        except ValueError:
            number = math.nan
        whole = number.is_integer() and number < 2.0**53
        if not self.accepts(number) or (self.whole and not whole):
            self.fail(f"must be {self.wanted}, got {quote(str(value))}", param, ctx)
        return int(number) if self.whole else number


COUNT = Number("n", "a whole number, at least 1", lambda x: x >= 1.0, whole=True)
FROM_ZERO = Number("n", "a whole number, at least 0", lambda x: x >= 0.0, whole=True)
GAP = Number("eps", "a finite number above 0", lambda x: 0.0 < x < math.inf)
SECONDS = Number("s", "a finite number above 0", lambda x: 0.0 < x < math.inf)
PROBABILITY = Number("p", "a number from 0 to 1", lambda x: 0.0 <= x <= 1.0)


class OutputFile(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4
    """A file whose name has one of the endings; what cannot be written later is refused now."""

    name = "file"

    def __init__(self, *endings: str, figure: bool = False) -> None:
        self._endings, self._figure = endings, figure

    def convert(self, value: Any, param: Parameter, ctx: Any) -> Path:
        with reporting(_name(param)):
            if self._endings and Path(value).suffix.lower() not in self._endings:
                endings = " or ".join(self._endings)
                raise ValueError(f"the name of the file must end in {endings}, got {quote(value)}")
            check_target(value)
            if self._figure:
                from regretkit.display._style import require_matplotlib

                require_matplotlib("a figure")
        return Path(value)


# Games and strategies


@frozen
class NamedGame:
    """A game, or the rules of one whose tree does not fit, and how it was named."""

    text: str
    game: Any
    """One of ``AnyGame``, or a ``History``."""
    argument: str = "GAME"
    refusal: str = ""
    """Why there is no tree."""

    @classmethod
    def of_rules(cls, text: str, argument: str = "GAME", refusal: str = "") -> Self:
        """Return the rules that a text names."""
        return cls(text, games.as_history(games.load_rules(text)), argument, refusal)

    @property
    def by_rules(self) -> bool:
        """Whether there are only the rules."""
        return has_rules_alone(self.game)

    @property
    def original(self) -> ImperfectRecallGame | None:
        """The game if it is of imperfect recall, else None."""
        return self.game if isinstance(self.game, ImperfectRecallGame) else None

    @property
    def played(self) -> Any:
        """The game that self-play runs: the perfect-recall refinement if recall is imperfect."""
        return self.game if self.original is None else self.original.refinement

    @property
    def groups(self) -> Groups | None:
        """Which decision points share a strategy, None with perfect recall."""
        return None if self.original is None else self.original.coarse_information_set

    @property
    def name(self) -> str:
        """The name of the game that is played."""
        return self.text if self.by_rules else self.played.name or "a game without a name"

    @property
    def players(self) -> int:
        """Number of players."""
        return players_of(self.played) if self.by_rules else len(self.played.domains)

    def coarsen(self, profile: Any) -> Any:
        """Return a profile with one strategy for each original information set."""
        return profile if self.original is None else self.original.coarsen(profile)

    def accept(self, *, imperfect_recall: bool) -> Self:
        """Return this game, or refuse imperfect recall unless the option is given."""
        self.need_tree(imperfect_recall=imperfect_recall)
        if self.original is None or imperfect_recall:
            return self
        raise Refusal(
            f"{self.argument}: {self.original.recall_violation}; or pass --imperfect-recall, which "
            "has no convergence guarantee"
        )

    def check_gap(self, gap: float | None) -> None:
        """Refuse a gap as a limit with imperfect recall, or without a tree."""
        self.need_tree(gap=gap)
        if gap is not None and self.original is not None:
            raise Refusal(
                f"--gap: got {gap:g}, but with imperfect recall no gap is known to vanish; pass "
                "--iterations or --time"
            )

    def need_tree(self, **given: object) -> None:
        """Refuse options that need the tree if there is none."""
        for name, value in given.items():
            if value and self.by_rules:
                option = "--" + name.replace("_", "-")
                told = "the game's tree is needed, which does not fit; leave it out"
                raise Refusal(f"{option}: {told}")

    def load_strategy(self, text: str) -> Any:
        """Return the profile that a text names, one strategy for each original information set."""
        try:
            return self._strategy(text)
        except (OSError, TypeError, ValueError, MemoryError) as error:
            hint = f"name a file in .json that solve --out wrote, or {UNIFORM}"
            raise Refusal(f"STRATEGY: {reason(error)}; {hint}") from error

    def _strategy(self, text: str) -> Any:
        if not text.strip():
            raise ValueError("got nothing")
        if is_checkpoint(text):
            raise ValueError(checkpoint_advice(text))
        if Path(text).suffix.lower() == ".csv":
            raise ValueError(f"got {quote(text)}, but tables in .csv are not read")
        game, uniform = self.played, text == UNIFORM
        if not self.by_rules:
            return self.coarsen(Profile.uniform(game) if uniform else Profile.from_json(text, game))
        if uniform:
            return VisitedProfile([VisitedStrategy()] * self.players)
        profile = VisitedProfile.from_json(text, game)
        if len(profile) != self.players:
            raise ValueError(
                f"{text} has strategies of {len(profile)} players, but {self.text} has "
                f"{self.players}"
            )
        return profile


building = functools.partial(slow_notice, "building the game takes a while; Ctrl-C ends it")


class GameType(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4
    """A game of the catalogue, in a file, or of OpenSpiel; or rules whose tree does not fit."""

    name = "game"

    def __init__(self, *, or_rules: bool = False) -> None:
        self._or_rules = or_rules

    def convert(self, value: Any, param: Parameter, ctx: Any) -> NamedGame:
        argument = _name(param)
        try:
            with building():
                return NamedGame(value, load_game(value, argument), argument)
        except Refusal as refusal:
            if self._or_rules and is_too_large(refusal.__cause__):
                with suppress(TypeError, ValueError):  # rules of this size may not exist either
                    return NamedGame.of_rules(value, argument, refusal.message)
            raise

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        known = sorted({*games.names(), *_RULES})
        found = [CompletionItem(name) for name in known if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


def load_game(text: str, argument: str) -> AnyGame:
    """Return the game that a text names, or refuse it."""
    with reporting(argument, hint="name an existing file, or a game that regretkit games lists"):
        if text.startswith(OPENSPIEL):
            from regretkit.games._openspiel_tree import tree_from_openspiel

            with silent_descriptor():
                name, tree = tree_from_openspiel(text.removeprefix(OPENSPIEL))
                return game_from_tree(tree, name)
        if problem := _problem(text):
            raise ValueError(problem)
        try:
            return cast("AnyGame", games.load(Path(text) if names_file(text) else text))
        except ValueError as error:
            if is_known(text) or names_file(text):
                raise
            raise ValueError(f"{error}; or name {_SOURCES}") from error


def _problem(text: str) -> str:
    """Return what to write instead of what is no name of a game, nothing if it may be one."""
    if not text.strip():
        return f"got nothing; name a game of the catalogue, {_SOURCES}"
    if Path(text).suffix.lower() == ".json":
        return (
            f"got {quote(text)}, but games are in Gambit files, and strategies in .json; the game "
            "comes first, except after a certificate"
        )
    if is_checkpoint(text):
        return checkpoint_advice(text)
    if text in ALGORITHMS:
        return f"{text} is an algorithm; name it after --algorithm(s)"
    words, underscored = split(text, ","), text.replace("-", "_")
    name, colon, arguments = text.partition(":")
    if names_file(text):
        return ""
    if len(words) > 1:
        words = list(filter(None, words))
        if {*words} <= {*ALGORITHMS}:
            return f"{text} are algorithms; name them after --algorithms"
        told = f"games are separated by spaces; write {shlex.join(words)}"
        return f"cannot read {quote(text)}; {told}"
    if colon and is_known(name):
        return f"cannot read {quote(text)}; write '{name}({arguments})' in quotation marks"
    close = is_known(underscored) and not is_known(text)
    return f"cannot read {quote(text)}; did you mean {quote(underscored)}?" if close else ""


def checkpoint_advice(path: str) -> str:
    """Return what to do with a checkpoint that was named as something else."""
    command = shlex.join(["regretkit", "resume", path])
    return f"{quote(path)} is a checkpoint; {command} continues it, or writes its strategy by --out"


def is_known(text: str) -> bool:
    """Return whether a text begins with the name of a game of the catalogue."""
    name = text.partition("(")[0].strip()
    return name in games.names() or name in _RULES


def names_file(text: str) -> bool:
    """Return whether a text names a file; a name of the catalogue never does."""
    if is_known(text) or text.startswith(OPENSPIEL):
        return False
    is_path = Path(text).suffix.lower() in (".efg", ".nfg") or os.sep in text
    return is_path or os.path.exists(text)  # noqa: PTH110 # takes any name


@frozen(kw_only=True)
class Settings:
    """The options of runs; each command has some of them."""

    iterations: int | None = None
    gap: float | None = None
    seconds: float | None = None
    sample: str | None = None
    seed: int | None = None
    engine: str = "auto"
    imperfect_recall: bool = False
    checkpoint: Path | None = None
    checkpoint_every: float = math.inf
    out: Path | None = None
    plot: Path | None = None
    measure: tuple[str, ...] = ()

    @property
    def limited(self) -> bool:
        """Whether there is a limit; the first one that is reached stops a run."""
        return any((self.iterations, self.gap, self.seconds))

    def or_default(self) -> Self:
        """Return these settings, with a thousand iterations if there is no limit."""
        return self if self.limited else evolve(self, iterations=1_000)


# Algorithms


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
            algorithm = _algorithm(rule or name or "")
            if name is not None and rule is not None:
                algorithm = evolve(named(name), local=algorithm.local)
            return cls(name, rule, Algorithm(algorithm, sampling=sample), argument)

    @property
    def label(self) -> str:
        """The name in reports."""
        return " in ".join(filter(None, (self.rule, self.name)))

    def start(self, game: NamedGame, settings: Settings) -> SelfPlay | LazyMCCFR:
        """Return a run before its first iteration, or refuse what does not fit together."""
        gap = settings.gap
        game.check_gap(gap)
        if game.by_rules:
            self._check_by_rules(game, settings)
        elif gap is not None and settings.iterations is None and settings.seconds is None:
            doubt = doubt_of_reaching(gap, game.played, self.algorithm, None)
            if doubt is not None:
                told = f"{gap:g} alone could go on forever: {doubt}"
                raise Refusal(f"--gap: {told}; pass --iterations or --time as well")
        options: Any = {"seed": settings.seed or 0, "horizon": settings.iterations}
        try:
            with self.blamed(TypeError, ValueError):
                if game.by_rules:
                    return start_by_rules(game.played, self.algorithm, **options)
                options |= {"engine": settings.engine, "groups": game.groups}
                return self.algorithm.start(game.played, **options)
        except UnsupportedError as error:
            raise Refusal(f"--engine: {reason(error)}; leave it out") from error
        except (TypeError, ValueError) as error:
            played = game.text if game.by_rules else quote(game.played)
            told = f"{self.label} cannot play {played}: {reason(error)}"
            raise Refusal(f"{self.argument}: {told}") from error

    def _check_by_rules(self, game: NamedGame, settings: Settings) -> None:
        sampling = self.algorithm.sampling
        if sampling is None:
            told = "or pass --sample external, which plays without the tree"
            raise Refusal(f"{game.refusal}; {told}")
        if sampling == "chance":
            raise Refusal("--sample: must be external or outcome without a tree, got chance")
        game.need_tree(plot=settings.plot, engine=settings.engine != "auto")

    @contextmanager
    def blamed(self, *passed: type[Exception]) -> Iterator[None]:
        """Report what goes wrong in a user-defined rule, with its line, but for errors to pass."""
        try:
            yield
        except passed:
            raise
        except (Exception, SystemExit) as error:
            if self.rule is None:
                raise
            raise Failure(f"{self.argument}: {located(error, self.rule)}{IN_FULL}") from error


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
    with reporting("--algorithms"):
        listed = [expand(word) for text in texts for word in split(text, ",") if word]
    words = dict.fromkeys(point for points in listed for point in points)
    if not words:
        known = ", ".join(ALGORITHMS)
        raise Refusal(f"--algorithms: got none; name some of {known}, or module:Class")
    return [Choice.of(word, None, sample, "--algorithms") for word in words]


def _algorithm(text: str) -> Any:
    """Return the rule or the algorithm of a text, or that of a list by player."""
    parts = []
    for word in split(re.sub(r"\s+\(", "(", text), ","):
        if len(texts := split(word, " ")) > 1:
            told = f"algorithms are separated by commas; write {','.join(filter(None, texts))}"
            raise ValueError(f"cannot read {quote(word)}; {told}")
        if len(expand(word)) > 1:
            raise ValueError(f"{quote(word)} is a grid, which compare and bench play; name a point")
        parts.append(algorithm_of(word))
    return parts[0] if len(parts) == 1 else Algorithm(parts)


# Options


def option(names: str, text: str, kind: Any = None, **settings: Any) -> Callable[[Any], Any]:
    """Return an option; files are refused first, before a large game is built."""
    eager = isinstance(kind, OutputFile)
    return click.option(*names.split(), type=kind, help=text, is_eager=eager, **settings)


def _only_one(context: Any, parameter: Parameter, given: Sequence[str]) -> str | None:
    """Return the one text that was given, if any."""
    if len(given) > 1:
        raise Refusal(f"{_name(parameter)}: got {' and '.join(given)}; compare plays several")
    return given[0] if given else None


def _note(context: click.Context, parameter: Any, value: bool) -> None:
    context.meta[parameter.name] = value


_NOTED: dict[str, Any] = {"expose_value": False, "callback": _note}
"""Of options that are noted for where answers and progress are written."""


def _together(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a decorator that adds several options, which are listed in this order."""
    return lambda command: functools.reduce(lambda made, add: add(made), options[::-1], command)


game = click.argument("game", type=GameType())
game_or_rules = click.argument("game", type=GameType(or_rules=True))
as_json = option("--json", "Write one JSON object and nothing else.", is_flag=True, **_NOTED)
quiet = option("--quiet", "Show no progress.", is_flag=True, **_NOTED)
strategy_out = option(
    "--out", "Write the strategy, as .json or as a table in .csv.", OutputFile(".json", ".csv")
)
figure_file = OutputFile(".svg", ".pdf", ".png", figure=True)
imperfect_recall = option(
    "--imperfect-recall",
    "Accept a game of imperfect recall: strategies are shared within each information set, and "
    "there is no convergence guarantee.",
    is_flag=True,
)
engine = option(
    "--engine",
    "How to run the iterations; the results agree up to rounding.",
    click.Choice(engine_names()),
    default="auto",
)
algorithm = option(
    "--algorithm",
    f"One of {', '.join(ALGORITHMS)}, or a rule as after --rule, or one for each player with "
    "commas between them; by default cfr+, and lcfr with --sample.",
    metavar="NAME",
    multiple=True,
    callback=_only_one,
)
rule = option(
    "--rule",
    "A rule is module:Class, with hyperparameters if needed, as in 'my_rules:MyRule(power=2)'; "
    "modules are looked for in this folder too. It may also be a function from simplices to a "
    "minimizer, or an Algorithm.",
    metavar="MODULE:CLASS",
)
limits = _together(
    option("--iterations", "Stop after N iterations.", COUNT),
    option(
        "--gap",
        "Stop once the gap is at most this: the gain of best responses, summed over players, in "
        "units of payoff.",
        GAP,
    ),
    option("--time seconds", "Stop after S seconds of play.", SECONDS),
)
measure = option(
    "--measure",
    "Measure this gap of the play of all iterations as well, to a correlated equilibrium; may be "
    "given several times.",
    click.Choice(GAPS),
    multiple=True,
)
outputs = _together(
    strategy_out,
    option("--plot", "Draw how the gap fell, as .svg, .pdf or .png.", figure_file),
    quiet,
    as_json,
)
checkpoints = _together(
    option(
        "--checkpoint",
        "Save the run in this file while it plays, to resume it; resume saves in its own FILE by "
        "default.",
        OutputFile(),
    ),
    option("--checkpoint-every", "Seconds between two checkpoints.", SECONDS, default=10.0),
)
sampling = _together(
    option(
        "--sample",
        "Sample utilities: the chance moves, all actions but a player's own, or one play of the "
        "game, with a baseline or without; external if none is named. By default utilities are "
        "exact, and external for mccfr.",
        click.Choice([*SAMPLINGS]),
        is_flag=False,
        flag_value="external",
    ),
    option("--seed", "The seed of the samples; 0 by default.", FROM_ZERO),
)
