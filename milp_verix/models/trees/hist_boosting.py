"""Histogram-based gradient boosting of scikit-learn: ``x <= threshold`` in float64.

Scores are ``baseline + Σ_t w_t`` in float64; one score for two classes, of which the second is
predicted above 0.

The estimator puts columns of categories first, and encodes each category by its place in the
sorted list of those it saw. A node with categories sends some of their codes left, other known
ones right, and unknown ones where missing values go. The coordinate of a column of numbers that
are categories is such a number; that of a column of words is the word's code, ``floor(x)``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError
from milp_verix.inputs.fitted import names_of, not_fitted
from milp_verix.inputs.pipeline import fitted_class_names
from milp_verix.models.loaded_model import BEFORE_LINK, KnownFacts
from milp_verix.models.trees.branching import (
    Branching,
    Sides,
    as_thresholds,
    largest_values,
)
from milp_verix.models.trees.readers import ReadTrees, one_row_each
from verix_encodings.arrays import BoolArray, FloatArray, IntArray, relative_error

_LINKED = 2.0**-50
"""A distance of scores, from which on a float64 sigmoid or softmax tells them apart."""
_WORD = 32
_MISSING = ("nan", "None", "<NA>", "NaT")


@dataclass(frozen=True, slots=True, eq=False)
class _Categories:
    """The categories of one column, in the order of their codes."""

    values: NDArray[Any]

    @property
    def words(self) -> tuple[str, ...]:
        """The categories as texts; none if they are numbers."""
        return () if self.values.dtype.kind in "biuf" else tuple(map(str, self.values))

    def sides(self, left: BoolArray, otherwise: bool) -> Sides:
        """Return where a column's values go; ``left`` has the codes, ``otherwise`` other values."""
        outside = np.array([otherwise])
        if self.words:
            ends = np.nextafter(np.arange(left.size + 1.0), -np.inf)
            return Sides(ends, np.concatenate([outside, left, outside]))
        numbers = self.values.astype(np.float64)
        ends = np.stack([np.nextafter(numbers, -np.inf), numbers], axis=1).reshape(-1)
        inside = np.stack([np.full(left.size, otherwise), left], axis=1).reshape(-1)
        # of consecutive float64 numbers none is between
        kept = np.concatenate([[True], np.diff(ends) > 0])
        return Sides(ends[kept], np.concatenate([inside[kept], outside]))


@dataclass(frozen=True, slots=True)
class HistRunner:
    """An estimator, run by its own prediction; ``words`` are those of columns of words."""

    model: Any
    words: Mapping[int, tuple[Any, ...]]

    def outputs(self, rows: FloatArray) -> NDArray[np.floating]:
        """Return probabilities, or values before the link function."""
        table = self._table(rows)
        if not hasattr(self.model, "classes_"):
            return one_row_each(self.model._raw_predict(table), rows.shape[0])
        found = self.model.predict_proba(table)
        return one_row_each(found[:, 1] if found.shape[1] == 2 else found, rows.shape[0])

    def sums(self, rows: FloatArray) -> NDArray[np.floating]:
        """Return the numbers before the link of a classifier."""
        return one_row_each(self.model.decision_function(self._table(rows)), rows.shape[0])

    def classes(self, rows: FloatArray) -> IntArray | None:
        """Run ``predict``; return the numbers of its classes."""
        if not hasattr(self.model, "classes_"):
            return None
        return np.asarray(
            np.searchsorted(self.model.classes_, self.model.predict(self._table(rows)))
        )

    def _table(self, rows: FloatArray) -> Any:
        names = names_of(self.model)
        if (names is None and not self.words) or hasattr(rows, "columns"):
            return rows
        table = rows.astype(object) if self.words else rows
        for place, words in self.words.items():
            codes = np.floor(rows[:, place])
            known = (codes >= 0) & (codes < len(words))
            listed = np.array([*words, np.nan], dtype=object)
            table[:, place] = listed[np.where(known, codes, len(words)).astype(np.intp)]
        if names is None:
            return table
        import pandas as pd

        numbers = {place: rows[:, place] for place in range(len(names)) if place not in self.words}
        columns = {name: numbers.get(k, table[:, k]) for k, name in enumerate(names)}
        return pd.DataFrame(columns)


def read(model: Any) -> ReadTrees:
    """Read a fitted ``HistGradientBoostingClassifier`` or ``HistGradientBoostingRegressor``.

    Raises ``InputError`` for one that is not fitted, or has seen one class alone.
    """
    import sklearn

    if not hasattr(model, "_predictors"):
        raise not_fitted(model)
    classifier = hasattr(model, "classes_")
    if classifier and len(model.classes_) < 2:
        raise InputError("the classifier has seen one class alone, which it always predicts")
    base = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1)
    places, categories = _columns(model)
    stored = tuple(
        _branching(predictor, places, categories, score)
        for stage in model._predictors
        for score, predictor in enumerate(stage)
    )
    trees = tuple(as_thresholds(tree) for tree in stored)
    reach = np.abs(base) + largest_values(trees, base.size)
    columns = names_of(model)
    words = {place: kind.words for place, kind in categories.items() if kind.words}
    named = {place: tuple(categories[place].values) for place in words}
    link = getattr(model._loss, "link", None)
    linked = not classifier and type(link).__name__ != "IdentityLink"
    return ReadTrees(
        trees=trees,
        base=base,
        inputs=int(model.n_features_in_),
        rounding=relative_error(len(model._predictors) + 2) * reach + _LINKED * classifier,
        runner=HistRunner(model, named),
        facts=KnownFacts(
            None if classifier else type(model).__name__,
            tuple(fitted_class_names(model)) if classifier else (),
            (f"{BEFORE_LINK}loss={model.loss!r}",) * linked,
        ),
        library=f"scikit-learn {sklearn.__version__}",
        link="identity" if not classifier else "sigmoid" if base.size == 1 else "softmax",
        columns=None if columns is None else tuple(columns),
        stored=stored,
        words=words,
    )


def _columns(model: Any) -> tuple[IntArray, dict[int, _Categories]]:
    """Return the input's coordinate for each column that the trees read, and the categories."""
    chosen = model.is_categorical_
    if chosen is None:
        return np.arange(model.n_features_in_), {}
    first, other = np.flatnonzero(chosen), np.flatnonzero(~chosen)
    listed = model._preprocessor.named_transformers_["encoder"].categories_ if first.size else []
    known = {}
    for place, values in zip(first.tolist(), listed, strict=True):
        missing = np.array([str(value) in _MISSING for value in values], dtype=bool)
        known[place] = _Categories(np.asarray(values)[~missing])
    return np.concatenate([first, other]), known


def _branching(
    predictor: Any, places: IntArray, categories: Mapping[int, _Categories], score: int
) -> Branching:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    feature = np.where(leaf, -1, places[np.where(leaf, 0, nodes["feature_idx"])])
    sides = {}
    for node in np.flatnonzero(~leaf & nodes["is_categorical"].astype(bool)).tolist():
        kind = categories[int(feature[node])]
        bits = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]
        left = (bits[:, None] >> np.arange(_WORD, dtype=np.uint32)) & 1
        member = left.reshape(-1)[: kind.values.size].astype(bool)
        sides[node] = kind.sides(member, bool(nodes["missing_go_to_left"][node]))
    return Branching(
        feature=feature,
        threshold=np.where(leaf, 0.0, nodes["num_threshold"]),
        left=nodes["left"].astype(np.intp),
        right=nodes["right"].astype(np.intp),
        value=np.where(leaf, nodes["value"], 0.0)[:, None],
        scores=slice(score, score + 1),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        sides=sides,
    )
