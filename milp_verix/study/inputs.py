"""The inputs of a study: an array in memory or in a file, or the rows of a table."""

import csv
import sys
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.errors import InputError
from milp_verix.stored_numbers import array_in

_FORMS = "give a .npy file, a .npz file with KEY after a colon, a .csv or a .parquet file"


def _no_name(_: int) -> None:
    return None


def _no_notes(_: int) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """``count`` inputs: ``read(i)`` returns one, ``name(i)`` the name of its file, or None.

    ``notes(i)`` say how it was converted.
    ``read`` raises ``InputError`` where an input cannot be read; the others are not affected.
    """

    count: int
    read: Callable[[int], NDArray[Any]]
    name: Callable[[int], str | None] = _no_name
    notes: Callable[[int], tuple[str, ...]] = _no_notes


def inputs_of(source: Any, size: int, columns: Sequence[str] | None = None) -> Inputs:
    """Return the inputs in ``source``: an array, a sequence of arrays, or the path of a file.

    The first axis of an array counts the inputs, each of ``size`` numbers. ``columns`` are the
    columns of a table that hold an input, in its order; all by default. Raises ``InputError``.
    """
    if isinstance(source, Inputs):
        return source
    if isinstance(source, str | Path):
        return _fitting(_stored(str(source), size, columns), size, str(source))
    if columns is not None:
        raise InputError("columns belong to a table in a file; leave them out")
    if isinstance(source, np.ndarray) or hasattr(source, "__array__"):
        return _fitting(np.asarray(source), size, "the array of inputs")
    if isinstance(source, Sequence) and len(source):
        return Inputs(len(source), lambda i: _array(source[i]))
    raise InputError(f"the inputs are an array, a sequence of arrays or a file, got {source!r}")


def indices_in(text: str, count: int) -> list[int]:
    """Return the indices that ``text`` names out of ``count``: ``0:100``, ``3,17``, ``:50,90:``.

    A range ends with the inputs, as a slice of Python does. Raises ``InputError`` for other text,
    for an index that does not exist, for one named twice, and where none is left.
    """
    found: list[int] = []
    for part in text.split(","):
        try:
            ends = [int(end) if end.strip() else None for end in part.split(":")]
            first = ends[0]
            if len(ends) == 1 and first is not None and 0 <= first < count:
                found.append(first)
            elif len(ends) in (2, 3):
                found += range(count)[slice(*ends)]
            else:
                raise ValueError(part)
        except ValueError as error:
            raise InputError(
                f"indices are such as 0:100 or 3,17, of inputs 0..{count - 1}; got {part!r}"
            ) from error
    if not found or len(set(found)) < len(found):
        what = "an input twice" if found else f"none of the {count} inputs"
        raise InputError(f"the indices {text!r} name {what}")
    return found


def _array(value: Any) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"the input is not an array: {error}") from error


def _fitting(values: NDArray[Any], size: int, what: str) -> Inputs:
    """Return the entries of ``values`` along its first axis."""
    entry = values.shape[1:]
    if values.ndim == 0 or not len(values) or int(np.prod(entry)) != size:
        raise InputError(
            f"{what} has shape {values.shape}; expected an entry for each input along the first "
            f"axis, of {size} numbers each"
        )
    return Inputs(len(values), lambda i: np.array(values[i]))


def _stored(source: str, size: int, columns: Sequence[str] | None) -> NDArray[Any]:
    """Return the array or the table in a file."""
    before, found, key = source.rpartition(".npz:")
    path = Path(before + ".npz" if found else source)
    suffix = path.suffix.lower()
    if suffix in (".csv", ".parquet"):
        read = _csv if suffix == ".csv" else _parquet
        return read(path, size, columns)
    if columns is not None:
        raise InputError(f"columns belong to a table, and {path} is none; leave them out")
    if suffix == ".npz":
        return array_in(path, key if found else "", most=sys.maxsize)
    if suffix != ".npy":
        raise InputError(f"cannot tell what the inputs {source!r} are: {_FORMS}")
    try:
        mapped: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, EOFError) as error:
        raise InputError(f"cannot read {path}: it holds no array of numbers ({error})") from error
    return mapped


def _csv(path: Path, size: int, columns: Sequence[str] | None) -> NDArray[Any]:
    """Return the columns of a CSV file, shape (rows, columns); an empty cell is NaN.

    The first line is a header unless it holds numbers alone.
    """
    numbers = array("d")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(file)
            first = next(lines, [])
            header = None if all(_is_number(cell) for cell in first) else first
            places = _places(path, header, len(first), size, columns)
            for cells in [first] if header is None else []:
                numbers.extend(_numbers(cells, places, path, 1))
            for cells in lines:
                if cells:  # not an empty line
                    numbers.extend(_numbers(cells, places, path, lines.line_num))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {path}: it is no CSV file in UTF-8 ({error})") from error
    return np.array(numbers).reshape(-1, len(places))


def _numbers(cells: list[str], places: list[int], path: Path, line: int) -> list[float]:
    try:
        return [float(cells[place]) if cells[place].strip() else np.nan for place in places]
    except (ValueError, IndexError) as error:
        raise InputError(
            f"{path}, line {line}: expected a number in each column of the input ({error})"
        ) from error


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _places(
    path: Path, header: list[str] | None, count: int, size: int, columns: Sequence[str] | None
) -> list[int]:
    """Return the places of the input's columns."""
    if columns is None:
        places = list(range(count))
    else:
        missing = [name for name in columns if name not in (header or [])]
        if missing:
            held = "no header" if header is None else f"the columns {', '.join(header)}"
            raise InputError(f"{path} has {held}, but no column {missing[0]!r}")
        places = [(header or []).index(name) for name in columns]
    if len(places) != size:
        raise InputError(
            f"the network takes {size} numbers, and {len(places)} columns of {path} were chosen; "
            "name the columns of the input in its order (--columns A,B,…)"
        )
    return places


def parquet_table(path: Path) -> Any:
    """Return a parquet file as a pandas DataFrame; ``InputError`` where it cannot be read."""
    try:
        import pandas as pd

        return pd.read_parquet(path)
    except ImportError as error:
        raise InputError(
            f"{path} needs pandas and pyarrow: pip install 'milp-verix[pandas]' ({error})"
        ) from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"cannot read {path}: {error}") from error


def _parquet(path: Path, size: int, columns: Sequence[str] | None) -> NDArray[Any]:
    """Return the columns of a parquet file, shape (rows, columns)."""
    table = parquet_table(path)
    header = [str(name) for name in table.columns]
    places = _places(path, header, len(header), size, columns)
    try:
        chosen: NDArray[Any] = table.iloc[:, places].to_numpy(dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: expected a number in each column ({error})") from error
    return chosen
