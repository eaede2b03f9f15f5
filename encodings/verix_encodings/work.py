"""A clock of work: it counts what was computed, so load and the speed of the machine do not matter.

Computations report their size to :func:`spend`; :func:`worked` reads the clock. A unit is about a
nanosecond of a quiet core, measured on products, bounds and simplex iterations
(``benchmarks/work_clock.py``). Each thread has a clock of its own. Readings are integers, so
differences of two of them are exact.
"""

from threading import local

from verix_encodings.arrays import Matrix, count_of_entries
from verix_encodings.convolution import Convolution

UNITS_PER_SECOND = 1_000_000_000

_CALL = 1_500
"""Units of a call into NumPy or SciPy, however small its arguments are."""

# units, in thirty-seconds: of an entry of a matrix, which is read once, and of a multiplication;
# products with 1, 16 and 256 columns took 0.09 to 0.28, 0.04 and 0.03 ns for each if dense, and 0.5
# to 0.8, 0.25 and 0.25 to 0.45 ns if sparse
_DENSE, _SPARSE = (4, 1), (16, 12)
_ENTRY = 2
"""Units of a number that a function on arrays reads or writes."""


class _Clock(local):
    """The reading of the thread's clock."""

    units = 0


_clock = _Clock()


def worked() -> int:
    """Return the units of work that this thread has done so far."""
    return _clock.units


def spend(units: int) -> None:
    """Count ``units`` of work."""
    _clock.units += units


def spend_calls(count: int) -> None:
    """Count so many calls on small arrays."""
    _clock.units += count * _CALL


def spend_product(matrix: Matrix, columns: int = 1) -> None:
    """Count a product of ``matrix`` with so many columns."""
    if isinstance(matrix, Convolution):
        # windows are read into an array, which is multiplied as dense matrices are
        spend_entries(matrix.places.size * columns, 4)
    dense = isinstance(matrix, Convolution) or hasattr(matrix, "strides")
    read, each = _DENSE if dense else _SPARSE
    _clock.units += _CALL + (read + each * columns) * count_of_entries(matrix) // 32


def spend_entries(count: int, calls: int = 1) -> None:
    """Count ``calls`` of functions that go through ``count`` entries each."""
    _clock.units += calls * (_CALL + _ENTRY * count)
