"""Inputs, thresholds and radii near the ends of float64: answers, sentences, pictures, reports."""

import json

import numpy as np
import pytest

from milp_verix import Problem, Search, write_report
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
