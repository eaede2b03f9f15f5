"""Rows made from what a pipeline was fitted on."""

import numpy as np
import pandas as pd
import pytest

from milp_verix import Inputs
from milp_verix.inputs.pipeline import made_rows
from milp_verix.inputs.table_encoding import encoding_of

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

TABLE = pd.DataFrame(
    {
        "age": [18.0, 30.0, np.nan, 60.0] * 5,
        "wage": np.linspace(1e3, 9e3, 20),
        "rent": [500.0, np.nan, 700.0, 900.0] * 5,
        "town": ["Aachen", "Bonn", "Celle", "Dorum"] * 5,
        "code": [10, 20, 35, 20] * 5,
        "sex": ["f", "m"] * 10,
        "when": pd.date_range("2020-01-01", periods=20),
    }
)
PARTS = [
    ("imputed", SimpleImputer(strategy="median"), ["rent"]),
    ("standard", StandardScaler(), ["age"]),
    ("range", MinMaxScaler(), ["wage"]),
    ("words", OneHotEncoder(), ["town", "sex"]),
    ("codes", OrdinalEncoder(), ["code"]),
    ("dates", "drop", ["when"]),
]


def test_they_hold_what_was_fitted_and_numbers_beyond() -> None:
    fitted = ColumnTransformer(PARTS).fit(TABLE)
    rows, _ = made_rows(fitted, encoding_of(fitted))
    assert [*rows] == [*TABLE]
    for name in ("town", "code", "sex"):
        counts = rows[name].value_counts()
        assert {*counts.index} == {*TABLE[name]}
        assert counts.min() >= 2
    scaler = fitted.named_transformers_["standard"]
    mean, scale = scaler.mean_[0], scaler.scale_[0]
    for number in (mean - scale, mean, mean + scale):
        assert np.isclose(rows.age, number).any()
    for number in (1e3, 5e3, 9e3):
        assert np.isclose(rows.wage, number).any()
    assert rows.wage.min() < 1e3
    assert rows.wage.max() > 9e3
    assert (rows.rent == 700.0).any()
    assert (rows.when == 0).all()


def test_their_coordinates_are_those_of_the_inputs() -> None:
    frame = TABLE.dropna()
    fitted = ColumnTransformer(PARTS).fit(frame)
    table, made = made_rows(fitted, encoding_of(fitted))
    inputs = Inputs.from_pipeline(fitted, frame)
    rows = [inputs.row(row) for row in table.to_dict("records")]
    np.testing.assert_array_equal(made, rows)


def test_arrays_have_no_names() -> None:
    array = TABLE.dropna()[["age", "town", "wage"]].to_numpy(dtype=object)
    parts = [("n", StandardScaler(), [2]), ("w", OneHotEncoder(), [1])]
    fitted = ColumnTransformer(parts).fit(array)
    made, _ = made_rows(fitted, encoding_of(fitted))
    assert made.shape[1] == 3
    assert {*made[:, 1]} == {*array[:, 1]}
    scaler = StandardScaler().fit(array[:, [0, 2]])
    assert made_rows(scaler, encoding_of(scaler))[0].dtype == np.float64
