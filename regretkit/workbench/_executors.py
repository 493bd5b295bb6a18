"""Where tasks are carried out: in this process, in others, or by any executor with ``submit``."""

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
"""How often the process of a task may end before the task has failed."""
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS")}

Result = TypeVar("Result")
Outcomes: TypeAlias = Generator[tuple[int, Outcome], None, None]
"""The number of each task with its outcome, as they come."""


class Executor(Protocol):
    """Carries out functions elsewhere, as the executors of ``concurrent.futures`` do."""

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> "Future[Result]":
        """Return the future result of a call."""
        ...


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def here(tasks: Sequence[Task], folder: Path | None) -> Outcomes:
    """Carry out all tasks in this process, and yield the number of each with its outcome."""
    for number, task in enumerate(tasks):
        yield number, execute(task, folder)


def elsewhere(tasks: Sequence[Task], folder: Path | None, executor: Executor) -> Outcomes:
    """Carry out all tasks by an executor."""
    futures = {executor.submit(execute, task, folder): n for n, task in enumerate(tasks)}
    try:
        for future in as_completed(futures):
            yield futures[future], _outcome(future)
    finally:
        for future in futures:
            future.cancel()


def _outcome(future: "Future[Outcome]") -> Outcome:
    """Return an outcome; an error is the executor's own, such as that of a node that died."""
    error = future.exception()
    if error is None:
        return future.result()
    return Outcome(reason=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")


def in_processes(tasks: Sequence[Task], folder: Path | None, count: int) -> Outcomes:
    """Carry out all tasks in processes, and again what a process had that ended.

    The pool does not tell which of its processes ended. So what they had is carried out one by one
    from then on: a task that ends its process never takes another one along twice.
    """
    waiting = deque((number, 0) for number in range(len(tasks)))
    running: dict[Future[Outcome], tuple[int, int]] = {}
    others, pool = {*multiprocessing.active_children()}, _pool(count)
    try:
        with _one_thread():
            while waiting or running:
                while waiting and len(running) < (1 if waiting[0][1] else count):
                    if any(deaths for _, deaths in running.values()):
                        break
                    number, deaths = waiting.popleft()
                    try:
                        future = pool.submit(execute, tasks[number], folder)
                    except BrokenProcessPool:  # ended while it had nothing to do
                        pool = _pool(count)
                        future = pool.submit(execute, tasks[number], folder)
                    running[future] = number, deaths
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                if any(isinstance(future.exception(), BrokenProcessPool) for future in done):
                    done, _ = wait(running)
                    pool = _pool(count)
                for future in done:
                    number, deaths = running.pop(future)
                    error = future.exception()
                    if not isinstance(error, BrokenProcessPool):
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
    """Let processes that begin now compute in one thread each."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(_ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _begin() -> None:
    """Prepare a process: Ctrl-C is for the one that began it, whose end also ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")  # there is no place for them beside the progress
    parent = multiprocessing.parent_process()

    def end() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()
