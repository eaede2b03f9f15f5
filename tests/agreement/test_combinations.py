"""Every formulation, norm and solver says the same of networks of every kind, and no sample else.

What is definite must agree, and a claim that holds must survive points drawn all over the ball,
its boundary above all; smooth activations alone may leave a check undecided.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from milp_verix import Answer, OnnxNetwork, Verdict, check, encode_check, to_pyomo
from milp_verix.solvers import SOLVERS
from tests.support.counterfactual_checks import assert_changes, assert_in_ball
from tests.support.installed_solvers import SLOW, why_not
from tests.support.onnx_models import FLOAT, build, loaded, node, weights
from tests.support.program_readers import by_cbc, by_highs
from tests.support.random_networks import convolutional, dense_network, random_layers, residual
from tests.support.scipy_reference import optimum
from verix_encodings import FORMULATIONS, Encoding, formulation_named, interval_bounds

NORMS = {"linf": np.inf, "l1": 1, "l2": 2}
WIDER = {"linf": 1.0, "l1": 3.0, "l2": 1.7}
NAMES = [*FORMULATIONS, "partition:9"]
COMBINATIONS = [
    (solver, name)
    for solver in SOLVERS
    for name in NAMES
    if formulation_named(name).needs <= SOLVERS[solver].capabilities
]


def dense(folder: Path, seed: int) -> OnnxNetwork:
    return dense_network(random_layers(np.random.default_rng(seed), (5, 6, 4, 3)), folder)


def pooled(folder: Path, seed: int) -> OnnxNetwork:
    """Return a network of a 4 × 4 image: a convolution, maxima that overlap, three scores."""
    nodes = [
        node("Conv", ["x", "K", "k"], ["c"], kernel_shape=[2, 2]),
        node("MaxPool", ["c"], ["m"], kernel_shape=[2, 2]),
        node("Relu", ["m"], ["r"]),
        node("Flatten", ["r"], ["f"]),
        node("Gemm", ["f", "B"], ["h"]),
        node("Relu", ["h"], ["s"]),
        node("Gemm", ["s", "C", "o"], ["y"]),
    ]
    constants = {
        "K": weights(2, 1, 2, 2, seed=seed),
        "k": weights(2, seed=seed + 1) / 2,
        "B": weights(8, 4, seed=seed + 2),
        "C": weights(4, 3, seed=seed + 3),
        "o": weights(3, seed=seed + 4) / 8,
    }
    return loaded(build(nodes, inputs={"x": (1, 1, 4, 4)}, constants=constants, elem=FLOAT), folder)


def smooth(folder: Path, seed: int, function: str) -> OnnxNetwork:
    """Return a network with a layer of a smooth function, then one of ReLUs."""
    nodes = [
        node("Gemm", ["x", "A"], ["h"]),
        node(function, ["h"], ["r"]),
        node("Gemm", ["r", "B"], ["g"]),
        node("Relu", ["g"], ["s"]),
        node("Gemm", ["s", "C", "o"], ["y"]),
    ]
    constants = {
        "A": weights(4, 3, seed=seed) * 2,
        "B": weights(3, 4, seed=seed + 1),
        "C": weights(4, 3, seed=seed + 2),
        "o": weights(3, seed=seed + 3) / 2,
    }
    return loaded(build(nodes, inputs={"x": (1, 4)}, constants=constants, elem=FLOAT), folder)


KINDS: dict[str, Callable[[Path, int], OnnxNetwork]] = {
    "dense": dense,
    "convolutional": convolutional,
    "residual": residual,
    "max-pool": pooled,
    "sigmoid": partial(smooth, function="Sigmoid"),
    "elu": partial(smooth, function="Elu"),
}
RADII = dict.fromkeys(KINDS, (0.05, 0.25)) | {
    "max-pool": (0.1, 0.3),
    "sigmoid": (0.05, 0.8),
    "elu": (0.05, 0.8),
}
EXACT = ("dense", "convolutional", "residual", "max-pool")


def samples(
    x: NDArray[Any], free: NDArray[np.intp], epsilon: float, norm: str, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return points of the ball in the unit cube: most of them on the boundary, some corners."""
    directions = rng.normal(size=(300, free.size))
    sparse = rng.random((300, free.size)) < rng.uniform(0.2, 1.0, (300, 1))
    signs = rng.choice([-1.0, 1.0], size=(300, free.size))
    moves = np.concatenate([directions, directions * sparse, signs * sparse, np.eye(free.size)])
    length = np.linalg.norm(moves, ord=NORMS[norm], axis=1, keepdims=True)
    moves = moves[length[:, 0] > 0] * epsilon / length[length > 0][:, None]
    points = np.tile(x.astype(np.float64), (len(moves), 1))
    # the cube holds x, so to cut a coordinate brings it nearer
    points[:, free] = np.clip(points[:, free] + moves, 0.0, 1.0)
    return points


def assert_no_sample_violates(network: OnnxNetwork, x: NDArray[Any], points: Any) -> None:
    label = int(np.argmax(network.ir.evaluate(x)))
    for point in points:
        scores = network.ir.evaluate(point)
        assert np.all(np.delete(scores, label) < scores[label]), point


def assert_witness(
    network: OnnxNetwork, x: Any, free: Any, epsilon: float, norm: str, verdict: Verdict
) -> None:
    assert verdict.witness is not None
    assert verdict.prediction is not None
    assert_in_ball(x, verdict.witness, free, epsilon, np.zeros(x.size), np.ones(x.size))
    if norm != "linf":
        pairs = zip(verdict.witness.reshape(-1), x, strict=True)
        moves = [abs(Fraction(float(w)) - Fraction(float(c))) for w, c in pairs]
        power = int(NORMS[norm])
        assert sum(m**power for m in moves) <= Fraction(epsilon) ** power
    assert_changes(network, x, verdict.witness, verdict.prediction, None)


@pytest.mark.nightly
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_verdicts(kind: str, norm: str, tmp_path: Path) -> None:
    seen: list[Answer] = []
    for seed in range(4 if kind in ("dense", "convolutional", "residual") else 3):
        network = KINDS[kind](tmp_path, seed)
        rng = np.random.default_rng(seed)
        x = rng.uniform(size=network.input_size).astype(network.dtype)
        free = np.flatnonzero(rng.random(x.size) < 0.7)
        for base in RADII[kind]:
            epsilon = base * WIDER[norm]
            options: dict[str, Any] = {"epsilon": epsilon, "norm": norm, "bounds": interval_bounds}
            asked = [
                (solver, name)
                for solver, name in COMBINATIONS
                if why_not(solver) is None and (seed == 0 or solver not in SLOW or solver == "cbc")
            ]
            verdicts: list[Verdict] = []
            for solver, name in asked:
                verdicts.append(check(network, x, free, solver=solver, formulation=name, **options))
                if not verdicts[0].effort.solves:
                    break  # bounds or a known point decide, whoever is asked
            # CBC itself may crash on sets beside binaries: that costs a verdict, never its truth
            answers = {v.answer for v in verdicts if "CBC ended" not in str(v.reason)}
            report = (seed, epsilon, list(zip(asked, verdicts, strict=False)))
            # what is undecided by one, a tie, is so by all; but for an enclosure
            definite = answers - {Answer.UNKNOWN}
            assert len(answers if kind in EXACT else definite) <= 1, report
            if Answer.HOLDS in answers:
                points = samples(x, free, epsilon, norm, rng)
                assert_no_sample_violates(network, x, points)
            for verdict in verdicts:
                if verdict.violated:
                    assert_witness(network, x, free, epsilon, norm, verdict)
            seen.append(next(iter(definite), Answer.UNKNOWN))
    assert {Answer.HOLDS, Answer.VIOLATED} <= set(seen)
    assert seen.count(Answer.UNKNOWN) <= len(seen) / 4


def by_pyomo(encoding: Encoding) -> float:
    pyo = pytest.importorskip("pyomo.environ")
    model = pyo.ConcreteModel()
    model.check = to_pyomo(encoding)
    model.worst = pyo.Objective(expr=model.check.output[0], sense=pyo.maximize)
    pyo.SolverFactory("appsi_highs").solve(model)
    return float(pyo.value(model.worst))


@pytest.mark.slow
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_files_and_blocks_have_the_optimum(kind: str, norm: str, tmp_path: Path) -> None:
    network = KINDS[kind](tmp_path, 1)
    x = np.full(network.input_size, 0.5)
    epsilon = (0.1 if kind == "max-pool" else 0.3) * WIDER[norm]
    encoding = encode_check(network, x, epsilon=epsilon, norm=norm, bounds="interval")
    row, constant = encoding.output.row(0, encoding.program.columns)
    expected = optimum(encoding.program, -row)[0]
    assert by_pyomo(encoding) == pytest.approx(constant - expected, abs=1e-5)
    for suffix in (".lp", ".mps"):
        path = tmp_path / f"check{suffix}"
        encoding.program.write(path, -row)
        assert by_highs(path) == pytest.approx(expected, abs=1e-5)
        if why_not("cbc") is None:
            assert by_cbc(path) == pytest.approx(expected, abs=1e-5)
    names = {name.partition("_")[0] for name in encoding.program.column_names}
    assert names >= {"linf": {"x"}, "l1": {"p", "n"}, "l2": {"e", "s"}}[norm] | {"z", "a", "d"}


@pytest.mark.parametrize("norm", NORMS)
def test_nothing_free_is_written_too(norm: str, tmp_path: Path) -> None:
    network = dense(tmp_path, 1)
    encoding = encode_check(network, np.full(5, 0.5), [], epsilon=0.3, norm=norm)
    row, constant = encoding.output.row(0, encoding.program.columns)
    for suffix in (".lp", ".mps"):
        encoding.program.write(tmp_path / f"check{suffix}", -row)
        scores = network.ir.evaluate(np.full(5, 0.5))
        label = int(np.argmax(scores))
        worst = np.delete(scores, label)[0] - scores[label]
        assert constant - by_highs(tmp_path / f"check{suffix}") == pytest.approx(worst, abs=1e-6)
