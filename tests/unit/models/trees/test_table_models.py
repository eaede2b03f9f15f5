"""Trees behind the steps of pipelines, and trees that take words themselves."""

from typing import Any

import numpy as np
import pytest

from milp_verix import Inputs, Problem, load_network
from milp_verix.base.errors import InputError
from milp_verix.models.trees.tree_network import TreeNetwork

pd = pytest.importorskip("pandas")
pytest.importorskip("sklearn")


def frame(rng: np.random.Generator, rows: int = 200) -> Any:
    words = np.array([f"w{k:02}" for k in range(int(rng.integers(2, 9)))])
    return pd.DataFrame(
        {
            "size": rng.normal(size=rows) * 10.0 ** rng.integers(-3, 5),
            "count": rng.integers(0, 9, rows),
            "town": words[rng.integers(0, words.size, rows)],
            "sex": np.array(["f", "m"])[rng.integers(0, 2, rows)],
            "grade": np.array(["lo", "mid", "hi"])[rng.integers(0, 3, rows)],
        }
    )


def estimators(rng: np.random.Generator) -> Any:
    from sklearn import ensemble, tree

    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    return [
        tree.DecisionTreeClassifier(max_depth=5),
        ensemble.RandomForestClassifier(5, max_depth=4, random_state=0),
        ensemble.HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5),
        xgboost.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1),
        xgboost.XGBRegressor(n_estimators=3, n_jobs=1),
        lightgbm.LGBMClassifier(n_estimators=4, verbose=-1, min_child_samples=5, n_jobs=1),
    ]


def steps(seed: int, estimator: Any) -> Any:
    from sklearn import compose, impute, pipeline, preprocessing

    scalers = [
        preprocessing.StandardScaler(),
        preprocessing.MinMaxScaler(),
        "passthrough",
        pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.RobustScaler()),
    ]
    encoders = [
        preprocessing.OneHotEncoder(),
        preprocessing.OneHotEncoder(drop="first"),
        preprocessing.OrdinalEncoder(),
        preprocessing.OneHotEncoder(min_frequency=0.15),
        preprocessing.TargetEncoder(),
    ]
    dense = type(estimator).__name__.startswith("Hist")
    before = compose.ColumnTransformer(
        [
            ("numbers", scalers[seed % 4], ["size", "count"]),
            ("words", encoders[seed % 5], ["town", "sex"]),
            ("order", preprocessing.OrdinalEncoder(categories=[["lo", "mid", "hi"]]), ["grade"]),
        ],
        transformer_weights={"numbers": -1.5} if seed % 3 == 0 else None,
        # XGBoost takes zeros that are not stored for missing values
        sparse_threshold=0 if dense else [0.3, 1.0][seed % 2],
    )
    return pipeline.make_pipeline(before, estimator)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.filterwarnings("ignore")
def test_pipelines_are_read_in_columns_of_their_table(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = frame(rng)
    known = estimators(rng)
    fitted = steps(seed, known[seed % len(known)])
    classes = int(rng.integers(2, 4))
    named = hasattr(known[seed % len(known)], "predict_proba")
    y = rng.integers(0, classes, len(table)) if named else rng.normal(size=len(table))
    fitted.fit(table, y)
    network = load_network(fitted, example=table[:20])  # compares at thresholds, too
    assert isinstance(network, TreeNetwork)
    described = Inputs.from_pipeline(fitted, table)
    rows = np.array([described.row(row) for row in table.to_dict("records")])
    outputs, ensemble = network.outputs(rows), network.ensemble
    own = fitted.predict_proba(table) if named else fitted.predict(table)[:, None]
    np.testing.assert_array_equal(outputs, own[:, -outputs.shape[1] :])
    scores = ensemble.value([rows.T]).T
    if not named:
        np.testing.assert_allclose(outputs, scores, atol=float(ensemble.error.max()) + 1e-6)
        return
    chosen = np.argmax(scores, axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(int)
    by_score = np.sort(
        np.column_stack([scores, np.zeros((len(scores), int(scores.shape[1] == 1)))])
    )
    sure = by_score[:, -1] - by_score[:, -2] > 2 * ensemble.error.max() + 1e-9
    assert sure.any()
    np.testing.assert_array_equal(chosen[sure], fitted.predict(table)[sure])


def test_steps_that_join_columns_are_refused() -> None:
    from sklearn import decomposition, ensemble, pipeline

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    fitted = pipeline.make_pipeline(decomposition.PCA(2), ensemble.RandomForestClassifier(2))
    with pytest.raises(InputError, match=r"before the RandomForestClassifier join .*, as PCA does"):
        load_network(fitted.fit(X, y))


def test_a_transformer_of_its_own_and_a_search() -> None:
    from sklearn import ensemble, model_selection, preprocessing

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    scaler = preprocessing.StandardScaler().fit(X)
    forest = ensemble.RandomForestClassifier(3, max_depth=3, random_state=0)
    search = model_selection.GridSearchCV(forest, {"max_depth": [2, 3]}, cv=2)
    search.fit(scaler.transform(X), y)
    network = load_network(search, transformer=scaler)
    assert "best_estimator_" in network.notes[0]
    outputs = [network.evaluate(x) for x in X]
    np.testing.assert_array_equal(outputs, search.predict_proba(scaler.transform(X)))


def taking_words(library: str, table: Any, y: Any) -> Any:
    if library == "XGBoost":
        xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
        return xgboost.XGBClassifier(n_estimators=5, enable_categorical=True, n_jobs=1).fit(
            table, y
        )
    if library == "LightGBM":
        lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
        options = {"min_data_per_group": 5, "cat_smooth": 1, "min_child_samples": 5, "n_jobs": 1}
        return lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, **options).fit(table, y)
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=5, min_samples_leaf=5, categorical_features="from_dtype"
    ).fit(table, y)


@pytest.mark.parametrize("library", ["XGBoost", "LightGBM", "HistGradientBoosting"])
@pytest.mark.filterwarnings("ignore")
def test_words_of_models_are_the_words_of_inputs(library: str) -> None:
    rng = np.random.default_rng(2)
    table = frame(rng)[["size", "town"]]
    table["town"] = table["town"].astype("category")
    y = table["town"].isin(["w00", "w02", "w05"]).to_numpy() ^ (rng.random(len(table)) < 0.05)
    model = taking_words(library, table, y.astype(int))
    described = Inputs.from_frame(table)
    problem = Problem(model, table.iloc[0], inputs=described, epsilon=np.inf)
    found = problem.explain()
    assert 1 in found.explanation
    town = found.counterfactuals[1].input.reshape(-1)
    changed = table.iloc[[0]].assign(
        town=pd.Categorical(
            [table["town"].cat.categories[int(town[1])]], table["town"].cat.categories
        ),
        size=town[0],
    )
    assert model.predict(changed)[0] != model.predict(table.iloc[[0]])[0]
    backwards = list(table["town"].cat.categories[::-1])
    swapped = Inputs.from_frame(table, categories={"town": backwards})
    with pytest.raises(InputError, match="the network knows the words w00"):
        Problem(model, table.iloc[0], inputs=swapped, epsilon=np.inf)


def test_a_question_runs_the_steps_of_a_pipeline_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from sklearn.compose import ColumnTransformer

    rng = np.random.default_rng(0)
    table = frame(rng)
    fitted = steps(1, estimators(rng)[1]).fit(table, rng.integers(0, 2, len(table)))
    network, inputs = load_network(fitted), Inputs.from_pipeline(fitted, table)
    sizes, transform = [], ColumnTransformer.transform

    def counted(self: Any, rows: Any, **more: Any) -> Any:
        sizes.append(len(rows))
        return transform(self, rows, **more)

    monkeypatch.setattr(ColumnTransformer, "transform", counted)
    Problem(network, table.iloc[0], inputs=inputs, epsilon="10%")
    assert sizes == [4]  # the points of the guard, the first of which is the input
