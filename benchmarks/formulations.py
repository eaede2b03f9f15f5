"""Compare the formulations of ReLUs on one check: size, linear relaxation, seconds.

    python benchmarks/formulations.py MODEL IMAGE --epsilon 0.05

IMAGE is a .npy file or a .npz file with KEY[INDEX] after a colon; bytes are scaled to [0, 1]. All
features are free. For the closest rival, the margin is maximised to optimality by each solver that
takes the formulation, the formulations in turns, so that a noisy machine treats them alike. Exits
with 1 where the proven maxima differ.
"""

import argparse
import time
from statistics import median

import numpy as np

import milp_verix
from milp_verix.cli.inputs import read_input, scale_bytes
from milp_verix.errors import MilpVerixError
from milp_verix.solvers import SOLVERS, Session, SolveResult, Targets, open_session
from verix_encodings import Encoding, formulation_named

NAMES = ("big_m", "indicator", "sos1", "partition:2", "partition:4")


def main() -> int:
    """Run the comparison; return the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("image")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--domain", type=float, nargs=2, default=(0.0, 1.0))
    parser.add_argument("--formulations", default=",".join(NAMES))
    parser.add_argument("--solvers", default="highs,phase,cbc,gurobi")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--time-limit", type=float, default=60.0)
    arguments = parser.parse_args()

    network = milp_verix.load_network(arguments.model)
    low, high = arguments.domain
    image = read_input(arguments.image, network.input_shape).reshape(network.input_shape)
    x = scale_bytes(image, (low, high), network.dtype)
    names = arguments.formulations.split(",")
    encodings = {
        name: milp_verix.encode_check(
            network, x, epsilon=arguments.epsilon, domain=(low, high), formulation=name
        )
        for name in names
    }
    rival = closest_rival(encodings[names[0]])
    print(f"{arguments.model}, {arguments.image}, epsilon {arguments.epsilon}, margin {rival}\n")
    print("| formulation | columns | rows | binaries | indicators | sets | relaxation |")
    print("|---|---|---|---|---|---|---|")
    for name, encoding in encodings.items():
        program = encoding.program
        print(
            f"| {name} | {program.columns} | {program.rows} | {program.binaries} "
            f"| {len(program.indicators)} | {len(program.sos1)} "
            f"| {relaxation(encoding, rival):.4f} |",
            flush=True,
        )
    print("\n| solver | formulation | maximum, proven | seconds (median) | nodes | status |")
    print("|---|---|---|---|---|---|")
    proven = [
        bound
        for solver in arguments.solvers.split(",")
        for bound in compared(solver, encodings, rival, arguments.repeat, arguments.time_limit)
    ]
    # CBC's bound is kept 1e-5 above its optimum
    return 1 if np.ptp(proven) > 1e-4 else 0


def closest_rival(encoding: Encoding) -> int:
    """Return the margin with the greatest linear relaxation."""
    margins = range(encoding.output.constant.size)
    return max(margins, key=lambda margin: relaxation(encoding, margin))


def relaxation(encoding: Encoding, margin: int) -> float:
    """Return the greatest value of the margin over the linear relaxation."""
    row, constant = encoding.output.row(margin, encoding.program.columns)
    session = open_session("highs")
    session.load(encoding.program.relaxed)
    result = session.minimise(-row, Targets(seconds=600.0))
    session.close()
    return constant - result.bound


def compared(
    solver: str, encodings: dict[str, Encoding], rival: int, repeat: int, limit: float
) -> list[float]:
    """Print a line for each formulation that ``solver`` takes; return the maxima proven."""
    taken = {
        name: encoding
        for name, encoding in encodings.items()
        if formulation_named(name).needs <= SOLVERS[solver].capabilities
    }
    seconds: dict[str, list[float]] = {name: [] for name in taken}
    results: dict[str, SolveResult | MilpVerixError] = {}
    for _ in range(repeat):
        for name, encoding in taken.items():
            session = SOLVERS[solver].open(threads=1, tolerances=milp_verix.Tolerances())
            started = time.perf_counter()
            try:
                results[name] = maximised(session, encoding, rival, limit)
            except MilpVerixError as error:
                results[name] = error
            seconds[name].append(time.perf_counter() - started)
            session.close()
    proven = []
    for name, result in results.items():
        if isinstance(result, MilpVerixError):
            print(f"| {solver} | {name} | – | – | – | {result} |", flush=True)
            continue
        constant = taken[name].output.constant[rival]
        bound = float(constant) - result.bound
        if result.status.name == "OPTIMAL":
            proven.append(bound)
        print(
            f"| {solver} | {name} | {bound:.5f} | {median(seconds[name]):.3f} | {result.nodes} "
            f"| {result.status.value} |",
            flush=True,
        )
    return proven


def maximised(session: Session, encoding: Encoding, rival: int, limit: float) -> SolveResult:
    """Load the program and maximise the margin to optimality."""
    row, _ = encoding.output.row(rival, encoding.program.columns)
    session.load(encoding.program)
    return session.minimise(-row, Targets(seconds=limit))


if __name__ == "__main__":
    raise SystemExit(main())
