"""Interchangeable features: which they are, and that their order leaves every minimum as it is."""

import importlib
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import InputError, minimum
from milp_verix.global_search import separation as scenario_choice
from milp_verix.global_search.branch_and_cut import ScenarioTree
from milp_verix.global_search.relaxation.symmetry import Interchangeable, interchangeable
from milp_verix.problem.objective import make_objective
from milp_verix.problem.problem import Problem, make_problem
from tests.support.brute_force import BruteForce
from tests.support.brute_force_norms import NORMS, worst_margin
from tests.support.onnx_models import FLOAT, build, loaded, node
from tests.support.random_networks import Layer, dense_network, random_layers, residual
from verix_encodings.models.constraints import Constraint, Precedence, Scenario
from verix_encodings.models.scenario import ScenarioProgram

search_module = importlib.import_module("milp_verix.global_search.search")


def doubled(seed: int, sizes: tuple[int, ...] = (3, 4, 3)) -> tuple[tuple[Layer, ...], Any]:
    """Return layers whose inputs come in copies, at random places, one without weights; and x."""
    rng = np.random.default_rng([seed, 17])
    (first, bias), *rest = random_layers(rng, sizes, FLOAT)
    x = rng.uniform(0.2, 0.8, sizes[0]).astype(np.float32)
    # two copies of each, a third of one of them, and one that no neuron sees
    copies = rng.permutation([*range(sizes[0]), *range(sizes[0]), 0, sizes[0]])
    wide = np.hstack([first / 2, np.zeros((sizes[1], 1))])
    return ((wide[:, copies], bias), *rest), np.append(x, np.float32(0.5))[copies]


def found_in(problem: Problem, **objective: Any) -> tuple[list[list[int]], list[int]]:
    """Return the classes and the inert features."""
    given = {"costs": None, "must": (), "must_not": (), **objective}
    found = interchangeable(problem, make_objective(problem.features.count, **given))
    return [members.tolist() for members in found.classes], np.flatnonzero(found.inert).tolist()


def test_equal_columns_inputs_and_ends_make_a_class(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    (first, bias), last = random_layers(rng, (2, 4, 3), FLOAT)
    network = dense_network(((first[:, [0, 1, 0, 1, 0, 0]], bias), last), tmp_path)
    x = np.array([0.5, 0.375, 0.5, 0.375, 0.25, 0.5])

    def posed(**options: Any) -> Problem:
        return make_problem(network, x, epsilon=0.1, **options)

    assert found_in(posed()) == ([[0, 2, 5], [1, 3]], [])
    assert found_in(posed(norm="l2")) == ([[0, 2, 5], [1, 3]], [])
    # an end of the domain inside the ball; one that the ball does not reach
    upper = np.array([1, 1, 0.55, 0.9, 1, 1])
    assert found_in(posed(domain=(0.0, upper))) == ([[0, 5], [1, 3]], [])
    # what cannot move is of no kind
    still = np.array([0, 0.375, 0, 0, 0, 0]), np.array([1, 0.375, 1, 1, 1, 1])
    assert found_in(posed(domain=still)) == ([[0, 2, 5]], [1])
    assert found_in(posed(), costs=[1, 1, 1, 2, 1, 3]) == ([[0, 2]], [])
    assert found_in(posed(), must=[0], must_not=[1, 3]) == ([[1, 3], [2, 5]], [])
    assert found_in(posed(), must_not=[2]) == ([[0, 5], [1, 3]], [])
    assert found_in(posed(features=[[0, 1], [3, 5], [2, 4]])) == ([[0, 1]], [])
    assert found_in(posed(features=[[0, 1, 2], [3, 5], [4]])) == ([], [])


def test_equal_weights_of_different_neurons_are_not_equal(tmp_path: Path) -> None:
    first = np.array([[2.0, 0.0, 2.0, 0.0], [0.0, 2.0, 0.0, 2.0]])
    layers = ((first, np.zeros(2)), (np.array([[1.0, -3.0], [0.0, 0.0]]), np.array([0.0, 0.5])))
    problem = make_problem(dense_network(layers, tmp_path), np.full(4, 0.5), epsilon=0.1)
    assert found_in(problem) == ([[0, 2], [1, 3]], [])


def test_what_can_move_to_one_side_alone_is_not_inert(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    network = dense_network(random_layers(rng, (3, 4, 3), FLOAT), tmp_path)
    ends = {"domain": ([0.0, 0.0, 0.0], [1.0, 1.0, 0.0])}
    problem = make_problem(network, np.array([0.0, 1.0, 0.0]), epsilon=0.1, **ends)
    assert found_in(problem) == ([], [2])


def test_what_moves_nothing_is_left_out_of_groups(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    (first, bias), last = random_layers(rng, (1, 4, 3), FLOAT)
    wide = np.hstack([first, first, -0.0 * first, 0.0 * first])
    network = dense_network(((wide, bias), last), tmp_path)
    x = np.array([0.5, 0.5, 0.1, 0.9])
    problem = make_problem(network, x, epsilon=0.1, features=[[0, 2], [1], [3]])
    assert found_in(problem) == ([[0, 1]], [2])


def test_columns_count_in_every_map_that_reads_the_input(tmp_path: Path) -> None:
    # a residual connection reads each coordinate by itself
    network = residual(tmp_path)
    problem = make_problem(network, np.full(5, 0.5), epsilon=0.1)
    assert found_in(problem) == ([], [])
    nodes = [
        node("Relu", ["x"], ["r"]),
        node("Gemm", ["x", "A"], ["g"]),
        node("Add", ["r", "g"], ["y"]),
    ]
    model = build(nodes, inputs={"x": (1, 3)}, constants={"A": np.ones((3, 3))}, elem=FLOAT)
    problem = make_problem(loaded(model, tmp_path), [0.5, 0.5, 0.5], epsilon=0.1, label=0)
    assert found_in(problem) == ([], [])


@pytest.mark.parametrize(
    ("norm", "seed"),
    [("linf", seed) for seed in range(24)] + [(n, seed) for n in NORMS for seed in range(8)],
)
def test_the_cheapest_is_that_of_brute_force(
    norm: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng([seed, 18])
    layers, x = doubled(seed)
    size = x.size
    places = rng.permutation(size).tolist()
    groups = [places[:2], places[2:4], *([i] for i in places[4:])] if seed % 3 == 2 else None
    listed = groups or [[i] for i in range(size)]
    count = len(listed)
    epsilon = float(rng.uniform(0.2, 0.6)) * {"linf": 1.0, "l1": 3.0, "l2": 1.8}[norm]
    brute = BruteForce(layers, x.astype(float), epsilon, listed, np.zeros(size), np.ones(size))
    costs = np.ones(count) if seed % 2 else rng.integers(1, 3, count).astype(float)

    def holds(explained: Iterable[int]) -> bool:
        free = [f for f in range(count) if f not in explained]
        if norm == "linf":
            return brute.holds(free)
        return worst_margin(brute, free, NORMS[norm], epsilon) < 0

    drawn = rng.permutation(count).tolist()
    must, must_not = set(drawn[: seed % 4 // 2]), set(drawn[2 : 2 + seed % 2])
    network = dense_network(layers, tmp_path)
    options: dict[str, Any] = {"epsilon": epsilon, "norm": norm, "features": groups}
    objective: dict[str, Any] = {"costs": costs, "must": sorted(must), "must_not": sorted(must_not)}
    classes, inert = found_in(make_problem(network, x, **options), **objective)

    def ordered(explained: set[int]) -> bool:
        taken = np.isin(np.arange(count), list(explained))
        in_order = all(np.all(np.diff(taken[members].astype(int)) <= 0) for members in classes)
        return in_order and explained.isdisjoint(set(inert) - must)

    sets = (set(s) for k in range(count + 1) for s in combinations(range(count), k))
    allowed = [s for s in sets if must <= s and not s & must_not]
    ranked = sorted(allowed, key=lambda s: (costs[list(s)].sum(), not ordered(s)))
    least = next((s for s in ranked if holds(s)), None)
    # what is claimed: some cheapest explanation is in order
    assert least is None or ordered(least)
    constraints: list[Constraint] = []
    add = ScenarioProgram.add

    def recorded(self: ScenarioProgram, constraint: Constraint) -> None:
        constraints.append(constraint)
        add(self, constraint)

    monkeypatch.setattr(ScenarioProgram, "add", recorded)
    if least is None:
        with pytest.raises(InputError, match="no explanation leaves out all of must_not"):
            minimum(network, x, **options, **objective)
        return
    found = minimum(network, x, **options, **objective)
    assert found.proven
    assert found.cost == costs[list(least)].sum()
    assert must <= set(found.explanation)
    assert not must_not & set(found.explanation)
    assert holds(found.explanation)
    assert found.replay(network) == ()
    # the rows are there wherever something was searched
    searched = any(isinstance(constraint, Scenario) for constraint in constraints)
    rows = sum(isinstance(constraint, Precedence) for constraint in constraints)
    assert not searched or rows >= len(classes)


def test_there_is_something_to_order(tmp_path: Path) -> None:
    for seed in range(16):
        layers, x = doubled(seed)
        network = dense_network(layers, tmp_path)
        classes, inert = found_in(make_problem(network, x, epsilon=0.1))
        assert sorted(len(members) for members in classes) == [2, 2, 3]
        assert len(inert) == 1


def test_the_rows_ask_for_the_order_and_for_nothing_else(tmp_path: Path) -> None:
    layers, x = doubled(0)
    problem = make_problem(dense_network(layers, tmp_path), x, epsilon=0.1)
    same = interchangeable(problem, make_objective(x.size, None, (), ()))
    numbers = np.arange(x.size)
    growing = ScenarioProgram(np.zeros(x.size), np.ones(x.size))
    for constraint in same.precedence:
        growing.add(constraint)
    program = growing.build()
    for bits in range(1 << x.size):
        taken = (bits >> numbers) & 1
        rows = program.matrix @ taken.astype(float)
        allowed = bool(np.all((rows >= program.row_lower) & (rows <= program.row_upper)))
        assert allowed == all(np.all(np.diff(taken[members]) <= 0) for members in same.classes)


def test_copies_are_not_tried_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees: list[ScenarioTree] = []

    def noted(*arguments: Any) -> ScenarioTree:
        trees.append(ScenarioTree(*arguments))
        return trees[-1]

    monkeypatch.setattr(search_module, "ScenarioTree", noted)
    # all of them at once are soon refuted
    monkeypatch.setattr(scenario_choice, "_MOST_WAYS", 0.0)
    rng = np.random.default_rng(9)
    (first, bias), last = random_layers(rng, (5, 6, 3), FLOAT)
    network = dense_network(((np.repeat(first, 16, axis=1) / 16, bias), last), tmp_path)
    x = np.repeat(rng.uniform(0.3, 0.7, 5), 16)
    ordered = minimum(network, x, epsilon=0.3)
    monkeypatch.setattr(Interchangeable, "precedence", [])
    plain = minimum(network, x, epsilon=0.3)
    assert (ordered.proven, plain.proven, ordered.size) == (True, True, plain.size)
    assert 5 * trees[0].nodes < trees[1].nodes
