"""The evaluation of the VeriX paper runs from an empty folder, and goes on where it stopped."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import milp_verix
from tests.support.repository import ROOT

ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'encodings'}"}
NETWORKS = ROOT / "benchmarks" / "paper" / "networks"
IMAGES = 2


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    words = ["-m", "benchmarks.paper", "--scale", "small", "--out", str(folder)]
    command = [sys.executable, *words, "--images", str(IMAGES), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=ENVIRONMENT, cwd=ROOT
    )


def evaluated(folder: Path, *arguments: str) -> str:
    done = run(folder, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return (folder / "tables.md").read_text(encoding="utf-8")


def rows(text: str, title: str) -> list[dict[str, str]]:
    """Return the rows of the table below a title."""
    found = re.search(rf"^## {title}\n\n((?:\|.*\n)+)", text, flags=re.MULTILINE)
    assert found, text
    head, _, *body = (line.strip("|").split("|") for line in found[1].splitlines())
    names = [name.strip() for name in head]
    return [dict(zip(names, (cell.strip() for cell in row), strict=True)) for row in body]


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return the time and the bytes of each file that took work."""
    kept = [
        path
        for name in ("networks", "journals")
        for path in (folder / name).rglob("*")
        if path.is_file()
    ]
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in kept}


@pytest.mark.nightly
def test_everything_from_nothing_and_nothing_twice(tmp_path: Path) -> None:
    first = evaluated(tmp_path)
    found = contents(tmp_path)
    assert evaluated(tmp_path) == first
    assert contents(tmp_path) == found  # nothing was computed again

    with np.load(NETWORKS / "digits.npz") as stored:
        images = (stored["images"][:IMAGES, None] / 16).astype(np.float32)
    network = milp_verix.load_network(NETWORKS / "digits-dense.onnx")
    sizes = [milp_verix.explain(network, x, epsilon=0.1).size for x in images]
    least = [milp_verix.minimum(network, x, epsilon=0.1).size for x in images]
    by_method = {
        row["method"]: row
        for row in rows(first, "Complete against incomplete checks")
        if row["network"] == "digits-dense"
    }
    assert float(by_method["complete"]["mean size"]) == np.mean(sizes)
    assert float(by_method["minimum 5 s"]["mean size"]) == np.mean(least)
    assert by_method["bounds alone"]["minimal or minimum"] != "2/2"

    pictures = {path.name for path in (tmp_path / "figures").iterdir()}
    names = {name.partition(".")[0] for name in pictures}
    assert {"explained", "ruled-out", "radii", "orders", "runways", "incomplete"} <= names
    assert pictures == {f"{name}.{suffix}" for name in names for suffix in ("pdf", "png")}


@pytest.mark.nightly
def test_an_evaluation_goes_on_where_it_stopped(tmp_path: Path) -> None:
    evaluated(tmp_path, "--only", "complete")
    journal = tmp_path / "journals" / "digits-dense-0.1-complete.jsonl"
    whole = journal.read_text().splitlines()
    journal.write_text(whole[0] + "\n" + whole[1][:100])  # killed while it wrote
    assert run(tmp_path, "--only", "complete").returncode == 0
    again = journal.read_text().splitlines()
    assert again[0] == whole[0]
    assert len(again) == IMAGES


@pytest.mark.slow
def test_what_is_missing_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, "--scale", "full", "--only", "complete")
    assert done.returncode == 2
    assert "--mnist" in done.stderr
