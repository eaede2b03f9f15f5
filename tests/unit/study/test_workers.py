import gzip
import threading
import time
from collections.abc import Iterable
from concurrent.futures import wait
from pathlib import Path
from typing import Any

import pytest

from milp_verix import Explanation
from milp_verix.study import workers
from milp_verix.study.journal import Record
from milp_verix.study.tasks import TaskOutcome
from milp_verix.study.workers import engine_for, in_processes
from tests.support import digits_example, studies
from tests.support.studies import comparable, some_tasks


def records(outcomes: Iterable[TaskOutcome]) -> list[Record]:
    return [outcome.record for outcome in outcomes]


def opened() -> Any:
    loky = pytest.importorskip("joblib.externals.loky")
    return loky.ProcessPoolExecutor(max_workers=1)


@pytest.mark.slow
def test_several_processes_answer_all_tasks() -> None:
    found = records(in_processes(studies.plain, [opened] * 2, some_tasks(7)))
    assert sorted(one["index"] for one in found) == list(range(7))


@pytest.mark.slow
def test_no_more_tasks_are_drawn_than_there_are_processes() -> None:
    drawn: list[int] = []

    def tasks() -> Any:
        for task in some_tasks(6):
            drawn.append(task.index)
            yield task

    answered = 0
    for _ in in_processes(studies.plain, [opened] * 2, tasks()):
        answered += 1
        assert len(drawn) <= answered + 2
    assert answered == 6


@pytest.mark.slow
def test_an_end_right_after_a_task_was_taken_in_leaves_no_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    executor = pytest.importorskip("joblib.externals.loky.process_executor")
    process = executor._ExecutorManagerThread.process_result_item

    def slowly(self: Any, result: Any) -> None:
        process(self, result)
        time.sleep(0.5)  # as on a busy machine, before the thread looks for further tasks

    monkeypatch.setattr(executor._ExecutorManagerThread, "process_result_item", slowly)
    failures: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", failures.append)

    waits: list[Any] = []

    def interrupted(futures: Any, **how: Any) -> Any:
        waits.append(futures)
        if len(waits) == 2:
            raise KeyboardInterrupt
        return wait(futures, **how)

    monkeypatch.setattr(workers, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(in_processes(studies.plain, [opened], some_tasks(3)))
    assert failures == []


@pytest.mark.slow
def test_a_killed_process_costs_its_task_one_more_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARKER", str(tmp_path / "marker"))
    found = records(in_processes(studies.fatal_once, [opened] * 2, some_tasks(4)))
    assert (tmp_path / "marker").exists()
    assert {one["index"]: one["status"] for one in found} == dict.fromkeys(range(4), "done")


@pytest.mark.slow
def test_a_task_that_kills_its_process_twice_has_failed_and_the_others_go_on() -> None:
    answered = records(in_processes(studies.fatal, [opened] * 2, some_tasks(5)))
    found = {one["index"]: one for one in answered}
    assert {index: one["status"] for index, one in found.items()} == {
        **dict.fromkeys(range(5), "done"),
        1: "failed",
    }
    assert "its process ended 2 times" in found[1]["reason"]
    assert "SIGKILL" in found[1]["reason"]
    assert found[1]["explanation"] is None


@pytest.mark.slow
def test_an_error_that_is_no_record_ends_the_study() -> None:
    with pytest.raises(OSError, match="task 0"):
        list(in_processes(studies.refusing, [opened], some_tasks(2)))


@pytest.mark.slow
def test_one_worker_and_two_give_the_same_records() -> None:
    network, tasks = digits_example.network(), some_tasks(4)
    alone, both = (list(engine_for(network, count, whole=True)(tasks)) for count in (1, 2))
    assert comparable(records(alone)) == comparable(records(both))
    assert {one["status"] for one in records(alone)} == {"done"}
    for outcome in (*alone, *both):
        assert outcome.result is not None
        stored = Explanation.from_json(gzip.decompress(outcome.result).decode())
        assert list(stored.explanation) == list(outcome.record["explanation"])
