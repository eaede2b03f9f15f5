"""A clock of work: it counts what was computed, so load and the speed of the machine do not matter.

Computations report their size to :func:`spend`; :func:`worked` reads the clock. A unit is about a
nanosecond of a quiet core, measured on products, bounds and simplex iterations
(``benchmarks/work_clock.py``). Each thread has a clock of its own. Readings are integers, so
differences of two of them are exact.
"""

from threading import local

from verix_encodings.arrays import Matrix, count_of_entries

UNITS_PER_SECOND = 1_000_000_000

_CALL = 1_500
"""Units of a call into NumPy or SciPy, however small its arguments are."""

# units of a multiplication, in sixteenths
_DENSE, _SPARSE, _ENTRY = 2, 16, 32


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


def go_on_from(reading: int) -> None:
    """Set the clock of this thread, which works for another one, to that one's ``reading``."""
    _clock.units = reading


def spend_calls(count: int) -> None:
    """Count so many calls on small arrays."""
    _clock.units += count * _CALL


def spend_product(matrix: Matrix, columns: int = 1) -> None:
    """Count a product of ``matrix`` with so many columns."""
    each = _SPARSE if not hasattr(matrix, "strides") else _DENSE
    _clock.units += _CALL + each * count_of_entries(matrix) * columns // 16


def spend_entries(count: int, calls: int = 1) -> None:
    """Count ``calls`` of functions that go through ``count`` entries each."""
    _clock.units += calls * (_CALL + _ENTRY * count // 16)
