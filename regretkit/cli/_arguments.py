"""What the commands are told: numbers, files, games, strategies, and the options of a run."""

import functools
import math
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeAlias, cast, final

import click
import numpy as np
from attrs import evolve, frozen
from click.shell_completion import CompletionItem

from regretkit import games
from regretkit._util._files import check_target
from regretkit._util._validate import quote
from regretkit.cli._console import Refusal, reason, refusing, silent_descriptor, slow_notice
from regretkit.games import (
    ExtensiveFormGame,
    Game,
    ImperfectRecallGame,
    NormalFormGame,
    Profile,
)
from regretkit.games._extensive_form import game_from_tree
from regretkit.play import (
    ALGORITHMS,
    ChanceSampling,
    Estimator,
    ExternalSampling,
    OutcomeSampling,
)
from regretkit.play._algorithms import Kinds
from regretkit.play._engines import engine_names

Decorator: TypeAlias = Callable[[Any], Any]
Parameter: TypeAlias = click.Parameter | None
Context: TypeAlias = click.Context | None


def argument_name(parameter: Parameter) -> str:
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
        """Return the number, or refuse it."""
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
    """A file that can be written, whose name has one of the endings; figures need matplotlib."""

    name = "file"

    def __init__(self, *endings: str, figure: bool = False) -> None:
        self._endings, self._figure = endings, figure

    def convert(self, value: Any, param: Parameter, ctx: Context) -> Path:
        """Return the path, or refuse now what could not be written hours later."""
        argument = argument_name(param)
        if self._endings and Path(value).suffix.lower() not in self._endings:
            raise Refusal(
                f"{argument}: the name of the file must end in {' or '.join(self._endings)}, got "
                f"{quote(value)}"
            )
        with refusing(argument):
            check_target(value)
            if self._figure:
                from regretkit.display._style import require_matplotlib

                require_matplotlib("a figure")
        return Path(value)


# Games

OPENSPIEL = "openspiel:"

GAME_HELP = (
    "A GAME is one of the catalogue, with arguments if needed, such as kuhn_poker or "
    "'liars_dice(sides=4)'; or a Gambit file, such as game.efg or ./game; or a game of OpenSpiel, "
    "such as openspiel:leduc_poker. Parentheses need quotation marks in a shell."
)


AnyGame: TypeAlias = ExtensiveFormGame | NormalFormGame | ImperfectRecallGame
"""What the catalogue, files and OpenSpiel have."""


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
    def played(self) -> ExtensiveFormGame | NormalFormGame:
        """The game that self-play runs: the perfect-recall refinement if recall is imperfect."""
        game = self.game
        return game.refinement if isinstance(game, ImperfectRecallGame) else game

    @property
    def groups(self) -> Kinds | None:
        """Which decision points share a strategy, None with perfect recall."""
        return None if self.original is None else self.original.coarse_information_set

    @property
    def name(self) -> str:
        """The name of the game that is played."""
        return name_of(self.played)

    def coarsen(self, profile: Profile) -> Profile:
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

    def load_strategy(self, text: str) -> Profile:
        """Return the profile that a text names, one strategy for each original information set."""
        game = self.played
        hint = f"name a file in .json that solve --out wrote, or {UNIFORM}"
        if text == UNIFORM:
            interior = [domain.relative_interior_point() for domain in game.domains]
            return self.coarsen(Profile(interior, game.domains, game))
        if not text.strip():
            raise Refusal(f"STRATEGY: got nothing; {hint}")
        if Path(text).suffix.lower() == ".csv":
            raise Refusal(f"STRATEGY: got {quote(text)}, but tables in .csv are not read; {hint}")
        try:
            return self.coarsen(Profile.from_json(text, game))
        except (OSError, TypeError, ValueError, MemoryError) as error:
            raise Refusal(f"STRATEGY: {reason(error)}; {hint}") from error


UNIFORM = "uniform"
"""The name of the profile in which all actions have the same probability."""


class GameType(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4
    """A game of the catalogue, in a file, or of OpenSpiel."""

    name = "game"

    def convert(self, value: Any, param: Parameter, ctx: Context) -> NamedGame:
        """Return the game, or refuse it."""
        argument = argument_name(param)
        with slow_notice("building the game takes a while; Ctrl-C ends it"):
            return NamedGame(value, cast("AnyGame", load_game(value, argument)), argument)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the games of the catalogue that begin like this, or let the shell name files."""
        found = [CompletionItem(name) for name in games.names() if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


def load_game(text: str, argument: str) -> Game:
    """Return the game that a text names, or refuse it."""
    sources = f"an existing file, or {OPENSPIEL}NAME"
    if not text.strip():
        raise Refusal(f"{argument}: got nothing; name a game of the catalogue, {sources}")
    if Path(text).suffix.lower() == ".json":
        raise Refusal(
            f"{argument}: got {quote(text)}, but games are in Gambit files, and strategies in "
            ".json; the game comes first"
        )
    if text in ALGORITHMS:
        raise Refusal(f"{argument}: {text} is an algorithm; name it after --algorithm(s)")
    with refusing(argument, "name an existing file, or a game that regretkit games lists"):
        if text.startswith(OPENSPIEL):
            from regretkit.games.openspiel._tree import tree_from_openspiel

            with silent_descriptor():
                name, tree = tree_from_openspiel(text.removeprefix(OPENSPIEL))
                return game_from_tree(tree, name)
        if names_file(text):
            return games.load(Path(text))
        if advice := _advice(text):
            raise ValueError(f"cannot read {quote(text)}; {advice}")
        try:
            return games.load(text)
        except ValueError as error:
            raise (
                error if is_known(text) else ValueError(f"{error}; or name {sources}")
            ) from error


def _advice(text: str) -> str:
    """Return what to write instead of a name that is nearly one of the catalogue, or nothing."""
    words, underscored = split_at_commas(text), text.replace("-", "_")
    name, colon, rest = text.partition(":")
    if len(words) > 1:
        return f"games are separated by spaces; write {shlex.join(filter(None, words))}"
    if colon and is_known(name):
        return f"write '{name}({rest})' in quotation marks"
    close = is_known(underscored) and not is_known(text)
    return f"did you mean {quote(underscored)}?" if close else ""


def is_known(text: str) -> bool:
    """Return whether a text begins with the name of a game of the catalogue."""
    return text.partition("(")[0].strip() in games.names()


def names_file(text: str) -> bool:
    """Return whether a text names a file; a name of the catalogue never does."""
    if is_known(text) or text.startswith(OPENSPIEL):
        return False
    is_path = Path(text).suffix.lower() in (".efg", ".nfg") or os.sep in text
    return is_path or os.path.exists(text)  # noqa: PTH110 # takes any name


def name_of(game: Game) -> str:
    """Return the name of a game."""
    return getattr(game, "name", None) or "a game without a name"


def split_at_commas(text: str) -> list[str]:
    """Split a text at the commas outside parentheses, and strip the parts."""
    words, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth <= 0:
            words.append("")
        else:
            words[-1] += letter
    return [word.strip() for word in words]


# Options

_SAMPLERS: dict[str, Callable[[np.random.Generator], Estimator]] = {
    "chance": ChanceSampling,
    "external": ExternalSampling,
    "outcome": OutcomeSampling,
}


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
    every: float = math.inf
    """Seconds between two checkpoints."""
    out: Path | None = None
    plot: Path | None = None
    quiet: bool = False
    as_json: bool = False

    @property
    def limited(self) -> bool:
        """Whether there is a limit; the first one that is reached stops a run."""
        return any((self.iterations, self.gap, self.seconds))

    def or_default(self) -> Self:
        """Return these settings, with a thousand iterations if there is no limit."""
        return self if self.limited else evolve(self, iterations=1_000)

    def estimator(self) -> Estimator | None:
        """Return a new estimator, None for exact utilities."""
        if self.sample is None and self.seed is not None:
            raise Refusal(
                f"--seed: got {self.seed}, but nothing is drawn at random without --sample "
                f"{' or '.join(_SAMPLERS)}; leave it out"
            )
        if self.sample is None:
            return None
        if self.sample not in _SAMPLERS:
            raise Refusal(
                f"--sample: must be one of {', '.join(_SAMPLERS)}, got {quote(self.sample)}"
            )
        return _SAMPLERS[self.sample](np.random.default_rng(self.seed or 0))


def option(names: str, text: str, kind: Any = None, **more: Any) -> Decorator:
    """Return an option; files are refused first, before a large game is built."""
    eager = isinstance(kind, OutputFile)
    return click.option(*names.split(), type=kind, help=text, is_eager=eager, **more)


def options(*several: Decorator) -> Decorator:
    """Return a decorator that adds several options, which are listed in this order."""
    return lambda command: functools.reduce(lambda made, add: add(made), several[::-1], command)


game_argument = click.argument("game", type=GameType())
out_option = option(
    "--out", "Write the strategy, as .json or as a table in .csv.", OutputFile(".json", ".csv")
)
figure_file = OutputFile(".svg", ".pdf", ".png", figure=True)
json_option = option("--json as_json", "Write one JSON object and nothing else.", is_flag=True)
quiet_option = option("--quiet", "Show no progress.", is_flag=True)
recall_option = option(
    "--imperfect-recall",
    "Accept a game of imperfect recall: strategies are shared within each information set, and "
    "there is no convergence guarantee.",
    is_flag=True,
)
engine_option = option(
    "--engine",
    "How to run the iterations; the results are the same.",
    click.Choice(engine_names()),
    default="auto",
)
rule_option = option(
    "--rule",
    "A rule is module:Class, with hyperparameters if needed, as in 'my_rules:MyRule(power=2)'; "
    "modules are looked for in this folder too. It may also be a function from simplices to a "
    "minimizer, or an Algorithm.",
    metavar="MODULE:CLASS",
)
limit_options = options(
    option("--iterations", "Stop after N iterations.", COUNT),
    option(
        "--gap",
        "Stop once the gap is at most this: the gain of best responses, summed over players, in "
        "units of payoff.",
        GAP,
    ),
    option("--time seconds", "Stop after S seconds of play.", SECONDS),
)
output_options = options(
    out_option,
    option("--plot", "Draw how the gap fell, as .svg, .pdf or .png.", figure_file),
    quiet_option,
    json_option,
)
checkpoint_options = options(
    option(
        "--checkpoint",
        "Save the run in this file while it plays, to resume it; resume saves in its own FILE by "
        "default.",
        OutputFile(),
    ),
    option("--checkpoint-every every", "Seconds between two checkpoints.", SECONDS, default=10.0),
)
sampling_options = options(
    option(
        "--sample",
        "Sample utilities: the chance moves, all actions but a player's own, or one play of the "
        "game. By default utilities are exact.",
        click.Choice([*_SAMPLERS]),
    ),
    option("--seed", "The seed of the draws with --sample; 0 by default.", FROM_ZERO),
)
