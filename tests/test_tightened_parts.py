"""What scenarios' neurons are bounded by holds for every set of interest."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from milp_verix.part_pool import PartPool
from milp_verix.perturbations import Perturbations, perturbations_of
from milp_verix.problem import make_problem
from milp_verix.scenario_relaxation import Relaxation
from milp_verix.solvers.live_lp import LiveLp
from milp_verix.tightened_parts import tightened
from milp_verix.tolerances import Tolerances
from milp_verix.wishes import make_wishes
from tests.networks import dense_network, random_layers
from tests.onnx_models import FLOAT
from verix_encodings import crown_bounds
from verix_encodings.arrays import FloatArray, dense
from verix_encodings.network import Relu
from verix_encodings.scenario import (
    Budget,
    Cover,
    Part,
    Precedence,
    Scenario,
    ScenarioProgram,
    make_scenario,
)

_COUNT = 7
_SLACK = 1e-9


def _perturbations(rng: np.random.Generator, tmp_path: Path) -> Perturbations:
    hidden = ((5,), (4, 3))[int(rng.integers(2))]
    net = dense_network(random_layers(rng, (_COUNT, *hidden, 3), FLOAT), tmp_path)
    x = rng.random(_COUNT).astype(np.float32)
    return perturbations_of(make_problem(net, x, epsilon=float(rng.uniform(0.2, 0.8))))


def _parts(rng: np.random.Generator, p: Perturbations) -> list[Part]:
    ends = [np.where(rng.random(p.lower.size) < 0.5, p.lower, p.upper) for _ in range(4)]
    parts: list[Part] = [
        make_scenario(
            p.margins, p.centre, delta, p.feature_of, features=_COUNT, method=crown_bounds
        )
        for delta in ends
    ]
    order = rng.permutation(_COUNT)
    parts.insert(int(rng.integers(5)), Cover(order[:3]))
    parts.append(Precedence(order[2:3], order[3:4]))
    return parts


def _allows(part: Part, taken: FloatArray) -> bool:
    if isinstance(part, Scenario):
        return bool(np.max(part.network.evaluate(taken)) <= 0)
    if isinstance(part, Cover):
        return bool(taken[part.features].any())
    if isinstance(part, Precedence):
        return bool(np.all(taken[part.before] >= taken[part.after]))
    return bool(part.costs @ taken <= part.limit)


def _of_interest(parts: list[Part]) -> list[FloatArray]:
    sets = [np.array(bits, dtype=float) for bits in product((0, 1), repeat=_COUNT)]
    return [taken for taken in sets if all(_allows(part, taken) for part in parts)]


def _assert_bounded(parts: list[Part], sets: list[FloatArray]) -> None:
    for part in parts:
        if isinstance(part, Scenario):
            for taken in sets:
                values = part.network.values(taken)
                for value, interval in zip(values, part.bounds, strict=True):
                    assert np.all(value >= interval.lower - _SLACK)
                    assert np.all(value <= interval.upper + _SLACK)


def _width(parts: list[Part]) -> float:
    """Return how far the arguments of ReLUs can be from each other, where both signs are."""
    return sum(
        float(np.sum((bounds.upper - bounds.lower)[(bounds.lower < 0) & (bounds.upper > 0)]))
        for part in parts
        if isinstance(part, Scenario)
        for node in part.network.nodes
        if isinstance(node, Relu)
        for bounds in [part.bounds[node.source]]
    )


def _grown(parts: Sequence[Part]) -> ScenarioProgram:
    growing = ScenarioProgram(np.zeros(_COUNT), np.ones(_COUNT))
    for part in parts:
        growing.add(part)
    return growing


@pytest.mark.parametrize("seed", range(40))
def test_any_core_bounds_every_set_within_the_budget(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([seed, 31])
    costs = rng.integers(1, 5, _COUNT).astype(float)
    budget = Budget(costs, float(np.ceil(costs.sum() * rng.uniform(0.4, 0.9))))
    parts = [budget, *_parts(rng, _perturbations(rng, tmp_path))]
    sets = _of_interest(parts)
    lp = LiveLp(1, Tolerances())
    for core in ({0}, {0, *rng.permutation(len(parts))[:3].tolist()}, set(range(len(parts)))):
        tight = tightened(parts, core, _grown, lp, np.inf)
        _assert_bounded(tight, sets)
        assert _width(tight) <= _width(parts) + _SLACK
        for before, after in zip(parts, tight, strict=True):
            assert isinstance(before, Scenario) or after is before
    assert tightened(parts, {0}, _grown, lp, -np.inf)[0] is budget
    assert _width(tightened(parts, {0}, _grown, lp, -np.inf)) == _width(parts)
    lp.close()


@pytest.mark.parametrize("seed", range(20))
def test_the_first_bounds_are_those_of_another_solver(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([seed, 32])
    budget = Budget(np.ones(_COUNT), 4.0)
    parts = [budget, *_parts(rng, _perturbations(rng, tmp_path))]
    first = next(n for n, part in enumerate(parts) if isinstance(part, Scenario))
    growing = _grown(parts)
    program = growing.build()
    matrix, low, high = dense(program.matrix), program.row_lower, program.row_upper
    rows = np.vstack([matrix[high < np.inf], -matrix[low > -np.inf]])
    sides = np.concatenate([high[high < np.inf], -low[low > -np.inf]])
    ends = np.column_stack([program.column_lower, program.column_upper])
    lp = LiveLp(1, Tolerances())
    tight = tightened(parts, set(range(len(parts))), _grown, lp, np.inf)[first]
    lp.close()
    before = parts[first]
    assert isinstance(before, Scenario)
    assert isinstance(tight, Scenario)
    value, z = growing.arguments[first][0]
    known, now = before.bounds[value], tight.bounds[value]
    for i in np.flatnonzero((known.lower < 0) & (known.upper > 0)).tolist():
        cost, constant = z.row(i, program.columns)
        # what is near a point that is known is not asked for
        near = 0.05 * (known.upper[i] - known.lower[i]) + 1e-6
        for sign, mine in ((1.0, now.lower[i]), (-1.0, -now.upper[i])):
            found = linprog(sign * cost, A_ub=rows, b_ub=sides, bounds=ends)
            if found.status == 2:
                # nothing is cheaper than the budget: any bound holds
                continue
            least = found.fun + sign * constant
            assert mine <= least + 1e-6
            assert mine >= min(least, -1e-7) - near


@pytest.mark.parametrize("seed", range(30))
def test_a_relaxation_keeps_what_is_cheap_enough(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([seed, 33])
    p = _perturbations(rng, tmp_path)
    parts = _parts(rng, p)
    wishes = make_wishes(_COUNT, None, (), ())
    pool = PartPool(p)
    relaxation = Relaxation(LiveLp(1, Tolerances()), pool, wishes)
    relaxation.extend(parts)
    enough = float(rng.integers(3, _COUNT)) + 0.5
    sets = _of_interest([Budget(np.ones(_COUNT), enough), *parts])
    relaxation.tighten(enough, np.inf)
    assert not relaxation.loose(enough)
    _assert_bounded(pool.parts, sets)
    nothing = np.zeros(0, dtype=np.intp), np.zeros(0)
    least = min((float(taken.sum()) for taken in sets), default=np.inf)
    assert relaxation.solve(nothing, np.inf, np.inf).bound <= least + 1e-6
    relaxation.close()


def test_there_is_something_to_bound_and_bounds_move(tmp_path: Path) -> None:
    with_sets, moved = 0, 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 31])
        costs = rng.integers(1, 5, _COUNT).astype(float)
        budget = Budget(costs, float(np.ceil(costs.sum() * rng.uniform(0.4, 0.9))))
        parts = [budget, *_parts(rng, _perturbations(rng, tmp_path))]
        lp = LiveLp(1, Tolerances())
        tight = tightened(parts, {0, 1, 2}, _grown, lp, np.inf)
        lp.close()
        with_sets += bool(_of_interest(parts))
        moved += bool(_of_interest(parts)) and _width(tight) < 0.95 * _width(parts)
    assert with_sets >= 15
    assert moved >= 8
