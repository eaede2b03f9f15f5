"""Rules about numbers that may be missing: answers are those of points that Python lets pass."""

import re
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from milp_verix import Inputs, Problem, continuous, integer
from tests.support.listed_points import ListedCase

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

KINDS = ("tree", "hist", "forest behind", "linear", "mlp")
SIZE = 3


def _model(kind: str, rng: np.random.Generator) -> Any:
    state = int(rng.integers(1_000_000))
    if kind == "tree":
        return DecisionTreeClassifier(max_depth=4, random_state=state)
    if kind == "hist":
        return HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=1, random_state=state)
    steps = [SimpleImputer(strategy="median", add_indicator=bool(rng.integers(2)))]
    if kind == "forest behind":
        return make_pipeline(*steps, RandomForestClassifier(4, max_depth=4, random_state=state))
    last = LogisticRegression(C=10.0)
    if kind == "mlp":
        last = MLPClassifier((4,), max_iter=60, random_state=state)
    return make_pipeline(*steps, StandardScaler(), last)


def _rule(rng: np.random.Generator, depth: int = 2) -> str:
    """Return a rule that is Python, too, with ``f0 == 'missing'`` among its comparisons."""
    if depth and rng.integers(2):
        parts = [_rule(rng, depth - 1) for _ in range(2)]
        return f"({parts[0]} {rng.choice(['and', 'or'])} {parts[1]})"
    one, other = rng.permutation(SIZE)[:2]
    sign = str(rng.choice(["<=", "<", ">=", ">", "==", "!="]))
    right = [f"f{other}", f"f{other} + 1", f"2 * f{other}", "1", "2", "'missing'"]
    chosen = str(rng.choice(right))
    sign = str(rng.choice(["==", "!="])) if chosen == "'missing'" else sign
    told = f"f{one} {sign} {chosen}"
    return f"not ({told})" if rng.integers(4) == 0 else told


class _Number(float):
    """A number that is compared with the word, too."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return bool(np.isnan(self))
        return float(self) == float(other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = float.__hash__


def _passes(rule: str, point: NDArray[np.float64]) -> bool:
    names = {f"f{i}": _Number(value) for i, value in enumerate(point)}
    return bool(eval(rule, {}, names))


@dataclass(frozen=True, eq=False)
class _Case(ListedCase):
    points: NDArray[np.float64]


def _case(kind: str, seed: int) -> _Case:
    rng = np.random.default_rng(seed)
    values = int(rng.integers(2, 5))
    table = rng.integers(0, values, size=(60, SIZE)).astype(float)
    may = rng.random(SIZE) < 0.7
    may[0] = True
    table[(rng.random(table.shape) < 0.3) & may] = np.nan
    labels = rng.integers(0, 2, size=60)
    labels[np.isnan(table[:, 0])] = rng.integers(2)
    labels[:2] = 0, 1
    frame = pd.DataFrame(table, columns=[f"f{i}" for i in range(SIZE)])
    model = _model(kind, rng).fit(frame, labels)
    axes = [[*range(values), *[np.nan] * bool(one)] for one in may]
    points = np.array(list(product(*axes)), dtype=float)
    while True:
        rule = _rule(rng)
        passing = np.array([_passes(rule, point) for point in points])
        # a feature that may not be missing is never compared with the word
        known = all(may[i] for i in range(SIZE) if f"f{i} == 'm" in rule or f"f{i} != 'm" in rule)
        if known and 1 < passing.sum() < len(points):
            break
    points = points[passing]
    x = points[int(rng.integers(len(points)))]
    described = [integer(f"f{i}", 0, values - 1, missing=bool(may[i])) for i in range(SIZE)]
    asked = pd.DataFrame(points, columns=frame.columns)
    row = pd.DataFrame([x], columns=frame.columns)
    changed = model.predict(asked) != model.predict(row)[0]
    same = (points == x) | (np.isnan(points) & np.isnan(x))
    inputs = Inputs(described).where(rule)
    problem = Problem(model, row.iloc[0], inputs=inputs, epsilon="inf")
    return _Case(problem, changed, ~same, points)


@pytest.mark.parametrize("kind", KINDS)
def test_all_questions(kind: str, ruled_seed: int) -> None:
    case = _case(kind, ruled_seed)
    problem = case.problem
    case.assert_sizes()
    assert {*problem.enumerate().abductive} == case.explanations
    grown = problem.inflate()
    inside = np.ones(len(case.points), dtype=bool)
    inputs = grown.inputs
    assert inputs is not None
    for one in grown.ranges:
        group = inputs.groups[one.feature]
        last = inputs.features[one.feature].last
        column = case.points[:, one.feature]
        gone = float(grown.input.reshape(-1)[group[0]]) > last
        inside &= np.isnan(column) if gone else (column >= one.lower) & (column <= one.upper)
    assert not np.any(case.changed & inside)


@pytest.mark.parametrize("kind", KINDS)
def test_real_numbers(kind: str, ruled_seed: int) -> None:
    rng = np.random.default_rng(ruled_seed)
    names = [f"f{i}" for i in range(SIZE)]
    table = pd.DataFrame(rng.uniform(0, 4, (80, SIZE)), columns=names)
    labels = (table.f0 + table.f1 > 4).to_numpy()
    table = table.mask(rng.random(table.shape) < 0.3)
    model = _model(kind, rng).fit(table, labels)
    features = [continuous(name, 0, 4, missing=True) for name in names]
    drawn = rng.uniform(0, 4, (20_000, SIZE))
    drawn[rng.random(drawn.shape) < 0.3] = np.nan
    passing = np.zeros(1)
    while not 500 < passing.sum() < len(drawn):
        rule = _rule(rng)
        passing = np.array([_passes(rule, point) for point in drawn])
    points = pd.DataFrame(drawn[passing], columns=names)
    row = points.iloc[0]
    inputs = Inputs(features).where(rule)
    problem = Problem(model, row, inputs=inputs, epsilon="inf")
    found = problem.explain()
    same = (points == row) | (points.isna() & row.isna())
    agree = same[[names[i] for i in found.explanation]].all(axis=1)
    changed = model.predict(points) != model.predict(row.to_frame().T)[0]
    assert not np.any(agree.to_numpy() & changed)
    # proofs hold at the ends of strict comparisons, too, where points may be that do not count
    strict = re.search("not|[<>] |!= [f0-9]", rule)
    assert strict or not found.unknown
    contrast = problem.contrastive()
    seen = [*found.counterfactuals.values()]
    seen += [] if contrast.counterfactual is None else [contrast.counterfactual]
    for one in seen:
        assert found.inputs is not None
        told = np.asarray(one.input).reshape(-1).astype(float)
        told = np.where(told > 4, np.nan, told)
        assert _passes(rule, told)
        other = pd.DataFrame([told], columns=names)
        assert model.predict(other)[0] != model.predict(row.to_frame().T)[0]
