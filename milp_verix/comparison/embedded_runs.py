"""``compare_embedded``: one optimisation over networks, by several solvers and formulations."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from milp_verix.base import arguments
from milp_verix.base.errors import InputError
from milp_verix.embedding.embedded import Embedded

Builder: TypeAlias = Callable[..., Embedded | Sequence[Embedded]]
"""A function that builds a model and returns the networks in it."""


@dataclass(frozen=True, slots=True)
class EmbeddedRun:
    """One model, solved once.

    Attributes:
        solver: the name of the solver.
        formulation: how ReLUs are written.
        bounds: how bounds of neurons were found.
        rows: number of rows that the networks added; ``binaries`` and ``largest_big_m`` likewise.
        optimal: True if the solver calls its solution optimal.
        objective: the objective of the solution, None without one.
        seconds: wall-clock seconds of the solve, without building.
        difference: the largest difference between outputs in the solution and in onnxruntime.
        status: the solver's own words, or the reason why there is no solution.
    """

    solver: str
    formulation: str
    bounds: str
    rows: int
    binaries: int
    largest_big_m: float
    optimal: bool
    objective: float | None
    seconds: float
    difference: float | None
    status: str


@dataclass(frozen=True, slots=True, repr=False)
class EmbeddedComparison:
    """The same optimisation by several solvers and formulations.

    ``tolerance`` is the largest difference of objectives, relative to their size, and of outputs to
    onnxruntime's, that counts as none.
    """

    runs: tuple[EmbeddedRun, ...]
    tolerance: float

    @property
    def agree(self) -> bool:
        """True if all objectives that a solver calls optimal are the same."""
        found = [run.objective for run in self.runs if run.optimal and run.objective is not None]
        if not found:
            return True
        return max(found) - min(found) <= self.tolerance * max(1.0, *map(abs, found))

    @property
    def replayed(self) -> bool:
        """True if the outputs of all solutions are those that onnxruntime returns."""
        found = [run.difference for run in self.runs if run.difference is not None]
        return all(difference <= self.tolerance for difference in found)

    def __repr__(self) -> str:
        rows = [_HEADINGS, *map(_cells, self.runs)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
        return "\n".join(lines)


_HEADINGS = (
    *("solver", "formulation", "bounds", "rows", "binaries", "big-M"),
    *("objective", "seconds", "difference", "status"),
)


def _cells(run: EmbeddedRun) -> tuple[str, ...]:
    return (
        run.solver,
        run.formulation,
        run.bounds,
        str(run.rows),
        str(run.binaries),
        f"{run.largest_big_m:.3g}",
        "–" if run.objective is None else f"{run.objective:.6g}",
        f"{run.seconds:.2f}",
        "–" if run.difference is None else f"{run.difference:.1e}",
        run.status,
    )


@arguments.checked(
    build=arguments.Kind("a function that builds a model", callable),
    solvers=arguments.SOLVERS.or_none(),
    formulations=arguments.TEXTS,
    bounds=arguments.TEXTS,
    time_limit=arguments.SECONDS,
    tolerance=arguments.NUMBER,
    repair=arguments.FLAG,
)
def compare_embedded(
    build: Builder,
    solvers: str | Sequence[str] | None = None,
    *,
    formulations: str | Sequence[str] = ("big_m",),
    bounds: str | Sequence[str] = ("crown",),
    time_limit: float | None = 60.0,
    tolerance: float = 1e-5,
    repair: bool = False,
) -> EmbeddedComparison:
    """Solve the same optimisation over embedded networks several times, and replay each solution.

    Each pair of a formulation and a method for bounds gets a model of its own, which all solvers
    solve with their defaults.

    Args:
        build: a function that builds the model and returns what :func:`embed` returned, or a list
            of these for several networks. It is called with the keywords ``formulation`` and
            ``bounds``, to hand on.
        solvers: ``"highs"``, ``"cbc"``, ``"scip"``, ``"gurobi"``, or names that the library of the
            model has; by default all of these four that are installed.
        formulations: formulations, as of :func:`embed`; one that the library lacks is listed with
            the reason.
        bounds: methods for bounds, as of :func:`embed`.
        time_limit: seconds for each solve; None for no limit.
        tolerance: differences up to this, relative to the objective, count as none.
        repair: compare outputs of trees beside their thresholds, as ``check(repair=True)`` does.

    Raises:
        InputError: an argument does not fit, or ``build`` returns no embedded network.
    """
    seconds = arguments.seconds_of(time_limit, "time_limit")
    formulations, bounds = arguments.names_of(formulations), arguments.names_of(bounds)
    runs: list[EmbeddedRun] = []
    for formulation in formulations:
        for method in bounds:
            try:
                inside = _built(build(formulation=formulation, bounds=method))
            except InputError as error:
                if formulation == formulations[0] and method == bounds[0]:
                    raise
                which = "–", formulation, method
                runs.append(EmbeddedRun(*which, 0, 0, 0.0, False, None, 0.0, None, str(error)))
                continue
            names = inside[0].solvers() if solvers is None else arguments.names_of(solvers)
            runs += [
                _run(inside, name, formulation, method, seconds, repair=repair) for name in names
            ]
    return EmbeddedComparison(tuple(runs), float(tolerance))


def _built(given: object) -> list[Embedded]:
    listed = [given] if isinstance(given, Embedded) else given
    found = list(listed) if isinstance(listed, Iterable) else []
    if not found or not all(isinstance(one, Embedded) for one in found):
        raise InputError(
            f"build must return what embed returns, or a list of it, got {type(given).__name__}"
        )
    return found


def _run(
    inside: list[Embedded],
    solver: str,
    formulation: str,
    bounds: str,
    seconds: float,
    *,
    repair: bool,
) -> EmbeddedRun:
    started = time.perf_counter()
    objective: float | None = None
    difference: float | None = None
    optimal = False
    try:
        solved = inside[0].solve(solver, seconds if seconds < np.inf else None)
        optimal, status = solved.optimal, solved.status
        objective = None if np.isnan(solved.objective) else solved.objective
    except Exception as error:  # noqa: BLE001, RUF100 - whatever the solver's package raises
        status = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    taken = time.perf_counter() - started
    if objective is not None:
        difference = max(one.check(repair=repair).difference for one in inside)
    return EmbeddedRun(
        solver,
        formulation,
        bounds,
        rows=sum(one.rows for one in inside),
        binaries=sum(one.binaries for one in inside),
        largest_big_m=max(one.largest_big_m for one in inside),
        optimal=optimal,
        objective=objective,
        seconds=taken,
        difference=difference,
        status=status,
    )
