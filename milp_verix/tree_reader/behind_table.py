"""Trees behind the steps of a fitted pipeline, as trees of a row of its table.

Each condition of the trees on a number ``z`` that the steps compute becomes one on the column that
``z`` depends on: a threshold of a number, a set of words, or a coordinate of a one-hot block; see
:mod:`milp_verix.tree_reader.table_columns`. Predictions are those of the pipeline.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.errors import InputError, UnsupportedOperatorError
from milp_verix.inputs.fitted import steps_of, without_search
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.pipeline import coordinate_names
from milp_verix.inputs.table_encoding import encoding_of
from milp_verix.tree_reader.branching import Branching, Sides, Words, as_thresholds
from milp_verix.tree_reader.read_trees import ReadTrees, Runner
from milp_verix.tree_reader.registry import reader_of
from milp_verix.tree_reader.table_columns import TableColumns
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.kinds.tree_ensemble import Tree

_ROWS = 256


@dataclass(frozen=True, slots=True)
class PipelineRunner:
    """Trees run behind the steps of a pipeline, or behind a transformer.

    ``pipeline`` is None for a transformer and a model that are no pipeline.
    """

    columns: TableColumns
    steps: Any
    inner: Runner
    pipeline: Any

    def outputs(self, rows: FloatArray) -> NDArray[np.floating]:
        """Return the outputs of the trees for what the steps make of the rows."""
        return self.inner.outputs(self.steps(self.columns.table(rows)))

    def classes(self, rows: FloatArray) -> IntArray | None:
        """Return the classes that ``predict`` gives."""
        table = self.columns.table(rows)
        known = getattr(self.pipeline, "classes_", None)
        if known is None or self.inner.classes(self.steps(table)) is None:
            return self.inner.classes(self.steps(table))
        return np.asarray(np.searchsorted(known, self.pipeline.predict(table)))


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a pipeline before its estimator, one after the other."""

    steps: tuple[Any, ...]

    def __call__(self, table: Any) -> Any:
        """Return what the steps make of ``table``."""
        for step in self.steps:
            table = step.transform(table)
        return table


def takes(source: Any) -> bool:
    """Return whether ``source`` is trees, or a pipeline or a search that ends in trees."""
    return reader_of(steps_of(without_search(source)[0])[-1]) is not None


def read(source: Any, transformer: Any = None, frame: Any = None) -> ReadTrees:
    """Read trees, a fitted pipeline that ends in trees, a search, or trees and a transformer.

    Trees behind steps are compared later at rows of words, of numbers at both sides of thresholds,
    and at the rows of a DataFrame ``frame``. Raises ``InputError`` for a transformer or an argument
    that is not known, for a row of ``frame`` that is not in the table, and for trees of another
    width; ``UnsupportedOperatorError`` for steps that join columns.
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
    encoding = encoding_of(fitted)
    before = [transformer] if transformer is not None else steps[:-1]
    if len(before) > encoding.steps:
        raise UnsupportedOperatorError(
            f"the pipeline has a {type(before[encoding.steps]).__name__} before its trees, which "
            "cannot be read: apply it to the data before the pipeline, or leave it out"
        )
    through = Steps(tuple(before))
    columns = TableColumns(fitted, encoding, through)
    if columns.width != inner.inputs:
        raise InputError(
            f"the transformer makes {columns.width} numbers of a row, the trees take {inner.inputs}"
        )
    trees = _pulled_back(inner, columns)
    given = _rows_of(fitted, frame) if hasattr(frame, "columns") else np.zeros((0, columns.size))
    return replace(
        inner,
        trees=trees,
        stored=(),
        inputs=columns.size,
        runner=PipelineRunner(columns, through, inner.runner, pipeline),
        columns=coordinate_names(fitted),
        words={},
        points=np.concatenate([_points(columns, trees), given]),
    )


def _pulled_back(inner: ReadTrees, columns: TableColumns) -> tuple[Tree, ...]:
    """Return the trees with conditions on columns of the table."""
    stored = inner.stored or tuple(_as_stored(tree) for tree in inner.trees)
    if columns.sparse and inner.sparse_zeros_missing:
        stored = tuple(_with_missing_zeros(tree) for tree in stored)
    return tuple(as_thresholds(tree) for tree in _Conditions(columns, stored).trees())


def _as_stored(tree: Tree) -> Branching:
    nowhere = np.zeros(tree.feature.size, dtype=bool)
    return Branching(tree.feature, tree.threshold, tree.left, tree.right, tree.value, nowhere)


def _with_missing_zeros(tree: Branching) -> Branching:
    """Return the tree in which 0 goes where missing values go."""
    before = float(np.nextafter(0.0, -1.0))
    sides: dict[int, Sides | Words] = {}
    for node in np.flatnonzero(tree.feature >= 0).tolist():
        old = tree.sides.get(node) or Sides(
            tree.threshold[node : node + 1], np.array([True, False])
        )
        assert isinstance(old, Sides)
        ends = np.unique([before, 0.0, *old.ends])
        places = np.append(np.searchsorted(old.ends, ends, side="left"), old.ends.size)
        left = np.array(old.left[places])
        left[np.searchsorted(ends, 0.0)] = tree.missing_left[node]
        sides[node] = Sides(ends, left)
    return replace(tree, sides=sides)


class _Conditions:
    """All conditions of trees on the numbers of the steps, as conditions on columns."""

    def __init__(self, columns: TableColumns, stored: Sequence[Branching]) -> None:
        self._columns, self._stored = columns, stored
        self._words: dict[int, FloatArray] = {}
        self._plain: dict[tuple[int, float], tuple[int, Sides | Words]] = {}
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
            old = tree.sides.get(node)
            assert not isinstance(old, Words)
            key = int(feature[node]), float(threshold[node])
            if old is not None:
                coordinate, new = self._condition(*key, old)
            else:
                if key not in self._plain:
                    self._plain[key] = self._condition(*key, None)
                coordinate, new = self._plain[key]
            feature[node] = coordinate
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
        self, output: int, threshold: float, old: Sides | None
    ) -> tuple[int, Sides | Words]:
        """Return the coordinate and the sides of a condition on ``z_output``."""
        columns = self._columns
        place = columns.column_of(output)
        if place is None:
            goes = _goes_left(columns.constants[output : output + 1], threshold, old)
            return 0, Sides(np.zeros(0), goes)
        column, start = columns.encoding.columns[place], columns.starts[place]
        if column.form == "number":
            return start, self._of_number(output, threshold, old)
        if place not in self._words:
            self._words[place] = columns.of_words(place)
        goes = _goes_left(self._words[place][:, output], threshold, old)
        if column.form != "block":
            return start, _merged(np.arange(len(goes) - 1.0) + 0.5, goes)
        if goes.sum() in (1, goes.size - 1):
            alone = bool(goes.sum() == 1)
            chosen = start + int(np.argmax(goes == alone))
            return chosen, Sides(np.array([0.5]), np.array([not alone, alone]))
        return start, Words(start, goes)

    def _of_number(self, output: int, threshold: float, old: Sides | None) -> Sides:
        ends = np.array([threshold]) if old is None else old.ends
        left = np.array([True, False]) if old is None else old.left
        if not ends.size:
            return Sides(ends, left)
        crossings = [self._crossings[output, float(end)] for end in ends]
        found = np.array([crossing.end for crossing in crossings])
        return _merged(found, left) if crossings[0].rising else _merged(found[::-1], left[::-1])


def _ends_of(tree: Branching) -> set[tuple[int, float]]:
    found = set()
    for node in np.flatnonzero(tree.feature >= 0).tolist():
        sides = tree.sides.get(node)
        ends = [tree.threshold[node]] if not isinstance(sides, Sides) else sides.ends
        found |= {(int(tree.feature[node]), float(end)) for end in ends}
    return found


def _goes_left(z: FloatArray, threshold: float, old: Sides | None) -> BoolArray:
    if old is None:
        return z <= threshold
    return np.asarray(old.left[np.searchsorted(old.ends, z, side="left")])


def _merged(ends: FloatArray, left: BoolArray) -> Sides:
    """Return the sides without ends at which nothing changes, and without empty intervals."""
    real = np.concatenate([ends > np.concatenate([[-np.inf], ends[:-1]]), [True]])
    ends, left = ends[real[:-1]], left[real]
    # an interval that ends at infinity is the last one
    last = np.searchsorted(ends, np.inf, side="left")
    ends, left = ends[:last], left[: last + 1]
    changes = left[1:] != left[:-1]
    return Sides(ends[changes], np.concatenate([left[:-1][changes], left[-1:]]))


def _points(columns: TableColumns, trees: Sequence[Tree]) -> FloatArray:
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


def _rows_of(fitted: Any, frame: Any) -> FloatArray:
    inputs = Inputs.from_pipeline(fitted, frame)
    rows = []
    for place, row in zip(frame.index, frame.to_dict("records"), strict=True):
        try:
            rows.append(inputs.row(row))
        except InputError as error:
            raise InputError(f"the frame's row {place!r}: {error}") from error
    return np.array(rows)
