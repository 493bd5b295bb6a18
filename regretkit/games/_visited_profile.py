"""Strategies at the information sets that play without a tree has visited."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex, cast, final, overload

import numpy as np
from attrs import define, field

from regretkit._util._errors import TABLES, Hints
from regretkit._util._typing import Vector
from regretkit._util._validate import number, quote
from regretkit.games._adapters import InformationSet
from regretkit.games._fingerprint import fingerprint
from regretkit.games._profile import Profile
from regretkit.games._profile_table import (
    as_dict,
    entries_in,
    expect,
    read_json,
    strategy_in,
    write_json,
)
from regretkit.games.tree._history import History, HistoryBatch
from regretkit.sets import DecisionTree

if TYPE_CHECKING:
    import pandas as pd

_FORMAT, _VERSION = "regretkit strategy without a tree", 1
_KEYS = {"format", "version", "parents", "players"}


class VisitedInfoset(NamedTuple):
    """A player's distribution at an information set, and where it stands in the player's tree."""

    actions: tuple[Hashable, ...]
    probabilities: Vector
    parent: Hashable | None
    """The player's last information set before it, None where there is none,"""
    parent_action: int
    """and the index of the action there."""


@final
@define(eq=False, repr=False)
class VisitedStrategy:
    """What a player does at the information sets that were visited, and uniformly at all others.

    It holds distributions over actions by information set, and can be iterated over. Called with an
    information set and its actions, it returns their probabilities, as everything does that takes a
    behavioral strategy; an information set of a game's tree, or of a file, is found by its label.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import ExternalSampling, LazyMCCFR
    >>> sampling = ExternalSampling(np.random.default_rng(1))
    >>> run = LazyMCCFR(kuhn_poker(), RegretMatching, sampling).run(50)
    >>> first, second = run.average
    >>> len(first), {str(information_set) for information_set in first} >= {"J", "Q", "K"}
    (6, True)
    >>> first("unheard of", ["p", "b"])
    array([0.5, 0.5])
    """

    _infosets: Mapping[Hashable, VisitedInfoset]
    """Each behind the one before it in the player's tree."""
    _by_label: dict[str, Vector] | None = field(default=None, init=False)

    def __call__(self, information_set: Hashable, actions: Sequence[Hashable]) -> Vector:
        """Return the probability of each action."""
        known = self._infosets.get(information_set)
        if known is not None:
            return known.probabilities
        if isinstance(information_set, InformationSet):
            information_set = information_set.label
        probabilities = self._labeled().get(str(information_set))
        return np.full(len(actions), 1.0 / len(actions)) if probabilities is None else probabilities

    def _labeled(self) -> dict[str, Vector]:
        if self._by_label is None:
            by_label = {str(key): known.probabilities for key, known in self._infosets.items()}
            if len(by_label) < len(self._infosets):
                raise ValueError("information sets cannot be found by labels, which are not unique")
            self._by_label = by_label
        return self._by_label

    def actions(self, information_set: Hashable) -> tuple[Hashable, ...]:
        """Return the actions at an information set that was visited."""
        return self._infosets[information_set].actions

    def __getitem__(self, information_set: Hashable) -> Vector:
        return self._infosets[information_set].probabilities

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._infosets)

    def __len__(self) -> int:
        return len(self._infosets)

    def __repr__(self) -> str:
        return f"<what to do at {len(self)} information sets>"

    def _tree(self) -> DecisionTree:
        """Return the player's decision tree, as far as it was visited."""
        infosets = self._infosets.values()
        sizes = [len(infoset.actions) for infoset in infosets]
        ends = np.cumsum([1, *sizes]).tolist()
        first = dict(zip(self._infosets, ends, strict=False))
        return DecisionTree(
            [
                0 if infoset.parent is None else first[infoset.parent] + infoset.parent_action
                for infoset in infosets
            ],
            sizes,
            labels=map(str, self._infosets),
            actions=[[str(action) for action in infoset.actions] for infoset in infosets],
        )


@final
class VisitedProfile(Hints, tuple[VisitedStrategy, ...]):
    """One strategy for each player, at the information sets that were visited.

    ``LazyMCCFR.average`` returns it. ``StrategyAgent`` plays it, ``sampled_value`` and the other
    estimates take it, and so do all functions of ``evaluation`` together with the game's tree.

    Examples
    --------
    >>> from regretkit import RegretMatching
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import ExternalSampling, LazyMCCFR
    >>> sampling = ExternalSampling(np.random.default_rng(1))
    >>> average = LazyMCCFR(kuhn_poker(), RegretMatching, sampling).run(500).average
    >>> average.profile["Kb"].round(1)
    array([0., 1.])
    >>> print(average.threshold(0.3).profile)  # doctest: +ELLIPSIS
    player 0
      ...
    """

    _hints = TABLES

    @overload
    def __getitem__(self, key: SupportsIndex) -> VisitedStrategy: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[VisitedStrategy, ...]: ...
    @overload
    def __getitem__(self, key: str | tuple[int, str | int]) -> Vector: ...
    def __getitem__(self, key: Any) -> Any:
        """Return a player's strategy; by label, the distribution at an information set."""
        return self.profile[key] if isinstance(key, str | tuple) else super().__getitem__(key)

    @cached_property
    def profile(self) -> Profile:
        """The same as a ``Profile`` on the players' decision trees, as far as they were visited.

        It prints as a table, and can be asked by label; as a strategy of the whole game, which has
        more information sets, it must not be taken.
        """
        trees = [strategy._tree() for strategy in self]
        behaviors = [
            np.concatenate([np.empty(0), *(strategy[key] for key in strategy)]) for strategy in self
        ]
        vectors = map(DecisionTree.sequence_form, trees, behaviors)
        return Profile(vectors, trees)

    def _repr_html_(self) -> str:
        return self.profile._repr_html_()

    def threshold(self, least: float) -> "VisitedProfile":
        """Return it without actions of probability below a threshold, as ``evaluation.threshold``.

        Parameters
        ----------
        least
            The threshold, from 0, which changes nothing, to 1, which leaves the most probable
            actions.
        """
        least = number(least, "least", least=0.0, most=1.0)

        def kept(infoset: VisitedInfoset) -> VisitedInfoset:
            probabilities = infoset.probabilities
            kept = np.where(probabilities >= min(least, probabilities.max()), probabilities, 0.0)
            lost = (kept != probabilities).any()
            return infoset._replace(probabilities=kept / kept.sum() if lost else probabilities)

        return VisitedProfile(
            VisitedStrategy({key: kept(infoset) for key, infoset in strategy._infosets.items()})
            for strategy in self
        )

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write the table of ``Profile.to_csv``."""
        self.profile.to_csv(path)

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the table of ``Profile.to_dataframe``, for which pandas has to be installed."""
        return self.profile.to_dataframe()

    def to_json(
        self, path: str | PathLike[str], game: History | HistoryBatch | None = None
    ) -> None:
        """Write it into a file, from which ``from_json`` reads it by labels.

        With the rules of its game, it has their ``fingerprint``.

        Raises
        ------
        OSError
            When the file cannot be written.
        """
        profile = self.profile
        trees = (cast(DecisionTree, domain) for domain in profile.domains)
        parents = [tree.parent_sequence.tolist() for tree in trees]
        players = as_dict(profile, {})["players"]
        head: dict[str, Any] = {"format": _FORMAT, "version": _VERSION, "parents": parents}
        head |= {} if game is None else {"fingerprint": fingerprint(game)}
        write_json({**head, "players": players}, path)

    @classmethod
    def from_json(
        cls, path: str | PathLike[str], game: History | HistoryBatch | None = None
    ) -> "VisitedProfile":
        """Return what ``to_json`` wrote, with labels in place of information sets.

        With the rules of a game, the file is refused if it has the ``fingerprint`` of others.

        Raises
        ------
        OSError
            When the file cannot be read.
        ValueError
            When it is something else, with the place, or of another game.
        """
        source, read = str(path), read_json(Path(path))
        written = read.pop("fingerprint", None) if isinstance(read, dict) else None
        data = entries_in(read, _KEYS, source)
        if game is not None and written not in (None, known := fingerprint(game)):
            raise ValueError(
                f"{source} was written for another game, of fingerprint {quote(written)}, and this "
                f"one has {known}"
            )
        for name, wanted in (("format", _FORMAT), ("version", _VERSION)):
            expect(data[name] == wanted, source, f"have the {name} {wanted!r}", data[name])
        players, parents = data["players"], data["parents"]
        fits = isinstance(players, list) and isinstance(parents, list)
        expect(
            fits and len(players) == len(parents), source, "have parents for each player", parents
        )
        return cls(
            _read(records, above, player, f"{source}: players[{player}]")
            for player, (records, above) in enumerate(zip(players, parents, strict=True))
        )


def _read(records: Any, parents: Any, player: int, place: str) -> VisitedStrategy:
    try:
        labels, actions = zip(*((row["label"], row["actions"]) for row in records), strict=True)
        tree = DecisionTree(parents, list(map(len, actions)), labels=labels, actions=actions)
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise ValueError(f"{place} are no information sets with parents: {error}") from error
    behavior = tree.behavior(strategy_in(records, tree, player, place))
    before = (np.searchsorted(tree.first_sequence, tree.parent_sequence, side="right") - 1).tolist()
    steps = (tree.parent_sequence - tree.first_sequence[before]).tolist()
    strategy = VisitedStrategy(
        {
            label: VisitedInfoset(
                tuple(actions[number]),
                behavior[tree.simplices.block(number)],
                labels[before[number]] if before[number] >= 0 else None,
                max(steps[number], 0),
            )
            for number, label in enumerate(labels)
        }
    )
    expect(len(strategy) == tree.points, place, "have labels that differ", labels)
    return strategy
