"""Tables in files and frames: CSV line by line, parquet, and rows of numbers alone."""

import csv
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError, listed, meant, refusing, same_names, shown
from milp_verix.inputs.cells import number_in_cell, remedy_for
from milp_verix.inputs.frame import is_frame, named_frame
from milp_verix.inputs.one_row import in_order
from verix_encodings.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class NumberTable:
    """Rows of numbers, shape (rows, columns), NaN for a missing one.

    ``names`` are those of the columns; ``place(i)`` says where row ``i`` stands, ``notes`` which
    columns were taken.
    """

    values: FloatArray
    names: Sequence[str]
    place: Callable[[int], str]
    notes: tuple[str, ...]

    def row(self, index: int) -> FloatArray:
        """Return a row; ``InputError`` that names the column of a missing number."""
        row = np.array(self.values[index])
        if len(missing := np.flatnonzero(np.isnan(row))):
            raise InputError(
                f"{self.place(index)}: {self.names[missing[0]]} is missing, expected a number: "
                "fill it in, or leave the row out"
            )
        return row


def number_table(
    source: Any, size: int, columns: Sequence[str] | None, names: Sequence[str] | None
) -> NumberTable:
    """Return the numbers in a DataFrame, or in a .csv or .parquet file, of ``size`` columns.

    ``columns`` are those that the user chose, all by default, and ``names`` those of the input's
    coordinates: a table is placed by these. Without them, columns are taken in their order, which a
    note tells. The first line of a CSV file is a header unless it holds numbers alone. Raises
    ``InputError`` for another file and for a cell that holds no number.
    """
    if is_frame(source):
        return _in_frame(named_frame(source), "the frame", size, columns, names)
    path = Path(source)
    if path.suffix.lower() == ".parquet":
        return _in_frame(named_frame(parquet_table(path)), path.name, size, columns, names)
    numbers, places = array("d"), array("q")
    lines = csv_lines(path)
    _, first = next(lines, (1, []))
    refuse_one_cell(path, first, size)
    header = None if all(_is_value(cell) for cell in first) else first
    chosen, notes = _places(path.name, header, len(first), size, columns=columns, names=names)
    titles = header or [f"column {place + 1}" for place in range(len(first))]
    for number, cells in [(1, first), *lines] if header is None else lines:
        where = f"{path.name}, line {number}"
        refuse_other_length(cells, len(first), where)
        for place in chosen:
            numbers.append(_number(cells[place], titles[place], where))
        places.append(number)
    return NumberTable(
        np.array(numbers).reshape(-1, size),
        [titles[place] for place in chosen],
        lambda i: f"{path.name}, line {places[i]}",
        notes,
    )


def csv_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of a CSV file that are not empty, each with its number, from 1 on."""
    with (
        refusing(f"cannot read {path}"),
        refusing(f"{path} is no CSV file in UTF-8", UnicodeDecodeError, csv.Error),
        path.open(newline="", encoding="utf-8-sig") as file,
    ):
        lines = csv.reader(file)
        for cells in lines:
            if cells:
                yield lines.line_num, cells


def refuse_one_cell(path: Path, cells: Sequence[str], count: int) -> None:
    """Raise ``InputError`` if a table of several columns has a first line of one cell, or none."""
    if not cells:
        raise InputError(f"{path.name} is empty, expected a line for each input")
    if len(cells) == 1 < count and any(sign in cells[0] for sign in ";\t|"):
        raise InputError(
            f"the first line of {path.name} is one cell, {shown(cells[0])}: separate columns by "
            "commas, as pandas.read_csv(…, sep=…).to_csv(…, index=False) does"
        )


def refuse_other_length(cells: Sequence[str], count: int, where: str) -> None:
    """Raise ``InputError`` unless a line has ``count`` cells: others may stand in other columns."""
    if len(cells) != count:
        raise InputError(
            f"{where}: {len(cells)} cells, expected {count} as in the first line: put a cell with "
            "a comma in quotes"
        )


def parquet_table(path: Path) -> Any:
    """Return a parquet file as a pandas DataFrame; ``InputError`` where it cannot be read."""
    with (
        refusing(f"{path} needs pandas and pyarrow: pip install 'milp-verix[pandas]'", ImportError),
        refusing(f"cannot read {path}", OSError, ValueError),
    ):
        import pandas as pd

        return pd.read_parquet(path)


def _in_frame(
    frame: Any, what: str, size: int, columns: Sequence[str] | None, names: Sequence[str] | None
) -> NumberTable:
    header = list(frame.columns)
    places, notes = _places(what, header, len(header), size, columns=columns, names=names)
    chosen = [header[place] for place in places]
    values = np.empty((len(frame), size))

    def place(index: int) -> str:
        return f"{what}, row {index}"

    for number, name in enumerate(chosen):
        column = frame[name].infer_objects()
        if column.dtype.kind in "biuf":
            values[:, number] = column.to_numpy(np.float64, na_value=np.nan)
            continue
        for index, (cell, missing) in enumerate(zip(column, column.isna(), strict=True)):
            values[index, number] = np.nan if missing else _cell(cell, name, place(index))
    return NumberTable(values, chosen, place, notes)


def _cell(cell: Any, name: str, where: str) -> float:
    try:
        return number_in_cell(name, cell, text=False, truth=True)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _number(cell: str, name: str, where: str) -> float:
    """Return the number in a cell, NaN for an empty one, 1 for true and 0 for false."""
    text = cell.strip().lower()
    if not text or text in ("true", "false"):
        return float(text == "true") if text else np.nan
    try:
        return float(text)
    except ValueError as error:
        way = remedy_for(cell) or ": words need a description of the inputs (described, --inputs)"
        raise InputError(f"{where}: {name} is {shown(cell)}, expected a number{way}") from error


def _is_value(cell: str) -> bool:
    """Return whether a cell holds a number or a truth value, and so is no name of a column."""
    try:
        return cell.strip().lower() in ("true", "false") or bool(float(cell) or True)
    except ValueError:
        return False


def _places(
    what: str,
    header: list[str] | None,
    count: int,
    size: int,
    *,
    columns: Sequence[str] | None,
    names: Sequence[str] | None,
) -> tuple[list[int], tuple[str, ...]]:
    """Return the places of the input's columns, and notes on them."""
    notes, known = tuple[str, ...](), header or []
    if columns is not None and same_names(names or (), columns):
        columns, _ = in_order(columns, names, "the choice of columns")
    elif header is not None and columns is None:
        chosen, notes = in_order(header, names, what)
        columns = None if names is None else chosen
    if columns is None:
        places = list(range(count))
    else:
        missing = [name for name in columns if name not in known]
        if missing:
            held = "no header" if header is None else f"the columns {listed(header)}"
            close = meant(missing[0], known)
            raise InputError(f"{what} has {held}, but no column {missing[0]!r}{close}")
        if twice := next((name for name in columns if known.count(name) > 1), None):
            raise InputError(f"{what} has two columns named {twice!r}: rename or drop one of them")
        places = [known.index(name) for name in columns]
    if len(places) != size:
        raise InputError(
            f"the network takes {size} numbers, and {len(places)} columns of {what} were chosen; "
            "name the columns of the input in its order (--columns A,B,…), or describe the input "
            "where columns hold words (--inputs FILE)"
        )
    return places, notes
