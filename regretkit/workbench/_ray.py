"""An executor on a Ray cluster."""

import importlib
import os
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from regretkit.workbench._executors import DEATHS, Result


class RayExecutor(Executor):
    """Executes functions on a Ray cluster, for ``Experiment.run(executor=RayExecutor())``.

    Ray repeats the tasks of a dead node. All nodes need the same version of regretkit, and the
    modules and game files of a task. Files of ``file.py:Name`` are sent to them.

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
        threads = {"env_vars": {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}}
        self._call = self._ray.remote(max_retries=DEATHS - 1, runtime_env=threads)(_call)

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> "Future[Result]":
        """Return the future result of a call on one core of the cluster."""
        future: Future[Result] = self._call.remote(fn, args, kwargs).future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Disconnect from the cluster; stop it if this executor started it."""
        self._ray.shutdown()


def _call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return fn(*args, **kwargs)
