"""Write all tables of RESULTS.md and ``measured`` by one command that goes on where it was.

    python benchmarks/results.py SHARED --folder runs
    python benchmarks/results.py SHARED --folder runs --fast

The tasks are the commands that these documents name, ``… --write NAME``. ``SHARED`` has folders
``models`` and ``data``; a command finds their files in ``--folder``, by links, and leaves its own
journals there. ``journal.jsonl`` has a line for each task that ended: one that ended well at the
same commit is not run again.

With ``--fast`` the first task of each section of RESULTS.md, and of each file in ``measured``, runs
on less, and no longer than its share of twenty minutes. It writes no table: what it prints is in
``fast/NAME.txt``.
"""

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tables import RESULTS, ROOT, commit, documents

_FAST_SECONDS = 1080.0
"""Seconds that all tasks of a fast run may take, so that twenty minutes are not passed."""

_FEW = ("--rows", "--count", "--checks", "--images", "--kills", "--certificates")
_SHORT = ("--time-limit", "--minimum-limit", "--limit", "--limits", "--longest")
_LESS = {
    **dict.fromkeys((*_FEW, *_SHORT), "2"),
    "--anchors": "0",
    "--repeats": "1",
    "--scale": "small",
    "--hours": "0.003",
}
"""The values of options in a fast run."""

_FIRST = ("--indices", "--epsilon", "--balls", "--hidden", "--orders")
"""Options that keep the first of their entries in a fast run."""

_CHEAPER = {
    "solver-study": "--checks 1 --solvers phase,highs",
    "peers-mnist-10x2": "--methods default,adaptive,bound,highs",
    "published-gtsrb": "--every 100 --limit 2",
    "suite": "--cases mnist-10x2 gtsrb-10x2 adult-AC-1 digits-l1 wine-20x20 digits-tanh --jobs 2",
    "attention": "--networks 0 --images 1",
    "embedding": "--cases 1-3-1,forest",
    "sota": "python benchmarks/sota.py mnist-sota.onnx,mnist_test.npz:images[6000] --epsilon 0.01",
    "certificates": "python benchmarks/certificates.py shared digits fame-mnist-cnn",
}
"""Further options, or other commands, of tables that a fast run would cut short."""

_SUITE = "python benchmarks/suite.py --journal"
_SHORT_SUITE = f"{_SUITE} releases.jsonl --limit 10 --solvers auto"

BEFORE = {
    "campaign": "python -m tests.campaign --hours 2 --journal campaign.jsonl",
    "ablation-deepening": "python benchmarks/deepening.py --journal deepening.jsonl --limit 15",
    "suite": f"{_SUITE} final.jsonl --limit 30\n"
    f"{_SUITE} final.jsonl --limit 30 --at f2d3426 --solvers auto",
    "changes-suite": f"{_SHORT_SUITE}\n{_SHORT_SUITE} --at ed1ab668",
}
"""The commands, a line each, that fill journals of tables that are written from these alone."""

_CNN = "python benchmarks/mnist_cnn.py mnist_test.npz"

MADE = {
    "mnist-cnn.onnx": f"{_CNN} mnist-cnn.onnx",
    "mnist-30x2.onnx": f"{_CNN} mnist-30x2.onnx --hidden 30,30 --dense",
    "gtsrb-sota.onnx": "python benchmarks/gtsrb_sota.py gtsrb10.npz gtsrb-sota.onnx",
    "digits100.npz": "python benchmarks/digit_images.py digits100.npz",
}
"""The commands that make files which are not in ``SHARED``."""

_FILE = re.compile(r"[\w.-]+\.(?:onnx|npz|npy|csv)\b")


@dataclass(frozen=True)
class Task:
    """A table: its name, its section, and its commands, of which the last one writes it."""

    name: str
    section: str
    commands: tuple[str, ...]

    def missing(self, folder: Path) -> list[str]:
        """Return the files that the commands read and ``folder`` does not have."""
        names = {name for text in self.commands for name in _FILE.findall(text)}
        known = {path.name for path in folder.iterdir()} | {"digits.onnx", "digits.npz"}
        return sorted(names - known)


def tasks_in(text: str, heading: str = "## ") -> list[Task]:
    """Return the tasks that a document names, in its order; a section begins with ``heading``."""
    found, section = dict[str, Task](), ""
    for line in text.splitlines():
        if line.startswith(heading):
            section = line.removeprefix(heading)
        elif line.startswith("python ") and (named := re.search(r" --write (\S+)$", line)):
            name = named[1]
            found[name] = Task(name, section, (*BEFORE.get(name, "").splitlines(), line))
    return list(found.values())


def all_tasks() -> list[Task]:
    """Return the tasks of all documents; one that fills several places is there once."""
    found = dict[str, Task]()
    for path in documents():
        heading = "## " if path == RESULTS else "# "
        for task in tasks_in(path.read_text(encoding="utf-8"), heading):
            found.setdefault(task.name, task)
    return list(found.values())


def fast(tasks: Iterable[Task]) -> list[Task]:
    """Return the first task of each section, on less, without ``--write``."""
    chosen = {task.section: task for task in reversed(list(tasks))}
    ordered = reversed(chosen.values())
    return [Task(t.name, t.section, cheaper(t)) for t in ordered]


def cheaper(task: Task) -> tuple[str, ...]:
    """Return the commands of a task on less; its files are made by the same ones."""
    further = _CHEAPER.get(task.name, "")
    if further.startswith("python "):
        return (less(further),)
    return tuple(f"{less(command)} {further}".strip() for command in task.commands)


def less(command: str) -> str:
    """Return a command with smaller options, and without ``--write`` and ``--plot``."""
    told, option, count = list[str](), "", 0
    for word in shlex.split(command):
        if word.startswith("--"):
            option, count = word, 0
        else:
            count += 1
        if option in ("--write", "--plot") or (count > 1 and option in (*_LESS, *_FIRST)):
            continue
        first = re.split("[,]|(?<=^[0-9]):", word)[0] if count and option in _FIRST else word
        told.append(_LESS.get(option, first) if count else word)
    return shlex.join(told)


def linked(folder: Path, shared: Path, root: Path = ROOT) -> None:
    """Fill ``folder`` with links to the files of ``shared``, and to the scripts and examples."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [path for part in ("models", "data") for path in sorted((shared / part).glob("*"))]
    links = {path.name: path for path in files} | {"shared": shared}
    links |= {name: root / name for name in ("benchmarks", "examples", "tests")}
    for name, path in links.items():
        if not (folder / name).exists():
            (folder / name).symlink_to(path.resolve())


def ended_well(journal: Path, at: str) -> set[str]:
    """Return the names of the tasks that ended well at the commit ``at``."""
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    known = [json.loads(line) for line in lines]
    return {one["name"] for one in known if one["commit"] == at and one["outcome"] == "done"}


def run(tasks: Sequence[Task], folder: Path, at: str, seconds: float | None = None) -> bool:
    """Run the tasks that are left; return whether all have ended well.

    Each has an equal share of ``seconds``, if given, and what it prints goes into ``fast/``.
    """
    journal = folder / ("journal.jsonl" if seconds is None else "fast.jsonl")
    done = ended_well(journal, at)
    for number, task in enumerate(tasks, 1):
        if task.name in done:
            continue
        print(f"{number} of {len(tasks)}: {task.name}", flush=True)
        started = time.monotonic()
        outcome = _outcome(task, folder, None if seconds is None else seconds / len(tasks))
        spent = round(time.monotonic() - started, 1)
        line = {"name": task.name, "commit": at, "outcome": outcome, "seconds": spent}
        with journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(f"    {outcome}, {spent} s", flush=True)
    return {task.name for task in tasks} <= ended_well(journal, at)


def _outcome(task: Task, folder: Path, seconds: float | None) -> str:
    """Run the commands of a task; return ``"done"``, ``"cut short"`` or what went wrong."""
    missing = task.missing(folder)
    if unknown := [name for name in missing if name not in MADE]:
        return f"there is no {', '.join(unknown)}"
    end = None if seconds is None else time.monotonic() + seconds
    printed = folder / "fast" / f"{task.name}.txt"
    printed.parent.mkdir(exist_ok=True)
    with printed.open("w", encoding="utf-8") as file:
        out = None if seconds is None else file
        for command in (*(MADE[name] for name in missing), *task.commands):
            words = [sys.executable, *shlex.split(command)[1:]]
            process = subprocess.Popen(
                words, cwd=folder, stdout=out, stderr=out, start_new_session=True
            )
            try:
                code = process.wait(None if end is None else max(end - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                return "cut short"
            finally:
                _end(process)
            if code:
                return f"exit code {code}"
    return "done"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that has not ended, and those that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def main() -> int:
    """Run what is left; return the exit code."""
    options = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    options.add_argument("shared", type=Path, help="a folder with models and data")
    options.add_argument("--folder", type=Path, default=Path("runs"), help="links and journals")
    options.add_argument("--fast", action="store_true", help="less, in twenty minutes")
    options.add_argument("--only", nargs="+", metavar="NAME", help="these tables alone")
    arguments = options.parse_args()
    linked(arguments.folder, arguments.shared)
    tasks = all_tasks()
    tasks = fast(tasks) if arguments.fast else tasks
    if arguments.only:
        tasks = [task for task in tasks if task.name in arguments.only]
    seconds = _FAST_SECONDS if arguments.fast else None
    return 0 if run(tasks, arguments.folder.resolve(), commit(), seconds) else 1


if __name__ == "__main__":
    sys.exit(main())
