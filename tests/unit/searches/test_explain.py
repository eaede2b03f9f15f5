"""An explanation keeps its promises: finished, interrupted, out of time, whatever it is given."""

from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import Explanation, Progress, check, explain
from milp_verix.models.onnx.onnx_network import OnnxNetwork
from milp_verix.oracle.verdict import Statistics
from milp_verix.searches.strategies import STRATEGIES
from tests.support import digits_example as digits
from tests.support.brute_force_cases import case
from tests.support.counterfactual_checks import assert_sound
from tests.support.installed_solvers import each_solver
from tests.support.onnx_models import DOUBLE, FLOAT16
from tests.support.random_networks import as_layers, dense_network, random_layers
from tests.support.unsolvable_problems import HARD_OPTIONS, HARD_X, hard_network


def comparable(explanation: Explanation) -> tuple[Any, ...]:
    """Return all of an explanation but the time that it took."""
    counterfactuals = {
        feature: (found.input.tobytes(), found.prediction)
        for feature, found in explanation.counterfactuals.items()
    }
    stages = tuple(replace(stage, seconds=0.0) for stage in explanation.statistics.stages)
    solvers = tuple(replace(solver, seconds=0.0) for solver in explanation.statistics.solvers)
    timeless = replace(
        explanation.statistics, seconds=0.0, check_seconds=0.0, stages=stages, solvers=solvers
    )
    return (
        explanation.explanation,
        explanation.irrelevant,
        explanation.permutation,
        explanation.sensitivity,
        counterfactuals,
        timeless,
    )


@pytest.mark.parametrize("index", [3, 11, 15, 16])
@pytest.mark.parametrize("order", ["sensitivity", "random"])
def test_explanations_of_images_are_sound_and_minimal(index: int, order: str) -> None:
    found = digits.explained(index, order=order)
    assert found.minimal
    assert found.unknown == ()
    assert found.statistics.stopped is None
    assert 0 < found.size < 64
    assert found.input.tobytes() == digits.images()[index].tobytes()
    assert_sound(found, digits.network(), digits.images()[index])
    assert found.replay(digits.network()) == ()


@each_solver
def test_each_claim_of_an_explanation_is_confirmed_from_scratch(solver: str) -> None:
    found, x = digits.explained(15), digits.images()[15]
    options: dict[str, Any] = {"epsilon": digits.EPSILON, "solver": solver}
    assert check(digits.network(), x, found.irrelevant, **options).holds
    for feature in found.explanation[::7]:
        assert check(digits.network(), x, [*found.irrelevant, feature], **options).violated


def test_explanations_are_the_same_each_time() -> None:
    options: dict[str, Any] = {"epsilon": digits.EPSILON, "order": "random", "seed": 5}
    first = explain(digits.network(), digits.images()[11], **options)
    second = explain(digits.network(), digits.images()[11], **options)
    assert comparable(first) == comparable(second)


def test_statistics_add_up() -> None:
    found = digits.explained(15, traversal="sequential")
    statistics = found.statistics
    assert statistics.checks == 64
    assert statistics.flips <= len(found.counterfactuals)
    assert [stage.stage for stage in statistics.stages] == [
        "known points",
        "bounds",
        "derivative bounds",
        "optimised slopes",
        "trees of phases",
        "solves",
    ]
    assert sum(stage.features for stage in statistics.stages) == 64
    assert statistics.stages[0].features == statistics.flips
    assert sum(stage.seconds for stage in statistics.stages) == pytest.approx(
        statistics.check_seconds
    )
    assert 0 < statistics.check_seconds <= statistics.seconds


def test_progress_is_told_around_each_check_with_a_sound_snapshot() -> None:
    seen: list[Progress] = []
    snapshots: list[Explanation] = []

    def look(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) % 9 == 1:
            snapshots.append(progress.snapshot())

    x = digits.images()[15]
    found = explain(digits.network(), x, epsilon=digits.EPSILON, progress=look)
    done = [progress.done for progress in seen]
    assert done == sorted(done)
    # before each check, and after each decision
    assert {progress.activity for progress in seen} >= {"", "bounding 64 features"}
    assert any(p.activity.startswith("checking ") for p in seen)
    assert any(p.activity.endswith(" by solves") for p in seen)
    assert done[-1] == 64
    assert {progress.total for progress in seen} == {64}
    sizes = [progress.explanation_size for progress in seen]
    assert sizes == sorted(sizes)
    assert sizes[-1] == found.size
    assert len(snapshots) > 1
    for progress, snapshot in zip(seen[::9], snapshots, strict=True):
        assert_sound(snapshot, digits.network(), x)
        assert len(snapshot.unknown) == 64 - progress.done
        assert set(snapshot.unknown_reasons.values()) <= {"not checked yet"}
        assert set(snapshot.irrelevant) <= set(found.irrelevant)
        assert set(snapshot.counterfactuals) <= set(found.explanation)


@pytest.mark.slow
@pytest.mark.parametrize("traversal", STRATEGIES)
@pytest.mark.parametrize("seed", range(6))
def test_ctrl_c_after_any_step_keeps_what_was_proven(
    seed: int, traversal: str, tmp_path: Path
) -> None:
    problem = case(seed)
    network = problem.network(tmp_path)
    options: dict[str, Any] = {"order": "random", "traversal": traversal, **problem.options}
    steps: list[int] = []
    whole = explain(network, problem.x, progress=lambda p: steps.append(p.done), **options)

    def interrupt_at(step: int) -> Callable[[Progress], None]:
        def interrupt(progress: Progress) -> None:
            if progress.done == step:
                raise KeyboardInterrupt

        return interrupt

    for step in steps:
        part = explain(network, problem.x, progress=interrupt_at(step), **options)
        assert part.statistics.stopped == "interrupted"
        assert len(part.unknown) == len(problem.groups) - step
        assert set(part.irrelevant) <= set(whole.irrelevant)
        assert set(part.counterfactuals) <= set(whole.explanation)
        assert set(part.unknown_reasons.values()) <= {"interrupted"}
        assert_sound(part, network, problem.x)


def test_no_time_leaves_everything_in_the_explanation() -> None:
    x = digits.images()[15]
    found = explain(digits.network(), x, epsilon=digits.EPSILON, time_limit=1e-9)
    assert found.explanation == found.unknown == tuple(range(64))
    assert found.statistics.stopped == "time limit"
    assert set(found.unknown_reasons.values()) == {"time limit"}
    assert not found.minimal
    assert_sound(found, digits.network(), x)


def hard_explanation(network: OnnxNetwork, **options: Any) -> Explanation:
    """Explain the hard network, feature after feature."""
    in_turn = {"order": "sequential", "traversal": "sequential"}
    return explain(network, HARD_X, **in_turn, **options, **HARD_OPTIONS)


@pytest.mark.slow
@each_solver
def test_a_time_limit_in_the_middle_of_a_check(solver: str, tmp_path: Path) -> None:
    network = hard_network(tmp_path)
    features = [[0], [1], list(range(2, 18)), [18], [19]]
    found = hard_explanation(network, features=features, solver=solver, time_limit=1.0)
    assert found.statistics.stopped == "time limit"
    assert found.statistics.checks >= 3
    assert 2 in found.unknown
    assert {*found.unknown} <= {2, 3, 4}
    assert {*found.unknown_reasons.values()} == {"time limit"}
    assert_sound(found, network, HARD_X.astype(np.float32))


@each_solver
def test_a_time_limit_for_each_check_skips_what_is_hard(solver: str, tmp_path: Path) -> None:
    network = hard_network(tmp_path)
    features = [[0], list(range(1, 19)), [19]]
    found = hard_explanation(network, features=features, solver=solver, check_time_limit=0.5)
    assert found.statistics.stopped is None
    assert found.statistics.checks == 3
    assert found.unknown_reasons == {1: "time limit"}
    assert {0, 2} == set(found.irrelevant) | set(found.counterfactuals)
    assert_sound(found, network, HARD_X.astype(np.float32))


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_a_smaller_ball_never_breaks_what_holds(seed: int, tmp_path: Path) -> None:
    problem = case(seed)
    network, options = problem.network(tmp_path), dict(problem.options)
    epsilon = options.pop("epsilon")
    free = problem.subsets(1)[1]
    rank = {"violated": 0, "unknown": 1, "holds": 2}
    shrinking = [
        rank[check(network, problem.x, free, epsilon=t * epsilon, **options).answer.value]
        for t in (1.5, 1.0, 0.7, 0.4, 0.1)
    ]
    assert shrinking == sorted(shrinking)
    fewer = [
        rank[check(network, problem.x, free[:n], epsilon=epsilon, **options).answer.value]
        for n in range(len(free), -1, -1)
    ]
    assert fewer == sorted(fewer)


def test_without_a_radius_nothing_needs_explaining() -> None:
    found = explain(digits.network(), digits.images()[15], epsilon=0.0)
    assert found.size == 0
    assert found.irrelevant == tuple(range(64))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(64,), (8, 8), (1, 8, 8), (1, 1, 8, 8)])
def test_the_input_may_come_in_any_shape_and_is_left_alone(
    shape: tuple[int, ...], dtype: type
) -> None:
    x = digits.images()[15].reshape(shape).astype(dtype)
    before = x.copy()
    found = explain(digits.network(), x, epsilon=digits.EPSILON)
    assert x.flags.writeable
    assert x.tobytes() == before.tobytes()
    assert found.explanation == digits.explained(15).explanation
    assert found.input.shape == (1, 1, 8, 8)
    assert found.input.dtype == np.float32
    assert not np.shares_memory(found.input, x)


def test_the_network_may_be_a_path() -> None:
    x = digits.images()[15]
    for path in (digits.MODEL, str(digits.MODEL)):
        found = explain(path, x, epsilon=0.0)
        assert found.model.sha256 == digits.network().sha256
        assert found.model.file == "digits.onnx"


def test_a_value_that_rounds_out_of_the_domain_is_moved_inside(tmp_path: Path) -> None:
    # 0.1 in float32 is above 0.1, and the domain ends there
    network = dense_network(random_layers(np.random.default_rng(0), (2, 3, 2)), tmp_path)
    found = explain(network, [0.1, 0.0], epsilon=0.5, domain=(0.0, 0.1))
    assert float(found.input[0, 0]) <= 0.1
    assert_sound(found, network, found.input.reshape(-1))


@pytest.mark.parametrize("seed", range(5))
def test_half_precision_is_replayed_in_half_precision(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    layers = [
        (matrix.astype(np.float16).astype(float), bias.astype(np.float16).astype(float))
        for matrix, bias in random_layers(rng, (5, 6, 3))
    ]
    network = dense_network(layers, tmp_path, FLOAT16)
    x = rng.uniform(size=5).astype(np.float16)
    found = explain(network, x, epsilon=0.3, order="random")
    assert found.size > 0
    assert found.input.dtype == np.float16
    assert_sound(found, network, x)


def test_one_output_of_a_regression(tmp_path: Path) -> None:
    # the outputs depend on one input each
    layers = as_layers(([[1, 0], [0, 1]], [0, 0]), ([[1, 0], [0, 1]], [0, 0]))
    network = dense_network(layers, tmp_path, DOUBLE)
    options: dict[str, Any] = {"epsilon": 0.25, "delta": 0.125}
    assert explain(network, [0.5, 0.5], **options).explanation == (0, 1)
    assert explain(network, [0.5, 0.5], output=0, **options).explanation == (0,)
    found = explain(network, [0.5, 0.5], output=1, **options)
    assert found.explanation == (1,)
    assert (found.output, found.prediction, found.delta) == (1, (0.5,), 0.125)


def test_nobody_can_change_an_explanation() -> None:
    found = explain(digits.network(), digits.images()[15], epsilon=digits.EPSILON)
    with pytest.raises(FrozenInstanceError):
        found.epsilon = 0.5
    with pytest.raises(FrozenInstanceError):
        found.statistics.seconds = 0.0
    arrays = [found.input, *(c.input for c in found.counterfactuals.values())]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    for mapping in (found.counterfactuals, found.unknown_reasons, found.versions):
        with pytest.raises(TypeError):
            mapping[0] = None
    for sequence in (found.explanation, found.irrelevant, found.groups, found.permutation):
        assert isinstance(sequence, tuple)


def test_an_explanation_says_what_it_was_made_with() -> None:
    found = digits.explained(15)
    assert (found.epsilon, found.norm, found.delta) == (digits.EPSILON, "linf", None)
    assert (found.order, found.domain) == ("influence", (0.0, 1.0))
    assert found.feature_shape == (8, 8)
    assert found.sensitivity is not None
    assert len(found.sensitivity) == 64
    assert found.solver in found.versions
    assert {"python", "numpy", "onnx", "onnxruntime"} <= set(found.versions)
    assert isinstance(found.statistics, Statistics)
