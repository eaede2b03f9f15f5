"""Scenarios that are coupled cut off no set of interest, and tighten the relaxation."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import minimum
from milp_verix.global_search import (
    branch_and_cut as scenario_tree,
)
from milp_verix.global_search import (
    separation as scenario_choice,
)
from milp_verix.global_search.heuristics.incumbent import Incumbent
from milp_verix.global_search.pricing.perturbation_set import Perturbations
from milp_verix.global_search.relaxation import (
    coupling as coupled_parts,
)
from milp_verix.global_search.relaxation import (
    relaxation as scenario_relaxation,
)
from milp_verix.global_search.relaxation.active_constraints import left_of
from milp_verix.global_search.relaxation.constraint_pool import ConstraintPool
from milp_verix.global_search.relaxation.coupling import alike, coupled
from milp_verix.global_search.relaxation.relaxation import Relaxation
from milp_verix.global_search.relaxation.tightened_parts import tightened
from milp_verix.onnx_reader.onnx_network import OnnxNetwork
from milp_verix.problem.objective import make_objective
from milp_verix.solvers.phase.warm_lp import WarmLp
from milp_verix.tolerances import Tolerances
from tests.support.brute_force_cases import case
from tests.support.exhaustive_explanations import fewest
from tests.support.onnx_models import FLOAT
from tests.support.random_networks import (
    convolutional,
    dense_network,
    random_graph,
    random_layers,
    residual,
)
from tests.support.scenario_cases import (
    COUNT,
    assert_apart,
    assert_inside,
    drawn_similar,
    grown,
    least_cost,
    of_interest,
    point,
    similar_constraints,
)
from verix_encodings import Affine, Network, crown_bounds
from verix_encodings.arrays import FloatArray
from verix_encodings.models.constraints import Constraint, CostLimit, PairedRelus, Scenario
from verix_encodings.models.restricted import FixedPhase, Restriction
from verix_encodings.models.scenario import make_scenario
from verix_encodings.network.nodes import Relu

_NOTHING = np.zeros(0, dtype=np.intp), np.zeros(0)


@pytest.fixture(autouse=True)
def _more_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Couple each scenario with two: rare kinds of paired ReLUs are met more often."""
    monkeypatch.setattr(coupled_parts, "_NEAREST", 2)


def _coupled(
    constraints: list[Constraint], core: set[int], deadline: float = np.inf, features: int = COUNT
) -> list[PairedRelus]:
    lp = WarmLp(1, Tolerances())
    of_features = partial(grown, features=features)
    found = coupled(constraints, core, alike(constraints), of_features, lp, deadline=deadline)
    lp.close()
    return found


@pytest.mark.parametrize("seed", range(40))
def test_every_set_of_interest_satisfies_the_program(seed: int, tmp_path: Path) -> None:
    constraints, rng, _ = drawn_similar(seed, tmp_path)
    sets = of_interest(constraints)
    for core in (
        {0},
        {0, *rng.permutation(len(constraints))[:3].tolist()},
        set(range(len(constraints))),
    ):
        found = _coupled(constraints, core)
        assert_apart(constraints, found, sets)
        # they hold with tighter bounds as well, which leave some of their neurons no column
        lp = WarmLp(1, Tolerances())
        tight = tightened(constraints, core, range(len(constraints)), grown, lp, deadline=np.inf)
        lp.close()
        for scenarios in (constraints, tight):
            program = grown([*scenarios, *found]).build()
            for taken in sets:
                assert_inside(program, point(program, scenarios, taken))
    assert _coupled(constraints, {0}, -np.inf) == []
    assert _coupled(constraints[:3], {0}) == []


def test_there_are_twins_of_every_kind_and_sets(tmp_path: Path) -> None:
    kinds, with_sets, deeper = [0, 0, 0], 0, 0
    for seed in range(40):
        constraints, *_ = drawn_similar(seed, tmp_path)
        found = _coupled(constraints, {0})
        for paired in found:
            kinds[0] += int(np.sum(paired.apart.lower >= 0))
            kinds[1] += int(np.sum(paired.apart.upper <= 0))
            kinds[2] += int(np.sum((paired.apart.lower < 0) & (paired.apart.upper > 0)))
            deeper += paired.node > 1
        with_sets += bool(found) and len(of_interest(constraints)) > 1
    assert min(kinds) >= 15
    assert with_sets >= 15
    assert deeper >= 15


@pytest.mark.parametrize("seed", range(15))
def test_the_first_ranges_are_those_of_another_solver(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # everything is useful
    monkeypatch.setattr(coupled_parts, "_USEFUL", 1e9)
    constraints, *_ = drawn_similar(seed, tmp_path)
    core, checked = {0, 1, 2}, 0
    for paired in _coupled(constraints, core):
        if paired.node != 1:
            # its program has rows of the layer before
            continue
        pair = [paired.of, paired.beside]
        numbers = [*sorted(core - set(pair)), *pair]
        growing = grown([constraints[n] for n in numbers])
        program = growing.build()
        z, other = (growing.arguments[n][0][1] for n in (-2, -1))
        for i, l, u in zip(paired.neurons, paired.apart.lower, paired.apart.upper, strict=True):
            mine, its = z.row(i, program.columns), other.row(i, program.columns)
            for sign, bound in ((1.0, l), (-1.0, -u)):
                least = least_cost(program, sign * (mine[0] - its[0])) + sign * (mine[1] - its[1])
                if least == np.inf:
                    continue
                assert least - 1e-6 <= bound <= least + 1e-7
                checked += 1
    assert checked or not of_interest(constraints)


def _bound(relaxation: Relaxation, fixed: int | None = None) -> float:
    """Return the bound, with one neuron of the first scenario inactive if asked."""
    fixings = _NOTHING if fixed is None else (np.array([fixed]), np.zeros(1))
    return relaxation.solve(fixings, np.inf, np.inf).bound


def test_the_same_perturbation_twice_gives_the_same_activation() -> None:
    summed = Affine(((0, np.ones((1, 2))),), np.zeros(1))
    margins = Network((2,), (summed, Relu(1), Affine(((2, np.ones((1, 1))),), np.array([-5.0]))))
    delta, numbers = np.array([3.0, -2.0]), np.arange(2)
    constraints: list[Constraint] = [
        make_scenario(margins, np.zeros(2), delta, numbers, features=2, method=crown_bounds)
        for _ in range(2)
    ]
    found = _coupled(constraints, {0, 1}, features=2)
    assert {(paired.of, paired.beside) for paired in found} == {(0, 1), (1, 0)}
    results = []
    for whole in (constraints, [*constraints, *found]):
        growing = grown(whole, 2)
        program, table = growing.build(), growing.phases()
        cost = np.zeros(program.columns)
        cost[table.activation] = -1.0, 1.0
        results.append(-least_cost(program, cost))
    # z is in [-2, 3]: by itself, a relaxed ReLU is above another by that much at z = 0
    assert results == pytest.approx([6 / 5, 0.0], abs=1e-8)


def test_relaxations_are_tighter_and_never_above_the_minimum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tighter = 0
    for seed in range(30):
        constraints, _, p = drawn_similar(seed, tmp_path)
        cutoff = float(COUNT) + 0.5
        costs = [float(taken.sum()) for taken in of_interest(constraints[1:])]
        bounds = []
        for alone in (True, False):
            with monkeypatch.context() as patch:
                if alone:
                    patch.setattr(scenario_relaxation, "coupled", lambda *_, **__: [])
                objective = make_objective(COUNT, None, (), ())
                relaxation = Relaxation(WarmLp(1, Tolerances()), ConstraintPool(p), objective)
                relaxation.extend(constraints[1:])
                relaxation.tighten(cutoff, np.inf)
                # columns of phases come before those that paired ReLUs would add: there are none
                phases = relaxation._growing.phases().phase.tolist()
                bounds.append([_bound(relaxation), *(_bound(relaxation, d) for d in phases)])
                # the second time, paired ReLUs of the first stay
                relaxation.tighten(cutoff, np.inf)
            assert _bound(relaxation) <= min(costs, default=np.inf) + 1e-6
            relaxation.close()
        without, with_paired = (np.array(found) for found in bounds)
        assert np.all(with_paired >= without - 1e-6)
        assert with_paired[0] <= min(costs, default=np.inf) + 1e-6
        tighter += bool(np.any(with_paired > without + 1e-3))
    assert tighter >= 5


@pytest.mark.parametrize("seed", range(40))
def test_what_is_left_with_twins_allows_every_completion(seed: int, tmp_path: Path) -> None:
    _completions(seed, tmp_path)


def test_there_are_twins_and_completions_left(tmp_path: Path) -> None:
    found = [_completions(seed, tmp_path) for seed in range(40)]
    assert sum(kept > 0 and completions > 1 for kept, completions in found) >= 10


def _completions(seed: int, tmp_path: Path) -> tuple[int, int]:
    """Check what is left in a node that some set is in; return how many pairs, and how many sets.

    Features, and phases, are settled as in that set.
    """
    constraints, rng, _ = drawn_similar(seed, tmp_path)
    sets = of_interest(constraints)
    if not sets:
        return 0, 0
    constraints = [*constraints, *_coupled(constraints, {0})]
    one = sets[int(rng.integers(len(sets)))]
    free = np.flatnonzero(rng.random(COUNT) < 0.6)
    inside = one > 0
    inside[free] = False
    restriction = Restriction(inside, free)
    phases: dict[int, list[FixedPhase]] = {}
    for number, constraint in enumerate(constraints):
        if isinstance(constraint, Scenario) and rng.random() < 0.5:
            z = constraint.network.values(one)[1]
            neuron = int(rng.integers(z.size))
            phases[number] = [FixedPhase(1, neuron, bool(z[neuron] > 0))]
    needed = [
        n
        for n, constraint in enumerate(constraints)
        if not isinstance(constraint, PairedRelus) and n
    ]
    without = int(rng.integers(1, len(constraints)))
    needed = [n for n in needed if n != without]
    left = left_of(constraints, range(len(constraints)), needed, restriction, phases)
    assert left is not None
    smaller: list[Constraint] = [
        CostLimit(np.ones(free.size), float(free.size)),
        *(p for _, p in left),
    ]
    names = [0, *(name for name, _ in left)]
    for name, constraint in zip(names, smaller, strict=True):
        if isinstance(constraint, PairedRelus):
            assert name == -1
            assert isinstance(smaller[constraint.of], Scenario)
            assert without not in (names[constraint.of], names[constraint.beside])
    program, completions = grown(smaller, free.size).build(), 0
    for taken in sets:
        if not np.array_equal(
            taken[restriction.position < 0] > 0, inside[restriction.position < 0]
        ):
            continue
        signs = [
            (_scenario(constraints[number]).network.values(taken)[1][p.neuron] > 0) == p.active
            for number, mine in phases.items()
            for p in mine
        ]
        if all(signs):
            completions += 1
            assert_inside(program, point(program, smaller, taken[free]))
    return sum(isinstance(constraint, PairedRelus) for constraint in smaller), completions


def _scenario(constraint: Constraint) -> Scenario:
    assert isinstance(constraint, Scenario)
    return constraint


@pytest.mark.parametrize("seed", range(30))
def test_other_networks(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coupled_parts, "_USEFUL", 2.0)
    rng = np.random.default_rng([seed, 44])
    networks = [
        random_graph(rng, 6, 9),
        residual(tmp_path, seed).ir,
        convolutional(tmp_path, seed).ir,
    ]
    margins = networks[seed % 3]
    size = margins.input_size
    # the first features hold two coordinates each, and some coordinates do not move
    count = min(6, size)
    feature_of = np.arange(size) % count
    span = rng.uniform(0.2, 1.5, size) * (rng.random(size) < 0.9)
    shift = margins.values(rng.normal(size=size))[-1]
    margins = margins.then(np.eye(shift.size), -shift - 0.1)
    p = Perturbations(
        margins, rng.normal(size=size), -span, span, "linf", float(span.max()), feature_of
    )
    constraints = [CostLimit(np.ones(count), count - 1.0), *similar_constraints(rng, p, count)]
    found = _coupled(constraints, {0, 1}, features=count)
    assert_apart(constraints, found, of_interest(constraints, count))


def _late(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Leave much to the tree, which tightens often; return how many paired ReLUs each time."""
    counts: list[int] = []

    def counted(*asked: Any, **more: Any) -> list[PairedRelus]:
        found = coupled(*asked, **more)
        counts.append(len(found))
        return found

    monkeypatch.setattr(scenario_relaxation, "coupled", counted)
    monkeypatch.setattr(scenario_tree, "_PERIOD", 2)
    monkeypatch.setattr(scenario_choice, "_MOST_SETS", 32)
    monkeypatch.setattr(scenario_choice, "_MOST_BEGINNINGS", 0)
    monkeypatch.setattr(scenario_relaxation.Relaxation, "loose", lambda *_: True)
    monkeypatch.setattr(Incumbent, "explain", lambda *_: None)
    monkeypatch.setattr(Incumbent, "improve", lambda *_: None)
    return counts


def _posed(seed: int, tmp_path: Path) -> tuple[OnnxNetwork, FloatArray, float]:
    rng = np.random.default_rng([seed, 45])
    layers = random_layers(rng, (8, *((5,) if seed % 2 else (4, 3)), 3), FLOAT)
    x = rng.random(8).astype(np.float32)
    return dense_network(layers, tmp_path), x, float(rng.uniform(0.1, 0.5))


@pytest.mark.parametrize("seed", range(30))
def test_the_minimum_is_that_of_a_program_without_twins(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, x, epsilon = _posed(seed, tmp_path)
    reference = minimum(network, x, epsilon=epsilon, master="program")
    _late(monkeypatch)
    found = minimum(network, x, epsilon=epsilon, master="tree", time_limit=60)
    assert reference.proven
    assert found.proven
    assert found.size == reference.size


def test_searches_use_twins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = _late(monkeypatch)
    searches = 0
    for seed in range(30):
        before = sum(counts)
        network, x, epsilon = _posed(seed, tmp_path)
        minimum(network, x, epsilon=epsilon, master="tree")
        searches += sum(counts) > before
    assert searches >= 8


@pytest.mark.parametrize("seed", range(200, 230))
def test_the_minimum_is_that_of_brute_force(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _late(monkeypatch)
    problem = case(seed)
    found = minimum(problem.network(tmp_path), problem.x, master="tree", **problem.options)
    assert found.proven
    assert found.size == fewest(problem)


def test_no_time_is_no_twins(tmp_path: Path) -> None:
    constraints, _, p = drawn_similar(3, tmp_path)
    objective = make_objective(COUNT, None, (), ())
    relaxation = Relaxation(WarmLp(1, Tolerances()), ConstraintPool(p), objective)
    relaxation.extend(constraints[1:])
    relaxation.tighten(COUNT + 0.5, np.inf)
    bound = _bound(relaxation)
    # duals of rows that are gone must not be asked for
    relaxation.tighten(COUNT + 0.5, -np.inf)
    assert _bound(relaxation) <= bound + 1e-6
    relaxation.close()
