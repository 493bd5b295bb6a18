"""Checkpoints: runs in files, written as they go, and gone on with."""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

from attrs import define, field
from attrs.validators import optional

from regretkit._util._files import FilePath, check_target
from regretkit._util._validate import positive, quote, whole_number
from regretkit.circuits import CFR, LocalRule
from regretkit.circuits._base import local_minimizer
from regretkit.estimators import Estimator
from regretkit.games import Game, ImperfectRecallGame
from regretkit.play._algorithms import ALGORITHMS, AlgorithmLike, Groups, named, without_tree
from regretkit.play._callbacks import (
    Callback,
    as_callbacks,
    begin,
    next_call,
    stopped,
)
from regretkit.play._checkpoint_file import RunOptions, SavedRun, described
from regretkit.play._self_play import SelfPlay
from regretkit.play._solve import RulesLike
from regretkit.sets import Simplices

if TYPE_CHECKING:
    from regretkit.play._lazy_mccfr import LazyMCCFR

_PLAYED = 9
"""Seconds of play for one of saving, at least."""


class CheckpointError(OSError):
    """A checkpoint cannot be written, which is no error of the run."""


@define(eq=False)
class Checkpoint:
    """Save a run while it plays, so that at most the time since the last save is lost.

    The file is whole at every instant: a new checkpoint is written beside it and takes its place
    in one stroke. It holds the game's fingerprint and name, how everything was built, what the
    minimizers have learned, the averages, the states of random generators, and what the callbacks
    have written down that are passed to it. ``resume`` or ``SelfPlay.load`` continues from
    there, bitwise identical to a run that was never interrupted.

    Parameters
    ----------
    path
        The file. Its folder must exist.
    seconds
        Save about as often as this, positive, but at least nine times as long after a save as it
        took, so that saving takes about a tenth of the time at most.
    every
        Save after every this many iterations, at least 1. One of the two is needed.
    callbacks
        Are called before, in turn, and are saved along: a ``Recorder``, say, or what stops the
        run. When one of them does, the run is saved as well.

    Attributes
    ----------
    iteration
        Where the run was when it was saved last, None before.

    Raises
    ------
    TypeError, ValueError
        When ``seconds`` or ``every`` is out of range, there are both or neither, or a callback is
        none.
    OSError
        When ``path`` cannot be a file.

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

    path: FilePath
    seconds: float | None = field(default=None, kw_only=True, validator=optional(positive))
    every: int | None = field(default=None, kw_only=True)
    callbacks: Iterable[Callback] = field(default=(), kw_only=True)
    iteration: int | None = field(default=None, init=False)
    _saved: float = field(init=False, repr=False)
    """When that was, on the clock that never goes back; before, when this was built."""
    _took: float = field(default=0.0, init=False, repr=False)
    """Seconds that it took."""

    def __attrs_post_init__(self) -> None:
        if (self.seconds is None) == (self.every is None):
            raise ValueError(
                f"pass one of seconds and every, got seconds={quote(self.seconds)} and "
                f"every={quote(self.every)}"
            )
        if self.every is not None:
            self.every = whole_number(self.every, "every", minimum=1)
        self.callbacks = tuple(as_callbacks(self.callbacks))
        if not isinstance(self.path, str | os.PathLike):
            raise TypeError(f"path must be a text or a pathlib.Path, got {quote(self.path)}")
        check_target(self.path)  # refuses now what could not be saved later
        self.path = Path(self.path)
        self._saved = time.monotonic()

    def begin(self, run: SelfPlay) -> list[Callback]:
        """Let the callbacks watch the run."""
        return begin(self.callbacks, run)

    def __call__(self, run: SelfPlay) -> bool:
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

    def next_call(self, run: SelfPlay) -> int:
        """Return the next iteration at which it wants to be called."""
        if self.every is not None:
            save = (run.iteration // self.every + 1) * self.every
        else:
            save = run.iteration + run.pace
        return next_call(run, self.callbacks, save)

    def _is_time(self, run: SelfPlay) -> bool:
        if self.every is not None:
            return run.iteration % self.every == 0
        clock, seconds = time.monotonic(), max(self.seconds or 0.0, _PLAYED * self._took)
        return clock - self._saved >= seconds


@overload
def resume(
    path: FilePath,
    game: Game | ImperfectRecallGame | None = None,
    *,
    iterations: int = 0,
    algorithm: AlgorithmLike | None = None,
    estimator: Estimator | None = None,
    callbacks: Iterable[Callback] = (),
) -> SelfPlay: ...
@overload
def resume(
    path: FilePath,
    game: RulesLike,
    *,
    iterations: int = 0,
    algorithm: AlgorithmLike | None = None,
    estimator: Estimator | None = None,
    callbacks: Iterable[Callback] = (),
) -> "LazyMCCFR": ...
def resume(
    path: FilePath,
    game: Game | ImperfectRecallGame | RulesLike | None = None,
    *,
    iterations: int = 0,
    algorithm: AlgorithmLike | None = None,
    estimator: Estimator | None = None,
    callbacks: Iterable[Callback] = (),
) -> "SelfPlay | LazyMCCFR":
    """Return the run that a checkpoint holds, ready to go on, if an algorithm with a name made it.

    ``run.run(run.horizon - run.iteration)`` plays the iterations that are left of those that
    ``solve`` was asked for. Other runs go on by ``SelfPlay.load``.

    Parameters
    ----------
    path
        The file that a ``Checkpoint`` or ``SelfPlay.save`` wrote.
    game
        The game; by default the one of the catalogue that has the name in the file. One of
        imperfect recall is treated as by ``solve`` with ``imperfect_recall``. Of a run without a
        tree, its rules, which must be given.
    iterations
        How many more to play at once.
    algorithm
        The algorithm; by default the one of ``ALGORITHMS`` that builds what was saved.
    estimator
        The estimator, where it is of one's own.
    callbacks
        Those that were saved with the run, and get back what they had written down.

    Raises
    ------
    OSError
        When the file cannot be read.
    ValueError
        When it is truncated, altered or no checkpoint, which the error says, or of another run;
        or no game or algorithm is found that fits.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from regretkit.games import kuhn_poker
    >>> from regretkit.play import solve
    >>> whole = solve(kuhn_poker(), "dcfr", iterations=300)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "kuhn.checkpoint")
    ...     solve(kuhn_poker(), "dcfr", iterations=200).save(path)
    ...     run = resume(path, iterations=100)
    >>> bool((run.average[0] == whole.average[0]).all())
    True
    """
    whole_number(iterations, "iterations", minimum=0)
    run = _resumed(SavedRun.read(path), game, algorithm, estimator, callbacks)
    return run.run(iterations, callbacks=callbacks) if iterations else run


def _resumed(
    saved: SavedRun, game: Any, algorithm: Any, estimator: Any, callbacks: Iterable[Callback]
) -> "SelfPlay | LazyMCCFR":
    groups = None
    if saved.by_rules and game is None:
        raise ValueError(
            f"{saved.path} is of a run without a tree; pass the rules of its game as game, as "
            "load_rules returns them"
        )
    if isinstance(game, ImperfectRecallGame):
        game, groups = game.refinement, game.coarse_information_set
    if not saved.by_rules:
        game = saved.find_game() if game is None else game
        saved.check_game(game)
    if algorithm is None:
        algorithm = recognized(saved, None if saved.by_rules else game, groups)
    chosen = named(algorithm)
    options = RunOptions(order=chosen.order, averaging=chosen.averaging, callbacks=callbacks)
    if saved.by_rules:
        from regretkit.play._lazy_mccfr import LazyMCCFR  # not at the top: few runs need it

        sampler = saved.part("estimator") if estimator is None else estimator
        by_rules: Any = options
        return LazyMCCFR.load(saved.path, game, without_tree(chosen), sampler, **by_rules)
    if estimator is not None or chosen.sampling is not None:
        options["estimator"] = chosen.estimator() if estimator is None else estimator
    return saved.start(SelfPlay, game, chosen.minimizers(game, groups), options)


def recognized(saved: SavedRun, game: Game | None = None, groups: Groups | None = None) -> str:
    """Return the name of the algorithm that builds what was saved, without a game by its rules."""
    # Those that sample first: the rule of one may be that of another.
    for name, algorithm in sorted(ALGORITHMS.items(), key=lambda item: item[1].sampling is None):
        parts: dict[str, Any] = {"order": algorithm.order, "averaging": algorithm.averaging}
        if game is None:
            if algorithm.circuit is not CFR:
                continue
            rule = local_minimizer(cast(LocalRule, algorithm.local), Simplices(2))
            parts["rules"] = [rule] * len(saved.built["rules"])
        else:
            parts["minimizers"] = algorithm.minimizers(game, groups)
            parts |= {} if algorithm.sampling is None else {"estimator": algorithm.estimator()}
        if saved.difference({part: described(built) for part, built in parts.items()}) is None:
            return name
    raise ValueError(
        f"{saved.path} is of a run that no algorithm of {', '.join(ALGORITHMS)} makes; pass the "
        "algorithm, or build the minimizers and use SelfPlay.load"
    )
