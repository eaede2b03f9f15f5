"""The inputs of a study: arrays, rows of tables, described or not, and folders of pictures."""

import csv
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError, listed, meant, refusing, same_names, shown
from milp_verix.base.image_shape import Shape
from milp_verix.base.stored_numbers import array_in
from milp_verix.inputs import input_files, one_row
from milp_verix.inputs.cells import number_in_cell, remedy_for
from milp_verix.inputs.feature import is_missing
from milp_verix.inputs.frame import is_frame, named_frame
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.one_row import in_order
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.problem.ball import UNIT_DOMAIN, Domain
from verix_encodings.arrays import FloatArray

_FORMS = "give a .npy file, a .npz file with KEY after a colon, a .csv or a .parquet file"


@dataclass(frozen=True, slots=True, eq=False)
class StudyInputs:
    """``count`` inputs: ``read(i)`` returns one, ``name(i)`` the name of its file, or None.

    ``notes(i)`` say how it was converted, and ``place(i)`` where it stands in its source;
    ``remarks`` are notes on all of them. ``read`` raises ``InputError`` where an input cannot be
    read; the others are not affected. They are ``named`` if their numbers were placed by names.
    """

    count: int
    read: Callable[[int], NDArray[Any]]
    name: Callable[[int], str | None] = lambda _: None
    notes: Callable[[int], tuple[str, ...]] = lambda _: ()
    place: Callable[[int], str] = "input {}".format
    remarks: tuple[str, ...] = ()
    named: bool = False


def names_of(network: LoadedModel, options: Mapping[str, Any]) -> Sequence[str] | None:
    """Return the names of an input's coordinates: the model's, or the user's in ``options``."""
    given: Any = options.get("feature_names") if options.get("features") is None else None
    listed = isinstance(given, Iterable) and getattr(given, "ndim", 1) == 1
    names = [*map(str, given)] if listed else None
    return network.columns if network.columns_for(names or ()) or names is None else names


def inputs_of(
    source: Any, size: int, columns: Sequence[str] | None = None, names: Sequence[str] | None = None
) -> StudyInputs:
    """Return the inputs in ``source``: an array, a sequence, a DataFrame, or the path of a file.

    The first axis of an array counts the inputs, each of ``size`` numbers. ``columns`` are the
    columns of a table that hold an input, all by default. ``names`` are those of the coordinates,
    by which tables and rows with names are placed. Raises ``InputError``.
    """
    if isinstance(source, StudyInputs):
        return source
    suffix = Path(source).suffix.lower() if isinstance(source, str | Path) else ""
    if is_frame(source) or suffix in (".csv", ".parquet"):
        return _numbers(source, size, columns, names)
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


def _sequence(source: Sequence[Any], names: Sequence[str] | None) -> StudyInputs:
    """Return inputs that are arrays, or rows by ``names``, or else by those of the first row."""
    remarks: tuple[str, ...] = ()
    if names is None and one_row.has_names(source[0]):
        names, remarks = in_order([*(one_row.row_of(source[0]) or ())], None, "the first row")

    def read(index: int) -> NDArray[Any]:
        row = one_row.row_of(source[index])
        with refusing("the input is not an array", ValueError):  # rows of different lengths
            if row is None:
                return np.asarray(source[index])
        return np.array(one_row.numbers_by_name(row, names, f"row {index}")[0])

    def notes(index: int) -> tuple[str, ...]:
        row = one_row.row_of(source[index])
        return () if row is None else in_order([*row], names, "the row")[1]

    return StudyInputs(
        len(source), read, notes=notes, remarks=remarks, named=one_row.has_names(source[0])
    )


def _fitting(values: NDArray[Any], size: int, what: str) -> StudyInputs:
    """Return the entries of ``values`` along its first axis."""
    entry = values.shape[1:]
    if values.ndim == 0 or not len(values) or int(np.prod(entry)) != size:
        raise InputError(
            f"{what} has shape {values.shape}; expected an entry for each input along the first "
            f"axis, of {size} numbers each"
        )
    return StudyInputs(len(values), lambda i: np.array(values[i]))


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
    damage = ValueError, EOFError, SyntaxError, TokenError, OverflowError, TypeError
    with refusing(f"cannot read {path}"), refusing(f"{path} holds no array of numbers", *damage):
        mapped: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return mapped


def described_inputs(source: Any, description: Inputs, *, reordered: bool = False) -> StudyInputs:
    """Return the inputs in ``source``, whose columns are the features of ``description``.

    A table, a ``.csv`` or ``.parquet`` file or a pandas DataFrame, has a column for each feature,
    by name, with numbers, words or truth values; other columns are left out. So is each row of a
    sequence of mappings. Any other source holds the network's numbers, as for :func:`inputs_of`,
    which are refused if the description was ``reordered``. Raises ``InputError``; a value that is
    missing, not known or outside of the description fails its own row alone.
    """
    given = _given(source, description, reordered)

    def read(index: int) -> NDArray[Any]:
        x = given.read(index)
        if x.size == description.size and x.dtype.kind in "biuf":  # else refused with the setting
            with refusing(given.place(index), InputError):
                description.refuse(x.reshape(-1).astype(np.float64))
        return x

    return replace(given, read=read)


def _given(source: Any, description: Inputs, reordered: bool) -> StudyInputs:
    path = Path(source) if isinstance(source, str | Path) else Path()
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return _csv(path, description)
    if suffix == ".parquet":
        return _frame(parquet_table(path), path.name, description, of_file=True)
    if is_frame(source):
        return _frame(source, "the frame", description)
    if isinstance(source, Sequence) and any(one_row.has_names(row) for row in source):
        features = description.features
        return StudyInputs(
            len(source),
            lambda i: _row(source[i], description, f"row {i}"),
            notes=lambda i: one_row.features_among(
                features, [*(one_row.row_of(source[i]) or ())], "the row"
            )[1],
            place="row {}".format,
        )
    try:
        given = inputs_of(source, description.size)
    except InputError as error:
        raise InputError(f"{error}; a DataFrame and a list of dicts have values by name") from error
    one_row.refuse_arrays(reordered)
    return given


def _frame(frame: Any, what: str, description: Inputs, *, of_file: bool = False) -> StudyInputs:
    frame = named_frame(frame)
    lines = [*enumerate(frame.to_dict("split")["data"])]
    return _table(f"{what}, row", what, [*frame.columns], lines, description, of_file=of_file)


def _csv(path: Path, description: Inputs) -> StudyInputs:
    lines = csv_lines(path)
    _, header = next(lines, (1, []))
    refuse_one_cell(path, header, len(description.names))
    _refuse_twice(header, header, path.name)
    return _table(f"{path.name}, line", path.name, header, [*lines], description, of_file=True)


def _table(
    where: str,
    what: str,
    header: list[str],
    lines: list[tuple[int, list[Any]]],
    description: Inputs,
    *,
    of_file: bool,
) -> StudyInputs:
    """Return the inputs in numbered ``lines`` of cells; empty ones are NaN if ``of_file``."""
    columns, remarks = one_row.features_among(description.features, header, what)
    may = {columns[one.name][0] for one in description.features if one.missing and of_file}
    if not lines:
        raise InputError(f"{what} holds no rows, expected one for each input")

    def place(index: int) -> str:
        return f"{where} {lines[index][0]}"

    def read(index: int) -> FloatArray:
        cells = lines[index][1]
        refuse_other_length(cells, len(header), place(index))
        row = dict(zip(header, cells, strict=True))
        gone = {name: np.nan for name in may if row[name] == "" or is_missing(row[name])}
        return _row(row | gone, description, place(index))

    return StudyInputs(len(lines), read, place=place, remarks=remarks)


def _row(row: Any, description: Inputs, where: str) -> FloatArray:
    with refusing(where, InputError):
        return description.row(row)


_MOST_TRIED = 100


def stored_inputs(
    source: str, network: LoadedModel, columns: Sequence[str] | None, options: Mapping[str, Any]
) -> StudyInputs:
    """Return the inputs that ``source`` names; a note tells where bytes are scaled."""
    domain = options.get("domain", UNIT_DOMAIN)
    if Path(source).is_dir():
        given = _pictures(Path(source), network, options.get("image_shape"))
    else:
        given = inputs_of(source, network.input_size, columns, names_of(network, options))
    scales = _scales(domain)
    scaled = (input_files.scaled_note(domain),) if scales and _are_bytes(given) else ()

    def read(index: int) -> NDArray[Any]:
        x = given.read(index)
        return input_files.scale_bytes(x, domain, network.dtype) if scales else x

    def notes(index: int) -> tuple[str, ...]:
        decoded = input_files.decoded_note(given.name(index) or "")
        return () if decoded is None else (decoded,)

    return replace(given, read=read, notes=notes, remarks=(*given.remarks, *scaled))


def _pictures(folder: Path, network: LoadedModel, image_shape: Shape | None) -> StudyInputs:
    suffixes = {f".{suffix}" for suffix in input_files.PICTURES}
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in suffixes)
    if not files:
        raise InputError(f"{folder} holds no pictures: {', '.join(sorted(suffixes))}")
    return StudyInputs(
        len(files),
        lambda i: input_files.read_input(str(files[i]), network.input_shape, image_shape),
        lambda i: files[i].name,
        place=lambda i: files[i].name,
    )


def _scales(domain: Domain) -> bool:
    """Return whether the domain has two finite ends; one for each coordinate is none."""
    try:
        low, high = map(float, domain)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False
    return bool(np.isfinite([low, high]).all())


def _are_bytes(given: StudyInputs) -> bool:
    """Return whether the inputs are bytes: the first that can be read tells."""
    for index in range(min(given.count, _MOST_TRIED)):
        with suppress(InputError):
            return given.read(index).dtype == np.uint8
    return False


def _of_numbers(
    values: FloatArray, names: Sequence[str], place: Callable[[int], str], notes: tuple[str, ...]
) -> StudyInputs:
    """Return the rows of ``values``, whose columns have ``names``; ``notes`` tell which are taken.

    A row with a NaN, a missing number, is refused by the name of its column.
    """
    _fitting(values, len(names), "the table")

    def read(index: int) -> FloatArray:
        row = np.array(values[index])
        if len(missing := np.flatnonzero(np.isnan(row))):
            raise InputError(
                f"{place(index)}: {names[missing[0]]} is missing, expected a number: "
                "fill it in, or leave the row out"
            )
        return row

    return StudyInputs(len(values), read, place=place, remarks=notes, named=True)


def _numbers(
    source: Any, size: int, columns: Sequence[str] | None, names: Sequence[str] | None
) -> StudyInputs:
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
    values, taken = np.array(numbers).reshape(-1, size), [titles[place] for place in chosen]
    return _of_numbers(values, taken, lambda i: f"{path.name}, line {places[i]}", notes)


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
) -> StudyInputs:
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
            with refusing(place(index), InputError):
                known = np.nan if missing else number_in_cell(name, cell, text=False, truth=True)
            values[index, number] = known
    return _of_numbers(values, chosen, place, notes)


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


def _refuse_twice(names: Sequence[str], header: Sequence[str], what: str) -> None:
    if twice := next((name for name in names if header.count(name) > 1), None):
        raise InputError(f"{what} has two columns named {twice!r}: rename or drop one of them")


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
        _refuse_twice(columns, known, what)
        places = [known.index(name) for name in columns]
    if len(places) != size:
        raise InputError(
            f"the network takes {size} numbers, and {len(places)} columns of {what} were chosen; "
            "name the columns of the input in its order (--columns A,B,…), or describe the input "
            "where columns hold words (--inputs FILE)"
        )
    return places, notes
