"""Sessions in processes of their own: what happens there costs one solve, and leaves nothing."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import Answer, Tolerances, check, explain
from milp_verix.base.errors import LicenceLimitError, SolverError, SolverUnavailableError
from milp_verix.oracle.oracle import Oracle
from milp_verix.searches.strategies import Walk
from milp_verix.solvers import SolveStatus, Targets, remote_session as remote
from milp_verix.solvers.remote_session import RemoteSession
from tests.support.misbehaving_processes import Odd
from tests.support.random_networks import dense_network, random_layers
from tests.support.repository import ROOT
from tests.support.scipy_reference import optimum
from tests.support.small_programs import small_program

OURS = "milp-verix-*"


@pytest.fixture
def odd() -> Iterator[Callable[..., RemoteSession]]:
    opened = []

    def open_one(habit: str, once: Path | None = None) -> RemoteSession:
        opened.append(RemoteSession(partial(Odd, habit, None if once is None else str(once))))
        return opened[-1]

    yield open_one
    for session in opened:
        session._end()


def sleeper(parent: int) -> str:
    """Return the command of what the habit "hang" starts for the process ``parent``."""
    return f"sleep 9{parent}"


def assert_works(session: RemoteSession) -> None:
    task = small_program()
    cost = np.ones(task.columns)
    session.load(task)
    result = session.minimise(cost, Targets(seconds=60))
    assert result.status is SolveStatus.OPTIMAL
    assert result.bound == pytest.approx(optimum(task, cost)[0], abs=1e-6)


def test_it_is_the_session_of_the_process(odd: Callable[..., RemoteSession]) -> None:
    session = odd("none")
    assert (session.name, session.version, session.largest_big_m) == ("odd", "1.0", 1e4)
    assert_works(session)
    # a probe cannot go along; a program that was loaded is there for many costs
    cost = -np.ones(small_program().columns)
    result = session.minimise(cost, Targets(probe=lambda _: True))
    assert result.bound == pytest.approx(optimum(small_program(), cost)[0], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("habit", "words"),
    [
        ("crash", "its process ended: .*exit code -11"),
        ("exit", r"out of memory \(exit code 7\)"),
        ("raise", "ZeroDivisionError: by zero"),
        ("short", r"a point of shape \(1,\)"),
    ],
)
def test_a_crash_costs_one_solve(
    habit: str, words: str, odd: Callable[..., RemoteSession], tmp_path: Path
) -> None:
    session = odd(habit, tmp_path / "once")
    task = small_program()
    session.load(task)
    if habit == "short":
        with pytest.raises(SolverError, match=words):
            session.minimise(np.ones(task.columns), Targets())
        return
    with pytest.raises(SolverError, match=words):
        session.minimise(np.ones(task.columns), Targets())
    # the program went with the process; it is sent again
    cost = np.ones(task.columns)
    assert session.minimise(cost, Targets()).bound == pytest.approx(optimum(task, cost)[0])


@pytest.mark.slow
def test_a_solver_that_hangs_is_killed_with_all_it_started(
    odd: Callable[..., RemoteSession], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_GRACE_SECONDS", 0.5)
    session = odd("hang", tmp_path / "once")
    task = small_program()
    session.load(task)
    result = session.minimise(np.ones(task.columns), Targets(seconds=0.5))
    assert result.status is SolveStatus.TIME_LIMIT
    assert result.detail == "killed at the time limit"
    assert result.bound == -np.inf
    assert ended(sleeper(os.getpid()))
    assert_works(session)


def ended(command: str, seconds: float = 10.0) -> bool:
    """Return whether no process runs ``command``, at the latest ``seconds`` from now."""
    deadline = time.monotonic() + seconds
    while (there := command in running()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not there


def running() -> str:
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_ctrl_c_ends_it_with_all_it_started(
    odd: Callable[..., RemoteSession], tmp_path: Path
) -> None:
    session = odd("hang", tmp_path / "once")
    task = small_program()
    session.load(task)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        session.minimise(np.ones(task.columns), Targets())
    assert ended(sleeper(os.getpid()))
    assert_works(session)


def test_what_a_solver_prints_is_no_answer(odd: Callable[..., RemoteSession]) -> None:
    assert_works(odd("print"))


@pytest.mark.slow
def test_nothing_opens_where_nothing_can(
    odd: Callable[..., RemoteSession], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(SolverUnavailableError, match="expired in 2020"):
        odd("no licence")
    with pytest.raises(SolverError, match="RuntimeError: nothing opens"):
        odd("no session")
    assert list(tmp_path.glob(OURS)) == []


@pytest.mark.slow
def test_processes_are_kept_for_the_next_session(odd: Callable[..., RemoteSession]) -> None:
    first = odd("slow")
    taken = first._process
    first.close()
    second = odd("slow")
    assert second._process is taken
    third = odd("slow")
    assert third._process is not taken
    assert_works(second)
    assert_works(third)
    # one is enough, and one that died meanwhile is none
    second.close()
    third.close()
    assert taken is not None
    os.killpg(taken._process.pid, signal.SIGKILL)
    taken._process.wait()
    assert_works(odd("slow"))


SCRIPT = """
import os, sys
from functools import partial
import numpy as np
from milp_verix.solvers import Targets
from milp_verix.solvers.remote_session import RemoteSession
from tests.support.misbehaving_processes import Odd
from tests.support.small_programs import small_program

idle = RemoteSession(partial(Odd, "none"))
idle.close()
session = RemoteSession(partial(Odd, "hang"))
session.load(small_program())
print(os.getpid(), session._process._folder, flush=True)
if sys.argv[1] == "die":
    import threading, time, signal
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGKILL)).start()
    session.minimise(np.ones(small_program().columns), Targets())
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", ["leave", "die"])
def test_nothing_outlives_the_process_that_asked(end: str, tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT, end],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'encodings'}", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert finished.returncode == (-signal.SIGKILL if end == "die" else 0), finished.stderr
    parent, folder = finished.stdout.split()
    assert Path(folder).parent == tmp_path
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and (
        any(tmp_path.glob(OURS)) or sleeper(int(parent)) in running()
    ):
        time.sleep(0.05)
    assert list(tmp_path.glob(OURS)) == []
    assert sleeper(int(parent)) not in running()


@pytest.mark.slow
def test_a_fork_has_processes_of_its_own(odd: Callable[..., RemoteSession]) -> None:
    session = odd("none")
    assert_works(session)
    parent = session._process
    assert parent is not None
    folder = parent._folder
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            # with its last name the process of the parent is gone from here
            del parent
            assert_works(session)
            assert session._process is not None
            assert session._process._folder != folder
            session._end()
            os.write(write, b"fine")
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    assert os.read(read, 10) == b"fine"
    os.close(read)
    # nor does the fork remove the files of ours
    assert session._process is parent
    assert Path(folder).is_dir()
    assert_works(session)


@pytest.mark.slow
@pytest.mark.parametrize("habit", ["crash", "exit", "raise", "licence lost", "short", "nan", "lie"])
def test_an_explanation_goes_on(
    habit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = dense_network(random_layers(np.random.default_rng(1), (5, 6, 3)), tmp_path)
    x = np.full(5, 0.5)
    options: dict[str, Any] = {"epsilon": 0.4, "order": "sequential", "bounds": "interval"}
    options |= {"reuse": False, "solver": "highs"}
    expected = explain(network, x, **options)
    assert expected.statistics.solves > 2

    sessions = []

    def opening(_name: str = "auto", **_options: object) -> RemoteSession:
        always = habit in ("nan", "lie", "short")
        once = None if always else str(tmp_path / "once")
        sessions.append(RemoteSession(partial(Odd, habit, once)))
        return sessions[-1]

    monkeypatch.setattr(sys.modules["milp_verix.oracle.engines.programs"], "open_session", opening)
    # attacks, and counterfactuals of what counts needed features, would decide what is left open
    monkeypatch.setattr(Oracle, "attacked", lambda *_: {})
    monkeypatch.setattr(Walk, "settle_known", lambda *_: None)
    found = explain(network, x, **options)
    for session in sessions:
        session._end()
    # what could not be decided stays in, for a reason; nothing is left out that matters
    assert set(found.explanation) >= set(expected.explanation)
    assert found.unknown
    if habit not in ("nan", "lie", "short"):
        assert len(found.unknown) == 1
        assert len(sessions) == 2
        assert found.replay(network) == ()
        rest = check(network, x, list(found.irrelevant), epsilon=0.4, tolerances=Tolerances())
        assert rest.answer is Answer.HOLDS
    else:
        assert set(found.irrelevant) <= set(expected.irrelevant)


def test_a_licence_error_keeps_its_kind(odd: Callable[..., RemoteSession], tmp_path: Path) -> None:
    session = odd("licence lost", tmp_path / "once")
    session.load(small_program())
    with pytest.raises(LicenceLimitError, match="token"):
        session.minimise(np.ones(small_program().columns), Targets())


@pytest.mark.slow
def test_idle_processes_end_with_this_one() -> None:
    remote.take(partial(Odd, "none")).kill()
    kept = remote.take(partial(Odd, "none"))
    remote.give_back(kept)
    assert kept.usable
    remote._end()
    assert not kept.usable
    assert not remote._idle
