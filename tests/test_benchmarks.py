"""The benchmark scripts run, and their answers agree; what they measure is not tested."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.digits import IMAGES, MODEL, explained

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'encodings'}"}


def lines(script: str, *arguments: object) -> list[list[str]]:
    """Return the cells of the table that a script prints."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    rows = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_solvers_side_by_side() -> None:
    options = ("--indices", "15,0", "--epsilon", 0.1, "--solvers", "phase,cbc")
    head, *rows = lines("solvers.py", MODEL, f"{IMAGES}:images", *options)
    assert head[:4] == ["solver", "formulation", "size", "unknown"]
    size = str(explained(15).size + explained(0).size)
    assert [row[:4] for row in rows] == [[name, "big_m", size, "0"] for name in ("phase", "cbc")]
    assert all(row[-1] == "0 fail" for row in rows)


def test_warm_starts() -> None:
    options = ("--epsilon", 0.1, "--solvers", "highs,cbc,phase", "--checks", 4)
    head, *rows = lines("warm_starts.py", MODEL, f"{IMAGES}:images[15]", *options)
    ways = ["default", "rebuilt", "in place", "with a start", "re-tightened"]
    expected = [(name, way) for name in ("highs", "cbc") for way in ways[:-1]]
    expected += [("phase", way) for way in ways[1:]]
    assert [tuple(row[:2]) for row in rows] == expected
    answers = {row[head.index("h/v/u")] for row in rows}
    assert len(answers) == 1
    assert re.fullmatch(r"\d/\d/0", answers.pop())


def test_contrastive() -> None:
    options = ("--indices", "15,8", "--epsilon", 0.1)
    _, *rows = lines("contrastive.py", MODEL, f"{IMAGES}:images", *options)
    assert [row[:4] for row in rows] == [["15", "1", "1", "yes"], ["8", "robust", "–", "yes"]]


def test_minimum() -> None:
    options = ("--indices", "15,0", "--epsilon", 0.1, "--orders", "influence")
    _, *rows = lines("minimum.py", MODEL, f"{IMAGES}:images", *options)
    assert [row[0] for row in rows] == ["15", "0"]
    assert all(row[2] == row[3] and row[4] == "yes" for row in rows)
    assert all(int(row[6]) >= int(row[2]) for row in rows)
