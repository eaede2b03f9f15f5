"""Tables in one order, models fitted on them, and descriptions of them in another order.

Claims are put to the model's own ``predict``, on rows of the table as it was fitted.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from milp_verix import Inputs

ROWS = 200
TOWNS = ["Aachen", "Bonn", "New Rome"]


@dataclass(frozen=True, eq=False)
class NamedCase:
    """A ``model`` fitted on ``table``, and descriptions of its columns.

    ``values`` are the columns before words were made dummies, ``to_table`` makes the table of such
    rows. ``plain`` describes the columns in the model's order, ``inputs`` in another one; ``row``
    is a row of ``values``.
    """

    model: Any
    values: pd.DataFrame
    table: pd.DataFrame
    to_table: Callable[[pd.DataFrame], pd.DataFrame]
    plain: Inputs
    inputs: Inputs
    row: pd.Series

    def predicted(self, rows: pd.DataFrame) -> Any:
        """Return what the model predicts for rows of ``values``."""
        return self.model.predict(self.to_table(rows)[list(self.table.columns)])

    @property
    def kept(self) -> Any:
        """What the model predicts for the row."""
        return self.predicted(self.values.loc[[self.row.name]])[0]

    def with_row(self, names: Iterable[str]) -> pd.DataFrame:
        """Return all rows with the row's own values in the columns ``names``."""
        return self.values.assign(**{name: self.row[name] for name in names})

    def point(self, described: Inputs, x: Any) -> pd.DataFrame:
        """Return a row of ``values`` with the numbers ``x`` of the model, as ``described``."""
        flat, row = np.asarray(x).reshape(-1), {}
        for feature, group in zip(described.features, described.groups, strict=True):
            value = flat[group]
            if feature.one_hot:
                row[feature.name] = feature.values[int(np.argmax(value))]
            elif feature.values and self.values[feature.name].dtype.kind not in "biuf":
                row[feature.name] = feature.values[feature.codes.index(int(value[0]))]
            else:
                row[feature.name] = float(value[0])
        frame = pd.DataFrame([row])[list(self.values.columns)]
        known = {name: kind for name, kind in self.values.dtypes.items() if kind.kind not in "biuf"}
        return frame.astype(known)


def numbers(rng: np.random.Generator, names: list[str]) -> pd.DataFrame:
    """Return a table of whole, real and truth values, and words of two columns."""
    columns: dict[str, Any] = {
        names[0]: rng.integers(18, 80, ROWS),
        names[1]: np.round(rng.normal(0, 2, ROWS), 2),
        names[2]: rng.random(ROWS) < 0.4,
        names[3]: rng.integers(0, 6, ROWS),
    }
    return pd.DataFrame(columns)


def words(rng: np.random.Generator, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with two columns of words between its columns."""
    frame = frame.copy()
    frame.insert(1, "town", rng.choice(TOWNS, ROWS))
    frame.insert(3, "sex", rng.choice(["f", "m"], ROWS))
    return frame


def target(rng: np.random.Generator, frame: pd.DataFrame) -> Any:
    """Return the class of each row, which most columns decide with different weights."""
    total = np.zeros(ROWS)
    for name in frame.columns:
        column = frame[name]
        codes = column.astype("category").cat.codes if column.dtype.kind not in "biuf" else column
        numbers = codes.to_numpy(np.float64)
        total += rng.choice([-2.0, -0.5, 0.5, 2.0]) * (numbers - numbers.mean()) / numbers.std()
    return (total > 0).astype(int)


def shuffled(rng: np.random.Generator, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with its columns in another order."""
    while True:
        names = list(rng.permutation(frame.columns))
        if names != list(frame.columns):
            return frame[names]


def estimator(kind: str) -> Any:
    """Return an estimator that is not fitted; skip the test if its library is missing."""
    modules = {"lightgbm": "lightgbm", "xgboost": "xgboost", "network": "skl2onnx"}
    library = pytest.importorskip(modules.get(kind, "sklearn"), reason="it is not installed")
    if kind == "lightgbm":
        return library.LGBMClassifier(n_estimators=6, num_leaves=5, verbose=-1, n_jobs=1)
    if kind == "xgboost":
        return library.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1)
    from sklearn.ensemble import (
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    made = {
        "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
        "forest": RandomForestClassifier(5, max_depth=4, random_state=0),
        "boosting": GradientBoostingClassifier(n_estimators=5, random_state=0),
        "histogram": HistGradientBoostingClassifier(max_iter=5, random_state=0),
        "linear": LogisticRegression(max_iter=2000),
        "network": make_pipeline(
            StandardScaler(), MLPClassifier((4,), max_iter=200, random_state=0)
        ),
        "searched": GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [4]}, cv=2),
    }
    return made[kind]


KINDS = (
    *("tree", "forest", "boosting", "histogram", "linear"),
    *("lightgbm", "xgboost", "network", "searched"),
)
"""The estimators."""

FORMS = ("numbers", "words", "dummies", "pipeline")
"""Numbers; dummies that a table of words describes, or one of dummies; a pipeline of words."""


def named_case(kind: str, form: str, seed: int) -> NamedCase:
    """Return a model fitted on columns in a random order, and a description in another one."""
    rng = np.random.default_rng([seed, FORMS.index(form)])
    values = numbers(rng, ["age", "net income", "член", "a_b"])
    if form == "numbers":
        values = shuffled(rng, values)
        model = estimator(kind).fit(values, target(rng, values))
        plain, inputs = Inputs.from_frame(values), Inputs.from_frame(shuffled(rng, values))
        return NamedCase(model, values, values, lambda rows: rows, plain, inputs, _row(rng, values))
    values = words(rng, values)
    if form == "pipeline":
        return _pipeline(kind, rng, shuffled(rng, values))
    blocks = ["town", "sex"]
    table = shuffled(rng, pd.get_dummies(values, columns=blocks))

    def to_table(rows: pd.DataFrame) -> pd.DataFrame:
        made = pd.get_dummies(rows, columns=blocks)
        return made.reindex(columns=[*table.columns], fill_value=False)

    model = estimator(kind).fit(table, target(rng, values))
    given = shuffled(rng, values if form == "words" else table)
    plain, inputs = (Inputs.from_frame(one, one_hot=blocks) for one in (table, given))
    return NamedCase(model, values, table, to_table, plain, inputs, _row(rng, values))


def _pipeline(kind: str, rng: np.random.Generator, values: pd.DataFrame) -> NamedCase:
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    encoded = make_column_transformer(
        (OneHotEncoder(), ["town", "sex"]), remainder="passthrough", sparse_threshold=0
    )
    model = make_pipeline(encoded, estimator(kind)).fit(values, target(rng, values))
    plain = Inputs.from_pipeline(model, values)
    inputs = Inputs.from_frame(shuffled(rng, values), one_hot=["town"])
    return NamedCase(model, values, values, lambda rows: rows, plain, inputs, _row(rng, values))


def _row(rng: np.random.Generator, values: pd.DataFrame) -> pd.Series:
    return values.iloc[int(rng.integers(ROWS))]
