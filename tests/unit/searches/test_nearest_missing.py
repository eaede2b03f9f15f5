"""The nearest counterfactual where values may be missing: a change to or from missing counts 1."""

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import milp_verix as mv

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def _table(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"debt": rng.integers(0, 12, 200), "wage": rng.integers(0, 9, 200) / 2.0})
    for name in table:
        table[name] = table[name].mask(rng.random(200) < 0.2)
    return table


def _share(before: float, after: float, width: float) -> float:
    if np.isnan(before) or np.isnan(after):
        return float(np.isnan(before) != np.isnan(after))
    return abs(after - before) / width


@pytest.mark.parametrize("seed", range(6))
def test_the_nearest_change_is_the_least_of_all_by_brute_force(seed: int) -> None:
    table = _table(seed)
    rng = np.random.default_rng(seed)
    sums = table["debt"].fillna(20) - 2 * table["wage"].fillna(-4)
    labels = (sums + rng.normal(0, 2, 200) > 4).astype(int)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(table, labels)
    inputs = mv.Inputs.from_frame(table, missing=[*table.columns])
    widths = {str(name): float(table[name].max() - table[name].min()) for name in table}
    ends = sorted({*model.tree_.threshold.tolist()})
    near = {name: table[name].dropna().unique().tolist() for name in table}
    for name in table:
        own = [e + d for e in ends for d in (-1e-6, 1e-6) if e + d <= table[name].max()]
        near[name] = [*near[name], *own, np.nan]
    grid = pd.DataFrame([*product(*near.values())], columns=[*table.columns])
    predicted = model.predict(grid)
    for row in (table.dropna().iloc[0], table[table.debt.isna()].iloc[0]):
        found = mv.contrastive(model, row, epsilon="inf", inputs=inputs, minimise="distance")
        own = model.predict(row.to_frame().T)[0]
        far = sum(
            np.array([_share(row[name], value, widths[name]) for value in grid[name]])
            for name in table
        )
        least = float(np.min(far[predicted != own]))
        assert found.proven
        assert found.distance == pytest.approx(least, abs=2e-3)
        assert found.lower_bound is not None
        assert found.lower_bound <= least * (1 + 1e-6)


def test_a_change_to_missing_counts_as_the_whole_range() -> None:
    table = pd.DataFrame({"debt": [1.0, 2.0, 9.0, np.nan] * 50})
    model = DecisionTreeClassifier(random_state=0).fit(table, [0, 0, 0, 1] * 50)
    inputs = mv.Inputs.from_frame(table, missing=["debt"])
    changes = {1: "debt: 2 → missing", 3: "debt: missing → "}
    for row, change in ((table.iloc[place], told) for place, told in changes.items()):
        found = mv.contrastive(model, row, epsilon="inf", inputs=inputs, minimise="distance")
        assert found.distance == 1.0
        assert found.proven
        assert change in found.sentence()


@pytest.mark.parametrize("minimise", ["features", "distance"])
def test_a_number_in_place_of_a_missing_one_has_few_digits(minimise: str) -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"age": rng.uniform(18, 68.123456, 240), "wage": rng.normal(0, 1, 240)})
    labels = (table.age > 40).astype(int)
    table["age"] = table["age"].mask(rng.random(240) < 0.1)
    linear = make_pipeline(SimpleImputer(strategy="constant"), LogisticRegression())
    for model in (linear, DecisionTreeClassifier(max_depth=2, random_state=0)):
        model.fit(table, labels)
        inputs = mv.Inputs.from_frame(table, missing=["age"])
        predicted = model.predict(table)
        absent = (table.age.isna() & (predicted == 0)).to_numpy()
        row = table[absent].iloc[[0]]
        found = mv.contrastive(model, row, epsilon="inf", inputs=inputs, minimise=minimise)
        told = re.search("age: missing → ([0-9.]+)", found.sentence())
        assert told, found.sentence()
        assert len(told[1].replace(".", "").rstrip("0")) <= 2, found.sentence()
        assert model.predict(row.assign(age=float(told[1])))[0] == 1


def _wide(top: float, *, absent: bool) -> mv.ContrastiveExplanation:
    """Return the nearest change of a row whose first column goes to ``top``, or is missing."""
    table = pd.DataFrame(np.random.default_rng(0).random((200, 3)), columns=["a", "b", "c"])
    labels = (table.a + table.b / 2 > 0.8).astype(int)
    table = table.mask(np.random.default_rng(1).random(table.shape) < 0.1)
    table["a"] *= top
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())
    model.fit(table, labels)
    inputs = mv.Inputs.from_pipeline(model, table, missing=[*table.columns])
    row = table[table.a.isna() & table.b.notna()].iloc[0] if absent else table.dropna().iloc[0]
    return mv.contrastive(model, row, epsilon="inf", inputs=inputs, minimise="distance")


@pytest.mark.parametrize("absent", [True, False])
def test_the_nearest_change_does_not_depend_on_the_unit_of_a_column(absent: bool) -> None:
    small, *wide = (_wide(top, absent=absent) for top in (1.0, 1e5, 1e8))
    assert small.proven
    for found in wide:
        assert found.proven
        assert found.distance == pytest.approx(small.distance, rel=2e-3)


def test_what_rounding_over_a_wide_range_leaves_open_says_so() -> None:
    found = _wide(1e13, absent=True)
    assert not found.proven
    assert found.unknown_reason is not None
    assert "may be rounded by" in found.unknown_reason
    assert "larger units" in found.unknown_reason
