"""Networks behind imputers and indicators: every answer is that of listing points, NaN too."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from milp_verix import Inputs, Problem, Search, integer
from tests.support.listed_points import ListedCase

pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)

WORDS = ("fixed", "none", "open")


def _numbers(rng: np.random.Generator, count: int) -> tuple[Any, list[str]]:
    """Return steps for columns of numbers, and the names of those that may be missing."""
    strategy = str(rng.choice(["mean", "median", "most_frequent", "constant"]))
    fill = float(rng.choice([-1.0, 0.5, 9.0])) if strategy == "constant" else None
    marked = bool(rng.integers(2))
    imputer = SimpleImputer(strategy=strategy, fill_value=fill, add_indicator=marked)
    scaler = [StandardScaler(), MinMaxScaler(), RobustScaler(), None][int(rng.integers(4))]
    steps = [step for step in (imputer, scaler) if step is not None]
    if rng.integers(3) == 0:
        steps = steps[::-1]
    whole: Any = make_pipeline(*steps)
    if rng.integers(4) == 0:
        whole = FeatureUnion([("numbers", whole), ("marks", MissingIndicator(features="all"))])
    return whole, [f"n{i}" for i in range(count)]


def _words(rng: np.random.Generator) -> Any:
    fills = [
        SimpleImputer(strategy="constant", fill_value="unknown"),
        SimpleImputer(strategy="constant", fill_value="missing"),
        SimpleImputer(strategy="most_frequent"),
        None,
    ]
    fill = fills[int(rng.integers(4))]
    if fill is not None and rng.integers(2):
        fill.set_params(add_indicator=True)
    if fill is not None and fill.add_indicator and rng.integers(2):
        # the encoder is given the words alone, the mark goes by
        encoder: Any = ColumnTransformer(
            [("w", OneHotEncoder(handle_unknown="ignore"), [0])], remainder="passthrough"
        )
    else:
        coded = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
        )
        encoder = [OneHotEncoder(handle_unknown="ignore"), coded][int(rng.integers(2))]
    found: Any = make_pipeline(*[step for step in (fill, encoder) if step is not None])
    if fill is None and rng.integers(2):
        marks = MissingIndicator(features="all")
        found = FeatureUnion([("words", found), ("marks", marks)])
    return found


def pipeline_of(rng: np.random.Generator) -> tuple[Pipeline, pd.DataFrame, list[str]]:
    """Return a fitted pipeline, its table, and the columns in which values may be missing."""
    count, values = int(rng.integers(1, 4)), int(rng.integers(2, 5))
    numbers, names = _numbers(rng, count)
    least = float(rng.choice([0.0, 0.0, -1.0, 1000.0]))
    table = pd.DataFrame(rng.integers(0, values, (80, count)) + least, columns=names)
    parts = [("numbers", numbers, names)]
    if count < 3 or rng.integers(2):
        table["word"] = rng.choice(WORDS, 80).astype(object)
        parts.append(("words", _words(rng), ["word"]))
    may = [name for name in table if rng.random() < 0.7] or ["n0"]
    for name in may:
        table[name] = table[name].mask(rng.random(80) < 0.25)
    state = int(rng.integers(1_000_000))
    model = [
        MLPClassifier((4,), max_iter=40, random_state=state),
        MLPClassifier((4, 3), max_iter=40, random_state=state),
        LogisticRegression(C=10.0),
        MLPRegressor(hidden_layer_sizes=(4,), max_iter=40, random_state=state),
        Ridge(),
        RandomForestClassifier(3, max_depth=3, random_state=state),
    ][int(rng.integers(6))]
    classes = int(rng.integers(2, 4))
    labels: Any = rng.integers(0, classes, 80)
    labels[:classes] = np.arange(classes)
    labels = np.where(table[may[0]].isna(), 0, labels)
    labels[:classes] = np.arange(classes)
    if hasattr(model, "predict_proba"):
        labels = np.array(["a", "b", "c"])[labels]
    steps = [("columns", ColumnTransformer(parts)), ("model", model)]
    if not isinstance(model, RandomForestClassifier) and rng.integers(3) == 0:
        steps.insert(1, ("components", TruncatedSVD(1)))
    return Pipeline(steps).fit(table, labels), table, may


@dataclass(frozen=True, eq=False)
class _Case(ListedCase):
    distance: NDArray[np.float64]


def _case(seed: int) -> _Case | None:
    """Return the case of ``seed``; None where some point is too near to a change to be listed."""
    rng = np.random.default_rng(seed)
    pipeline, table, may = pipeline_of(rng)
    row = table.iloc[int(rng.integers(len(table)))]
    inputs = Inputs.from_pipeline(pipeline, table, missing=may)
    features = [
        integer(one.name, one.lower, one.upper, missing=one.missing) if not one.values else one
        for one in inputs.features
    ]
    inputs = Inputs(features, class_names=inputs.class_names)
    axes: list[list[Any]] = []
    for feature in inputs.features:
        known: list[Any] = [word for word in feature.values if word != "missing"]
        known = known or [*np.arange(feature.lower, feature.upper + 1)]
        axes.append([*known, *[np.nan] * (feature.name in may)])
    points = pd.DataFrame([*product(*axes)], columns=[*inputs.names])
    for name in points:
        points[name] = points[name].astype(table[name].dtype)
    x = pd.DataFrame([row])[[*inputs.names]].astype(points.dtypes)
    same = np.array(
        [
            [a == b or (pd.isna(a) and pd.isna(b)) for a, b in zip(p, x.iloc[0], strict=True)]
            for p in points.itertuples(index=False)
        ]
    )
    asked: dict[str, Any] = {"inputs": inputs, "epsilon": "inf"}
    if hasattr(pipeline, "classes_"):
        scores = pipeline.predict_proba(points)
        ranked = np.sort(scores, axis=1)
        near = ranked[:, -1] - ranked[:, -2] < 1e-5
        changed = pipeline.predict(points) != pipeline.predict(x)[0]
    else:
        values = pipeline.predict(points) - pipeline.predict(x)[0]
        asked["delta"] = 0.6 * float(np.abs(values).max()) + 1e-3
        near = np.abs(np.abs(values) - asked["delta"]) < 1e-5
        changed = np.abs(values) > asked["delta"]
    if near.any():
        return None
    distance = np.zeros(len(points))
    for feature, name in zip(inputs.features, points, strict=True):
        moved = ~same[:, inputs.names.index(name)]
        if feature.name == "word" or feature.values:
            distance += moved
        else:
            reach = feature.upper - feature.lower or 1.0
            far = np.abs(points[name] - x[name].iloc[0]).to_numpy() / reach
            distance += np.where(moved, np.where(np.isnan(far), 1.0, far), 0.0)
    return _Case(Problem(pipeline, row, **asked), changed, ~same, distance)


def ask(seed: int) -> bool:
    """Compare all questions with the list of points; return whether there was a case."""
    case = _case(seed)
    if case is None:
        return False
    problem, size = case.problem, case.moved.shape[1]
    case.assert_sizes()
    nearest = problem.contrastive(minimise="distance")
    assert nearest.proven
    if case.fewest is None:
        assert nearest.distance is None
    else:
        assert nearest.distance == pytest.approx(case.distance[case.changed].min(), rel=1e-3)
    every = problem.enumerate()
    assert every.complete
    assert {*every.abductive} == case.explanations
    assert problem.relevance(0).relevant == any(0 in one for one in case.explanations)
    rng = np.random.default_rng(seed)
    free = np.flatnonzero(rng.random(size) < 0.6).tolist()
    verdict = problem.check(free, search=Search(solver="highs"))
    assert verdict.holds == case.suffices({*range(size)} - {*free})
    return True


@pytest.mark.parametrize("number", [2, 15, 27])
def test_all_questions(number: int) -> None:
    assert ask(number)


@pytest.mark.slow
def test_all_questions_of_more_pipelines(imputed_seed: int) -> None:
    ask(imputed_seed)
