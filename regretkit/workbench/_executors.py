"""Execution of tasks in this process, in other processes, or by an executor."""

import multiprocessing
import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from regretkit.workbench._tasks import Outcome, Task, execute

DEATHS = 5
"""Number of times that a task's process may die before the task fails."""
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS")}

Result = TypeVar("Result")
Outcomes: TypeAlias = Generator[tuple[int, Outcome], None, None]
"""The number of each task and its outcome, in the order of completion."""


class Executor(Protocol):
    """An executor of ``concurrent.futures``, or any object with the same ``submit``."""

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> "Future[Result]":
        """Return the future result of a call."""
        ...


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def here(tasks: Sequence[Task], folder: Path | None) -> Outcomes:
    """Execute all tasks in this process."""
    for number, task in enumerate(tasks):
        yield number, execute(task, folder)


def elsewhere(tasks: Sequence[Task], folder: Path | None, executor: Executor) -> Outcomes:
    """Execute all tasks by an executor."""
    futures = {executor.submit(execute, task, folder): n for n, task in enumerate(tasks)}
    try:
        for future in as_completed(futures):
            yield futures[future], _outcome(future)
    finally:
        for future in futures:
            future.cancel()


def _outcome(future: "Future[Outcome]") -> Outcome:
    """Return an outcome. An exception comes from the executor, such as for a dead node."""
    error = future.exception()
    if error is None:
        return future.result()
    return Outcome(reason=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")


def in_processes(tasks: Sequence[Task], folder: Path | None, count: int) -> Outcomes:
    """Execute all tasks in processes; repeat the tasks of processes that die.

    The death of one process breaks the whole pool, which does not report the task that caused it.
    All running tasks then run again, one at a time, so a task interrupts another one at most once.
    """
    waiting = deque((number, 0) for number in range(len(tasks)))
    running: dict[Future[Outcome], tuple[int, int]] = {}
    others, pool = {*multiprocessing.active_children()}, _pool(count)
    try:
        with _one_thread():
            while waiting or running:
                while waiting and len(running) < count:
                    if running and any(deaths for _, deaths in (waiting[0], *running.values())):
                        break
                    try:
                        future = pool.submit(execute, tasks[waiting[0][0]], folder)
                    except BrokenProcessPool:  # a process died without a task
                        pool = _pool(count)
                        continue
                    running[future] = waiting.popleft()
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                if any(isinstance(future.exception(), BrokenProcessPool) for future in done):
                    done, _ = wait(running)
                    pool = _pool(count)
                for future in done:
                    number, deaths = running.pop(future)
                    if not isinstance(future.exception(), BrokenProcessPool):
                        yield number, _outcome(future)
                    elif deaths + 1 < DEATHS:
                        waiting.appendleft((number, deaths + 1))
                    else:
                        yield number, Outcome(reason=f"its process ended {DEATHS} times")
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        if waiting or running:
            for process in {*multiprocessing.active_children()} - others:
                process.terminate()


def _pool(count: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(count, mp_context=context, initializer=_begin)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit numerical libraries in new processes to one thread."""
    before = {name: os.environ[name] for name in _ONE_THREAD if name in os.environ}
    os.environ.update(_ONE_THREAD)
    try:
        yield
    finally:
        for name in _ONE_THREAD:
            os.environ.pop(name, None)
        os.environ.update(before)


def _begin() -> None:
    """Make a new process ignore Ctrl-C, and end with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")  # warnings would disturb the progress line
    parent = multiprocessing.parent_process()

    def end() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()
