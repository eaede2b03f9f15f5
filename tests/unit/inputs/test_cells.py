"""Cells of tables: numbers, words and truth values, and the message for any other cell."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from milp_verix import InputError, binary, category, continuous, fixed, integer, ordinal
from milp_verix.inputs.cells import code_in
from milp_verix.inputs.feature import Feature

AGE = integer("age", 18, 75)
WAGE = continuous("wage", 0, 1e6)
MEMBER = binary("member")
FLAG = integer("flag", 0, 1)
REVERSED = binary("arrears", ["yes", "no"])
SEX = binary("sex", ["female", "male"])
TRUTH_BLOCK = category("m", ["No", "Yes"], one_hot=True)
PYTHON_WORDS = category("p", ["False", "True"], codes=[7, 3])
TOWN = category("town", ["Paris", "Rome"], codes=[3, 7])
STARS = ordinal("stars", ["1", "2", "3"])
BLOCK = category("size", ["1", "2.5"], one_hot=True)


@pytest.mark.parametrize(
    ("feature", "cells", "expected"),
    [
        (AGE, [40, 40.0, "40", " 40 ", np.int64(40), np.float32(40), np.array(40)], 40),
        (WAGE, [2.5, "2.5", "25e-1", Decimal("2.5")], 2.5),
        (MEMBER, [True, "True", "true", "TRUE", 1, 1.0, "1", "1.0", "yes", "Yes", np.True_], 1),
        (MEMBER, [False, "False", "false", 0, "0", "0.0", "no", "NO", np.False_], 0),
        (FLAG, [True, "True", 1, "1"], 1),
        (fixed("kept"), [True, "true", 1], 1),
        (REVERSED, ["yes", "true", "YES"], 0),
        (SEX, [True, 1, "1", "male"], 1),
        (TRUTH_BLOCK, [True, "true", 1, "1.0", "Yes", "yes"], 1),
        (PYTHON_WORDS, [True, "True", "true", 3, "yes"], 3),
        (TOWN, ["Rome", 7, "7", 7.0], 7),
        (STARS, ["2"], 1),
        (STARS, [0, "0"], 0),
        (BLOCK, ["2.5", 2.5, "2.50"], 1),
        (BLOCK, [1, 1.0, "1"], 0),
    ],
)
def test_cells_that_mean_the_same_are_the_same_number(
    feature: Feature, cells: list[Any], expected: float
) -> None:
    assert [code_in(feature, cell) for cell in cells] == [expected] * len(cells)


@pytest.mark.parametrize(
    ("feature", "cell", "told"),
    [
        (AGE, "old", "age is 'old', expected a number"),
        (AGE, "", "age is '', expected a value .* fill it in"),
        (AGE, None, r"age is missing, expected a value \(None was seen\): fill it in"),
        (AGE, float("nan"), "age is missing"),
        (AGE, "nan", "age is missing"),
        (AGE, pd.NA, "age is missing"),
        (AGE, pd.NaT, "age is missing"),
        (AGE, "inf", "age is 'inf', expected a number that is finite"),
        (WAGE, np.inf, "wage is inf, expected a number that is finite"),
        (WAGE, "1,234", "decimal point and without separators of thousands"),
        (WAGE, "1.234,5", "decimal point"),
        (WAGE, "12,5", "decimal point"),
        (WAGE, "1 234", "separators of thousands"),
        (AGE, "2020-01-31", "turn dates into numbers first"),
        (AGE, "31.1.2020", "turn dates into numbers first"),
        (AGE, dt.date(2020, 1, 31), "turn dates into numbers first"),
        (AGE, pd.Timestamp("2020-01-31"), "turn dates into numbers first"),
        (AGE, np.datetime64("2020-01-31"), "turn dates into numbers first"),
        (AGE, True, "age is True, expected a number: True and False are for .* 0 and 1"),
        (AGE, 10**400, "age is 1000.*…, expected a number that float64 holds"),
        (AGE, 2**60 + 1, "holds exactly.* subtract an offset"),
        (AGE, [40], r"age is \[40\], a list, expected one number or word"),
        (AGE, pd.Series([40]), "a Series, expected one number or word"),
        (AGE, 1j, "age is 1j, expected a number"),
        (MEMBER, "maybe", "member has no value 'maybe'; its values are no, yes$"),
        (MEMBER, 2, "member is 2, expected one of its values no, yes, or of their codes 0, 1"),
        (REVERSED, 1, "arrears is 1, which may mean 'yes' or 'no': give the word itself"),
        (REVERSED, True, "arrears is True, which may mean 'yes' or 'no': give the word itself"),
        (REVERSED, "1", "arrears is '1', which may mean"),
        (SEX, "yes", "sex has no value 'yes'; its values are female, male"),
        (SEX, "True", "sex has no value 'True'; its values are female, male"),
        (TOWN, True, "town is True, expected one of its values Paris, Rome, or of .* 3, 7"),
        (TOWN, " Rome", "town has no value ' Rome'.* did you mean 'Rome'"),
        (TOWN, "rome", "did you mean 'Rome'"),
        (TOWN, "Romme", "did you mean 'Rome'"),
        (TOWN, "Oslo", "its values are Paris, Rome$"),
        (TOWN, 5, "town is 5, expected one of its values Paris, Rome, or of their codes 3, 7"),
        (STARS, 1, "stars is 1, which may mean '1' or '2': give the word itself"),
        (BLOCK, 0, "size is 0, expected one of its values 1, 2.5$"),
    ],
)
def test_another_cell_is_refused_with_what_was_seen_and_the_remedy(
    feature: Feature, cell: Any, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        code_in(feature, cell)


def test_a_long_list_of_words_is_cut() -> None:
    feature = category("town", [f"town {i}" for i in range(300)])
    with pytest.raises(InputError, match=r"town 19, … \(300 in all\)$"):
        code_in(feature, "Atlantis")


def test_a_whole_number_that_python_does_not_write_is_refused() -> None:
    with pytest.raises(InputError, match="age is a number of thousands of digits"):
        code_in(AGE, 10**5000)
