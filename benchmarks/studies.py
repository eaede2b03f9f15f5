"""Studies: tasks a second, random kills of workers and of the main process, and small tasks.

``rates`` runs the same tasks with one worker and with two, in turn. ``kills`` ends a study by
``kill -9`` at random times, a worker or the main process, and goes on; in the end its records are
compared with those of a study that nobody disturbed, and a log of the tasks begun tells how often
each was computed. ``overhead`` does tasks that cost nothing.
"""

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from arguments import parser
from tables import Table, write

from milp_verix import load_network
from milp_verix.study.journal import Journal, best_records, identity
from milp_verix.study.study_inputs import StudyInputs
from milp_verix.study.tasks import Task, TaskOutcome, failed, settings_of, tasks_of

_LOGGING = """
import os
if "TASKS_BEGUN" in os.environ:
    import milp_verix.study.tasks as tasks
    answered = tasks.run_task

    def run_task(network, task, whole):
        file = os.open(os.environ["TASKS_BEGUN"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, f"{task.key[:32]}:{task.index} {os.getpid()}\\n".encode())
        os.close(file)
        return answered(network, task, whole)

    tasks.run_task = run_task
"""
"""A ``sitecustomize``: each process that does tasks logs those that it begins."""


def study(given: argparse.Namespace, folder: Path, name: str, workers: int) -> list[str]:
    """Return the command of a study with its journal in ``folder``."""
    words = [sys.executable, "-m", "milp_verix", "batch", given.model, given.images]
    words += ["--epsilon", given.epsilon, "--indices", f"0:{given.count}"]
    words += ["--journal", str(folder / f"{name}.jsonl"), "--workers", str(workers)]
    return [*words, "--time-limit", "60", "--quiet"]


def environment(folder: Path) -> dict[str, str]:
    """Return an environment in which tasks are logged."""
    (folder / "sitecustomize.py").write_text(_LOGGING)
    path = os.pathsep.join([str(folder), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    return {**os.environ, "PYTHONPATH": path, "TASKS_BEGUN": str(folder / "begun.txt")}


def records(path: Path) -> list[dict[str, Any]]:
    """Return the records in a journal, whole lines alone."""
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]
    found = []
    for line in lines:
        with suppress(ValueError):
            found.append(json.loads(line))
    return found


def comparable(found: list[dict[str, Any]]) -> list[str]:
    """Return records in an order of their own, without times and folders."""
    kept = [{**one, "seconds": 0, "result": bool(one["result"])} for one in found]
    return sorted(json.dumps(one, sort_keys=True) for one in kept)


def rates(given: argparse.Namespace) -> Table:
    """Return tasks a second, and processor time a task, with one worker and with two."""
    table = Table("workers | tasks | wall s | tasks/s | CPU ms/task", words=0)
    runs: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    tasks = 0
    for _ in range(given.repeats):
        for workers, seconds in runs.items():
            with tempfile.TemporaryDirectory() as name:
                before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
                subprocess.run(study(given, Path(name), "study", workers), check=False)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                seconds.append((time.monotonic() - started, cpu))
                tasks = len(records(Path(name) / "study.jsonl"))
    for workers, seconds in runs.items():
        wall, cpu = (float(np.median(values)) for values in zip(*seconds, strict=True))
        table.add(workers, tasks, f"{wall:.1f}", f"{tasks / wall:.1f}", f"{1000 * cpu / tasks:.0f}")
    return table


def _finished(command: list[str]) -> None:
    """Run a study to its end; tasks that limits leave undecided are no fault."""
    done = subprocess.run(command, check=False)
    if done.returncode not in (0, 3):
        done.check_returncode()


def kills(given: argparse.Namespace) -> Table:
    """Kill a study at random times, go on, and return what was lost or done twice."""
    draw = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _finished(study(given, folder, "whole", 2))
        expected = comparable(records(folder / "whole.jsonl"))
        command, variables = study(given, folder, "study", 2), environment(folder)
        journal = folder / "study.jsonl"
        interrupted: Counter[str] = Counter()
        killed: Counter[str] = Counter()
        process = subprocess.Popen(command, env=variables, stderr=subprocess.DEVNULL)
        while killed.total() < given.kills and process.poll() is None:
            _wait_for_more(journal, process)
            time.sleep(draw.uniform(0, given.longest))
            whom = draw.choice(["main", "worker"])
            workers = _workers(process.pid)
            if process.poll() is not None or (whom == "worker" and not workers):
                continue
            target = process.pid if whom == "main" else draw.choice(workers)
            with suppress(ProcessLookupError):
                os.kill(target, signal.SIGKILL)
            killed[whom] += 1
            if whom == "main":
                process.wait()
                while any(_alive(worker) for worker in workers):
                    time.sleep(0.05)
            interrupted.update(_running(folder / "begun.txt", journal, workers, target, whom))
            if whom == "main":
                process = subprocess.Popen(command, env=variables, stderr=subprocess.DEVNULL)
        process.wait()
        begun = Counter(line.split()[0] for line in (folder / "begun.txt").read_text().splitlines())
        written = [(one["key"], one["index"]) for one in records(journal)]
        twice = sum(one["status"] == "failed" for one in records(journal))
        _finished([*command, "--retry", "failed"])
        found = list(best_records(journal))
    begun_again = {task: count - 1 for task, count in begun.items() if count > 1}
    unforeseen = sum(count > interrupted[task] for task, count in begun_again.items())
    table = Table("| value", words=1)
    table.add("tasks", len(expected))
    table.add("kills of the main process, of a worker", f"{killed['main']}, {killed['worker']}")
    differing = _differing(found, expected)
    table.add("records that differ from those of a study without kills", differing)
    table.add("tasks hit by two kills, which --retry failed did again", twice)
    table.add("tasks recorded twice", len(written) - len(set(written)))
    table.add("tasks that ran at a kill", interrupted.total())
    table.add("tasks computed again", sum(begun_again.values()))
    table.add("tasks computed again that did not run at a kill", unforeseen)
    return table


def _differing(found: list[dict[str, Any]], expected: list[str]) -> int:
    lost, new = Counter(expected), Counter(comparable(found))
    return max((lost - new).total(), (new - lost).total())


def _wait_for_more(journal: Path, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the study has written another record."""
    size = journal.stat().st_size if journal.exists() else 0
    while process.poll() is None and (not journal.exists() or journal.stat().st_size <= size):
        time.sleep(0.01)


def _workers(root: int) -> list[int]:
    """Return the processes of ``root`` that do tasks."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            parent = (file.parent / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == root and b"popen_loky" in file.read_bytes():
                found.append(int(file.parent.name))
    return found


def _alive(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def _running(
    begun: Path, journal: Path, workers: list[int], target: int, whom: str
) -> Iterator[str]:
    """Yield the tasks that the killed processes had begun, and that have no record."""
    last = dict(reversed(line.split()) for line in begun.read_text().splitlines())
    known = {identity(one["key"], one["index"]) for one in records(journal)}
    for pid in workers if whom == "main" else [target]:
        task = last.get(str(pid))
        if task is not None and task not in known:
            yield task


def overhead(given: argparse.Namespace) -> Table:
    """Return what tasks that cost nothing cost."""
    network = load_network(given.model)
    shape = network.input_shape
    inputs = StudyInputs(given.count, lambda i: np.full(shape, i / given.count, network.dtype))
    settings = settings_of(["explain"], {"epsilon": [0.01]}, {})
    table = Table("step | tasks | CPU ms/task | bytes/task | peak memory MB")

    def tasks() -> Iterator[Task]:
        return tasks_of(network, inputs, range(given.count), settings)

    def measured(step: str, size: int, started: float) -> None:
        spent = 1000 * (time.process_time() - started) / given.count
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        each = f"{size / given.count:.0f}" if size else "–"
        table.add(step, given.count, f"{spent:.3f}", each, f"{peak:.0f}")

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "study.jsonl"
        measured("before", 0, time.process_time())
        started = time.process_time()
        with Journal(path) as journal:
            for outcome in map(_nothing, tasks()):
                journal.append({**outcome.record, "result": None})
        measured("new tasks: hash, record, write", path.stat().st_size, started)
        started = time.process_time()
        with Journal(path) as journal:
            open_tasks = sum(
                identity(one.key, one.index) not in journal.statuses for one in tasks()
            )
        assert open_tasks == 0
        measured("known tasks: read, hash, skip", 0, started)
    return table


def _nothing(task: Task) -> TaskOutcome:
    return failed(task, "nothing was asked")


def main() -> None:
    """Run one of the measurements, and print its table."""
    made = parser(__doc__)
    made.add_argument("measurement", choices=["rates", "kills", "overhead"])
    made.add_argument("model")
    made.add_argument("images", nargs="?", default="")
    made.add_argument("--count", type=int, default=1000, help="inputs (%(default)s)")
    made.add_argument("--epsilon", default="0.005,0.01,0.02", help="radii (%(default)s)")
    made.add_argument("--repeats", type=int, default=3, help="pairs of rates (%(default)s)")
    made.add_argument("--kills", type=int, default=20, help="(%(default)s)")
    made.add_argument("--longest", type=float, default=4.0, help="seconds before a kill")
    made.add_argument("--seed", type=int, default=0)
    given = made.parse_args()
    table = {"rates": rates, "kills": kills, "overhead": overhead}[given.measurement](given)
    if given.write:
        write(given.write, [table])


if __name__ == "__main__":
    main()
