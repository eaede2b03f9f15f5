"""Compare the formulations of ReLUs on one check: size, linear relaxation, seconds.

    python benchmarks/formulations.py MODEL IMAGE --epsilon 0.05
    python benchmarks/formulations.py MODEL IMAGE --epsilon 0.05 --bounds crown,alpha,branched

All features are free. For the closest rival, the margin is maximised to optimality by each solver
that takes the formulation, the formulations in turns, so that a noisy machine treats them alike.
Programs have the neurons' bounds by each of ``--bounds``. Exits with 1 where the proven maxima
differ.
"""

import time
from itertools import product
from statistics import median
from typing import NamedTuple, TypeAlias

import numpy as np
from arguments import add_image, names, parsed, parser, read_image, solver_versions
from tables import Table, write

import milp_verix
from milp_verix.base.errors import MilpVerixError
from milp_verix.solvers import SOLVERS, Session, SolveResult, SolveStatus, Targets, open_session
from verix_encodings import Encoding, formulation_named

Named: TypeAlias = tuple[str, str]
"""A formulation and a method for bounds, by their names."""


def main() -> int:
    """Run the comparison; return the exit code."""
    options = parser(__doc__)
    add_image(options)
    options.add_argument("--domain", type=float, nargs=2, default=(0.0, 1.0))
    options.add_argument(
        "--formulations", type=names, default="big_m,indicator,sos1,partition:2,partition:4"
    )
    options.add_argument("--bounds", type=names, default="crown", help="methods of bounds")
    options.add_argument("--solvers", type=names, default="highs,phase,cbc,gurobi")
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--time-limit", type=float, default=60.0)
    arguments = parsed(options)

    network = milp_verix.load_network(arguments.model)
    domain = tuple(arguments.domain)
    image = read_image(network, arguments.image, domain)
    encodings, spent = {}, {}
    for name in product(arguments.formulations, arguments.bounds):
        began = time.monotonic()
        encodings[name] = milp_verix.encode_check(
            network,
            image,
            epsilon=arguments.epsilon,
            domain=domain,
            formulation=name[0],
            bounds=name[1],
        )
        spent[name] = time.monotonic() - began
    rival = closest_rival(next(iter(encodings.values())))
    runs = {
        solver: compared(solver, encodings, rival, arguments.repeat, arguments.time_limit)
        for solver in arguments.solvers
    }
    head = (
        "formulation | bounds | encoded in | columns | rows | binaries | largest big-M "
        "| indicators | sets | relaxation | maximum"
    )
    table = Table(" | ".join([head, *arguments.solvers]), words=2)
    proven = []
    for name, encoding in encodings.items():
        found = [maxima[name] for maxima in runs.values() if name in maxima]
        best = min((one.bound for one in found), default=np.inf)
        proven += [one.bound for one in found if one.optimal]
        program = encoding.program
        table.add(
            *name,
            f"{spent[name]:.2f} s",
            *(program.columns, program.rows, program.binaries),
            f"{program.largest_big_m:.2f}" if program.largest_big_m else "–",
            *(len(program.indicators), len(program.sos1)),
            f"{relaxation(encoding, rival):.4f}",
            f"{best:.5f}" if np.isfinite(best) else "–",
            *(maxima[name].cell if name in maxima else "–" for maxima in runs.values()),
        )
    print(f"\nmargin {rival}; in brackets are nodes")
    if arguments.write:
        write(arguments.write, [table], solver_versions(arguments.solvers))
    # CBC's bound is kept 1e-5 above its optimum
    return 1 if proven and np.ptp(proven) > 1e-4 else 0


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


class Maximum(NamedTuple):
    """The upper bound that a solver proved on a margin, and a cell that says how."""

    bound: float
    optimal: bool
    cell: str


def compared(
    solver: str, encodings: dict[Named, Encoding], rival: int, repeat: int, limit: float
) -> dict[Named, Maximum]:
    """Maximise the margin in each formulation that ``solver`` takes, ``repeat`` times in turns."""
    taken = {
        name: encoding
        for name, encoding in encodings.items()
        if formulation_named(name[0]).needs <= SOLVERS[solver].capabilities
    }
    seconds: dict[Named, list[float]] = {name: [] for name in taken}
    results: dict[Named, SolveResult | MilpVerixError] = {}
    for _ in range(repeat):
        for name, encoding in taken.items():
            session = SOLVERS[solver].open(threads=1, tolerances=milp_verix.Tolerances())
            started = time.monotonic()
            try:
                results[name] = maximised(session, encoding, rival, limit)
            except MilpVerixError as error:
                results[name] = error
                print(f"{solver}, {' '.join(name)}: {error}")
            seconds[name].append(time.monotonic() - started)
            session.close()
    return {
        name: maximum(result, taken[name].output.constant[rival], median(seconds[name]))
        for name, result in results.items()
    }


def maximum(result: SolveResult | MilpVerixError, constant: float, seconds: float) -> Maximum:
    """Return the margin's maximum from a solve that minimised ``constant`` less the margin."""
    if isinstance(result, MilpVerixError):
        return Maximum(np.inf, False, "failed")
    optimal = result.status is SolveStatus.OPTIMAL
    cell = f"{seconds:.3f} ({result.nodes})" if optimal else result.status.value
    return Maximum(constant - result.bound, optimal, cell)


def maximised(session: Session, encoding: Encoding, rival: int, limit: float) -> SolveResult:
    """Load the program and maximise the margin to optimality."""
    row, _ = encoding.output.row(rival, encoding.program.columns)
    session.load(encoding.program)
    return session.minimise(-row, Targets(seconds=limit))


if __name__ == "__main__":
    raise SystemExit(main())
