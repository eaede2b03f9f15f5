r"""Fitted transformers of scikit-learn as an affine map of a table's columns.

    z = x P + q

``x`` holds the row's coordinates: numbers in the table's own units, words as 0 and 1, as codes or
as a one-hot block. ``z`` is what the pipeline's estimator sees.

- A scaler is affine in a number: ``z = (x - offset) / scale``; principal components ``V`` are in
  several: ``z = V (x - mean)``.
- An encoder gives each word its row of a table ``T``. With the one-hot block ``b`` of the word,
  ``z = Σ_v b_v T_v``; for two words, ``z = T_0 + b (T_1 - T_0)`` with ``b`` 0 or 1.
- An imputer leaves complete rows as they are. A missing number adds its row of ``J`` to ``z``, as
  0 would be without it. With ``b`` for "is missing" and a code ``t`` beyond the ``last`` number,
  ``z = x P + b (J - t P)`` and ``b = max(x - last, 0) / (t - last)``, one ReLU for each column.
- A missing value of a column of words is one more word, if the encoder knows it or a caller names
  the column: its row of ``T`` is that of NaN, or of the word that an imputer fills in.

The tables are the encoders' own answers, so that dropped and rare categories need no rule here.
"""

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from milp_verix.base.errors import InputError, first_line, listed
from milp_verix.inputs.feature import MISSING, is_missing
from milp_verix.inputs.fitted import (
    AS_NETWORKS,
    Column,
    Missing,
    TableEncoding,
    is_pipeline,
    is_skipped,
    name_of,
    names_of,
    require_read,
    steps_of,
    width_of,
)
from verix_encodings.arrays import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class _Sum:
    """Coefficients by (column, coordinate), and a constant; ``_ABSENT`` is 1 if missing."""

    terms: Mapping[tuple[str, int], float]
    constant: float = 0.0


@dataclass(frozen=True, slots=True)
class _Raw:
    """A column that no transformer has touched, or one imputer, which fills in ``fill``."""

    name: str
    fill: Any = None


_Entry: TypeAlias = _Raw | _Sum
_ABSENT = -1


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns read so far, numbers that imputers fill in, and words that may be missing."""

    missing: Collection[Any]
    known: dict[str, Column] = field(default_factory=dict)
    typical: dict[str, list[float]] = field(default_factory=dict)


_KEPT: ContextVar[dict[Any, TableEncoding]] = ContextVar("maps read in a block")

_Step: TypeAlias = Callable[[Any, list[_Entry], _Columns], list[_Entry]]


def encoding_of(
    fitted: Any, names: Sequence[str] | None = None, missing: Missing = ()
) -> TableEncoding:
    """Return the map of a fitted transformer, or of the steps of a ``Pipeline``.

    Others read the estimator that it ends in. ``names`` are the names of the table's columns, where
    ``fitted`` saw arrays; ``missing`` are words and numbers that may be missing. Raises
    ``InputError`` for another object, one that is not fitted, for a transformer or an argument of
    one that is not known, by its name, and for such a number that no imputer fills in.
    """
    leading, size = _leading(fitted), width_of(fitted)
    given = list(names or names_of(fitted) or [f"x{number}" for number in range(size)])
    if len(given) != size:
        raise InputError(f"the frame has {len(given)} columns, the pipeline was fitted on {size}")
    kept, key = _KEPT.get({}), (*map(id, leading), *given, *missing)
    if key not in kept:
        kept[key] = _encoding(leading, given, missing)
    return kept[key]


@contextmanager
def encodings_kept() -> Iterator[None]:
    """Read each map once within this block, in which nothing is fitted: encoders take long."""
    token = _KEPT.set({})
    try:
        yield
    finally:
        _KEPT.reset(token)


def _encoding(leading: Sequence[Any], given: Sequence[str], missing: Missing) -> TableEncoding:
    entries, columns = list[_Entry](map(_Raw, given)), _Columns(missing)
    for step in leading:
        entries = _through(step, entries, columns)
    sums = [_number(entry, columns) for entry in entries]
    for name in dict.fromkeys(name for one in sums for name, _ in one.terms):
        columns.known.setdefault(name, Column(name))  # some are marked where missing, no more
    used = tuple(columns.known[name] for name in given if name in columns.known)
    starts = accumulate((column.width for column in used), initial=0)
    place = {column.name: start for column, start in zip(used, starts, strict=False)}
    linear, absent = list[tuple[int, int, float]](), list[tuple[int, int, float]]()
    ends = tuple(one for one in missing if not isinstance(one, str))
    for number, one in enumerate(sums):
        for (name, coordinate), coefficient in one.terms.items():
            if coordinate != _ABSENT:
                linear.append((place[name] + coordinate, number, coefficient))
            elif columns.known[name].form == "number":
                absent.append((place[name], number, coefficient))
            else:  # a missing word is a word
                for word in np.flatnonzero([*map(is_missing, columns.known[name].values)]):
                    linear.append((place[name] + int(word), number, coefficient))
    shape = sum(column.width for column in used), len(sums)
    matrix, jumps = _summed(linear, shape), _summed(absent, shape)
    constants = np.array([one.constant for one in sums])
    numbers = {place[one.name]: one.name for one in used if one.form == "number"}
    for at in (one[0] for one in ends):
        if at not in numbers or np.isnan(jumps[[at]].data).any():
            name = numbers.get(at, "a column of words")
            raise InputError(
                f"{name} may be missing, and no imputer of the pipeline fills it in before the "
                "network, which computes with numbers: put a SimpleImputer in front, or leave "
                f"{name} out of missing; Inputs.from_pipeline describes missing words"
            )
    return TableEncoding(used, matrix, constants, columns.typical, jumps, ends)


def _summed(entries: Sequence[tuple[int, int, float]], shape: tuple[int, int]) -> sp.csr_array:
    """Return the sparse matrix of row, column and number; zeros are left out."""
    rows, columns, numbers = np.array(entries).reshape(-1, 3).T
    matrix = sp.csr_array((numbers, (rows.astype(np.intp), columns.astype(np.intp))), shape)
    matrix.eliminate_zeros()
    return matrix


def refuse_joined(encoding: TableEncoding, estimator: Any) -> None:
    """Raise ``InputError`` if steps join columns before an estimator that is no network."""
    alone = name_of(estimator) not in AS_NETWORKS and hasattr(estimator, "predict")
    if alone and (joined := encoding.joined):
        raise InputError(
            f"the steps before the {type(estimator).__name__} join the columns {listed(joined, 5)} "
            "in one number, as PCA does, which can be read before linear models and neural "
            "networks alone: leave that step out, or apply it to the table before the pipeline"
        )


def _leading(fitted: Any) -> list[Any]:
    if is_pipeline(fitted):
        return steps_of(fitted)[:-1]
    if name_of(fitted) in _STEPS:
        return [fitted]
    raise InputError(
        f"the pipeline is a {type(fitted).__name__}, expected a fitted Pipeline or "
        "ColumnTransformer of scikit-learn; make_pipeline(transformer, estimator) joins fitted "
        "parts"
    )


def _through(step: Any, entries: list[_Entry], columns: _Columns) -> list[_Entry]:
    """Return what the fitted transformer ``step`` makes of ``entries``; note columns it reads."""
    if is_skipped(step):
        return entries
    if name_of(step) not in _STEPS:
        raise InputError(
            f"the pipeline has a {type(step).__name__}, which cannot be read: apply it to the "
            "table before the pipeline, or leave it out; scalers, encoders of words, "
            "SimpleImputer, MissingIndicator, choices of columns, PCA and TruncatedSVD can be "
            "read, in a Pipeline, ColumnTransformer or FeatureUnion"
        )
    require_read(step)
    return _STEPS[name_of(step)](step, entries, columns)


def _number(entry: _Entry, columns: _Columns) -> _Sum:
    if isinstance(entry, _Sum):
        return entry
    _note(Column(entry.name), columns)
    absent = float(entry.fill) if _is_number(entry.fill) else np.nan
    return _Sum({(entry.name, 0): 1.0, (entry.name, _ABSENT): absent})


def _is_number(fill: Any) -> bool:
    return isinstance(fill, int | float | np.number)


def _note(column: Column, columns: _Columns) -> None:
    if columns.known.setdefault(column.name, column) != column:
        raise InputError(
            f"the pipeline reads the column {column.name} in two ways, as {column.form} and as "
            f"{columns.known[column.name].form}: give the frame a column for each"
        )


def _steps(pipeline: Any, entries: list[_Entry], columns: _Columns) -> list[_Entry]:
    for _, step in pipeline.steps:
        entries = _through(step, entries, columns)
    return entries


def _by_columns(transformer: Any, entries: list[_Entry], columns: _Columns) -> list[_Entry]:
    names = list(getattr(transformer, "feature_names_in_", range(len(entries))))
    found: list[_Entry] = []
    for name, part, chosen in transformer.transformers_:
        if not (isinstance(part, str) and part == "drop"):
            picked = [entries[place] for place in _places(names, chosen)]
            made = _through(part, picked, columns) if picked else []
            found += _weighted(transformer, name, made, columns)
    return found


def _side_by_side(union: Any, entries: list[_Entry], columns: _Columns) -> list[_Entry]:
    found: list[_Entry] = []
    for name, part in union.transformer_list:
        if part != "drop":
            found += _weighted(union, name, _through(part, entries, columns), columns)
    return found


def _weighted(parent: Any, name: str, made: list[_Entry], columns: _Columns) -> list[_Entry]:
    """Return what a part made, times the weight that ``parent`` gives to the part ``name``."""
    weight = (parent.transformer_weights or {}).get(name)
    return made if weight is None else _affine(made, weight, 0.0, columns)


def _places(names: list[Any], chosen: Any) -> list[int]:
    """Return the positions of columns, chosen by a name, by names, positions, a slice or a mask."""
    listed = [chosen] if isinstance(chosen, str) else chosen
    if not isinstance(listed, slice):
        listed = list(listed)
        if all(isinstance(name, str) for name in listed):
            return [names.index(name) for name in listed]
        listed = np.array(listed)
    try:
        return [int(place) for place in np.arange(len(names))[listed]]
    except (IndexError, TypeError, ValueError) as error:
        raise InputError(
            f"the ColumnTransformer chooses columns by {chosen!r}: choose them by a list of names"
        ) from error


def _imputed(step: Any, entries: list[_Entry], columns: _Columns) -> list[_Entry]:
    """Return ``entries`` that are filled in where missing, and those that mark them."""
    if not is_missing(step.missing_values) or any(map(is_missing, step.statistics_)):
        raise InputError(
            "the pipeline has a SimpleImputer that changes complete rows: its missing_values must "
            "be NaN, and no column empty; fill the frame's missing values before the pipeline"
        )
    _refuse_none(step, entries, columns)
    found = list[_Entry]()
    for entry, fill in zip(entries, step.statistics_, strict=True):
        if isinstance(entry, _Raw):
            found.append(entry if entry.fill is not None else _Raw(entry.name, fill))
            if _is_number(fill):
                columns.typical.setdefault(entry.name, []).append(float(fill))
        else:
            absent = {key: fill - entry.constant for key, c in entry.terms.items() if np.isnan(c)}
            found.append(_Sum({**entry.terms, **absent}, entry.constant))
    return found + (_marked(step.indicator_, entries, columns) if step.add_indicator else [])


def _refuse_none(step: Any, entries: list[_Entry], columns: _Columns) -> None:
    """Raise ``InputError`` for a step that looks for None where NaN may be."""
    named = (one.name for one in entries if isinstance(one, _Raw) and one.name in columns.missing)
    if step.missing_values is None and (name := next(named, None)) is not None:
        raise InputError(
            f"{name} may be missing, which is NaN here, and the {name_of(step)} looks for None: "
            "fit it with missing_values=numpy.nan on df.astype(object).where(df.notna(), numpy.nan)"
        )


def _marked(step: Any, entries: list[_Entry], columns: _Columns) -> list[_Entry]:
    """Return 1 for each entry that is missing, and 0 for others."""
    if not is_missing(step.missing_values):
        raise InputError(
            f"the pipeline has a MissingIndicator of the value {step.missing_values!r}, which is "
            "not read: write NaN for it in the frame"
        )
    _refuse_none(step, entries, columns)
    found = list[_Entry]()
    for entry in (entries[place] for place in step.features_):
        if isinstance(entry, _Raw):
            found.append(_Sum({(entry.name, _ABSENT): 1.0} if entry.fill is None else {}))
        else:
            found.append(_Sum({key: 1.0 for key, c in entry.terms.items() if np.isnan(c)}))
    return found


def _selected(step: Any, entries: list[_Entry], _columns: _Columns) -> list[_Entry]:
    return [entries[place] for place in np.flatnonzero(step.get_support())]


def _scaled(step: Any, entries: list[_Entry], columns: _Columns) -> list[_Entry]:
    return _affine(entries, *_SCALES[name_of(step)](step), columns)


def _affine(entries: list[_Entry], factors: Any, offsets: Any, columns: _Columns) -> list[_Entry]:
    """Return ``factors * entries + offsets``."""
    factors, offsets = (np.broadcast_to(part, len(entries)) for part in (factors, offsets))
    found: list[_Entry] = []
    for entry, factor, offset in zip(entries, factors, offsets, strict=True):
        number = _number(entry, columns)
        terms = {key: float(factor * value) for key, value in number.terms.items()}
        found.append(_Sum(terms, float(factor * number.constant + offset)))
    return found


def _projected(step: Any, entries: list[_Entry], columns: _Columns) -> list[_Entry]:
    """Return sums of all ``entries``: the principal components of their distance to the mean."""
    matrix, mean = np.array(step.components_, dtype=np.float64), getattr(step, "mean_", None)
    if getattr(step, "whiten", False):
        matrix /= np.sqrt(step.explained_variance_)[:, None]
    numbers = [_number(entry, columns) for entry in entries]
    keys = dict.fromkeys(key for one in numbers for key in one.terms)
    terms = {key: np.zeros(len(matrix)) for key in keys}
    for weights, one in zip(matrix.T, numbers, strict=True):
        for key, value in one.terms.items():
            terms[key] += value * weights
    constants = np.array([one.constant for one in numbers]) - (0.0 if mean is None else mean)
    ends = (matrix @ constants).tolist()
    return [_Sum({key: float(terms[key][at]) for key in keys}, end) for at, end in enumerate(ends)]


def _standard(centre: Any, scale: Any) -> tuple[Any, Any]:
    factor = 1.0 if scale is None else 1.0 / scale
    return factor, 0.0 if centre is None else -centre * factor


# they know the mean and the scale even where they do not use them
_SCALES: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "StandardScaler": lambda step: _standard(
        step.mean_ if step.with_mean else None, step.scale_ if step.with_std else None
    ),
    "RobustScaler": lambda step: _standard(
        step.center_ if step.with_centering else None, step.scale_ if step.with_scaling else None
    ),
    "MaxAbsScaler": lambda step: (1.0 / step.scale_, 0.0),
    "MinMaxScaler": lambda step: (step.scale_, step.min_),
}


def _encoded(step: Any, entries: list[_Entry], columns: _Columns) -> list[_Entry]:
    """Return an encoder's numbers, each of one column: of words, or of marks 0 and 1."""
    known, cells = list[list[Any]](), list[list[Any]]()
    for entry, words in zip(entries, step.categories_, strict=True):
        if isinstance(entry, _Raw):
            known.append(_with_missing(entry, words, columns))
            absent = np.nan if entry.fill is None else entry.fill
            cells.append([absent if is_missing(value) else value for value in known[-1]])
        elif any(coordinate != _ABSENT for _, coordinate in entry.terms):
            raise InputError(
                f"the pipeline has a {name_of(step)} of numbers that another transformer computed: "
                "encode the column itself"
            )
        else:
            known.append([])
            cells.append([words[0], words[-1]])
    still, tables = _tables(step, cells)
    found: list[_Entry] = [_Sum({}, float(value)) for value in still]
    for entry, values, table in zip(entries, known, tables, strict=True):
        if isinstance(entry, _Sum):
            for output, numbers in table.items():
                low, high = numbers.get(0, 0.0), numbers.get(1, 0.0)
                found[output] = _Sum(dict.fromkeys(entry.terms, high - low), low)
            continue
        name = entry.name
        pairs = (pair for numbers in table.values() for pair in numbers.items())
        if not all(np.isfinite(z) or is_missing(values[at]) for at, z in pairs):
            raise InputError(f"the {name_of(step)} gives a value of {name} a number that is none")
        column = _column(step, name, values, table)
        _note(column, columns)
        for output, numbers in table.items():
            found[output] = _looked_up(column, numbers)
    return found


_Numbers: TypeAlias = Mapping[int, float]
"""The number of each word by its place; 0 is left out."""


def _tables(
    step: Any, cells: list[list[Any]]
) -> tuple[FloatArray, Sequence[Mapping[int, _Numbers]]]:
    """Return what an encoder makes of first words, and for each column its outputs and their table.

    Columns with about as many ``cells`` are encoded together, one cell after the other beside the
    first words of the others: all of these columns, then those whose number has a bit, bit by bit.
    Outputs that move are those of the column whose number these bits make. All rows are encoded at
    once: each run takes a while for each column.
    """
    first = np.array([words[0] for words in step.categories_], dtype=object)
    sizes = [len(listed).bit_length() for listed in cells]
    groups = [[place for place, one in enumerate(sizes) if one == size] for size in {*sizes}]
    mosts = [max(len(cells[place]) for place in group) for group in groups]
    parts = [first[None]]
    for group, most in zip(groups, mosts, strict=True):
        bits = (len(group) - 1).bit_length()
        rows = np.tile(first, (1 + bits, most, 1))
        for number, place in enumerate(group):
            turned = [True, *(number >> bit & 1 == 1 for bit in range(bits))]
            last = most - len(cells[place])
            rows[turned, :, place] = np.array([*cells[place], *cells[place][-1:] * last], object)
        parts += [*rows]
    made, end = _run(step, np.concatenate(parts)), 1
    still, tables = made[[0]].toarray()[0], [dict[int, dict[int, float]]() for _ in cells]
    for group, most in zip(groups, mosts, strict=True):
        ends = [end + most * turn for turn in range(2 + (len(group) - 1).bit_length())]
        turns, end = [sp.csc_array(made[a:b]) for a, b in pairwise(ends)], ends[-1]
        moved = np.array([_moves(turn, still) for turn in turns])
        numbers = moved[1:].T @ (1 << np.arange(len(turns) - 1))
        for output in np.flatnonzero(moved[0]).tolist():
            place, own = group[numbers[output]], slice(*turns[0].indptr[output : output + 2])
            pairs = zip(turns[0].indices[own].tolist(), turns[0].data[own].tolist(), strict=True)
            tables[place][output] = {at: z for at, z in pairs if at < len(cells[place])}
    return still, tables


def _moves(rows: sp.csc_array, still: FloatArray) -> BoolArray:
    """Return for each column whether a row has another number than ``still``; NaN is one."""
    counts = np.diff(rows.indptr)
    places, left_out = np.repeat(np.arange(still.size), counts), counts < rows.shape[0]
    others = (rows.data != still[places]) & ~(np.isnan(rows.data) & np.isnan(still[places]))
    moved = np.bincount(places[others], minlength=still.size) > 0
    return np.asarray(moved | (left_out & (still != 0.0)))


def _with_missing(entry: _Raw, known: Any, columns: _Columns) -> list[Any]:
    """Return the known values, with NaN, or "missing" as an imputer writes it, if it may be."""
    if any(value is None for value in known):  # to which NaN is another word, that it never saw
        raise InputError(
            f"the pipeline has an encoder that learnt None as a value of {entry.name}, and takes "
            "NaN for another: fit it on df.astype(object).where(df.notna(), numpy.nan), as all "
            "missing values are NaN here"
        )
    values = [np.nan if is_missing(value) else value for value in np.asarray(known).tolist()]
    if entry.name not in columns.missing or any(map(is_missing, values)):
        return values
    return [*(v for v in values if not entry.fill == v == MISSING), np.nan]


def _run(step: Any, rows: Any) -> sp.csr_array:
    with warnings.catch_warnings(action="ignore"):  # the rows have no names
        try:
            codes = step.transform(rows)
        except ValueError as error:
            raise InputError(f"the {name_of(step)} refuses words: {first_line(error)}") from error
    return sp.csr_array(codes, dtype=np.float64)


def _column(step: Any, name: str, values: Sequence[Any], table: Mapping[int, _Numbers]) -> Column:
    """Return a column of words; numbers other than 0 and 1 are a block, as none is a code."""
    listed = tuple(values)
    words = all(isinstance(value, str) for value in listed)
    if len(listed) == 2 and (words or listed == (0, 1)):
        return Column(name, "binary", listed)
    if words and [*table.values()] == [{at: at for at in range(1, len(listed))}]:
        ordered = not isinstance(getattr(step, "categories", "auto"), str)
        return Column(name, "codes", listed, ordered)
    return Column(name, "block", listed)


def _looked_up(column: Column, numbers: _Numbers) -> _Sum:
    """Return ``numbers[v]`` for the value ``v`` of the column."""
    name = column.name
    if column.form == "binary":
        low, high = numbers.get(0, 0.0), numbers.get(1, 0.0)
        return _Sum({(name, 0): high - low}, low)
    if column.form == "codes":
        return _Sum({(name, 0): 1.0})
    return _Sum({(name, place): z for place, z in numbers.items() if z})


_STEPS: dict[str, _Step] = {
    "Pipeline": _steps,
    "ColumnTransformer": _by_columns,
    "FeatureUnion": _side_by_side,
    **dict.fromkeys(_SCALES, _scaled),
    **dict.fromkeys(("OneHotEncoder", "OrdinalEncoder", "TargetEncoder"), _encoded),
    **dict.fromkeys(("PCA", "IncrementalPCA", "TruncatedSVD"), _projected),
    "SimpleImputer": _imputed,
    "MissingIndicator": _marked,
    "FunctionTransformer": lambda _step, entries, _columns: entries,
    **dict.fromkeys(("SelectKBest", "SelectPercentile", "VarianceThreshold"), _selected),
}
