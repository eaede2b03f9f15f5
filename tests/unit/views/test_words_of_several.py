"""A word or name that reads as more of the sentence stands in quotes."""

from math import inf

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import milp_verix

WORDS = ["b", "a, b", "c", "b or c"]
TABLE = pd.DataFrame({"w": pd.Categorical(WORDS * 20, categories=WORDS)})
FITTED = lightgbm.LGBMClassifier(
    n_estimators=5, learning_rate=1, min_child_samples=1, min_data_per_group=1, verbose=-1
).fit(TABLE, TABLE["w"] == "b")
PROBLEM = milp_verix.Problem(
    FITTED, TABLE.iloc[1], inputs=milp_verix.Inputs.from_frame(TABLE), epsilon=inf
)


def test_ranges_say_where_a_word_ends() -> None:
    """They said “w is a, b, c or b or c”, though b alone is another class."""
    assert "w is “a, b”, c or “b or c”, " in PROBLEM.inflate().sentence()


def test_what_is_kept_and_what_changes() -> None:
    found = PROBLEM.explain()
    assert found.sentence().startswith("The decision “False” stays, as long as w is “a, b”.")
    assert "w: “a, b” → b" in found.sentence(0)


@pytest.mark.parametrize("word", ["above 30", "At most 3", "<30", " b", "3 to 5", "missing"])
def test_words_and_names_that_read_as_conditions(word: str) -> None:
    """A column said “w is above 30” of its word, and “w is missing” where none was."""
    words = np.array([word, "b", "c"] * 20, dtype=object)
    table = pd.DataFrame({"w": words, "x is 5": np.arange(60) % 7})
    encoder = make_column_transformer((OneHotEncoder(), ["w"]), remainder="passthrough")
    model = make_pipeline(encoder, DecisionTreeClassifier()).fit(table, words == word)
    inputs = milp_verix.Inputs.from_pipeline(model, table)
    problem = milp_verix.Problem(model, table.iloc[0], inputs=inputs, epsilon=inf)
    for answer in (problem.explain(), problem.inflate()):
        assert f"s long as w is “{word}”" in answer.sentence()
        assert "whatever “x is 5” is" in answer.sentence()
    assert f"w: “{word}” → " in problem.contrastive().sentence()
