"""Studies that are killed: they go on where they were, and leave no process behind."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from milp_verix import Explanation
from tests.support.command_line import ENVIRONMENT, command, run
from tests.support.digits_example import IMAGES, MODEL
from tests.support.studies import comparable, lines
from tests.support.unsolvable_problems import HARD_OPTIONS, HARD_X, hard_network

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc to look into"),
]

STUDY = ("batch", MODEL, f"{IMAGES}:images", "--epsilon", "0.05,0.1,0.15", "--indices", "0:8")
TASKS = 24


def start(path: Path, workers: int) -> subprocess.Popen[str]:
    given = command(*STUDY, "--journal", path, "--workers", workers)
    return subprocess.Popen(
        given,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
    )


def descendants(root: int) -> set[int]:
    """Return the processes that ``root`` started, and those that they did."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended meanwhile
        if fields[0] != "Z":
            parents[int(stat.parent.name)] = int(fields[1])
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {root}


def workers_of(root: int) -> list[int]:
    """Return the processes of ``root`` that do tasks."""
    found = []
    for pid in descendants(root):
        with suppress(OSError):  # ended meanwhile
            if b"popen_loky" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def wait_for(path: Path, records: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not path.exists() or path.read_bytes().count(b"\n") < records:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


def assert_gone(pids: set[int]) -> None:
    deadline = time.monotonic() + 60  # a busy machine loads modules slowly
    while left := [pid for pid in pids if running(pid)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    path = tmp_path_factory.mktemp("whole") / "study.jsonl"
    done = run(*STUDY, "--journal", path)
    assert done.returncode == 0, done.stderr
    return comparable(lines(path))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_study_goes_on_and_computes_nothing_twice(
    tmp_path: Path, expected: list[str], workers: int
) -> None:
    if workers > 1:
        pytest.importorskip("joblib")
    path = tmp_path / "study.jsonl"
    for least in (3, 9):
        process = start(path, workers)
        wait_for(path, least, process)
        started = descendants(process.pid)
        process.kill()
        process.communicate()
        assert_gone(started)
    done = run(*STUDY, "--journal", path, "--workers", workers)
    assert done.returncode == 0, done.stderr
    assert comparable(lines(path)) == expected
    assert len(lines(path)) == TASKS


def test_workers_that_just_begin_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    pytest.importorskip("joblib")
    process = start(tmp_path / "study.jsonl", 2)
    while len(workers_of(process.pid)) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    time.sleep(0.1)  # they know who started them, and still load modules
    started = descendants(process.pid)
    process.kill()
    assert_gone(started)
    process.communicate()


@pytest.mark.nightly
def test_killed_workers_cost_no_record(tmp_path: Path, expected: list[str]) -> None:
    pytest.importorskip("joblib")
    path = tmp_path / "study.jsonl"
    process = start(path, 2)
    killed = 0
    for least in (2, 12):
        wait_for(path, least, process)
        oldest = min(workers_of(process.pid))  # a fresh one may be at the task of a killed one
        os.kill(oldest, signal.SIGKILL)
        killed += 1
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert killed == 2
    assert "24 done" in output
    assert comparable(lines(path)) == expected


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_end_a_study_with_what_is_there(
    tmp_path: Path, expected: list[str], workers: int, sent: signal.Signals
) -> None:
    if workers > 1:
        pytest.importorskip("joblib")
    path = tmp_path / "study.jsonl"
    process = start(path, workers)
    wait_for(path, 3, process)
    started = descendants(process.pid)
    os.killpg(process.pid, sent) if sent == signal.SIGINT else process.send_signal(sent)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert output.startswith("interrupted: ")
    assert "Traceback" not in errors
    assert_gone(started)
    found = comparable(lines(path))
    assert len(found) < TASKS
    assert set(found) <= set(expected)


@pytest.mark.nightly
@pytest.mark.parametrize("workers", [1, 2])
def test_a_long_task_that_is_killed_goes_on_from_what_it_had(tmp_path: Path, workers: int) -> None:
    if workers > 1:
        pytest.importorskip("joblib")
    network = hard_network(tmp_path)
    np.save(tmp_path / "inputs.npy", HARD_X[None])
    journal = tmp_path / "study.jsonl"
    options = [f"--{name}={value}" for name, value in HARD_OPTIONS.items()]
    study = ("batch", network.path, tmp_path / "inputs.npy", *options, "--journal", journal)
    process = subprocess.Popen(
        command(*study, "--workers", workers),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while not (saved := [*tmp_path.glob("study.partial/[0-9a-f]*.json.gz")]):
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    started = descendants(process.pid)
    process.kill()
    process.communicate()
    assert_gone(started)
    assert lines(journal) == []
    part = Explanation.from_json(saved[0])
    assert part.irrelevant
    assert part.unknown
    done = run(*study, "--workers", workers, "--time-limit", "3")
    assert done.returncode == 3, done.stderr
    (record,) = lines(journal)
    assert record["status"] == "undecided"
    assert not {*part.irrelevant} & {*record["explanation"]}
    assert any("irrelevant feature" in note for note in record["notes"])
    # it is there for more time
    assert {*part.irrelevant} <= {*Explanation.from_json(saved[0]).irrelevant}
