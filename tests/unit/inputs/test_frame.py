"""Descriptions made of DataFrames: types of columns, and the message for each bad one."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from milp_verix import InputError, Inputs

PEOPLE = pd.DataFrame({"age": [20, 30], "member": [True, False], "town": ["Rome", "Paris"]})


def test_nullable_and_categorical_types_are_those_of_their_values() -> None:
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, 2], dtype="Int64"),
            "real": pd.array([1.5, 2.0], dtype="Float64"),
            "truth": pd.array([True, False], dtype="boolean"),
            "word": pd.array(["x", "y"], dtype="string"),
            "object truth": np.array([True, False], dtype=object),
            "truth of a category": pd.Categorical([True, False]),
            "word of a category": pd.Categorical(["x", "y"], ["y", "x"]),
            3: [0.5, 1.5],
        }
    )
    found = Inputs.from_frame(frame)
    kinds = ["integer", "continuous", "binary", "category", "binary", "binary", "category"]
    assert [feature.kind for feature in found.features] == [*kinds, "continuous"]
    assert found.features[-2].values == ("y", "x")
    assert found.names[-1] == "3"
    for index in (0, 1):
        x = found.row(frame.iloc[[index]])
        expected = [1 + index, [1.5, 2.0][index], 1 - index, index, 1 - index, 1 - index]
        assert x.tolist() == [*expected, 1 - index, 0.5 + index]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([1.0, None], "column a has missing values, 1 of 2, the first in the row 1: fill or drop"),
        (["x", None], "column a has missing values"),
        (pd.array([True, None], dtype="boolean"), "column a has missing values"),
        ([1.0, np.inf], "column a is inf in the row 1, expected finite"),
        (["1,234", "2,345"], "column a holds texts such as '1,234': write it with a decimal point"),
        (["1,5", "2,5"], "decimal point"),
        (["2020-01-01", "2021-01-01"], "turn dates into numbers first"),
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), "column a has type datetime.* turn dates"),
        (pd.to_timedelta([1, 2], "D"), "turn dates into numbers"),
        ([1, "x"], "column a holds values of type int, str, such as 1, expected texts"),
        ([[1], [2]], "values of type list"),
        (pd.Categorical([3, 5]), "values of type int, such as 3, expected texts"),
        (["x", ""], "column a has empty texts"),
        ([2**60, 1], "a: the ends of whole numbers are at most 9007199254740992.*offset"),
        (np.array([2**63, 1], dtype=np.uint64), "at most 9007199254740992"),
    ],
)
def test_a_column_that_is_no_feature_is_named(values: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        Inputs.from_frame(pd.DataFrame({"a": values}))


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (np.eye(2), r"DataFrame is expected, got ndarray: pd\.DataFrame\(array, columns="),
        (PEOPLE.age, "DataFrame is expected, got Series"),
        (None, "DataFrame is expected, got NoneType"),
        (PEOPLE.iloc[:0], r"has the shape \(0, 3\), expected a row"),
        (pd.DataFrame(index=[0]), r"has the shape \(1, 0\)"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns named 'a': rename"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), "two columns named '1'"),
        (
            pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])),
            r"names of 2 levels, such as \('a', 'b'\), expected one text each: df\.columns =",
        ),
    ],
)
def test_what_is_no_table_is_refused(frame: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        Inputs.from_frame(frame)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"one_hot": ["Town"]}, r"no column 'Town'; .*did you mean 'town'"),
        ({"one_hot": "town"}, "one_hot is a list of names, got 'town'"),
        ({"fixed": "town"}, "fixed is a list of names"),
        ({"fixed": ["town"]}, "column town has words.*a radius of 0 keeps its word"),
        ({"ranges": {"town": (0, 1)}}, "column town has words, which have no range"),
        ({"ranges": {"age": 3}}, r"range of age is a pair \(lower, upper\), got 3"),
        ({"ranges": ["age"]}, "ranges is a dict"),
        ({"units": {"town": "km"}}, "column town has words, which have no range and no unit"),
        ({"categories": ["town"]}, "categories is a dict"),
    ],
)
def test_options_that_name_no_column_or_a_wrong_one_are_refused(
    options: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        Inputs.from_frame(PEOPLE, **options)


@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e308, 1e-310])
def test_a_column_of_extreme_numbers_has_a_standard_deviation(scale: float) -> None:
    feature = Inputs.from_frame(pd.DataFrame({"a": [-scale / 2, scale / 2]})).features[0]
    assert feature.deviation == pytest.approx(scale / 2, rel=1e-9)
