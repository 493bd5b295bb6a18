"""Algorithms, and user-defined rules that are named as ``module:Class``."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from attrs import evolve, frozen

from regretkit._util._errors import argument_of
from regretkit._util._validate import quote
from regretkit.cli._arguments import AnyNamed, NamedRules, Settings
from regretkit.cli._console import IN_FULL, Failure, Refusal, reason, reporting
from regretkit.estimators._mccfr import SAMPLINGS
from regretkit.play import ALGORITHMS, Algorithm, LazyMCCFR, SelfPlay, named
from regretkit.play._solve import default_algorithm, doubt_of_reaching, start_by_rules
from regretkit.workbench._expressions import (
    algorithm_of,
    expand,
    load_rule,
    rule_error,
    split_at,
    split_at_commas,
)


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
            raise Failure(f"{self.argument}: {rule_error(error, self.rule)}{IN_FULL}") from error


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
        listed = [expand(word) for text in texts for word in split_at_commas(text) if word]
    words = dict.fromkeys(point for points in listed for point in points)
    if not words:
        known = ", ".join(ALGORITHMS)
        raise Refusal(f"--algorithms: got none; name some of {known}, or module:Class")
    return [Choice.of(word, None, sample, "--algorithms") for word in words]


def _algorithm(text: str, *, named_only: bool) -> Any:
    """Return the rule or the algorithm of a text, or that of a list by player."""
    words = split_at_commas(re.sub(r"\s+\(", "(", text))
    for word in words:
        if len(texts := split_at(word, " ")) > 1:
            told = f"algorithms are separated by commas; write {','.join(filter(None, texts))}"
            raise ValueError(f"cannot read {quote(word)}; {told}")
        if len(expand(word)) > 1:
            raise ValueError(f"{quote(word)} is a grid, which compare and bench play; name a point")
    parts = [
        algorithm_of(word)
        if named_only or word.partition("(")[0] in ALGORITHMS
        else load_rule(word)
        for word in words
    ]
    return parts[0] if len(parts) == 1 else Algorithm(parts)
