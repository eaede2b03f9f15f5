"""What is left where features and phases are settled allows all that the whole problem allows."""

from itertools import product
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
from milp_verix.global_search.branch_and_cut import ScenarioTree
from milp_verix.global_search.enumeration.candidates import candidates
from milp_verix.global_search.enumeration.completions import Completions, refuting_margins
from milp_verix.global_search.heuristics.incumbent import Incumbent
from milp_verix.global_search.pricing.perturbation_set import Perturbations, perturbations_of
from milp_verix.global_search.relaxation.constraint_pool import ConstraintPool
from milp_verix.global_search.relaxation.relaxation import Relaxation
from milp_verix.global_search.separation import NodeRemainder, Separator
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.objective import make_objective
from milp_verix.problem.problem import make_problem
from milp_verix.solvers.phase.warm_lp import WarmLp
from milp_verix.tolerances import Tolerances
from tests.support.brute_force_cases import case
from tests.support.digits_example import images, network
from tests.support.exhaustive_explanations import cheapest, fewest
from tests.support.onnx_models import FLOAT
from tests.support.random_networks import dense_network, random_graph, random_layers
from tests.support.scenario_cases import Undecided
from verix_encodings import crown_bounds
from verix_encodings.models.constraints import Constraint, CostLimit, Cover, Precedence, Scenario
from verix_encodings.models.restricted import FixedPhase, Restriction, reduced
from verix_encodings.models.scenario import make_scenario
from verix_encodings.network.network import Network
from verix_encodings.network.nodes import Affine, Relu

_KINDS = 3


@pytest.mark.parametrize("seed", range(30))
def test_a_network_after_an_affine_map(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = random_graph(rng)
    matrix, bias = rng.normal(size=(whole.input_size, 3)), rng.normal(size=whole.input_size)
    after = whole.after(matrix, bias)
    for _ in range(5):
        u = rng.normal(size=3)
        np.testing.assert_allclose(after.evaluate(u), whole.evaluate(matrix @ u + bias), atol=1e-9)
    reads = [isinstance(node, Affine) for node in whole.nodes if 0 in node.sources]
    assert len(after.nodes) == len(whole.nodes) + (not all(reads))


@pytest.mark.parametrize("seed", range(60))
def test_candidates_are_those_of_enumeration(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    # how many ways there are to choose the features of a second half: all, or some
    monkeypatch.setattr(
        "milp_verix.global_search.enumeration.candidates._MOST_SECOND",
        2 ** int(rng.integers(0, 11)),
    )
    count = int(rng.integers(0, 9))
    kinds = (np.ones(count), rng.integers(0, 4, count).astype(float), rng.random(count))
    costs = kinds[seed % _KINDS]
    reduced_costs = rng.normal(scale=0.3, size=count) * (rng.random(count) < 0.8)
    bound = float(rng.uniform(0, costs.sum() + 0.1))
    budget = bound + float(rng.uniform(-0.2, 1.5))
    found = candidates(costs, reduced_costs, bound, budget, 1000)
    assert found is not None
    got = {tuple(row) for row in found.rows().tolist()}
    assert len(got) == len(found)
    for bits in product((False, True), repeat=count):
        taken = np.array(bits, dtype=bool)
        cost = float(costs[taken].sum())
        lost = (
            np.maximum(reduced_costs[taken], 0).sum() + np.maximum(-reduced_costs[~taken], 0).sum()
        )
        room = min(cost - bound - lost, budget - cost)
        for_nothing = np.any(~taken & (costs == 0) & (reduced_costs <= 0))
        if abs(room) > 1e-3:
            assert (bits in got) == (room > 0 and not for_nothing)
    if len(found) > 1:
        assert candidates(costs, reduced_costs, bound, budget, len(found) - 1) is None
    if count:
        reduced_costs[0] = np.nan
        assert candidates(costs, reduced_costs, bound, budget, 1000) is None


def _restriction_of(rng: np.random.Generator, count: int) -> Restriction:
    kind = rng.integers(3, size=count)
    return Restriction(kind == 0, np.flatnonzero(kind == 1))


@pytest.mark.parametrize("seed", range(40))
def test_what_is_left_of_a_scenario_holds_for_every_completion(seed: int, tmp_path: Path) -> None:
    problem = case(seed)
    p = perturbations_of(make_problem(problem.network(tmp_path), problem.x, **problem.options))
    rng = np.random.default_rng([seed, 7])
    count = len(problem.groups)
    delta = rng.uniform(p.lower, p.upper)
    whole = make_scenario(
        p.margins, p.centre, delta, p.feature_of, features=count, method=crown_bounds
    )
    restriction = _restriction_of(rng, count)
    within = [np.array(bits, dtype=float) for bits in product((0, 1), repeat=restriction.free.size)]
    # the phases of one completion, some of them settled
    value = whole.network.nodes[1].sources[0]
    there = whole.network.values(restriction.full_selection(within[-1]))[value]
    neurons = np.flatnonzero(rng.random(there.size) < 0.5).tolist()
    phases = [FixedPhase(value, n, bool(there[n] > 0)) for n in neurons]
    left = reduced(whole, restriction, phases, crown_bounds)
    assert left is not None
    for u in within:
        selection = restriction.full_selection(u)
        moved = p.centre + p.weight(selection) * delta
        np.testing.assert_allclose(whole.network.evaluate(selection), p.margins.evaluate(moved))
        z = whole.network.values(selection)[value]
        if not left or any((z[phase.neuron] > 0) != phase.active for phase in phases):
            continue
        scenario = left[0]
        assert isinstance(scenario, Scenario)
        values = scenario.network.values(u)
        np.testing.assert_allclose(values[-1], whole.network.evaluate(selection), atol=1e-9)
        for reached, interval in zip(values, scenario.bounds, strict=True):
            assert np.all(reached >= interval.lower - 1e-9)
            assert np.all(reached <= interval.upper + 1e-9)
    if not left:
        assert all(
            np.max(whole.network.evaluate(restriction.full_selection(u))) <= 0 for u in within
        )


@pytest.mark.parametrize("seed", range(30))
def test_what_is_left_of_other_parts_allows_the_same_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 6
    restriction, order = _restriction_of(rng, count), rng.permutation(count)
    costs = rng.integers(0, 4, count).astype(float)
    constraints: list[Constraint] = [
        Cover(order[:3]),
        CostLimit(costs, float(costs.sum() / 2)),
        Precedence(order[:2], order[1:3]),
    ]

    def allows(constraint: Constraint, taken: np.ndarray) -> bool:
        if isinstance(constraint, Cover):
            return bool(taken[constraint.features].any())
        if isinstance(constraint, Precedence):
            return bool(np.all(taken[constraint.before] >= taken[constraint.after]))
        assert isinstance(constraint, CostLimit)
        return bool(constraint.costs @ taken <= constraint.limit)

    for constraint in constraints:
        left = reduced(constraint, restriction, (), crown_bounds)
        for bits in product((0, 1), repeat=restriction.free.size):
            u = np.array(bits)
            allowed = allows(constraint, restriction.full_selection(u.astype(float)))
            remains = left is not None and all(allows(smaller, u) for smaller in left)
            # a pair of which one is settled is left out: the search may see too many sets
            assert remains >= allowed
            if not isinstance(constraint, Precedence):
                assert remains == allowed


def _apart(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make nodes trees of their own once a fifth is settled; return the sizes of these."""
    sizes: list[int] = []
    whole = Relaxation.reduced

    def counted(
        self: Relaxation, restriction: Restriction, *remainder: object
    ) -> Relaxation | None:
        sizes.append(restriction.free.size)
        return whole(self, restriction, *remainder)  # type: ignore[arg-type]

    monkeypatch.setattr(scenario_choice, "_MOST_WAYS", 0.0)
    monkeypatch.setattr(scenario_tree, "_SHARE_FREE", 0.8)
    monkeypatch.setattr(scenario_tree, "_FIRST_TIGHTENING_INSIDE", 1)
    monkeypatch.setattr(Relaxation, "reduced", counted)
    # a first explanation would often be a minimum already, and leave little to search
    monkeypatch.setattr(Incumbent, "explain", lambda *_: None)
    monkeypatch.setattr(Incumbent, "improve", lambda *_: None)
    return sizes


@pytest.mark.parametrize("seed", range(60))
def test_trees_in_trees_prove_the_minimum_of_brute_force(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _apart(monkeypatch)
    problem = case(seed)
    found = minimum(problem.network(tmp_path), problem.x, **problem.options)
    assert found.proven
    assert found.size == fewest(problem)
    assert problem.brute.holds(found.irrelevant)


@pytest.mark.parametrize("seed", range(20))
def test_trees_in_trees_agree_with_a_program(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng([seed, 8])
    layers = random_layers(rng, (8, *((4,) if seed % 2 else (3, 2)), 3), FLOAT)
    net, x = dense_network(layers, tmp_path), rng.random(8).astype(np.float32)
    options: dict[str, Any] = {"epsilon": float(rng.uniform(0.05, 0.5))}
    if seed % 4 == 3:
        options["costs"] = rng.integers(1, 5, 8)
    reference = minimum(net, x, master="program", **options)
    _apart(monkeypatch)
    found = minimum(net, x, master="tree", time_limit=60, **options)
    assert reference.proven
    assert found.proven
    assert found.cost == reference.cost


def test_there_are_trees_in_trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = _apart(monkeypatch)
    for seed in range(60):
        problem = case(seed)
        minimum(problem.network(tmp_path), problem.x, **problem.options)
    assert len(sizes) >= 30
    assert max(sizes) >= 2


@pytest.mark.parametrize("seed", range(120, 160))
def test_trees_in_trees_keep_costs_and_wishes(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = case(seed)
    count = len(problem.groups)
    rng = np.random.default_rng([seed, 11])
    costs = rng.integers(0, 6, count) + (rng.random(count).round(3) if seed % 2 else 0.0)
    must = set(rng.permutation(count)[: seed % 3 // 2].tolist())
    least = cheapest(problem, costs.tolist(), must, set())
    assert least is not None
    _apart(monkeypatch)
    found = minimum(
        problem.network(tmp_path), problem.x, costs=costs, must=sorted(must), **problem.options
    )
    assert found.proven
    assert found.cost == pytest.approx(least)
    assert must <= set(found.explanation)


def test_a_tree_ends_where_sets_are_neither_proven_nor_refuted() -> None:
    # two neurons that add up what is free: at most one of four features may be
    summed = Affine(((0, np.ones((2, 4))),), np.zeros(2))
    margin = Affine(((2, np.ones((1, 2))),), np.array([-2.5]))
    margins = Network((4,), (summed, Relu(1), margin))
    ones, numbers = np.ones(4), np.arange(4)
    p = Perturbations(margins, np.zeros(4), -ones, ones, "linf", 1.0, numbers)
    objective = make_objective(4, None, (), ())
    relaxation = Relaxation(WarmLp(1, Tolerances()), ConstraintPool(p), objective)
    scenario = make_scenario(margins, p.centre, ones, numbers, features=4, method=crown_bounds)
    relaxation.extend([scenario])
    tree = ScenarioTree(
        relaxation, Undecided(), objective.attainable, lambda: objective.cutoff(5.0, 0.0)
    )
    for _ in range(200):
        if tree.done:
            break
        tree.step(np.inf)
    assert tree.done
    assert tree.bound == 3
    tree.close()


@pytest.mark.parametrize("index", [15, 16, 17])
def test_an_explanation_is_never_refuted_and_all_below_the_minimum_are(index: int) -> None:
    net, x = network(), images()[index]
    best = minimum(net, x, epsilon=0.1)
    assert best.proven
    explanation = np.array(best.explanation, dtype=int)
    rng = np.random.default_rng(index)
    others = rng.permutation(np.setdiff1d(np.arange(64), explanation))[:5]
    inside = np.zeros(64, dtype=bool)
    inside[explanation[3:]] = True
    restriction = Restriction(inside, np.sort(np.concatenate([explanation[:3], others])))
    selection = np.zeros(64)
    selection[explanation] = 1.0
    problem = make_problem(net, x, epsilon=0.1)
    objective = make_objective(64, None, (), ())
    with Oracle(problem, "phase") as oracle:
        perturbations = perturbations_of(problem)
        incumbent = Incumbent(oracle, perturbations, objective, 60.0)
        separator = Separator(perturbations, incumbent, np.inf)

        def remainder(size: int) -> NodeRemainder:
            bounds = float(size - 1), float(size)
            return NodeRemainder(restriction, selection, np.zeros(64), *bounds, lambda _most: None)

        assert separator.enumerate_node(remainder(best.size)) is None
        # the set itself was met on the way, and proven
        assert incumbent.cost <= 64
        found = separator.enumerate_node(remainder(best.size - 1))
        assert found is not None
        assert all(isinstance(constraint, Scenario) for constraint in found)
        count = restriction.free.size
        subsets = candidates(np.ones(count), np.zeros(count), 0.0, 2.0, 1000)
        assert subsets is not None
        left = Completions(perturbations, restriction, subsets, refuting_margins(perturbations))
        for delta in incumbent.adversary.pool.T:
            sets = left.sets.rows()
            left.refute(delta)
            for row in sets:
                chosen = restriction.full_selection(row.astype(float))
                reached = perturbations.reached(perturbations.weight(chosen), delta[:, None])
                kept = bool(np.any(np.all(left.sets.rows() == row, axis=1)))
                assert kept == bool(np.max(reached) <= 1e-7) or abs(np.max(reached)) < 1e-6
        assert not len(left.sets)
