"""VeriX's loop on Marabou: Algorithm 1 of Wu, Wu, Barrett (NeurIPS 2023), by maraboupy.

For each feature in the order, each rival is asked for an input in the ball that scores at least as
high as the predicted class. The network is read once. A counterfactual is *spurious* where
onnxruntime predicts the original class for it.
"""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milp_verix import Problem


@dataclass(frozen=True)
class Found:
    """The explanation of a run in numbers: its size, its doubts and its cost."""

    size: int
    unknown: int
    spurious: int
    solves: int
    seconds: float


def verix(model: str, problem: Problem, order: Sequence[int], timeout: int = 300) -> Found:
    """Run the loop; ``timeout`` is in seconds, for one query."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parsers for formats that are not asked for
        from maraboupy import Marabou
    started = time.monotonic()
    options = Marabou.createOptions(numWorkers=1, timeoutInSeconds=timeout, verbosity=0)
    x = problem.x.astype(np.float64)
    low, high = problem.ball.outer.lower, problem.ball.outer.upper
    label = int(np.argmax(problem.network.evaluate(problem.x)))
    rivals = [j for j in range(problem.network.output_size) if j != label]
    irrelevant = np.zeros(x.size, dtype=bool)
    size = unknown = spurious = solves = 0
    network = Marabou.read_onnx(model)
    inputs = np.asarray(network.inputVars[0]).reshape(-1)
    outputs = np.asarray(network.outputVars[0]).reshape(-1)
    for feature in order:
        free = irrelevant.copy()
        free[problem.features.groups[feature]] = True
        held = True
        for rival in rivals:
            network.clearProperty()
            for i, variable in enumerate(inputs):
                network.setLowerBound(variable, low[i] if free[i] else x[i])
                network.setUpperBound(variable, high[i] if free[i] else x[i])
            network.addInequality([outputs[label], outputs[rival]], [1, -1], 0, isProperty=True)
            answer, values, _ = network.solve(verbose=False, options=options)
            solves += 1
            if answer == "unsat":
                continue
            held = False
            if answer == "sat":
                point = np.array([values[variable] for variable in inputs])
                scores = problem.network.evaluate(point.astype(problem.x.dtype))
                spurious += int(np.argmax(scores)) == label
            else:
                unknown += 1
            break
        irrelevant = free if held else irrelevant
        size += not held
    return Found(size, unknown, spurious, solves, time.monotonic() - started)
