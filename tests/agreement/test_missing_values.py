"""Trees of tables with missing values: every answer is that of listing points, NaN among them."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from milp_verix import (
    Answer,
    Explanation,
    InputError,
    Inputs,
    Problem,
    Search,
    continuous,
    fixed,
    integer,
    load_network,
)
from tests.support.listed_points import ListedCase
from tests.support.onnx_models import dense

KINDS = ("tree", "forest", "extra", "hist", "xgboost", "lightgbm", "pipeline")


def _model(kind: str, rng: np.random.Generator) -> Any:
    count, state = int(rng.integers(2, 7)), int(rng.integers(1_000_000))
    if kind == "tree":
        return DecisionTreeClassifier(max_depth=3, random_state=state)
    if kind == "forest":
        return RandomForestClassifier(count, random_state=state)
    if kind == "extra":
        return ExtraTreesClassifier(count, max_depth=4, random_state=state)
    if kind == "hist":
        return HistGradientBoostingClassifier(
            max_iter=count, max_leaf_nodes=6, min_samples_leaf=1, random_state=state
        )
    if kind == "pipeline":
        step = StandardScaler() if rng.integers(2) else SimpleImputer(strategy="median")
        return make_pipeline(step, _model(str(rng.choice(["hist", "forest"])), rng))
    if kind == "xgboost":
        xgboost = pytest.importorskip("xgboost")
        return xgboost.XGBClassifier(
            n_estimators=count, max_depth=3, min_child_weight=0, n_jobs=1, random_state=state
        )
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMClassifier(
        n_estimators=count,
        num_leaves=6,
        min_child_samples=1,
        min_data_in_bin=1,
        zero_as_missing=bool(rng.integers(4) == 0),
        verbose=-1,
        n_jobs=1,
        random_state=state,
    )


def _case(kind: str, seed: int) -> ListedCase:
    rng = np.random.default_rng(seed)
    size, values = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    table = rng.integers(0, values, size=(60, size)).astype(float)
    may = rng.random(size) < 0.6
    may[0] |= not may.any()
    table[(rng.random(table.shape) < 0.25) & may] = np.nan
    labels = rng.integers(0, int(rng.integers(2, 4)), size=60)
    labels[: labels.max() + 1] = np.arange(labels.max() + 1)
    model = _model(kind, rng).fit(table, labels)
    x, epsilon = table[int(rng.integers(60))], float(rng.choice([1.0, np.inf, np.inf]))
    described = [integer(f"f{i}", 0, values - 1, missing=bool(may[i])) for i in range(size)]
    axes = [[*range(values), *[np.nan] * bool(one)] for one in may]
    points = np.array(list(product(*axes)), dtype=float)
    near = (np.abs(points - x) <= epsilon) | (np.isnan(points) & np.isnan(x))
    points = points if np.isinf(epsilon) else points[near.all(axis=1)]
    same = (points == x) | (np.isnan(points) & np.isnan(x))
    changed = model.predict(points) != model.predict(x[None])[0]
    return ListedCase(Problem(model, x, inputs=Inputs(described), epsilon=epsilon), changed, ~same)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_all_questions(kind: str, missing_seed: int) -> None:
    case = _case(kind, missing_seed)
    problem, size = case.problem, case.moved.shape[1]
    case.assert_sizes()
    every = problem.enumerate()
    assert every.complete
    assert {*every.abductive} == case.explanations
    assert problem.relevance(0).relevant == any(0 in one for one in case.explanations)
    rng = np.random.default_rng(missing_seed)
    for solver in ("leaves", "highs"):
        free = np.flatnonzero(rng.random(size) < 0.6).tolist()
        verdict = problem.check(free, search=Search(solver=solver))
        if verdict.answer is not Answer.UNKNOWN or solver == "leaves":
            assert verdict.holds == case.suffices({*range(size)} - {*free})


def _applicants() -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.integers(18, 70, 300), "income": rng.normal(30, 9, 300)})
    granted = (frame.income > 28).to_numpy()
    frame.loc[rng.random(300) < 0.3, "income"] = np.nan
    return frame, granted


def test_sentences_and_files_say_that_a_value_is_missing(tmp_path: Path) -> None:
    frame, granted = _applicants()
    model = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(frame, granted)
    described = Inputs.from_frame(frame, missing=["income"])
    assert "or missing" in str(described)
    assert Inputs.from_data(described.to_data()) == described
    row = frame[frame.income.isna()].iloc[0]
    problem = Problem(model, row, inputs=described, epsilon="inf")
    found = problem.explain()
    assert "income is missing" in found.sentence()
    assert "missing →" in problem.contrastive().sentence()
    assert "income is missing" in problem.inflate().sentence()
    found.to_json(tmp_path / "found.json")
    again = Explanation.from_json(tmp_path / "found.json")
    assert again.sentence() == found.sentence()
    assert again.replay(load_network(model)) == ()
    # a finite radius leads to no number, and from a number to no missing value
    wide = {"income": 1e6, "*": "inf"}
    held = Problem(model, row, inputs=described, epsilon=wide).explain()
    assert 1 in held.still
    assert "within ±" not in held.sentence()
    known = frame[frame.income.notna()].iloc[0]
    told = Problem(model, known, inputs=described, epsilon=wide)
    assert "whatever income" not in told.explain(order=["income", "age"]).sentence()
    near = Problem(model, row, inputs=described, epsilon="10%")
    assert near.contrastive().contrast is None or near.contrastive().contrast == (0,)


def test_what_missing_values_do_not_fit_is_refused_in_words() -> None:
    frame, granted = _applicants()
    described = Inputs.from_frame(frame, missing=["income"])
    row = frame.iloc[0]
    with pytest.raises(InputError, match="trees read missing values"):
        Problem(
            dense(),
            [1.0, 2.0, 3.0],
            inputs=[*described.features, integer("more", 0, 9)],
            epsilon="inf",
        )
    plain = GradientBoostingClassifier(n_estimators=3).fit(frame.fillna(0), granted)
    with pytest.raises(InputError, match="without missing values alone"):
        Problem(plain, row, inputs=described, epsilon="inf")
    with pytest.raises(InputError, match="missing=\\['income', …\\]"):
        Inputs.from_frame(frame)
    with pytest.raises(InputError, match="upper end"):
        continuous("income", missing=True)
    with pytest.raises(InputError, match="direction"):
        integer("age", 0, 9, only="up", missing=True)
    with pytest.raises(InputError, match=r"a rule with \| \(income == 'missing'\) lets it be"):
        Problem(
            HistGradientBoostingClassifier(max_iter=3).fit(frame, granted),
            frame[frame.income.isna()].iloc[0],
            inputs=described.where("income <= 30"),
            epsilon="inf",
        )


def test_words_and_fixed_columns_may_be_missing() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    frame, granted = _applicants()
    towns = np.random.default_rng(0).choice(["Paris", "Rome", None], len(frame))
    frame["town"] = pd.Categorical(towns, categories=["Paris", "Rome"])
    granted = granted ^ frame.town.isna().to_numpy()
    model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1).fit(frame, granted)
    described = Inputs.from_frame(frame, missing=["income", "town"])
    assert described.features[2].values == ("Paris", "Rome", "missing")
    row = frame[frame.town.isna()].iloc[0]
    problem = Problem(load_network(model), row, inputs=described, epsilon="inf")
    assert "town is missing" in problem.explain().sentence()
    # a missing word is one more word, at any radius that leads to the others
    for epsilon in ("inf", "10%", {"*": 0}):
        alone = Problem(model, row, inputs=described, epsilon=epsilon).radius(each=True)
        assert "A change of town alone is enough" in alone.sentence()
    gone = frame[frame.income.isna() & frame.town.notna()].iloc[0]
    for epsilon in ("inf", "10%", {"*": 0}):
        alone = Problem(model, gone, inputs=described, epsilon=epsilon).radius(each=True)
        assert alone.still == (1,)
        assert "income" not in alone.sentence()
    still = Inputs([described.features[0], fixed("income", missing=True), described.features[2]])
    found = Problem(
        model, row.to_dict() | {"income": np.nan}, inputs=still, epsilon="inf"
    ).explain()
    assert found.inputs is not None
    assert found.inputs.words(found.input)["income"] == "missing"
