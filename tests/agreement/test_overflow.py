"""Numbers near the ends of float64: one clear line or an honest unknown, never a traceback."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from milp_verix import OnnxNetwork, explain
from tests.support.installed_solvers import each_solver
from tests.support.onnx_models import DOUBLE
from tests.support.random_networks import dense_network


def steep(folder: Path) -> OnnxNetwork:
    """Return a network that is zero at zero; anywhere else it soon leaves float64."""
    rng = np.random.default_rng(0)
    sizes = ((4, 4), (3, 4), (3, 3))
    layers = [(rng.normal(size=size) * 1e140, np.zeros(size[0])) for size in sizes]
    return dense_network(layers, folder, DOUBLE)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
@pytest.mark.parametrize("delta", [None, 0.5])
def test_slopes_that_overflow_decide_nothing(
    delta: float | None, norm: str, tmp_path: Path
) -> None:
    network, x = steep(tmp_path), np.zeros(4)
    found = explain(network, x, epsilon=0.3, delta=delta, norm=norm, order="sequential")
    assert found.size == 4
    assert found.replay(network) == ()


@pytest.mark.parametrize("order", ["influence", "adaptive", "bound", "bound_crown", "margin"])
def test_an_order_whose_bounds_overflow_is_replaced(order: str, tmp_path: Path) -> None:
    found = explain(steep(tmp_path), np.zeros(4), epsilon=0.3, order=order)
    assert found.order == "sequential"
    assert any(f"order '{order}'" in note and "overflow float64" in note for note in found.notes)


@each_solver
@pytest.mark.parametrize("seed", [46, 53])
def test_large_terms_that_cancel_prove_nothing(solver: str, seed: int, tmp_path: Path) -> None:
    """``m(x) = s₀ (w₀ x₀ + c₀) − s₁ (w₁ x₀ + c₁) + |x₁ − x₀| − k``, with ``s₀ w₀ ≈ s₁ w₁``."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(4, 8)
    w, c = rng.uniform(1, 2, 2) * scale, rng.uniform(1, 2, 2) * scale
    first = np.array([[w[0], 0], [w[1], 0], [-1, 1], [1, -1]]), np.array([c[0], c[1], 0, 0])
    s = rng.uniform(1, 2) * scale
    t = s * w[0] / w[1]
    ends = [(Fraction(a), Fraction(b)) for a in (0, 1) for b in (0, 1)]
    # m is convex, so it is largest at a corner
    highest = max(
        Fraction(s) * (Fraction(w[0]) * a + Fraction(c[0]))
        - Fraction(t) * (Fraction(w[1]) * a + Fraction(c[1]))
        + abs(b - a)
        for a, b in ends
    )
    k = float(highest - Fraction(rng.uniform(0.05, 1) * scale**2 * 1e-16))
    assert highest > Fraction(k)
    layers = (first, (np.array([[0, 0, 0, 0], [s, -t, 1, 1]]), np.array([0, -k])))
    found = explain(
        dense_network(layers, tmp_path, DOUBLE), np.full(2, 0.5), epsilon=0.5, solver=solver
    )
    assert found.prediction == 0
    assert found.explanation
