"""Models of XGBoost: a row goes left where ``float32(x) < threshold``.

The trees are those of the library's own JSON, whose numbers are float32 and are written so that
they are read back exactly. A leaf's value counts for one class, times the tree's weight in DART.
The library adds values in float32.

A node with categories sends their codes right, and all others left; a code is the whole part of
``float32(x)``.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from milp_verix.errors import UnsupportedOperatorError
from milp_verix.tree_reader.branching import Branching, Sides, as_thresholds
from milp_verix.tree_reader.float32 import largest_rounded_below
from milp_verix.tree_reader.reading import (
    SINGLE,
    Reading,
    in_column,
    largest_values,
    sum_rounding,
    words_of,
)
from verix_encodings.arrays import FloatArray

_SIGMOIDS = ("binary:logistic", "reg:logistic", "binary:hinge")
"""Objectives whose prediction passes one half where the score passes zero."""
_IDENTITIES = ("binary:logitraw", "reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror")
_LINKED = 1e-6
"""A distance of scores, from which on a float32 sigmoid or softmax tells them apart."""


def read_xgboost(model: Any) -> Reading:
    """Read a fitted ``XGBClassifier``, ``XGBRegressor`` or other wrapper, or a ``Booster``.

    Raises ``UnsupportedOperatorError`` for a linear booster, for trees with vectors in leaves, and
    for a wrapper in which a number other than NaN stands for missing values.
    """
    import xgboost

    wrapped = not isinstance(model, xgboost.Booster)
    booster = model.get_booster() if wrapped else model
    if wrapped and not np.isnan(model.missing):
        raise UnsupportedOperatorError(
            f"the {type(model).__name__} takes {model.missing} for a missing value: replace it by "
            "NaN in the data, and fit with missing=nan"
        )
    learner = json.loads(booster.save_raw("json"))["learner"]
    trees, groups, weights = _trees(learner)
    parameters = learner["learner_model_param"]
    size = int(parameters["num_feature"])
    outputs = max(int(parameters["num_class"]), int(parameters.get("num_target", 1)), 1)
    if wrapped:
        count = _rounds_used(model, learner, len(trees))
        trees, groups, weights = trees[:count], groups[:count], weights[:count]
    read = tuple(
        as_thresholds(_branching(tree, weight, group, outputs))
        for tree, group, weight in zip(trees, groups, weights, strict=True)
    )
    base = _base(learner, size, outputs, xgboost)
    library = _Library(model, booster, learner, xgboost)
    terms = len(read) + 4
    # DART may add the base to each tree's value and take it off again
    magnitude = np.abs(base) * (1.0 + float(np.sum(np.abs(weights)))) + largest_values(read)
    shift = library.turns_at
    return Reading(
        trees=read,
        base=base - shift,
        rounding=sum_rounding(magnitude, terms, SINGLE) + _LINKED * (1.0 + abs(shift)),
        run=lambda rows: library.scores(rows) - shift,
        decide=library.classes if library.classifies else None,
        size=size,
        class_names=library.class_names,
        columns=tuple(booster.feature_names) if booster.feature_names else None,
        regressor=None if library.classifies else type(model).__name__,
        notes=library.notes,
        library="XGBoost",
    )


def _trees(learner: Mapping[str, Any]) -> tuple[list[Any], list[int], FloatArray]:
    """Return the trees, the score that each counts for, and its weight."""
    booster = learner["gradient_booster"]
    if booster["name"] not in ("gbtree", "dart"):
        raise UnsupportedOperatorError(
            f"the XGBoost model has the booster {booster['name']!r}, which has no trees: fit it "
            "with booster='gbtree', or give a linear model of scikit-learn"
        )
    model = booster["gbtree"]["model"] if booster["name"] == "dart" else booster["model"]
    trees = model["trees"]
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees):
        raise UnsupportedOperatorError(
            "the XGBoost model has a vector in each leaf: fit it with "
            "multi_strategy='one_output_per_tree'"
        )
    weights = np.asarray(booster.get("weight_drop", np.ones(len(trees))), dtype=np.float32)
    return trees, model["tree_info"], weights.astype(np.float64)


def _rounds_used(model: Any, learner: Mapping[str, Any], count: int) -> int:
    """Return the number of trees up to the best iteration of early stopping, if there was one."""
    try:
        rounds = int(model.best_iteration) + 1
    except AttributeError:
        return count
    booster = learner["gradient_booster"]
    ends = booster.get("gbtree", booster)["model"]["iteration_indptr"]
    return int(ends[min(rounds, len(ends) - 1)])


def _branching(tree: Mapping[str, Any], weight: float, group: int, outputs: int) -> Branching:
    left = np.asarray(tree["left_children"], dtype=np.int64)
    inner = left >= 0
    conditions = np.asarray(tree["split_conditions"], dtype=np.float32)
    values = np.where(inner, 0.0, conditions.astype(np.float64) * weight)
    return Branching(
        feature=np.where(inner, np.asarray(tree["split_indices"], dtype=np.int64), -1),
        threshold=np.where(inner, largest_rounded_below(conditions), 0.0),
        left=np.where(inner, left, -1),
        right=np.where(inner, np.asarray(tree["right_children"], dtype=np.int64), -1),
        value=in_column(values, group, outputs),
        missing_left=np.asarray(tree["default_left"], dtype=bool) & inner,
        sides=_sides(tree),
    )


def _sides(tree: Mapping[str, Any]) -> dict[int, Sides]:
    """Return the nodes of ``tree`` that decide by categories."""
    codes, found = np.asarray(tree["categories"], dtype=np.int64), {}
    for node, start, size in zip(
        tree["categories_nodes"],
        tree["categories_segments"],
        tree["categories_sizes"],
        strict=True,
    ):
        chosen = np.unique(codes[start : start + size])
        member = np.zeros(int(chosen[-1]) + 3 if size else 1, dtype=bool)
        member[chosen + 1] = True  # one side before code 0
        ends = largest_rounded_below(np.arange(len(member) - 1, dtype=np.float32))
        found[int(node)] = Sides(ends, ~member)
    return found


def _base(learner: Mapping[str, Any], size: int, outputs: int, xgboost: Any) -> FloatArray:
    """Return the scores of the model with one leaf of 0 for each, as the library computes them."""
    trees = [_leaf_of_zero(number, size) for number in range(outputs)]
    bare_model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(outputs)},
        "iteration_indptr": [0, outputs],
        "tree_info": list(range(outputs)),
        "trees": trees,
    }
    bare = {**learner, "gradient_booster": {"name": "gbtree", "model": bare_model}}
    bare["feature_names"] = bare["feature_types"] = []
    version = [int(part) for part in xgboost.__version__.split(".")[:3]]
    booster = xgboost.Booster()
    booster.load_model(bytearray(json.dumps({"learner": bare, "version": version}).encode()))
    scores = booster.predict(xgboost.DMatrix(np.zeros((1, size))), output_margin=True)
    found: FloatArray = np.asarray(scores, dtype=np.float64).reshape(-1)
    return found


def _leaf_of_zero(number: int, size: int) -> dict[str, Any]:
    one = ("base_weights", "split_conditions", "loss_changes", "sum_hessian")
    return {
        **{name: [0.0] for name in one},
        **{name: [] for name in ("categories", "categories_nodes")},
        **{name: [] for name in ("categories_segments", "categories_sizes")},
        **{name: [0] for name in ("default_left", "split_indices", "split_type")},
        **{name: [-1] for name in ("left_children", "right_children")},
        "parents": [2**31 - 1],
        "id": number,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(size),
            "num_nodes": "1",
            "size_leaf_vector": "1",
        },
    }


class _Library:
    """What the library itself predicts for rows."""

    def __init__(
        self, model: Any, booster: Any, learner: Mapping[str, Any], xgboost: Any
    ) -> None:
        self._model, self._booster, self._xgboost = model, booster, xgboost
        self._wrapped = model is not booster
        name = str(learner["objective"]["name"])
        custom = self._wrapped and callable(model.objective)
        named = hasattr(model, "classes_")
        link = name in _SIGMOIDS or name.startswith("multi:")
        self.classifies = (link and not custom) or (named and (custom or name in _IDENTITIES))
        if named and not self.classifies:
            raise UnsupportedOperatorError(
                f"the {type(model).__name__} has the objective {name!r}, which gives no scores of "
                "classes: fit it with 'binary:logistic' or 'multi:softprob'"
            )
        # predict of the wrapper compares with one half whatever the objective is
        half = named and not link and int(model.n_classes_) == 2
        self.turns_at = 0.5 if half else 0.0
        told = () if custom or link or name.startswith("reg:") else (name,)
        self.notes = tuple(
            f"the scores are the raw ones of the objective {one}, before its link" for one in told
        )
        if custom:
            self.notes = ("the scores are the raw ones of the custom objective",)
        self.class_names = words_of(model.classes_) if named else ()

    def scores(self, rows: FloatArray) -> FloatArray:
        """Return the raw scores, shape (n, m)."""
        if self._wrapped:
            scores = self._model.predict(self._table(rows), output_margin=True)
        else:
            scores = self._booster.predict(self._matrix(rows), output_margin=True)
        found: FloatArray = np.asarray(scores, dtype=np.float64).reshape(len(rows), -1)
        return found

    def classes(self, rows: FloatArray) -> Any:
        """Return the numbers of the classes that the library predicts, shape (n,)."""
        if self._wrapped:
            return np.asarray(self._model.predict(self._table(rows))).astype(np.int64)
        found = np.asarray(self._booster.predict(self._matrix(rows)))
        if found.ndim > 1:
            return found.argmax(axis=1)
        multi = self.scores(rows).shape[1] > 1
        return found.astype(np.int64) if multi else (found > 0.5).astype(np.int64)

    def _table(self, rows: FloatArray) -> Any:
        return rows

    def _matrix(self, rows: FloatArray) -> Any:
        booster = self._booster
        return self._xgboost.DMatrix(
            rows,
            feature_names=booster.feature_names,
            feature_types=booster.feature_types,
            enable_categorical=True,
        )

