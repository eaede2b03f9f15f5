"""Trees of many classes: answers are the same, to the bit, however the leaves are kept."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from milp_verix import Problem, certify, load_network
from milp_verix.models.trees.tree_network import TreeNetwork
from tests.support.tree_models import Array
from verix_encodings.arrays import dense
from verix_encodings.kinds import tree, tree_ensemble
from verix_encodings.kinds.tree import Tree
from verix_encodings.kinds.tree_ensemble import TreeEnsemble

CLASSES = 60


def data() -> tuple[Array, Any]:
    """Return rows of many classes."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(CLASSES), 4)
    return np.round(labels[:, None] % [7, 5, 3] + rng.normal(size=(labels.size, 3)), 2), labels


def sklearn(name: str, **options: Any) -> Any:
    """Return a fitted model of scikit-learn."""
    kind = "tree" if name.startswith("Decision") else "ensemble"
    return getattr(pytest.importorskip(f"sklearn.{kind}"), name)(random_state=0, **options)


MODELS: dict[str, Callable[[], Any]] = {
    "votes": lambda: sklearn("RandomForestClassifier", n_estimators=5),
    "shares": lambda: sklearn("ExtraTreesClassifier", n_estimators=5, min_samples_leaf=3),
    "ranks": lambda: sklearn("DecisionTreeClassifier", min_samples_leaf=2),
    "boosted": lambda: sklearn("GradientBoostingClassifier", n_estimators=2),
    "histograms": lambda: sklearn("HistGradientBoostingClassifier", max_iter=2),
    "LightGBM": lambda: pytest.importorskip("lightgbm").LGBMClassifier(
        n_estimators=2, min_child_samples=3, verbose=-1
    ),
    "XGBoost": lambda: pytest.importorskip("xgboost").XGBClassifier(n_estimators=2, max_depth=3),
}


def answers(model: Any, x: Array) -> tuple[TreeNetwork, dict[str, Any]]:
    """Return the model as it is read, and what is told of it."""
    network = load_network(model)
    assert isinstance(network, TreeNetwork)
    problem = Problem(network, x, epsilon=0.4, domain=(-3.0, 10.0))
    found = problem.explain()
    proof = certify(network, found)
    contrast = problem.contrastive()
    ends = problem.margins.nodes[-1]
    assert isinstance(ends, TreeEnsemble)
    return network, {
        "hash": network.content_sha256,
        "magnitude": network.ensemble.magnitude.tolist(),
        "margins": ends.magnitude.tolist(),
        "error": network.ensemble.error.tolist(),
        "step": network.step,
        "scores": network.ir.evaluate(x).tolist(),
        "explanation": sorted(found.explanation),
        "counterfactuals": {i: c.input.tolist() for i, c in found.counterfactuals.items()},
        "contrast": (contrast.contrast, repr(contrast.counterfactual), contrast.lower_bound),
        "certificate": proof.to_json(),
        "file": proof.model,
    }


@pytest.mark.parametrize("name", MODELS)
def test_sparse_leaves_give_the_answers_of_dense_ones(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = data()
    model = MODELS[name]().fit(X, y)
    read, told = answers(model, X[0])
    assert isinstance(read.ensemble.value_of, np.ndarray)
    with monkeypatch.context() as some_at_a_time:
        some_at_a_time.setattr(tree_ensemble, "_MOST_ENTRIES", 0)
        assert answers(model, X[0])[1] == told
    monkeypatch.setattr(tree, "MOST_DENSE", 0)
    thin, same = answers(model, X[0])
    assert not isinstance(thin.ensemble.value_of, np.ndarray)
    assert same == told
    assert np.array_equal(dense(thin.ensemble.value_of), read.ensemble.value_of)


def test_values_of_other_shapes_are_refused() -> None:
    nodes = np.array([-1]), np.zeros(1), np.zeros(1, int), np.zeros(1, int)
    for value, scores in (
        (np.zeros((1, 2)), slice(None)),
        (np.zeros((1, 3)), slice(1, 2)),
        (np.zeros((1, 1)), slice(3, 4)),
        (np.zeros((2, 3)), slice(None)),
    ):
        with pytest.raises(ValueError, match="the values of leaves have shape"):
            TreeEnsemble.of(0, [Tree(*nodes, value, scores)], np.zeros(3))
