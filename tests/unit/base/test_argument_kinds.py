"""Every argument of every public function, with wrong values: a refusal, and never a traceback."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import milp_verix
from milp_verix import InputError, MilpVerixError
from milp_verix.base.arguments import FEATURE, NUMBER, accepted, checked
from tests.support.onnx_models import FLOAT, build, node

X = np.array([0.5, 0.25], dtype=np.float32)
OWN: list[Any] = []
OWN.append(OWN)
WRONG: dict[str, Any] = {
    "none": None,
    "true": True,
    "zero": 0,
    "whole number": 10**400,
    "float": 1.0,
    "nan": float("nan"),
    "largest": 1e308,
    "complex": 1j,
    "negative": -1,
    "text": "x",
    "no path": "a\0b",
    "half of a pair": "\ud800",
    "number as text": "1",
    "bytes": b"\x00",
    "nested": [[]],
    "ragged": [[1], [1, 2]],
    "mixed": [1, "a", None],
    "huge in a list": [10**400],
    "pair": (1, 0),
    "set": {1},
    "mapping": {"a": [1]},
    "array of nothing": np.array(None),
    "number as array": np.array(0.5),
    "flags": np.array([True, False]),
    "texts": np.array(["a", "b"]),
    "object": object(),
    "class": int,
    "itself": OWN,
}
FUNCTIONS = {
    name: function
    for name in milp_verix.__all__
    if inspect.isfunction(function := getattr(milp_verix, name))
}
TAKING: dict[str, Callable[..., Any]] = {
    **FUNCTIONS,
    "Problem": milp_verix.Problem,
    "Search": milp_verix.Search,
    "SearchLimits": milp_verix.SearchLimits,
    "Tolerances": milp_verix.Tolerances,
    "Inputs": milp_verix.Inputs,
    "from_frame": milp_verix.Inputs.from_frame,
    "from_json": milp_verix.Explanation.from_json,
    "to_json": milp_verix.Explanation.to_json,
}
CALLED = {"build", "progress", "snapshots", "warn", "bounds"}
"""Functions of the caller, whose failures are the caller's."""


def network() -> milp_verix.OnnxNetwork:
    nodes = [node("MatMul", ["x", "A"], ["h"]), node("Relu", ["h"], ["y"])]
    constants = {"A": np.array([[1.0, 0.0], [0.0, 1.0]])}
    model = build(nodes, inputs={"x": (1, 2)}, constants=constants, elem=FLOAT)
    return milp_verix.load_network(model)


def usual(name: str, folder: Path) -> dict[str, Any]:
    """Return arguments that a function takes."""
    net, journal = network(), folder / "journal.jsonl"
    posed: dict[str, Any] = {"network": net, "x": X, "epsilon": 0.1}
    asked: dict[str, Any] = {**posed, "time_limit": 1}
    own: dict[str, Callable[[], dict[str, Any]]] = {
        "Problem": lambda: posed,
        **dict.fromkeys(("Search", "SearchLimits", "Tolerances"), dict),
        "Inputs": lambda: {"features": [milp_verix.continuous("a", 0, 1)]},
        "from_frame": lambda: {"frame": pd.DataFrame({"a": [1, 2], "b": ["p", "q"]})},
        "from_json": lambda: {"source": milp_verix.explain(**asked).to_json()},
        "to_json": lambda: {"self": milp_verix.explain(**asked)},
        "audit": lambda: {**asked, "explanation": [0]},
        "binary": lambda: {"name": "a"},
        "category": lambda: {"name": "a", "values": ["p", "q"]},
        "certify": lambda: {
            "explanation": milp_verix.explain(**asked),
            "network": net,
            "time_limit": 1,
        },
        "check": lambda: {**asked, "free": [0]},
        "compare": lambda: {**asked, "solvers": ["phase"]},
        "compare_embedded": lambda: {
            "build": lambda **_: milp_verix.embed(**in_pyomo(net)),
            "solvers": ["highs"],
        },
        "continuous": lambda: {"name": "a"},
        "embed": lambda: in_pyomo(net),
        "encode_check": lambda: {"network": net, "x": X, "epsilon": 0.1},
        "epsilon_sweep": lambda: {"network": net, "x": X, "epsilons": [0.1], "time_limit": 1},
        "explain_many": lambda: {
            "network": net,
            "xs": X[None],
            "epsilon": 0.1,
            "journal": journal,
        },
        "find_rules": lambda: {
            "network": net,
            "rows": X[None],
            "epsilon": 0.1,
            "count": 1,
            "time_limit": 1,
        },
        "fixed": lambda: {"name": "a"},
        "integer": lambda: {"name": "a"},
        "load_network": lambda: {"source": net.model},
        "ordinal": lambda: {"name": "a", "values": ["p", "q"]},
        "read_result": lambda: {"journal": journal, "record": {}},
        "read_solver_study": lambda: {"path": journal},
        "read_study": lambda: {"path": journal},
        "relevance": lambda: {**asked, "feature": 0},
        "robustness_radius": lambda: {"network": net, "x": X, "time_limit": 1},
        "run_study": lambda: {"path": folder / "study.toml"},
        "to_pyomo": lambda: {"encoding": milp_verix.encode_check(net, X, epsilon=0.1)},
        "write_notice": lambda: {
            "ranges": milp_verix.inflate(
                net,
                X,
                [0, 1],
                epsilon=0.1,
                inputs=[milp_verix.continuous("a", 0, 1), milp_verix.continuous("b", 0, 1)],
            ),
            "path": folder / "notice.html",
        },
        "write_report": lambda: {
            "source": milp_verix.explain(**asked),
            "path": folder / "report.html",
        },
    }
    return own.get(name, lambda: asked)()


def in_pyomo(network: milp_verix.OnnxNetwork) -> dict[str, Any]:
    pyo = pytest.importorskip("pyomo.environ")
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), bounds=(0, 1))
    return {"model": model, "network": network, "inputs": [model.x[0], model.x[1]]}


def arguments(name: str) -> Iterator[str]:
    yield from (
        parameter.name
        for parameter in inspect.signature(TAKING[name]).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD and parameter.name not in ("build", "self")
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TAKING)
def test_a_wrong_argument_is_refused_or_taken(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a text may be the path of a file to write
    given, failures = usual(name, tmp_path), []
    for argument in arguments(name):
        for kind, value in WRONG.items():
            if argument in CALLED and callable(value):
                continue
            for written in tmp_path.glob("*.*"):
                if written.is_file():
                    written.unlink()
            try:
                TAKING[name](**{**given, argument: value})
            except MilpVerixError:
                continue
            except Exception as error:
                failures.append(f"{name}({argument}={kind}): {type(error).__name__}: {error}")
    assert failures == []


def test_each_public_function_is_checked() -> None:
    unchecked = [name for name, one in FUNCTIONS.items() if not hasattr(one, "__wrapped__")]
    assert unchecked == []


def test_a_refusal_names_the_argument_what_is_expected_and_what_was_seen() -> None:
    @checked(delta=NUMBER.or_none(), against=FEATURE.or_none())
    def asks(delta: float | None = None, *, against: object = None, other: object = 0) -> object:
        return delta, against, other

    assert asks(0.5, against=[1], other="x") == (0.5, [1], "x")
    with pytest.raises(InputError, match=r"delta must be a number, got 'x'"):
        asks("x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"against must be a name, an index, .*, got 1\.0"):
        asks(against=1.0)
    with pytest.raises(InputError, match="other holds a whole number beyond those of float64"):
        asks(other=[(1, 10**400)])
    with pytest.raises(InputError, match="other holds lists that are nested more than 8 deep"):
        asks(other=OWN)
    with pytest.raises(InputError, match="other holds masked entries"):
        asks(other=[np.ma.masked_array([0.1, 0.2], [False, True])])


def test_a_mapping_that_holds_itself_is_left_alone() -> None:
    given: dict[str, Any] = {"a": 1.0}
    given["b"] = given["c"] = [given]
    assert accepted({"epsilon": given}, {})["epsilon"]["b"] is given["b"]
