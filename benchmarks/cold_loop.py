"""The plainest loop: bounds, then a new program by default parameters for each rival.

Nothing is kept from one check to the next: each encodes its ball and gives every rival that the
bounds leave open to HiGHS as it is installed.
"""

import time
from collections.abc import Sequence

import numpy as np
from defaults import highs
from verix_marabou import Found

from milp_verix import Problem
from verix_encodings import crown_bounds, encode


def cold_loop(problem: Problem, order: Sequence[int]) -> Found:
    """Run Algorithm 1 in ``order`` with cold solves."""
    started = time.monotonic()
    margins = problem.margins
    irrelevant: list[int] = []
    solves = 0
    for feature in order:
        free = problem.features.coordinates([*irrelevant, feature])
        bounds = crown_bounds(margins, problem.ball.region(free))
        held = True
        for rival in np.flatnonzero(bounds[-1].upper >= 0):
            encoding = encode(margins, bounds)
            row, constant = encoding.output.row(int(rival), encoding.program.columns)
            solves += 1
            if constant - highs(encoding.program, -row, np.inf).bound >= 0:
                held = False
                break
        if held:
            irrelevant.append(feature)
    size = len(order) - len(irrelevant)
    return Found(size, 0, 0, solves, time.monotonic() - started)
