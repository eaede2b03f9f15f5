"""Rows given as differences: the same program, the same proofs, and fewer entries."""

import numpy as np
import pytest

from milp_verix.base.clock import NO_LIMIT
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers import SolveStatus, warm_lp as row_differences
from milp_verix.solvers.session import Interrupt
from milp_verix.solvers.warm_lp import WarmLp, absolute, references, relative
from verix_encodings.arrays import FloatArray
from verix_encodings.program import Program, ProgramBuilder
from verix_encodings.safe_bounds import SafeBound

_SHARES = 12
_LAYERS = 5
_NEURONS = 3


@pytest.fixture(autouse=True)
def _all_rows_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_differences, "_LONG", 2)


def _layers(rng: np.random.Generator, layers: int = _LAYERS) -> list[FloatArray]:
    """Return matrices that differ in few columns, as those of scenarios do."""
    found = [rng.normal(size=(_NEURONS, _SHARES))]
    for _ in range(layers - 1):
        found.append(found[-1] * np.where(rng.random(_SHARES) < 0.2, -0.5, 1.0))
    return found


def _program(layers: list[FloatArray], demand: float) -> Program:
    """Return shares that let every layer's neurons be ``demand`` at least."""
    builder = ProgramBuilder()
    shares = builder.add_columns("A", np.arange(_SHARES), 0.0, 1.0)
    neurons = np.arange(_NEURONS)
    for number, matrix in enumerate(layers):
        z = builder.add_columns(f"z_{number}", neurons, -50.0, 50.0)
        terms = [(matrix, shares), (-np.eye(_NEURONS), z)]
        builder.add_rows(f"define_{number}", neurons, terms, 0.1 * number, 0.1 * number)
        builder.add_rows(f"demand_{number}", neurons, [(np.eye(_NEURONS), z)], demand, np.inf)
    return builder.build()


def _cost(program: Program) -> FloatArray:
    cost = np.zeros(program.columns)
    cost[:_SHARES] = 1.0
    return cost


def _ends(program: Program) -> tuple[FloatArray, FloatArray]:
    return program.column_lower, program.column_upper


def _refers(program: Program) -> int:
    return int(np.count_nonzero(references(program) >= 0))


@pytest.mark.parametrize("seed", range(20))
def test_rows_refer_to_equalities_before_them_and_have_fewer_entries(seed: int) -> None:
    program = _program(_layers(np.random.default_rng(seed)), 0.2)
    found = references(program)
    rows = np.flatnonzero(found >= 0)
    assert rows.size >= _NEURONS * (_LAYERS - 2)
    assert np.all(found[rows] < rows)
    for number in (*rows, *found[rows]):
        assert program.row_lower[number] == program.row_upper[number]
    shorter = relative(program, found)
    before, after = (np.diff(some.matrix.indptr)[rows] for some in (program, shorter))
    assert np.all(after < before)
    # what the rows say is the same: any point leaves the same differences to both sides
    point = np.random.default_rng([seed, 1]).normal(size=program.columns)
    gap = [some.matrix @ point - some.row_lower for some in (program, shorter)]
    assert gap[1][rows] == pytest.approx(gap[0][rows] - gap[0][found[rows]], abs=1e-12)
    others = np.flatnonzero(found < 0)
    assert gap[1][others] == pytest.approx(gap[0][others], abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_multipliers_of_differences_become_those_of_rows(seed: int) -> None:
    rng = np.random.default_rng([seed, 2])
    program = _program(_layers(rng), 0.2)
    found = references(program)
    y = rng.normal(size=program.rows)
    shorter, mine = relative(program, found), absolute(y, found)
    assert mine @ program.matrix == pytest.approx(y @ shorter.matrix, abs=1e-12)
    equal = program.row_lower == program.row_upper
    sides = [some.row_lower[equal] for some in (program, shorter)]
    assert mine[equal] @ sides[0] == pytest.approx(y[equal] @ sides[1], abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_optima_and_proofs_are_the_same(seed: int) -> None:
    rng = np.random.default_rng([seed, 3])
    layers = _layers(rng)
    solved, unbounded = 0, []
    for demand in (-1.0, 0.2, 40.0):
        first, whole = _program(layers[:2], demand), _program(layers, demand)
        ends = []
        for similar in (False, True):
            lp = WarmLp(1, Tolerances(), similar_rows=similar)
            lp.load(first)
            lp.set_cost(_cost(first))
            lp.solve(np.inf, NO_LIMIT, Interrupt())
            # what joins refers to rows that there are already
            lp.extend(whole)
            lp.set_cost(_cost(whole))
            result = lp.solve(np.inf, NO_LIMIT, Interrupt())
            assert result.multipliers is not None
            safe = SafeBound(whole)
            if result.status is SolveStatus.OPTIMAL:
                bound = safe.lower(_cost(whole), result.multipliers, 0.0, _ends(whole))
                assert result.point is not None
                assert bound == pytest.approx(_cost(whole) @ result.point, abs=1e-6)
                solved += 1
            else:
                assert result.status is SolveStatus.INFEASIBLE
                nothing = np.zeros(whole.columns)
                signs = (result.multipliers, -result.multipliers)
                bound = max(safe.lower(nothing, y, 0.0, _ends(whole)) for y in signs)
                assert bound > 0
                unbounded.append(bound)
                bound = np.inf
            ends.append(bound)
            lp.close()
        assert ends[0] == pytest.approx(ends[1], abs=1e-6)
    # what no shares can do is asked for, too
    assert unbounded
    assert solved


def test_references_of_rows_known_stay() -> None:
    layers = _layers(np.random.default_rng(4))
    first = references(_program(layers[:3], 0.2))
    whole = _program(layers, 0.2)
    known = first.copy()
    known[known >= 0] = -1
    assert np.array_equal(references(whole, first)[: first.size], first)
    assert np.all(references(whole, known)[: first.size] == -1)
    assert np.any(references(whole, known)[first.size :] >= 0)


@pytest.mark.parametrize(("setting", "value"), [("_LONG", 100), ("_MOST_ENTRIES", 100)])
def test_short_rows_and_large_programs_stay_as_they_are(
    setting: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = _program(_layers(np.random.default_rng(5)), 0.2)
    assert _refers(program) > 0
    monkeypatch.setattr(row_differences, setting, value)
    assert _refers(program) == 0
    assert relative(program, references(program)) is program


def test_rows_that_have_little_in_common_stay_as_they_are() -> None:
    rng = np.random.default_rng(6)
    program = _program([rng.normal(size=(_NEURONS, _SHARES)) for _ in range(_LAYERS)], 0.2)
    assert _refers(program) == 0
