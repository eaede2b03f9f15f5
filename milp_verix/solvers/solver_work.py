"""The work of solvers in units of the clock of work: iterations times the size of the program.

The constants were measured by ``benchmarks/work_clock.py`` on checks of MNIST 10×2 and the digits
networks. A solver that is off by a factor gets slices that are longer or shorter by it, and decides
the same.
"""

from verix_encodings import Program
from verix_encodings.work import spend

_SOLVE, _ITERATION = 200_000, 6_000
_PER_ENTRY, _PER_END = 2, 20


def units_of_iteration(program: Program) -> int:
    """Return the units of a simplex iteration: factors, prices and ratios all grow with it."""
    ends = program.rows + program.columns
    return _ITERATION + _PER_ENTRY * int(program.matrix.nnz) + _PER_END * ends


def spend_solve(program: Program, iterations: int) -> None:
    """Count a solve with so many ``iterations``."""
    loading = _PER_ENTRY * program.matrix.nnz + _PER_END * (program.rows + program.columns)
    spend(_SOLVE + loading + iterations * units_of_iteration(program))
