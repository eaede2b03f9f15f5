"""Odd arguments of each public call: names, numbers, shapes, dtypes."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import milp_verix as mv
from tests.fuzz.trials import LIMIT, Try
from tests.support.onnx_models import build, node, weights

NAMES = ("age", "net pay", "debt")
Calls = list[tuple[Callable[..., Any], dict[str, Any]]]
"""Public calls, each with arguments that are right."""

MORE: dict[Callable[..., Any], tuple[str, ...]] = {
    mv.explain: ("norm", "features", "solver", "order", "feature_names", "threads", "delta"),
    mv.inflate: ("within", "resolution", "solver"),
    mv.minimum: ("method", "norm", "solver"),
    mv.contrastive: ("costs", "norm"),
    mv.robustness_radius: ("scale", "largest", "tolerance", "free", "norm"),
}
"""Arguments that are changed, and have no value of their own here."""


def _values(row: Any) -> list[Any]:
    """Return arguments that fit somewhere, and some that fit nowhere."""
    numbers: list[Any] = [None, True, -1, 0, 1, 2, 3, 10**30, 0.5, -0.0, 1e308, 1e-320, 1e200]
    numbers += [np.nan, np.inf, -np.inf, 1j, np.float32(0.1), np.int64(2), np.bool_(1)]
    numbers += ["", "x", "inf", "10%", "0.5sd", "8/255", "1e999", "age", "\x1b[31m", "auto", b"\0"]
    lists: list[Any] = [[], [0], [[1], [2, 3]], [1, 2, 3], ["age"], ["age", "age"], ["x", None], ()]
    lists += [{}, {"age": 1}, {"agee": 1}, {"age": "x", "*": 0}, {0: 1}, {"*": np.inf}, {1, 2}]
    lists += [{"age": {}}, range(3), iter([1, 2]), object(), len, Path("none.npy"), slice(3)]
    shapes = [(0,), (3,), (1, 3), (3, 1), (2, 3), (1, 1, 3), ()]
    arrays: list[Any] = [np.ones(shape) for shape in shapes]
    arrays += [np.array([1, 0, 1], dtype=kind) for kind in ("i1", "u8", "f2", "c8", "O", "U3", "?")]
    arrays += [np.array([np.nan, 0, 1]), np.array([1e300, 0, 1]), np.array(["a", None, 1], object)]
    arrays += [
        np.array(["2020-01-01"] * 3, dtype="M8[D]"),
        np.ma.masked_array([1, 2, 3], [1, 0, 0]),
    ]
    frames = [
        row,
        row[::-1],
        row.to_dict(),
        row.to_frame().T,
        row.drop("age"),
        pd.Series([1, 2, 3]),
    ]
    frames += [row.rename({"age": "AGE"}), pd.DataFrame(), pd.Series([1, 2], index=["age", "age"])]
    frames += [row.to_frame().T.assign(id=7), row.astype(str), row.where(row > row.min())]
    return [*numbers, *lists, *arrays, *frames]


def models() -> tuple[tuple[Any, Any, Any], pd.DataFrame]:
    """Return a forest, a linear model and a network, and the table that two were fitted on."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 9, (120, 3)).astype(float), columns=list(NAMES))
    labels = (frame["age"] + frame["debt"] > frame["net pay"] + 4).to_numpy()
    forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(frame, labels)
    linear = LogisticRegression().fit(frame, labels)
    nodes = [node("Gemm", ["x", "A"], ["h"]), node("Relu", ["h"], ["r"])]
    constants = {"A": weights(3, 6), "B": weights(6, 2, seed=1)}
    dense = build(
        [*nodes, node("Gemm", ["r", "B"], ["y"])], inputs={"x": (1, 3)}, constants=constants
    )
    return (forest, linear, dense), frame


def _calls() -> tuple[Calls, Any]:
    """Return the questions and the makers of descriptions, and a row of the table."""
    (forest, linear, dense), frame = models()
    row, described = frame.iloc[3], mv.Inputs([mv.integer(name, 0, 8) for name in NAMES])
    found: Calls = []
    ball = {"epsilon": 2, "domain": (0, 8), "time_limit": LIMIT}
    table = {"epsilon": "inf", "inputs": described, "time_limit": LIMIT}
    for model in (forest, linear, dense):
        for asked in (ball, table) if model is not dense else (ball,):
            base = {"network": model, "x": row if model is not dense else row.to_numpy(), **asked}
            found += [
                (mv.explain, {**base, "order": "influence", "label": None, "against": None}),
                (mv.check, {**base, "free": [0, 1]}),
                (mv.minimum, {**base, "costs": [1, 2, 3], "must": [], "must_not": []}),
                (mv.contrastive, {**base, "minimise": "features", "must_not": [], "count": 1}),
                (mv.inflate, {**base, "rows": frame}),
                (mv.importance, {**base, "index": "shapley", "beside": None}),
                (mv.relevance, {**base, "feature": 1}),
                (mv.audit, {**base, "explanation": [0, 1]}),
                (mv.enumerate_explanations, {**base, "label": None}),
                (mv.epsilon_sweep, {**_without(base, "epsilon"), "epsilons": [1, 2]}),
                (mv.robustness_radius, {**_without(base, "epsilon"), "each": True}),
                (mv.find_rules, {**_without(base, "x"), "rows": frame.iloc[:8]}),
            ]
    found.append((mv.Inputs.from_frame, {"frame": frame, "units": {"age": "a"}, "ranges": {}}))
    found.append((mv.category, {"name": "w", "values": ["a", "b"], "missing": False}))
    found.append((mv.continuous, {"name": "w", "lower": 0, "upper": 1, "unit": None}))
    return found, row


def _without(given: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key != name}


def trials() -> Try:
    """Return what makes a try of odd arguments of a question from a seed."""
    return tries_of(*_calls(), MORE)


def tries_of(calls: Calls, row: Any, more: Mapping[Callable[..., Any], tuple[str, ...]]) -> Try:
    """Return what makes a try of odd arguments of one of ``calls``; ``more`` can be changed."""
    for function, arguments in calls:  # modules are loaded before the children are made
        function(**arguments)

    def made(seed: int) -> Callable[[], object]:
        draw = random.Random(seed)
        function, arguments = draw.choice(calls)
        values = _values(row)
        known = {*_without(arguments, "time_limit"), *more.get(function, ())}
        names = draw.sample(sorted(known), draw.choice((1, 1, 2)))
        changed = {name: draw.choice(values) for name in names}
        return lambda: function(**{**arguments, **changed})

    return made
