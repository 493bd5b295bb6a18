"""Tasks on the processes of one machine, each with one at a time, or on a Ray cluster.

Each process is the only one of its ``ProcessPoolExecutor``, so that one that is killed costs the
task that it had, and nothing is lost with the others.
Ray schedules its tasks, and runs those of nodes that die again.
"""

import importlib
import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attrs import define, evolve

from regretkit._util._errors import reason
from regretkit._util._validate import quote
from regretkit.games._memory_budget import BYTES_A_HISTORY, BYTES_A_PLAYER, available
from regretkit.workbench._results import find_run, key_of, write_run
from regretkit.workbench._tasks import Outcome, Report, Task, execute, forget_games

_SPAWN = multiprocessing.get_context("spawn")
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS")}
LOOK = 0.25
"""Seconds between two looks at how far runs are."""
_PROCESS = 250 * 2**20
"""Bytes of a process with the library alone."""
_BEGINNING = 2e7
"""Histories that are visited in the time in which a run begins and its game is built, about."""
DEATHS = 5
"""How often the process of a task may end before the task has failed."""


@define(eq=False)
class Entry:
    """How far a task is."""

    task: Task
    state: str = "waiting"
    """Then ``running``, and in the end ``done``, ``found`` or ``failed``."""
    iteration: int = 0
    value: float | None = None
    """Of the first measure, when it was last measured."""
    seconds: float = 0.0
    outcome: Outcome | None = None
    _deaths: int = 0
    alone: bool = False
    """Whether it waits until nothing else runs, for its game did not fit beside."""
    began: float = 0.0
    """When it was last begun, by the monotonic clock; 0 where others schedule it."""
    spent: float = 0.0
    """Seconds since then until it was last heard of."""

    @property
    def bytes(self) -> float:
        """Memory that the task takes, about, with two players."""
        return _PROCESS + (BYTES_A_HISTORY + 4 * BYTES_A_PLAYER) * self.task.histories

    @property
    def work(self) -> float:
        """Its size, in histories visited, about."""
        return _BEGINNING + float(self.task.iterations) * max(self.task.histories, 1_000)

    def begin(self) -> None:
        """Note that it runs."""
        self.state, self.began = "running", time.monotonic()

    def report(self, iteration: int, value: float | None, seconds: float) -> None:
        """Note how far the run is."""
        self.state, self.iteration, self.value, self.seconds = "running", iteration, value, seconds
        self._pass_time()

    def finish(self, outcome: Outcome) -> None:
        """Note what became of the task."""
        self.outcome = outcome
        self.state = "failed" if outcome.run is None else "found" if outcome.was_found else "done"
        if outcome.run is not None:
            columns = outcome.run.columns
            self.iteration, self.value = columns["iteration"][-1], outcome.run.last
            self.seconds = columns["seconds"][-1]
        self._pass_time()

    def settle(self, outcome: Outcome, *, beside: bool) -> bool:
        """Note the outcome, or return False where the task waits, for room or without a tree."""
        task = self.task.by_rules() if outcome.needs_memory else None
        if outcome.needs_memory and beside and not self.alone:
            self.alone = True
        elif task is not None:
            self.task, self.alone = task, False
        else:
            self.finish(outcome)
            return True
        self.state = "waiting"
        return False

    def _pass_time(self) -> None:
        self.spent = time.monotonic() - self.began if self.began else self.seconds

    def died(self) -> None:
        """Note that its process ended, and let it wait to be run again, or fail."""
        self.state, self._deaths = "waiting", self._deaths + 1
        if self._deaths >= DEATHS:
            told = f"its process ended {DEATHS} times, as where memory is used up"
            self.finish(Outcome(reason=told))


Watch = Callable[[Sequence[Entry]], object]
"""Is told about all tasks now and then."""


def seconds_left(entries: Sequence[Entry], workers: int) -> float | None:
    """Estimate how many seconds all tasks will take, None before anything is known."""
    shares = [
        (entry, min(entry.iteration / max(entry.task.iterations, 1), 1.0))
        for entry in entries
        if entry.state in ("running", "done")
    ]
    done = sum(entry.work * share for entry, share in shares)
    spent = sum(entry.spent for entry, _ in shares)
    left = sum(e.work for e in entries if e.state in ("waiting", "running"))
    left -= sum(e.work * share for e, share in shares if e.state == "running")
    return spent / done * left / max(workers, 1) if done else None


def paced(send: Callable[[tuple[Any, ...]], object]) -> Report:
    """Return what sends reports on, now and then."""
    last = 0.0

    def report(*facts: Any) -> None:
        nonlocal last
        current = time.monotonic()
        if current - last > LOOK:
            last = current
            with suppress(OSError):
                send(facts)

    return report


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_here(entries: Sequence[Entry], folder: Path, watch: Watch) -> None:
    """Carry out all tasks in this process, one after another."""
    forget_games()
    for entry in entries:

        def report(*facts: Any, entry: Entry = entry) -> None:
            entry.report(*facts)
            watch(entries)

        while not entry.settle(execute(entry.task, folder, report), beside=False):
            pass
        watch(entries)


# In processes


class _Worker:
    """A process that carries out one task at a time; it ends when this process does."""

    def __init__(self) -> None:
        self.entry: Entry | None = None
        self._start()

    def _start(self) -> None:
        self._connection, self._theirs = _SPAWN.Pipe()
        self._pool = ProcessPoolExecutor(
            1, mp_context=_SPAWN, initializer=_begin, initargs=(self._theirs,)
        )

    def submit(self, entry: Entry, folder: Path) -> "Future[Outcome]":
        self.entry = entry
        entry.begin()
        with _inherited():
            try:
                return self._pool.submit(_execute, entry.task, folder)
            except BrokenProcessPool:  # it was killed while it had nothing to do
                self.restart()
                return self._pool.submit(_execute, entry.task, folder)

    def look(self) -> None:
        """Receive what the process has reported."""
        with suppress(EOFError, OSError):
            while self._connection.poll():
                facts = self._connection.recv()
                if self.entry is not None:
                    self.entry.report(*facts)

    def restart(self) -> None:
        self.end()
        self._start()

    def end(self) -> None:
        self._connection.close()  # which ends the process at once, see _begin
        self._theirs.close()
        self._pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _inherited() -> Iterator[None]:
    """Let processes that begin now compute in one thread each, and get no Ctrl-C.

    That they do not get while they import modules either.
    """
    saved = {name: os.environ[name] for name in ONE_THREAD if name in os.environ}
    has_masks, interrupt = hasattr(signal, "pthread_sigmask"), {signal.SIGINT}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, interrupt) if has_masks else None
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name in ONE_THREAD:
            del os.environ[name]
        os.environ.update(saved)
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


_REPORT: list[Callable[[tuple[Any, ...]], None]] = []


def _begin(connection: Any) -> None:
    """Prepare a process: Ctrl-C is for the one that began it, whose end also ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")  # there is no place for them beside the table
    logging.disable(logging.WARNING)  # nor for how far a game is built
    _REPORT[:] = [connection.send]

    def end() -> None:
        with suppress(EOFError, OSError):
            connection.recv()
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def _execute(task: Task, folder: Path) -> Outcome:
    return execute(task, folder, paced(_REPORT[0]))


def run_in_processes(
    entries: Sequence[Entry], folder: Path, watch: Watch, workers: int, memory: float | None
) -> None:
    """Carry out all tasks, some at once, as far as memory allows."""
    room = 0.8 * available() if memory is None else memory
    waiting = [entry for entry in entries if entry.state == "waiting"]
    crew = [_Worker() for _ in range(max(1, min(workers, len(waiting))))]
    running: dict[Future[Outcome], _Worker] = {}
    try:
        while waiting or running:
            idle = [worker for worker in crew if worker.entry is None]
            while idle and (entry := _next(waiting, running.values(), room)):
                waiting.remove(entry)
                worker = idle.pop()
                running[worker.submit(entry, folder)] = worker
            done, _ = wait(running, timeout=LOOK, return_when=FIRST_COMPLETED)
            for worker in running.values():
                worker.look()
            for future in done:
                _settle(future, running.pop(future), waiting, beside=len(running))
            watch(entries)
    finally:
        for worker in crew:
            worker.end()


def _next(waiting: list[Entry], running: Any, room: float) -> Entry | None:
    """Return the first task for which there is room; any one where nothing else runs."""
    busy = [worker.entry for worker in running]
    if not busy:
        return next(iter(waiting), None)
    if any(entry.alone for entry in busy):
        return None
    room -= sum(entry.bytes for entry in busy)
    fitting = (entry for entry in waiting if entry.bytes <= room and not entry.alone)
    return next(fitting, None)


def _settle(
    future: "Future[Outcome]", worker: _Worker, waiting: list[Entry], *, beside: int
) -> None:
    """Note the outcome of a task, or let it wait to be run again."""
    entry, worker.entry = worker.entry, None
    if entry is None:
        return
    try:
        outcome = future.result()
    except BrokenProcessPool:
        worker.restart()
        entry.died()
    else:
        entry.settle(outcome, beside=beside > 0)
    if entry.state == "waiting":
        waiting.append(entry)


def run_on_ray(
    entries: Sequence[Entry],
    folder: Path,
    watch: Watch,
    cluster: str,
    workers: int | None,
    memory: float | None,
) -> None:
    """Carry out all tasks on a cluster, on each node as many as it has cores and memory for."""
    ray = _import_ray()
    with _connected(ray, cluster, folder, workers, memory):
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        largest = {name: max(node.get(name, 0) for node in nodes) for name in ("CPU", "memory")}
        options = {"max_retries": DEATHS - 1, "runtime_env": {"env_vars": ONE_THREAD}}
        task = ray.remote(**options)(_execute_on_node)
        restarted = {"num_cpus": 0, "max_restarts": -1}
        reports = importlib.import_module("ray.util.queue").Queue(actor_options=restarted)
        known = ray.put(frozenset(path.stem for path in folder.glob("*.json")))

        def submit(number: int, found: Any) -> Any:
            entry = entries[number]
            needs = {"memory": int(min(entry.bytes, largest["memory"]))}
            needs |= {"num_cpus": int(largest["CPU"])} if entry.alone else {}
            return task.options(**needs).remote(entry.task, folder, found, reports, number)

        running = {submit(number, known): number for number in range(len(entries))}
        try:
            while running:
                done, _ = ray.wait([*running], num_returns=len(running), timeout=LOOK)
                with suppress(ray.exceptions.RayError):  # its node died, and it begins anew
                    for number, facts in reports.get_nowait_batch(reports.qsize()):
                        if entries[number].outcome is None:
                            entries[number].report(*facts)
                for future in done:
                    number = running.pop(future)
                    if not _is_settled(ray, future, entries[number], folder):
                        running[submit(number, frozenset())] = number
                watch(entries)
        finally:
            for future in running:
                ray.cancel(future, force=True)


def _import_ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        told = "on needs Ray, which is not installed; pip install regretkit[ray]"
        raise ImportError(told) from error


@contextmanager
def _connected(
    ray: Any, cluster: str, folder: Path, workers: int | None, memory: float | None
) -> Iterator[None]:
    """Connect to a cluster, or start one, unless the caller has."""
    if ray.is_initialized():
        yield
        return
    address = os.environ.get("RAY_ADDRESS", "local") if cluster == "ray" else cluster
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == "local":
        options |= {"num_cpus": workers or cores(), "include_dashboard": False}
        options |= {} if memory is None else {"_memory": int(memory)}
    elif workers is not None or memory is not None:
        raise ValueError("workers and memory are for this machine; a cluster has its own")
    else:  # rules and games may be in files
        directory = Path.cwd()
        excluded = [f"/{folder.relative_to(directory)}"] if folder.is_relative_to(directory) else []
        options["runtime_env"] = {"working_dir": str(directory), "excludes": excluded}
    try:
        host, colon, port = address.removeprefix("ray://").rpartition(":")
        if colon:  # for minutes Ray tries to reach what is not there
            socket.create_connection((host, int(port)), timeout=10.0).close()
        ray.init(address, **options)
    except (OSError, RuntimeError, ValueError) as error:
        line = (reason(error).splitlines() or [""])[0]
        raise ValueError(
            f"on must be a Ray cluster, but cannot use Ray at {quote(address)}: {line}"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _execute_on_node(
    task: Task, folder: Path, known: frozenset[str], reports: Any, number: int
) -> Outcome:
    """Carry out a task on a node, which may not see the folder."""

    def send(facts: tuple[Any, ...]) -> None:
        with suppress(Exception):  # its node died; these are for the eye alone
            reports.put_nowait((number, facts))

    with TemporaryDirectory() as scratch:
        return execute(task, folder if folder.is_dir() else Path(scratch), paced(send), known)


def _is_settled(ray: Any, future: Any, entry: Entry, folder: Path) -> bool:
    """Note the outcome of a task, and see to it that the folder has it, or return False."""
    try:
        outcome: Outcome = ray.get(future)
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None) or error
        if isinstance(cause, OSError):
            raise cause from None
        told = (reason(cause).splitlines() or [""])[0]
        outcome = Outcome(reason=f"{type(cause).__name__}: {told}")
    key = key_of(outcome.identity) if outcome.identity else ""
    if outcome.was_found and outcome.run is None:
        columns = find_run(folder, key)
        if columns is None:
            return False
        outcome = evolve(outcome, run=entry.task.result(columns))
    elif outcome.run is not None and not (folder / f"{key}.json").exists():
        write_run(folder, outcome.run, outcome.identity)
    return entry.settle(outcome, beside=True)
