"""Several scores behind a Sigmoid, which rounds large ones to the same output."""

import numpy as np
import onnx
import pytest

import milp_verix as mv
from milp_verix import Answer, InputError, Problem
from milp_verix.problem.question import rounded_margins
from tests.support.onnx_models import FLOAT, build, node
from verix_encodings import Interval

SIZE = 5


def network(shift: float, apart: float, scale: float, kind: int = FLOAT) -> onnx.ModelProto:
    weights = np.full((SIZE, 2), scale)
    return build(
        [node("Gemm", ["x", "W", "b"], ["s"]), node("Sigmoid", ["s"], ["y"])],
        inputs={"x": (1, SIZE)},
        constants={"W": weights, "b": np.array([shift, shift + apart])},
        elem=kind,
    )


@pytest.mark.parametrize("shift", [-22.0, -14.0, -9.0, -3.0, 0.0, 3.0, 8.0, 12.0])
@pytest.mark.parametrize("apart", [1e-3, 0.02, 0.2, 3.0])
def test_what_is_claimed_holds_of_the_outputs(shift: float, apart: float) -> None:
    loaded, x = mv.load_network(network(shift, apart, 1.0)), np.full(SIZE, 0.5)
    outputs = loaded.evaluate(x)
    if outputs[0] == outputs[1]:
        with pytest.raises(InputError, match="final Sigmoid rounds"):
            Problem(loaded, x, epsilon=0.5)
        return
    label = int(np.argmax(outputs))
    claims = []
    for epsilon in (0.01, 0.5):
        answer = Problem(loaded, x, epsilon=epsilon).check(range(SIZE)).answer
        ends = [loaded.evaluate(np.full(SIZE, 0.5 + side * epsilon)) for side in (-1, 1)]
        kept = all(out[label] > out[1 - label] for out in ends)
        assert answer is not Answer.HOLDS or kept
        claims.append(answer)
    if abs(shift) <= 4 and apart > 0.1:
        assert claims == [Answer.HOLDS, Answer.HOLDS]
    found = mv.robustness_radius(loaded, x).brackets[0]
    at_radius = loaded.evaluate(x + float(found.lower))
    assert at_radius[label] > at_radius[1 - label] or not found.lower
    assert any("Sigmoid rounds" in note for note in mv.explain(loaded, x, epsilon=0.5).notes)


def test_a_rounded_tie_far_inside_is_not_claimed() -> None:
    loaded, x = mv.load_network(network(-1.0, 0.2, 4.0)), np.full(SIZE, 0.5)
    assert loaded.evaluate(x).argmax() == 1
    assert loaded.evaluate(np.full(SIZE, 0.99)).argmax() == 0  # both are 1
    assert Problem(loaded, x, epsilon=0.5).check(range(SIZE)).answer is Answer.UNKNOWN
    found = mv.explain(loaded, x, epsilon=0.5)
    assert {*found.unknown} == {*found.explanation} == {*range(SIZE)}
    with pytest.raises(InputError, match="both 1 at the input"):
        mv.explain(loaded, np.full(SIZE, 0.99), epsilon=0.01)


def test_margins_tell_outputs_of_float32_apart() -> None:
    loaded = mv.load_network(network(0.0, 0.0, 1.0))
    seen = []
    for top in np.linspace(-10.0, 13.0, 24):
        box = Interval(np.full(SIZE, (top - 1) / SIZE), np.full(SIZE, top / SIZE))
        margins = rounded_margins(loaded.ir, box, 1, [0], loaded.dtype)
        seen.append(margins.output_size)
        apart = margins.evaluate(box.upper)[0]  # both scores are ``top``
        assert 0 < apart < 0.02
        for lower in np.linspace(max(top - 1, -9), min(top, 9), 50):
            low, high = (1 / (1 + np.exp(-s)) for s in (lower, lower + apart))
            assert np.float32(high) > np.float32(low)
    assert seen[0] == seen[-1] == 2
    assert {*seen[3:-5]} == {1}
