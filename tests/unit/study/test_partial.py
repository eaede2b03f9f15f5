"""A task that was cut short leaves its best answer, and goes on from it; lies are put aside."""

import errno
import gzip
import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from milp_verix import Explanation, explain, explain_many
from milp_verix.study import journal as partial, tasks
from milp_verix.study.journal import packed
from tests.support import digits_example as digits
from tests.support.interrupts import interrupting
from tests.support.studies import lines


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every task leave its answer, however short it is."""
    monkeypatch.setattr(partial, "FIRST_SECONDS", 0.0)


def study(folder: Path, **more: Any) -> list[dict[str, Any]]:
    """Explain two images, and return the records."""
    path, options = folder / "study.jsonl", {"epsilon": digits.EPSILON, "results": False, **more}
    explain_many(digits.network(), digits.images(), indices="11,15", journal=path, **options)
    return lines(path)


def files(folder: Path) -> list[Path]:
    return sorted((folder / "study.partial").glob("*"))


def interrupted_explain(after: int) -> Callable[..., Explanation]:
    """Return ``explain``, interrupted when its progress is told for the time ``after``."""

    @wraps(explain)
    def interrupted(*given: Any, **options: Any) -> Explanation:
        return explain(*given, **options, progress=interrupting(after))

    return interrupted


def test_tasks_without_time_leave_what_they_have_until_they_are_done(tmp_path: Path) -> None:
    first = study(tmp_path, time_limit=1e-9)
    assert [one["status"] for one in first] == ["undecided"] * 2
    assert [file.name for file in files(tmp_path)] == sorted(
        f"{one['key']}.json.gz" for one in first
    )
    second = study(tmp_path, retry="undecided")[2:]
    assert [one["explanation"] for one in second] == [
        list(digits.explained(index).explanation) for index in (11, 15)
    ]
    assert not (tmp_path / "study.partial").exists()


@pytest.mark.slow
@pytest.mark.parametrize("task", ["minimum", "contrastive"])
def test_other_tasks_go_on(task: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"task": task, "epsilon": 0.05}
    first = study(tmp_path, **options, time_limit=1e-9)
    assert [one["status"] for one in first] == ["undecided"] * 2
    assert len(files(tmp_path)) == 2
    second = study(tmp_path, **options, retry="undecided")[2:]
    assert [one["status"] for one in second] == ["done"] * 2
    assert files(tmp_path) == []


@pytest.mark.parametrize("after", [10, 25])
def test_an_interrupted_task_goes_on(
    after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(tasks.FUNCTIONS, "explain", interrupted_explain(after))
        assert study(tmp_path) == []
    (file,) = files(tmp_path)
    part = Explanation.from_json(file)
    assert len(part.irrelevant) > 0
    assert part.unknown
    first, second = study(tmp_path)
    assert first["explanation"] == list(digits.explained(11).explanation)
    assert any("was proven again" in note for note in first["notes"])
    assert second["explanation"] == list(digits.explained(15).explanation)
    assert not any("an earlier run" in note for note in second["notes"])
    assert files(tmp_path) == []


@pytest.mark.parametrize("kind", ["torn", "no gzip", "no JSON", "no result", "foreign", "a lie"])
def test_a_damaged_or_foreign_answer_is_put_aside(kind: str, tmp_path: Path) -> None:
    study(tmp_path, time_limit=1e-9)
    whole = digits.explained(15)
    foreign = packed(explain(digits.network(), digits.images()[15], epsilon=0.05))
    lie = json.loads(whole.to_json())
    moved = int(lie["counterfactuals"].popitem()[0])
    lie["explanation"].remove(moved)
    lie["irrelevant"].append(moved)
    lie["cost"] -= 1
    contents = {
        "torn": packed(whole)[:-20],
        "no gzip": b"nothing",
        "no JSON": gzip.compress(b"{"),
        "no result": gzip.compress(b'{"schema": 1}'),
        "foreign": foreign,
        "a lie": gzip.compress(json.dumps(lie).encode()),
    }
    key = lines(tmp_path / "study.jsonl")[1]["key"]
    file = tmp_path / "study.partial" / f"{key}.json.gz"
    file.write_bytes(contents[kind])
    told: list[str] = []
    record = study(tmp_path, retry="undecided", warn=told.append)[3]
    assert record["explanation"] == list(whole.explanation)
    if kind == "a lie":
        assert any("was refuted" in note for note in record["notes"])
        assert told == []
    else:
        (text,) = told
        assert f"{key}.json.gz is ignored, and its task begins anew: resume: " in text
    assert files(tmp_path) == []


def test_a_full_disk_costs_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, _: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_bytes", full)
    told: list[str] = []
    records = study(tmp_path, time_limit=1e-9, warn=told.append)
    assert [one["status"] for one in records] == ["undecided"] * 2
    assert told
    assert all("No space left on device" in text for text in told)


def test_short_tasks_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial, "FIRST_SECONDS", 5.0)
    study(tmp_path, time_limit=1e-9)
    assert not (tmp_path / "study.partial").exists()


def test_an_earlier_result_is_no_argument_of_a_study(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'resume'"):
        study(tmp_path, resume="earlier.json")
