"""Does a warm start pay? Cold, rebuilt and live programs on the same checks, solver by solver.

    python benchmarks/warm_starts.py MODEL IMAGE --epsilon 0.05

The checks are those of the traversal that bounds leave open, evenly thinned to --checks; of each,
the margin that bounds come least close to deciding. Every check is decided in four ways, one after
the other, so that a noisy machine treats them alike:

- default: the folded program, by the solver as it is installed: its own parameters, to optimality;
- rebuilt: the folded program (fixed inputs are constants, big-Ms for this check), loaded into a
  session with our parameters, until the sign is known: what every check of milp-verix does;
- in place: one program over the whole ball, loaded once; only bounds and cost change;
- with a start: the same, beginning at the worst input of the check before.

Times are milliseconds for each check, with all work that the ways do not share: encoding, loading,
changing bounds, solving. They are processor time of this process and its children, which other load
on the machine blurs least; it misses processes that a child starts in turn, as the solver pulp
does. With --wall they are time on the wall. Exits with 1 where two definite answers differ.
"""

import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from arguments import add_image, names, parsed, parser, read_image, solver_versions
from defaults import DEFAULTS
from tables import Table, write

import milp_verix
from milp_verix import Problem
from milp_verix.base.errors import MilpVerixError
from milp_verix.comparison.compare import checks_of
from milp_verix.solvers import Session, SolveResult, Targets, open_session
from verix_encodings import Encoding, Interval, crown_bounds, encode
from verix_encodings.arrays import FloatArray, IntArray

WAYS = ("default", "rebuilt", "in place", "with a start")


@dataclass(frozen=True)
class Check:
    """One margin over one region, with bounds that do not decide it."""

    free: IntArray
    region: Interval
    bounds: Any
    index: int
    needed: float


@dataclass
class Taken:
    """The time, nodes, iterations and answers of one way, check by check."""

    milliseconds: list[float] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)


def main() -> int:
    """Run the comparison; return the exit code."""
    options = parser(__doc__)
    add_image(options)
    options.add_argument("--solvers", type=names, default="highs,phase,cbc,gurobi")
    options.add_argument("--checks", type=int, default=40)
    options.add_argument("--order", default="sensitivity")
    options.add_argument("--wall", action="store_true", help="take the time on the wall")
    options.add_argument("--time-limit", type=float, default=60.0)
    arguments = parsed(options)
    clock = time.perf_counter if arguments.wall else processor_time

    network = milp_verix.load_network(arguments.model)
    x = read_image(network, arguments.image)
    problem = Problem(network, x, epsilon=arguments.epsilon)
    found = milp_verix.explain(
        network, x, epsilon=arguments.epsilon, order=arguments.order, solver="phase"
    )
    asked = list(open_checks(problem, checks_of(found)))
    places = np.unique(np.linspace(0, len(asked) - 1, arguments.checks).round().astype(int))
    checks = [asked[place] for place in places]
    told = (
        f"{len(checks)} of {len(asked)} open checks, {checks[0].free.size} to "
        f"{checks[-1].free.size} inputs free."
    )
    print(f"{told}\n")
    table = Table("solver | way | median ms | times rebuilt | nodes | iterations | h/v/u", words=2)
    differing = 0
    compared = []
    for solver in arguments.solvers:
        try:
            taken = measured(solver, problem, checks, arguments.time_limit, clock)
        except MilpVerixError as error:
            table.add(solver, error, *[""] * 5)
            continue
        compared.append(solver)
        for way, took in taken.items():
            table.add(*cells(solver, way, took, taken["rebuilt"]))
        answered = [took.answers for took in taken.values()]
        definite = [set(answers) - {"u"} for answers in zip(*answered, strict=True)]
        differing += sum(len(answers) > 1 for answers in definite)
    print(f"\nchecks with two definite answers: {differing}")
    if arguments.write:
        write(arguments.write, [told, table], solver_versions(compared))
    return 1 if differing else 0


def cells(solver: str, way: str, took: Taken, rebuilt: Taken) -> tuple[object, ...]:
    """Return a row of the table; the ratio is the median of those of each check."""
    ratios = [a / b for a, b in zip(took.milliseconds, rebuilt.milliseconds, strict=True)]
    told = any(took.iterations)
    return (
        *(solver, way, f"{median(took.milliseconds):.1f}", f"{median(ratios):.2f}"),
        f"{mean(took.nodes):.1f}" if told else "–",
        f"{mean(took.iterations):.0f}" if told else "–",
        "/".join(str(took.answers.count(answer)) for answer in "hvu"),
    )


def open_checks(problem: Problem, checks: tuple[tuple[int, ...], ...]) -> Iterator[Check]:
    """Yield the checks that CROWN bounds leave open."""
    margins = problem.margins
    tolerances = milp_verix.Tolerances()
    for features in checks:
        free = problem.features.coordinates(features)
        region = problem.ball.region(free)
        assert isinstance(region, Interval)
        bounds = crown_bounds(margins, region)
        index = int(np.argmax(bounds[-1].upper))
        needed = tolerances.decisive(float(bounds[-1].magnitude[index]))
        if bounds[-1].upper[index] >= -needed:
            yield Check(free, region, bounds, index, needed)


def processor_time() -> float:
    """Return the seconds of processor time of this process and its children, running or ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    running = 0
    for listed in Path("/proc/self/task").glob("*/children"):
        for child in listed.read_text().split():
            for thread in Path(f"/proc/{child}/task").glob("*/schedstat"):
                running += int(thread.read_text().split()[0])
    return time.process_time() + ended.ru_utime + ended.ru_stime + running / 1e9


def measured(
    solver: str,
    problem: Problem,
    checks: list[Check],
    limit: float,
    clock: Callable[[], float],
) -> dict[str, Taken]:
    """Decide every check in each way, in turns."""
    margins = problem.margins
    whole = problem.ball.region(np.arange(problem.x.size))
    assert isinstance(whole, Interval)
    full = encode(margins, crown_bounds(margins, whole))
    columns, coordinates = input_columns(full)
    completing = open_session("highs")
    completing.load(full.program)
    sessions = {way: open_session(solver) for way in WAYS[1:]}
    default = DEFAULTS.get(solver)
    taken = {way: Taken() for way in WAYS if way != "default" or default is not None}
    for way in ("in place", "with a start"):
        sessions[way].load(full.program)
    worst: FloatArray = problem.x.astype(np.float64)

    def rebuilt(check: Check) -> tuple[Encoding, SolveResult]:
        encoding = encode(margins, check.bounds)
        sessions["rebuilt"].load(encoding.program)
        return encoding, solve(sessions["rebuilt"], encoding, check, limit)

    def in_place(check: Check) -> tuple[Encoding, SolveResult]:
        session = sessions["in place"]
        session.set_bounds(columns, *ends(check, coordinates))
        return full, solve(session, full, check, limit)

    def started(check: Check) -> tuple[Encoding, SolveResult]:
        session = sessions["with a start"]
        session.set_bounds(columns, *ends(check, coordinates))
        return full, solve(session, full, check, limit, start)

    ways: dict[str, Callable[[Check], tuple[Encoding, SolveResult]]] = {
        "rebuilt": rebuilt,
        "in place": in_place,
        "with a start": started,
    }
    for number, check in enumerate(checks):
        at = np.clip(worst, check.region.lower, check.region.upper)[coordinates]
        completing.set_bounds(columns, at, at)
        start = completing.minimise(np.zeros(full.program.columns), Targets()).point
        # the way that goes first takes turns too
        for way in np.roll(list(ways), number):
            begun = clock()
            encoding, result = ways[way](check)
            seconds = clock() - begun
            note(taken[way], seconds, result, judged(problem, encoding, check, result))
            if way == "rebuilt" and result.point is not None:
                worst = encoding.input.at(result.point)
        if default is not None:
            begun = clock()
            encoding = encode(margins, check.bounds)
            row, constant = encoding.output.row(check.index, encoding.program.columns)
            result = default(encoding.program, -row, limit)
            seconds = clock() - begun
            answer = "v" if constant - result.bound > 0 else "h"
            note(taken["default"], seconds, result, answer if np.isfinite(result.bound) else "u")
    for session in (*sessions.values(), completing):
        session.close()
    return taken


def note(taken: Taken, seconds: float, result: SolveResult, answer: str) -> None:
    """Add one check to what a way took."""
    taken.milliseconds.append(1000 * seconds)
    taken.nodes.append(result.nodes)
    taken.iterations.append(result.iterations)
    taken.answers.append(answer)


def input_columns(encoding: Encoding) -> tuple[IntArray, IntArray]:
    """Return the columns that are inputs, and the coordinates they are."""
    matrix = encoding.input.matrix.tocoo()
    assert np.all(matrix.data == 1.0)
    return encoding.input.columns[matrix.col], matrix.row


def ends(check: Check, coordinates: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of the input's columns."""
    return check.region.lower[coordinates], check.region.upper[coordinates]


def solve(
    session: Session,
    encoding: Encoding,
    check: Check,
    limit: float,
    start: FloatArray | None = None,
) -> SolveResult:
    """Minimise until the sign of the margin is known, as a check does."""
    row, constant = encoding.output.row(check.index, encoding.program.columns)
    tolerances = milp_verix.Tolerances()
    targets = Targets(
        seconds=limit,
        violated_below=constant - tolerances.early_violation,
        holds_above=constant + 1.5 * check.needed,
        start=start,
    )
    return session.minimise(-row, targets)


def judged(problem: Problem, encoding: Encoding, check: Check, result: SolveResult) -> str:
    """Return ``h`` for holds, ``v`` for violated, ``u`` for unknown."""
    _, constant = encoding.output.row(check.index, encoding.program.columns)
    if constant - result.bound < -check.needed:
        return "h"
    if result.point is not None:
        margins = problem.margins
        value = margins.evaluate(encoding.input.at(result.point))[check.index]
        return "v" if value > 0 else "u"
    return "u"


if __name__ == "__main__":
    raise SystemExit(main())
