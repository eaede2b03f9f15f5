"""Roots, logarithms and quotients of what is never negative: every question is decided."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray

from milp_verix import Problem, Search, embed
from tests.support.onnx_models import FLOAT, build, node

X = np.array([[0.5, 0.3, 0.8, 0.6]], dtype=np.float32)
W = np.array([[1.0, -0.5], [0.3, 0.8], [-0.6, 0.4], [0.2, -0.9]])
FIRST = np.array(
    [[0.13, -0.13, 0.64, 0.1], [-0.54, 0.36, 1.3, 0.95], [-0.7, -1.27, -0.62, 0.04],
     [-2.33, -0.22, -1.25, -0.73]]
)  # fmt: skip
CONSTANTS = {
    "W": W,
    "A": FIRST,
    "P": np.abs(FIRST),
    "zero": 0.0,
    "half": 0.5,
    "two": 2.0,
    "small": 0.1,
    "third": 0.3,
    "one": 1.0,
    "axis": np.array([-1]),
}

Steps = Sequence[tuple[str, list[str], str]]
NOT_NEGATIVE: dict[str, Steps] = {
    "|h|": [("Abs", ["h"], "g")],
    "|h| / 2": [("Abs", ["h"], "a"), ("Mul", ["a", "half"], "g")],
    "max(h, -h)": [("Neg", ["h"], "m"), ("Max", ["h", "m"], "g")],
    "P |h|": [("Abs", ["h"], "a"), ("MatMul", ["a", "P"], "g")],
    "||h| - 0.3|": [("Abs", ["h"], "a"), ("Sub", ["a", "third"], "b"), ("Abs", ["b"], "g")],
    "|h| + h²": [("Abs", ["h"], "a"), ("Mul", ["h", "h"], "s"), ("Add", ["a", "s"], "g")],
    "|h| |x|": [("Abs", ["h"], "a"), ("Abs", ["x"], "b"), ("Mul", ["a", "b"], "g")],
    "h²": [("Pow", ["h", "two"], "g")],
    "relu(h) + exp(h)": [("Relu", ["h"], "p"), ("Exp", ["h"], "e"), ("Add", ["p", "e"], "g")],
    "||h||": [("ReduceL1", ["h", "axis"], "g")],
}
BEHIND: dict[str, Steps] = {
    "root": [("Sqrt", ["g"], "z")],
    "power 0.3": [("Pow", ["g", "third"], "z")],
    "logarithm": [("Add", ["g", "small"], "c"), ("Log", ["c"], "z")],
    "quotient": [("Add", ["g", "small"], "c"), ("Div", ["x", "c"], "z")],
    "reciprocal": [("Add", ["g", "small"], "c"), ("Div", ["one", "c"], "z")],
    "by its root": [("Add", ["g", "small"], "c"), ("Sqrt", ["c"], "r"), ("Div", ["x", "r"], "z")],
}
DEVIATIONS: Steps = [("ReduceMean", ["h", "axis"], "m"), ("Sub", ["h", "m"], "d")]
NORMALISED: dict[str, Steps] = {
    "layer": [
        *DEVIATIONS,
        ("Mul", ["d", "d"], "s"),
        ("ReduceMean", ["s", "axis"], "v"),
        ("Add", ["v", "small"], "e"),
        ("Sqrt", ["e"], "r"),
        ("Div", ["d", "r"], "z"),
    ],
    "layer by its mean deviation": [
        *DEVIATIONS,
        ("Abs", ["d"], "s"),
        ("ReduceMean", ["s", "axis"], "v"),
        ("Add", ["v", "small"], "e"),
        ("Div", ["d", "e"], "z"),
    ],
    "softsign": [("Abs", ["h"], "a"), ("Add", ["a", "one"], "c"), ("Div", ["h", "c"], "z")],
    "signed root": [
        ("Abs", ["h"], "a"),
        ("Sqrt", ["a"], "r"),
        ("Sign", ["h"], "s"),
        ("Mul", ["r", "s"], "z"),
    ],
}


def network(steps: Steps, *, dense: bool) -> onnx.ModelProto:
    """Return a model of ``steps`` from ``h``, the input or a linear map of it, to ``z``."""
    first = ("MatMul", ["x", "A"], "h") if dense else ("Identity", ["x"], "h")
    whole = [first, *steps, ("MatMul", ["z", "W"], "y")]
    if steps[0][0] == "ReduceL1":  # one number, which the input multiplies
        whole[-1:] = [("Mul", ["z", "x"], "k"), ("MatMul", ["k", "W"], "y")]
    nodes = [node(operator, inputs, [output]) for operator, inputs, output in whole]
    used = {name for one in nodes for name in one.input}
    constants = {name: np.asarray(array) for name, array in CONSTANTS.items() if name in used}
    return build(nodes, inputs={"x": ("n", 4)}, constants=constants, opset=18, elem=FLOAT)


def classes(model: onnx.ModelProto, points: NDArray[Any]) -> NDArray[np.intp]:
    """Return the classes that onnxruntime predicts at ``points``, shape (N, 4)."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    scores = session.run(None, {"x": points.astype(np.float32)})[0]
    assert np.isfinite(scores).all()
    return np.argmax(scores, axis=1)


def grid(radius: float, free: Sequence[int]) -> NDArray[Any]:
    """Return points of the ball around ``X`` in [-1, 1]: a grid of the coordinates ``free``."""
    sides = [
        np.append(np.linspace(max(v - radius, -1), min(v + radius, 1), 8), 0.0)
        if i in free and v <= radius
        else np.linspace(max(v - radius, -1), min(v + radius, 1), 9)
        if i in free
        else [v]
        for i, v in enumerate(X[0].tolist())
    ]
    return np.array(list(product(*sides)))


CASES: dict[str, Callable[[], onnx.ModelProto]] = {
    f"{after} of {before}{' of a layer' * dense}": lambda b=before, a=after, d=dense: network(
        [*NOT_NEGATIVE[b], *BEHIND[a]], dense=d
    )
    for before, after, dense in product(NOT_NEGATIVE, BEHIND, (False, True))
}
CASES |= {
    f"{name}{' of a layer' * dense}": lambda s=steps, d=dense: network(s, dense=d)
    for (name, steps), dense in product(NORMALISED.items(), (False, True))
    if not dense or name != "signed root"  # rounding of a layer may turn a sign, and all behind it
}
FAST = (
    "root of |h|",
    "power 0.3 of max(h, -h)",
    "logarithm of |h| |x|",
    "quotient of |h| + h² of a layer",
    "reciprocal of ||h| - 0.3|",
    "by its root of P |h|",
    "layer by its mean deviation of a layer",
    "softsign of a layer",
    "signed root",
)
EACH = [pytest.param(one, marks=[] if one in FAST else pytest.mark.slow) for one in CASES]
SEARCH = Search(time_limit=20)


@pytest.mark.parametrize("case", EACH)
def test_every_question_is_decided_and_no_answer_is_wrong(case: str) -> None:
    model = CASES[case]()
    problem = Problem(model, X, epsilon=0.6, domain=(-1.0, 1.0))
    predicted = problem.question.prediction
    for found in (problem.explain(search=SEARCH), problem.minimum(search=SEARCH)):
        assert not found.unknown, found.unknown_reasons
        free = sorted({0, 1, 2, 3} - set(found.explanation))
        assert (classes(model, grid(0.6, free)) == predicted).all()
    assert found.gap == 0
    assert problem.contrastive(search=SEARCH).proven
    assert problem.audit(found.explanation, search=SEARCH).sound
    ranges = problem.inflate(search=SEARCH)
    assert ranges.maximal or ranges.statistics.stopped == "time limit"
    sides = [np.linspace(max(v - 0.6, -1), min(v + 0.6, 1), 9) for v in X[0].tolist()]
    for one in ranges.ranges:
        sides[one.feature] = np.linspace(one.lower, one.upper, 7)
    assert (classes(model, np.array(list(product(*sides)))) == predicted).all()
    bracket = Problem(model, X, epsilon=0.0, domain=(-1.0, 1.0)).radius(search=SEARCH).bracket
    assert bracket.unknown_reason in (None, "time limit")
    assert bracket.lower > 0 or bracket.unknown_reason == "time limit"  # of a slow machine
    assert (classes(model, grid(bracket.lower, range(4))) == predicted).all()


def test_a_signed_root_is_embedded_over_zero() -> None:
    pyo = pytest.importorskip("pyomo.environ")
    host = pyo.ConcreteModel()
    host.x = pyo.Var(range(4), bounds=(-1, 1))
    assert embed(host, CASES["signed root"](), [host.x[i] for i in range(4)])
