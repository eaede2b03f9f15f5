"""Scenarios that are alike, and whether sets of features satisfy their programs."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from milp_verix.global_search.pricing.perturbation_set import Perturbations
from tests.support.scenario_cases import COUNT, drawn_perturbations
from verix_encodings import crown_bounds
from verix_encodings.arrays import FloatArray
from verix_encodings.models.constraints import Constraint, CostLimit, Cover, PairedRelus, Scenario
from verix_encodings.models.scenario import make_scenario
from verix_encodings.network.nodes import Relu
from verix_encodings.program.program import Program

SLACK = 1e-9


def similar_constraints(
    rng: np.random.Generator, p: Perturbations, count: int = COUNT
) -> list[Constraint]:
    """Return a cover, and scenarios near one another."""
    corner = np.where(rng.random(p.lower.size) < 0.5, p.lower, p.upper)
    constraints: list[Constraint] = [Cover(rng.permutation(count)[:3])]
    for _ in range(4):
        less = np.where(rng.random(corner.size) < 0.4, rng.uniform(0, 1, corner.size), 1.0)
        constraints.append(
            make_scenario(
                p.margins,
                p.centre,
                corner * less,
                p.feature_of,
                features=count,
                method=crown_bounds,
            )
        )
    return constraints


def drawn_similar(
    seed: int, tmp_path: Path
) -> tuple[list[Constraint], np.random.Generator, Perturbations]:
    rng = np.random.default_rng([seed, 41])
    p = drawn_perturbations(rng, tmp_path)
    limit = float(rng.integers(3, COUNT + 1))
    return [CostLimit(np.ones(COUNT), limit), *similar_constraints(rng, p)], rng, p


def arguments(constraint: Constraint, node: int, taken: FloatArray) -> FloatArray:
    """Return what the ReLU ``node`` of a scenario takes at ``taken``."""
    assert isinstance(constraint, Scenario)
    relu = constraint.network.nodes[node]
    assert isinstance(relu, Relu)
    return constraint.network.values(taken)[relu.source]


def point(program: Program, constraints: Sequence[Constraint], taken: FloatArray) -> FloatArray:
    """Return the column values that the networks of ``constraints`` have at ``taken``."""
    blocks = [np.zeros(0)]
    for prefix, numbers in program.column_labels:
        kind, _, name = prefix.partition("_")
        if kind == "A":
            blocks.append(taken[numbers])
            continue
        number, node = map(int, name.split("_"))
        z = arguments(constraints[number], node, taken)[numbers]
        blocks.append({"z": z, "a": np.maximum(z, 0.0), "d": (z > 0).astype(float)}[kind])
    return np.concatenate(blocks)


def assert_inside(program: Program, point: FloatArray) -> None:
    reached = program.matrix @ point
    assert np.all(reached >= program.row_lower - SLACK)
    assert np.all(reached <= program.row_upper + SLACK)
    assert np.all(point >= program.column_lower - SLACK)
    assert np.all(point <= program.column_upper + SLACK)


def differences(
    constraints: Sequence[Constraint], paired: PairedRelus, taken: FloatArray
) -> FloatArray:
    one, other = (arguments(constraints[n], paired.node, taken) for n in (paired.of, paired.beside))
    difference: FloatArray = (one - other)[paired.neurons]
    return difference


def assert_apart(
    constraints: Sequence[Constraint], found: list[PairedRelus], sets: list[FloatArray]
) -> None:
    for paired in found:
        for taken in sets:
            difference = differences(constraints, paired, taken)
            assert np.all(difference >= paired.apart.lower - SLACK)
            assert np.all(difference <= paired.apart.upper + SLACK)
