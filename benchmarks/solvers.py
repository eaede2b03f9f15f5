"""Explain the same images with several solvers and formulations, side by side.

    python benchmarks/solvers.py MODEL IMAGES --indices 10,0,5 --epsilon 0.05 --solvers highs,cbc

IMAGES is a .npz file with KEY after a colon; bytes are scaled to [0, 1]. Each image is one
``milp_verix.compare``; printed are medians over the images, sizes and all counts as sums, and how
often a solver's counterfactuals failed in onnxruntime. Exits with 1 where two answers contradict
each other.
"""

import argparse
from statistics import median

import milp_verix
from milp_verix import Run
from milp_verix.cli.inputs import read_input, scale_bytes
from milp_verix.comparison.pairs import Pair


def main() -> int:
    """Run the comparison; return the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("images")
    parser.add_argument("--indices", default="0", help="numbers of the images, with commas between")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--solvers", default="highs,cbc")
    parser.add_argument("--formulations", default="big_m")
    parser.add_argument("--features", default=None)
    parser.add_argument("--order", default=None, help="by default that of explain")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=None)
    arguments = parser.parse_args()

    network = milp_verix.load_network(arguments.model)
    order = {} if arguments.order is None else {"order": arguments.order}
    runs: dict[Pair, list[Run]] = {}
    left_out: set[str] = set()
    disagreements = 0
    for index in arguments.indices.split(","):
        image = read_input(f"{arguments.images}[{index}]", network.input_shape)
        found = milp_verix.compare(
            network,
            scale_bytes(image, (0.0, 1.0), network.dtype),
            epsilon=arguments.epsilon,
            solvers=arguments.solvers.split(","),
            formulations=arguments.formulations.split(","),
            rounds=arguments.rounds,
            features=arguments.features,
            time_limit=arguments.time_limit,
            **order,
        )
        for run in found.runs:
            runs.setdefault(run.pair, []).append(run)
        left_out |= {str(skipped) for skipped in found.skipped}
        disagreements += len(found.disagreements)
        sizes = ", ".join(f"{run.pair}: {run.size} in {run.seconds:.2f} s" for run in found.runs)
        print(f"image {index}, prediction {found.prediction}: {sizes}", flush=True)

    print(
        "\n| solver | formulation | size | unknown | seconds | build | solve | re-solve | checks "
        "| solves | nodes | iterations | replay |\n|---|---|" + "---:|" * 11
    )
    for pair, of_pair in runs.items():
        print(line(pair, of_pair, network))
    for reason in sorted(left_out):
        print(f"\nnot compared: {reason}")
    print(f"\ndisagreements: {disagreements}")
    return 1 if disagreements else 0


def line(pair: Pair, runs: list[Run], network: milp_verix.OnnxNetwork) -> str:
    """Return the line of a pair: seconds are medians over the images, counts sums."""
    failing = sum(len(run.explanation.replay(network)) for run in runs if run.explanation)
    seconds = [
        median(values)
        for values in zip(
            *(
                (
                    run.seconds,
                    run.inside.build_seconds,
                    run.inside.solve_seconds,
                    run.inside.resolve_seconds,
                )
                for run in runs
            ),
            strict=True,
        )
    ]
    counts: list[object] = [
        sum(values)
        for values in zip(
            *((run.checks, run.solves, run.nodes, run.iterations) for run in runs), strict=True
        )
    ]
    size, unknown = sum(run.size or 0 for run in runs), sum(run.unknown for run in runs)
    if counts[1] and not counts[3]:
        counts[2:] = ["–", "–"]  # the solver tells none
    cells = [size, unknown, *(f"{value:.2f}" for value in seconds), *counts, f"{failing} fail"]
    return f"| {pair.solver} | {pair.formulation} | {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    raise SystemExit(main())
