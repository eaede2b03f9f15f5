"""Trees behind the steps of a fitted pipeline, as trees of a row of its table; missing values.

Each condition of the trees on a number ``z`` that the steps compute becomes one on the column that
``z`` depends on: a threshold of a number, a set of words, or a coordinate of a one-hot block; see
:mod:`milp_verix.models.trees.table_columns`. Predictions are those of the pipeline.

A description may say of coordinates that they may be missing. Then each number ``x > last`` of such
a coordinate means NaN: a node sends it where its library sends a missing value, so it is one more
condition of the same kind::

    x ≤ min(t, last): left,   t < x ≤ last: right,   last < x: the side of missing values

and the library is run with NaN in its place. So a missing value is one more value of the domain for
every question, and nothing else knows of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError, ModelError, refusing
from milp_verix.inputs.fitted import Missing, steps_of, without_search
from milp_verix.inputs.pipeline import coordinates_of, rows_of
from milp_verix.inputs.table_encoding import encoding_of, refuse_joined
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.trees.branching import Branching, Sides, Words
from milp_verix.models.trees.readers import ReadTrees, Runner, reader_of
from milp_verix.models.trees.table_columns import TableColumns
from milp_verix.models.trees.tree_network import TreeNetwork, require_equal, threshold_points
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.kinds.tree import Tree
from verix_encodings.kinds.tree_ensemble import TreeEnsemble
from verix_encodings.network import Network


class Conditions:
    """The conditions of all trees on the numbers of the steps, as conditions on columns."""

    def __init__(
        self,
        columns: TableColumns,
        stored: Sequence[Branching],
        missing: Mapping[int, float] | None = None,
    ) -> None:
        """``missing`` has the last number of coordinates that may be missing."""
        self._columns, self._stored, self._missing = columns, stored, missing or {}
        self._of_missing = columns.of_missing([*self._missing])
        self._plain: dict[tuple[int, float, bool], tuple[int, Sides | Words]] = {}
        pairs = {
            (int(output), float(end))
            for tree in stored
            for output, end in _ends_of(tree)
            if self._is_number(int(output))
        }
        listed = sorted(pairs)
        found = columns.crossings(
            [output for output, _ in listed], np.array([end for _, end in listed])
        )
        self._crossings = dict(zip(listed, found, strict=True))

    def trees(self) -> list[Branching]:
        """Return the trees with conditions on coordinates."""
        return [self._tree(tree) for tree in self._stored]

    def _is_number(self, output: int) -> bool:
        place = self._columns.column_of(output)
        return place is not None and self._columns.encoding.columns[place].form == "number"

    def _tree(self, tree: Branching) -> Branching:
        feature, threshold = np.array(tree.feature), np.array(tree.threshold)
        left, right = np.array(tree.left), np.array(tree.right)
        sides: dict[int, Sides | Words] = {}
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            key = int(feature[node]), float(threshold[node]), bool(tree.missing_left[node])
            found = self._plain.get(key) if node not in tree.sides else None
            if found is None:
                found = self._condition(key[0], tree.decision(node), missing_left=key[2])
                if node not in tree.sides:
                    self._plain[key] = found
            feature[node], new = found
            if isinstance(new, Sides) and new.ends.size == 1 and new.left[0] != new.left[1]:
                threshold[node] = new.ends[0]
                if new.left[1]:
                    left[node], right[node] = right[node], left[node]
            else:
                sides[node] = new
        return replace(
            tree, feature=feature, threshold=threshold, left=left, right=right, sides=sides
        )

    def _condition(
        self, output: int, old: Sides, *, missing_left: bool
    ) -> tuple[int, Sides | Words]:
        """Return the coordinate and the sides of a condition on ``z_output``."""
        columns = self._columns
        place = columns.column_of(output)
        if place is None:
            z = columns.constants[output : output + 1]
            still = Sides(np.zeros(0), old.goes_left(z, missing_left))
            for start, found in self._of_missing.items():
                if found[output] != z[0]:  # the steps mark missing values in it
                    left = old.goes_left(found[[output]], missing_left)
                    return start, still.beyond(self._missing[start], bool(left[0]))
            return 0, still
        column, start = columns.encoding.columns[place], columns.starts[place]
        if column.form == "number":
            sides = self._of_number(output, old)
            if start in self._missing:
                z = self._of_missing[start][output : output + 1]
                left = old.goes_left(z, missing_left)
                sides = sides.beyond(self._missing[start], bool(left[0]))
            return start, sides
        words = columns.of_words(len(column.values), output)
        goes = old.goes_left(words, missing_left)
        if column.form != "block":
            return start, _merged(np.arange(len(goes) - 1.0) + 0.5, goes)
        if goes.sum() in (1, goes.size - 1):
            alone = bool(goes.sum() == 1)
            chosen = start + int(np.argmax(goes == alone))
            return chosen, Sides(np.array([0.5]), np.array([not alone, alone]))
        return start, Words(start, goes)

    def _of_number(self, output: int, old: Sides) -> Sides:
        if not old.ends.size:
            return old
        crossings = [self._crossings[output, float(end)] for end in old.ends]
        found, rising = np.array([end for end, _ in crossings]), crossings[0][1]
        return _merged(found, old.left) if rising else _merged(found[::-1], old.left[::-1])


def _ends_of(tree: Branching) -> set[tuple[int, float]]:
    found = set()
    for node in np.flatnonzero(tree.feature >= 0).tolist():
        sides = tree.sides.get(node)
        ends = [tree.threshold[node]] if not isinstance(sides, Sides) else sides.ends
        found |= {(int(tree.feature[node]), float(end)) for end in ends}
    return found


def _merged(ends: FloatArray, left: BoolArray) -> Sides:
    """Return the sides without ends at which nothing changes, and without empty intervals."""
    real = np.concatenate([ends > np.concatenate([[-np.inf], ends[:-1]]), [True]])
    ends, left = ends[real[:-1]], left[real]
    # an interval that ends at infinity is the last one
    last = np.searchsorted(ends, np.inf, side="left")
    ends, left = ends[:last], left[: last + 1]
    changes = left[1:] != left[:-1]
    return Sides(ends[changes], np.concatenate([left[:-1][changes], left[-1:]]))


_ROWS = 256


class Tables(Protocol):
    """The way from coordinates to what a pipeline takes."""

    def table(self, rows: FloatArray) -> Any:
        """Return the rows of the table, or the texts, that have the coordinates ``rows``."""


@dataclass(frozen=True, slots=True)
class PipelineRunner:
    """Trees run behind steps; ``pipeline`` is None for a transformer and a model apart."""

    columns: Tables
    steps: Any
    inner: Runner
    pipeline: Any
    _last: list[tuple[FloatArray, Any, Any]] = field(default_factory=list, compare=False)

    def outputs(self, rows: FloatArray) -> NDArray[np.floating]:
        return self.inner.outputs(self._made(rows)[1])

    def sums(self, rows: FloatArray) -> NDArray[np.floating]:
        return self.inner.sums(self._made(rows)[1])

    def classes(self, rows: FloatArray) -> IntArray | None:
        table, made = self._made(rows)
        known, found = getattr(self.pipeline, "classes_", None), self.inner.classes(made)
        # a pipeline of scikit-learn predicts by its last step
        if known is None or found is None or type(self.pipeline).__module__ == "sklearn.pipeline":
            return found
        return np.asarray(np.searchsorted(known, self.pipeline.predict(table)))

    def _made(self, rows: FloatArray) -> tuple[Any, Any]:
        """Return the table of the rows, and what the steps make of it: many columns take long.

        The first rows of a table that was made lately are not made again.
        """
        for known, table, made in self._last:
            if np.array_equal(known[: len(rows)], rows, equal_nan=True):
                return table[: len(rows)], made[: len(rows)]
        table = self.columns.table(rows)
        self._last[2:] = []
        self._last.insert(0, (rows + 0.0, table, self.steps(table)))
        return self._last[0][1:]


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a pipeline before its estimator, one after the other."""

    steps: tuple[Any, ...]

    def __call__(self, table: Any) -> Any:
        """Return what the steps make of ``table``."""
        for step in self.steps:
            with refusing(f"the {type(step).__name__} refuses a row of the table", ValueError):
                table = step.transform(table)
        return table


def read(
    source: Any, transformer: Any = None, frame: Any = None, missing: Missing = ()
) -> ReadTrees:
    """Read trees, a fitted pipeline that ends in trees, a search, or trees and a transformer.

    Trees behind steps are compared later at rows of words, of numbers at both sides of thresholds,
    and at the rows of a DataFrame ``frame``; words of columns may be ``missing``. Raises
    ``InputError`` for a transformer or an argument that is not known, for a row of ``frame`` that
    is not in the table, for trees of another width, and for steps that join columns.
    """
    chosen, notes = without_search(source)
    steps, pipeline = steps_of(chosen), None if transformer is not None else chosen
    estimator = steps[-1]
    found_reader = reader_of(estimator)
    assert found_reader is not None
    inner = found_reader(estimator)
    inner = replace(inner, facts=replace(inner.facts, notes=(*notes, *inner.facts.notes)))
    if transformer is None and len(steps) == 1:
        return inner
    fitted = chosen if transformer is None else transformer
    encoding = encoding_of(fitted, missing=missing)
    before = [transformer] if transformer is not None else steps[:-1]
    refuse_joined(encoding, estimator)
    through = Steps(tuple(before))
    columns = TableColumns(fitted, encoding, through)
    if columns.width != inner.inputs:
        raise InputError(
            f"the transformer makes {columns.width} numbers of a row, the trees take {inner.inputs}"
        )
    trees = pulled_back(inner, columns)
    names, words, unread = coordinates_of(fitted, missing, encoding)
    # rows with missing values wait for a description
    known = frame.dropna() if hasattr(frame, "columns") else ()
    given = rows_of(fitted, known, missing) if len(known) else np.zeros((0, columns.size))
    return replace(
        inner,
        trees=trees,
        stored=(),
        inputs=columns.size,
        runner=PipelineRunner(columns, through, inner.runner, pipeline),
        columns=names,
        unread=unread,
        words=words,
        points=np.concatenate([table_points(columns, trees), given]),
    )


def pulled_back(
    inner: ReadTrees, columns: TableColumns, missing: Mapping[int, float] | None = None
) -> tuple[Tree, ...]:
    """Return trees of columns of the table; ``missing`` has last numbers, by coordinate."""
    stored = inner.stored
    if inner.sparse_zeros_missing and columns.sparse:
        stored = tuple(_with_missing_zeros(tree) for tree in stored)
    return tuple(tree.as_thresholds() for tree in Conditions(columns, stored, missing).trees())


def _with_missing_zeros(tree: Branching) -> Branching:
    """Return the tree in which 0 goes where missing values go."""
    before = float(np.nextafter(0.0, -1.0))
    sides: dict[int, Sides | Words] = {}
    for node in np.flatnonzero(tree.feature >= 0).tolist():
        old = tree.decision(node)
        ends = np.unique([before, 0.0, *old.ends])
        places = np.append(np.searchsorted(old.ends, ends, side="left"), old.ends.size)
        left = np.array(old.left[places])
        left[np.searchsorted(ends, 0.0)] = tree.missing_left[node]
        sides[node] = Sides(ends, left)
    return replace(tree, sides=sides)


def table_points(columns: TableColumns, trees: Sequence[Tree]) -> FloatArray:
    """Return rows of random words, and of numbers at thresholds and just beyond them."""
    generator = np.random.default_rng(0)
    rows = np.zeros((_ROWS, columns.size))
    feature = np.concatenate([tree.feature for tree in trees])
    threshold = np.concatenate([tree.threshold for tree in trees])
    for column, start in zip(columns.encoding.columns, columns.starts, strict=True):
        if column.form == "block":
            words = generator.integers(0, column.width, size=_ROWS)
            rows[np.arange(_ROWS), start + words] = 1.0
        elif column.form != "number":
            rows[:, start] = generator.integers(0, len(column.values), size=_ROWS)
        else:
            own = threshold[(feature == start) & np.isfinite(threshold)]
            own = own if own.size else generator.normal(size=_ROWS)
            picked = generator.permutation(np.resize(own, max(_ROWS, own.size)))[:_ROWS]
            beyond = generator.integers(0, 2, size=_ROWS).astype(bool)
            rows[:, start] = np.where(beyond, np.nextafter(picked, np.inf), picked)
    return rows


@dataclass(frozen=True, slots=True)
class MissingRunner:
    """A model that is run with NaN for numbers beyond ``last``, by coordinate."""

    inner: Runner
    last: Mapping[int, float]

    def outputs(self, rows: FloatArray) -> NDArray[np.floating]:
        return self.inner.outputs(self._with_nan(rows))

    def sums(self, rows: FloatArray) -> NDArray[np.floating]:
        return self.inner.sums(self._with_nan(rows))

    def classes(self, rows: FloatArray) -> IntArray | None:
        return self.inner.classes(self._with_nan(rows))

    def _with_nan(self, rows: FloatArray) -> FloatArray:
        found = np.array(rows)
        for place, end in self.last.items():
            found[found[:, place] > end, place] = np.nan
        return found


def with_missing(network: LoadedModel, last: Mapping[int, float]) -> LoadedModel:
    """Return the trees ``network`` with NaN in place of numbers beyond ``last``, by coordinate.

    Raises ``InputError`` for trees that take no missing values; ``ModelError`` where the
    library runs them otherwise than they are read.
    """
    assert isinstance(network, TreeNetwork)
    plain = network.plain or network
    return _with_missing(plain, tuple(sorted(last.items()))) if last else plain


@lru_cache(maxsize=8)  # each problem about a model asks for the same
def _with_missing(network: TreeNetwork, pairs: tuple[tuple[int, float], ...]) -> TreeNetwork:
    last, runner = dict(pairs), MissingRunner(network.runner, dict(pairs))
    trees, points = _read_again(network, last)
    node = TreeEnsemble.of(0, trees, network.ensemble.base, network.ensemble.error)
    found = replace(
        network, ir=Network(network.ir.input_shape, (node,)), runner=runner, plain=network
    )
    rows = threshold_points(node, network.input_size) if points is None else points
    generator = np.random.default_rng(0)
    for place, end in pairs:
        beyond = generator.random(len(rows)) < 1 / 3
        rows[beyond, place] = np.nextafter(end, np.inf)
    try:
        found.outputs(rows)
    except ModelError as error:
        raise InputError(
            f"{network.library} runs this model without missing values alone ({error.__cause__}): "
            "fit it on a table that has some, or leave missing out of the description"
        ) from error
    require_equal(found, rows)
    return found


def _read_again(
    network: TreeNetwork, last: Mapping[int, float]
) -> tuple[tuple[Tree, ...], FloatArray | None]:
    """Return the trees that go on beyond ``last``, and points of the table, if it has steps."""
    behind = network.runner if isinstance(network.runner, PipelineRunner) else None
    model: Any = getattr(network.runner if behind is None else behind.inner, "model", None)
    reader = reader_of(model)
    if reader is None:
        raise InputError(
            "an ONNX file of trees is read without the ways of missing values: load the model of "
            "its own library, or leave missing out of the description"
        )
    read = reader(model)
    if behind is None:
        return tuple(tree.with_missing(last).as_thresholds() for tree in read.stored), None
    assert isinstance(behind.columns, TableColumns)  # counts of words are never missing
    trees = pulled_back(read, behind.columns, last)
    return trees, table_points(behind.columns, trees)
