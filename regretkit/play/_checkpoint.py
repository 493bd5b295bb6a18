"""Checkpoints: save runs to files, and resume them."""

import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from attrs import define, field
from attrs.validators import optional

from regretkit._util._files import FilePath, check_target
from regretkit._util._validate import at_least_one, positive, quote
from regretkit.estimators import Estimator
from regretkit.games import Game, ImperfectRecallGame, load, load_rules, names
from regretkit.play._algorithms import Algorithm, AlgorithmLike, named
from regretkit.play._callbacks import Callback, as_callbacks, begin, next_call, stopped
from regretkit.play._run import read_run, restored_run
from regretkit.play._self_play import SelfPlay
from regretkit.play._solve import RulesLike, start_by_rules

if TYPE_CHECKING:
    from regretkit.play._sampled import Sampled

_PLAYED = 9
"""Smallest ratio of the time of play to the time of saving."""


@define(eq=False)
class Checkpoint:
    """A callback that saves a run.

    Each save replaces the file atomically. A run that ``resume`` returns continues bitwise
    identically to an uninterrupted one.

    Parameters
    ----------
    path
        The file. Its folder must exist.
    seconds
        Interval between saves in seconds, positive. Saving takes at most 10 % of the time. Pass
        either ``seconds`` or ``every``.
    every
        Interval between saves in iterations, at least 1.
    callbacks
        Callbacks to call before each save and to save with the run, such as a ``Recorder``. If one
        of them stops the run, the checkpoint saves it first.

    Attributes
    ----------
    iteration
        The iteration of the last save, None before the first.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "kuhn.checkpoint")
    ...     watch = Checkpoint(path, every=100)
    ...     run = solve(kuhn_poker(), "cfr+", iterations=250, callbacks=[watch])
    ...     resume(path).iteration
    200
    """

    path: FilePath = field(converter=Path)
    seconds: float | None = field(default=None, kw_only=True, validator=optional(positive))
    every: int | None = field(default=None, kw_only=True, validator=optional(at_least_one))
    callbacks: Iterable[Callback] = field(default=(), kw_only=True, converter=as_callbacks)
    iteration: int | None = field(default=None, init=False)
    _saved: float = field(factory=time.monotonic, init=False, repr=False)
    """The time of the last save, or of construction."""
    _took: float = field(default=0.0, init=False, repr=False)
    """Duration of the last save in seconds."""

    def __attrs_post_init__(self) -> None:
        if (self.seconds is None) == (self.every is None):
            raise ValueError(
                f"pass either seconds or every, got seconds={self.seconds} and every={self.every}"
            )
        check_target(self.path)

    def begin(self, run: Any) -> list[Callback]:
        """Call ``begin`` of the callbacks."""
        return begin(self.callbacks, run)

    def __call__(self, run: Any) -> bool:
        """Call the callbacks, and save the run if a save is due or a callback stops it."""
        stop = stopped(run, self.callbacks)
        if stop or self._is_time(run):
            began = time.monotonic()
            run.save(self.path, callbacks=self.callbacks)
            self.iteration, self._saved = run.iteration, time.monotonic()
            self._took = self._saved - began
        return stop

    def next_call(self, run: Any) -> int:
        """Return the next iteration at which a save or a callback may be due."""
        if self.every is not None:
            save = (run.iteration // self.every + 1) * self.every
        else:
            save = run.iteration + run.pace
        return next_call(run, self.callbacks, save)

    def _is_time(self, run: Any) -> bool:
        if self.every is not None:
            return bool(run.iteration % self.every == 0)
        return time.monotonic() - self._saved >= max(self.seconds or 0.0, _PLAYED * self._took)


@overload
def resume(
    path: FilePath,
    game: Game | ImperfectRecallGame | None = None,
    *,
    algorithm: AlgorithmLike | None = None,
    estimator: Estimator | None = None,
    callbacks: Iterable[object] = (),
) -> SelfPlay: ...
@overload
def resume(
    path: FilePath,
    game: RulesLike,
    *,
    algorithm: AlgorithmLike | None = None,
    estimator: Estimator | None = None,
    callbacks: Iterable[object] = (),
) -> "Sampled": ...
def resume(
    path: FilePath,
    game: Any = None,
    *,
    algorithm: AlgorithmLike | None = None,
    estimator: Estimator | None = None,
    callbacks: Iterable[object] = (),
) -> "SelfPlay | Sampled":
    """Read a checkpoint of a named algorithm, and return the run.

    ``run.run(run.horizon - run.iteration)`` plays the remaining iterations of ``solve``.
    ``SelfPlay.load`` reads runs of other algorithms.

    Parameters
    ----------
    path
        A file that ``Checkpoint`` or ``run.save`` wrote.
    game
        The game, or its rules. The default is the game of the catalogue with the name in the file.
        An ``ImperfectRecallGame`` is played as by ``solve(..., imperfect_recall=True)``.
    algorithm
        The algorithm. The default is the algorithm with the name in the file.
    estimator
        The estimator, required if the run had its own.
    callbacks
        The callbacks that were saved with the run. Their state is restored.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> whole = solve(kuhn_poker(), "dcfr", iterations=300)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "kuhn.checkpoint")
    ...     solve(kuhn_poker(), "dcfr", iterations=200).save(path)
    ...     run = resume(path).run(100)
    >>> bool((run.average[0] == whole.average[0]).all())
    True
    """
    content = read_run(path)
    call = {"algorithm": None, "sampling": None, "own_estimator": False, **content["call"]}
    algorithm = call["algorithm"] if algorithm is None else algorithm
    if algorithm is None:
        raise ValueError(
            f"the algorithm of {path} has no name; pass algorithm, or build the run's parts and "
            "use load"
        )
    if estimator is None and call["own_estimator"]:
        raise ValueError(f"the run of {path} has its own estimator; pass estimator")
    chosen, groups = named(algorithm), None
    if estimator is None and chosen.sampling is None:
        chosen = Algorithm(chosen, sampling=call["sampling"])
    by_rules, name = content["parts"][0] == "Sampled", str(content["game"])
    if game is None:
        if name.partition("(")[0] not in names():  # load() would also read a file of this name
            raise ValueError(f"the game {quote(name)} of {path} is not in the catalogue; pass game")
        game = load_rules(name) if by_rules else load(name)
    if isinstance(game, ImperfectRecallGame):
        game, groups = game.refinement, game.coarse_information_set
    make: Any = partial(chosen.start, game, groups=groups)
    if by_rules:
        make = partial(start_by_rules, game, chosen)
    run: SelfPlay = restored_run(path, content, make, callbacks, estimator=estimator)
    return run
