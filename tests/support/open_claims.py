"""A claim that bounds leave open, for the engines that split."""

from pathlib import Path

import numpy as np

from milp_verix import Problem
from milp_verix.base.clock import Deadline
from milp_verix.oracle.engines.engine import Claim
from tests.support.random_networks import dense_network, random_layers
from verix_encodings import interval_bounds


def open_claim(folder: Path, deadline: Deadline) -> tuple[Problem, Claim]:
    """Return a problem of six inputs, and the claim that all of them may change."""
    layers = random_layers(np.random.default_rng(1), (6, 20, 20, 3))
    problem = Problem(dense_network(layers, folder), np.full(6, 0.5), epsilon=0.25)
    free = np.arange(6)
    region = problem.ball.region(free)
    bounds = interval_bounds(problem.margins, region)
    upper = bounds[-1].upper
    needed = np.full(2, 1e-6)
    claim = Claim(
        problem.margins, free, region, bounds, np.argsort(-upper), needed, upper, deadline
    )
    return problem, claim
