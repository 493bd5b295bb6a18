"""Tasks on a Ray cluster, which schedules them, and runs those of nodes that die again."""

import importlib
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from regretkit._util._errors import reason
from regretkit._util._validate import quote
from regretkit.workbench._pool import DEATHS, LOOK, ONE_THREAD, Entry, Watch, cores, paced
from regretkit.workbench._results import find_run, key_of, write_run
from regretkit.workbench._tasks import Outcome, Task, execute


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
        most = {name: max(node.get(name, 0) for node in nodes) for name in ("CPU", "memory")}
        options = {"max_retries": DEATHS - 1, "runtime_env": {"env_vars": ONE_THREAD}}
        task = ray.remote(**options)(_execute)
        restarted = {"num_cpus": 0, "max_restarts": -1}
        reports = importlib.import_module("ray.util.queue").Queue(actor_options=restarted)
        known = ray.put(frozenset(path.stem for path in folder.glob("*.json")))

        def submit(number: int, found: Any) -> Any:
            entry = entries[number]
            needs = {"memory": int(min(entry.bytes, most["memory"]))}
            needs |= {"num_cpus": int(most["CPU"])} if entry.alone else {}
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
        here = Path.cwd()
        inside = [f"/{folder.relative_to(here)}"] if folder.is_relative_to(here) else []
        options["runtime_env"] = {"working_dir": str(here), "excludes": inside}
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


def _execute(task: Task, folder: Path, known: frozenset[str], reports: Any, number: int) -> Outcome:
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
        outcome = Outcome(entry.task.result(columns), was_found=True)
    elif outcome.run is not None and not (folder / f"{key}.json").exists():
        write_run(folder, outcome.run, outcome.identity)
    elif outcome.needs_memory and not entry.alone:
        entry.alone, entry.state = True, "waiting"
        return False
    entry.finish(outcome)
    return True
