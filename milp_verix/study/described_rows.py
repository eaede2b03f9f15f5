"""Rows of a table as described inputs: columns by name, with numbers or words in them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.errors import InputError
from milp_verix.inputs.frame import is_frame, named_frame
from milp_verix.inputs.inputs import Inputs as Description
from milp_verix.inputs.one_row import features_left_out, has_names, row_of
from milp_verix.inputs.placement import refuse_arrays
from milp_verix.study.inputs import Inputs, inputs_of
from milp_verix.study.tables import csv_lines, parquet_table, refuse_one_cell, refuse_other_length
from verix_encodings.arrays import FloatArray


def described_inputs(source: Any, description: Description, *, reordered: bool = False) -> Inputs:
    """Return the inputs in ``source``, whose columns are the features of ``description``.

    A table, a ``.csv`` or ``.parquet`` file or a pandas DataFrame, has a column for each feature,
    by name, with numbers, words or truth values; other columns are left out. So is each row of a
    sequence of mappings. Any other source holds
    the network's numbers, as for :func:`~milp_verix.study.inputs.inputs_of`, which are refused if
    the description was ``reordered``. Raises ``InputError``; a value that is missing, not known or
    outside of the description fails its own row alone.
    """
    given = _given(source, description, reordered)

    def read(index: int) -> NDArray[Any]:
        x = given.read(index)
        if x.size == description.size and x.dtype.kind in "biuf":  # else refused with the setting
            try:
                description.refuse(x.reshape(-1).astype(np.float64))
            except InputError as error:
                raise InputError(f"{given.place(index)}: {error}") from error
        return x

    return replace(given, read=read)


def _given(source: Any, description: Description, reordered: bool) -> Inputs:
    path = Path(source) if isinstance(source, str | Path) else Path()
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return _csv(path, description)
    if suffix == ".parquet":
        return _frame(parquet_table(path), path.name, description)
    if is_frame(source):
        return _frame(source, "the frame", description)
    if isinstance(source, Sequence) and any(has_names(row) for row in source):
        features = description.features
        return Inputs(
            len(source),
            lambda i: _row(source[i], description, f"row {i}"),
            notes=lambda i: features_left_out(features, [*(row_of(source[i]) or ())], "the row"),
            place="row {}".format,
        )
    try:
        given = inputs_of(source, description.size)
    except InputError as error:
        raise InputError(f"{error}; a DataFrame and a list of dicts have values by name") from error
    refuse_arrays(reordered)
    return given


def _frame(frame: Any, what: str, description: Description) -> Inputs:
    frame = named_frame(frame)
    told = features_left_out(description.features, list(frame.columns), what)
    rows = frame.to_dict("records")
    _refuse_empty(rows, what)

    def place(index: int) -> str:
        return f"{what}, row {index}"

    def read(index: int) -> FloatArray:
        return _row(rows[index], description, place(index))

    return Inputs(len(rows), read, place=place, told=told)


def _csv(path: Path, description: Description) -> Inputs:
    lines = csv_lines(path)
    _, header = next(lines, (1, []))
    refuse_one_cell(path, header, len(description.names))
    if twice := next((name for name in header if header.count(name) > 1), None):
        raise InputError(f"{path.name} has two columns named {twice!r}: rename or drop one of them")
    told = features_left_out(description.features, header, path.name)
    rows = list(lines)
    _refuse_empty(rows, path.name)

    def place(index: int) -> str:
        return f"{path.name}, line {rows[index][0]}"

    def read(index: int) -> FloatArray:
        cells = rows[index][1]
        refuse_other_length(cells, len(header), place(index))
        return _row(dict(zip(header, cells, strict=True)), description, place(index))

    return Inputs(len(rows), read, place=place, told=told)


def _row(row: Any, description: Description, where: str) -> FloatArray:
    try:
        return description.row(row)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _refuse_empty(rows: Sequence[Any], what: str) -> None:
    if not rows:
        raise InputError(f"{what} holds no rows, expected one for each input")
