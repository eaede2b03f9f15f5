"""The minimum is that of brute force over all subsets, and its bound is never above it."""

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import Explanation, MinimumProgress, minimum
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import Answer, Verdict
from milp_verix.searches.minimum.minimum_search import Explainer
from milp_verix.searches.order import Order
from milp_verix.searches.strategies import Traversal
from milp_verix.solvers import SOLVERS
from tests.support.brute_force_cases import case
from tests.support.brute_force_norms import NORMS, radius, worst_margin
from tests.support.command_line import run_here
from tests.support.counterfactual_checks import assert_sound
from tests.support.digits_example import IMAGES, MODEL, images, network
from tests.support.exhaustive_explanations import fewest
from tests.support.installed_solvers import SLOW
from tests.support.interrupts import interrupt
from tests.support.onnx_models import build, node


@pytest.mark.usefixtures("row_storage")
@pytest.mark.parametrize("seed", range(80))
def test_the_minimum_is_that_of_brute_force(seed: int, tmp_path: Path) -> None:
    problem = case(seed)
    net = problem.network(tmp_path)
    found = minimum(net, problem.x, **problem.options)
    assert found.proven
    assert found.size == found.lower_bound == fewest(problem)
    assert found.minimal
    assert problem.brute.holds(found.irrelevant)
    assert_sound(found, net, problem.x)


@pytest.mark.nightly
def test_there_is_something_to_find(tmp_path: Path) -> None:
    sizes = [fewest(case(seed)) for seed in range(120)]
    assert sum(size > 1 for size in sizes) > 20
    assert len(set(sizes)) > 3


@pytest.mark.slow
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_other_norms(seed: int, norm: str, tmp_path: Path) -> None:
    problem = case(seed)
    epsilon, features = radius(problem, norm), range(len(problem.groups))
    options = {**problem.options, "epsilon": epsilon, "norm": norm}
    found = minimum(problem.network(tmp_path), problem.x, **options)
    assert found.proven
    smaller = combinations(features, max(found.size - 1, 0))
    survivors = [
        explained
        for explained in smaller
        if worst_margin(
            problem.brute, [f for f in features if f not in explained], NORMS[norm], epsilon
        )
        < 0
    ]
    assert not survivors or found.size == 0
    assert worst_margin(problem.brute, list(found.irrelevant), NORMS[norm], epsilon) < 0


@pytest.mark.nightly
@pytest.mark.parametrize("master", ["tree", "program"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_and_masters_agree(solver: str, master: str, tmp_path: Path) -> None:
    if reason := SOLVERS[solver].unavailable():
        pytest.skip(reason)
    for seed in range(2 if solver in SLOW else 6):
        problem = case(seed)
        options = {**problem.options, "solver": solver, "master": master}
        found = minimum(problem.network(tmp_path), problem.x, **options)
        assert found.proven
        assert found.size == fewest(problem)


def test_a_digit_has_a_proven_minimum_below_its_local_explanations() -> None:
    seen: list[MinimumProgress] = []
    found = minimum(network(), images()[15], epsilon=0.1, progress=seen.append)
    assert found.proven
    assert found.minimal
    assert found.replay(network()) == ()
    bounds = [state.lower_bound for state in seen]
    assert bounds == sorted(bounds)
    assert all(state.lower_bound <= found.size <= state.size for state in seen)
    again = Explanation.from_json(found.to_json())
    assert (again.lower_bound, again.gap, again.proven) == (found.size, 0, True)


def test_a_time_limit_leaves_an_explanation_and_a_bound() -> None:
    found = minimum(network(), images()[17], epsilon=0.2, time_limit=1.5)
    assert found.lower_bound is not None
    assert 0 <= found.lower_bound <= found.size <= 64
    assert found.replay(network()) == ()
    assert found.proven or found.statistics.stopped == "time limit"


@pytest.mark.slow
@pytest.mark.parametrize("index", [15, 17])
def test_known_points_give_counterfactuals_where_no_time_is_left(
    index: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    final = Explainer.final

    def late(self: Explainer, deadline: float) -> tuple[Order, Traversal]:
        def unknown(*_: object) -> Verdict:
            asked.append(len(asked))
            return Verdict(Answer.UNKNOWN, reason="late")

        self._incumbent.traversal = None
        monkeypatch.setattr(Oracle, "check", unknown)
        monkeypatch.setattr(Oracle, "check_by_bounds", unknown)
        return final(self, deadline)

    monkeypatch.setattr(Explainer, "final", late)
    found = minimum(network(), images()[index], epsilon=0.2)
    assert found.proven
    assert asked or not found.unknown
    assert len(found.unknown) < found.size / 2
    assert found.replay(network()) == ()


def test_an_interrupt_leaves_an_explanation_and_a_bound() -> None:
    found = minimum(network(), images()[15], epsilon=0.1, progress=interrupt)
    assert found.statistics.stopped == "interrupted"
    assert found.lower_bound is not None
    assert found.lower_bound <= found.size
    assert found.replay(network()) == ()


def test_a_prediction_that_nothing_changes_has_an_empty_minimum() -> None:
    found = minimum(network(), images()[0], epsilon=0.001)
    assert (found.size, found.lower_bound, found.proven) == (0, 0, True)
    assert np.array_equal(found.irrelevant, np.arange(64))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "master"),
    [
        ({"master": "tree"}, "tree"),
        ({"master": "program", "time_limit": 20}, "program"),
        ({"method": "hitting_sets", "gap": 0.9}, "hitting sets"),
    ],
)
def test_the_effort_of_the_whole_search_is_told(options: dict[str, Any], master: str) -> None:
    found = minimum(network(), images()[15], epsilon=0.1, **options)
    took, search = found.statistics, found.statistics.search
    assert search is not None
    assert search.master == master
    assert min(search.rounds, search.scenarios, search.programs) > 0
    assert search.nodes > 0 or master == "hitting sets"
    assert min(took.checks, took.solves, took.nodes, took.iterations) > 0
    assert took.check_seconds > 0
    stages = dict(search.stages)
    assert list(stages) == [
        *("first lower bound", "first explanation", "lower bound"),
        *("better explanations", "counterfactuals"),
    ]
    assert min(stages.values()) >= 0
    assert 0 < sum(stages.values()) <= took.seconds
    assert Explanation.from_json(found.to_json()).statistics == took


def test_progress_begins_with_a_lower_bound() -> None:
    seen: list[MinimumProgress] = []
    minimum(network(), images()[13], epsilon=0.1, progress=seen.append)
    assert (seen[0].size, seen[0].rounds) == (64, 0)
    assert 0 < seen[0].lower_bound <= seen[-1].size
    assert seen[-1].lower_bound == seen[-1].size


def test_what_was_asked_is_stored() -> None:
    found = minimum(network(), images()[0], epsilon=0.1, must=[3, 1], must_not=[60])
    assert (found.must, found.must_not) == ((1, 3), (60,))
    again = Explanation.from_json(found.to_json())
    assert (again.must, again.must_not) == ((1, 3), (60,))


@pytest.mark.slow
def test_the_command_line_says_what_is_proven(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = run_here("minimum", MODEL, f"{IMAGES}:images[15]", "--epsilon", 0.1, "--json", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert "yes, proven: no explanation has fewer features" in done.stdout
    assert re.search(r"outcome +globally minimum, proven *\n", done.stdout)
    assert "locally" not in done.stdout
    assert re.search(r"search +\d+ rounds?, [1-9]\d* scenarios?, [1-9]\d* nodes?", done.stdout)
    assert re.search(r"pixels +\(row,column\) from 0: \(0,2\), ", done.stdout)
    assert Explanation.from_json(out).proven
    assert run_here("minimum", MODEL, "absent.npy", "--epsilon", 0.1).returncode == 2


@pytest.mark.parametrize("seed", range(4))
def test_roots_at_the_end_of_the_domain_have_a_minimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    constants = {
        "a": rng.uniform(0.3, 3.0, 3),
        "w": rng.normal(size=(3, 3)),
        "b": 0.1 * rng.normal(size=3),
    }
    nodes = [
        node("Mul", ["x", "a"], ["z"]),
        node("Sqrt", ["z"], ["r"]),
        node("Gemm", ["r", "w", "b"], ["y"]),
    ]
    x = 0.5 * np.random.default_rng(seed + 5).random(3)
    model = build(nodes, inputs={"x": (1, 3)}, constants=constants)
    found = minimum(model, x, epsilon=0.5, domain=(0, 1))
    assert found.lower_bound == found.size
    ends = [np.maximum(x - 0.5, 0), np.minimum(x + 0.5, 1)]
    grid = np.stack(np.meshgrid(*np.linspace(*ends, 9).T), axis=-1).reshape(-1, 3)
    for size in range(found.size):
        for kept in combinations(range(3), size):  # no smaller set explains the prediction
            rows = grid.copy()
            rows[:, kept] = x[[*kept]]
            scores = np.sqrt(rows * constants["a"]) @ constants["w"] + constants["b"]
            assert (scores.argmax(axis=1) != found.prediction).any()
