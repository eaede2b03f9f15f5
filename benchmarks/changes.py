"""An earlier commit beside this one: the whole process of a command, in pairs.

    python benchmarks/changes.py ed1ab668 shared --repeats 5 --write changes

``SHARED`` has folders ``models`` and ``data``. Both take turns at going first, and a row
has the medians of processor time, the median of the ratios pair by pair, and the most memory.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from suite_processes import environment
from tables import ROOT, Table, add_write, archived, write

_DIGITS = "explain examples/digits.onnx examples/digits.npz:images[0] --epsilon 0.1"
_MNIST = "models/mnist-10x2.onnx data/mnist_test.npz:images[0] --epsilon 0.05"
_GTSRB = "models/gtsrb-10x2.onnx data/gtsrb10.npz:test_images[0] --epsilon 0.01"
_LIMIT = "--time-limit 10"

COMMANDS = (
    "--help",
    _DIGITS,
    f"{_DIGITS} --plot picture.png",
    _DIGITS.replace("explain", "minimum"),
    _DIGITS.replace("explain", "contrastive"),
    f"explain {_MNIST}",
    f"explain {_MNIST} --order adaptive",
    f"explain {_MNIST} --solver highs",
    f"minimum {_MNIST} {_LIMIT}",
    f"contrastive {_MNIST} {_LIMIT}",
    f"explain {_GTSRB}",
    f"minimum {_GTSRB} {_LIMIT}",
    "explain models/fame-gtsrb-cnn.onnx data/gtsrb10.npz:test_images[0] --epsilon 0.01 "
    "--image-shape 32,32,3",
    "explain models/fame-mnist-cnn.onnx data/mnist_test.npz:images[0] --epsilon 0.05",
    "explain models/vnncomp-mnist-256x2.onnx data/mnist_test.npz:images[0] --epsilon 0.02 "
    + _LIMIT,
    f"explain models/digits-maxpool-cnn.onnx examples/digits.npz:images[0] --epsilon 0.1 {_LIMIT}",
)
"""Commands that both commits know; files of ``models`` and ``data`` are those of ``SHARED``."""


@dataclass(frozen=True)
class Run:
    """Processor seconds, most memory in MB, and the answer of a command."""

    cpu: float
    peak: float
    answer: str


def run(words: Sequence[str], tree: Path, folder: Path) -> Run:
    """Run a command by the code in ``tree``; raise RuntimeError without an answer."""
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    asked = [] if words == ["--help"] else ["--json", str(result)]
    # -P: the folder that a command starts in has no modules for it
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "milp_verix", *words, *asked],
        cwd=folder,
        env=environment(tree),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if not result.exists() and process.returncode:  # undecided features have an exit code, too
        raise RuntimeError(f"{shlex.join(words)} in {tree}: {said}")
    return Run(used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3, answer(result))


def answer(result: Path) -> str:
    """Return size/undecided features of a result, and its lower bound if it has one."""
    if not result.exists():
        return "–"
    found = json.loads(result.read_text(encoding="utf-8"))
    features, undecided = found.get("explanation", found.get("contrast")), found.get("unknown", ())
    bound = "" if found["lower_bound"] is None else f" ≥ {found['lower_bound']:g}"
    return f"{len(features)}/{len(undecided)}{bound}"


def compared(given: argparse.Namespace, before: Path, folder: Path) -> Table:
    """Return a row for each command, from pairs of runs."""
    table = Table(
        "command | answer before | answer | CPU s before | CPU s | ratio | MB before | MB"
    )
    for command in COMMANDS:
        words = shlex.split(command)
        if any(word.startswith("models/") and not (folder / word).exists() for word in words):
            print(f"skipped {command}: its network is absent", flush=True)
            continue
        runs: dict[Path, list[Run]] = {before: [], ROOT: []}
        for pair in range(given.repeats):
            for tree in sorted(runs, reverse=pair % 2 == 1):
                runs[tree].append(run(words, tree, folder))
        old, new = runs.values()
        table.add(
            f"`{command}`",
            *(each[-1].answer for each in (old, new)),
            *(f"{statistics.median(one.cpu for one in each):.2f}" for each in (old, new)),
            f"{statistics.median(b.cpu / a.cpu for a, b in zip(old, new, strict=True)):.2f}",
            *(f"{max(one.peak for one in each):.0f}" for each in (old, new)),
        )
    return table


def main() -> None:
    """Measure, and write the table where that was asked for."""
    options = argparse.ArgumentParser(description=str(__doc__).partition("\n\n")[0])
    options.add_argument("before", metavar="COMMIT")
    options.add_argument("shared", type=Path)
    options.add_argument("--repeats", type=int, default=5, help="pairs (%(default)s)")
    add_write(options)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name, archived(given.before) as before:
        for part in ("models", "data"):
            (Path(name) / part).symlink_to((given.shared / part).resolve())
        (Path(name) / "examples").symlink_to(ROOT / "examples")
        table = compared(given, before, Path(name))
    if given.write:
        write(given.write, [f"Before is commit `{given.before}`.", table])


if __name__ == "__main__":
    main()
