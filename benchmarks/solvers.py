"""Explain the same images with several solvers and formulations, side by side.

    python benchmarks/solvers.py MODEL IMAGES --indices 10,0,5 --epsilon 0.05 --solvers highs,cbc

Each image is one
``milp_verix.compare``; printed are medians over the images, sizes and all counts as sums, and how
often a solver's counterfactuals failed in onnxruntime. Exits with 1 where two answers contradict
each other.
"""

from statistics import median

from arguments import add_images, asked, names, parsed, parser, read_images, solver_versions
from tables import Table, write

import milp_verix
from milp_verix import Run
from milp_verix.results.comparison import Pair


def main() -> int:
    """Run the comparison; return the exit code."""
    options = parser(__doc__)
    add_images(options, indices="0")
    options.add_argument("--solvers", type=names, default="highs,cbc")
    options.add_argument("--formulations", type=names, default="big_m")
    options.add_argument("--order", default=None, help="by default that of explain")
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--time-limit", type=float, default=None)
    arguments = parsed(options)

    network = milp_verix.load_network(arguments.model)
    order = {} if arguments.order is None else {"order": arguments.order}
    given = asked(
        arguments, "epsilon", "solvers", "formulations", "rounds", "features", "time_limit"
    )
    runs: dict[Pair, list[Run]] = {}
    left_out: set[str] = set()
    disagreements = 0
    for index, image in read_images(network, arguments):
        found = milp_verix.compare(network, image, task="explain", **given, **order)
        for run in found.runs:
            runs.setdefault(run.pair, []).append(run)
        left_out |= {str(skipped) for skipped in found.skipped}
        disagreements += len(found.disagreements)
        sizes = ", ".join(f"{run.pair}: {run.size} in {run.seconds:.2f} s" for run in found.runs)
        print(f"image {index}, prediction {found.prediction}: {sizes}", flush=True)

    print()
    table = Table(
        "solver | formulation | size | unknown | seconds | build | solve | re-solve | checks "
        "| solves | nodes | iterations | replay",
        words=2,
    )
    for pair, of_pair in runs.items():
        table.add(*cells(pair, of_pair, network))
    for reason in sorted(left_out):
        print(f"\nnot compared: {reason}")
    print(f"\ndisagreements: {disagreements}")
    if arguments.write:
        write(arguments.write, [table], solver_versions({pair.solver: None for pair in runs}))
    return 1 if disagreements else 0


def cells(pair: Pair, runs: list[Run], network: milp_verix.OnnxNetwork) -> list[object]:
    """Return the row of a pair: seconds are medians over the images, counts sums."""
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
    # a solver that tells no nodes and no iterations has None
    counts = [
        "–" if None in values else sum(filter(None, values))
        for values in zip(
            *((run.checks, run.solves, run.nodes, run.iterations) for run in runs), strict=True
        )
    ]
    size, unknown = sum(run.size or 0 for run in runs), sum(run.unknown for run in runs)
    told = [f"{value:.2f}" for value in seconds]
    return [pair.solver, pair.formulation, size, unknown, *told, *counts, f"{failing} fail"]


if __name__ == "__main__":
    raise SystemExit(main())
