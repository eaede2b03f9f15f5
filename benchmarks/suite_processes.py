"""Runs of the suite, each in a process of its own: side by side, timed, killed when too late."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite_cases import Request

GRACE = 30.0
"""Seconds beyond its limit after which a run is killed; imports count, too."""

SCRIPT = Path(__file__).with_name("suite_run.py")
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def environment(tree: Path) -> dict[str, str]:
    """Return the environment of a process of one thread that runs the code in ``tree``."""
    path = os.pathsep.join(str(folder) for folder in (tree, tree / "encodings", tree / "checker"))
    return {**os.environ, **_ONE_THREAD, "PYTHONPATH": path}


@dataclass(frozen=True)
class Task:
    """A request to one solver, within ``limit`` seconds, by the code in the folder ``tree``."""

    request: Request
    solver: str
    limit: float
    tree: Path


class _Run:
    """A process at work on a task."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._folder = tempfile.TemporaryDirectory(prefix="suite-")
        request, self._outcome, self._log = (
            Path(self._folder.name) / name for name in ("request.json", "outcome.json", "log")
        )
        asked = {"solver": task.solver, "time_limit": task.limit}
        request.write_text(json.dumps({**task.request.arguments, **asked}))
        # -P: beside the script are modules of the suite's own checkout
        command = [sys.executable, "-P", str(SCRIPT), str(request), str(self._outcome)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                env=environment(task.tree),
                start_new_session=True,
            )
        self._started = time.monotonic()

    def ended(self) -> dict[str, Any] | None:
        """Return the record of the run, or None while it goes on."""
        pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
        seconds = time.monotonic() - self._started
        error = None
        if not pid:
            if seconds < self.task.limit + GRACE:
                return None
            error = f"killed {GRACE:g} s past its limit"
            self._kill()
            _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        with self._folder:
            record = self._record(seconds, error)
        record["cpu"] = usage.ru_utime + usage.ru_stime - record.pop("aside", 0.0)
        return record

    def _record(self, seconds: float, error: str | None) -> dict[str, Any]:
        every = self.task.request.features
        nothing = {"size": every, "undecided": every, "counterfactuals": 0, "seconds": seconds}
        if error is None and self._outcome.exists():
            return {**nothing, **json.loads(self._outcome.read_text())}
        said = self._log.read_text(errors="replace").strip().splitlines()[-1:]
        code = f"exit code {self._process.returncode}"
        return {**nothing, "error": error or ": ".join([code, *said])}

    def stop(self) -> None:
        """Kill the process and forget what it wrote."""
        self._kill()
        self._process.wait()
        self._folder.cleanup()

    def _kill(self) -> None:
        """Kill the process; solvers in processes of their own end when it is gone."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


def run(tasks: Iterable[Task], jobs: int) -> Iterator[tuple[Task, dict[str, Any]]]:
    """Yield tasks with their records as they end, ``jobs`` of them at once.

    A record has the fields of ``suite_run.outcome`` and ``cpu``, processor seconds of the process
    and of the solvers that it started. A run that failed or was killed has an ``error``, and every
    feature is undecided.
    """
    waiting, running = iter(tasks), list[_Run]()
    try:
        while True:
            while len(running) < jobs and (task := next(waiting, None)):
                running.append(_Run(task))
            if not running:
                return
            time.sleep(0.02)
            for one in tuple(running):
                if (record := one.ended()) is not None:
                    running.remove(one)
                    yield one.task, record
    finally:
        for one in running:
            one.stop()
