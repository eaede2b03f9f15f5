"""Models of extreme sizes, and the questions that have a time limit."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import milp_verix
from milp_verix import Feature, continuous, integer
from milp_verix.base.clock import resident
from milp_verix.base.errors import MilpVerixError

LIMIT = 1.0
"""Seconds that each question gets."""


@dataclass(frozen=True)
class Case:
    """A model, an input of it, rows of its table, and what all its questions are asked with."""

    model: Any
    x: Any
    rows: Any
    asked: dict[str, Any] = field(default_factory=dict)


def layered(*sizes: int, alike: float = 1.0, seed: int = 0) -> Any:
    """Return a network of ReLUs; its class scores differ by a share ``alike`` of their size."""
    rng, nodes, weights, read = np.random.default_rng(seed), [], [], "x"
    for number, (before, size) in enumerate(pairwise(sizes)):
        weight = rng.normal(size=(size, before)) * (2 / before) ** 0.5
        last = number == len(sizes) - 2
        if last:
            weight = weight[:1] + alike * (weight - weight[:1])
        weights.append(numpy_helper.from_array(weight.astype(np.float32), f"w{number}"))
        nodes.append(helper.make_node("Gemm", [read, f"w{number}"], [f"z{number}"], transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [f"z{number}"], [f"r{number}"]))
        read = f"r{number}"
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size])
        for name, size in (("x", sizes[0]), (f"z{len(sizes) - 2}", sizes[-1]))
    ]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], weights)
    opset = [helper.make_opsetid("", 17)]
    return milp_verix.load_network(helper.make_model(graph, opset_imports=opset, ir_version=8))


def of_network(*sizes: int, rows: int = 50, alike: float = 1.0, **asked: Any) -> Case:
    """Return the case of a network of layers of these ``sizes``."""
    table = np.random.default_rng(1).random((rows, sizes[0])).astype(np.float32)
    asked = {"epsilon": 0.02, "domain": (0, 1), **asked}
    return Case(layered(*sizes, alike=alike), table[0], table, asked)


def of_trees(features: int = 30, rows: int = 400, **settings: Any) -> Case:
    """Return the case of boosted trees of LightGBM."""
    import lightgbm

    table = np.random.default_rng(1).random((rows, features))
    label = (table[:, 0] + table[:, 1] + 0.3 * np.random.default_rng(2).normal(size=rows)) > 1
    usual = {"min_child_samples": 1, "verbose": -1, "n_jobs": 1, "deterministic": True}
    fitted = lightgbm.LGBMClassifier(**{**usual, **settings}).fit(table, label.astype(int))
    asked = {"epsilon": 0.02, "domain": (0, 1)}
    return Case(milp_verix.load_network(fitted), table[0], table[:50], asked)


def of_description(
    features: Sequence[Feature], epsilon: float | str, rules: Sequence[str] = (), *, trees: int = 0
) -> Case:
    """Return the case of a network, or of trees, whose inputs are described.

    Rows rise from feature to feature, or have random words.
    """
    inputs = milp_verix.Inputs(features, rules=list(rules))
    rng = np.random.default_rng(1)
    if any(one.values for one in features):
        drawn = [(rng.integers(0, one.width, 400), np.arange(one.width)) for one in features]
        rows = np.hstack([at[:, None] == places for at, places in drawn]).astype(float)
    else:
        rows = np.sort(rng.random((400, len(features))), axis=1) * [one.top for one in features]
        rows = np.where([one.whole for one in features], np.rint(rows), rows)
    if trees:
        import lightgbm

        usual = {"num_leaves": 31, "verbose": -1, "n_jobs": 1, "deterministic": True}
        fitted = lightgbm.LGBMClassifier(n_estimators=trees, min_child_samples=1, **usual)
        model = milp_verix.load_network(fitted.fit(rows, rng.random(400) < 0.5))
    else:
        model = layered(inputs.size, 30, 5)
    return Case(model, rows[0], rows[:50], {"epsilon": epsilon, "inputs": inputs})


def of_columns(columns: int, trees: int = 0) -> Case:
    """Return the case of a linear model, or of a forest, of so many columns: not yet read."""
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import RidgeClassifier

    table = np.random.default_rng(1).random((100, columns))
    model = ExtraTreesClassifier(trees, random_state=0) if trees else RidgeClassifier()
    model.fit(table, table[:, 0] > 0.5)
    return Case(model, table[0], table[:50], {"epsilon": 0.02, "domain": (0, 1)})


def of_missing(columns: int) -> Case:
    """Return the case of a linear model of a table, each of whose columns may be missing."""
    import pandas as pd
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((200, columns))).add_prefix("c")
    label = table["c0"] + table["c1"] > 1
    table = table.mask(rng.random(table.shape) < 0.1)
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())
    model.fit(table, label)
    inputs = milp_verix.Inputs.from_pipeline(model, table, missing=[*table.columns])
    return Case(model, table.iloc[0], table.iloc[:50], {"epsilon": "20%", "inputs": inputs})


def of_words(columns: int) -> Case:
    """Return the case of a pipeline of trees behind so many columns of words."""
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    chosen = np.random.default_rng(0).choice(["a", "b", "c"], (300, columns))
    table = pd.DataFrame(chosen).add_prefix("c")
    model = make_pipeline(OneHotEncoder(), RandomForestClassifier(30, random_state=0))
    model.fit(table, table["c0"] == "a")
    inputs = milp_verix.Inputs.from_pipeline(model, table)
    model = milp_verix.load_network(model)
    return Case(model, table.iloc[0], table.iloc[:50], {"epsilon": "inf", "inputs": inputs})


def numbers(count: int, kind: Callable[..., Feature], top: float) -> list[Feature]:
    """Return so many features from 0 to ``top``, called f0, f1 and so on."""
    return [kind(f"f{number}", 0, top) for number in range(count)]


def words(count: int, values: int) -> list[Feature]:
    """Return so many one-hot blocks of ``values`` coordinates each."""
    known = [f"v{number}" for number in range(values)]
    return [milp_verix.category(f"f{number}", known, one_hot=True) for number in range(count)]


def rising(count: int) -> list[str]:
    """Return the rules that say that so many features rise from one to the next."""
    return [f"f{number} <= f{number + 1}" for number in range(count - 1)]


SIZES: dict[str, Callable[[], Case]] = {
    "features": lambda: of_network(20_000, 30, 5),
    "classes": lambda: of_network(50, 30, 2000),
    "trees": lambda: of_trees(n_estimators=5000, num_leaves=4),
    "depth": lambda: of_trees(rows=20_000, n_estimators=4, num_leaves=5000, max_depth=-1),
    "columns of trees": lambda: of_columns(20_000, trees=30),
    "layers": lambda: of_network(20, *[20] * 200, 5),
    "many layers": lambda: of_network(10, *[10] * 1500, 3),
    "groups": lambda: of_network(12_000, 30, 5, features=np.arange(12_000) // 2),
    "rows": lambda: of_network(30, 30, 5, rows=200_000),
    "rivals": lambda: of_network(200, 100, 100, 1000, alike=1e-3),
    "columns": lambda: of_columns(20_000),
    "columns of words": lambda: of_words(1500),
    "missing": lambda: of_missing(2500),
    "described": lambda: of_description(numbers(300, continuous, 1), "20%"),
    "many described": lambda: of_description(numbers(20_000, continuous, 1), "10%"),
    "whole numbers": lambda: of_description(numbers(5000, integer, 10**6), "inf"),
    "blocks": lambda: of_description(words(300, 20), "inf"),
    "one wide block": lambda: of_description(words(2, 5000), "inf"),
    "one column of words": lambda: of_description(words(1, 20_000), "inf"),
    "rules": lambda: of_description(numbers(300, continuous, 1), "20%", rising(300)),
    "whole rules": lambda: of_description(numbers(300, integer, 100), 20, rising(300)),
    "many rules": lambda: of_description(numbers(2000, continuous, 1), "20%", rising(2000)),
    "described trees": lambda: of_description(numbers(2000, integer, 100), "inf", trees=300),
    "ruled trees": lambda: of_description(
        numbers(300, integer, 100), "inf", rising(300), trees=300
    ),
}
"""The sizes, each of them far beyond what tests of answers use; many of them are described."""

QUESTIONS: dict[str, Callable[..., Any]] = {
    "check": lambda c, **o: milp_verix.check(c.model, c.x, [0, 1], **o),
    "explain": lambda c, **o: milp_verix.explain(c.model, c.x, **o),
    "radii": lambda c, **o: milp_verix.explain(
        c.model, c.x, epsilon=np.full(c.x.size, 0.02), **without(o, "epsilon")
    ),
    "compare": lambda c, **o: milp_verix.compare(c.model, c.x, solvers=["phase", "highs"], **o),
    "influence": lambda c, **o: milp_verix.explain(c.model, c.x, order="influence", **o),
    "minimum": lambda c, **o: milp_verix.minimum(c.model, c.x, **o),
    "contrastive": lambda c, **o: milp_verix.contrastive(c.model, c.x, **o),
    "nearest": lambda c, **o: milp_verix.contrastive(c.model, c.x, minimise="distance", **o),
    "enumerate": lambda c, **o: milp_verix.enumerate_explanations(c.model, c.x, **o),
    "importance": lambda c, **o: milp_verix.importance(c.model, c.x, **o),
    "relevance": lambda c, **o: milp_verix.relevance(c.model, c.x, 0, **o),
    "audit": lambda c, **o: milp_verix.audit(c.model, c.x, [0, 1], minimum=True, **o),
    "inflate": lambda c, **o: milp_verix.inflate(c.model, c.x, **o),
    "inflate rows": lambda c, **o: milp_verix.inflate(c.model, c.x, rows=c.rows, **o),
    "sweep": lambda c, **o: milp_verix.epsilon_sweep(
        c.model, c.x, epsilons=(0.01, 0.02), **without(o, "epsilon")
    ),
    "long sweep": lambda c, **o: milp_verix.epsilon_sweep(
        c.model, c.x, epsilons=np.linspace(0.001, 0.02, 30), **without(o, "epsilon")
    ),
    "radius": lambda c, **o: milp_verix.robustness_radius(c.model, c.x, **without(o, "epsilon")),
    "each radius": lambda c, **o: milp_verix.robustness_radius(
        c.model, c.x, each=True, **without(o, "epsilon")
    ),
    "radius in l2": lambda c, **o: milp_verix.robustness_radius(
        c.model, c.x, norm="l2", **without(o, "epsilon")
    ),
    "rules": lambda c, **o: milp_verix.find_rules(c.model, c.rows, **o),
}
"""The questions that have a time limit."""


def without(options: dict[str, Any], name: str) -> dict[str, Any]:
    """Return ``options`` without one of them."""
    return {key: value for key, value in options.items() if key != name}


def seconds_of(case: Case, question: str, **more: Any) -> float:
    """Return the seconds that a question takes; a refusal in words is an answer, too.

    ``more`` are further options. Seconds are those of the processor where these are fewer: a busy
    machine lets a question wait.
    """
    wall, own = time.perf_counter(), time.process_time()
    try:
        QUESTIONS[question](case, time_limit=LIMIT, **case.asked, **more)
    except MilpVerixError as error:
        assert error.args  # noqa: PT017 (any refusal will do)
    return min(time.perf_counter() - wall, time.process_time() - own)


def excess_of(case: Case, question: str, more: int) -> int:
    """Return the bytes held beyond a limit of memory, ``more`` than are held now; 0 if none are."""
    limit = resident() + more
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    seconds_of(case, question, memory=limit)
    held = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert held is not None
    return max(int(held[1]) * 1024 - limit, 0)
