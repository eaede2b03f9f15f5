"""The script that measures tables goes on from its journal, and tabulates what is in it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.support.random_networks import dense_model, random_layers
from tests.support.repository import ROOT


def run(folder: Path, rows: int) -> list[str]:
    """Return the lines of the table about so many rows."""
    script, files = ROOT / "benchmarks" / "tables_domains.py", ("table.npz", "small.onnx")
    options = ["--journal", "runs.jsonl", "--rows", str(rows), "--rule", "a", "b"]
    done = subprocess.run(
        [sys.executable, "-B", str(script), *files, *options],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'encodings'}"},
    )
    return [line for line in done.stdout.splitlines() if line.startswith("| small")]


@pytest.mark.slow
def test_rows_in_the_journal_are_not_repeated(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 4, size=(12, 3))
    words = json.dumps({"c": ["red", "green", "blue", "white"]})
    np.savez(tmp_path / "table.npz", X=table, feature_names=["a", "b", "c"], categories=words)
    onnx.save(dense_model(random_layers(rng, (3, 6, 4, 1))), tmp_path / "small.onnx")
    journal = tmp_path / "runs.jsonl"
    assert len(run(tmp_path, 2)) == 3
    begun = journal.read_text()
    # cut short while it was written
    journal.write_text(begun + '{"network": "sm')
    lines = run(tmp_path, 4)
    assert journal.read_text().startswith(begun)
    runs = [json.loads(line) for line in journal.read_text().splitlines()]
    assert len(runs) == 12
    assert len({(one["row"], one["domain"]) for one in runs}) == 12
    for line, domain in zip(lines, ["hull", "whole", "whole, rules"], strict=True):
        cells = [cell.strip() for cell in line.split("|")[2:-1]]
        mine = [one for one in runs if one["domain"] == domain]
        sizes, minima = ([one[key] for one in mine] for key in ("size", "minimum"))
        assert cells[:3] == [domain, "4", f"{np.mean(sizes):.2f}"]
        assert cells[6] == f"{np.mean(minima):.2f}"
        assert all(least <= size for least, size in zip(minima, sizes, strict=True))
