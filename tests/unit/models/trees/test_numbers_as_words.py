"""Categories of pandas that are numbers: XGBoost and LightGBM know them by codes 0, 1, …."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import milp_verix as mv

KINDS: list[list[Any]] = [[1, 2, 5], [-1, 1], [True, False]]


def _fitted(library: str, kinds: list[Any]) -> tuple[Any, pd.DataFrame]:
    # XGBoost tells words from 3.1 on
    pytest.importorskip(library, minversion="3.1", reason="it is not installed")
    rng = np.random.default_rng(0)
    codes, x = rng.integers(0, len(kinds), 300), rng.normal(size=300).round(2)
    frame = pd.DataFrame({"x": x, "w": pd.Categorical.from_codes(codes, categories=kinds)})
    if library == "xgboost":
        import xgboost

        model: Any = xgboost.XGBClassifier(n_estimators=4, max_depth=3, enable_categorical=True)
    else:
        import lightgbm

        options = {"n_estimators": 4, "min_child_samples": 2, "min_data_per_group": 1}
        model = lightgbm.LGBMClassifier(**options, num_leaves=5, verbose=-1)
    return model.fit(frame, (x > 0) ^ (codes == 0)), frame


CASES = [("lightgbm", kinds) for kinds in KINDS]
CASES += [("xgboost", kinds) for kinds in KINDS[:2]]  # which refuses truth values itself


@pytest.mark.parametrize(("library", "kinds"), CASES)
def test_a_number_by_name_that_may_be_a_word_or_a_code_is_refused(
    library: str, kinds: list[Any], tmp_path: Path
) -> None:
    model, frame = _fitted(library, kinds)
    row = frame[frame["w"] == kinds[0]].iloc[0]
    asked: dict[str, Any] = {"epsilon": 0.5, "domain": (-9, 9)}
    told = r"w may be .*, the code of a word or the word .* categories=\{'w': \['"
    network = mv.load_network(model)
    for x in (row, row.to_dict(), frame.loc[[row.name]]):
        with pytest.raises(mv.InputError, match=told):
            mv.explain(model, x, **asked)
    with pytest.raises(mv.InputError, match=told):
        network.evaluate_many(frame)
    rows = frame[frame["w"] == kinds[0]].astype({"w": object}).iloc[:3]
    for xs in (rows, rows.to_dict("records")):
        journal = tmp_path / f"{type(xs).__name__}.jsonl"
        assert mv.explain_many(model, xs, journal=journal, **asked).failed == 3
        assert all(mv.read_study(journal)["reason"].dropna().str.contains("w may be "))
    assert mv.explain(model, np.array([row["x"], 0.0]), **asked).prediction is not None


@pytest.mark.parametrize(("library", "kinds"), [case for case in CASES if case[1][0] is not True])
def test_numbers_described_for_words_are_refused_and_the_words_themselves_are_read(
    library: str, kinds: list[Any]
) -> None:
    model, frame = _fitted(library, kinds)
    numbers = mv.Inputs.from_frame(frame.astype({"w": int}))
    with pytest.raises(mv.InputError, match=r"w may be .*, the code of a word or the word"):
        mv.explain(model, frame.iloc[0], epsilon="inf", inputs=numbers)
    described = mv.Inputs.from_frame(frame, categories={"w": [*map(str, kinds)]})
    for place in range(10):
        row = {"x": frame["x"].iloc[place], "w": str(frame["w"].iloc[place])}
        found = mv.explain(model, row, epsilon="inf", inputs=described)
        assert found.prediction == model.predict(frame.iloc[[place]])[0]
