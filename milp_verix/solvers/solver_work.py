"""The work of solvers in units of the clock of work: iterations times the size of the program.

The constants were measured by ``benchmarks/work_clock.py`` on checks of MNIST 10×2 and the digits
networks, and in explanations by ``phase`` of ten networks with 800 to 9,700 rows and columns. A
solver that is off by a factor gets slices that are longer or shorter by it, and decides the same.
"""

from verix_encodings import Program
from verix_encodings.work import spend

_SOLVE, _ENTRY_OF_A_SOLVE, _END_OF_A_SOLVE = 200_000, 5, 60
_ITERATION, _PER_ENTRY, _PER_END = 6_000, 2, 15


def units_of_iteration(program: Program) -> int:
    """Return the units of a simplex iteration: factors, prices and ratios all grow with it."""
    ends = program.rows + program.columns
    return _ITERATION + _PER_ENTRY * int(program.matrix.nnz) + _PER_END * ends


def spend_solve(program: Program, iterations: int) -> None:
    """Count a solve with so many ``iterations``."""
    ends = program.rows + program.columns
    loading = _ENTRY_OF_A_SOLVE * int(program.matrix.nnz) + _END_OF_A_SOLVE * ends
    spend(_SOLVE + loading + iterations * units_of_iteration(program))
