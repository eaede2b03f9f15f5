"""Problems that no solver finishes in the seconds of a test, however fast the machine."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from milp_verix import OnnxNetwork
from tests.support.random_networks import dense_network, random_layers
from verix_encodings import Program, ProgramBuilder


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


def hard_cost() -> NDArray[np.float64]:
    """Return the cost of :func:`hard_program`."""
    return np.concatenate([np.ones(5), np.zeros(40)])


HARD_X = np.full(20, 0.5)
HARD_OPTIONS: dict[str, Any] = {"epsilon": 0.3, "delta": 100.0}


def hard_network(folder: Path) -> OnnxNetwork:
    """Return a deep regression that no corner of the ball moves by ``delta``, nor a proof shows.

    With few features free the claim is easy; with all of them the output moves by 63 at the worst
    of 20 000 corners, and the bounds allow for thousands.
    """
    return dense_network(random_layers(np.random.default_rng(0), (20, 50, 50, 50, 1)), folder)
