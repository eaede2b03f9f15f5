"""The solvers installed here, as a parameter of tests; the others are skipped by name."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from milp_verix.errors import SolverUnavailableError
from milp_verix.solvers import SOLVERS, open_session
from verix_encodings import Program, ProgramBuilder


@cache
def why_not(name: str) -> str | None:
    """Return why a solver cannot be used here, or None; looks for a licence too."""
    try:
        open_session(name).close()
    except SolverUnavailableError as error:
        return str(error)
    return None


def needs(name: str) -> pytest.MarkDecorator:
    """Return the mark of a test that needs the solver called ``name``."""
    return pytest.mark.skipif(why_not(name) is not None, reason=f"{why_not(name)}")


each_solver = pytest.mark.parametrize(
    "solver", [pytest.param(name, marks=needs(name)) for name in SOLVERS]
)


def hard_program() -> Program:
    """Return a program that takes branch and bound hours: a market split with slacks.

    ``min Σ s`` over ``|A x − ½ A 1| ≤ s`` with 40 binaries: the relaxation costs nothing, and next
    to no assignment of the binaries does (Cornuéjols and Dawande, IPCO 1998).
    """
    rng = np.random.default_rng(0)
    A = sp.csr_array(rng.integers(0, 100, (5, 40)).astype(float))
    split = np.floor(A.sum(axis=1) / 2)
    one = sp.eye_array(5, format="csr")
    builder = ProgramBuilder()
    s = builder.add_columns("s", np.arange(5), 0.0, 1e4)
    x = builder.add_columns("x", np.arange(40), 0.0, 1.0, integer=True)
    builder.add_rows("above", np.arange(5), [(A, x), (-one, s)], -np.inf, split)
    builder.add_rows("below", np.arange(5), [(A, x), (one, s)], split, np.inf)
    return builder.build()


def hard_cost() -> np.ndarray:
    """Return the cost of :func:`hard_program`."""
    return np.concatenate([np.ones(5), np.zeros(40)])
