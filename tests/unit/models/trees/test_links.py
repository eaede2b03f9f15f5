"""Regressors whose ``predict`` puts the sums of their trees through a link."""

import math
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pulp
import pytest
import xgboost
from sklearn.ensemble import HistGradientBoostingRegressor

import milp_verix as mv

FEW: dict[str, Any] = {"n_estimators": 4, "n_jobs": 1}
MODELS: dict[str, tuple[Any, Any]] = {
    "poisson": (lightgbm.LGBMRegressor(objective="poisson", verbose=-1, **FEW), np.log),
    "regression sqrt": (lightgbm.LGBMRegressor(reg_sqrt=True, verbose=-1, **FEW), np.sqrt),
    "count:poisson": (xgboost.XGBRegressor(objective="count:poisson", **FEW), np.log),
    "loss='gamma'": (HistGradientBoostingRegressor(loss="gamma", max_iter=4), np.log),
}
ROWS = pd.DataFrame({"a": range(40), "b": [place % 7 for place in range(40)]})


@pytest.mark.parametrize("name", MODELS)
def test_sentences_tell_that_outputs_stand_before_a_link(name: str) -> None:
    model, back = MODELS[name]
    model.fit(ROWS, np.exp(ROWS.a / 15))
    row = ROWS.iloc[[25]]
    problem = mv.Problem(model, row, epsilon=math.inf, inputs=mv.Inputs.from_frame(ROWS), delta=0.1)
    answers = [problem.explain(), problem.contrastive(), problem.inflate(), problem.importance()]
    answers += [problem.radius(each=True), problem.sweep([5.0, 2.0]), problem.audit(["a"])]
    told = f"Outputs are sums of leaves, before the link of {name}."
    for answer in answers:
        assert answer.sentence().count(told) == 1, answer.sentence()
        assert answer.sentence().endswith(told)
    found = answers[0].prediction
    assert found == pytest.approx(back(model.predict(row)), rel=1e-5)
    compared = problem.compare(task="check", solvers=["highs"], checks=[["a"]])
    assert told == f"O{compared.runs[0].notes[0][1:]}."
    program = pulp.LpProblem()
    inside = mv.embed(program, model, pulp.LpVariable.dicts("x", ["a", "b"], 0, 40))
    assert told == f"O{inside.notes[-1][1:]}."


def test_sentences_of_values_themselves_tell_of_no_link() -> None:
    model = lightgbm.LGBMRegressor(verbose=-1, **FEW).fit(ROWS, ROWS.a)
    inputs = mv.Inputs.from_frame(ROWS)
    found = mv.explain(model, ROWS.iloc[25], epsilon=math.inf, inputs=inputs, delta=0.1)
    assert "link" not in found.sentence()
