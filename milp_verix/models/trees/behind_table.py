"""Trees behind the steps of a fitted pipeline, as trees of a row of its table.

Each condition of the trees on a number ``z`` that the steps compute becomes one on the column that
``z`` depends on: a threshold of a number, a set of words, or a coordinate of a one-hot block; see
:mod:`milp_verix.models.trees.table_columns`. Predictions are those of the pipeline.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError, UnsupportedOperatorError
from milp_verix.inputs.fitted import steps_of, without_search
from milp_verix.inputs.made_rows import rows_of
from milp_verix.inputs.pipeline import coordinates_of
from milp_verix.inputs.table_encoding import encoding_of
from milp_verix.inputs.table_map import Missing
from milp_verix.models.trees.branching import Branching, Sides, Words, as_thresholds, plain_sides
from milp_verix.models.trees.pulled_back import Conditions
from milp_verix.models.trees.read_trees import ReadTrees, Runner
from milp_verix.models.trees.registry import reader_of
from milp_verix.models.trees.table_columns import TableColumns
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.kinds.tree_ensemble import Tree

_ROWS = 256


class Tables(Protocol):
    """The way from coordinates to what a pipeline takes."""

    def table(self, rows: FloatArray) -> Any:
        """Return the rows of the table, or the texts, that have the coordinates ``rows``."""


@dataclass(frozen=True, slots=True)
class PipelineRunner:
    """Trees run behind the steps of a pipeline, or behind a transformer.

    ``pipeline`` is None for a transformer and a model that are no pipeline.
    """

    columns: Tables
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


def read(
    source: Any, transformer: Any = None, frame: Any = None, missing: Missing = ()
) -> ReadTrees:
    """Read trees, a fitted pipeline that ends in trees, a search, or trees and a transformer.

    Trees behind steps are compared later at rows of words, of numbers at both sides of thresholds,
    and at the rows of a DataFrame ``frame``; words of columns may be ``missing``. Raises
    ``InputError`` for a transformer or an argument that is not known, for a row of ``frame`` that
    is not in the table, and for trees of another width; ``UnsupportedOperatorError`` for steps that
    join columns.
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
    trees, (names, words, unread) = pulled_back(inner, columns), coordinates_of(fitted, missing)
    # rows with missing values wait for a description
    known = frame.dropna() if hasattr(frame, "columns") else ()
    given = rows_of(fitted, known) if len(known) else np.zeros((0, columns.size))
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
    """Return the trees with conditions on columns of the table.

    ``missing`` has the last number of coordinates that may be missing.
    """
    stored = inner.stored
    if columns.sparse and inner.sparse_zeros_missing:
        stored = tuple(_with_missing_zeros(tree) for tree in stored)
    return tuple(as_thresholds(tree) for tree in Conditions(columns, stored, missing).trees())


def _with_missing_zeros(tree: Branching) -> Branching:
    """Return the tree in which 0 goes where missing values go."""
    before = float(np.nextafter(0.0, -1.0))
    sides: dict[int, Sides | Words] = {}
    for node in np.flatnonzero(tree.feature >= 0).tolist():
        old = tree.sides.get(node) or plain_sides(tree.threshold[node])
        assert isinstance(old, Sides)
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
