"""What the commands are told: numbers, files, games, strategies, and the options of a run."""

import functools
import math
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeAlias, cast, final

import click
from attrs import evolve, frozen
from click.shell_completion import CompletionItem

from regretkit import games
from regretkit._util._files import check_target
from regretkit._util._validate import quote
from regretkit.cli._console import Refusal, reason, reporting, silent_descriptor, slow_notice
from regretkit.estimators._mccfr import SAMPLINGS
from regretkit.games import (
    ExtensiveFormGame,
    History,
    ImperfectRecallGame,
    NormalFormGame,
    Profile,
    VisitedProfile,
    VisitedStrategy,
)
from regretkit.games._extensive_form import game_from_tree
from regretkit.games._memory_budget import is_too_large
from regretkit.games._registry import _RULES
from regretkit.games.public import PublicGame
from regretkit.play import ALGORITHMS
from regretkit.play._algorithms import Groups
from regretkit.play._checkpoint_file import is_checkpoint
from regretkit.play._engines import engine_names
from regretkit.play._lazy_tree import players_of
from regretkit.play._measures import GAPS
from regretkit.workbench._expressions import split_at_commas

Parameter: TypeAlias = click.Parameter | None
Context: TypeAlias = click.Context | None
AnyGame: TypeAlias = ExtensiveFormGame | NormalFormGame | ImperfectRecallGame | PublicGame
"""What the catalogue, files and OpenSpiel have."""

GAME_HELP = (
    "A GAME is one of the catalogue, with arguments if needed, such as kuhn_poker or "
    "'liars_dice(sides=4)'; or a Gambit file, such as game.efg or ./game; or a game of OpenSpiel, "
    "such as openspiel:leduc_poker. Parentheses need quotation marks in a shell."
)

UNIFORM, _OPENSPIEL = "uniform", "openspiel:"
_SOURCES = f"an existing file, or {_OPENSPIEL}NAME"


def _name(parameter: Parameter) -> str:
    """Return what messages call a parameter, such as ``GAME`` or ``--out``."""
    if isinstance(parameter, click.Argument):
        return (parameter.metavar or str(parameter.name).upper()).strip("[].")
    return "" if parameter is None else parameter.opts[0]


@final
@frozen
class Number(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4
    """A number of which ``accepts`` is true; whole numbers may have commas."""

    name: str
    wanted: str
    accepts: Callable[[float], bool]
    whole: bool = False

    def convert(self, value: Any, param: Parameter, ctx: Context) -> float:
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


@final
class OutputFile(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4
    """A file whose name has one of the endings; what cannot be written later is refused now."""

    name = "file"

    def __init__(self, *endings: str, figure: bool = False) -> None:
        self._endings, self._figure = endings, figure

    def convert(self, value: Any, param: Parameter, ctx: Context) -> Path:
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
    """A game, and how it was named."""

    text: str
    game: AnyGame
    argument: str = "GAME"

    @property
    def original(self) -> ImperfectRecallGame | None:
        """The game if it is of imperfect recall, else None."""
        return self.game if isinstance(self.game, ImperfectRecallGame) else None

    @property
    def played(self) -> ExtensiveFormGame | NormalFormGame | PublicGame:
        """The game that self-play runs: the perfect-recall refinement if recall is imperfect."""
        game = self.game
        return game.refinement if isinstance(game, ImperfectRecallGame) else game

    @property
    def groups(self) -> Groups | None:
        """Which decision points share a strategy, None with perfect recall."""
        return None if self.original is None else self.original.coarse_information_set

    @property
    def name(self) -> str:
        """The name of the game that is played."""
        return self.played.name or "a game without a name"

    def coarsen(self, profile: Any) -> Any:
        """Return a profile with one strategy for each original information set."""
        return profile if self.original is None else self.original.coarsen(profile)

    def accept(self, *, imperfect_recall: bool) -> Self:
        """Return this game, or refuse imperfect recall unless the option is given."""
        if self.original is None or imperfect_recall:
            return self
        raise Refusal(
            f"{self.argument}: {self.original.recall_violation}; or pass --imperfect-recall, which "
            "has no convergence guarantee"
        )

    def check_gap(self, gap: float | None) -> None:
        """Refuse a gap as a limit with imperfect recall."""
        if gap is not None and self.original is not None:
            raise Refusal(
                f"--gap: got {gap:g}, but with imperfect recall no gap is known to vanish; pass "
                "--iterations or --time"
            )

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.played.domains)

    def load_strategy(self, text: str) -> Any:
        """Return the profile that a text names, one strategy for each original information set."""
        game = self.played
        with _reading_strategy(text):
            if text == UNIFORM:
                return self.coarsen(Profile.uniform(game))
            return self.coarsen(Profile.from_json(text, game))

    def assembled(self, strategies: Sequence[Any]) -> Profile:
        """Return the profile of one strategy for each player."""
        return Profile(strategies, self.played.domains, self.played)

    def value(self, profile: Any) -> list[float] | None:
        """Return the exact payoffs of a profile."""
        values: list[float] = self.played.value(profile).tolist()
        return values


@frozen
class NamedRules:
    """A game whose tree does not fit, by its rules; otherwise as ``NamedGame``."""

    text: str
    played: History
    refusal: str = ""
    """Why there is no tree."""
    argument: str = "GAME"
    original: None = None

    @classmethod
    def load(cls, text: str, refusal: str = "", argument: str = "GAME") -> Self:
        """Return the rules that a text names."""
        return cls(text, games.as_history(games.load_rules(text)), refusal, argument)

    @property
    def name(self) -> str:
        """The name of the game."""
        return self.text

    @property
    def players(self) -> int:
        """Number of players."""
        return players_of(self.played)

    def accept(self, *, imperfect_recall: bool) -> Self:
        """Return this game, or refuse the option."""
        self.refuse(imperfect_recall=imperfect_recall)
        return self

    def coarsen(self, profile: Any) -> Any:
        """Return the same profile."""
        return profile

    def check_gap(self, gap: float | None) -> None:
        """Refuse a gap as a limit."""
        self.refuse(gap=gap)

    def refuse(self, **given: object) -> None:
        """Refuse options that need the tree."""
        for name, value in given.items():
            if value:
                option = "--" + name.replace("_", "-")
                raise Refusal(
                    f"{option}: the game's tree is needed, which does not fit; leave it out"
                )

    def load_strategy(self, text: str) -> VisitedProfile:
        """Return the profile that a text names."""
        with _reading_strategy(text):
            if text == UNIFORM:
                return VisitedProfile([VisitedStrategy({})] * self.players)
            profile = VisitedProfile.from_json(text, self.played)
            if len(profile) != self.players:
                raise ValueError(
                    f"{text} has strategies of {len(profile)} players, but {self.text} has "
                    f"{self.players}"
                )
            return profile

    def assembled(self, strategies: Sequence[Any]) -> VisitedProfile:
        """Return the profile of one strategy for each player."""
        return VisitedProfile(strategies)

    def value(self, profile: Any) -> None:
        """Return nothing: exact payoffs are not known."""


AnyNamed: TypeAlias = NamedGame | NamedRules


@contextmanager
def _reading_strategy(text: str) -> Iterator[None]:
    try:
        if not text.strip():
            raise ValueError("got nothing")
        if is_checkpoint(text):
            raise ValueError(checkpoint_advice(text))
        if Path(text).suffix.lower() == ".csv":
            raise ValueError(f"got {quote(text)}, but tables in .csv are not read")
        yield
    except (OSError, TypeError, ValueError, MemoryError) as error:
        hint = f"name a file in .json that solve --out wrote, or {UNIFORM}"
        raise Refusal(f"STRATEGY: {reason(error)}; {hint}") from error


def building() -> AbstractContextManager[None]:
    """Say that a game is built, if that takes long."""
    return slow_notice("building the game takes a while; Ctrl-C ends it")


class GameType(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4
    """A game of the catalogue, in a file, or of OpenSpiel."""

    name = "game"

    def convert(self, value: Any, param: Parameter, ctx: Context) -> NamedGame:
        argument = _name(param)
        with building():
            return NamedGame(value, load_game(value, argument), argument)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        known = sorted({*games.names(), *_RULES})
        found = [CompletionItem(name) for name in known if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


class GameOrRules(GameType):
    """The same, or the rules of a game whose tree does not fit."""

    def convert(self, value: Any, param: Parameter, ctx: Context) -> NamedGame | NamedRules:  # type: ignore[override]
        try:
            return super().convert(value, param, ctx)
        except Refusal as refusal:
            if not is_too_large(refusal.__cause__):
                raise
            with suppress(TypeError, ValueError):  # rules of this size may not exist either
                return NamedRules.load(value, refusal.message, _name(param))
            raise


def load_game(text: str, argument: str) -> AnyGame:
    """Return the game that a text names, or refuse it."""
    with reporting(argument, hint="name an existing file, or a game that regretkit games lists"):
        if text.startswith(_OPENSPIEL):
            from regretkit.games._openspiel_tree import tree_from_openspiel

            with silent_descriptor():
                name, tree = tree_from_openspiel(text.removeprefix(_OPENSPIEL))
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
    words, underscored = split_at_commas(text), text.replace("-", "_")
    name, colon, arguments = text.partition(":")
    if names_file(text):
        return ""
    if len(words) > 1:
        words = list(filter(None, words))
        if {*words} <= {*ALGORITHMS}:
            return f"{text} are algorithms; name them after --algorithms"
        return (
            f"cannot read {quote(text)}; games are separated by spaces; write {shlex.join(words)}"
        )
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
    if is_known(text) or text.startswith(_OPENSPIEL):
        return False
    is_path = Path(text).suffix.lower() in (".efg", ".nfg") or os.sep in text
    return is_path or os.path.exists(text)  # noqa: PTH110 # takes any name


# Options


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
    quiet: bool = False
    as_json: bool = False
    measure: tuple[str, ...] = ()

    @property
    def limited(self) -> bool:
        """Whether there is a limit; the first one that is reached stops a run."""
        return any((self.iterations, self.gap, self.seconds))

    def or_default(self) -> Self:
        """Return these settings, with a thousand iterations if there is no limit."""
        return self if self.limited else evolve(self, iterations=1_000)


def option(names: str, text: str, kind: Any = None, **settings: Any) -> Callable[[Any], Any]:
    """Return an option; files are refused first, before a large game is built."""
    eager = isinstance(kind, OutputFile)
    return click.option(*names.split(), type=kind, help=text, is_eager=eager, **settings)


def _only_one(context: Context, parameter: Parameter, given: Sequence[str]) -> str | None:
    """Return the one text that was given, if any."""
    if len(given) > 1:
        raise Refusal(f"{_name(parameter)}: got {' and '.join(given)}; compare plays several")
    return given[0] if given else None


def _together(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a decorator that adds several options, which are listed in this order."""
    return lambda command: functools.reduce(lambda made, add: add(made), options[::-1], command)


game = click.argument("game", type=GameType())
game_or_rules = click.argument("game", type=GameOrRules())
as_json = option("--json as_json", "Write one JSON object and nothing else.", is_flag=True)
quiet = option("--quiet", "Show no progress.", is_flag=True)
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
    "How to run the iterations; the results are the same.",
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
