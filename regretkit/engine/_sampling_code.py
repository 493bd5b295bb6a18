"""Sampled iterations as machine code."""

from typing import Any

from regretkit.engine import _kernels, _sampling
from regretkit.engine._specialize import _kept
from regretkit.estimators.flat._action_sampling import Choose
from regretkit.estimators.flat._initial_chance import guess, guess_evenly
from regretkit.estimators.flat._traversal import update_baseline, walker
from regretkit.minimizers._kernel import Kernel


def sampled_iterations(kernel: Kernel, choose: Choose, guessing: bool) -> tuple[Any, Any]:
    """Return ``sampled`` and ``complete`` for a rule and a way to draw samples, as machine code."""
    filling: dict[Any, Any] = {
        _kernels.propose: kernel.propose,
        _kernels.learn: kernel.learn,
        _sampling.walk: walker(choose, guessing),
        _sampling.notice: update_baseline if guessing else _notice_nothing,
        guess: guess_evenly,
    }
    if kernel.traits.only_discounts_on_zero_utility:
        filling |= {_sampling.pass_time: _sampling.pass_fading_time}
        filling |= {_sampling.fade: _sampling.fade_together}
    # All of it put in line at once: a walk is short, and a call within would be much of it.
    return _kept(_sampling.sampled, filling, apart=0), _kept(_sampling.complete, {})


def single_walk(choose: Choose, guessing: bool) -> Any:
    """Return the function that draws a sample, as machine code."""
    filling: dict[Any, Any] = {_sampling.walk: walker(choose, guessing), guess: guess_evenly}
    return _kept(_sampling.walk_once, filling)


def _notice_nothing(player: int, visited: int, rate: float, desk: Any, guesses: Any) -> None:
    pass
