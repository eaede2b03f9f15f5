"""VeriX's loop on Marabou, beside ours: same images, same traversal order, one run after the other.

    pip install '.[peers]'
    python benchmarks/verix_marabou.py MODEL IMAGES --indices 10 --epsilon 0.05

IMAGES is a .npz file with KEY after a colon; bytes are scaled to [0, 1]. The loop is Algorithm 1 of
Wu, Wu, Barrett (NeurIPS 2023): for each feature in the order, each rival is asked for an input in
the ball that scores at least as high as the predicted class. A counterfactual is *spurious* where
onnxruntime predicts the original class for it. Our runs use the order of VeriX (sensitivity with
reversal), and then our own (influence).
"""

import argparse
import time
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

import milp_verix
from milp_verix.inputs import read_input, scale_bytes
from milp_verix.order import make_order
from milp_verix.problem import Problem, make_problem


@dataclass
class Found:
    """What a run of VeriX's loop found."""

    explanation: list[int] = field(default_factory=list)
    spurious: int = 0
    solves: int = 0
    seconds: float = 0.0
    unknown: int = 0


def verix(model: str, problem: Problem, order: tuple[int, ...], timeout: int) -> Found:
    """Run VeriX's loop on Marabou."""
    from maraboupy import Marabou

    options = Marabou.createOptions(numWorkers=1, timeoutInSeconds=timeout, verbosity=0)
    x = problem.x.astype(np.float64)
    label = int(np.argmax(problem.network.evaluate(problem.x)))
    rivals = [j for j in range(problem.network.output_size) if j != label]
    found, irrelevant = Found(), np.zeros(x.size, dtype=bool)
    started = time.monotonic()
    for feature in order:
        free = irrelevant.copy()
        free[problem.features.groups[feature]] = True
        held = True
        for rival in rivals:
            network = Marabou.read_onnx(model)
            inputs = np.asarray(network.inputVars[0]).reshape(-1)
            outputs = np.asarray(network.outputVars[0]).reshape(-1)
            for i, variable in enumerate(inputs):
                low, high = problem.ball.outer.lower[i], problem.ball.outer.upper[i]
                network.setLowerBound(variable, low if free[i] else x[i])
                network.setUpperBound(variable, high if free[i] else x[i])
            network.addInequality([outputs[label], outputs[rival]], [1, -1], 0)
            answer, values, _ = network.solve(verbose=False, options=options)
            found.solves += 1
            if answer == "unsat":
                continue
            held = False
            if answer == "sat":
                point = np.array([values[variable] for variable in inputs])
                found.spurious += not _changes(problem, point, label)
            else:
                found.unknown += 1
            break
        if held:
            irrelevant = free
        else:
            found.explanation.append(feature)
    found.seconds = time.monotonic() - started
    return found


def _changes(problem: Problem, point: NDArray[np.float64], label: int) -> bool:
    scores: NDArray[Any] = problem.network.evaluate(point.astype(problem.x.dtype))
    return int(np.argmax(scores)) != label


def main() -> int:
    """Run the comparison; return the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("images")
    parser.add_argument(
        "--indices", default="10", help="numbers of the images, with commas between"
    )
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--features", default=None)
    parser.add_argument("--timeout", type=int, default=300, help="seconds for a Marabou query")
    parser.add_argument("--solvers", default="highs,phase")
    arguments = parser.parse_args()

    network = milp_verix.load_network(arguments.model)
    ratios: dict[str, list[float]] = {}
    print("| image | method | size | unknown | spurious | solves | seconds | times faster |")
    print("|---|---|---|---|---|---|---|---|")
    for index in arguments.indices.split(","):
        image = read_input(f"{arguments.images}[{index}]", network.input_shape)
        x = scale_bytes(image, (0.0, 1.0), network.dtype)
        options = {"epsilon": arguments.epsilon, "features": arguments.features}
        problem = make_problem(network, x, **options)
        order = make_order(problem, "sensitivity").permutation
        peer = verix(arguments.model, problem, order, arguments.timeout)
        print(
            f"| {index} | VeriX on Marabou | {len(peer.explanation)} | {peer.unknown} "
            f"| {peer.spurious} | {peer.solves} | {peer.seconds:.1f} | 1 |",
            flush=True,
        )
        for solver in arguments.solvers.split(","):
            for name in ("sensitivity", "influence"):
                ours = milp_verix.explain(network, x, solver=solver, order=name, **options)
                failing = len(ours.replay(network))
                ratio = peer.seconds / ours.statistics.seconds
                ratios.setdefault(f"{solver}, {name}", []).append(ratio)
                print(
                    f"| {index} | {solver}, {name} | {ours.size} | {len(ours.unknown)} | {failing} "
                    f"| {ours.statistics.solves} | {ours.statistics.seconds:.2f} | {ratio:.0f} |",
                    flush=True,
                )
    for method, values in ratios.items():
        print(f"median of {method}: {median(values):.0f} times faster")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
