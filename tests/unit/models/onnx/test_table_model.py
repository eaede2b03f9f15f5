"""Pipelines of scikit-learn as networks of a row of their table."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from milp_verix import (
    InputError,
    Inputs,
    ModelError,
    Problem,
    UnsupportedOperatorError,
    load_network,
)
from milp_verix.models.onnx import table_model
from milp_verix.models.onnx.onnx_network import OnnxNetwork

pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")

from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.svm import LinearSVC

ENDS = [6e4, 9e4]

pytestmark = pytest.mark.filterwarnings("ignore:Stochastic Optimizer")


def table(rows: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 60, rows),
            "wage": rng.uniform(0, 9e4, rows),
            "town": rng.choice(["Aachen", "Bonn", "Celle"], rows),
        }
    )


def fitted(estimator: Any, *, classes: int = 2, steps: tuple[Any, ...] = ()) -> Pipeline:
    frame = table()
    wages = frame.wage + 500 * frame.age + 2e4 * (frame.town == "Bonn")
    words = np.array(["low", "more", "top"])[np.digitize(wages, ENDS[: classes - 1])]
    columns = ColumnTransformer(
        [("numbers", StandardScaler(), ["age", "wage"]), ("words", OneHotEncoder(), ["town"])]
    )
    target = words if is_classifier(estimator) else wages
    return make_pipeline(columns, *steps, estimator).fit(frame, target)


def perceptron(**options: Any) -> MLPClassifier:
    return MLPClassifier((6,), learning_rate_init=0.05, random_state=0, **options)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "estimator",
    [
        perceptron(),
        perceptron(activation="tanh"),
        LogisticRegression(),
        RidgeClassifier(),
        SGDClassifier(random_state=0),
        LinearSVC(),
        LinearDiscriminantAnalysis(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_classifier_predicts_what_the_pipeline_does(estimator: Any, classes: int) -> None:
    frame, pipeline = table(), fitted(estimator, classes=classes)
    network, inputs = load_network(pipeline, example=frame), Inputs.from_pipeline(pipeline, frame)
    assert network.dtype == np.float64
    assert network.input_size == inputs.size == 5
    scores = network.evaluate_many([inputs.row(row) for _, row in frame.iterrows()])
    best = (scores[:, 0] > 0).astype(int) if network.output_size == 1 else scores.argmax(axis=1)
    np.testing.assert_array_equal(pipeline.classes_[best], pipeline.predict(frame))
    assert len({*best}) > 1
    if isinstance(estimator, MLPClassifier):
        np.testing.assert_allclose(scores, pipeline.predict_proba(frame), atol=1e-12)
    assert load_network(pipeline).sha256 == network.sha256


@pytest.mark.parametrize(
    "estimator", [LinearRegression(), MLPRegressor(hidden_layer_sizes=(5,), random_state=0)]
)
def test_a_regressor_predicts_what_the_pipeline_does(estimator: Any) -> None:
    frame, pipeline = table(), fitted(estimator)
    network, inputs = load_network(pipeline, example=frame), Inputs.from_pipeline(pipeline, frame)
    scores = network.evaluate_many([inputs.row(row) for _, row in frame.iterrows()])
    np.testing.assert_allclose(scores[:, 0], pipeline.predict(frame), rtol=1e-12)


def test_steps_that_skl2onnx_knows_may_follow_the_columns() -> None:
    pipeline = fitted(perceptron(), steps=(PCA(3), StandardScaler()))
    assert load_network(pipeline, example=table()).input_size == 5


@pytest.mark.parametrize("estimator", [perceptron(), LogisticRegression(), LinearRegression()])
def test_a_network_that_predicts_otherwise_is_refused(
    estimator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = fitted(estimator)
    encoding = table_model.encoding_of(pipeline)
    moved = replace(encoding, offsets=encoding.offsets + 1.0)
    monkeypatch.setattr(table_model, "encoding_of", lambda *_, **__: moved)
    for frame in (None, table()):
        with pytest.raises(
            ModelError, match=r"returns .* for row \d+ made .*, scikit-learn .* of (64|144)"
        ):
            load_network(pipeline, example=frame)
    monkeypatch.setattr(table_model, "made_rows", _no_rows)
    with pytest.raises(ModelError, match=r"returns .* for row \d+, scikit-learn .* of 80"):
        load_network(pipeline, example=table())


def test_rows_are_asked_for_where_none_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_model, "made_rows", _no_rows)
    pipeline = fitted(perceptron())
    with pytest.raises(
        InputError, match=r"no rows can be made .*\(no dates\): give rows .*example=frame"
    ):
        load_network(pipeline)
    assert load_network(pipeline, example=table()).input_size == 5


def _no_rows(*_: Any) -> Any:
    raise ValueError("no dates")


def test_rows_that_the_encoders_do_not_know_are_refused() -> None:
    frame = table()
    frame.loc[7, "town"] = "Dorum"
    with pytest.raises(InputError, match="town has no value 'Dorum'"):
        load_network(fitted(perceptron()), example=frame)


def test_several_labels_at_once_are_refused() -> None:
    frame = table()[["age", "wage"]]
    labels = np.column_stack([frame.age > 40, frame.wage > 4e4]).astype(int)
    for estimator in (perceptron(), RidgeClassifier()):
        pipeline = make_pipeline(StandardScaler(), estimator).fit(frame, labels)
        for model in (pipeline, pipeline[-1]):
            with pytest.raises(InputError, match="several labels at once"):
                load_network(model)


def test_a_single_class_is_refused() -> None:
    frame = table()[["age", "wage"]]
    for estimator in (perceptron(max_iter=2), RidgeClassifier()):
        with pytest.raises(InputError, match="seen one class alone"):
            load_network(estimator.fit(frame, np.ones(len(frame))))


def test_arguments_set_after_fit_count() -> None:
    frame = table()[["age", "wage"]]
    pipeline = make_pipeline(StandardScaler(), LinearRegression()).fit(frame, frame.age)
    for arguments in ({"with_mean": False}, {"with_std": False}):
        pipeline[0].set_params(**arguments)
        found = load_network(pipeline).evaluate_many(frame.to_numpy())
        np.testing.assert_allclose(found[:, 0], pipeline.predict(frame), rtol=1e-12)


@pytest.mark.parametrize("example", [None, table()], ids=["alone", "with rows"])
def test_an_estimator_that_is_no_network_is_refused_by_name(example: Any) -> None:
    with pytest.raises(UnsupportedOperatorError, match="KNeighborsClassifier compares with stored"):
        load_network(fitted(KNeighborsClassifier()), example=example)


@pytest.mark.parametrize("words", [False, True])
def test_wide_tables_are_picked_entry_by_entry(
    words: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_model, "_DENSE", 100)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 30)).round(2)).add_prefix("c")
    labels = (frame["c0"] + frame["c1"] > 0).to_numpy()
    steps: Any = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    if words:  # of which three make one number
        frame["c2"] = rng.choice(["a", "b", "c"], 80)
        numbers = [name for name in frame if name != "c2"]
        encoder = TargetEncoder(target_type="binary")
        steps = ColumnTransformer([("w", encoder, ["c2"]), ("n", steps, numbers)])
    model = make_pipeline(steps, LogisticRegression()).fit(frame, labels)
    missing = ["c0", "c5", "c6"]
    rows = frame.fillna({name: 0.5 for name in frame if name not in missing})
    inputs = Inputs.from_pipeline(model, rows, missing=missing)
    network = Problem(model, rows.iloc[0], epsilon=1, inputs=inputs).network
    assert isinstance(network, OnnxNetwork)
    expected = model.decision_function(rows)
    for place in range(20):
        found = network.scores_at(network.described(inputs).row(rows.iloc[place].to_dict()))
        assert found[-1] == pytest.approx(expected[place], rel=1e-9)
    assert "Gather" in {node.op_type for node in network.model.graph.node}
    assert "table_encoding" not in {tensor.name for tensor in network.model.graph.initializer}
