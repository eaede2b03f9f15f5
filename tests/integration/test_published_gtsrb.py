"""The comparison with published sizes: what it counts, what it refuses, and that it goes on."""

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.published_data import SHARED, shared_file
from tests.support.repository import ROOT


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import published_gtsrb

    return published_gtsrb


def test_sizes_are_counted_against_those_published(script: ModuleType) -> None:
    pairs = [(1, 2), (2, 2), (3, 2), (4, 2), (5, None)]
    assert script.compared(pairs) == "1/1/2"
    chosen = [script.Published("n", 0, 30, 50.0, 20), script.Published("n", 1, 10, 7.0, None)]
    run = script.Run("n", 0, "minimum", 20.0, 20, 0, 0, 20, 1.5, "`c`", "2026-01-02")
    other = replace(run, image=1, size=12, lower_bound=9, seconds=2.5)
    _, _, *rows = str(script.summary(chosen, [run, other])).splitlines()
    assert rows == [
        "| n | VeriX+, published | 2 | 20 | 20.0 | – | 0/0/1 | – | – | 28.50 | 50.00 |",
        "| n | FAME, published | 1 | 20 | 20.0 | 1/0/0 | – | – | – | – | – |",
        "| n | ours, the minimum | 2 | 16 | 16.0 | 1/0/1 | 0/1/0 | 0 | 1 | 2.00 | 2.50 |",
    ]


def test_contradictions_are_told(script: ModuleType) -> None:
    chosen = [script.Published("n", 0, 30, 50.0, 20), script.Published("m", 0, 1, 7.0, 1)]
    least = script.Run("n", 0, "minimum", 20.0, 20, 0, 0, 20, 1.5, "`c`", "2026-01-02")
    local = replace(least, method="bound", size=21, lower_bound=None)
    assert script.contradictions(chosen, [least, local]) == []
    told = script.contradictions(chosen, [least, replace(local, size=19)])
    assert told == ["n, image 0: bound has 19 features, fewer than is proven"]
    told = script.contradictions(chosen, [replace(least, lower_bound=21, size=22)])
    assert told == ["n, image 0: FAME has 20 features, fewer than is proven"]
    told = script.contradictions(chosen, [replace(local, failing=2)])
    assert told == ["n, image 0, bound: 2 counterfactuals fail"]


@pytest.mark.slow
def test_published_sizes_are_reproduced_once(
    script: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in script.PUBLISHED_ORDER:
        shared_file(f"models/{name}.onnx")
    shared_file("data/published_gtsrb.csv")
    journal = tmp_path / "runs.jsonl"
    options = ["--journal", str(journal), "--every", "100", "--methods", "default,reproduced"]
    for more in ([], [], ["--tables", "--every", "1"]):
        monkeypatch.setattr("sys.argv", ["published_gtsrb.py", str(SHARED), *options, *more])
        assert script.main() == 0
        assert capsys.readouterr().out.count("| 1 | 117 | 117.0 | 0/1/0 |") == 1
        runs = [json.loads(line) for line in journal.read_text().splitlines()]
        sizes = {(run["network"], run["image"]): run["size"] for run in runs[1::2]}
        assert sizes == {("gtsrb-10x2", 0): 117, ("fame-gtsrb-cnn", 3): 24}
        assert len(runs) == 4
