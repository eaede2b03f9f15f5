"""Engines that do the tasks of a study: this process, or several processes by joblib's loky.

An engine takes tasks and yields their outcomes, in any order. It draws a task when it can start it.
Every engine gives the same records, apart from seconds.
"""

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any, TypeAlias

from milp_verix.base.arguments import integer_of
from milp_verix.base.errors import InputError
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.study.run import Outcome, failed, run_task
from milp_verix.study.tasks import Task

Engine: TypeAlias = Callable[[Iterable[Task]], Generator[Outcome, None, None]]

ATTEMPTS = 2
_MOST_WORKERS = 4096
_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_TO_SEND = 5.0  # it takes milliseconds; a process that can't start is not waited for
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def engine_for(network: LoadedModel, workers: int, whole: bool) -> Engine:
    """Return the engine of this many ``workers``; one does its tasks in this process.

    ``whole`` results come with the records if they are asked for. Raises ``InputError``
    where several workers are asked for without joblib.
    """
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
            env=ONE_THREAD,
        )

    return lambda tasks: in_processes(_run, [opened] * workers, tasks)


def in_processes(
    run: Callable[[Task], Outcome], workers: Sequence[Callable[[], Any]], tasks: Iterable[Task]
) -> Generator[Outcome, None, None]:
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
                    if attempt < ATTEMPTS:
                        start(place, task, attempt + 1)
                        continue
                    outcome = failed(task, f"its process ended {attempt} times{_exit_code(error)}")
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


def _exit_code(error: BrokenProcessPool) -> str:
    """Return what is known of the death of a process, such as a lack of memory."""
    found = re.search(r"\{(.*?)\}", str(error))
    return f", the last time by {found[1]}; memory may be short" if found else ""


_given: list[tuple[LoadedModel, bool]] = []
"""The network of this process, if it is a worker, and whether whole results are asked for."""


def _begin(parent: int, network: LoadedModel, whole: bool) -> None:
    """Make a worker's process leave Ctrl-C to its ``parent``, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(AttributeError, OSError):
        os.setpgid(0, 0)  # its solvers' processes get no Ctrl-C of the terminal either
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()  # it may have gone already
    _given.append((network, whole))


def _run(task: Task) -> Outcome:
    network, whole = _given[0]
    return run_task(network, task, whole)


def _watch(parent: int) -> None:
    """End this process, and those it started, once its parent has gone."""
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    with suppress(AttributeError, OSError):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
