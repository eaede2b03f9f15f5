"""Whatever is asked in whatever blocks: the same order gives the same explanation."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from milp_verix import explain
from milp_verix.base.errors import InputError
from milp_verix.searches.strategies import STRATEGIES
from milp_verix.solvers import SolveResult, Targets
from tests.support.brute_force_cases import case
from tests.support.counterfactual_checks import assert_sound
from tests.support.digits_example import images, network
from tests.support.installed_solvers import each_solver
from tests.support.lying_solvers import honest, register
from tests.support.random_networks import convolutional
from tests.support.unsolvable_problems import HARD_OPTIONS, HARD_X, hard_network
from verix_encodings import Program
from verix_encodings.arrays import FloatArray


@pytest.mark.parametrize("traversal", STRATEGIES)
@pytest.mark.parametrize("seed", range(0, 120, 2))
def test_each_finds_what_brute_force_finds(seed: int, traversal: str, tmp_path: Path) -> None:
    problem = case(seed)
    net = problem.network(tmp_path)
    for order, reuse in product(("influence", "random"), (True, False)):
        found = explain(
            net, problem.x, order=order, traversal=traversal, reuse=reuse, **problem.options
        )
        assert found.minimal
        assert found.traversal == traversal
        assert found.explanation == problem.brute.explanation(found.permutation)
        assert found.replay(net) == ()


@pytest.mark.nightly
@pytest.mark.parametrize(("norm", "epsilon"), [("linf", 0.1), ("l1", 0.8), ("l2", 0.35)])
@pytest.mark.parametrize("index", [11, 16])
def test_all_agree_on_images(index: int, norm: str, epsilon: float) -> None:
    found = {
        traversal: explain(
            network(), images()[index], epsilon=epsilon, norm=norm, traversal=traversal
        )
        for traversal in STRATEGIES
    }
    assert len({explanation.explanation for explanation in found.values()}) == 1
    assert all(explanation.replay(network()) == () for explanation in found.values())
    assert found["sequential"].statistics.checks == 64
    assert found["galloping"].statistics.checks < 100


@each_solver
def test_every_solver_takes_blocks(solver: str, tmp_path: Path) -> None:
    net = convolutional(tmp_path, seed=3)
    x = images()[11].reshape(-1)[24:40].reshape(1, 1, 4, 4)
    sizes = set()
    for traversal in STRATEGIES:
        found = explain(net, x, epsilon=0.4, solver=solver, traversal=traversal)
        assert_sound(found, net, x)
        sizes.add(found.explanation)
    assert len(sizes) == 1


def test_a_solver_that_tells_no_points_is_asked_hardly_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_points(program: Program, cost: FloatArray, targets: Targets) -> SolveResult:
        result = honest(program, cost, targets)
        return replace(result, point=None) if result.bound > targets.holds_above else result

    register(monkeypatch, "silent", no_points)
    options: dict[str, Any] = {"epsilon": 0.2, "bounds": "interval"}
    found = explain(network(), images()[15], solver="silent", **options)
    expected = explain(network(), images()[15], solver="highs", **options)
    assert found.explanation == expected.explanation
    # twice the checks where forecasts rest on the points before the last counterfactual
    assert found.statistics.checks <= 1.2 * expected.statistics.checks


@pytest.mark.parametrize("traversal", STRATEGIES)
def test_a_robust_prediction_is_told_at_once(traversal: str) -> None:
    found = explain(network(), images()[11], epsilon=0.001, traversal=traversal)
    assert found.size == 0
    if traversal != "sequential":
        assert found.statistics.checks <= 2


@pytest.mark.parametrize("traversal", STRATEGIES)
def test_checks_out_of_time_leave_a_sound_explanation(traversal: str, tmp_path: Path) -> None:
    net = hard_network(tmp_path)
    features = [[0], list(range(1, 10)), list(range(10, 19)), [19]]
    found = explain(
        net, HARD_X, features=features, traversal=traversal, check_time_limit=0.3, **HARD_OPTIONS
    )
    assert found.statistics.stopped is None
    assert found.unknown
    assert_sound(found, net, HARD_X.astype("float32"))


@pytest.mark.parametrize("exactness", ["relaxation", "bounds"])
@pytest.mark.parametrize("traversal", STRATEGIES)
@pytest.mark.parametrize("seed", range(1, 60, 6))
def test_inexact_explanations_are_sound(
    seed: int, traversal: str, exactness: str, tmp_path: Path
) -> None:
    problem = case(seed)
    net = problem.network(tmp_path)
    found = explain(net, problem.x, traversal=traversal, exactness=exactness, **problem.options)
    assert problem.brute.holds(list(found.irrelevant))
    assert found.replay(net) == ()
    assert any(exactness in note for note in found.notes)
    assert exactness == "relaxation" or found.statistics.solves == 0


@pytest.mark.nightly
def test_relaxations_decide_more_than_bounds_and_less_than_programs() -> None:
    undecided, nodes = {}, {}
    for exactness in ("bounds", "relaxation", "exact"):
        options: dict[str, Any] = {"epsilon": 0.2, "order": "sequential", "exactness": exactness}
        found = [explain(network(), image, **options) for image in images()]
        undecided[exactness] = sum(len(explanation.unknown) for explanation in found)
        nodes[exactness] = sum(explanation.statistics.nodes for explanation in found)
        reasons = {reason for e in found for reason in e.unknown_reasons.values()}
        assert reasons <= {
            "bounds": {"bounds alone do not decide it"},
            "relaxation": {"the linear relaxation does not decide it"},
            "exact": set(),
        }.get(exactness, set())
    assert undecided["bounds"] > undecided["relaxation"] > undecided["exact"] == 0
    assert nodes["bounds"] == 0 < nodes["exact"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"traversal": "backwards"}, "unknown traversal 'backwards'; choose one of galloping"),
        ({"exactness": "almost"}, "unknown exactness 'almost'; choose one of exact"),
    ],
)
def test_unknown_names_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        explain(network(), images()[11], epsilon=0.1, **options)
