"""The benchmark scripts run, and their answers agree; what they measure is not tested."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.digits_example import IMAGES, MODEL, explained
from tests.support.installed_solvers import needs
from tests.support.repository import PYTHON_PATH, ROOT

ENVIRONMENT = {**os.environ, "PYTHONPATH": PYTHON_PATH}


def lines(script: str, *arguments: object) -> list[list[str]]:
    """Return the cells of the first table that a script prints."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    found = re.search(r"^\|.*(?:\n\|.*)*", done.stdout, flags=re.MULTILINE)
    assert found, done.stdout
    rows = [line for line in found[0].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.slow
def test_solvers_side_by_side() -> None:
    options = ("--indices", "15,0", "--epsilon", 0.1, "--solvers", "phase,cbc")
    head, *rows = lines("solvers.py", MODEL, f"{IMAGES}:images", *options)
    assert head[:4] == ["solver", "formulation", "size", "unknown"]
    size = str(explained(15).size + explained(0).size)
    assert [row[:4] for row in rows] == [[name, "big_m", size, "0"] for name in ("phase", "cbc")]
    assert all(row[-1] == "0 fail" for row in rows)


@pytest.mark.slow
def test_warm_starts() -> None:
    options = ("--epsilon", 0.1, "--solvers", "highs,cbc,phase", "--checks", 4)
    head, *rows = lines("warm_starts.py", MODEL, f"{IMAGES}:images[15]", *options)
    ways = ["default", "rebuilt", "in place", "with a start"]
    expected = [(name, way) for name in ("highs", "cbc") for way in ways]
    expected += [("phase", way) for way in ways[1:]]
    assert [tuple(row[:2]) for row in rows] == expected
    answers = {row[head.index("h/v/u")] for row in rows}
    assert len(answers) == 1
    assert re.fullmatch(r"\d/\d/0", answers.pop())


@pytest.mark.nightly
def test_certificates() -> None:
    head, row = lines("certificates.py", ROOT, "digits")
    assert head[2:4] == ["images", "certified"]
    assert row[:4] == ["digits", "0.1", "20", "20"]


@pytest.mark.slow
def test_contrastive() -> None:
    options = ("--indices", "15,8", "--epsilon", 0.1)
    _, *rows = lines("contrastive.py", MODEL, f"{IMAGES}:images", *options)
    assert [row[:4] for row in rows] == [["15", "1", "1", "yes"], ["8", "robust", "–", "yes"]]


@pytest.mark.slow
@needs("gurobi")
def test_embedding() -> None:
    pytest.importorskip("omlt")
    head, *rows = lines("embedding.py", "--cases", "1-3-1,residual")
    assert [row[:2] for row in rows[:4]] == [
        ["1-3-1", name] for name in ("ours", "ours, lp", "ours, lp, general", "OMLT")
    ]
    place = head.index("replayed")
    assert len({row[place] for row in rows[:4]}) == 1
    ours, theirs = rows[5], rows[8]
    assert ours[0] == theirs[0] == "residual"
    assert float(ours[place]) > 0
    assert theirs[place - 1].startswith("refused")


@pytest.mark.slow
def test_norms() -> None:
    options = ("--indices", "15,8", "--balls", "l1:0.2,l2:0.3")
    _, *rows = lines("norms.py", MODEL, f"{IMAGES}:images", *options)
    assert [row[:3] for row in rows] == [["l1", "0.2", "2"], ["l2", "0.3", "2"]]
    assert all(row[4:6] == ["0", "0"] for row in rows)


@pytest.mark.slow
def test_minimum() -> None:
    options = ("--indices", "15,0", "--epsilon", 0.1, "--orders", "influence")
    _, *rows = lines("minimum.py", MODEL, f"{IMAGES}:images", *options)
    assert [row[0] for row in rows] == ["15", "0"]
    assert all(row[2] == row[3] and row[4] == "yes" for row in rows)
    assert all(int(row[6]) >= int(row[2]) for row in rows)


@pytest.mark.nightly
def test_peers_go_on_where_they_stopped(tmp_path: Path) -> None:
    options = ("--epsilon", 0.1, "--count", 2, "--out", tmp_path / "runs.jsonl")
    first = lines("peers.py", MODEL, f"{IMAGES}:images", *options, "--methods", "default")
    picture = tmp_path / "runs.png"
    methods = ("--methods", "default,cold,sensitivity", "--plot", picture)
    head, *rows = lines("peers.py", MODEL, f"{IMAGES}:images", *options, *methods)
    assert rows[0] == first[1]
    sizes = {row[0]: row[head.index("size")] for row in rows}
    # cold solves in the default order find the same explanations
    assert sizes["default"] == sizes["cold"]
    assert {(row[1], row[5], row[6]) for row in rows} == {("2", "0", "0")}
    assert picture.stat().st_size > 10_000
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 6


@pytest.mark.slow
def test_growth(tmp_path: Path) -> None:
    cases = [
        f"{name}={MODEL},{IMAGES}:images,{epsilon}" for name, epsilon in (("a", 0.1), ("b", 2))
    ]
    picture = tmp_path / "growth.png"
    head, *rows = lines("growth.py", *cases, "--count", 2, "--plot", picture)
    assert [row[:3] for row in rows] == [["a", "64", "32"], ["b", "64", "32"]]
    assert all(row[head.index("unknown")] == "0" for row in rows)
    assert picture.stat().st_size > 10_000
