"""The record of one check by one pair of solver and formulation: its answer, effort and program."""

from dataclasses import dataclass

from milp_verix.oracle.verdict import Answer


@dataclass(frozen=True, slots=True)
class ProgramSize:
    """The size of a program, and the range of its numbers.

    ``largest_big_m`` is the largest constant that a binary column is multiplied by, 0.0 if there is
    none; ``least_coefficient`` and ``largest_coefficient`` are absolute values of the entries of
    its matrix that are not zero, 0.0 for an empty matrix.
    """

    columns: int
    rows: int
    binaries: int
    largest_big_m: float
    least_coefficient: float
    largest_coefficient: float


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """Check number ``check`` of a comparison, with ``free`` free features, by one pair.

    ``seconds`` is the wall-clock time of the check in all, ``cpu_seconds`` the processor time of
    all processes that took part. Of the wall-clock time ``load_seconds`` went into loading
    programs, ``solve_seconds`` into ``solves`` minimisations; ``nodes`` and ``iterations`` are sums
    over these. A check that bounds or known points decided has no program, and no solve.

    The fields from ``status`` on are about the last minimisation, in terms of its cost, which is
    what ``export`` writes: ``bound`` is the dual bound at the end, ``root_bound`` that at the end
    of the root node, ``relaxation`` the optimum of the linear relaxation, found by HiGHS outside of
    the times. ``first_seconds`` is the time to the first feasible point, since the solve began.
    ``handed_to`` is the solver that took the program over. None stands for what the solver does not
    tell.
    """

    check: int
    free: int
    answer: Answer
    seconds: float
    cpu_seconds: float
    load_seconds: float
    solve_seconds: float
    solves: int
    nodes: int | None = None
    iterations: int | None = None
    status: str | None = None
    bound: float | None = None
    root_bound: float | None = None
    relaxation: float | None = None
    first_seconds: float | None = None
    size: ProgramSize | None = None
    handed_to: str | None = None
    reason: str | None = None
