"""The map from the columns of a table to the numbers behind fitted transformers, as data.

:mod:`milp_verix.inputs.table_encoding` reads it, and has its mathematics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from milp_verix.errors import InputError
from verix_encodings.arrays import FloatArray

Ends: TypeAlias = Mapping[int, tuple[float, float]]
"""The last number, and the code of a missing one, of coordinates that may be missing."""


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
    """The map ``z = x P + q`` of a transformer, or of the first ``steps`` steps of a pipeline.

    ``columns`` are those that ``z`` depends on, in the table's order; ``matrix`` is ``P``, shape
    (coordinates, size of z), ``offsets`` is ``q``. ``typical`` has the numbers that
    imputers fill in, by the names of columns. ``jumps`` is ``J``, of the shape of ``P``: NaN where
    a missing number stays one.
    """

    columns: tuple[Column, ...]
    matrix: FloatArray
    offsets: FloatArray
    steps: int
    typical: Mapping[str, Sequence[float]]
    jumps: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    ends: Ends = field(default_factory=dict)

    def with_missing(self, ends: Ends) -> "TableEncoding":
        """Return the map with these ``ends``.

        Raises ``InputError`` for a coordinate of words, and for one that no imputer fills in.
        """
        starts = accumulate((column.width for column in self.columns), initial=0)
        columns = dict(zip(starts, self.columns, strict=False))
        for place in ends:
            name = columns[place].name if place in columns else ""
            if not name or columns[place].form != "number":
                raise InputError(
                    f"{name or 'a column'} has words, which the pipeline encodes: describe the "
                    f"table by Inputs.from_pipeline(pipeline, frame, missing=[{name!r}])"
                )
            if np.isnan(self.jumps[place]).any():
                raise InputError(
                    f"{name} may be missing, and no imputer of the pipeline fills it in before its "
                    "network, which computes with numbers: put a SimpleImputer in front, or leave "
                    f"{name} out of missing"
                )
        return replace(self, ends=dict(ends))

    @property
    def bends(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """``S, l, R`` of ``z = x P + q + max(x S - l, 0) R``, a column of ``S`` for each end.

        Numbers are divided by a power of two near the gap, which rounds none of them.
        """
        places, (last, code) = [*self.ends], np.array([*self.ends.values()]).reshape(-1, 2).T
        scale = 2.0 ** -np.ceil(np.log2(code - last))
        rows = self.jumps[places] - code[:, None] * self.matrix[places]
        chosen = np.arange(len(self.matrix))[:, None] == places
        return chosen * scale, last * scale, rows / (scale * (code - last))[:, None]

    def encoded(self, rows: FloatArray) -> FloatArray:
        """Return ``z`` of ``rows``, shape (n, coordinates)."""
        found: FloatArray = rows @ self.matrix + self.offsets
        if self.ends:
            chosen, last, bent = self.bends
            found = found + np.maximum(rows @ chosen - last, 0.0) @ bent
        return found
