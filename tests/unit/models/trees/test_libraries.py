"""Trees that are read give the scores and classes of their library, at both sides of thresholds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost

from milp_verix import check, load_network
from milp_verix.base.errors import InputError, ModelError, UnsupportedOperatorError
from milp_verix.models.trees.readers import ReadTrees, reader_of
from milp_verix.oracle.verdict import Answer
from milp_verix.views.audit_words import check_facts
from tests.support.tree_models import (
    LIBRARIES,
    Array,
    at_thresholds,
    leaf_sums,
    lightgbm_model,
    xgboost_model,
)


def read(model: Any) -> ReadTrees:
    reader = reader_of(model)
    assert reader is not None
    return reader(model)


def table(rng: np.random.Generator) -> Array:
    rows, columns = 120, int(rng.integers(2, 5))
    kind = rng.integers(3)
    if kind == 0:
        return rng.normal(size=(rows, columns))
    if kind == 1:
        return rng.integers(-3, 4, (rows, columns)).astype(np.float64)
    small = rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-38, 30)
    return small.astype(np.float32).astype(np.float64)


def require_same(found: ReadTrees, rows: Array) -> None:
    outputs, classes = found.runner.outputs(rows), found.runner.classes(rows)
    for place, row in enumerate(rows):
        scores = leaf_sums(found.trees, found.base, row)
        if found.link == "largest":
            assert classes is not None
            assert classes[place] == np.argmax(scores)
            continue
        shown = scores / found.divisor
        off = found.rounding / found.divisor + 1e-12 * np.abs(shown)
        if found.link == "sigmoid":
            shown = 1 / (1 + np.exp(-shown))
        elif found.link == "softmax":
            shown, off = np.exp(shown - shown.max()), off.sum()
            shown /= shown.sum()
        precision = 4 * np.finfo(outputs.dtype).eps
        np.testing.assert_array_less(
            np.abs(outputs[place] - shown), off + precision * (1 + np.abs(shown))
        )
        if classes is None:
            continue
        if scores.size == 1:
            lead, chosen = abs(scores[0]) - found.rounding[0], int(scores[0] > 0)
        else:
            second, first = np.sort(scores)[-2:]
            lead, chosen = first - second - 2 * found.rounding.max(), int(np.argmax(scores))
        assert lead <= 0 or classes[place] == chosen


@pytest.mark.parametrize("seed", range(200))
@pytest.mark.parametrize("library", [*LIBRARIES])
@pytest.mark.filterwarnings("ignore")
def test_trees_are_those_of_the_library(library: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = table(rng)
    classes = int(rng.integers(2, 4))
    y = rng.integers(0, classes, len(X)) if rng.integers(4) else rng.uniform(0.1, 9, len(X))
    options: dict[str, Any] = {}
    if library != "scikit-learn" and rng.integers(2):
        X[:, 1] = rng.integers(0, rng.integers(3, 40), len(X))
        options = {"categories": [1]}
    found = read(LIBRARIES[library](rng, X, y, **options))
    require_same(found, np.concatenate([X[:20], at_thresholds(found.trees, X, rng)]))


def stopped_early() -> tuple[Any, Any, Array, Any]:
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    model = xgboost.XGBClassifier(n_estimators=50, early_stopping_rounds=2, max_depth=2, n_jobs=1)
    return xgboost, model.fit(X[:100], y[:100], eval_set=[(X[100:], y[100:])], verbose=False), X, y


def test_early_stopping_cuts_trees_of_wrappers_alone(tmp_path: Path) -> None:
    _, model, _, _ = stopped_early()
    rounds = model.get_booster().num_boosted_rounds()
    used = model.best_iteration + 1
    assert used < rounds
    for name in ("model.json", "model.ubj"):
        model.save_model(tmp_path / name)
        from_file = read(str(tmp_path / name))
        assert len(from_file.trees) == used
        assert from_file.path == tmp_path / name
    assert len(read(model).trees) == used
    assert len(read(model.get_booster()).trees) == rounds


@pytest.mark.filterwarnings("ignore")
def test_files_are_the_models_in_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 3, 120)
    classifier = xgboost_model(rng, X, y)
    classifier.save_model(tmp_path / "x.json")
    booster = lightgbm_model(rng, X, y).booster_
    booster.save_model(tmp_path / "l.txt")
    for file, model in ((tmp_path / "x.json", classifier), (tmp_path / "l.txt", booster)):
        on_disk, in_memory = load_network(file), load_network(model)
        assert on_disk.name == file.name
        np.testing.assert_array_equal(
            [on_disk.evaluate(x) for x in X[:9]], [in_memory.evaluate(x) for x in X[:9]]
        )
        content = file.read_bytes()
        assert load_network(content).sha256 == on_disk.sha256
        damaged = content[: len(content) // 2]
        with pytest.raises(ModelError, match="cannot read"):
            load_network(damaged)


def linear_leaves(X: Array, y: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    return lightgbm.LGBMRegressor(n_estimators=2, linear_tree=True, verbose=-1).fit(X, y)


def linear_booster(X: Array, y: Any) -> Any:
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    return xgboost.XGBRegressor(booster="gblinear", n_estimators=2).fit(X, y)


def vectors_in_leaves(X: Array, y: Any) -> Any:
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    model = xgboost.XGBRegressor(
        n_estimators=2, multi_strategy="multi_output_tree", tree_method="hist"
    )
    return model.fit(X, np.stack([y, -y], axis=1))


def another_missing_value(X: Array, y: Any) -> Any:
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    return xgboost.XGBRegressor(missing=0.0, n_estimators=2).fit(X, y)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (linear_leaves, "linear_tree=False"),
        (linear_booster, "booster='gbtree'"),
        (vectors_in_leaves, "multi_strategy='one_output_per_tree'"),
        (another_missing_value, "missing=nan"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_models_that_are_no_sums_of_trees_are_refused_by_name(
    made: Callable[[Array, Any], Any], told: str
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    with pytest.raises(UnsupportedOperatorError, match=told):
        load_network(made(X, X @ [1.0, -2.0, 0.5]))


@pytest.mark.parametrize(
    ("module", "name", "given", "told"),
    [
        ("ensemble", "AdaBoostClassifier", {}, "AdaBoostClassifier combines .* forests"),
        ("ensemble", "BaggingClassifier", {}, "BaggingClassifier combines .* forests"),
        ("ensemble", "IsolationForest", {}, "IsolationForest combines .* forests"),
        ("calibration", "CalibratedClassifierCV", {}, "CalibratedClassifierCV combines"),
        ("multioutput", "MultiOutputClassifier", {}, "MultiOutputClassifier combines"),
        ("ensemble", "GradientBoostingClassifier", {"init": "tree"}, "fit it without init"),
    ],
)
def test_other_combinations_of_trees_are_refused_by_name(
    module: str, name: str, given: dict[str, Any], told: str
) -> None:
    tree = pytest.importorskip("sklearn.tree").DecisionTreeClassifier(max_depth=1)
    kind = getattr(pytest.importorskip(f"sklearn.{module}"), name)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    several = name == "MultiOutputClassifier"
    model = kind(tree) if several else kind(**dict.fromkeys(given, tree))
    with pytest.raises(UnsupportedOperatorError, match=told):
        load_network(model.fit(X, np.stack([y, 1 - y], axis=1) if several else y))


@pytest.mark.parametrize("name", ["RandomForestClassifier", "RandomForestRegressor"])
def test_several_values_at_once_are_refused(name: str) -> None:
    kind = getattr(pytest.importorskip("sklearn.ensemble"), name)
    rng = np.random.default_rng(0)
    model = kind(3).fit(rng.normal(size=(60, 3)), np.arange(120).reshape(60, 2) % 2)
    with pytest.raises(InputError, match="at once: fit one for each"):
        load_network(model)


def test_other_libraries_are_refused_by_name() -> None:
    stranger = type("CatBoostClassifier", (), {"__module__": "catboost.core"})()
    with pytest.raises(UnsupportedOperatorError, match="CatBoostClassifier is made of trees"):
        load_network(stranger)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("xgboost", "XGBClassifier"),
        ("lightgbm", "LGBMRegressor"),
        ("sklearn.ensemble", "HistGradientBoostingClassifier"),
    ],
)
def test_models_without_data_are_refused(module: str, name: str) -> None:
    package = pytest.importorskip(module, reason=f"{module} is not installed")
    with pytest.raises(InputError, match="not fitted"):
        load_network(getattr(package, name)())


def test_custom_objectives_are_told() -> None:
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 3)), rng.integers(0, 2, 100)

    def squares(labels: Any, scores: Any) -> Any:
        return scores - labels, np.ones(len(labels))

    model = xgboost.XGBClassifier(n_estimators=3, objective=squares, n_jobs=1).fit(X, y)
    assert "the user's own objective" in load_network(model).notes[0]


def test_a_tie_that_the_library_decides_claims_no_bound() -> None:
    rows = np.array([[0.2]] * 10 + [[0.8]] * 10, dtype=np.float32)
    classes = np.array([0] * 9 + [1] + [0, 1] * 5)  # the leaf on the right is 0
    settings = {"n_estimators": 1, "max_depth": 1, "base_score": 0.5, "reg_lambda": 0}
    fitted = xgboost.XGBClassifier(**settings, min_child_weight=0).fit(rows, classes)
    found = check(fitted, rows[0], epsilon=1, free=[0])
    assert found.answer is Answer.HOLDS
    assert {*fitted.predict(np.linspace(0, 1, 101)[:, None])} == {0}
    assert found.bound is None
    assert ("answer", "HOLDS, proven: ties within rounding were run by the model itself") in (
        check_facts(found.about, found, found.free)
    )
