"""Pipelines of scikit-learn: answers equal those of ``pipeline.predict`` over a whole table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from milp_verix import (
    Inputs,
    OnnxNetwork,
    contrastive,
    enumerate_explanations,
    explain,
    load_network,
    minimum,
)

pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Stochastic Optimizer"),
]

GRADES = ["low", "middle", "high"]
VALUES: dict[str, list[Any]] = {
    "age": list(range(30, 37)),
    "town": ["Aachen", "Bonn", "Celle"],
    "grade": GRADES,
    "sex": ["f", "m"],
    "month": [2, 5, 9],
    "member": [False, True],
}
NAMES = list(VALUES)
EVERYTHING = range(len(NAMES))
RADII = {"age": "1sd", "grade": 1, "*": math.inf}


@dataclass(frozen=True)
class Case:
    """A fitted pipeline, all rows of its table with the classes that it predicts, and one row."""

    pipeline: Pipeline
    rows: pd.DataFrame
    classes: Any
    here: int

    @property
    def inputs(self) -> Inputs:
        return Inputs.from_pipeline(self.pipeline, self.rows)

    @property
    def network(self) -> OnnxNetwork:
        return load_network(self.pipeline, example=self.rows)

    @property
    def row(self) -> pd.Series:
        return self.rows.iloc[self.here]

    def holds(self, free: Sequence[int]) -> bool:
        """Return whether all rows within the radii that differ in ``free`` alone are alike."""
        near = np.ones(len(self.rows), dtype=bool)
        for place, name in enumerate(NAMES):
            column = self.rows[name]
            if place not in free:
                near &= (column == self.row[name]).to_numpy()
            elif name == "age":
                spread = column.to_numpy(float).std()
                near &= (abs(column - self.row[name]) <= spread).to_numpy()
            elif name == "grade":
                codes = column.map(GRADES.index)
                near &= (abs(codes - GRADES.index(self.row[name])) <= 1).to_numpy()
        return bool((self.classes[near] == self.classes[self.here]).all())

    def minimal(self) -> tuple[set[frozenset[int]], set[frozenset[int]]]:
        """Return all minimal explanations and all minimal contrastive sets."""
        sets = [frozenset(c) for size in range(7) for c in combinations(EVERYTHING, size)]
        explain = [s for s in sets if self.holds([*{*EVERYTHING} - s])]
        change = [s for s in sets if not self.holds([*s])]
        return _least(explain), _least(change)


def _least(sets: list[frozenset[int]]) -> set[frozenset[int]]:
    return {one for one in sets if not any(other < one for other in sets)}


@cache
def case(seed: int) -> Case:
    """Return a trained pipeline and a row that is not decided alike everywhere."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(list(product(*VALUES.values())), columns=NAMES)
    train = rows.sample(150, random_state=seed)
    score = (
        (train.age - 33) * rng.normal(0, 0.5)
        + train.grade.map(GRADES.index) * rng.normal()
        + train.town.map(dict(zip(VALUES["town"], rng.normal(size=3), strict=True)))
        + (train.sex == "f") * train.member * rng.normal(0, 2)
        + train.month.isin([5]) * rng.normal()
    )
    labels = np.array(["no", "maybe", "yes"])[np.digitize(score, np.quantile(score, [0.3, 0.6]))]
    if seed % 2:
        labels = np.where(labels == "maybe", "yes", labels)
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["age"]),
            (
                "words",
                OneHotEncoder(drop=["if_binary", None, "first"][seed % 3]),
                ["month", "town"],
            ),
            ("two", OneHotEncoder(drop="if_binary"), ["sex"]),
            ("grades", OrdinalEncoder(categories=[GRADES]), ["grade"]),
        ],
        remainder="passthrough",
    )
    network = MLPClassifier((6, 4), max_iter=300, learning_rate_init=0.02, random_state=seed)
    steps = [MinMaxScaler()] if seed % 3 == 1 else []
    pipeline = make_pipeline(columns, *steps, network).fit(train, labels)
    classes = pipeline.predict(rows)
    assert len({*classes}) > 1
    for here in rng.permutation(len(rows)):
        found = Case(pipeline, rows, classes, int(here))
        if not found.holds(EVERYTHING):
            return found
    raise AssertionError("the pipeline decides all rows alike")


@pytest.mark.parametrize("seed", range(6))
def test_explanations_equal_enumeration(seed: int) -> None:
    asked = case(seed)
    network, inputs = asked.network, asked.inputs
    assert inputs.names == tuple(NAMES)
    least, contrasts = asked.minimal()
    options: dict[str, Any] = {"epsilon": RADII, "inputs": inputs}
    order = np.random.default_rng(seed).permutation(6).tolist()
    found = explain(network, asked.row, order=order, **options)
    assert found.minimal
    free: list[int] = []
    for feature in order:
        free += [feature] if asked.holds([*free, feature]) else []
    assert {*found.explanation} == {*EVERYTHING} - {*free}
    assert inputs.class_names[found.prediction] == asked.classes[asked.here]
    assert f"decision “{asked.classes[asked.here]}” stays" in found.sentence()
    for counterfactual in found.counterfactuals.values():
        _confirm(asked, inputs, counterfactual.input, counterfactual.prediction)
    every = enumerate_explanations(network, asked.row, **options)
    assert {frozenset(one) for one in every.abductive} == least
    assert {frozenset(one) for one in every.contrastive} == contrasts
    assert minimum(network, asked.row, **options).size == min(map(len, least))
    contrast = contrastive(asked.pipeline, asked.row, **options)  # it need not be loaded
    assert contrast.size == min(map(len, contrasts))
    _confirm(asked, inputs, contrast.counterfactual.input, contrast.counterfactual.prediction)


def _confirm(asked: Case, inputs: Inputs, x: Any, prediction: int) -> None:
    """Assert that ``x`` is a row of the table, and that the pipeline predicts that class for it."""
    words = inputs.words(x)
    words["member"] = {"no": "False", "yes": "True"}[words["member"]]
    same = (asked.rows.astype(str) == pd.Series(words)).all(axis=1).to_numpy()
    assert same.sum() == 1
    assert asked.classes[same][0] == asked.pipeline.classes_[prediction]
    assert asked.classes[same][0] != asked.classes[asked.here]


@pytest.mark.parametrize("seed", range(4))
def test_claims_about_real_numbers_hold_for_the_pipeline(seed: int) -> None:
    rng = np.random.default_rng(seed)
    train = pd.DataFrame(
        {
            "wage": rng.uniform(1000, 9000, 400).round(2),
            "rent": rng.uniform(100, 3000, 400).round(2),
            "children": rng.integers(0, 6, 400),
            "town": rng.choice(VALUES["town"], 400),
        }
    )
    target = train.wage - 2 * train.rent - 300 * train.children * (train.town != "Bonn")
    columns = ColumnTransformer([("town", OneHotEncoder(), ["town"])], remainder=StandardScaler())
    network = MLPRegressor(hidden_layer_sizes=(6,), max_iter=300, random_state=seed)
    pipeline = make_pipeline(columns, network).fit(train, target / target.std())
    inputs = Inputs.from_pipeline(pipeline, train)
    row, share, delta = train.iloc[seed], 0.2 + 0.1 * seed, 0.3
    found = explain(
        load_network(pipeline, example=train),
        row,
        epsilon={"children": 2, "town": 1, "*": f"{share}sd"},
        delta=delta,
        inputs=inputs,
    )
    assert found.minimal
    assert 0 < found.size < 4
    before = pipeline.predict(train.iloc[[seed]])[0]
    near = pd.DataFrame([row] * 4000).reset_index(drop=True)
    for name in [inputs.names[place] for place in found.irrelevant]:
        if name == "town":
            near[name] = rng.choice(VALUES["town"], 4000)
        elif name == "children":
            low, high = max(row[name] - 2, 0), min(row[name] + 2, 5)
            near[name] = rng.integers(low, high + 1, 4000)
        else:
            reach = share * train[name].std(ddof=0)
            low = max(row[name] - reach, train[name].min())
            high = min(row[name] + reach, train[name].max())
            near[name] = rng.choice([low, high, *rng.uniform(low, high, 50)], 4000)
    assert abs(pipeline.predict(near.astype(train.dtypes)) - before).max() <= delta
    for counterfactual in found.counterfactuals.values():
        flat = counterfactual.input.reshape(-1)
        numbers = dict(zip(train.columns, flat[:3], strict=False))
        there = pd.DataFrame([{**numbers, "town": inputs.words(flat)["town"]}])
        assert abs(pipeline.predict(there)[0] - before) > delta
