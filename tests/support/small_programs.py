"""Small programs, and what every session must say of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from milp_verix.solvers import Session, SolveStatus, Targets
from tests.support.random_networks import cube, network_of, random_layers
from tests.support.scipy_reference import optimum, over
from verix_encodings import Program, ProgramBuilder


def every_kind() -> Program:
    """Rows of every sense, columns of every kind of bound, integers next to continuous ones."""
    builder = ProgramBuilder()
    x = builder.add_columns("x", np.arange(3), [-np.inf, -np.inf, 1.5], [np.inf, 2.25, np.inf])
    k = builder.add_columns("k", np.arange(2), [-3, 0], [5, 1], integer=True)
    y = builder.add_columns("y", np.array([7]), -0.1, 0.3)
    columns = np.concatenate([x, k, y])
    matrix = sp.csr_array(np.random.default_rng(1).integers(-4, 5, (4, 6)) / 3)
    low, high = [-np.inf, -1.0, 0.25, -2.5], [10.0, np.inf, 0.25, 0.5]
    builder.add_rows("row", np.arange(4), [(matrix, columns)], low, high)
    # keeps the program bounded
    builder.add_rows("box", np.arange(3), [(sp.eye_array(3, format="csr"), x)], -8.0, 8.0)
    return builder.build()


def small_multiple(factor: float, most: float) -> Program:
    """Return the program of ``y = factor x`` with ``x`` up to ``most`` and ``y`` up to 1."""
    builder = ProgramBuilder()
    x = builder.add_columns("x", np.arange(1), 0.0, most)
    y = builder.add_columns("y", np.arange(1), 0.0, 1.0)
    one = sp.csr_array([[1.0]])
    builder.add_rows("define", np.arange(1), [(one, y), (-factor * one, x)], 0.0, 0.0)
    return builder.build()


def random_program(seed: int) -> Program:
    """Return a program of six binaries, six continuous columns and eight rows, never empty."""
    rng = np.random.default_rng(seed)
    builder = ProgramBuilder()
    d = builder.add_columns("d", np.arange(6), 0.0, 1.0, integer=True)
    v = builder.add_columns("v", np.arange(6), -2.0, 2.0)
    rows = rng.normal(size=(8, 12)) * (rng.random((8, 12)) < 0.6)
    terms = [(sp.csr_array(rows), np.concatenate([d, v]))]
    # zero is feasible
    builder.add_rows("row", np.arange(8), terms, -rng.uniform(0, 2, 8), rng.uniform(0, 2, 8))
    return builder.build()


def assert_same_as_fresh(session: Session, program: Program, cost: NDArray[np.float64]) -> None:
    best, _ = optimum(program, cost)
    result = session.minimise(cost, Targets())
    assert result.status is SolveStatus.OPTIMAL
    assert result.bound == pytest.approx(best, abs=2e-5, rel=2e-5)
    assert result.bound <= best + 1e-8
    assert result.point is not None
    assert cost @ result.point == pytest.approx(best, abs=1e-6)


def small_program() -> Program:
    """Return the program of a network of three inputs and four neurons over the unit cube."""
    return over(network_of(random_layers(np.random.default_rng(0), (3, 4, 2))), cube(3)).program
