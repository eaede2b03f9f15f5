"""Random models of trees of every library, and their trees run one node after the other."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from verix_encodings.kinds.tree import Tree

Array = NDArray[np.float64]
Made = tuple[Any, Array]
"""A fitted model, and rows in the coordinates of its network."""


def sklearn_model(rng: np.random.Generator, X: Array, y: Any) -> Any:
    """Return a tree, a forest or gradient boosting of scikit-learn."""
    ensemble, tree = pytest.importorskip("sklearn.ensemble"), pytest.importorskip("sklearn.tree")
    regressor = y.dtype.kind == "f"
    depth, seed = int(rng.integers(1, 6)), int(rng.integers(100))
    kind = "Regressor" if regressor else "Classifier"
    several = int(rng.integers(1, 8))
    made = [
        lambda: getattr(tree, f"DecisionTree{kind}")(max_depth=depth, random_state=seed),
        lambda: getattr(ensemble, f"RandomForest{kind}")(several, random_state=seed),
        lambda: getattr(ensemble, f"ExtraTrees{kind}")(several, max_depth=depth, random_state=seed),
        lambda: getattr(ensemble, f"GradientBoosting{kind}")(n_estimators=several),
    ]
    return made[rng.integers(len(made))]().fit(X, y)


def xgboost_model(
    rng: np.random.Generator, X: Array, y: Any, categories: Sequence[int] = ()
) -> Any:
    """Return a model of XGBoost with some of its boosters and objectives."""
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    options: dict[str, Any] = {
        "n_estimators": int(rng.integers(1, 8)),
        "max_depth": int(rng.integers(1, 5)),
        "max_cat_to_onehot": int(rng.choice([2, 100])),
        "n_jobs": 1,
    }
    if categories:
        kinds = ["c" if place in categories else "q" for place in range(X.shape[1])]
        options |= {"feature_types": kinds, "enable_categorical": True}
    ways: list[dict[str, Any]] = [
        {},
        {"booster": "dart", "rate_drop": 0.4},
        {"num_parallel_tree": 3, "subsample": 0.5},
        {"early_stopping_rounds": 1, "n_estimators": 30},
    ]
    if y.dtype.kind == "f":
        ways += [{"objective": "reg:absoluteerror"}, {"objective": "reg:gamma"}]
    elif y.max() == 1:
        ways += [{"objective": "binary:logitraw"}, {"objective": "binary:hinge"}]
    else:
        ways += [{"objective": "multi:softmax"}]
    options |= ways[rng.integers(len(ways))]
    kind = xgboost.XGBRegressor if y.dtype.kind == "f" else xgboost.XGBClassifier
    early = {"eval_set": [(X, y)], "verbose": False} if "early_stopping_rounds" in options else {}
    return kind(**options).fit(X, y, **early)


def lightgbm_model(
    rng: np.random.Generator, X: Array, y: Any, categories: Sequence[int] = ()
) -> Any:
    """Return a model of LightGBM with some of its ways of boosting."""
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    options: dict[str, Any] = {
        "n_estimators": int(rng.integers(1, 8)),
        "num_leaves": int(rng.integers(2, 12)),
        "min_child_samples": int(rng.integers(1, 10)),
        "min_data_per_group": 5,
        "cat_smooth": 1,
        "max_cat_to_onehot": int(rng.choice([2, 100])),
        "verbose": -1,
        "n_jobs": 1,
    }
    ways: list[dict[str, Any]] = [
        {},
        {"boosting_type": "dart"},
        {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1},
        {"zero_as_missing": True},
        {"use_missing": False},
        {"extra_trees": True},
    ]
    if y.dtype.kind == "f":
        ways += [{"objective": "poisson"}]
    else:
        ways += [{"sigmoid": 3.0}] if y.max() == 1 else [{"objective": "multiclassova"}]
    options |= ways[rng.integers(len(ways))]
    kind = lightgbm.LGBMRegressor if y.dtype.kind == "f" else lightgbm.LGBMClassifier
    return kind(**options).fit(X, y, categorical_feature=list(categories))


def hist_model(rng: np.random.Generator, X: Array, y: Any, categories: Sequence[int] = ()) -> Any:
    """Return histogram-based gradient boosting of scikit-learn."""
    ensemble = pytest.importorskip("sklearn.ensemble")
    kind = "Regressor" if y.dtype.kind == "f" else "Classifier"
    options: dict[str, Any] = {
        "max_iter": int(rng.integers(1, 8)),
        "max_leaf_nodes": int(rng.integers(2, 12)),
        "min_samples_leaf": int(rng.integers(1, 10)),
        "categorical_features": list(categories) or None,
    }
    if y.dtype.kind == "f":
        options["loss"] = ["squared_error", "poisson", "absolute_error"][rng.integers(3)]
    return getattr(ensemble, f"HistGradientBoosting{kind}")(**options).fit(X, y)


LIBRARIES: dict[str, Callable[..., Any]] = {
    "scikit-learn": sklearn_model,
    "XGBoost": xgboost_model,
    "LightGBM": lightgbm_model,
    "HistGradientBoosting": hist_model,
}
"""For each library the function that fits a random model to rows and labels."""


def leaf_sums(trees: Sequence[Tree], base: Array, x: Array) -> Array:
    """Return ``base`` and the values of the leaves that ``x`` reaches, walking node by node."""
    total = np.array(base, dtype=np.float64)
    for tree in trees:
        node = 0
        while tree.feature[node] >= 0:
            left = x[tree.feature[node]] <= tree.threshold[node]
            node = int((tree.left if left else tree.right)[node])
        total[tree.scores] += tree.value[node]
    return total


def at_thresholds(trees: Sequence[Tree], rows: Array, rng: np.random.Generator) -> Array:
    """Return copies of ``rows`` with one number at a threshold, or next to it.

    Next to it are the neighbours in float64 and in float32, and numbers next to zero.
    """
    pairs = [
        (int(f), float(t))
        for tree in trees
        for f, t in zip(tree.feature, tree.threshold, strict=True)
        if f >= 0 and np.isfinite(t)
    ]
    found = []
    for place in rng.permutation(len(pairs))[:40]:
        feature, threshold = pairs[place]
        single = np.float32(threshold)
        for number in (
            *(threshold, np.nextafter(threshold, np.inf), np.nextafter(threshold, -np.inf)),
            *(single, np.nextafter(single, np.float32(np.inf))),
            np.nextafter(single, np.float32(-np.inf)),
        ):
            row = rows[rng.integers(len(rows))].copy()
            row[feature] = number
            found.append(row)
    for number in (-0.0, 1e-40, -1e-40, 1e-36, -1e-36, 5e-324, np.float32(1e-35), 3e38, -3e38):
        row = rows[rng.integers(len(rows))].copy()
        row[rng.integers(row.size)] = number
        found.append(row)
    made = np.array(found, dtype=np.float64)
    return made[np.isfinite(made).all(axis=1)]
