"""Explain the same images with several solvers, side by side: sizes, seconds, solves.

    python benchmarks/solvers.py MODEL IMAGES --epsilon 0.05 --solvers highs,cbc,gurobi

IMAGES is a .npz file with KEY after a colon; bytes are scaled to [0, 1]. The solvers take turns on
each image, so that a noisy machine treats them alike. Exits with 1 where solvers that decided
everything disagree.
"""

import argparse
from statistics import median

import milp_verix
from milp_verix.inputs import read_input, scale_bytes


def main() -> int:
    """Run the comparison; return the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("images")
    parser.add_argument("--indices", default="0", help="numbers of the images, with commas between")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--solvers", default="highs,cbc")
    parser.add_argument("--features", default=None)
    parser.add_argument("--time-limit", type=float, default=None)
    arguments = parser.parse_args()

    network = milp_verix.load_network(arguments.model)
    solvers = arguments.solvers.split(",")
    found: dict[str, list[milp_verix.Explanation]] = {solver: [] for solver in solvers}
    disagreements = 0
    print("| image | prediction | solver | size | unknown | seconds | checks | solves | replay |")
    print("|---|---|---|---|---|---|---|---|---|")
    for index in arguments.indices.split(","):
        image = read_input(f"{arguments.images}[{index}]", network.input_shape)
        x = scale_bytes(image, (0.0, 1.0), network.dtype)
        for solver in solvers:
            explanation = milp_verix.explain(
                network,
                x,
                epsilon=arguments.epsilon,
                solver=solver,
                features=arguments.features,
                time_limit=arguments.time_limit,
            )
            found[solver].append(explanation)
            failing = explanation.replay(network)
            statistics = explanation.statistics
            print(
                f"| {index} | {explanation.prediction} | {solver} | {explanation.size} "
                f"| {len(explanation.unknown)} | {statistics.seconds:.1f} | {statistics.checks} "
                f"| {statistics.solves} | {len(failing)} fail |",
                flush=True,
            )
        decided = {found[solver][-1].explanation for solver in solvers if found[solver][-1].minimal}
        disagreements += len(decided) > 1
    for solver in solvers:
        seconds = median(explanation.statistics.seconds for explanation in found[solver])
        print(f"median of {solver}: {seconds:.1f} s")
    print(f"images on which solvers disagree: {disagreements}")
    return 1 if disagreements else 0


if __name__ == "__main__":
    raise SystemExit(main())
