"""The steps before an estimator of trees, as functions of single columns of a table.

Each number ``z_j`` that the steps make of a row depends on one column: it is monotone in a column
of numbers, and any function of a column of words. The steps themselves are asked for it, so that
their own rounding is in the answers.

A condition ``z_j <= t`` becomes ``x <= θ`` or ``x > θ``, where ``θ`` is the greatest float64 that
one side has: it is found by bisection over the float64 numbers, which are ordered as their bits.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from milp_verix.base.errors import InputError, UnsupportedOperatorError
from milp_verix.inputs.fitted import TableEncoding
from milp_verix.inputs.pipeline import table_of
from verix_encodings.arrays import BoolArray, FloatArray, IntArray, dense

_NEAR = 3
"""Binary digits of the distance in which ``θ`` is looked for, around the affine map's inverse.

One step of bisection is enough there. Numbers that are passed on or scaled are that near: a table
of 1,000 columns of words and two of numbers took 3.6 s instead of 4.0 s with 12.
"""
_FURTHER = 10
_PARTS = 16
"""The most parts into which a step of bisection divides an interval."""
_AT_ONCE = 256
"""Rows with a missing value that are run in one table, and rows in parts; not measured."""


class TableColumns:
    """The numbers that ``steps`` make of rows of the table that ``fitted`` was fitted on."""

    def __init__(self, fitted: Any, encoding: TableEncoding, steps: Callable[[Any], Any]) -> None:
        self._fitted, self._steps = fitted, steps
        self.encoding = encoding
        widths = [column.width for column in encoding.columns]
        self.starts, self.size = encoding.starts, sum(widths)
        owner = np.repeat(np.arange(len(widths)), widths)
        self._map = read = sp.csc_array(encoding.matrix)
        self._owners = [np.unique(owner[at]) for at in np.split(read.indices, read.indptr[1:-1])]

    @property
    def width(self) -> int:
        """The number of the ``z``."""
        return len(self._owners)

    def column_of(self, output: int) -> int | None:
        """Return the place of the column that ``z_output`` depends on; None for a constant."""
        owners = self._owners[output]
        if owners.size > 1:
            names = [self.encoding.columns[place].name for place in owners]
            raise UnsupportedOperatorError(
                f"the pipeline joins the columns {', '.join(names)} in one number before its "
                "trees, which cannot be read: give the trees each column on its own"
            )
        return int(owners[0]) if owners.size else None

    def table(self, rows: FloatArray) -> Any:
        """Return the rows of the table that have the coordinates ``rows``, shape (n, size)."""
        values: dict[str, Any] = {}
        for column, start in zip(self.encoding.columns, self.starts, strict=True):
            if column.form == "number":
                values[column.name] = rows[:, start]
            elif column.form == "block":
                chosen = np.argmax(rows[:, start : start + column.width], axis=1)
                values[column.name] = column.listed[chosen]
            else:
                last = len(column.values) - 1
                codes = np.clip(np.ceil(rows[:, start] - 0.5), 0, last).astype(np.intp)
                values[column.name] = column.listed[codes]
        return table_of(self._fitted, values, len(rows))

    def with_whole_words(self, rows: FloatArray) -> FloatArray:
        """Return ``rows``, (n, size), with the words that :meth:`table` has, as ones and zeros."""
        found = np.array(rows)
        for column, start in zip(self.encoding.columns, self.starts, strict=True):
            if column.form == "block":
                block = found[:, start : start + column.width]
                block[:] = np.eye(column.width)[np.argmax(block, axis=1)]
        return found

    def numbers(self, rows: FloatArray) -> FloatArray:
        """Return ``z`` for ``rows``, shape (n, width)."""
        made = self._steps(self.table(rows))
        dense = made.toarray() if hasattr(made, "toarray") else made
        return np.array(dense, dtype=np.float64)

    @cached_property
    def sparse(self) -> bool:
        """True if the steps give the trees a sparse matrix, in which zeros are not stored."""
        return hasattr(self._steps(self.table(self._plain(1))), "toarray")

    @cached_property
    def constants(self) -> FloatArray:
        """The ``z`` of some row."""
        found: FloatArray = self.numbers(self._plain(1))[0]
        return found

    def of_missing(self, starts: Sequence[int]) -> dict[int, FloatArray]:
        """Return ``z`` of a row with NaN at each of ``starts`` alone; ``InputError`` for a word."""
        column_at = dict(zip(self.starts, self.encoding.columns, strict=True))
        for column in (column_at[start] for start in starts):
            if column.form != "number":
                raise InputError(
                    f"{column.name} has words, which the pipeline encodes: describe the table by "
                    f"Inputs.from_pipeline(pipeline, frame, missing=[{column.name!r}])"
                )
        found = dict[int, FloatArray]()
        for first in range(0, len(starts), _AT_ONCE):
            part = starts[first : first + _AT_ONCE]
            rows = self._plain(len(part))
            rows[np.arange(len(part)), part] = np.nan
            found |= dict(zip(part, self.numbers(rows), strict=True))
        return found

    def of_words(self, count: int, output: int) -> FloatArray:
        """Return ``z_output`` for the ``count`` words of its column.

        The map is exact where it tells words apart by 0 and 1: the steps take a while for each
        column of a wide table.
        """
        own = slice(*self._map.indptr[output : output + 2])
        steps, still = self._map.data[own], self.encoding.offsets[output]
        if steps.size and (abs(steps) == 1.0).all() and still in (0.0, 1.0):
            place = self._owners[output][0]
            if self.encoding.columns[place].form != "block":
                return np.asarray(still + steps[0] * np.arange(count))
            found = np.full(count, still)
            found[self._map.indices[own] - self.starts[place]] += steps
            return found
        own = slice(*self._of_words.indptr[output : output + 2])
        found = np.zeros(self._of_words.shape[0])
        found[self._of_words.indices[own]] = self._of_words.data[own]
        return found[:count]

    @cached_property
    def _of_words(self) -> sp.csc_array:
        """``z`` of a row for each place of a word, which all columns of words have at once.

        A column's own numbers are right in as many rows as it has words.
        """
        plain, columns = self._plain(1)[0], self.encoding.columns
        places = np.arange(max(len(column.values) for column in columns))
        values: dict[str, Any] = {}
        for column, start in zip(columns, self.starts, strict=True):
            turn = np.minimum(places, len(column.values) - 1)
            values[column.name] = column.listed[turn] if column.values else plain[start] + 0 * turn
        made = self._steps(table_of(self._fitted, values, len(places)))
        return sp.csc_array(made, dtype=np.float64)

    def crossings(self, outputs: Sequence[int], ends: FloatArray) -> list[tuple[float, bool]]:
        """Return where each ``z_output`` is at most its end, for columns of numbers.

        ``x <= θ`` if the pair of ``θ`` and a mark says that ``z`` rises, else ``x > θ``.
        """
        if not outputs:  # of words alone: a wide table takes long for any row
            return []
        places = np.array([self.column_of(output) or 0 for output in outputs], dtype=np.intp)
        order = np.argsort(places, kind="stable")
        counts = np.bincount(places, minlength=len(self.starts))
        turns = np.empty(len(places), dtype=np.intp)  # the row that a condition has for itself
        turns[order] = np.concatenate([np.arange(count) for count in counts])
        coordinates = np.array(self.starts, dtype=np.intp)[places]
        wanted, plain = np.asarray(outputs, dtype=np.intp), self._plain(int(counts.max(initial=1)))
        slopes = dense(self.encoding.matrix[coordinates, wanted])
        rising = slopes > 0

        def left(ordinals: IntArray) -> BoolArray:
            rows = np.tile(plain, (len(ordinals), 1))
            own = turns + len(plain) * np.arange(len(ordinals))[:, None]
            rows[own, coordinates] = _number_at(ordinals)
            below = self.numbers(rows)[own, wanted] <= ends
            return np.asarray(below == rising)

        guess = np.clip((ends - self.encoding.offsets[wanted]) / slopes, -_LARGEST, _LARGEST)
        found = _last_true(left, _ordinal_of(guess), min(max(_AT_ONCE // len(plain), 2), _PARTS))
        return [*zip(found.tolist(), rising.tolist(), strict=True)]

    def _plain(self, count: int) -> FloatArray:
        rows = np.zeros((count, self.size))
        for column, start in zip(self.encoding.columns, self.starts, strict=True):
            if column.form == "block":
                rows[:, start] = 1.0
            elif column.form == "number" and column.name in self.encoding.typical:
                rows[:, start] = self.encoding.typical[column.name][0]
        return rows


_LARGEST = float(np.finfo(np.float64).max)


def _ordinal_of(numbers: FloatArray) -> IntArray:
    """Return integers that are ordered as the float64 ``numbers``; neighbours differ by one."""
    bits = (numbers + 0.0).view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def _number_at(ordinals: IntArray) -> FloatArray:
    bits = np.where(ordinals < 0, np.int64(-(2**63)) - ordinals, ordinals)
    return bits.view(np.float64)


def _last_true(holds: Callable[[IntArray], BoolArray], guess: IntArray, parts: int) -> FloatArray:
    """Return the greatest float64 for which ``holds``, which is true up to some number each.

    ``holds`` takes several ordinals of each number, shape (n, numbers): a step of bisection divides
    an interval into ``parts``, as a wide table takes almost as long for one row as for some.

    Infinite where it holds for all finite numbers, or for none.
    """
    least, most = (int(_ordinal_of(np.array([end]))[0]) for end in (-_LARGEST, _LARGEST))
    low, high = guess.copy(), guess.copy()
    digits = _NEAR
    while True:
        step = 2 ** min(digits, 62)
        true, above = holds(np.stack([low, high]))
        done_low, done_high = true | (low == least), ~above | (high == most)
        if done_low.all() and done_high.all():
            break
        low = np.where(done_low, low, np.maximum(low, least + step) - step)
        high = np.where(done_high, high, np.minimum(high, most - step) + step)
        digits += _FURTHER
    low, high = np.where(true, low, least - 1), np.where(above, most + 1, high)
    share = np.arange(1, parts)[:, None]
    while (high > low + 1).any():
        ends = [(part // parts, part % parts) for part in (low, high)]  # a sum may overflow
        (whole, rest), (whole_high, rest_high) = ends
        rest = ((parts - share) * rest + share * rest_high) // parts
        middle = (parts - share) * whole + share * whole_high + rest
        true = (middle <= low) | holds(np.clip(middle, least, most))
        true = np.logical_and.accumulate(true)
        low = np.where(true, middle, low).max(axis=0)
        high = np.where(true, high, middle).min(axis=0)
    found = _number_at(np.clip(low, least, most))
    return np.where(low < least, -np.inf, np.where(low >= most, np.inf, found))
