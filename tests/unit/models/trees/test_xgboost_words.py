"""Words of categories that XGBoost stores: in letters of every alphabet."""

from typing import Any

import numpy as np
import pytest

import milp_verix

pd: Any = pytest.importorskip("pandas", reason="pandas is not installed")
xgboost: Any = pytest.importorskip("xgboost", reason="XGBoost is not installed")


@pytest.mark.parametrize("words", [["Ålesund", "東京", "x y"], ["Åb", "cd", "ef"]])
def test_words_in_other_alphabets_are_those_described(words: list[str]) -> None:
    """XGBoost 3.2 stores such words by their number of characters, and cuts them off."""
    table = pd.DataFrame({"town": pd.Categorical(words * 20), "age": np.arange(60.0)})
    model = xgboost.XGBClassifier(n_estimators=2, enable_categorical=True, n_jobs=1)
    model.fit(table, table.town == words[0])
    inputs = milp_verix.Inputs.from_frame(table)
    found = milp_verix.contrastive(model, table.iloc[0], epsilon="inf", inputs=inputs)
    assert found.counterfactual is not None
    assert sum("letters beyond ASCII" in note for note in found.notes) == 1
    changed = inputs.changes(found.input, found.counterfactual.input)
    row = table.iloc[[0]].copy()
    assert [*changed] == ["town"]
    row["town"] = pd.Categorical([changed["town"][1]], table.town.cat.categories)
    assert model.predict(row) != model.predict(table.iloc[[0]])
