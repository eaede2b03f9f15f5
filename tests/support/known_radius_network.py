"""A network whose critical radius is known: ``f(x) = (|x₀ − ½|, ¼)`` at ``x₀ = ½``.

The lead of class 0 over the predicted class 1 is ``|x₀ − ½| − ¼``, so the prediction survives
exactly where ``ε < ¼``. Interval arithmetic takes ``|x₀ − ½|`` for anything up to 2 ε: between ⅛
and ¼ only a solver can tell.
"""

from pathlib import Path

import numpy as np

from milp_verix import OnnxNetwork, Problem, Tolerances, Verdict
from milp_verix.base.clock import deadline_in
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.search import Search
from tests.support.onnx_models import DOUBLE
from tests.support.random_networks import as_layers, dense_network
from verix_encodings import BoundMethod, interval_bounds

CRITICAL = 0.25
X = np.array([0.5])


def valley(folder: Path, scale: float = 1.0, *, regression: bool = False) -> OnnxNetwork:
    """Return the network; ``scale`` multiplies the first layer and divides the second."""
    first = ([[scale], [-scale]], [-scale / 2, scale / 2])
    second = ([[1 / scale, 1 / scale], [0, 0]], [0, CRITICAL])
    if regression:
        second = ([[1 / scale, 1 / scale]], [0])
    return dense_network(as_layers(first, second), folder, DOUBLE)


def checked(
    network: OnnxNetwork,
    epsilon: float,
    *,
    solver: str = "phase",
    seconds: float = np.inf,
    tolerances: Tolerances | None = None,
    bounds: BoundMethod = interval_bounds,
    delta: float | None = None,
) -> Verdict:
    """Check the one feature in a way that leaves the answer to the solver."""
    problem = Problem(network, X, epsilon=epsilon, delta=delta)
    with Oracle(
        problem,
        Search(solver=solver, bounds=bounds, tolerances=tolerances or Tolerances(), reuse=False),
    ) as oracle:
        return oracle.check(np.array([0]), deadline_in(seconds))
