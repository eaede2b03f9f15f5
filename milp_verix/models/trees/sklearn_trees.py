"""Trees of scikit-learn: single ones, forests, and gradient boosting.

They compare ``float32(x) <= threshold``, with float64 thresholds.

| estimator | score | class |
|---|---|---|
| ``DecisionTreeClassifier`` | the rank of the class's share | the first of the largest |
| forests of classifiers | sums of the trees' shares, then a mean | the first of the largest |
| ``GradientBoostingClassifier`` | ``init + η Σ_t w_t``, one score for two classes | ``>= 0`` |
| regressors | the leaf's value, a mean, ``init + η Σ_t w_t`` | – |

Sums are float64. Shares of fully grown leaves are 0 and 1: their sums are exact, and so are ties.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError, UnsupportedOperatorError
from milp_verix.inputs.fitted import name_of, names_of, not_fitted
from milp_verix.inputs.pipeline import fitted_class_names
from milp_verix.models.loaded_model import KnownFacts
from milp_verix.models.trees.branching import Branching, as_thresholds, largest_values, last_left
from milp_verix.models.trees.readers import BOOSTED, SINGLE, ReadTrees, one_row_each, ranks_of
from verix_encodings.arrays import FloatArray, IntArray, dense, relative_error
from verix_encodings.kinds.tree import numbers_in, thinned


@dataclass(frozen=True, slots=True)
class SklearnRunner:
    """An estimator of scikit-learn, run by the method ``scores``, which its ``predict`` uses."""

    model: Any
    scores: str
    names: tuple[str, ...] | None = None

    def outputs(self, rows: FloatArray) -> NDArray[np.floating]:
        """Run the method that ``predict`` decides on."""
        return one_row_each(getattr(self.model, self.scores)(self._table(rows)), rows.shape[0])

    def sums(self, rows: FloatArray) -> NDArray[np.floating]:
        """Return the ranks of a single tree's shares, the one link here."""
        return ranks_of(self.outputs(rows))

    def classes(self, rows: FloatArray) -> IntArray | None:
        """Run ``predict``; return the numbers of its classes."""
        if not hasattr(self.model, "classes_"):
            return None
        found = self.model.predict(self._table(rows))
        return np.asarray(np.searchsorted(self.model.classes_, found))

    def _table(self, rows: FloatArray) -> Any:
        if self.names is None or hasattr(rows, "columns"):
            return rows
        import pandas as pd

        return pd.DataFrame(rows, columns=list(self.names))


def read(model: Any) -> ReadTrees:
    """Read a fitted estimator.

    Raises ``InputError`` for one that is not fitted or has several outputs, and
    ``UnsupportedOperatorError`` for one with a first estimator of its own.
    """
    if not hasattr(model, "n_features_in_") or not _fitted(model):
        raise not_fitted(model)
    classifier = hasattr(model, "classes_")
    if classifier and (isinstance(model.classes_, list) or np.ndim(model.classes_) != 1):
        raise InputError("the model gives a row several labels at once: fit one for each label")
    if classifier and len(model.classes_) < 2:
        raise InputError("the classifier has seen one class alone, which it always predicts")
    if getattr(model, "n_outputs_", 1) != 1:
        raise InputError("the model predicts several values at once: fit one for each value")
    parts = _boosted(model) if name_of(model) in BOOSTED else _averaged(model, classifier)
    columns = names_of(model)
    names = tuple(fitted_class_names(model)) if classifier else ()
    return replace(
        parts,
        facts=KnownFacts(None if classifier else type(model).__name__, names),
        columns=None if columns is None else tuple(columns),
    )


def _fitted(model: Any) -> bool:
    return any(hasattr(model, name) for name in ("tree_", "estimators_"))


def _averaged(model: Any, classifier: bool) -> ReadTrees:
    """Read a tree or a forest: the mean of its trees."""
    members = [model] if name_of(model) in SINGLE else list(model.estimators_)
    trees = [_tree(member.tree_) for member in members]
    count = len(trees)
    size = trees[0].value.shape[1]
    divisor, link = float(count), "identity"
    if classifier and count == 1:
        # ranks are exact, and order all classes as the shares do; equal shares have one rank
        trees, link = [replace(trees[0], value=ranks_of(dense(trees[0].value)))], "largest"
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
    return _parts(
        model,
        trees,
        np.zeros(size),
        rounding,
        "predict_proba" if classifier else "predict",
        divisor=divisor,
        link=link,
    )


def _boosted(model: Any) -> ReadTrees:
    """Read gradient boosting: ``init + η Σ_t w_t``."""
    if model.init_ != "zero" and name_of(model.init_) not in ("DummyClassifier", "DummyRegressor"):
        raise UnsupportedOperatorError(
            f"the {type(model).__name__} begins with a {type(model.init_).__name__} (init=), which "
            "is no sum of trees: fit it without init, or with init='zero'"
        )
    classifier = hasattr(model, "classes_")
    scores = model.estimators_.shape[1]
    base = np.asarray(model._raw_predict_init(np.zeros((1, model.n_features_in_))))[0]
    trees = []
    for stage in model.estimators_:
        for k, member in enumerate(stage):
            tree = _tree(member.tree_)
            trees.append(
                replace(tree, value=model.learning_rate * tree.value, scores=slice(k, k + 1))
            )
    each = [np.abs(tree.value).max(axis=0) for tree in trees]
    # one score is rounded in pairs
    sums = np.sum(each, axis=0) if scores == 1 else largest_values(trees, scores)
    return _parts(
        model,
        trees,
        base,
        relative_error(len(model.estimators_) + 2) * (np.abs(base) + sums),
        "decision_function" if classifier else "predict",
        upper_at_tie=classifier,
    )


def _parts(
    model: Any,
    trees: list[Branching],
    base: FloatArray,
    rounding: FloatArray,
    scores: str,
    **rule: Any,
) -> ReadTrees:
    import sklearn

    names = names_of(model)
    return ReadTrees(
        trees=tuple(as_thresholds(tree) for tree in trees),
        stored=tuple(trees),
        base=base,
        inputs=int(model.n_features_in_),
        rounding=rounding,
        runner=SklearnRunner(model, scores, None if names is None else tuple(names)),
        facts=KnownFacts(),
        library=f"scikit-learn {sklearn.__version__}",
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
        np.asarray(stored.missing_go_to_left, dtype=bool),
    )
