"""Studies on a Dask cluster: a scheduler and two workers, each a process of its own."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from milp_verix import InputError, Tally, explain_many, run_study
from milp_verix.study import workers
from tests.support import studies
from tests.support.clocks import wait_until
from tests.support.command_line import ENVIRONMENT, command
from tests.support.digits_example import IMAGES, MODEL, images, network
from tests.support.studies import comparable, lines, some_tasks

distributed: Any = pytest.importorskip("distributed")
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="no /proc to look into"
)

RADII = [0.05, 0.1, 0.15]
QUIET = {
    **ENVIRONMENT,
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
    "DASK_DISTRIBUTED__ADMIN__LOG_LENGTH": "0",
    "OMP_NUM_THREADS": "1",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("cluster")
    file = folder / "scheduler.json"
    shared = ("--scheduler-file", file, "--no-dashboard")
    worker = ("worker", *shared, "--nthreads", 1, "--local-directory", folder)
    with ExitStack() as stack:
        scheduler = ("scheduler", *shared, "--host", "127.0.0.1", "--port", 0)
        for arguments in (scheduler, worker, worker):
            given = [sys.executable, "-m", "dask", *map(str, arguments)]
            process = subprocess.Popen(
                given, env=QUIET, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
        wait_until(lambda: file.exists() and file.read_text().endswith("}"))
        yield json.loads(file.read_text())["address"]


@pytest.fixture
def client(address: str) -> Iterator[Any]:
    with distributed.Client(address, set_as_default=False) as connected:
        connected.wait_for_workers(2, timeout=60)
        yield connected


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "study.jsonl"
    assert explain_many(MODEL, images()[:8], epsilon=RADII, journal=path).complete
    return path


def whole_results(journal: Path) -> dict[str, Any]:
    """Return the results of a study by the names of their files, without times."""
    found = {}
    for file in journal.with_suffix(".results").rglob("*.json.gz"):
        found[file.name] = json.loads(gzip.decompress(file.read_bytes()))
        del found[file.name]["statistics"]
    return found


def task_processes() -> list[int]:
    """Return the processes in which workers do tasks."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            stat = (file.parent / "stat").read_text().rpartition(")")[2].split()
            parent = Path(f"/proc/{stat[1]}/cmdline").read_bytes()
            if b"solvers.remote_session" in file.read_bytes() and b"spawn_main" in parent:
                found.append(int(file.parent.name))
        except OSError:
            continue  # ended meanwhile
    return found


@pytest.mark.nightly
def test_the_records_and_results_are_those_of_one_process(
    tmp_path: Path, expected: Path, client: Any
) -> None:
    path = tmp_path / "study.jsonl"
    tally = explain_many(MODEL, images()[:8], epsilon=RADII, journal=path, client=client)
    assert (tally.done, tally.known, tally.total) == (24, 0, 24)
    assert comparable(lines(path)) == comparable(lines(expected))
    assert whole_results(path) == whole_results(expected)
    client.run(os.chdir, "/")
    again = explain_many(MODEL, images()[:9], epsilon=RADII, journal=path, client=client)
    assert (again.known, again.done) == (24, 27)


@pytest.mark.nightly
def test_a_killed_worker_costs_no_record(tmp_path: Path, expected: Path, client: Any) -> None:
    path = tmp_path / "study.jsonl"
    killed: list[int] = []

    def kill(tally: Tally) -> None:
        if tally.ended in (3, 12) and len(killed) < 2:
            pids = [pid for pid in client.run(os.getpid).values() if pid not in killed]
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)

    explain_many(MODEL, images()[:8], epsilon=RADII, journal=path, client=client, progress=kill)
    assert len(killed) == 2
    assert comparable(lines(path)) == comparable(lines(expected))
    assert len(lines(path)) == 24


@pytest.mark.slow
def test_a_task_whose_process_dies_is_tried_once_more(
    tmp_path: Path, expected: Path, client: Any
) -> None:
    path = tmp_path / "study.jsonl"
    killed: list[int] = []

    def kill(tally: Tally) -> None:
        if tally.ended >= 4 and not killed and (running := task_processes()):
            killed.append(running[0])
            os.kill(running[0], signal.SIGKILL)

    explain_many(MODEL, images()[:8], epsilon=RADII, journal=path, client=client, progress=kill)
    assert killed
    assert comparable(lines(path)) == comparable(lines(expected))


@pytest.mark.slow
def test_a_task_that_kills_its_worker_twice_has_failed_and_the_others_go_on(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_run", studies.fatal_on_a_cluster)
    drawn: list[int] = []

    def tasks() -> Any:
        for task in some_tasks(12):
            drawn.append(task.index)
            yield task

    found = []
    for outcome in workers.dask_engine(network(), client, False)(tasks()):
        found.append(outcome.record)
        assert len(drawn) <= len(found) + workers._IN_FLIGHT_WITHOUT_WORKERS
    statuses = {record["index"]: record["status"] for record in found}
    bad = {record["index"]: record["reason"] for record in found if record["status"] == "failed"}
    assert set(statuses) == set(range(12))
    # the scheduler cannot tell which of two tasks that wait at a worker ended it
    assert 1 in bad
    assert len(bad) <= 2
    assert all("the worker that ran it died 2 times" in reason for reason in bad.values())


@pytest.mark.nightly
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_tasks_end_with_the_process_that_wants_them(
    tmp_path: Path, expected: Path, client: Any, address: str, sent: signal.Signals
) -> None:
    path = tmp_path / "study.jsonl"
    # a minute for each task: a process whose task is done stays, and waits for another
    long = ("--task", "minimum", "--method", "hitting_sets", "--journal", tmp_path / "long.jsonl")
    question = (MODEL, f"{IMAGES}:images", "--epsilon", "1", "--indices", "0:8")
    given = command("batch", *question, *long, "--scheduler", address)
    client.restart()  # idle processes of tests before end with their workers
    wait_until(lambda: not task_processes())
    process = subprocess.Popen(
        given, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: len(task_processes()) == 2)
    time.sleep(1.0)
    before = set(task_processes())
    process.send_signal(sent)
    output, errors = process.communicate(timeout=120)
    if sent == signal.SIGINT:
        assert process.returncode == 130, errors
        assert re.match(r"interrupted: [0-7] of 8 tasks", output)
        assert "Traceback" not in errors
    wait_until(lambda: not before & set(task_processes()))
    explain_many(MODEL, images()[:8], epsilon=RADII, journal=path, scheduler=address)
    assert comparable(lines(path)) == comparable(lines(expected))


@pytest.mark.slow
def test_other_versions_are_refused(
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = workers._versions()
    assert set(here) >= {"Python", "milp-verix", "highspy"}
    monkeypatch.setattr(workers, "_versions", lambda: {**here, "highspy": "0.1"})
    with pytest.raises(InputError, match=rf"worker has highspy {here['highspy']}, not 0\.1"):
        explain_many(MODEL, images(), epsilon=0.1, journal=tmp_path / "s.jsonl", client=client)
    assert not (tmp_path / "s.jsonl").exists()


@pytest.mark.slow
def test_bad_schedulers_and_clients_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_SECONDS_TO_CONNECT", 0.5)
    study: dict[str, Any] = {"epsilon": 0.1, "journal": tmp_path / "study.jsonl"}
    for scheduler in ("tcp://127.0.0.1:9", "nowhere://x", "", "tcp://"):
        with pytest.raises(InputError, match="no Dask scheduler answers"):
            explain_many(MODEL, images(), scheduler=scheduler, **study)
    with pytest.raises(InputError, match=r"client is a dask\.distributed\.Client"):
        explain_many(MODEL, images(), client="tcp://127.0.0.1:9", **study)
    with pytest.raises(InputError, match="not both"):
        explain_many(MODEL, images(), client=3, scheduler="tcp://127.0.0.1:9", **study)
    file = tmp_path / "study.toml"
    file.write_text(f'model = "{MODEL}"\nxs = "{IMAGES}:images"\nepsilon = 0.1\nworkers = 2')
    with pytest.raises(InputError, match="a scheduler has its own"):
        run_study(file, client=distributed.Client)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"needs Dask: pip install 'milp-verix\[dask\]'"):
        explain_many(MODEL, images(), scheduler="tcp://127.0.0.1:9", **study)
    assert [one.name for one in tmp_path.iterdir()] == ["study.toml"]
