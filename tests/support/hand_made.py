"""Certificates made by hand, of each kind of claim, and the files that they are about."""

import hashlib
import json
from typing import Any

import numpy as np

from tests.support.onnx_models import FLOAT, build, node

THIRD = [["1/3", "1/3"]]


def about(model: bytes, claim: dict[str, Any], **proof: Any) -> tuple[bytes, dict[str, Any]]:
    """Return a model, and a certificate about it of the class 0 in [0, 1]."""
    asked: dict[str, Any] = {
        "sha256": hashlib.sha256(model).hexdigest(),
        "epsilon": 1,
        "norm": "linf",
        "domain": [0, 1],
        "irrelevant": [],
        "class": 0,
        "minimal": False,
        "bits": 8,
        **claim,
    }
    count = len(asked["input"])
    asked.setdefault("features", [[i] for i in range(count)])
    return model, {"claim": asked, "trees": [{}], "points": {}, **proof}


def trees(inputs: int, *nodes: Any, **other: Any) -> bytes:
    """Return a file of trees with one score, -1/2 without them, and a tie at zero for class 0."""
    file = {"inputs": inputs, "base": ["-1/2"], "rounding": [0], "ties": "lower", "trees": nodes}
    return json.dumps({**file, **other}).encode()


def step(place: int, at: Any = "1/2", score: str = "0") -> list[Any]:
    """Return a tree that adds 1 to a score where an input is above a number."""
    return [[place, at, 1, 2], {}, {score: 1}]


def explained() -> tuple[bytes, dict[str, Any]]:
    """Return an explanation by three of four features, its minimum, relevance and importance.

    The class is 1 where one of the first three inputs is above 1/2.
    """
    changes = [{"0": 1}, {"1": 1}, {"2": 1}, {"0": 1, "1": 1}]
    kept = [{"features": [0, 1, 2], "trees": [{}]}]
    last = {"feature": 2, "out": {"change": 2}, "in": {"kept": 0}}
    middle = {"feature": 1, "out": {"change": 1}, "in": last}
    claim = {
        "source": "by hand",
        "input": [0, 0, 0, 0],
        "irrelevant": [3],
        "minimal": True,
        "minimum": {"bound": 6, "costs": [1, 2, 3, 4]},
        "no_part": [3],
        "importance": {"shapley": [*THIRD * 3, [0, 0]]},
    }
    return about(
        trees(4, step(0), step(1), step(2)),
        claim,
        starts=["...+"],
        points={"0": {"start": 0, "0": "+"}, "1": {"1": 1}, "2": {"2": 1}},
        minimum={"changes": changes, "tree": {"weights": {"0": 1, "1": 2, "2": 3}}},
        no_part={
            "changes": changes,
            "kept": kept,
            "tree": {"feature": 0, "out": {"change": 0}, "in": middle},
        },
        importance={"changes": changes, "kept": kept},
    )


def endless() -> tuple[bytes, dict[str, Any]]:
    """Return an explanation without features: inputs may move without end, and nothing changes."""
    claim = {"source": "by hand", "input": [0, 0], "irrelevant": [0, 1], "class": 1}
    claim |= {"epsilon": [None, None], "domain": [None, None]}
    return about(trees(2, [[0, "1/2", 1, 2], {"0": 1}, {"0": 1}]), claim)


def ruled() -> tuple[bytes, dict[str, Any]]:
    """Return an explanation by one of two whole numbers, which have a rule, beside a block.

    The class is 1 where the first one is above 3/2, or the third one is.
    """
    rule = [{"factors": {"0": 1, "1": 1}, "limit": 2, "strict": False}]
    claim = {
        "source": "by hand",
        "input": [0, 1, 0, 1],
        "epsilon": [2, 2, None, None],
        "domain": [[0, 0, -2, -2], [3, 3, 2, 2]],
        "whole": [0, 1, 2, 3],
        "blocks": [[2, 3]],
        "rules": [rule],
        "features": [[0], [1], [2, 3]],
        "irrelevant": [1, 2],
        "minimal": True,
    }
    return about(trees(4, step(0, "3/2"), step(2, "3/2")), claim, points={"0": {"0": 2, "1": 0}})


def valued() -> tuple[bytes, dict[str, Any]]:
    """Return an explanation of two values: the second input adds 1/4 to both, the first one 1."""
    small = [[1, "1/2", 1, 2], {}, {"0": "1/4", "1": "1/4"}]
    model = trees(2, step(0), small, base=[0, 0], rounding=[0, 0], ties=None)
    claim = {"source": "by hand", "input": [0, 0], "irrelevant": [1], "delta": "1/4"}
    claim |= {"outputs": [0, 1], "minimal": True}
    made, proof = about(model, claim, trees=[{}] * 4, points={"0": {"0": 1}})
    del proof["claim"]["class"]
    return made, proof


def tied() -> tuple[bytes, dict[str, Any]]:
    """Return an explanation of the first of three classes, which may tie with the second one."""
    model = trees(2, step(0, score="1"), step(1, score="2"), base=[1, 0, 0], rounding=[0] * 3)
    file = json.loads(model) | {"ties": "first"}
    claim = {"source": "by hand", "input": [0, 0], "irrelevant": [0, 1]}
    return about(json.dumps(file).encode(), claim, trees=[{}, {}])


def constant() -> tuple[bytes, dict[str, Any]]:
    """Return an explanation of class 1 by trees whose score stays above zero."""
    model = trees(2, step(0), base=[5])
    return about(model, {"source": "by hand", "input": [0, 0], "irrelevant": [0, 1], "class": 1})


def network(limit: float = 1.25) -> tuple[bytes, dict[str, Any]]:
    """Return an explanation without features of a network of two neurons, which are both split.

    The rival's score is max(x0 + x1 - 1, 0) + max(x0 - x1, 0), and at most 1; that of the class is
    ``limit``. No explanation costs less than 0.
    """
    nodes = [
        node("Gemm", ["x", "A", "a"], ["z"]),
        node("Relu", ["z"], ["r"]),
        node("Gemm", ["r", "B", "b"], ["y"]),
    ]
    constants: dict[str, Any] = {
        "A": np.array([[1.0, 1.0], [1.0, -1.0]]),
        "a": np.array([-1.0, 0.0]),
        "B": np.array([[0.0, 1.0], [0.0, 1.0]]),
        "b": np.array([limit, 0.0]),
    }
    model = build(nodes, inputs={"x": [1, 2]}, constants=constants, elem=FLOAT)
    leaf = {"slopes": {"1": "1/2"}, "multipliers": {"0": 0}}
    bare: dict[str, Any] = {"slopes": {}, "multipliers": {}}
    above = {"neuron": 1, "below": bare, "above": bare}
    claim = {"output": "y", "input": ["1/2", "1/2"], "epsilon": "1/2", "irrelevant": [0, 1]}
    return about(
        model.SerializeToString(),
        claim | {"bits": 32},
        trees=[{"neuron": 0, "below": leaf, "above": above}],
    )


def bent(limit: float = 2.5) -> tuple[bytes, dict[str, Any]]:
    """Return an explanation without features of a network of one input between -1 and 1.

    The rival's score is 3 x - max(x, 0) - ``limit``, that of the class 0.
    """
    nodes = [
        node("Relu", ["x"], ["r"]),
        node("Concat", ["x", "r"], ["both"], axis=1),
        node("Gemm", ["both", "B", "b"], ["y"]),
    ]
    factors = {"B": np.array([[0.0, 3.0], [0.0, -1.0]]), "b": np.array([0.0, -limit])}
    model = build(nodes, inputs={"x": [1, 1]}, constants=factors, elem=FLOAT)
    claim = {"output": "y", "input": [0], "irrelevant": [0], "domain": [-1, 1], "bits": 32}
    leaf = {"slopes": {"0": 1}, "multipliers": {}}
    return about(model.SerializeToString(), claim, trees=[leaf])


def scenario() -> tuple[bytes, dict[str, Any]]:
    """Return the lower bound 2 for a network that changes where the sum is below 3/2, from 2 on."""
    constants = {"A": np.array([[0.0, -1.0], [0.0, -1.0]]), "b": np.array([0.0, 1.5])}
    nodes = [node("Gemm", ["x", "A", "b"], ["y"])]
    model = build(nodes, inputs={"x": [1, 2]}, constants=constants, elem=FLOAT)
    leaf = {"weights": {"0": 1}, "slopes": {}, "multipliers": {}}
    claim = {"output": "y", "input": [1, 1], "bits": 32, "minimum": {"bound": 2}}
    return about(
        model.SerializeToString(),
        claim,
        trees=[{"slopes": {}, "multipliers": {}}],
        minimum={"step": -1, "scenarios": [[1, 1]], "tree": leaf},
    )
