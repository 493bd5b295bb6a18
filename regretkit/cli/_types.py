"""Arguments of commands: games, strategies, algorithms, files, and shared options."""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import click
import numpy as np
from attrs import evolve, frozen
from click.shell_completion import CompletionItem

from regretkit import games
from regretkit._util._files import check_target
from regretkit._util._validate import quote
from regretkit.cli._console import Refusal, reporting
from regretkit.display._style import require_matplotlib
from regretkit.games import History, Profile, Rules, as_history
from regretkit.play import ALGORITHMS, Algorithm, named, solve
from regretkit.sets import DecisionTree
from regretkit.workbench._names import algorithm_of, load_game, split

Parameter: TypeAlias = click.Parameter | None

GAME_HELP = (
    "A GAME is a name in the catalogue, with arguments if needed, such as kuhn_poker or "
    "'liars_dice(sides=4)'; a Gambit file, such as game.efg; a game of OpenSpiel, such as "
    "openspiel:leduc_poker; or your own, such as my_games.py:MyGame or module:name. "
    "Quote parentheses in a shell."
)
SAMPLINGS = ("external", "outcome", "outcome-baseline", "chance")
GAPS = ("cce_gap", "ce_gap", "efcce_gap", "efce_gap", "linear_gap")
UNIFORM, EQUILIBRIUM = "uniform", "equilibrium"
_SOLVED = 20_000
"""Most histories for an exact equilibrium; larger games take 1,000 iterations."""

COUNT, FROM_ZERO = click.IntRange(min=1), click.IntRange(min=0)
POSITIVE = click.FloatRange(min=0.0, max=1e300, min_open=True)


class OutputFile(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4
    """A file to write, with one of some endings; its folder must exist."""

    name = "file"

    def __init__(self, *endings: str) -> None:
        self._endings = endings

    def convert(self, value: Any, param: Parameter, ctx: Any) -> Path:
        with reporting(_name(param)):
            ending = Path(value).suffix.lower()
            if self._endings and ending not in self._endings:
                raise ValueError(f"must end in {' or '.join(self._endings)}, got {quote(value)}")
            check_target(value)
            if ending in (".svg", ".pdf", ".png"):
                require_matplotlib("a figure")
        return Path(value)


def _name(parameter: Parameter) -> str:
    """Return the name of a parameter in messages, such as ``GAME`` or ``--out``."""
    if isinstance(parameter, click.Argument):
        return (parameter.metavar or str(parameter.name).upper()).strip("[].")
    return "" if parameter is None else parameter.opts[0]


@frozen
class NamedGame:
    """A game, or its rules if its tree does not fit into memory, and its text."""

    text: str
    game: Any
    """A game of any kind, or a ``History``."""

    @property
    def by_rules(self) -> bool:
        """Whether only the rules are available."""
        return isinstance(self.game, History)

    @property
    def forgets(self) -> bool:
        """Whether the game has imperfect recall."""
        return not self.by_rules and self.game.recall_violation is not None

    @property
    def played(self) -> Any:
        """The game to run: its refinement if it has imperfect recall."""
        return self.game if self.by_rules else self.game.refinement

    @property
    def name(self) -> str:
        """The game's own name, or else the text."""
        return self.text if self.by_rules else self.played.name or self.text

    @functools.cached_property
    def players(self) -> int:
        """Number of players."""
        if not self.by_rules:
            return len(self.played.domains)
        from regretkit.play._sampled import players_of  # slow to import

        return players_of(self.game)

    def coarsen(self, profile: Any) -> Any:
        """Return a profile with one strategy for each original information set."""
        return self.game.coarsen(profile) if self.forgets else profile

    def accept(self, imperfect_recall: bool) -> None:
        """Reject imperfect recall without the option."""
        if self.forgets and not imperfect_recall:
            cure = "--imperfect-recall accepts it, without a convergence guarantee"
            raise Refusal(f"GAME: {self.game.recall_violation}; {cure}")

    def refuse_without_tree(self, options: Mapping[str, object]) -> None:
        """Reject options that need the tree if it does not fit into memory."""
        for option, value in options.items():
            if value and self.by_rules:
                raise Refusal(
                    f"{option}: needs the tree of {self.text}, which does not fit into memory"
                )

    def strategy(self, text: str) -> Any:
        """Return the profile of a text, with one strategy for each original information set."""
        with reporting("STRATEGY"):
            if text == EQUILIBRIUM:
                return self.coarsen(self._equilibrium())
            if text != UNIFORM:
                return self.coarsen(Profile.from_json(text, self.played))
            if not self.by_rules:
                return self.coarsen(Profile.uniform(self.played))
            none = [DecisionTree([], [])] * self.players  # visited
            return Profile([np.ones(1)] * len(none), none, self.game, [()] * len(none))

    def _equilibrium(self) -> Any:
        if self.by_rules:
            raise ValueError(
                f"'equilibrium' needs the tree of {self.text}, which does not fit into memory"
            )
        zero_sum = self.players == 2 and self.played.constant_sum is not None
        size = getattr(getattr(self.played, "tree", None), "histories", 0)
        if zero_sum and not self.forgets and size <= _SOLVED:
            return solve(self.played, exact=True).profile
        return solve(self.game, iterations=1_000, imperfect_recall=self.forgets).average


class GameType(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4
    """A game, or with ``or_rules`` also rules without a tree."""

    name = "game"

    def __init__(self, *, or_rules: bool = False) -> None:
        self._or_rules = or_rules

    def convert(self, value: Any, param: Parameter, ctx: Any) -> NamedGame:
        if isinstance(value, NamedGame):
            return value
        with reporting(_name(param)):
            if not value.strip():
                raise ValueError("must not be empty")
            made = load_game(value, or_rules=self._or_rules)
        return NamedGame(value, as_history(made) if isinstance(made, History | Rules) else made)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        found = [CompletionItem(name) for name in games.names() if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


def algorithm_from(name: str | None, rule: str | None, sample: str | None) -> Algorithm:
    """Return the algorithm called ``name``, with the rule ``rule`` in its place or in it."""
    with reporting("--algorithm" if rule is None else "--rule"):
        text = rule or name or ("cfr+" if sample is None else "lcfr")
        parts = [algorithm_of(word) for word in split(text, ",")]
        made = parts[0] if len(parts) == 1 else Algorithm(parts)
        if rule is not None and name is not None:
            made = evolve(named(name), local=made.local)
        return made if sample is None else Algorithm(made, sampling=sample)


# Options


def option(names: str, text: str, kind: Any = None, **settings: Any) -> Callable[[Any], Any]:
    """Return an option. Output files are checked first, before a large game is built."""
    eager = isinstance(kind, OutputFile)
    return click.option(*names.split(), type=kind, help=text, is_eager=eager, **settings)


def _note(context: click.Context, parameter: Any, value: bool) -> None:
    context.meta[parameter.name] = value


_NOTED: dict[str, Any] = {"is_flag": True, "expose_value": False, "callback": _note}


def together(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a decorator that adds several options in this order."""
    return lambda command: functools.reduce(lambda made, add: add(made), options[::-1], command)


game = click.argument("game", type=GameType())
game_or_rules = click.argument("game", type=GameType(or_rules=True))
as_json = option("--json", "Write one JSON object and nothing else.", **_NOTED)
quiet = option("--quiet", "Show no progress.", **_NOTED)
strategy_out = option(
    "--out", "Write the strategy, as .json or as a table in .csv.", OutputFile(".json", ".csv")
)
figure_file = OutputFile(".svg", ".pdf", ".png")
imperfect_recall = option(
    "--imperfect-recall",
    "Accept games of imperfect recall, without a convergence guarantee.",
    is_flag=True,
)
limits = together(
    option("--iterations", "Stop after N iterations.", COUNT),
    option(
        "--gap target_gap",
        "Stop once the gap is at most this: the gain of best responses, summed over players, in "
        "units of payoff.",
        POSITIVE,
    ),
    option("--time time_limit", "Stop after S seconds of play.", POSITIVE),
)
rule_options = together(
    option(
        "--algorithm",
        f"One of {', '.join(ALGORITHMS)}, or a rule as for --rule; or one for each player, "
        "separated by commas. By default cfr+, and lcfr with --sample.",
        metavar="NAME",
    ),
    option(
        "--rule",
        "Your own rule, as my_rule.py:MyRule or module:MyRule, with hyperparameters as in "
        "'my_rule.py:MyRule(power=2)'. It may also be a function from simplices to a minimizer, or "
        "an Algorithm.",
        metavar="FILE.py:CLASS",
    ),
)
sample = option(
    "--sample",
    "Sample utilities: external (the default) samples all actions but a player's own; outcome, one "
    "play of the game; outcome-baseline, one play with a learned baseline; chance, its actions.",
    click.Choice(SAMPLINGS),
    is_flag=False,
    flag_value="external",
)
seed = option("--seed", "The seed of random draws; 0 by default.", FROM_ZERO)
