"""Columns that a pipeline was fitted with and drops: users name them, and no question has them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import milp_verix as mv
from milp_verix import InputError

linear = pytest.importorskip("sklearn.linear_model")
trees = pytest.importorskip("sklearn.tree")
from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402

RNG = np.random.default_rng(4)
TABLE = pd.DataFrame(
    {
        "id": np.arange(200),
        "town": RNG.choice(["Ahlen", "Bonn", "Cham"], 200),
        "net pay": RNG.integers(0, 90, 200),
        "note": RNG.choice(["u", "v"], 200),
        "age": RNG.integers(18, 80, 200),
    }
)
DECIDED = TABLE["net pay"] + TABLE.age + 20 * (TABLE.town == "Bonn") > 95
SHUFFLED = ["age", "note", "id", "town", "net pay"]
DROPPED = "left out of the description, as the model drops them: note, id"


def described(*rules: str) -> mv.Inputs:
    return mv.Inputs.from_frame(TABLE[SHUFFLED], one_hot=["town"], rules=rules)


@pytest.fixture(
    scope="module",
    params=[linear.LogisticRegression(), trees.DecisionTreeClassifier(max_depth=4)],
    ids=["network", "trees"],
)
def pipeline(request: Any) -> Any:
    read = make_column_transformer(
        (OneHotEncoder(), ["town"]), (StandardScaler(), ["age", "net pay"])
    )
    return make_pipeline(read, request.param).fit(TABLE, DECIDED)


@pytest.mark.parametrize("place", [0, 7, 50])
def test_a_description_of_all_columns_is_that_of_those_that_are_read(
    pipeline: Any, place: int
) -> None:
    row = TABLE.iloc[place]
    found = mv.minimum(pipeline, row, epsilon="inf", inputs=described())
    own = mv.Inputs.from_pipeline(pipeline, TABLE)
    assert found.size == mv.minimum(pipeline, row, epsilon="inf", inputs=own).size
    assert found.feature_names == ("age", "town", "net pay")
    assert DROPPED in found.notes
    kept = [found.feature_names[feature] for feature in found.explanation]
    others = TABLE.copy()
    others[kept] = row[kept].to_numpy()
    assert (pipeline.predict(others) == pipeline.predict(TABLE.iloc[[place]])).all()


def test_arguments_by_name_may_name_dropped_columns(pipeline: Any) -> None:
    row, named = TABLE.iloc[7], dict.fromkeys(SHUFFLED, 1.0)
    problem = mv.Problem(pipeline, row, epsilon={**named, "age": 9}, inputs=described())
    assert problem.radii == (9.0, 1.0, 1.0)
    short = mv.Problem(
        pipeline, row, epsilon={"age": 9, "town": 1, "net_pay": 1}, inputs=described()
    )
    assert problem.at(named).radii == (1.0, 1.0, 1.0)
    assert problem == short
    costs = {name: float(cost) for cost, name in enumerate(SHUFFLED, 1)}
    fewer = {name: costs[name] for name in ("age", "town", "net pay")}
    assert problem.minimum(costs=pd.Series(costs)).cost == problem.minimum(costs=fewer).cost
    mask = pd.Series({name: name in ("age", "id") for name in SHUFFLED})
    assert problem.audit(mask).sentence() == problem.audit(["age"]).sentence()
    scores = pd.Series(costs)
    assert problem.importance(beside=scores).beside == (1.0, 4.0, 5.0)
    with pytest.raises(InputError, match="extra: ages"):
        problem.importance(beside=pd.Series({**costs, "ages": 1.0}))


def test_a_rule_about_a_dropped_column_is_refused(pipeline: Any) -> None:
    with pytest.raises(InputError, match="does not read note, id: the rule 'id <= age"):
        mv.explain(pipeline, TABLE.iloc[7], epsilon="inf", inputs=described("id <= age + 500"))
    rule = described("net_pay <= 2 * age + 60")
    assert mv.explain(pipeline, TABLE.iloc[7], epsilon="inf", inputs=rule).inputs.rules


def test_columns_that_are_read_must_still_be_described(pipeline: Any) -> None:
    with pytest.raises(InputError, match="missing: age"):
        mv.explain(pipeline, TABLE.iloc[7], epsilon=1, inputs=mv.Inputs(described().features[1:]))
    more = [*described().features, mv.continuous("height", 0, 9)]
    row = {**TABLE.iloc[7], "height": 3}
    with pytest.raises(InputError, match="extra: height"):
        mv.explain(pipeline, row, epsilon=1, inputs=more)


def test_studies_and_rows_have_dropped_columns_in_any_place(pipeline: Any, tmp_path: Path) -> None:
    journal = tmp_path / "study.jsonl"
    mv.explain_many(
        pipeline, TABLE.head(4)[SHUFFLED], epsilon="inf", inputs=described(), journal=journal
    )
    each = [
        list(mv.explain(pipeline, TABLE.iloc[place], epsilon="inf", inputs=described()).explanation)
        for place in range(4)
    ]
    assert mv.read_study(journal).explanation.map(list).tolist() == each
    covered = mv.inflate(pipeline, TABLE.iloc[0], epsilon="inf", inputs=described(), rows=TABLE)
    assert 0 < covered.coverage <= 1


def test_ends_of_a_domain_may_name_dropped_columns() -> None:
    read = make_column_transformer((StandardScaler(), ["age", "net pay"]))
    model = make_pipeline(read, linear.LogisticRegression()).fit(TABLE, DECIDED)
    ends = TABLE[["id", "net pay", "age"]].agg(["min", "max"])
    found = mv.explain(model, TABLE.iloc[7], epsilon=5, domain=ends)
    narrow = mv.explain(model, TABLE.iloc[7], epsilon=5, domain=ends[["age", "net pay"]])
    assert found.explanation == narrow.explanation


def test_ranges_and_units_of_dropped_columns_are_passed_over(pipeline: Any) -> None:
    numbers = TABLE[["id", "net pay", "age"]]
    found = mv.Inputs.from_pipeline(
        pipeline,
        TABLE.rename(columns={"net pay": "net_pay"}),
        ranges=numbers.agg(["min", "max"]) * 2,
        units=pd.Series({"net_pay": "EUR", "id": "number"}),
    )
    assert [one.name for one in found.features if not one.values] == ["net pay", "age"]
    assert found["net pay"].feature is not None
    assert found["net pay"].feature.upper == 2 * TABLE["net pay"].max()
    assert found["net pay"].feature.unit == "EUR"


def test_variables_of_dropped_columns_are_not_embedded() -> None:
    pyo = pytest.importorskip("pyomo.environ")
    read = make_column_transformer((StandardScaler(), ["age", "net pay"]))
    model = make_pipeline(read, linear.LinearRegression()).fit(TABLE, DECIDED.astype(float))
    host = pyo.ConcreteModel()
    host.x = pyo.Var(["id", "net_pay", "age"], bounds=(0, 99))
    found = mv.embed(host, model, host.x)
    assert {one.name for one in found.inputs} == {"x[age]", "x[net_pay]"}
    host.y = pyo.Var(["id", "wage", "age"], bounds=(0, 99))
    with pytest.raises(InputError, match=r"missing: net pay; extra: wage"):
        mv.embed(host, model, host.y, name="other")


def test_lists_of_features_and_rows_have_those_that_are_read(pipeline: Any) -> None:
    with pytest.raises(InputError, match="no feature 'note', as the model drops it: give"):
        mv.minimum(pipeline, TABLE.iloc[7], epsilon="inf", inputs=described(), must=["note"])
    row = TABLE.iloc[7].drop(["note", "id"])
    for model in (pipeline, mv.load_network(pipeline)):
        short = mv.explain(model, row, epsilon="inf", inputs=described())
        whole = mv.explain(model, TABLE.iloc[7], epsilon="inf", inputs=described())
        assert short.explanation == whole.explanation
