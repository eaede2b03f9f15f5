"""Engines that do the tasks of a study: this process, several by joblib's loky, or a Dask cluster.

An engine takes tasks and yields their outcomes, in any order. It draws a task when it can start it.
Every engine gives the same records, apart from seconds.

A worker of a cluster does a task in a process of its own, as loky's workers do: a solver that
crashes ends that process alone, and a task that nobody waits for is killed. Outcomes come back over
the network, so no disk is shared. Where the folder of the journal is there on a worker, too, long
tasks save their best answers in it.
"""

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from platform import python_version
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias
from uuid import uuid4

from milp_verix.base.arguments import integer_of
from milp_verix.base.errors import InputError, SolverError
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.solvers.remote_session import give_back, take
from milp_verix.study.tasks import Task, TaskOutcome, failed, run_task

Engine: TypeAlias = Callable[[Iterable[Task]], Generator[TaskOutcome, None, None]]

_ATTEMPTS = 2
_MOST_WORKERS = 4096
_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_TO_SEND = 5.0  # it takes milliseconds; a process that can't start is not waited for
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_IN_FLIGHT_WITHOUT_WORKERS = 4
"""Tasks that wait for a first worker; then there is one for each thread of the cluster.

Dask counts the death of a worker against all its tasks, those that wait there included.
"""

_SECONDS_TO_CONNECT = 10.0
_LOST = (
    "the Dask scheduler was lost, or it cancelled a task; the records before are safe, and the "
    "same command goes on behind them"
)
_PACKAGES = ("milp-verix", "numpy", "scipy", "onnx", "onnxruntime", "highspy")


def engine_for(network: LoadedModel, workers: int, whole: bool, client: Any = None) -> Engine:
    """Return the engine of this many ``workers``, or of the cluster of a ``client``.

    One worker does its tasks in this process. ``whole`` results come with the records if they are
    asked for. Raises ``InputError`` where several workers are asked for without joblib.
    """
    if client is not None:
        if workers != 1:
            raise InputError("workers are processes of this machine, and a scheduler has its own")
        return dask_engine(network, client, whole)
    if integer_of(workers, "workers") > _MOST_WORKERS:
        raise InputError(f"workers are processes of this machine, not {workers} of them")
    if workers == 1:
        return lambda tasks: (run_task(network, task, whole) for task in tasks)
    try:
        from joblib.externals.loky import ProcessPoolExecutor
    except ImportError as error:
        raise InputError(
            "more than one worker needs joblib: pip install 'milp-verix[workers]'"
        ) from error

    def opened() -> Any:
        return ProcessPoolExecutor(
            max_workers=1,
            initializer=_begin,
            initargs=(os.getpid(), network, whole),
            env=_ONE_THREAD,
        )

    return lambda tasks: in_processes(_here, [opened] * workers, tasks)


def in_processes(
    run: Callable[[Task], TaskOutcome], workers: Sequence[Callable[[], Any]], tasks: Iterable[Task]
) -> Generator[TaskOutcome, None, None]:
    """Yield ``run`` of ``tasks``; each of ``workers`` opens an executor of one process.

    So the death of a process is about one task. It is tried once more, in a fresh process, and
    then it has failed.
    """
    waiting = iter(tasks)
    executors = [opened() for opened in workers]
    idle = list(range(len(workers)))
    running: dict[Any, tuple[int, Task, int]] = {}

    def start(place: int, task: Task, attempt: int) -> None:
        running[executors[place].submit(run, task)] = place, task, attempt

    try:
        while True:
            while idle and (task := next(waiting, None)) is not None:
                start(idle.pop(), task, 1)
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                place, task, attempt = running.pop(future)
                try:
                    outcome = future.result()
                except BrokenProcessPool as error:
                    executors[place].shutdown(kill_workers=True)
                    executors[place] = workers[place]()
                    if attempt < _ATTEMPTS:
                        start(place, task, attempt + 1)
                        continue
                    found = re.search(r"\{(.*?)\}", str(error))  # such as a lack of memory
                    why = f", the last time by {found[1]}; memory may be short" if found else ""
                    outcome = failed(task, f"its process ended {attempt} times{why}")
                idle.append(place)
                yield outcome
    finally:
        _wait_until_sent(running)
        for executor in executors:
            executor.shutdown(kill_workers=True)


def _wait_until_sent(running: Iterable[Any]) -> None:
    """Wait until loky has sent every task to its process.

    A task that it has only taken in is lost from one of its two lists when it kills its processes,
    and the thread that looks for it in the other one ends in a KeyError.
    """
    end = time.monotonic() + _SECONDS_TO_SEND
    for future in running:
        while not (future.running() or future.done()) and time.monotonic() < end:
            time.sleep(0.01)


_given: list[tuple[LoadedModel, bool]] = []
"""The network of this process, if it is a worker, and whether whole results are asked for."""


def _begin(parent: int, network: LoadedModel, whole: bool) -> None:
    """Make a worker's process leave Ctrl-C to its ``parent``, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(AttributeError, OSError):
        os.setpgid(0, 0)  # its solvers' processes get no Ctrl-C of the terminal either
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()  # it may have gone already
    _given.append((network, whole))


def _here(task: Task) -> TaskOutcome:
    network, whole = _given[0]
    return run_task(network, task, whole)


def _watch(parent: int) -> None:
    """End this process, and those it started, once its parent has gone."""
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    with suppress(AttributeError, OSError):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


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
) -> Generator[TaskOutcome, None, None]:
    study = uuid4().hex
    waiting = iter(tasks)
    # a task, and not scattered data: Dask makes it again where a worker took it away
    sent = client.submit(_same, network, key=f"milp-verix-network-{study}", pure=False)
    running: dict[str, tuple[Any, Task]] = {}
    ended: SimpleQueue[Any] = SimpleQueue()
    threads, looked = 0, -_SECONDS_BETWEEN_LOOKS
    try:
        while True:
            if time.monotonic() - looked >= _SECONDS_BETWEEN_LOOKS:  # workers come and go
                looked = time.monotonic()
                threads = _threads(client) or _IN_FLIGHT_WITHOUT_WORKERS
            for task in islice(waiting, max(threads - len(running), 0)):
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


def _outcome(future: Any, task: Task) -> TaskOutcome:
    from distributed import KilledWorker

    if future.status in ("cancelled", "lost"):
        raise InputError(_LOST)
    try:
        outcome: TaskOutcome = future.result()
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


def _run(network: LoadedModel, task: Task, whole: bool, expected: dict[str, str]) -> TaskOutcome:
    """Do a task on this worker, in a process of its own; kill it once nobody waits for it."""
    _refuse_versions(expected)
    os.environ.update(_ONE_THREAD)  # for the processes that start here
    if task.partial is not None and not task.partial.parent.parent.is_dir():
        task = replace(task, partial=None)  # the journal is on another disk
    outcome: TaskOutcome
    attempt = 1
    while True:
        process = take(partial(_Tasks, network, whole))
        try:
            with _killed_if_unwanted(process):
                outcome, *_ = process.ask([("run", task)], float("inf"))
        except SolverError as error:
            if attempt == _ATTEMPTS or "process ended" not in str(error):
                return failed(task, f"{error}; it was tried {attempt} times")
            attempt += 1
            continue
        give_back(process)
        return outcome


class _Tasks:
    """Does tasks in a process of ``solvers.remote_session``, in the place of a solver's session."""

    name, version, notes = "tasks", "", ()
    capabilities: frozenset[str] = frozenset()
    largest_big_m = 0.0

    def __init__(self, network: LoadedModel, whole: bool) -> None:
        self._network, self._whole = network, whole

    def run(self, task: Task) -> TaskOutcome:
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
