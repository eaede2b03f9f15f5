"""An engine that does the tasks of a study on the workers of a Dask cluster.

A worker does a task in a process of its own, as loky's workers do: a solver that crashes ends that
process alone, and a task that nobody waits for is killed. Outcomes come back over the network, so
no disk is shared. Where the folder of the journal is there on a worker, too, long tasks save their
best answers in it.
"""

import os
import threading
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from platform import python_version
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from milp_verix.base.errors import InputError, SolverError
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.solvers.remote_session import give_back, take
from milp_verix.study.run import Outcome, failed, run_task
from milp_verix.study.tasks import Task
from milp_verix.study.workers import ATTEMPTS, ONE_THREAD, Engine

_IN_FLIGHT_WITHOUT_WORKERS = 4
"""Tasks that wait for a first worker; then there is one for each thread of the cluster.

Dask counts the death of a worker against all its tasks, those that wait there included.
"""

_SECONDS_TO_CONNECT = 10.0
_SECONDS_BETWEEN_LOOKS = 0.5
_LOST = (
    "the Dask scheduler was lost, or it cancelled a task; the records before are safe, and the "
    "same command goes on behind them"
)
_PACKAGES = ("milp-verix", "numpy", "scipy", "onnx", "onnxruntime", "highspy")


@contextmanager
def connected(scheduler: str) -> Iterator[Any]:
    """Yield a client of the Dask scheduler at an address such as ``tcp://host:8786``.

    Raises ``InputError`` where none answers, and where Dask is not installed.
    """
    try:
        distributed: Any = import_module("distributed")  # its types are not whole
    except ImportError as error:
        raise InputError("a scheduler needs Dask: pip install 'milp-verix[dask]'") from error
    try:
        client = distributed.Client(scheduler, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"no Dask scheduler answers at {scheduler!r}; start one by `dask scheduler`, and give "
            f"the address that it tells ({error})"
        ) from error
    try:
        yield client
    finally:
        client.close()


def dask_engine(network: LoadedModel, client: Any, whole: bool) -> Engine:
    """Return an engine on the cluster of ``client``, a ``distributed.Client``.

    ``whole`` results come with the records if they are asked for. Raises ``InputError`` for another
    client, and where versions on the cluster differ from those here.
    """
    if not hasattr(client, "submit") or getattr(client, "asynchronous", False):
        raise InputError(f"client is a dask.distributed.Client, not asynchronous; got {client!r}")
    expected = _versions()
    try:
        client.run(_refuse_versions, expected)
    except ImportError as error:
        raise InputError(
            f"the workers cannot load milp-verix: install it there ({error})"
        ) from error
    return lambda tasks: _in_cluster(client, network, expected, whole, tasks)


def _in_cluster(
    client: Any, network: LoadedModel, expected: dict[str, str], whole: bool, tasks: Iterable[Task]
) -> Generator[Outcome, None, None]:
    study = uuid4().hex
    waiting = iter(tasks)
    # a task, and not scattered data: Dask makes it again where a worker took it away
    sent = client.submit(_same, network, key=f"milp-verix-network-{study}", pure=False)
    running: dict[str, tuple[Any, Task]] = {}
    ended: SimpleQueue[Any] = SimpleQueue()
    room, looked = 0, -_SECONDS_BETWEEN_LOOKS
    try:
        while True:
            if time.monotonic() - looked >= _SECONDS_BETWEEN_LOOKS:  # workers come and go
                looked = time.monotonic()
                room = _threads(client) or _IN_FLIGHT_WITHOUT_WORKERS
            for task in islice(waiting, max(room - len(running), 0)):
                key = f"milp-verix-{task.key[:16]}-{task.index}-{uuid4().hex}"
                future = client.submit(_run, sent, task, whole, expected, key=key, pure=False)
                running[key] = future, task
                future.add_done_callback(ended.put)
            if not running:
                return
            with suppress(Empty):
                future, task = running.pop(ended.get(timeout=_SECONDS_BETWEEN_LOOKS).key)
                yield _outcome(future, task)
                future.release()
    finally:
        with suppress(Exception):  # the scheduler may have gone
            client.cancel([future for future, _ in running.values()], force=True)


def _threads(client: Any) -> int:
    try:
        return sum(client.nthreads().values())
    except Exception as error:  # a client without its scheduler fails in many ways
        raise InputError(_LOST) from error


def _outcome(future: Any, task: Task) -> Outcome:
    from distributed import KilledWorker

    if future.status in ("cancelled", "lost"):
        raise InputError(_LOST)
    try:
        outcome: Outcome = future.result()
    except KilledWorker as error:
        times = getattr(error, "allowed_failures", 0) + 1
        return failed(task, f"the worker that ran it died {times} times; memory may be short")
    return outcome


def _same(network: LoadedModel) -> LoadedModel:
    return network


def _versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    found = {"Python": python_version().rpartition(".")[0]}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


def _refuse_versions(expected: dict[str, str]) -> None:
    """Raise ``InputError`` where versions here are not those of the process with the journal."""
    here = _versions()
    others = [
        f"{name} {here[name]}, not {expected[name]}"
        for name in here
        if here[name] != expected[name]
    ]
    if others:
        raise InputError(
            f"a Dask worker has {'; '.join(others)}: its results could differ; install the same "
            "versions there"
        )


def _run(network: LoadedModel, task: Task, whole: bool, expected: dict[str, str]) -> Outcome:
    """Do a task on this worker, in a process of its own; kill it once nobody waits for it."""
    _refuse_versions(expected)
    os.environ.update(ONE_THREAD)  # for the processes that start here
    if task.partial is not None and not task.partial.parent.parent.is_dir():
        task = replace(task, partial=None)  # the journal is on another disk
    outcome: Outcome
    attempt = 1
    while True:
        process = take(partial(_Tasks, network, whole))
        try:
            with _killed_if_unwanted(process):
                outcome, *_ = process.ask([("run", task)], float("inf"))
        except SolverError as error:
            if attempt == ATTEMPTS or "process ended" not in str(error):
                return failed(task, f"{error}; it was tried {attempt} times")
            attempt += 1
            continue
        give_back(process)
        return outcome


class _Tasks:
    """A session of ``solvers.remote_session`` that does tasks."""

    name, version, notes = "tasks", "", ()
    capabilities: frozenset[str] = frozenset()
    largest_big_m = 0.0

    def __init__(self, network: LoadedModel, whole: bool) -> None:
        self._network, self._whole = network, whole

    def run(self, task: Task) -> Outcome:
        """Return the outcome of ``task``."""
        return run_task(self._network, task, self._whole)


@contextmanager
def _killed_if_unwanted(process: Any) -> Iterator[None]:
    """Kill ``process`` if Dask cancels the task of this thread within the block."""
    from distributed import get_worker

    worker, over = get_worker(), threading.Event()
    key = worker.get_current_task()

    def watch() -> None:
        while not over.wait(_SECONDS_BETWEEN_LOOKS):
            task = worker.state.tasks.get(key)
            if task is None or task.state == "cancelled":
                process.kill()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
