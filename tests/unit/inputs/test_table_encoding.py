"""The affine map of a pipeline's leading steps equals what the pipeline computes."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from milp_verix import InputError, Inputs

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.dummy import DummyClassifier
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from milp_verix.inputs.table_encoding import encoding_of

NUMBERS = ["age", "wage"]
WORDS = ["town", "sex"]
TOWNS = ["Aachen", "Bonn", "Celle", "Dorum"]
GRADES = ["low", "middle", "high"]


def table(rows: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 60, rows),
            "town": rng.choice(
                ["Aachen", "Bonn", "Celle", "Dorum"], rows, p=[0.5, 0.4, 0.07, 0.03]
            ),
            "wage": rng.uniform(0, 9e4, rows),
            "sex": rng.choice(["f", "m"], rows),
            "grade": rng.choice(GRADES, rows),
            "month": rng.integers(1, 5, rows),
            "member": rng.random(rows) < 0.5,
            "number": [f"p{row}" for row in range(rows)],
            "half": rng.integers(1, 3, rows),  # a number that is no code: the first half is 1
        }
    )


def by_columns(*parts: Any, **options: Any) -> ColumnTransformer:
    named = [(f"part{place}", part, columns) for place, (part, columns) in enumerate(parts)]
    return ColumnTransformer(named, **options)


def holed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame without some of its numbers and words."""
    return frame.astype({"age": float}).mask(np.random.default_rng(1).random(frame.shape) < 0.1)


def fitted(frame: pd.DataFrame, *steps: Any) -> Pipeline:
    classes = np.random.default_rng(2).integers(0, 2, len(frame))
    return make_pipeline(*steps, DummyClassifier()).fit(frame, classes)


STEPS: dict[str, list[Any]] = {
    "scalers": [
        by_columns(
            (StandardScaler(), ["wage"]),
            (MinMaxScaler((-1, 2)), ["age"]),
            (RobustScaler(), ["month"]),
            (MaxAbsScaler(), ["wage", "age"]),
            (StandardScaler(with_mean=False), ["age"]),
            (StandardScaler(with_std=False), ["age"]),
            (RobustScaler(with_scaling=False), ["age"]),
        )
    ],
    "one-hot": [
        by_columns((OneHotEncoder(), [*WORDS, "month", "member", "half"]), ("drop", ["age"]))
    ],
    "dropped words": [
        by_columns(
            (OneHotEncoder(drop="first"), ["town"]),
            (OneHotEncoder(drop="if_binary"), ["sex", "grade"]),
        )
    ],
    "rare words": [by_columns((OneHotEncoder(min_frequency=10, sparse_output=False), WORDS))],
    "codes": [
        by_columns(
            (OrdinalEncoder(categories=[GRADES]), ["grade"]),
            (OrdinalEncoder(), [*WORDS, "month", "half"]),
        ),
        StandardScaler(),
    ],
    "rare codes": [by_columns((OrdinalEncoder(min_frequency=10), ["town"]))],
    "means": [by_columns((TargetEncoder(), WORDS), (StandardScaler(), NUMBERS))],
    "passthrough": [
        by_columns((OneHotEncoder(), make_column_selector("town")), ("passthrough", [0, 6])),
        "passthrough",
    ],
    "remainder": [
        by_columns(
            (OneHotEncoder(), ["town"]),
            ("drop", ["sex", "grade", "number"]),
            remainder="passthrough",
        )
    ],
    "scaled remainder": [
        by_columns(
            (OrdinalEncoder(), np.isin(np.arange(9), [1, 3])),
            ("drop", slice(4, 8)),
            remainder=make_pipeline(StandardScaler(), MinMaxScaler()),
        )
    ],
    "imputers": [
        by_columns(
            (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), NUMBERS),
            (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), WORDS),
        )
    ],
    "selection": [
        by_columns((OneHotEncoder(sparse_output=False), WORDS), (StandardScaler(), NUMBERS)),
        SelectKBest(k=4),
        VarianceThreshold(),
    ],
    "nested": [
        by_columns((by_columns((StandardScaler(), ["wage"]), ("passthrough", ["age"])), NUMBERS)),
    ],
    "named": [
        by_columns(
            (OneHotEncoder(sparse_output=False), ["town"]), (StandardScaler(), NUMBERS)
        ).set_output(transform="pandas"),
        by_columns((MinMaxScaler(), ["part1__wage", "part0__town_Bonn"])),
    ],
}


@pytest.mark.parametrize("name", STEPS)
def test_it_is_what_the_pipeline_computes(name: str) -> None:
    frame = table()
    pipeline = fitted(holed(frame) if name == "imputers" else frame, *STEPS[name])
    encoding = encoding_of(pipeline)
    inputs = Inputs.from_pipeline(pipeline, frame)
    rows = np.array([inputs.row(row) for row in frame.to_dict("records")])
    for row in rows:
        inputs.refuse(row)
    codes = pipeline[:-1].transform(frame)
    expected = np.asarray(codes.toarray() if hasattr(codes, "toarray") else codes, dtype=float)
    found = rows @ encoding.matrix + encoding.offsets
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert inputs.size == encoding.matrix.shape[0]


def test_arrays_have_positions_for_names() -> None:
    frame = table()[["age", "month"]]
    pipeline = fitted(frame.to_numpy(), StandardScaler())
    assert [column.name for column in encoding_of(pipeline).columns] == ["x0", "x1"]
    assert Inputs.from_pipeline(pipeline, frame).names == ("age", "month")
    with pytest.raises(InputError, match="3 columns, the pipeline was fitted on 2"):
        Inputs.from_pipeline(pipeline, table()[["age", "month", "wage"]])


@pytest.mark.parametrize(
    ("classes", "names"),
    [
        (["no", "yes"], ("no", "yes")),
        ([3, 7], ("3", "7")),
        ([0.0, 1.0], ()),
        ([False, True], ("False", "True")),
    ],
)
def test_classes_that_do_not_count_from_0_have_names(classes: list[Any], names: Any) -> None:
    frame = table()[NUMBERS]
    pipeline = make_pipeline(StandardScaler(), DummyClassifier())
    pipeline.fit(frame, np.array(classes)[np.arange(len(frame)) % 2])
    assert Inputs.from_pipeline(pipeline, frame).class_names == names


@pytest.mark.parametrize(
    "steps",
    [
        [by_columns((StandardScaler(), NUMBERS)), PCA(2), StandardScaler()],
        [by_columns((PCA(2, whiten=True), NUMBERS), (OneHotEncoder(sparse_output=False), WORDS))],
        [by_columns((make_pipeline(StandardScaler(), TruncatedSVD(2)), NUMBERS))],
        [by_columns(("passthrough", NUMBERS)), IncrementalPCA(1)],
    ],
)
def test_principal_components_are_sums_before_networks_alone(steps: list[Any]) -> None:
    frame = table()
    pipeline = make_pipeline(*steps, LogisticRegression())
    pipeline.fit(frame, np.arange(len(frame)) % 2)
    inputs, encoding = Inputs.from_pipeline(pipeline, frame), encoding_of(pipeline)
    rows = np.array([inputs.row(row) for row in frame.to_dict("records")])
    found = rows @ encoding.matrix + encoding.offsets
    np.testing.assert_allclose(found, pipeline[:-1].transform(frame), rtol=1e-9, atol=1e-9)
    assert {*encoding.joined} == {*NUMBERS}
    with pytest.raises(InputError, match=r"before the DummyClassifier join the columns age, .*PCA"):
        Inputs.from_pipeline(fitted(frame, *steps), frame)


def test_a_mark_of_another_column_is_joined() -> None:
    frame = holed(table())
    marked = by_columns((SimpleImputer(add_indicator=True), NUMBERS)).fit(frame)
    assert encoding_of(marked, missing=["age"]).joined == []
    alone = by_columns((SimpleImputer(), ["age"]), (MissingIndicator(), ["wage"]))
    joined = make_pipeline(alone, PCA(1)).fit(frame)
    assert encoding_of(joined).joined == ["age", "wage"]


def test_refusals_of_steps_are_short() -> None:
    frame = table()
    for step in (PowerTransformer(), PolynomialFeatures(2), KNNImputer(), KBinsDiscretizer(2)):
        with pytest.raises(InputError, match=f"{type(step).__name__}.*leave it out") as told:
            Inputs.from_pipeline(fitted(frame[NUMBERS], StandardScaler(), step), frame)
        assert len(str(told.value)) < 400
        assert " … " not in str(told.value)


class Doubling(StandardScaler):  # type: ignore[misc]
    """A scaler that is none."""

    def transform(self, X: Any) -> Any:
        return 2 * super().transform(X) ** 2


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([by_columns((KBinsDiscretizer(2), ["age"]))], "has a KBinsDiscretizer.*before the pipel"),
        ([by_columns((make_pipeline(PCA(1)), NUMBERS))], "as PCA does"),
        ([by_columns((KNNImputer(), NUMBERS))], "has a KNNImputer"),
        ([by_columns((Doubling(), NUMBERS))], "has a Doubling"),
        ([by_columns((FunctionTransformer(np.log1p), ["age"]))], "FunctionTransformer"),
        ([by_columns((MinMaxScaler(clip=True), ["age"]))], "MinMaxScaler has clip=True"),
        ([by_columns((SimpleImputer(missing_values=18), ["age"]))], "SimpleImputer that changes"),
        (
            [by_columns((OrdinalEncoder(), ["month"]), ("passthrough", ["month"]))],
            "month in two ways",
        ),
        ([by_columns((make_pipeline(MinMaxScaler(), OneHotEncoder()), ["month"]))], "computed"),
        ([by_columns((StandardScaler(), slice("age", "age")))], "by a list of names"),
    ],
)
def test_other_transformers_are_refused_by_name(steps: list[Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        Inputs.from_pipeline(fitted(table(), *steps), table())


def test_other_objects_are_refused() -> None:
    for other in (DummyClassifier(), 3):
        with pytest.raises(InputError, match=r"expected a fitted Pipeline.*joins fitted"):
            Inputs.from_pipeline(other, table())
    with pytest.raises(InputError, match="a pandas DataFrame is expected, got ndarray"):
        Inputs.from_pipeline(fitted(table()[NUMBERS], StandardScaler()), table().to_numpy())
    search = GridSearchCV(DummyClassifier(), {"strategy": ["prior"]})
    with pytest.raises(InputError, match="GridSearchCV is not fitted: call fit"):
        Inputs.from_pipeline(search, table())
    with pytest.raises(InputError, match="ColumnTransformer is not fitted: call fit"):
        Inputs.from_pipeline(by_columns((StandardScaler(), NUMBERS)), table())


def test_a_transformer_alone_is_read() -> None:
    frame = table()
    columns = by_columns((OneHotEncoder(), WORDS), (StandardScaler(), NUMBERS)).fit(frame)
    inputs = Inputs.from_pipeline(columns, frame)
    rows = np.array([inputs.row(row) for row in frame.to_dict("records")])
    encoding = encoding_of(columns)
    found = rows @ encoding.matrix + encoding.offsets
    np.testing.assert_allclose(found, columns.transform(frame), rtol=1e-12, atol=1e-12)
