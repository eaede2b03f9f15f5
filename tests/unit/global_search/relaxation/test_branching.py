"""Which phase a node is split at: what its rows want of it, and what it does to the margins."""

from pathlib import Path

import numpy as np
import pytest

from milp_verix.global_search.relaxation.constraint_pool import VIOLATED, ConstraintPool
from milp_verix.global_search.relaxation.margin_slopes import margin_slopes
from milp_verix.global_search.relaxation.phase_choice import PhaseChoice
from milp_verix.solvers import SolveStatus
from milp_verix.solvers.phase.warm_lp import LpResult
from tests.support.scenario_cases import COUNT, drawn_constraints, drawn_perturbations, grown
from verix_encodings.arrays import FloatArray
from verix_encodings.models.constraints import Scenario
from verix_encodings.network.network import Network
from verix_encodings.network.nodes import Affine
from verix_encodings.program.program import Program


def _wanted(
    program: Program, phase: int, point: FloatArray, duals: FloatArray
) -> tuple[float, float]:
    """Return how wrong a phase is, and what the bound gains by its being right, row by row."""
    matrix = program.matrix.toarray()
    low, high, size, worth = 0.0, 1.0, 0.0, 0.0
    for row in np.flatnonzero(matrix[:, phase]):
        factor = matrix[row, phase]
        others = matrix[row] @ point - factor * point[phase]
        ends = sorted(
            (end - others) / factor for end in (program.row_lower[row], program.row_upper[row])
        )
        low, high = max(low, ends[0]), min(high, ends[1])
        size, worth = max(size, abs(factor)), worth + abs(factor * duals[row])
    distance = max(min(low, 1.0 - high), 0.0)
    return distance * size, distance * worth + 1e-3 * distance * size


@pytest.mark.parametrize("seed", range(30))
def test_the_phase_is_the_one_that_is_worth_most(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    growing = grown(drawn_constraints(rng, drawn_perturbations(rng, tmp_path)))
    program, table = growing.build(), growing.phases()
    choice = PhaseChoice(program, growing.columns, table)
    assert np.array_equal(choice.columns, np.sort(table.phase))
    for _ in range(10):
        point = rng.uniform(program.column_lower, program.column_upper)
        duals = rng.normal(size=program.rows) * (rng.random(program.rows) < 0.5)
        slopes = rng.normal(size=table.phase.size)
        fixed = rng.permutation(table.phase)[: int(rng.integers(table.phase.size + 1))]
        measures = {}
        for number, phase in enumerate(table.phase.tolist()):
            wrong, gain = _wanted(program, phase, point, duals)
            if phase in fixed or wrong <= 1e-8:
                continue
            z, a = point[table.argument[number]], point[table.activation[number]]
            lowered = max(-slopes[number], 0.0) * max(a - max(z, 0.0), 0.0)
            measures[phase] = np.sqrt(gain * lowered), gain
        which = 0 if any(both for both, _ in measures.values()) else 1
        expected = max(measures, key=lambda p: measures[p][which], default=None)
        result = LpResult(SolveStatus.OPTIMAL, point, duals, 0, "")
        assert choice.worst(result, fixed, slopes) == expected


def _output(network: Network, values: list[FloatArray], changed: int) -> FloatArray:
    """Return the output where the value numbered ``changed`` is what ``values`` says."""
    values = list(values)
    for value in range(changed + 1, len(values)):
        node = network.nodes[value - 1]
        if isinstance(node, Affine):
            values[value] = sum((m @ values[s] for s, m in node.terms), node.bias)
        else:
            values[value] = np.maximum(values[node.sources[0]], 0.0)
    return values[-1]


def test_slopes_are_those_of_the_worst_margin(tmp_path: Path) -> None:
    compared = others = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        p = drawn_perturbations(rng, tmp_path)
        constraints, pool = drawn_constraints(rng, p), ConstraintPool(p)
        held = {n for n in pool.add(constraints) if rng.random() < 0.8}
        table, selection = grown(constraints).phases(), 0.3 * rng.random(COUNT)
        there = pool.reached(selection)
        slopes = margin_slopes(pool, held, there, table, table.constraint)
        place = {int(constraint): k for k, constraint in enumerate(pool.scenarios)}
        worst = there[-1].max(axis=0)
        asked = [n in held and worst[place[n]] > VIOLATED for n in place]
        if slopes is None:
            assert not any(asked)
            continue
        assert any(asked)
        for number in range(table.phase.size):
            constraint, node = int(table.constraint[number]), int(table.node[number])
            k = place[constraint]
            if constraint not in held or worst[k] <= VIOLATED:
                assert slopes[number] == 0.0
                others += 1
                continue
            scenario = pool.constraints[constraint]
            assert isinstance(scenario, Scenario)
            value = node + 1 - (len(scenario.network.nodes) - len(p.margins.nodes))
            values, step = [v[:, k] for v in there], 1e-7
            margin = int(np.argmax(values[-1]))
            values[value] = values[value].copy()
            values[value][table.neuron[number]] += step
            moved = _output(p.margins, values, value)[margin]
            assert slopes[number] == pytest.approx((moved - worst[k]) / step, abs=1e-5)
            compared += 1
    assert compared > 100
    assert others > 20
