"""Trees of scikit-learn are read as its own ``predict`` runs them, or refused by name."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import milp_verix as mv
from milp_verix import (
    InputError,
    ModelError,
    Problem,
    UnsupportedOperatorError,
    integer,
    load_network,
)
from milp_verix.models.trees.sklearn_trees import read
from milp_verix.models.trees.tree_network import TreeNetwork, tree_network

_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(80, 3))
THREE = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 0.5)
TWO = THREE > 0
MODELS = [
    DecisionTreeClassifier(max_depth=3),
    DecisionTreeRegressor(max_depth=3),
    RandomForestClassifier(5, random_state=0),
    RandomForestRegressor(5, random_state=0),
    ExtraTreesClassifier(5, max_depth=4, random_state=0),
    ExtraTreesRegressor(5, random_state=0),
    GradientBoostingClassifier(n_estimators=4),
    GradientBoostingClassifier(n_estimators=4, init="zero"),
    GradientBoostingRegressor(n_estimators=4, loss="huber"),
]


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_classes_and_values_are_those_of_predict(model: Any, labels: np.ndarray) -> None:
    fitted = model.fit(X, labels)
    network = load_network(fitted)
    assert isinstance(network, TreeNetwork)
    rows = _RNG.normal(size=(50, 3))
    outputs = network.evaluate_many(rows)
    found = fitted.predict(rows)
    if network.facts.regressor is not None:
        assert outputs[:, 0].tolist() == found.tolist()
        return
    asked = [Problem(network, row, epsilon=0.1, domain=(-9, 9)) for row in rows]
    classes = [fitted.classes_[problem.question.prediction] for problem in asked]
    assert classes == found.tolist()


def test_a_tie_of_votes_goes_to_the_first_class() -> None:
    """Two trees, one for each class: the forest predicts the lower one, and that is proven."""
    forest = RandomForestClassifier(2, bootstrap=False, random_state=0)
    forest.fit([[0.0], [1.0]], [0, 1])
    forest.estimators_[1].fit([[0.0], [1.0]], [1.0, 0.0])
    assert forest.predict([[0.0], [1.0]]).tolist() == [0, 0]
    problem = Problem(forest, [0.0], epsilon=1.0, domain=(0, 1))
    found = problem.explain()
    assert (found.explanation, found.unknown) == ((), ())


def test_sums_of_votes_are_exact_and_sums_of_shares_are_not() -> None:
    for depth, exact in ((None, True), (1, False)):
        forest = RandomForestClassifier(5, max_depth=depth, random_state=0).fit(X, TWO)
        assert (not read(forest).rounding.any()) == exact


def test_a_threshold_read_wrongly_is_seen_before_a_word_is_said() -> None:
    read_trees = read(GradientBoostingClassifier(n_estimators=3).fit(X, TWO))
    tree_network(read_trees)
    first = read_trees.trees[0]
    inner = first.feature >= 0
    for shifted in (np.nextafter(first.threshold, np.inf), np.nextafter(first.threshold, -np.inf)):
        wrong = replace(first, threshold=np.where(inner, shifted, first.threshold))
        with pytest.raises(ModelError, match=r"is not read as scikit-learn .* runs it"):
            tree_network(replace(read_trees, trees=(wrong, *read_trees.trees[1:])))


def test_a_leaf_read_wrongly_is_seen() -> None:
    read_trees = read(RandomForestRegressor(3, random_state=0).fit(X, THREE))
    wrong = [replace(tree, value=tree.value * (1 + 1e-9)) for tree in read_trees.trees]
    with pytest.raises(ModelError, match="rounding explains a difference"):
        tree_network(replace(read_trees, trees=tuple(wrong)))


@pytest.mark.parametrize(
    ("model", "error", "told"),
    [
        (RandomForestClassifier(), InputError, "the RandomForestClassifier is not fitted"),
        (
            RandomForestClassifier(2).fit(X, np.stack([TWO, TWO], axis=1)),
            InputError,
            "several labels at once",
        ),
        (RandomForestRegressor(2).fit(X, X), InputError, "several values at once"),
        (DecisionTreeClassifier().fit(X, np.zeros(80)), InputError, "one class alone"),
        (
            GradientBoostingRegressor(n_estimators=2, init=Ridge()).fit(X, TWO),
            UnsupportedOperatorError,
            r"begins with a Ridge \(init=\)",
        ),
    ],
)
def test_others_are_refused_by_name(model: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        load_network(model)


def test_a_classifier_takes_no_delta_and_a_regressor_needs_one() -> None:
    classifier = DecisionTreeClassifier().fit(X, TWO)
    with pytest.raises(InputError, match="the model is a classifier, and delta is for values"):
        Problem(classifier, X[0], epsilon=0.1, delta=0.1, domain=(-9, 9))
    regressor = DecisionTreeRegressor().fit(X, TWO)
    with pytest.raises(InputError, match="the DecisionTreeRegressor is a regressor"):
        Problem(regressor, X[0], epsilon=0.1, domain=(-9, 9))


@pytest.mark.parametrize("seed", range(8))
def test_rivals_of_one_tree_are_compared_by_their_shares(seed: int) -> None:
    # a leaf's winner alone would let no other class overtake a third one
    random = np.random.default_rng(seed)
    grid = np.array(np.meshgrid(*[range(3)] * 3)).reshape(3, -1).T.astype(float)
    table, labels = random.integers(0, 3, (60, 3)).astype(float), random.integers(0, 4, 60)
    model = DecisionTreeClassifier(max_depth=3, random_state=seed).fit(table, labels)
    shares, x = model.predict_proba(grid), grid[seed]
    own = int(np.argmax(shares[seed]))
    inputs = [integer(name, 0, 2) for name in "abc"]
    for rival in {*range(shares.shape[1])} - {own}:
        problem = Problem(model, x, inputs=inputs, epsilon=np.inf, against=rival)
        ahead, level = (
            compare(shares[:, rival], shares[:, own]) for compare in (np.greater, np.equal)
        )
        changed = ahead | (level & (rival < own))
        for size in range(4):
            for free in combinations(range(3), size):
                kept = [feature for feature in range(3) if feature not in free]
                region = (grid[:, kept] == x[kept]).all(axis=1)
                assert problem.check(free).holds == (not changed[region].any())


@pytest.mark.parametrize("missing", [False, True])
def test_words_that_read_like_missing_values_are_words(missing: bool) -> None:
    rng = np.random.default_rng(0)
    words = rng.choice(["NA", "None", "nan", "<NA>"], 300).astype(object)
    frame = pd.DataFrame({"w": words, "a": rng.random(300)})
    labels = (words == "None") ^ (words == "nan") ^ (frame.a > 0.8)
    if missing:
        frame["w"] = frame["w"].mask(rng.random(300) < 0.2)
    frame["w"] = frame["w"].astype("category")
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=5)
    model.fit(frame, labels)
    inputs = mv.Inputs.from_frame(frame, missing=["w"] * missing)
    for place in range(12):
        row = frame.iloc[place]
        found = mv.explain(model, row, epsilon="inf", inputs=inputs)
        others = frame.copy()
        for feature in found.explanation:
            name = inputs.names[feature]
            others[name] = pd.Series([row[name]] * len(frame), dtype=frame[name].dtype)
        assert {*model.predict(others)} == {*model.predict(frame.iloc[[place]])}
