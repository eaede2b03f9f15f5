"""Sessions in several processes at once, and one session in a process and its fork."""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from milp_verix.solvers import Targets, open_session
from tests.support.installed_solvers import needs, why_not
from tests.support.random_networks import cube, network_of, random_layers
from tests.support.scipy_reference import optimum, over
from verix_encodings import Program


def program() -> Program:
    layers = random_layers(np.random.default_rng(0), (3, 5, 3, 2))
    return over(network_of(layers), cube(3)).program


def costs(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=program().columns) for _ in range(4)]


def bounds_by(solver: str, seed: int) -> list[float]:
    session = open_session(solver)
    session.load(program())
    found = [session.minimise(cost, Targets()).bound for cost in costs(seed)]
    session.close()
    return found


def best(seed: int) -> list[float]:
    return [optimum(program(), cost)[0] for cost in costs(seed)]


@pytest.mark.slow
def test_solvers_run_in_several_processes_at_once() -> None:
    solvers = [name for name in ("highs", "cbc", "scip", "pulp") if why_not(name) is None]
    tasks = [(solver, seed) for seed in (0, 1) for solver in solvers]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(bounds_by, *zip(*tasks, strict=True)))
    for (solver, seed), bounds in zip(tasks, found, strict=True):
        assert bounds == pytest.approx(best(seed), rel=2e-5, abs=2e-5), solver


@pytest.mark.parametrize(
    "solver", [pytest.param(name, marks=needs(name)) for name in ("cbc", "scip", "pulp")]
)
def test_a_process_and_its_fork_share_a_session_and_no_files(solver: str) -> None:
    session = open_session(solver)
    session.load(program())
    session.minimise(costs(0)[0], Targets())
    read, write = os.pipe()
    child = os.fork()
    # both solve at once, each its own costs, a few times
    mine = costs(1 if child == 0 else 2) * 3
    found = [session.minimise(cost, Targets()).bound for cost in mine]
    session.close()
    if child == 0:
        right = found == pytest.approx(best(1) * 3, rel=2e-5, abs=2e-5)
        os.write(write, b"right" if right else b"wrong")
        os._exit(0)
    os.close(write)
    said = os.read(read, 10)
    os.waitpid(child, 0)
    os.close(read)
    assert said == b"right"
    assert found == pytest.approx(best(2) * 3, rel=2e-5, abs=2e-5)
