"""What a checkpoint holds of a run, and how a run is put back."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, final

import numpy as np
from attrs import define, frozen

from regretkit._util._files import FilePath, read_file, replace_file
from regretkit._util._state import Stateful, attributes, parts
from regretkit._util._validate import quote, shorten
from regretkit.averaging import Averaging
from regretkit.estimators import Estimator
from regretkit.games import Game
from regretkit.games._fingerprint import check_described, describe, find_described, is_description
from regretkit.minimizer import RegretMinimizer
from regretkit.play._callbacks import Callback
from regretkit.play._checkpoint_file import (
    described,
    difference,
    holds_chance,
    kind_of,
    packed,
    rebuilt,
    shown,
    unpacked,
)
from regretkit.play._checks import as_callbacks
from regretkit.play._orders import Order

if TYPE_CHECKING:
    from regretkit.play._self_play import SelfPlay

Run = TypeVar("Run", bound="SelfPlay")

_COMPARED = ("order", "averaging", "estimator", "minimizers")
_ENTRIES = {"game", "built", "callbacks", "state"}
_BUILT = {*_COMPARED, "horizon", "engine"}


class Parts(TypedDict, total=False):
    """What a run is built of besides its game and minimizers."""

    order: Order
    averaging: Averaging
    estimator: Estimator
    engine: str


class Ways(Parts, total=False):
    """What need not be taken from a file, and what is put back along with the run."""

    callbacks: Iterable[Callback]


@final
@define(eq=False)
class _Whole(Stateful):
    """A run, and what has watched it; their states are put back together or not at all."""

    run: "SelfPlay"
    callbacks: Sequence[Stateful]


def save_run(run: "SelfPlay", path: FilePath, callbacks: Iterable[Callback]) -> None:
    """Write a run, and what its callbacks have written down, into a file."""
    run._check_whole()
    watching = _stateful(callbacks)
    for number, callback in enumerate(watching):
        _check_plain(callback, f"callbacks[{number}]")
    content: dict[str, Any] = {
        "game": describe(run.game),
        "built": _built(run),
        "callbacks": [kind_of(callback) for callback in watching],
        "state": _Whole(run, watching).state_dict(),
    }
    replace_file(path, list(packed(content)))


def _built(run: "SelfPlay") -> dict[str, Any]:
    parts_of_it = {name: getattr(run, name) for name in ("order", "averaging", "estimator")}
    for name, part in parts_of_it.items():
        if holds_chance(part):
            raise TypeError(
                f"{name} draws at random, but {quote(part)} has no state that could be saved, and "
                "so this run cannot be; let its class be Stateful, of regretkit._util._state"
            )
    return {
        **{name: described(part) for name, part in parts_of_it.items()},
        "minimizers": [described(minimizer) for minimizer in run.minimizers],
        "horizon": run.horizon,
        "engine": run._requested_engine,
    }


def _stateful(callbacks: Iterable[Callback]) -> list[Stateful]:
    watching: list[object] = [*as_callbacks(callbacks)]
    return [callback for callback in watching if isinstance(callback, Stateful)]


def _check_plain(callback: Stateful, where: str) -> None:
    """Refuse what has written down something that no file can hold."""
    for name, value in attributes(callback):
        for place, item in _listed(value, f"{where}.{name}"):
            leaf = item is None or isinstance(item, bool | int | float | str | np.generic)
            if not leaf and not (isinstance(item, np.ndarray) and item.dtype != object):
                raise TypeError(
                    f"{place} is {shown(item)}, which a checkpoint cannot hold; write down "
                    "numbers, texts or arrays, or leave this callback out"
                )
    for name, part in parts(callback):
        _check_plain(part, f"{where}.{name}")


def _listed(value: object, where: str) -> Iterator[tuple[str, object]]:
    """Yield the items of lists, those in dicts included, each with its place."""
    if isinstance(value, list):
        yield from ((f"{where}[{number}]", item) for number, item in enumerate(value))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _listed(item, f"{where}[{key!r}]")


def _is_saved(content: Mapping[str, Any]) -> bool:
    horizon, callbacks = content["built"]["horizon"], content["callbacks"]
    return (
        isinstance(content["state"], dict)
        and is_description(content["game"])
        and isinstance(callbacks, list)
        and all(isinstance(callback, str) for callback in callbacks)
        and (horizon is None or (type(horizon) is int and 1 <= horizon < 2**63))
    )


@final
@frozen
class Saved:
    """What was read from a file."""

    path: str
    size: int
    """Number of bytes of the file."""
    game: Mapping[str, str | None]
    built: Mapping[str, Any]
    callbacks: Sequence[str]
    state: dict[str, Any]

    @classmethod
    def read(cls, path: FilePath) -> "Saved":
        """Read a file, or refuse it."""
        data = read_file(path)
        content = unpacked(data, str(path))
        built = content.get("built")
        known = isinstance(built, dict) and built.keys() == _BUILT and content.keys() == _ENTRIES
        if not (known and _is_saved(content)):
            raise ValueError(f"{path} is not what regretkit writes: something else is in it")
        return cls(str(path), len(data), **content)

    def find_game(self) -> Game:
        """Return the game by its name."""
        return find_described(self.game, self.path, self.size)

    def check_game(self, game: Game) -> None:
        """Refuse another game."""
        check_described(game, self.game, self.path)

    def parts(self, given: Ways) -> Parts:
        """Return what the run was built of, as far as it is not given."""
        return {
            "order": given.get("order") or self._part("order", Order),
            "averaging": given.get("averaging") or self._part("averaging", Averaging),
            "estimator": given.get("estimator") or self._part("estimator", Estimator),
            "engine": given.get("engine", self.built["engine"]),
        }

    def _part(self, name: str, base: type) -> Any:
        try:
            part = rebuilt(self.built[name], base)
        except Exception as error:  # of any class, which got any arguments
            raise ValueError(
                f"{self.path} has {name} that cannot be built: {shorten(str(error))}"
            ) from error
        if part is None:
            raise ValueError(
                f"{self.path} was written with the {name} {shown(self.built[name])}, which is not "
                f"one of regretkit's; pass {name}"
            )
        return part

    def is_built_of(
        self,
        order: Order,
        averaging: Averaging,
        minimizers: Sequence[RegretMinimizer],
    ) -> bool:
        """Say whether the run was built of such parts."""
        mine = {"order": order, "averaging": averaging, "minimizers": minimizers}
        return self._differs({name: described(part) for name, part in mine.items()}) is None

    def _differs(self, mine: Mapping[str, object]) -> str | None:
        """Say where parts were built otherwise than those that were saved."""
        found = (difference(self.built[name], part, name) for name, part in mine.items())
        return next(filter(None, found), None)

    def start(
        self, kind: "type[Run]", game: Game, minimizers: Sequence[RegretMinimizer], given: Ways
    ) -> "Run":
        """Return a run of what is given and what was saved, at the point where it was saved."""
        self.check_game(game)
        parts_of_it = self.parts(given)
        try:
            run = kind(game, minimizers, horizon=self.built["horizon"], **parts_of_it)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise ValueError(
                f"{self.path} is of a run that cannot be built: {shorten(str(error))}"
            ) from error
        mine = _built(run)
        wrong = self._differs({name: mine[name] for name in _COMPARED})
        if wrong is not None:
            raise ValueError(f"{self.path} is of another run: {wrong}; build it as it was")
        self._restore(run, _stateful(given.get("callbacks", ())))
        return run

    def _restore(self, run: "SelfPlay", watching: Sequence[Stateful]) -> None:
        state, kinds = dict(self.state), [kind_of(callback) for callback in watching]
        if not watching:
            state.pop("callbacks", None)
        elif kinds != self.callbacks:
            raise ValueError(
                f"{self.path} holds what callbacks {self.callbacks} have written down, but those "
                f"passed are {kinds}; pass the same ones, or none"
            )
        whole = _Whole(run, watching)
        before = whole.state_dict()
        try:
            whole.load_state_dict(state)
            try:
                run._check_restored()
            except ValueError:
                whole.load_state_dict(before)
                raise
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.path} does not fit this run: {shorten(str(error))}") from error


def load_run(
    kind: "type[Run]",
    path: FilePath,
    game: Game,
    minimizers: Sequence[RegretMinimizer],
    given: Ways,
) -> "Run":
    """Return the run that is in a file."""
    return Saved.read(path).start(kind, game, minimizers, given)
