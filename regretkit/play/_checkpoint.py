"""Checkpoints: runs in files."""

import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from attrs import define, field
from attrs.validators import optional

from regretkit._util._files import FilePath, check_target
from regretkit._util._validate import at_least_one, positive
from regretkit.estimators import Estimator
from regretkit.games import Game, ImperfectRecallGame
from regretkit.play._algorithms import Algorithm, AlgorithmLike, named
from regretkit.play._callbacks import Callback, as_callbacks, begin, next_call, stopped
from regretkit.play._checkpoint_file import SavedRun
from regretkit.play._self_play import SelfPlay
from regretkit.play._solve import RulesLike, start_by_rules

if TYPE_CHECKING:
    from regretkit.play._sampled import Sampled

_PLAYED = 9
"""Seconds of play for one of saving, at least."""


class CheckpointError(OSError):
    """A checkpoint cannot be written."""


@define(eq=False)
class Checkpoint:
    """A callback that saves a run.

    The file is whole at every instant: a new checkpoint is written beside it and then replaces it.
    A run that ``resume`` returns continues bitwise identically to an uninterrupted one.

    Parameters
    ----------
    path
        The file. Its folder must exist.
    seconds
        Save about this often, positive, and at most a tenth of the time.
    every
        Save after every this many iterations, at least 1. One of the two is needed.
    callbacks
        Callbacks to call before and to save with the run, such as a ``Recorder``. If one of them
        stops the run, the run is saved too.

    Attributes
    ----------
    iteration
        The iteration of the last save, None before.

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
    """Seconds of the last save."""

    def __attrs_post_init__(self) -> None:
        if (self.seconds is None) == (self.every is None):
            raise ValueError(
                f"pass one of seconds and every, got seconds={self.seconds} and every={self.every}"
            )
        check_target(self.path)

    def begin(self, run: Any) -> list[Callback]:
        """Let the callbacks watch the run."""
        return begin(self.callbacks, run)

    def __call__(self, run: Any) -> bool:
        """Pass the call on, and save the run when it is time, or when it is to stop."""
        stop = stopped(run, self.callbacks)
        if stop or self._is_time(run):
            began = time.monotonic()
            try:
                run.save(self.path, callbacks=self.callbacks)
            except OSError as error:
                failure = CheckpointError(*error.args)
                failure.filename = error.filename
                raise failure from error
            self.iteration, self._saved = run.iteration, time.monotonic()
            self._took = self._saved - began
        return stop

    def next_call(self, run: Any) -> int:
        """Return the next iteration at which it wants to be called."""
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
    """Return the run in a checkpoint, if a named algorithm made it.

    ``run.run(run.horizon - run.iteration)`` plays the remaining iterations of ``solve``.
    ``SelfPlay.load`` loads runs without a named algorithm.

    Parameters
    ----------
    path
        The file that a ``Checkpoint`` or ``run.save`` wrote.
    game
        The game, or its rules; by default the one of the catalogue that has the name in the file.
        One of imperfect recall is treated as by ``solve`` with ``imperfect_recall``.
    algorithm
        The algorithm; by default the one whose name is in the file.
    estimator
        The estimator, if one was passed to ``solve``.
    callbacks
        Those that were saved with the run; they get their state back.

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
    saved = SavedRun.read(path)
    call = {"algorithm": None, "sampling": None, "own_estimator": False, **(saved.call or {})}
    algorithm = call["algorithm"] if algorithm is None else algorithm
    if algorithm is None:
        raise ValueError(
            f"{path} is of a run that no algorithm with a name made; pass algorithm, or build its "
            "parts and use load"
        )
    if estimator is None and call["own_estimator"]:
        raise ValueError(f"{path} is of a run with an estimator of its own; pass estimator")
    chosen, groups = named(algorithm), None
    if estimator is None and chosen.sampling is None:
        chosen = Algorithm(chosen, sampling=call["sampling"])
    game = saved.find_game() if game is None else game
    if isinstance(game, ImperfectRecallGame):
        game, groups = game.refinement, game.coarse_information_set
    make: Any = partial(chosen.start, game, groups=groups)
    if saved.without_tree:
        make = partial(start_by_rules, game, chosen)
    run: SelfPlay = saved.build(make, callbacks, estimator=estimator)
    return run
