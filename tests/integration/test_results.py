"""The command for all tables: its tasks, what a fast run leaves out, and how it goes on."""

import json
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.repository import ROOT

SCRIPT = """\
import sys
from pathlib import Path
with Path("asked.txt").open("a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
if "slow" in sys.argv:
    import time
    time.sleep(60)
print("| a table |")
sys.exit("fails" in sys.argv and not Path("mended").exists())
"""
DOCUMENT = """\
# Measurements

## One

<!-- begin a -->
python benchmarks/fake.py m.onnx --indices 3:9 --rows 40 --balls l2:1,l1:2 --only x --write a
<!-- end a -->
<!-- begin b -->
python benchmarks/fake.py fails --write b
<!-- end b -->

## Two

<!-- begin c -->
python benchmarks/fake.py absent.npz:images --write c
<!-- end c -->
"""


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import results

    return results


@pytest.fixture
def folder(results: ModuleType, tmp_path: Path) -> Path:
    root, shared = tmp_path / "root", tmp_path / "shared"
    for part in (root / "benchmarks", root / "examples", shared / "models", shared / "data"):
        part.mkdir(parents=True)
    (root / "benchmarks" / "fake.py").write_text(SCRIPT)
    (shared / "models" / "m.onnx").touch()
    made = tmp_path / "runs"
    results.linked(made, shared, root)
    return made


def journal(path: Path) -> list[tuple[str, str]]:
    return [(one["name"], one["outcome"]) for one in map(json.loads, path.open())]


def test_a_run_goes_on_with_what_has_not_ended_well(results: ModuleType, folder: Path) -> None:
    tasks = results.tasks_in(DOCUMENT)
    assert [(task.name, task.section) for task in tasks] == [
        ("a", "One"),
        ("b", "One"),
        ("c", "Two"),
    ]
    assert not results.run(tasks, folder, "`abc`")
    first = [("a", "done"), ("b", "exit code 1"), ("c", "there is no absent.npz")]
    assert journal(folder / "journal.jsonl") == first
    (folder / "mended").touch()
    (folder / "absent.npz").touch()
    assert results.run(tasks, folder, "`abc`")
    assert journal(folder / "journal.jsonl") == [*first, ("b", "done"), ("c", "done")]
    assert results.run(tasks, folder, "`abc`")
    asked = (folder / "asked.txt").read_text().splitlines()
    assert [line.split()[-1] for line in asked] == ["a", "b", "b", "c"]
    results.run(tasks, folder, "`other`")  # all tables come from one commit
    assert len((folder / "asked.txt").read_text().splitlines()) == 7


def test_a_fast_run_asks_less_of_each_section_and_writes_nothing(
    results: ModuleType, folder: Path
) -> None:
    tasks = results.fast(results.tasks_in(DOCUMENT))
    assert [task.name for task in tasks] == ["a", "c"]
    (folder / "absent.npz").touch()
    assert results.run(tasks, folder, "`abc`", seconds=60.0)
    asked = (folder / "asked.txt").read_text().splitlines()
    assert asked == ["m.onnx --indices 3 --rows 2 --balls l2:1 --only x", "absent.npz:images"]
    assert (folder / "fast" / "a.txt").read_text() == "| a table |\n"


def test_a_fast_task_ends_after_its_share(results: ModuleType, folder: Path) -> None:
    (task,) = results.fast(results.tasks_in("## S\npython benchmarks/fake.py slow --write s\n"))
    assert not results.run([task], folder, "`abc`", seconds=1.0)
    assert journal(folder / "fast.jsonl") == [("s", "cut short")]


def test_a_file_that_a_script_makes_is_made_before_it_is_read(
    results: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "MADE", {"new.onnx": "python benchmarks/fake.py made"})
    (task,) = results.tasks_in("## S\npython benchmarks/fake.py new.onnx --write s\n")
    assert results.run([task], folder, "`abc`")
    assert (folder / "asked.txt").read_text().splitlines() == ["made", "new.onnx --write s"]


def test_every_table_of_the_documents_is_a_task(results: ModuleType) -> None:
    import tables

    names = [task.name for task in results.all_tasks()]
    assert names == tables.tables_to_write()
    assert {*results.BEFORE} | {*results._CHEAPER} <= {*names}
