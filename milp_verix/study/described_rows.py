"""Rows of a table as described inputs: columns by name, with numbers or words in them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError, refusing
from milp_verix.inputs.frame import is_frame, named_frame
from milp_verix.inputs.inputs import Inputs as Description
from milp_verix.inputs.one_row import features_among, has_names, row_of
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
            with refusing(given.place(index), InputError):
                description.refuse(x.reshape(-1).astype(np.float64))
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
            notes=lambda i: features_among(features, [*(row_of(source[i]) or ())], "the row")[1],
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
    lines = [*enumerate(frame.to_dict("split")["data"])]
    return _table(f"{what}, row", what, [*frame.columns], lines, description)


def _csv(path: Path, description: Description) -> Inputs:
    lines = csv_lines(path)
    _, header = next(lines, (1, []))
    refuse_one_cell(path, header, len(description.names))
    if twice := next((name for name in header if header.count(name) > 1), None):
        raise InputError(f"{path.name} has two columns named {twice!r}: rename or drop one of them")
    return _table(f"{path.name}, line", path.name, header, [*lines], description)


def _table(
    where: str,
    what: str,
    header: list[str],
    lines: list[tuple[int, list[Any]]],
    description: Description,
) -> Inputs:
    """Return the inputs in numbered ``lines`` of cells."""
    _, told = features_among(description.features, header, what)
    if not lines:
        raise InputError(f"{what} holds no rows, expected one for each input")

    def place(index: int) -> str:
        return f"{where} {lines[index][0]}"

    def read(index: int) -> FloatArray:
        cells = lines[index][1]
        refuse_other_length(cells, len(header), place(index))
        return _row(dict(zip(header, cells, strict=True)), description, place(index))

    return Inputs(len(lines), read, place=place, told=told)


def _row(row: Any, description: Description, where: str) -> FloatArray:
    with refusing(where, InputError):
        return description.row(row)
