"""Parameter types of click: numbers, files, games, strategies and algorithms."""

import inspect
import math
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeAlias, final

import click
from attrs import frozen
from click.shell_completion import CompletionItem

from regretkit import games
from regretkit._util._errors import argument_of
from regretkit._util._files import check_target
from regretkit._util._validate import quote
from regretkit.cli._console import silent_descriptor, slow_notice
from regretkit.cli._exit_codes import Failure, Refusal, reason, refusing
from regretkit.cli._rules import load_rule, rule_error
from regretkit.games import Game, ImperfectRecallGame, Profile
from regretkit.games._extensive_form import game_from_tree
from regretkit.play import ALGORITHMS, Algorithm, Estimator, SelfPlay, cfr, named
from regretkit.play._algorithms import Kinds

Parameter: TypeAlias = click.Parameter | None
Context: TypeAlias = click.Context | None


def argument_name(parameter: Parameter) -> str:
    """Return what messages call a parameter, such as ``GAME`` or ``--out``."""
    if isinstance(parameter, click.Argument):
        return (parameter.metavar or str(parameter.name).upper()).strip("[].")
    return "" if parameter is None else parameter.opts[0]


@final
class Number(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4
    """A number of which ``accepts`` is true; whole numbers may have commas."""

    def __init__(
        self, name: str, wanted: str, accepts: Callable[[float], bool], *, whole: bool = False
    ) -> None:
        self.name, self._wanted, self._accepts, self._whole = name, wanted, accepts, whole

    def convert(self, value: Any, param: Parameter, ctx: Context) -> float:
        """Return the number, or refuse it."""
        try:
            number = float(str(value).replace(",", "") if self._whole else value)
        except ValueError:
            number = math.nan
        whole = number.is_integer() and number < 2.0**53
        if not self._accepts(number) or (self._whole and not whole):
            self.fail(f"must be {self._wanted}, got {quote(str(value))}", param, ctx)
        return int(number) if self._whole else number


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
        from regretkit.display._style import require_matplotlib

        argument, endings = argument_name(param), " or ".join(self._endings)
        if endings and Path(value).suffix.lower() not in self._endings:
            raise Refusal(
                f"{argument}: the name of the file must end in {endings}, got {quote(value)}"
            )
        with refusing(argument):
            check_target(value)
            if self._figure:
                require_matplotlib("a figure")
        return Path(value)


STRATEGY_FILE = OutputFile(".json", ".csv")
FIGURE_FILE = OutputFile(".svg", ".pdf", ".png", figure=True)

# Games

OPENSPIEL = "openspiel:"

GAME_HELP = (
    "A GAME is one of the catalogue, with arguments if needed, such as kuhn_poker or "
    "'liars_dice(sides=4)'; or a Gambit file, such as game.efg or ./game; or a game of OpenSpiel, "
    "such as openspiel:leduc_poker. Parentheses need quotation marks in a shell."
)


@frozen
class NamedGame:
    """A game, and how it was named."""

    text: str
    game: Game
    """The game; of imperfect recall perhaps."""
    argument: str = "GAME"

    @property
    def original(self) -> ImperfectRecallGame | None:
        """The game if it is of imperfect recall, else None."""
        return self.game if isinstance(self.game, ImperfectRecallGame) else None

    @property
    def played(self) -> Game:
        """The game that self-play runs: the perfect-recall refinement if recall is imperfect."""
        return self.game if self.original is None else self.original.refinement

    @property
    def groups(self) -> Kinds | None:
        """Which decision points share a strategy, None with perfect recall."""
        return None if self.original is None else self.original.coarse_information_set

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

    def check_gap(self, gap: float | None) -> None:
        """Refuse a gap as a limit with imperfect recall."""
        if gap is not None and self.original is not None:
            raise Refusal(
                f"--gap: got {gap:g}, but with imperfect recall no gap is known to vanish; pass "
                "--iterations or --time"
            )

    @property
    def absolute(self) -> str:
        """A text that names the same game from any folder."""
        is_file = not self.text.startswith(OPENSPIEL) and names_file(self.text)
        return os.path.abspath(self.text) if is_file else self.text  # noqa: PTH100 # keeps links


class GameType(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4
    """A game of the catalogue, in a file, or of OpenSpiel."""

    name = "game"

    def convert(self, value: Any, param: Parameter, ctx: Context) -> NamedGame:
        """Return the game, or refuse it."""
        argument = argument_name(param)
        with slow_notice("building the game takes a while; Ctrl-C ends it"):
            return NamedGame(value, load_game(value, argument), argument)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the games of the catalogue that begin like this, or let the shell name files."""
        found = [CompletionItem(name) for name in games.names() if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


@final
class GamesType(GameType):
    """One of several games, among which algorithms and lists with commas are mistakes."""

    def convert(self, value: Any, param: Parameter, ctx: Context) -> NamedGame:
        """Return the game, or refuse it."""
        pieces = split_at_commas(str(value))
        parts = [piece.strip() for piece in pieces if piece.strip()]
        if parts and len(pieces) > 1 and not os.path.exists(value):  # noqa: PTH110 # takes any name
            raise Refusal(
                f"GAMES: got {quote(value)}, but games are separated by spaces; write "
                f"{shlex.join(parts)}"
            )
        if value in ALGORITHMS:
            raise Refusal(
                f"GAMES: {value} is an algorithm; write all of them after --algorithms, with "
                "commas between them and no spaces"
            )
        return super().convert(value, param, ctx)


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
    with refusing(argument, "name an existing file, or a game that regretkit games lists"):
        if text.startswith(OPENSPIEL):
            with silent_descriptor():
                return _of_openspiel(text.removeprefix(OPENSPIEL))
        if names_file(text):
            return games.load(Path(text))
        name, colon, rest = text.partition(":")
        if colon and name in games.names():
            raise ValueError(
                f"cannot read {quote(text)}; write '{name}({rest})' in quotation marks"
            )
        underscored = text.replace("-", "_")
        if is_known(underscored) and not is_known(text):
            raise ValueError(f"cannot read {quote(text)}; did you mean {quote(underscored)}?")
        try:
            return games.load(text)
        except ValueError as error:
            raise (
                error if is_known(text) else ValueError(f"{error}; or name {sources}")
            ) from error


def _of_openspiel(name: str) -> Game:
    from regretkit.games.openspiel._tree import tree_from_openspiel  # which few commands need

    name, tree = tree_from_openspiel(name)
    return game_from_tree(tree, name)


def is_known(text: str) -> bool:
    """Return whether a text begins with the name of a game of the catalogue."""
    return text.partition("(")[0].strip() in games.names()


def names_file(text: str) -> bool:
    """Return whether a text names a file; a name of the catalogue never does."""
    if is_known(text):
        return False
    path = Path(text)
    return path.suffix.lower() in (".efg", ".nfg") or os.sep in text or path.exists()


def name_of(game: Game) -> str:
    """Return the name of a game."""
    return getattr(game, "name", None) or "a game without a name"


# Strategies

UNIFORM = "uniform"


def load_strategy(game: Game, text: str) -> Profile:
    """Return the profile that a text names, or refuse it."""
    if text == UNIFORM:
        return Profile(
            [domain.relative_interior_point() for domain in game.domains], game.domains, game
        )
    hint = f"name a file in .json that solve --out wrote, or {UNIFORM}"
    if not text.strip():
        raise Refusal(f"STRATEGY: got nothing; {hint}")
    if Path(text).suffix.lower() == ".csv":
        raise Refusal(f"STRATEGY: got {quote(text)}, but tables in .csv are not read; {hint}")
    try:
        return Profile.from_json(text, game)
    except (OSError, TypeError, ValueError, MemoryError) as error:
        raise Refusal(f"STRATEGY: {reason(error)}; {hint}") from error


# Algorithms

NAMES = ", ".join(ALGORITHMS)
DEFAULT = "cfr+"


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
    def of(cls, name: str | None, rule: str | None, argument: str = "--algorithm") -> "Choice":
        """Return the algorithm of a name, a rule, or an algorithm with its rule replaced.

        A rule alone is played as in CFR: alternating updates, with the uniform average.
        """
        if rule is None:
            name = name or DEFAULT
            with refusing(argument):
                return cls(name, None, named(name), argument)
        argument = "--rule" if argument == "--algorithm" else argument
        loaded = load_rule(rule, argument)
        if not isinstance(loaded, Algorithm):
            base = cfr if name is None else cls.of(name, None).algorithm
            algorithm = Algorithm(loaded, order=base.order, averaging=base.averaging)
            return cls(name, rule, algorithm, argument)
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

    def start(
        self, game: NamedGame, horizon: int | None, engine: str, estimator: Estimator | None
    ) -> SelfPlay:
        """Return a run before its first iteration, or refuse arguments that do not fit together."""
        try:
            return self.algorithm.start(
                game.played,
                estimator=estimator,
                horizon=horizon,
                engine=engine,
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
        try:
            inspect.signature(self.algorithm.local).bind(None)
        except TypeError:
            return f"; pass it as in '{self.rule}(name=value)'"
        except ValueError:  # some built-in classes have no signature
            pass
        return ""


def choices_of(texts: tuple[str, ...]) -> list[Choice]:
    """Return the algorithms of lists such as ``cfr+,dcfr,my_rules:MyRule(power=2)``."""
    words = [word.strip() for text in texts for word in split_at_commas(text) if word.strip()]
    if not words:
        raise Refusal(f"--algorithms: got none; name some of {NAMES}, or module:Class")
    pairs = [(None, word) if ":" in word else (word, None) for word in dict.fromkeys(words)]
    return [Choice.of(name, rule, "--algorithms") for name, rule in pairs]


def split_at_commas(text: str) -> list[str]:
    """Split a text at the commas outside parentheses."""
    words, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth <= 0:
            words.append("")
        else:
            words[-1] += letter
    return words
