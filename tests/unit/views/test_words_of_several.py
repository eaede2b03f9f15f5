"""A word of a column that reads as several words stands in quotes."""

from math import inf

import lightgbm
import pandas as pd

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
