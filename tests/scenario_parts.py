"""Scenarios, covers and orders over a few features, and which sets satisfy them all."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

from milp_verix.global_search.pricing.perturbation_set import Perturbations, perturbations_of
from milp_verix.problem.problem import make_problem
from tests.networks import dense_network, random_layers
from tests.onnx_models import FLOAT
from verix_encodings import crown_bounds
from verix_encodings.arrays import FloatArray, dense
from verix_encodings.models.scenario import (
    Cover,
    PairedRelus,
    Part,
    Precedence,
    Scenario,
    ScenarioProgram,
    make_scenario,
)
from verix_encodings.program.program import Program

COUNT = 7


def drawn_perturbations(rng: np.random.Generator, tmp_path: Path) -> Perturbations:
    """Return the ball around a random input of a small random network."""
    hidden = ((5,), (4, 3))[int(rng.integers(2))]
    net = dense_network(random_layers(rng, (COUNT, *hidden, 3), FLOAT), tmp_path)
    x = rng.random(COUNT).astype(np.float32)
    return perturbations_of(make_problem(net, x, epsilon=float(rng.uniform(0.2, 0.8))))


def drawn_parts(rng: np.random.Generator, p: Perturbations) -> list[Part]:
    """Return four scenarios at corners of the ball, a cover somewhere among them, and an order."""
    ends = [np.where(rng.random(p.lower.size) < 0.5, p.lower, p.upper) for _ in range(4)]
    parts: list[Part] = [
        make_scenario(p.margins, p.centre, delta, p.feature_of, features=COUNT, method=crown_bounds)
        for delta in ends
    ]
    order = rng.permutation(COUNT)
    parts.insert(int(rng.integers(5)), Cover(order[:3]))
    parts.append(Precedence(order[2:3], order[3:4]))
    return parts


def allows(part: Part, taken: FloatArray) -> bool:
    """Return whether the features ``taken``, by their shares 0 or 1, satisfy ``part``."""
    if isinstance(part, Scenario):
        return bool(np.max(part.network.evaluate(taken)) <= 0)
    if isinstance(part, Cover):
        return bool(taken[part.features].any())
    if isinstance(part, Precedence):
        return bool(np.all(taken[part.before] >= taken[part.after]))
    # paired ReLUs follow of the others
    return isinstance(part, PairedRelus) or bool(part.costs @ taken <= part.limit)


def of_interest(parts: list[Part], features: int = COUNT) -> list[FloatArray]:
    """Return the sets that satisfy all ``parts``, by enumeration."""
    sets = [np.array(bits, dtype=float) for bits in product((0, 1), repeat=features)]
    return [taken for taken in sets if all(allows(part, taken) for part in parts)]


def grown(parts: Sequence[Part], features: int = COUNT) -> ScenarioProgram:
    """Return the program of ``parts``."""
    growing = ScenarioProgram(np.zeros(features), np.ones(features))
    for part in parts:
        growing.add(part)
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
