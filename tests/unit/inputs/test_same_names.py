"""Names with spaces or underscores are the same wherever a description takes names."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from milp_verix import InputError, Inputs

TABLE = pd.DataFrame({"net pay": [1, 5, 9], "home town": ["a", "b", "a"], "age": [20, 30, 40]})


def test_directions_rules_and_features_know_underscores() -> None:
    inputs = Inputs.from_frame(TABLE)
    for directions in ({"net_pay": "up"}, pd.Series({"net_pay": "up"})):
        assert [one.only for one in inputs.only(directions).features] == ["up", None, None]
    for rule in ("net_pay <= age", "inputs['net_pay'] <= age", inputs["net_pay"] <= inputs["age"]):
        assert inputs.where(rule).rules[0].text == "inputs['net pay'] <= age"
    with pytest.raises(InputError, match=r"no feature 'netpay'; .*mean 'net pay'"):
        inputs.only({"netpay": "up"})


def test_names_that_are_two_features_stay_themselves() -> None:
    inputs = Inputs.from_frame(TABLE.assign(net_pay=[3, 4, 5]))
    assert [one.only for one in inputs.only({"net_pay": "down"}).features] == [None] * 3 + ["down"]
    assert inputs.where("net_pay <= 4").rules[0].text == "net_pay <= 4"


@pytest.mark.parametrize(
    ("asked", "feature", "field", "value"),
    [
        ({"units": {"net_pay": "EUR"}}, "net pay", "unit", "EUR"),
        ({"units": pd.Series({"net_pay": "EUR"})}, "net pay", "unit", "EUR"),
        ({"ranges": {"net_pay": (0, 30)}}, "net pay", "upper", 30),
        ({"ranges": pd.Series({"net_pay": (0, 30)})}, "net pay", "upper", 30),
        ({"ranges": pd.DataFrame({"net pay": [0, 30]})}, "net pay", "upper", 30),
        ({"fixed": ["net_pay"]}, "net pay", "kind", "fixed"),
        ({"fixed": pd.Index(["net_pay"])}, "net pay", "kind", "fixed"),
        ({"missing": ["net_pay"]}, "net pay", "missing", True),
        ({"categories": {"home_town": ["b", "a"]}}, "home town", "values", ("b", "a")),
        ({"one_hot": ["home_town"]}, "home town", "one_hot", True),
    ],
)
def test_arguments_of_a_table_know_underscores(
    asked: Any, feature: str, field: str, value: Any
) -> None:
    found = Inputs.from_frame(TABLE, **asked)
    assert getattr(found[feature].feature, field) == value
    assert found.names == ("net pay", "home town", "age")


def test_prefixes_of_dummies_know_underscores_and_longer_separators() -> None:
    for sign in ("_", "__", "=", "."):
        dummies = pd.get_dummies(TABLE, columns=["home town"], prefix_sep=sign)
        found = Inputs.from_frame(dummies, one_hot=["home_town"])
        assert found["home_town"].feature == found["home town"].feature
        assert [*found.row({"net pay": 5, "home town": "b", "age": 30})] == [5, 30, 0, 1]
        described = Inputs.from_frame(TABLE, one_hot=["home town"])
        assert described.placed([*dummies.columns]).listed == [[0], [2, 3], [1]]


def test_columns_with_numbers_for_names_go_by_these() -> None:
    table = pd.DataFrame(np.arange(6).reshape(2, 3), columns=[3, 0, 7])
    found = Inputs.from_frame(table, ranges={3: (0, 20)}, fixed=[7])
    assert found["3"].feature is not None
    assert (found["3"].feature.upper, found.features[2].kind) == (20, "fixed")
    with pytest.raises(InputError, match="no column 1; there are 3, 0, 7"):
        Inputs.from_frame(table, units={1: "EUR"})


@pytest.mark.parametrize("asked", [{"ranges": [1]}, {"units": "net pay"}, {"categories": 3}])
def test_what_has_no_names_is_refused(asked: Any) -> None:
    with pytest.raises(InputError, match="is a dict with names of columns"):
        Inputs.from_frame(TABLE, **asked)
