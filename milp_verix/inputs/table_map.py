"""The map from the columns of a table to the numbers behind fitted transformers, as data.

:mod:`milp_verix.inputs.table_encoding` reads it, and has its mathematics.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import FloatArray

Missing: TypeAlias = Collection[str | tuple[int, float, float]]
"""Names of columns of words that may be missing; of numbers that may be, the coordinate, the last
number and the code of a missing one."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, and its coordinates.

    ``form`` is ``"number"``, or one of three for the ``values`` that an encoder knows: ``"binary"``
    for 0 and 1, ``"codes"`` for 0, 1, 2, …, ``"block"`` for a one-hot block. ``ordered`` is True if
    the user gave the encoder their order.
    """

    name: str
    form: str = "number"
    values: tuple[Any, ...] = ()
    ordered: bool = False

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return len(self.values) if self.form == "block" else 1


@dataclass(frozen=True, slots=True, eq=False)
class TableEncoding:
    """The map ``z = x P + q`` of a transformer, or of the steps of a pipeline.

    ``columns`` are those that ``z`` depends on, in the table's order; ``matrix`` is ``P``, shape
    (coordinates, size of z), ``offsets`` is ``q``. ``typical`` has the numbers that
    imputers fill in, by the names of columns. ``jumps`` is ``J``, of the shape of ``P``: NaN where
    a missing number stays one. ``ends`` are the numbers that may be missing.
    """

    columns: tuple[Column, ...]
    matrix: FloatArray
    offsets: FloatArray
    typical: Mapping[str, Sequence[float]]
    jumps: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    ends: tuple[tuple[int, float, float], ...] = ()

    @property
    def joined(self) -> list[str]:
        """Columns that one number of ``z`` depends on together; none if each depends on one."""
        owners = np.repeat([one.name for one in self.columns], [one.width for one in self.columns])
        for row in ((self.matrix != 0) | (self.jumps != 0)).T:
            names = dict.fromkeys(owners[row].tolist())
            if len(names) > 1:
                return [*names]
        return []

    @property
    def bends(self) -> tuple[sp.csc_array, FloatArray, FloatArray]:
        """``S, l, R`` of ``z = x P + q + max(x S - l, 0) R``, a column of ``S`` for each end.

        Numbers are divided by a power of two near the gap, which rounds none of them.
        """
        places, last, code = np.array(self.ends).reshape(-1, 3).T
        at, scale = places.astype(np.intp), 2.0 ** -np.ceil(np.log2(code - last))
        rows = -code[:, None] * self.matrix[at]
        rows += self.jumps[at]  # in place: each copy of a wide table is large
        rows /= (scale * (code - last))[:, None]
        one_each = (scale, at, np.arange(len(at) + 1))
        return sp.csc_array(one_each, (len(self.matrix), len(at))), last * scale, rows

    def encoded(self, rows: FloatArray) -> FloatArray:
        """Return ``z`` of ``rows``, shape (n, coordinates)."""
        chosen, last, bent = self.bends
        bends: FloatArray = np.maximum(rows @ chosen - last, 0.0) @ bent
        return rows @ self.matrix + self.offsets + bends
