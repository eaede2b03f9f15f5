"""Networks without bounds over the ball: every question has an honest answer, ``embed`` refuses."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import milp_verix as mv
from milp_verix import Problem, Search
from tests.support.onnx_models import DOUBLE, FLOAT, build, node

W = np.array([[1.0, -0.5], [0.3, 0.8], [-0.6, 0.4], [0.2, -0.9]])
SOON = Search(time_limit=0.5)
X = np.array([[0.5, 0.3, 0.8, 0.6]])


def behind(*nodes: onnx.NodeProto, elem: int = FLOAT, **constants: Any) -> onnx.ModelProto:
    """Return a linear map of what ``nodes`` make of the input, called ``z``."""
    last = node("MatMul", ["z", "W"], ["y"])
    return build(
        [*nodes, last], inputs={"x": (1, 4)}, constants={"W": W, **constants}, opset=18, elem=elem
    )


MODELS = {
    "root": behind(node("Sub", ["x", "c"], ["b"]), node("Sqrt", ["b"], ["z"]), c=np.array([0.1])),
    "1 / x": behind(node("Reciprocal", ["x"], ["z"])),
    "log": behind(node("Log", ["x"], ["z"])),
    "signed root": behind(
        node("Abs", ["x"], ["a"]),
        node("Sub", ["a", "c"], ["b"]),
        node("Sqrt", ["b"], ["r"]),
        node("Sign", ["x"], ["s"]),
        node("Mul", ["r", "s"], ["z"]),
        c=np.array([0.1]),
    ),
    "x / its sum": behind(
        node("MatMul", ["x", "V"], ["v"]),
        node("Div", ["x", "v"], ["z"]),
        V=np.array([[0.5], [0.2], [-1.0], [0.3]]),
    ),
    "direction": behind(
        node("ReduceL2", ["x", "axes"], ["v"], keepdims=1),
        node("Div", ["x", "v"], ["z"]),
        axes=np.array([1]),
    ),
    "power -2": behind(node("Pow", ["x", "e"], ["z"]), e=np.array([-2.0])),
    "exp": behind(
        node("Mul", ["x", "s"], ["v"]), node("Exp", ["v"], ["z"]), elem=DOUBLE, s=np.array([500.0])
    ),
    "exp of float32": behind(
        node("Mul", ["x", "s"], ["v"]), node("Exp", ["v"], ["z"]), s=np.array([90.0])
    ),
    "large weights": behind(
        node("MatMul", ["x", "V"], ["v"]),
        node("Relu", ["v"], ["r"]),
        node("MatMul", ["r", "V"], ["z"]),
        elem=DOUBLE,
        V=1e160 * np.eye(4) - 0.5e160,
    ),
}
ASKED: dict[str, Callable[[Problem], Any]] = {
    "check": lambda p: p.check([0, 1, 2, 3], search=SOON),
    **{
        f"explain, order {order}": lambda p, order=order: p.explain(order=order, search=SOON)
        for order in ("influence", "adaptive", "sensitivity", "bound", "bound_crown", "margin")
    },
    "explain by bounds": lambda p: p.explain(search=replace(SOON, exactness="bounds")),
    "explain by highs": lambda p: p.explain(search=replace(SOON, solver="highs")),
    "explain by lp": lambda p: p.explain(search=replace(SOON, bounds="lp")),
    "minimum": lambda p: p.minimum(search=SOON),
    "minimum, hitting sets": lambda p: p.minimum(method="hitting_sets", search=SOON),
    "contrastive": lambda p: p.contrastive(search=SOON),
    "nearest": lambda p: p.contrastive(minimise="distance", search=SOON),
    "enumerate": lambda p: p.enumerate(search=SOON),
    "relevance": lambda p: p.relevance(0, search=SOON),
    "importance": lambda p: p.importance(search=SOON),
    "radius": lambda p: p.radius(search=SOON),
    "radius each": lambda p: p.radius(each=True, search=SOON),
    "sweep": lambda p: p.sweep([0.1, 0.6], search=SOON),
    "inflate": lambda p: p.inflate(search=SOON),
    "audit": lambda p: p.audit([0], search=SOON),
}


FAST = {"root", "1 / x", "large weights"}
EACH = [pytest.param(one, marks=[] if one in FAST else pytest.mark.slow) for one in MODELS]


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("model", EACH)
def test_every_question_has_an_answer(model: str, asked: str) -> None:
    problem = Problem(MODELS[model], X, epsilon=0.6)
    found = ASKED[asked](problem)
    assert repr(found)
    assert found.summary()
    if asked != "check":
        assert json.loads(found.to_json())
    with suppress(mv.InputError):  # there is no counterfactual to replay
        assert asked in {"check", "sweep"} or found.replay(problem.network) in {(), True}


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("model", EACH)
def test_balls_of_other_norms_have_an_answer(model: str, norm: str) -> None:
    problem = Problem(MODELS[model], X, epsilon=0.6, norm=norm)
    for found in (
        problem.explain(search=SOON),
        problem.minimum(search=SOON),
        problem.radius(search=SOON),
    ):
        assert json.loads(found.to_json())


@pytest.mark.parametrize("model", EACH)
def test_values_have_an_answer(model: str) -> None:
    problem = Problem(MODELS[model], X, epsilon=0.6, delta=0.1)
    for found in (
        problem.explain(search=SOON),
        problem.minimum(search=SOON),
        problem.contrastive(search=SOON),
    ):
        assert json.loads(found.to_json())


@pytest.mark.parametrize("model", ["root", "1 / x", "log", "signed root", "x / its sum"])
def test_what_is_undecided_says_why_and_the_order_is_replaced(model: str) -> None:
    problem = Problem(MODELS[model], X, epsilon=0.6)
    found = problem.explain()
    assert found.order == "sequential"
    assert any("'influence' rests on bounds" in note for note in found.notes)
    assert all("undefined" in why for why in found.unknown_reasons.values())
    assert "undefined" in (problem.minimum().statistics.stopped or "undefined")


@pytest.mark.parametrize("model", [name for name in MODELS if not name.startswith("exp")])
def test_embedding_is_refused_in_words(model: str) -> None:
    pyo = pytest.importorskip("pyomo.environ")
    host = pyo.ConcreteModel()
    host.x = pyo.Var(range(4), bounds=(-1, 1))
    with pytest.raises(mv.InputError, match=r"undefined for some inputs.*narrower bounds"):
        mv.embed(host, MODELS[model], [host.x[i] for i in range(4)])


def test_a_program_is_refused_in_words() -> None:
    with pytest.raises(mv.InputError, match=r"undefined for some inputs.*smaller ball"):
        mv.encode_check(MODELS["1 / x"], X, epsilon=0.6)


def test_a_study_and_a_comparison_go_on(tmp_path: Path) -> None:
    model = MODELS["1 / x"]
    tally = mv.explain_many(model, np.vstack([X, 0.9 * X]), epsilon=0.6, journal=tmp_path / "j")
    assert (tally.total, tally.failed) == (2, 0)
    assert mv.compare(model, X, epsilon=0.6, solvers=["phase", "highs"]).disagreements == ()
    assert mv.find_rules(model, np.vstack([X, 0.9 * X]), epsilon=0.6, time_limit=3) is not None
