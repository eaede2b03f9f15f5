"""What makes a counterfactual one, by its definition: exact arithmetic, and a run of our own."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from milp_verix import ContrastiveExplanation, Explanation
from milp_verix.models.onnx.onnx_network import OnnxNetwork
from tests.support.brute_force_cases import Case


@cache
def _session(path: str, _sha256: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # idle threads spin
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run(network: OnnxNetwork, x: NDArray[Any]) -> NDArray[Any]:
    """Return what onnxruntime makes of ``x``, without the code under test."""
    session = _session(str(network.path), network.sha256)
    (entry,) = session.get_inputs()
    (scores, *_) = session.run(None, {entry.name: x.reshape(network.input_shape)})
    return scores.reshape(-1)


def assert_changes(
    network: OnnxNetwork,
    x: NDArray[Any],
    witness: NDArray[Any],
    prediction: int | tuple[float, ...],
    delta: float | None,
) -> None:
    """Assert that ``witness`` has another prediction than ``x``, without a tie: ``prediction``."""
    before, after = run(network, x), run(network, witness)
    if delta is None:
        label = int(np.argmax(before))
        assert prediction == int(np.argmax(after)) != label
        assert after[prediction] > after[label]
    else:
        assert prediction == tuple(float(value) for value in after)
        pairs = zip(before, after, strict=True)
        assert max(abs(Fraction(float(b)) - Fraction(float(a))) for b, a in pairs) > delta


def assert_in_ball(
    x: NDArray[Any],
    witness: NDArray[Any],
    free: Sequence[int],
    epsilon: float,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> None:
    """Assert that ``witness`` is ``x`` but for ``free``, and no farther than the ball reaches."""
    assert witness.dtype == x.dtype
    centre, point = x.reshape(-1), witness.reshape(-1)
    fixed = np.delete(np.arange(centre.size), list(free))
    assert point[fixed].tobytes() == centre[fixed].tobytes()
    for i in (i for i in free if point[i] != centre[i]):
        assert abs(Fraction(float(point[i])) - Fraction(float(centre[i]))) <= Fraction(epsilon)
        assert low[i] <= float(point[i]) <= high[i]


def assert_sound(explanation: Explanation, network: OnnxNetwork, x: NDArray[Any]) -> None:
    """Assert what every explanation promises, finished or not."""
    features = range(len(explanation.groups))
    parts = [*explanation.explanation, *explanation.irrelevant]
    assert sorted(parts) == sorted(explanation.permutation) == list(features)
    decided = set(explanation.explanation) - set(explanation.unknown)
    assert set(explanation.unknown) <= set(explanation.explanation)
    assert set(explanation.counterfactuals) == decided
    assert explanation.minimal == (not explanation.unknown)
    size = x.size
    low, high = (np.broadcast_to(np.asarray(end, float), (size,)) for end in explanation.domain)
    for feature, counterfactual in explanation.counterfactuals.items():
        members = [*explanation.irrelevant, feature]
        free = [i for member in members for i in explanation.groups[member]]
        witness = counterfactual.input
        assert witness.shape == network.input_shape
        assert_in_ball(x, witness, free, explanation.epsilon, low, high)
        assert_changes(network, x, witness, counterfactual.prediction, explanation.delta)


def assert_real(found: ContrastiveExplanation, problem: Case, network: OnnxNetwork) -> NDArray[Any]:
    """Assert that the counterfactual is one, by the definition; return its input."""
    assert found.contrast is not None
    assert found.counterfactual is not None
    witness = found.counterfactual.input
    coordinates = [i for feature in found.contrast for i in problem.groups[feature]]
    ends = problem.brute.low, problem.brute.high
    assert_in_ball(problem.x, witness, coordinates, found.epsilon, *ends)
    assert_changes(network, problem.x, witness, found.counterfactual.prediction, problem.delta)
    assert found.replay(network)
    return witness
