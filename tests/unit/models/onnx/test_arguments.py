"""Whatever the arguments of transformers and estimators, the network is what they compute."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from milp_verix import Inputs, ModelError, load_network
from milp_verix.inputs import table_encoding
from milp_verix.inputs.fitted import ARGUMENTS
from milp_verix.models.onnx import table_model

pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")

from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.feature_selection import (
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
    f_regression,
)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, TweedieRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

pytestmark = pytest.mark.filterwarnings("ignore:Stochastic Optimizer")

NUMBERS, WORDS = ["age", "wage"], ["town", "grade"]
GRADES, TOWNS = ["low", "middle", "high"], ["Aachen", "Bonn", "Celle", "Dorum"]


def table(rows: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 60, rows).astype(float),
            "wage": rng.normal(3000, 900, rows),
            "town": rng.choice(TOWNS, rows, p=[0.5, 0.4, 0.07, 0.03]),
            "grade": rng.choice(GRADES, rows),
            "code": rng.choice([10, 20, 35], rows),
        }
    )


def columns(numbers: Any = None, words: Any = None, **options: Any) -> ColumnTransformer:
    parts = [
        ("numbers", numbers or StandardScaler(), NUMBERS),
        ("words", words or OneHotEncoder(sparse_output=False), WORDS),
    ]
    return ColumnTransformer(parts, **options)


def behind(*steps: Any) -> Pipeline:
    return make_pipeline(columns(), *steps)


def holed(frame: pd.DataFrame) -> pd.DataFrame:
    missing = np.random.default_rng(1).random(frame.shape) < 0.1
    return frame.mask(missing & frame.columns.isin(NUMBERS))


CASES: list[Any] = [
    columns(),
    columns(StandardScaler(with_mean=False)),
    columns(StandardScaler(with_std=False)),
    columns(RobustScaler(with_centering=False, quantile_range=(10, 80))),
    columns(RobustScaler(with_scaling=False, unit_variance=True)),
    columns(MinMaxScaler((-2, 5))),
    columns(MaxAbsScaler()),
    columns(transformer_weights={"numbers": 0.05, "words": 3.0}),
    columns(transformer_weights={"numbers": 0, "other": 7}, sparse_threshold=0),
    columns("passthrough", transformer_weights={"numbers": 1e-3}),
    ColumnTransformer(
        [("words", OneHotEncoder(), WORDS)],
        remainder="passthrough",
        transformer_weights={"remainder": 0.01},
    ),
    ColumnTransformer(
        [("words", OneHotEncoder(), WORDS)],
        remainder=StandardScaler(),
        transformer_weights={"remainder": 0.5, "words": 2},
    ),
    columns(FeatureUnion([("a", StandardScaler()), ("b", "drop"), ("c", "passthrough")])),
    FeatureUnion(
        [("a", columns()), ("b", ColumnTransformer([("c", MinMaxScaler(), ["code"])]))],
        transformer_weights={"b": 7},
    ),
    make_pipeline("passthrough", make_pipeline(columns(), None), StandardScaler(), "passthrough"),
    columns(words=OneHotEncoder(drop="first", handle_unknown="ignore")),
    columns(words=OneHotEncoder(drop=["Bonn", "low"], dtype=np.int8)),
    columns(words=OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist")),
    columns(words=OneHotEncoder(max_categories=2, drop="if_binary", dtype=bool)),
    columns(words=OneHotEncoder(categories=[TOWNS[::-1], GRADES])),
    columns(words=OrdinalEncoder(categories=[TOWNS, GRADES], encoded_missing_value=-2)),
    columns(words=OrdinalEncoder(min_frequency=10, dtype=np.float32)),
    columns(words=OrdinalEncoder(max_categories=2, handle_unknown="use_encoded_value",
                                 unknown_value=-1)),
    columns(words=TargetEncoder(target_type="continuous", cv=3)),
    columns(words=TargetEncoder(categories=[TOWNS, GRADES], smooth=5.0)),
    columns(make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())),
    columns(
        SimpleImputer(strategy="median"),
        make_pipeline(SimpleImputer(missing_values=None, strategy="most_frequent"),
                      OneHotEncoder()),
    ),
    columns(
        FeatureUnion([("filled", SimpleImputer()), ("gaps", MissingIndicator(features="all"))]),
        FeatureUnion(
            [
                ("gaps", MissingIndicator(missing_values=None)),
                ("words", make_pipeline(SimpleImputer(missing_values=None,
                                                      strategy="most_frequent"), OneHotEncoder())),
            ]
        ),
    ),
    behind(SelectKBest(k=2), MLPClassifier((3,), max_iter=20, random_state=0)),
    behind(SelectKBest(f_regression, k=4)),
    behind(SelectPercentile(percentile=30), MLPClassifier((3,), max_iter=20, random_state=0)),
    behind(SelectPercentile(f_regression, percentile=60)),
    behind(VarianceThreshold()),
    behind(VarianceThreshold(0.2)),
    behind(PCA(3, whiten=True)),
    behind(PCA(), MinMaxScaler(), RobustScaler(), MaxAbsScaler()),
    behind(IncrementalPCA(3, whiten=True)),
    behind(IncrementalPCA(2), StandardScaler(with_mean=False)),
    behind(TruncatedSVD(2)),
    behind(TruncatedSVD(3), StandardScaler(with_std=False)),
    behind(PLSRegression(2)),
    behind(PLSRegression(3, scale=False)),
    *(behind(MLPClassifier((4,), activation=name, max_iter=30, random_state=0))
      for name in ("identity", "logistic", "tanh", "relu")),
    *(behind(MLPRegressor(hidden_layer_sizes=(4,), activation=name, max_iter=30, random_state=0))
      for name in ("identity", "logistic", "tanh", "relu")),
]  # fmt: skip


def fitted(case: Any) -> Pipeline:
    """Return a pipeline that ends in the estimator of ``case``, or else in a linear one."""
    frame, rng = table(), np.random.default_rng(3)
    case = clone(case)
    if not hasattr(case, "predict"):
        case = make_pipeline(case, Ridge())
    target = frame.wage / 900 + frame.age / 15 + (frame.town == "Bonn") + rng.random(len(frame))
    classes = np.digitize(target, [6, 7])
    imputed = any(isinstance(part, SimpleImputer) for part in parts(case))
    given = holed(frame) if imputed else frame
    return case.fit(given, classes if is_classifier(case) else target)


def parts(model: Any) -> Iterator[Any]:
    """Yield every estimator in ``model``."""
    yield model
    for value in model.get_params(deep=True).values():
        if isinstance(value, BaseEstimator):
            yield value


def boundaries(frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows with the ends, the means and the medians of columns, and numbers beyond."""
    rows = frame.sample(12, random_state=4).reset_index(drop=True)
    for name in NUMBERS:
        column = frame[name]
        low, high, mean = column.min(), column.max(), column.mean()
        rows[name] = np.resize([low, high, mean, column.median(), 2 * high, -high, mean], len(rows))
    return pd.concat([frame, rows], ignore_index=True)


def test_each_argument_that_is_read_is_varied() -> None:
    seen: dict[tuple[str, str], set[str]] = defaultdict(set)
    for case in CASES:
        for part in parts(case):
            for argument, value in part.get_params(deep=False).items():
                seen[type(part).__name__, argument].add(repr(value))
    read = {(name, argument) for name, known in ARGUMENTS.items() for argument in known.read}
    assert {key for key in read if len(seen[key]) < 2} == set()


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_the_network_is_what_the_pipeline_computes(case: Any) -> None:
    pipeline, frame = fitted(case), table()
    network, inputs = load_network(pipeline), Inputs.from_pipeline(pipeline, frame)
    rows = boundaries(frame)
    found = network.evaluate_many([inputs.row(row) for row in rows.to_dict("records")])
    if is_classifier(pipeline):
        np.testing.assert_allclose(found, pipeline.predict_proba(rows), atol=1e-12)
        np.testing.assert_array_equal(found.argmax(axis=1), pipeline.predict(rows))
    else:
        np.testing.assert_allclose(found[:, 0], pipeline.predict(rows), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "case",
    [
        columns(MinMaxScaler(clip=True)),
        columns(MaxAbsScaler(clip=True)),
        behind(TweedieRegressor(power=1)),
        make_pipeline(columns(MinMaxScaler(clip=True)), LogisticRegression()),
    ],
    ids=range(4),
)
def test_made_rows_show_an_argument_that_is_overlooked(
    case: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (table_encoding, table_model):
        monkeypatch.setattr(module, "require_read", lambda _: None)
    with pytest.raises(ModelError, match="Nothing would be proven"):
        load_network(fitted(case))


def test_made_rows_show_weights_that_are_overlooked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_encoding, "_weighted", lambda _parent, _name, made, _columns: made)
    case = columns(transformer_weights={"numbers": 0.05, "words": 3.0})
    for pipeline in (fitted(case), fitted(make_pipeline(case, LogisticRegression()))):
        with pytest.raises(ModelError, match="Nothing would be proven"):
            load_network(pipeline)
