"""The inputs of a study: an array in memory or in a file, or the rows of a table."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError, refusing
from milp_verix.base.stored_numbers import array_in
from milp_verix.inputs.frame import is_frame
from milp_verix.inputs.one_row import has_names, in_order, numbers_by_name, row_of
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.study.tables import number_table

_FORMS = "give a .npy file, a .npz file with KEY after a colon, a .csv or a .parquet file"


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """``count`` inputs: ``read(i)`` returns one, ``name(i)`` the name of its file, or None.

    ``notes(i)`` say how it was converted, and ``place(i)`` where it stands in its source; ``told``
    are notes on all of them. ``read`` raises ``InputError`` where an input cannot be read; the
    others are not affected.
    """

    count: int
    read: Callable[[int], NDArray[Any]]
    name: Callable[[int], str | None] = lambda _: None
    notes: Callable[[int], tuple[str, ...]] = lambda _: ()
    place: Callable[[int], str] = "input {}".format
    told: tuple[str, ...] = ()


def names_of(network: LoadedModel, options: Mapping[str, Any]) -> Sequence[str] | None:
    """Return the names of an input's coordinates: the model's, or the user's in ``options``."""
    given: Any = options.get("feature_names") if options.get("features") is None else None
    listed = isinstance(given, Iterable) and getattr(given, "ndim", 1) == 1
    names = [*map(str, given)] if listed else None
    return network.columns if network.columns_for(names or ()) or names is None else names


def inputs_of(
    source: Any,
    size: int,
    columns: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
) -> Inputs:
    """Return the inputs in ``source``: an array, a sequence, a DataFrame, or the path of a file.

    The first axis of an array counts the inputs, each of ``size`` numbers. ``columns`` are the
    columns of a table that hold an input, all by default. ``names`` are those of the coordinates,
    by which tables and rows with names are placed. Raises ``InputError``.
    """
    if isinstance(source, Inputs):
        return source
    suffix = Path(source).suffix.lower() if isinstance(source, str | Path) else ""
    if is_frame(source) or suffix in (".csv", ".parquet"):
        table = number_table(source, size, columns, names)
        _fitting(table.values, size, "the table")
        return Inputs(len(table.values), table.row, place=table.place, told=table.notes)
    if isinstance(source, str | Path):
        return _fitting(_stored(str(source), size, columns), size, str(source))
    if columns is not None:
        raise InputError("columns belong to a table; leave them out")
    if isinstance(source, np.ndarray) or hasattr(source, "__array__"):
        return _fitting(np.asarray(source), size, "the array of inputs")
    if isinstance(source, Sequence) and len(source):
        return _sequence(source, names)
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


def _sequence(source: Sequence[Any], names: Sequence[str] | None) -> Inputs:
    """Return inputs that are arrays, or rows by ``names``, or else by those of the first row."""
    told: tuple[str, ...] = ()
    if names is None and has_names(source[0]):
        names, told = in_order([*(row_of(source[0]) or ())], None, "the first row")

    def read(index: int) -> NDArray[Any]:
        row = row_of(source[index])
        with refusing("the input is not an array", ValueError):  # rows of different lengths
            if row is None:
                return np.asarray(source[index])
        return np.array(numbers_by_name(row, names, f"row {index}")[0])

    def notes(index: int) -> tuple[str, ...]:
        row = row_of(source[index])
        return () if row is None else in_order([*row], names, "the row")[1]

    return Inputs(len(source), read, notes=notes, told=told)


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
    if columns is not None:
        raise InputError(f"columns belong to a table, and {path} is none; leave them out")
    if suffix == ".npz":
        return array_in(path, key if found else "", most=sys.maxsize)
    if suffix != ".npy":
        raise InputError(f"cannot tell what the inputs {source!r} are: {_FORMS}")
    with (
        refusing(f"cannot read {path}"),
        refusing(f"{path} holds no array of numbers", ValueError, EOFError),
    ):
        mapped: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return mapped
