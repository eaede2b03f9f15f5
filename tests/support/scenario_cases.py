"""Scenarios and covers over a few features, and the sets that satisfy them."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

from milp_verix import Problem
from milp_verix.oracle.attacks import PerturbationSet, perturbation_set
from milp_verix.searches.minimum.branch_and_cut import Restriction
from tests.support.onnx_models import FLOAT
from tests.support.random_networks import dense_network, random_layers
from verix_encodings import crown_bounds
from verix_encodings.arrays import FloatArray, dense
from verix_encodings.encoding import Constraint, Cover, Scenario
from verix_encodings.program import Program
from verix_encodings.scenario import ScenarioProgram, make_scenario

COUNT = 7
SLACK = 1e-9


def drawn_perturbations(rng: np.random.Generator, tmp_path: Path) -> PerturbationSet:
    """Return the ball around a random input of a small random network."""
    hidden = ((5,), (4, 3))[int(rng.integers(2))]
    net = dense_network(random_layers(rng, (COUNT, *hidden, 3), FLOAT), tmp_path)
    x = rng.random(COUNT).astype(np.float32)
    return perturbation_set(Problem(net, x, epsilon=float(rng.uniform(0.2, 0.8))))


def drawn_constraints(
    rng: np.random.Generator, p: PerturbationSet, most: float = np.inf
) -> list[Constraint]:
    """Return four scenarios at corners of the ball, and a cover somewhere among them.

    They are for sets of at most ``most`` features.
    """
    ends = [
        np.where(rng.random(p.moves.box.lower.size) < 0.5, p.moves.box.lower, p.moves.box.upper)
        for _ in range(4)
    ]
    constraints: list[Constraint] = [
        make_scenario(
            *(p.margins, p.centre, delta, p.feature_of),
            features=COUNT,
            method=crown_bounds,
            most=most,
        )
        for delta in ends
    ]
    constraints.insert(int(rng.integers(5)), Cover(rng.permutation(COUNT)[:3]))
    return constraints


def full_selection(restriction: Restriction, selection: FloatArray) -> FloatArray:
    """Extend a selection of the free features to all features."""
    result = restriction.fixed_in.astype(np.float64)
    result[restriction.free] = selection
    return result


def allows(constraint: Constraint, taken: FloatArray) -> bool:
    """Return whether the features ``taken``, by their shares 0 or 1, satisfy ``constraint``."""
    if isinstance(constraint, Scenario):
        return bool(np.max(constraint.network.evaluate(taken)) <= 0)
    if isinstance(constraint, Cover):
        return bool(taken[constraint.features].any())
    return bool(constraint.costs @ taken <= constraint.limit)


def of_interest(constraints: list[Constraint], features: int = COUNT) -> list[FloatArray]:
    """Return the sets that satisfy all ``constraints``, by enumeration."""
    sets = [np.array(bits, dtype=float) for bits in product((0, 1), repeat=features)]
    return [taken for taken in sets if all(allows(constraint, taken) for constraint in constraints)]


def grown(constraints: Sequence[Constraint], features: int = COUNT) -> ScenarioProgram:
    """Return the program of ``constraints``."""
    growing = ScenarioProgram(np.zeros(features), np.ones(features))
    for constraint in constraints:
        growing.add(constraint)
    return growing


def least_cost(program: Program, cost: FloatArray) -> float:
    """Return the least cost over the relaxation of ``program``, infinite where it has no point."""
    matrix, low, high = dense(program.matrix), program.row_lower, program.row_upper
    rows = np.vstack([matrix[high < np.inf], -matrix[low > -np.inf]])
    sides = np.concatenate([high[high < np.inf], -low[low > -np.inf]])
    ends = np.column_stack([program.column_lower, program.column_upper])
    result = linprog(cost, A_ub=rows, b_ub=sides, bounds=ends)
    assert result.status in (0, 2)
    return float(result.fun) if result.status == 0 else np.inf


def point(program: Program, constraints: Sequence[Constraint], taken: FloatArray) -> FloatArray:
    """Return the column values that the networks of ``constraints`` have at ``taken``."""
    blocks = [np.zeros(0)]
    for prefix, numbers in program.column_labels:
        kind, _, name = prefix.partition("_")
        if kind == "A":
            blocks.append(taken[numbers])
            continue
        number, node = map(int, name.split("_"))
        scenario = constraints[number]
        assert isinstance(scenario, Scenario)
        z = scenario.network.values(taken)[scenario.network.nodes[node].sources[0]][numbers]
        blocks.append({"z": z, "a": np.maximum(z, 0.0), "d": (z > 0).astype(float)}[kind])
    return np.concatenate(blocks)


def assert_inside(program: Program, point: FloatArray) -> None:
    reached = program.matrix @ point
    assert np.all(reached >= program.row_lower - SLACK)
    assert np.all(reached <= program.row_upper + SLACK)
    assert np.all(point >= program.column_lower - SLACK)
    assert np.all(point <= program.column_upper + SLACK)
