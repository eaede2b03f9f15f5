"""A search that runs out of time goes on where it stopped, and proves what a whole one proves."""

import numpy as np
import pytest
from numpy.typing import NDArray

from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers import SolveResult, SolveStatus, Targets
from milp_verix.solvers.backends.phase import PhaseSession
from tests.support.random_networks import cube, network_of, random_layers
from tests.support.scipy_reference import optimum, over
from verix_encodings import Program
from verix_encodings.safe_bounds import certified_bound


def drawn(seed: int) -> tuple[Program, NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    encoding = over(network_of(random_layers(rng, (3, 6, 5, 2))), cube(3))
    row, _ = encoding.output.row(0, encoding.program.columns)
    return encoding.program, -row


def in_slices(
    session: PhaseSession, cost: NDArray[np.float64], goal: float, work: float
) -> list[SolveResult]:
    """Ask again and again, a few nodes each time, until there is an end."""
    found = []
    while not found or found[-1].status is SolveStatus.TIME_LIMIT:
        targets = Targets(work=work, holds_above=goal, certify=True)
        found.append(session.minimise(cost, targets))
        assert len(found) < 1000
    return found


@pytest.mark.parametrize("way", ["optimum", "target"])
@pytest.mark.parametrize("seed", range(6))
def test_slices_of_a_search_are_the_search(
    seed: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, cost = drawn(seed)
    best = optimum(program, cost)[0]
    goal = np.inf if way == "optimum" else best - 0.05
    whole = PhaseSession(1, Tolerances())
    whole.load(program)
    at_once = whole.minimise(cost, Targets(holds_above=goal))
    parts = PhaseSession(1, Tolerances())
    parts.load(program)
    # what is spent on a node, even without an iteration
    one = 200_000
    found = in_slices(parts, cost, goal, 3 * one)
    assert len(found) > 1
    # no node is expanded twice, but for the one at which the time ran out
    assert sum(result.nodes for result in found) <= at_once.nodes + len(found)
    assert all(0 <= result.nodes <= 4 for result in found)
    bounds = [result.bound for result in found]
    assert bounds == sorted(bounds)
    assert all(bound <= best + 1e-9 for bound in bounds)
    assert found[-1].status is at_once.status
    certificate = found[-1].certificate
    assert certificate is not None
    assert certified_bound(program, cost, certificate) >= min(goal, best) - 1e-6
    # another question begins anew
    other = in_slices(parts, -cost, np.inf, 1e9)
    assert len(other) == 1
    assert other[0].bound == pytest.approx(optimum(program, -cost)[0], abs=1e-6)


def test_a_changed_program_is_searched_from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    program, cost = drawn(0)
    session = PhaseSession(1, Tolerances())
    session.load(program)
    assert session.minimise(cost, Targets(work=600_000)).status is SolveStatus.TIME_LIMIT
    fixed = np.flatnonzero(~program.integer)[:1]
    value = program.column_lower[fixed]
    session.set_bounds(fixed, value, value)
    (result,) = in_slices(session, cost, np.inf, 1e9)
    changed = program.with_bounds(fixed, value, value)
    assert result.bound == pytest.approx(optimum(changed, cost)[0], abs=1e-6)
