"""Inputs, thresholds and radii near the ends of float64: answers, sentences, pictures, reports."""

import json
import warnings

import numpy as np
import pytest

from milp_verix import InputError, Problem, Search, write_report
from tests.support.onnx_models import DOUBLE, build, node

SOON = Search(time_limit=2)
ROWS = np.random.default_rng(0).normal(size=(60, 4))
CLASSES = (ROWS @ [1, -1, 0.5, 0.2] > 0).astype(int)


def model_for(kind: str, scale: float) -> object:
    """Return boosted trees with thresholds of the size ``scale``, or a network of the inputs."""
    if kind == "trees":
        lightgbm = pytest.importorskip("lightgbm")
        trees = lightgbm.LGBMClassifier(n_estimators=3, min_child_samples=3, verbose=-1)
        return trees.fit(ROWS * scale, CLASSES)
    nodes = [node("MatMul", ["x", "V"], ["v"]), node("Relu", ["v"], ["r"])]
    constants = {"V": np.eye(4) - 0.3, "W": np.eye(4)[:, :2] + 0.1}
    last = node("MatMul", ["r", "W"], ["y"])
    return build([*nodes, last], inputs={"x": (1, 4)}, constants=constants, elem=DOUBLE)


@pytest.mark.parametrize("scale", [1e200, 1e29, 1e-200, 1e-310])
@pytest.mark.parametrize("kind", ["trees", "network"])
def test_extreme_numbers_are_answered_and_told(kind: str, scale: float) -> None:
    model, x = model_for(kind, scale), ROWS[:1] * scale
    problem = Problem(model, x, epsilon=0.7 * scale, domain=(-10 * scale, 10 * scale))
    nearest = problem.contrastive(minimise="distance", search=SOON)
    for found in (
        problem.explain(search=SOON),
        problem.minimum(search=SOON),
        nearest,
        problem.radius(search=SOON),
        problem.inflate(search=SOON),
    ):
        assert found.sentence() or found.summary()
        assert json.loads(found.to_json())
        assert found.plot()
        assert write_report(found)


@pytest.mark.parametrize("least", [0.0, -1.0])
def test_numbers_next_to_the_largest_are_answered_told_and_drawn(least: float) -> None:
    """Radii and widths overflowed, so did the ticks of pictures."""
    lightgbm = pytest.importorskip("lightgbm")
    top = 1.75e308
    rows = np.tile(np.array([[0.0, 0], [1, 0], [2, 1], [3, 1]]) * (top / 3), (30, 1))
    trees = lightgbm.LGBMClassifier(n_estimators=3, min_child_samples=1, verbose=-1)
    trees.fit(rows, rows[:, 0] > top / 2)
    problem = Problem(trees, np.zeros(2), epsilon=top / 2, domain=(least * top, top))
    around = Problem(trees, np.zeros(2), epsilon=top / 2, norm="l2", domain=(least * top, top))
    with warnings.catch_warnings(action="error"):
        each = problem.radius(each=True, search=SOON)
        results = [problem.audit([1], search=SOON), problem.contrastive(search=SOON), each]
        if not least:  # the reach of the L2 ball is no number
            results.append(problem.radius(search=SOON))
        for found in (around.explain(search=SOON), *results):
            assert found.plot().render()
    assert each.brackets[0].upper == pytest.approx(top / 2, rel=0.01)
    with pytest.raises(InputError, match="as wide as no float64 number"):
        around.radius(search=SOON)


def test_numbers_below_the_least_normal_one_are_answered() -> None:
    """Bounds that rounding crosses ended in a traceback."""
    scale = 1e-320
    constants = {
        "W": np.array([[1, -1, 0.1], [0.5, 0.25, -1]]),
        "b": np.array([-1.5, 1.0, 0.2]) * scale,
        "V": np.array([[1, -0.5], [-1, 1], [0.5, 1]]),
    }
    nodes = [node("Gemm", ["x", "W", "b"], ["z"]), node("Relu", ["z"], ["r"])]
    last = node("MatMul", ["r", "V"], ["y"])
    model = build([*nodes, last], inputs={"x": (1, 2)}, constants=constants, elem=DOUBLE)
    x = np.array([[0.1, 0.2]]) * scale
    problem = Problem(model, x, epsilon=2 * scale, domain=(0, 3 * scale))
    for ask in (problem.radius, problem.contrastive, problem.inflate, problem.minimum):
        assert ask(search=SOON).to_json()
