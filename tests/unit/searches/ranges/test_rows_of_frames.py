"""Rows of a DataFrame: columns of numbers are read at once, as cell by cell, and as fast."""

from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest

import milp_verix
from milp_verix.searches.ranges import regions

_FRAME = pd.DataFrame(
    {
        "age": np.array([17, 90, 42, 33]),
        "debt": [0.5, np.nan, 3.25, 1e-300],
        "share": np.array([0.1, 0.2, 0.3, 0.4], np.float32),
        "member": [True, False, True, False],
    }
)
_DESCRIBED = milp_verix.Inputs(
    [
        milp_verix.integer("age", 17, 90),
        milp_verix.continuous("debt", 0, 5, missing=True),
        milp_verix.continuous("share", 0, 1),
        milp_verix.continuous("member", 0, 1),
    ]
)


def _problem() -> milp_verix.Problem:
    table = pd.concat([_FRAME.astype(float)] * 20)
    settings: dict[str, Any] = {"n_estimators": 3, "min_child_samples": 1, "verbose": -1}
    fitted = lightgbm.LGBMClassifier(**settings).fit(table, table["age"] > 40)
    return milp_verix.Problem(fitted, _FRAME.iloc[0], epsilon="10%", inputs=_DESCRIBED)


def test_columns_of_numbers_are_read_as_each_cell_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A described table of 300,000 rows and 50 columns took 50 s, cell by cell."""
    problem, asked = _problem(), list[str]()
    by_cell, _ = regions.rows_of(problem, _FRAME.astype(object))
    monkeypatch.setattr(regions, "code_in", lambda one, _: asked.append(one.name) or 1.0)
    at_once, _ = regions.rows_of(problem, _FRAME)
    assert {*asked} == {"member"}  # of truth values, each is read once
    assert by_cell is not None
    assert at_once is not None
    assert np.array_equal(at_once[:, :3], by_cell[:, :3])


@pytest.mark.parametrize(
    ("column", "cells", "told"),
    [
        ("share", [0.1, np.nan, 0.3, 0.4], "share is missing"),
        ("share", [0.1, np.inf, 0.3, 0.4], "share is inf"),
        ("age", [17, 90, 42, 2**53 + 1], "float64 holds exactly"),
        ("debt", [0.5, np.nan, 6.0, 1.0], r"debt is 6\.0, outside of"),
    ],
)
def test_a_number_that_is_no_value_is_refused(column: str, cells: list[Any], told: str) -> None:
    with pytest.raises(milp_verix.InputError, match=told):
        regions.rows_of(_problem(), _FRAME.assign(**{column: cells}))
