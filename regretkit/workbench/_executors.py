"""Executors: processes on this machine, and a Ray cluster."""

import importlib
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from queue import SimpleQueue
from typing import Any, TypeVar

_DEATHS = 5
"""Number of times that the process of a call may die before the call fails."""
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS")}

Result = TypeVar("Result")


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes(Executor):
    """Executes functions in processes with one thread each; repeats the calls of dead processes.

    The death of a process breaks its whole pool, so each process has a pool of its own.
    """

    def __init__(self, workers: int) -> None:
        self._threads, self._closed = ThreadPoolExecutor(workers), False
        self._idle: SimpleQueue[ProcessPoolExecutor] = SimpleQueue()
        for _ in range(workers):
            self._idle.put(_process())
        self._others = {*multiprocessing.active_children()}
        self._environment = {name: os.environ.get(name) for name in _ONE_THREAD}
        os.environ.update(_ONE_THREAD)  # of the new processes

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> "Future[Result]":
        """Return the future result of a call in a process."""
        return self._threads.submit(self._call, fn, *args, **kwargs)

    def _call(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Result:
        pool = self._idle.get()
        try:
            for _ in range(_DEATHS):
                try:
                    return pool.submit(fn, *args, **kwargs).result()
                except BrokenProcessPool:
                    if self._closed:
                        raise
                    pool = _process()
            raise RuntimeError(f"its process ended {_DEATHS} times")
        finally:
            self._idle.put(pool)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all processes, and the calls in them."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in {*multiprocessing.active_children()} - self._others:
            process.terminate()
        for name, value in self._environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _process() -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=_begin)


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


class RayExecutor(Executor):
    """Executes functions on a Ray cluster, for ``Experiment.run(executor=RayExecutor())``.

    Ray repeats the tasks of a dead node. All nodes need the same version of regretkit, and the
    modules and game files of a task. Those named as ``file.py:Name`` are
    sent to them.

    Parameters
    ----------
    address
        The address of the cluster, such as ``"head:6379"``. The default is the environment variable
        ``RAY_ADDRESS``, or else a new cluster on this machine.
    workers
        Processes of a new cluster, by default one for each core.

    Examples
    --------
    >>> with RayExecutor() as executor:  # doctest: +SKIP
    ...     found = Experiment("kuhn_poker", "cfr, cfr+").run("results", executor=executor)
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        try:
            self._ray: Any = importlib.import_module("ray")
        except ImportError as error:
            raise ImportError("Ray is not installed; pip install regretkit[ray]") from error
        address = address or os.environ.get("RAY_ADDRESS", "local")
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if address == "local":
            options |= {"num_cpus": workers, "include_dashboard": False}
        elif workers is not None:
            raise ValueError(f"workers must be None for an existing cluster, got {workers}")
        self._ray.init(address, **options)
        threads = {"env_vars": _ONE_THREAD}
        self._call = self._ray.remote(max_retries=_DEATHS - 1, runtime_env=threads)(_call)

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> "Future[Result]":
        """Return the future result of a call on one core of the cluster."""
        future: Future[Result] = self._call.remote(fn, args, kwargs).future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Disconnect from the cluster; stop it if this executor started it."""
        self._ray.shutdown()


def _call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return fn(*args, **kwargs)
