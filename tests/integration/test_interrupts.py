"""Ctrl-C while a solver runs: it ends, nothing of it stays, and what was proven is kept."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from milp_verix.solvers import SolveStatus, Targets, open_session
from milp_verix.solvers.session import deferred_interrupt
from tests.support.command_line import commands
from tests.support.installed_solvers import each_solver, needs
from tests.support.random_networks import cube, network_of, random_layers
from tests.support.repository import ROOT
from tests.support.scipy_reference import optimum, over
from tests.support.unsolvable_problems import hard_cost, hard_program


@contextmanager
def ctrl_c(seconds: float) -> Iterator[None]:
    """Send a real SIGINT to this process after ``seconds``."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@pytest.mark.slow
@each_solver
def test_ctrl_c_ends_a_solve_and_leaves_the_session_usable(solver: str) -> None:
    session = open_session(solver)
    session.load(hard_program())
    with ctrl_c(0.3), pytest.raises(KeyboardInterrupt):
        session.minimise(hard_cost(), Targets())
    network = network_of(random_layers(np.random.default_rng(0), (3, 4, 2)))
    program = over(network, cube(3)).program
    cost = np.ones(program.columns)
    session.load(program)
    result = session.minimise(cost, Targets())
    assert result.status is SolveStatus.OPTIMAL
    assert result.bound == pytest.approx(optimum(program, cost)[0], abs=2e-5)
    session.close()


@pytest.mark.parametrize(
    "solver",
    [
        pytest.param(name, marks=needs(name))
        for name in ("cbc", "scip", "xpress", "copt", "cplex", "ortools")
    ],
)
def test_ctrl_c_in_another_thread_ends_a_solve_in_a_process(solver: str) -> None:
    # it interrupts no system call of ours, like one that comes just before the call
    session = open_session(solver)
    session.load(hard_program())

    def in_this_thread() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    timer = threading.Timer(0.5, in_this_thread)
    timer.start()
    # at its limit it would return
    with pytest.raises(KeyboardInterrupt):
        session.minimise(hard_cost(), Targets(seconds=60))
    session.close()


def running() -> list[str]:
    """Return the commands of CBC's processes that solve a check."""
    return [line for line in commands() if "milp-verix-" in line and "check.mps" in line]


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="no /proc to look into")
@needs("cbc")
def test_ctrl_c_ends_the_process_of_cbc() -> None:
    session = open_session("cbc")
    session.load(hard_program())
    seen: list[str] = []

    def interrupt_once_it_runs() -> None:
        while not seen:
            seen.extend(running())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt_once_it_runs, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        session.minimise(hard_cost(), Targets(seconds=60))
    end = time.monotonic() + 20
    while left := set(seen) & set(running()):
        assert time.monotonic() < end, f"it still runs: {left}"
    session.close()


def test_ctrl_c_is_raised_at_the_end_of_the_block_and_handled_as_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    reached = False
    with pytest.raises(KeyboardInterrupt), deferred_interrupt() as interrupt:  # noqa: PT012
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupt.pending
        reached = True
    assert reached
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_in_the_block_is_not_hidden_by_ctrl_c() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(RuntimeError, match="first"), deferred_interrupt():  # noqa: PT012
        os.kill(os.getpid(), signal.SIGINT)
        raise RuntimeError("first")
    assert signal.getsignal(signal.SIGINT) is before


@each_solver
def test_solvers_run_outside_the_main_thread(solver: str) -> None:
    # Python delivers no signals there, and refuses to change their handlers
    network = network_of(random_layers(np.random.default_rng(0), (3, 4, 2)))
    program = over(network, cube(3)).program
    cost = np.ones(program.columns)
    found = []

    def solve() -> None:
        session = open_session(solver)
        session.load(program)
        found.append(session.minimise(cost, Targets()).bound)
        session.close()

    thread = threading.Thread(target=solve)
    thread.start()
    thread.join()
    assert found == [pytest.approx(optimum(program, cost)[0], abs=2e-5)]


SCRIPT = """
import json, os, signal, sys, threading
from pathlib import Path
import milp_verix
from tests.support.unsolvable_problems import HARD_OPTIONS, HARD_X, hard_network

timers = []

def ctrl_c_during_the_third_check(progress):
    if progress.done == 2 and not timers:
        timers.append(1)
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()

explanation = milp_verix.explain(
    hard_network(Path(sys.argv[1])), HARD_X, solver=sys.argv[2], order="sequential",
    traversal="sequential", features=[[0], [1], list(range(2, 20))],
    progress=ctrl_c_during_the_third_check, **HARD_OPTIONS,
)
print(json.dumps([explanation.statistics.stopped, explanation.statistics.checks,
                  explanation.explanation, explanation.irrelevant, explanation.unknown]))
"""


@pytest.mark.slow
@each_solver
def test_ctrl_c_during_a_check_gives_the_explanation_so_far(solver: str, tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), solver],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'encodings'}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert finished.returncode == 0, finished.stderr
    stopped, checks, explanation, irrelevant, unknown = json.loads(finished.stdout.splitlines()[-1])
    assert stopped == "interrupted"
    assert checks == 2
    assert unknown == [2]
    assert 2 in explanation
    assert sorted(explanation + irrelevant) == [0, 1, 2]
