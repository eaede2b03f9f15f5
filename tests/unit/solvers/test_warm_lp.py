"""A live linear program: what takes long can be stopped, and ends where a short solve does."""

import numpy as np
import pytest

from milp_verix.base.clock import NO_LIMIT, deadline_in
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers import SolveStatus, warm_lp as live_lp
from milp_verix.solvers.session import Interrupt
from milp_verix.solvers.warm_lp import WarmLp
from verix_encodings.program import Program, ProgramBuilder

COLUMNS = 30


def covering(rng: np.random.Generator) -> Program:
    builder = ProgramBuilder()
    v = builder.add_columns("v", np.arange(COLUMNS), 0.0, 1.0)
    rows = rng.random((20, COLUMNS)) * (rng.random((20, COLUMNS)) < 0.5)
    builder.add_rows("row", np.arange(20), [(rows, v)], 0.3 * rows.sum(axis=1), np.inf)
    return builder.build()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("setting", ["_SHORT", "_MOST_WORK"])
def test_a_long_solve_ends_where_a_short_one_does(
    seed: int, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    program, cost = covering(rng), rng.random(COLUMNS) + 0.1
    ends, needed = [], 0
    for stopped in (False, True):
        if stopped:
            # all iterations but the last one unasked
            entries = program.matrix.nnz if setting == "_MOST_WORK" else 1
            monkeypatch.setattr(live_lp, setting, (needed - 1) * entries)
        lp = WarmLp(1, Tolerances())
        lp.load(program)
        lp.set_cost(cost)
        result = lp.solve(np.inf, NO_LIMIT, Interrupt())
        assert result.status is SolveStatus.OPTIMAL
        assert result.point is not None
        assert result.iterations >= max(needed, 4)
        needed = result.iterations
        ends.append(float(cost @ result.point))
        # a second solve begins at the last basis, however that was reached
        assert lp.solve(np.inf, NO_LIMIT, Interrupt()).iterations == 0
        lp.close()
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)


@pytest.mark.parametrize("pressed", [True, False])
def test_a_long_solve_stops_when_asked(pressed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    monkeypatch.setattr(live_lp, "_SHORT", 3)
    lp = WarmLp(1, Tolerances())
    lp.load(covering(rng))
    lp.set_cost(rng.random(COLUMNS) + 0.1)
    deadline = NO_LIMIT if pressed else deadline_in(0.0)
    result = lp.solve(np.inf, deadline, Interrupt(pending=pressed))
    assert result.status is SolveStatus.TIME_LIMIT
    # and it may be asked to go on
    assert lp.solve(np.inf, NO_LIMIT, Interrupt()).status is SolveStatus.OPTIMAL
    lp.close()
