"""Limits hold for each solve of a session, the later ones too."""

import time

import numpy as np
import pytest

from milp_verix.solvers import SOLVERS, SolveStatus, Targets, open_session
from tests.support.random_networks import network_of, random_layers
from verix_encodings import Interval, crown_bounds, encode


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_each_solve_of_a_session_keeps_its_limit(solver: str) -> None:
    if reason := SOLVERS[solver].unavailable():
        pytest.skip(reason)
    # half a second of limit against minutes of work, so that a busy machine cannot blur the two
    network = network_of(random_layers(np.random.default_rng(0), (100, 80, 80, 5)))
    box = Interval(np.full(100, 0.2), np.full(100, 0.8))
    encoding = encode(network, crown_bounds(network, box))
    cost, _ = encoding.output.row(0, encoding.program.columns)
    session = open_session(solver)
    session.load(encoding.program)
    for _ in range(3):
        started = time.monotonic()
        result = session.minimise(-cost, Targets(seconds=0.5))
        assert result.status is SolveStatus.TIME_LIMIT
        assert 0.45 < time.monotonic() - started < 8
    session.close()
