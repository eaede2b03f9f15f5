"""Rows of a table as described inputs: columns by name, with numbers or words in them."""

import csv
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from milp_verix.errors import InputError
from milp_verix.inputs.features import Feature
from milp_verix.inputs.inputs import Inputs as Description
from milp_verix.study.inputs import Inputs, inputs_of, parquet_table
from verix_encodings.arrays import FloatArray


def described_inputs(source: Any, description: Description) -> Inputs:
    """Return the inputs in ``source``, whose columns are the features of ``description``.

    A table, a ``.csv`` or ``.parquet`` file or a pandas DataFrame, has a column for each feature,
    by name, with numbers or words; other columns are left out. Any other source holds the
    network's numbers, as for :func:`~milp_verix.study.inputs.inputs_of`. Raises ``InputError``; a
    value that is missing or not known fails its own row alone.
    """
    rows = _rows(source)
    if rows is None:
        return inputs_of(source, description.size)
    if not rows:
        raise InputError(f"{source} holds no rows")
    missing = [name for name in description.names if name not in rows[0]]
    if missing:
        raise InputError(
            f"the description has a feature {missing[0]!r}, but the table has the columns "
            f"{', '.join(map(str, rows[0]))}"
        )
    return Inputs(len(rows), partial(_read, rows, description))


def _rows(source: Any) -> Sequence[Mapping[str, Any]] | None:
    """Return the rows of a table by the names of its columns; None if ``source`` is no table."""
    if hasattr(source, "to_dict") and hasattr(source, "columns"):
        records: list[dict[str, Any]] = source.to_dict("records")
        return records
    path = Path(source) if isinstance(source, str | Path) else Path()
    if path.suffix.lower() == ".parquet":
        return _rows(parquet_table(path))
    if path.suffix.lower() != ".csv":
        return None
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {path}: it is no CSV file in UTF-8 ({error})") from error


def _read(rows: Sequence[Mapping[str, Any]], description: Description, index: int) -> FloatArray:
    features = description.features
    return description.row({one.name: _value(one, rows[index][one.name]) for one in features})


def _value(feature: Feature, cell: Any) -> Any:
    """Return the word or the number in a cell; a CSV file has text for both."""
    if not isinstance(cell, str) or cell in feature.values:
        return cell
    try:
        return float(cell)
    except ValueError:
        if feature.values and cell.strip():
            return cell  # the error of an unknown word lists the known ones
        raise InputError(f"{feature.name}: expected a number, got {cell!r}") from None
