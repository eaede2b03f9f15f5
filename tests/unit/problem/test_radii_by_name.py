"""Radii by name for models that store names, without a description."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import milp_verix as mv
from milp_verix import InputError
from tests.support.random_networks import dense_network, random_layers

trees = pytest.importorskip("sklearn.tree")

RNG = np.random.default_rng(8)
TABLE = pd.DataFrame(
    {
        "age": RNG.uniform(18, 75, 90),
        "net pay": RNG.uniform(0, 9, 90),
        "debt": RNG.uniform(0, 5, 90),
    }
)
ENDS = TABLE[["debt", "age", "net pay"]].agg(["min", "max"])
DESCRIBED = [mv.continuous(name, *ENDS[name]) for name in TABLE.columns]
RADII = {"debt": 1.5, "net_pay": 2, "age": 20}


@pytest.fixture(scope="module")
def model() -> Any:
    decided = TABLE["net pay"] * 12 > TABLE.age + 3 * TABLE.debt
    return trees.DecisionTreeClassifier(max_depth=4, random_state=0).fit(TABLE, decided)


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize(
    "radii",
    [
        RADII,
        pd.Series(RADII),
        pd.DataFrame([RADII]),
        {"age": 20, "debt": 1.5, "*": 2},
        [20, 2, 1.5],
        np.array([20, 2, 1.5]),
        {0: 20, 1: 2, 2: 1.5},
    ],
)
def test_radii_are_those_of_a_description(model: Any, radii: Any, place: int) -> None:
    row = TABLE.iloc[place]
    problem = mv.Problem(model, row[["debt", "net pay", "age"]], epsilon=radii, domain=ENDS)
    described = mv.Problem(model, row, epsilon=RADII, inputs=DESCRIBED)
    assert problem.radii == (20, 2, 1.5)
    found = problem.minimum()
    assert found.explanation == described.minimum().explanation
    assert mv.Explanation.from_json(found.to_json()).explanation == found.explanation
    moved = {name: name not in found.explanation for name in range(3)}
    rows = np.repeat(row.to_numpy()[None], 400, axis=0)
    for feature, (_name, ends) in enumerate(ENDS[TABLE.columns].items()):
        reach = (20, 2, 1.5)[feature] * moved[feature]
        low, high = max(row.iloc[feature] - reach, ends.min()), row.iloc[feature] + reach
        rows[:, feature] = RNG.uniform(low, min(high, ends.max()), 400)
    classes = model.predict(pd.DataFrame(rows, columns=TABLE.columns))
    assert (classes == model.predict(TABLE.iloc[[place]])).all()


def test_other_labels_and_lengths_are_refused(model: Any) -> None:
    def asked(radii: Any, **more: Any) -> Any:
        return mv.Problem(model, TABLE.iloc[0], epsilon=radii, domain=ENDS, **more)

    for radii, told in (
        ({"age": 3}, "missing: net pay, debt"),
        ({"agee": 3, "*": 1}, "extra: agee; did you mean 'age'"),
        ([1, 2], "2 radii, but there are 3 features"),
        ({"age": "10 %%", "*": 0}, "expected a number"),
    ):
        with pytest.raises(InputError, match=told):
            asked(radii)
    with pytest.raises(InputError, match="norm 'linf'"):
        asked(RADII, norm="l2")
    with pytest.raises(InputError, match="frees several together"):
        asked(RADII, features=[[0, 1], [2]])


def test_a_network_without_names_takes_those_given_or_places(tmp_path: Any) -> None:
    layers = random_layers(np.random.default_rng(0), (2, 4, 2))
    path = dense_network(layers, tmp_path)
    x = np.array([0.4, 0.5])
    named = mv.explain(path, x, epsilon={"b": 0.2, "a": 0}, feature_names=["a", "b"])
    listed = mv.explain(path, x, epsilon=[0, 0.2])
    assert named.explanation == listed.explanation
    assert named.still == listed.still == (0,)
    with pytest.raises(InputError, match=r"features have no names: .*feature_names"):
        mv.explain(path, x, epsilon={"b": 0.2, "a": 0})
