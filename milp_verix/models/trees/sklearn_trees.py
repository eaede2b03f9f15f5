"""Trees of scikit-learn: single ones, forests, gradient boosting, and that by histograms.

They compare ``float32(x) <= threshold``, with float64 thresholds; those of histograms ``x`` itself.

| estimator | score | class |
|---|---|---|
| ``DecisionTreeClassifier`` | the rank of the class's share | the first of the largest |
| forests of classifiers | sums of the trees' shares, then a mean | the first of the largest |
| ``GradientBoostingClassifier`` | ``init + η Σ_t w_t``, one score for two classes | ``>= 0`` |
| ``HistGradientBoostingClassifier`` | ``baseline + Σ_t w_t``, one score for two classes | ``> 0`` |
| regressors | the leaf's value, a mean, ``init + η Σ_t w_t`` | – |

Sums are float64. Shares of fully grown leaves are 0 and 1: their sums are exact, and so are ties.

Trees of histograms have categories. The estimator puts columns of these first, and encodes each
category by its place in the sorted list of those it saw. A node with categories sends some of their
codes left, other known ones right, and unknown ones where missing values go. The coordinate of a
column of numbers that are categories is such a number; that of a column of words is the word's
code, ``floor(x)``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError, UnsupportedOperatorError
from milp_verix.inputs.feature import is_missing
from milp_verix.inputs.fitted import name_of, names_of, not_fitted
from milp_verix.models.loaded_model import BEFORE_LINK
from milp_verix.models.trees import readers
from milp_verix.models.trees.branching import Branching, Sides, largest_values, last_left
from milp_verix.models.trees.readers import ReadTrees
from verix_encodings.arrays import BoolArray, FloatArray, IntArray, dense, relative_error
from verix_encodings.kinds.tree import numbers_in, thinned

_LINKED = 2.0**-50
"""A distance of scores, from which on a float64 sigmoid or softmax tells them apart."""
_WORD = 32


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
        if not self.words:
            return Sides.of_members(self.values.astype(np.float64), left, otherwise)
        ends = np.nextafter(np.arange(left.size + 1.0), -np.inf)
        return Sides(ends, np.concatenate([[otherwise], left, [otherwise]]))


@dataclass(frozen=True, slots=True)
class SklearnRunner:
    """An estimator, run by the method ``scores``; ``words`` are those of columns of words."""

    model: Any
    scores: str
    words: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)

    def outputs(self, rows: FloatArray) -> NDArray[np.floating]:
        """Run the method that ``predict`` decides on; of two linked classes return the second."""
        found: Any = getattr(self.model, self.scores)(self._table(rows))
        two = self._linked and found.ndim == 2 and found.shape[1] == 2
        return np.asarray(found[:, 1] if two else found)

    def sums(self, rows: FloatArray) -> NDArray[np.floating]:
        """Return the numbers before the link, or the ranks of a single tree's shares."""
        if self._linked:
            return np.asarray(self.model.decision_function(self._table(rows)))
        return readers.ranks_of(self.outputs(rows))

    def classes(self, rows: FloatArray) -> IntArray | None:
        if not hasattr(self.model, "classes_"):
            return None
        found = self.model.predict(self._table(rows))
        return np.asarray(np.searchsorted(self.model.classes_, found))

    @property
    def _linked(self) -> bool:
        return name_of(self.model) == "HistGradientBoostingClassifier"

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

        if not self.words:
            return pd.DataFrame(rows, columns=names)
        numbers = {place: rows[:, place] for place in range(len(names)) if place not in self.words}
        return pd.DataFrame({name: numbers.get(k, table[:, k]) for k, name in enumerate(names)})


def read(model: Any) -> ReadTrees:
    """Read a fitted estimator.

    Raises ``InputError`` for one that is not fitted, has seen one class alone, or has several
    outputs, and ``UnsupportedOperatorError`` for one with a first estimator of its own.
    """
    parts = ("tree_", "estimators_", "_predictors")
    if not hasattr(model, "n_features_in_") or not any(hasattr(model, name) for name in parts):
        raise not_fitted(model)
    classifier = hasattr(model, "classes_")
    if classifier and (isinstance(model.classes_, list) or np.ndim(model.classes_) != 1):
        raise InputError("the model gives a row several labels at once: fit one for each label")
    if classifier and len(model.classes_) < 2:
        raise InputError("the classifier has seen one class alone, which it always predicts")
    if getattr(model, "n_outputs_", 1) != 1:
        raise InputError("the model predicts several values at once: fit one for each value")
    if name_of(model) in readers.HISTOGRAMS:
        return _by_histograms(model, classifier)
    return (_boosted if name_of(model) in readers.BOOSTED else _averaged)(model, classifier)


def _averaged(model: Any, classifier: bool) -> ReadTrees:
    """Read a tree or a forest: the mean of its trees."""
    members = [model] if name_of(model) in readers.SINGLE else list(model.estimators_)
    trees = [_tree(member.tree_) for member in members]
    count = len(trees)
    size = trees[0].value.shape[1]
    divisor, link = float(count), "identity"
    if classifier and count == 1:
        # ranks are exact, and order all classes as the shares do; equal shares have one rank
        trees, link = [replace(trees[0], value=readers.ranks_of(dense(trees[0].value)))], "largest"
    if not classifier:
        # a regressor's scores are its values
        trees = [replace(tree, value=tree.value / count) for tree in trees]
        divisor = 1.0
    leaves = np.concatenate([numbers_in(tree.value[tree.feature < 0]) for tree in trees])
    votes = link == "largest" or (classifier and bool(np.isin(leaves, (0.0, 1.0)).all()))
    rounding = np.zeros(size)
    if not votes:  # the sum and the division; equal sums give equal quotients
        each = [np.abs(one.tree_.value[:, 0, :]).max(axis=0) for one in members]
        scaled = np.stack(each) / (count / divisor)
        rounding = relative_error(count + 2) * scaled.sum(axis=0)
    runner = SklearnRunner(model, "predict_proba" if classifier else "predict")
    return _parts(runner, trees, np.zeros(size), rounding, divisor=divisor, link=link)


def _boosted(model: Any, classifier: bool) -> ReadTrees:
    """Read gradient boosting: ``init + η Σ_t w_t``."""
    if model.init_ != "zero" and name_of(model.init_) not in ("DummyClassifier", "DummyRegressor"):
        raise UnsupportedOperatorError(
            f"the {type(model).__name__} begins with a {type(model.init_).__name__} (init=), which "
            "is no sum of trees: fit it without init, or with init='zero'"
        )
    scores = model.estimators_.shape[1]
    base = np.asarray(model._raw_predict_init(np.zeros((1, model.n_features_in_))))[0]
    trees = []
    for stage in model.estimators_:
        for k, member in enumerate(stage):
            tree = _tree(member.tree_)
            value = model.learning_rate * tree.value
            trees.append(replace(tree, value=value, scores=slice(k, k + 1)))
    each = [np.abs(tree.value).max(axis=0) for tree in trees]
    # one score is rounded in pairs
    sums = np.sum(each, axis=0) if scores == 1 else largest_values(trees, scores)
    rounding = relative_error(len(model.estimators_) + 2) * (np.abs(base) + sums)
    runner = SklearnRunner(model, "decision_function" if classifier else "predict")
    return _parts(runner, trees, base, rounding, upper_at_tie=classifier)


def _by_histograms(model: Any, classifier: bool) -> ReadTrees:
    """Read gradient boosting by histograms: ``baseline + Σ_t w_t``."""
    base = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1)
    places, categories = _columns(model)
    trees = [
        _branching(predictor, places, categories, score)
        for stage in model._predictors
        for score, predictor in enumerate(stage)
    ]
    words = {place: kind.words for place, kind in categories.items() if kind.words}
    named = {place: tuple(categories[place].values) for place in words}
    linked = not classifier and type(getattr(model._loss, "link", None)).__name__ != "IdentityLink"
    found = _parts(
        SklearnRunner(model, "predict_proba" if classifier else "_raw_predict", named),
        trees,
        base,
        np.zeros(0),
        notes=(f"{BEFORE_LINK}loss={model.loss!r}",) * linked,
        link="identity" if not classifier else "sigmoid" if base.size == 1 else "softmax",
        words=words,
    )
    reach = np.abs(base) + largest_values(found.trees, base.size)
    error = relative_error(len(model._predictors) + 2) * reach + _LINKED * classifier
    return replace(found, rounding=error)


def _parts(
    runner: SklearnRunner,
    trees: list[Branching],
    base: FloatArray,
    rounding: FloatArray,
    notes: tuple[str, ...] = (),
    **rule: Any,
) -> ReadTrees:
    import sklearn

    model = runner.model
    columns = names_of(model)
    return ReadTrees(
        trees=tuple(tree.as_thresholds() for tree in trees),
        stored=tuple(trees),
        base=base,
        inputs=int(model.n_features_in_),
        rounding=rounding,
        runner=runner,
        facts=readers.facts_on(model, hasattr(model, "classes_"), notes),
        library=f"scikit-learn {sklearn.__version__}",
        columns=None if columns is None else tuple(columns),
        **rule,
    )


def _tree(stored: Any) -> Branching:
    """Return a tree of scikit-learn in the normal form; values have shape (n, m)."""
    leaf = stored.children_left < 0
    places = np.arange(stored.node_count)
    return Branching(
        np.where(leaf, -1, stored.feature).astype(np.intp),
        np.where(leaf, np.inf, last_left(stored.threshold)),
        np.where(leaf, places, stored.children_left).astype(np.intp),
        np.where(leaf, places, stored.children_right).astype(np.intp),
        thinned(np.asarray(stored.value[:, 0, :], dtype=np.float64), leaf),
        missing_left=np.asarray(stored.missing_go_to_left, dtype=bool),
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
        missing = np.array([*map(is_missing, values)], dtype=bool)
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
