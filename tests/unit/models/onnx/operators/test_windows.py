"""Sliding windows over all small settings: what is read is what onnxruntime computes.

onnxruntime departs from the specification in corners of automatic padding. A setting about which
the two disagree is refused, so nothing that is read may differ.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from milp_verix import UnsupportedOperatorError
from milp_verix.base.errors import ModelError
from tests.support.onnx_models import FLOAT, build, loaded, node, traced, weights

MODES = (None, "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
PADS = ((0, 0), (0, 1), (1, 0), (2, 1))


def windowed(
    operator: str, shape: Sequence[int], kernel: Sequence[int] | None, attributes: Mapping[str, Any]
) -> onnx.ModelProto:
    """Return the model of one operator whose output is flattened."""
    nodes = [
        node(operator, ["x"] if kernel is None else ["x", "W"], ["h"], name="here", **attributes),
        node("Reshape", ["h", "flat"], ["y"]),
    ]
    constants = {"flat": np.array([1, -1]), "W": weights(*(kernel or (1,)))}
    return build(nodes, inputs={"x": shape}, constants=constants, elem=FLOAT, opset=19)


def run(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray | None:
    """Return what onnxruntime makes of ``x``, None where it refuses."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return session.run(None, {"x": x})[0].reshape(-1)
    except Exception:  # onnxruntime's exceptions share no base class but this
        return None


def outcome(model: onnx.ModelProto) -> str:
    """Compare what is read with what is run; fail where they differ."""
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)
    expected = run(model, x)
    try:
        network = traced(model).network
    except ModelError:
        return "refused"
    if expected is None:
        return "not run"
    seen = network.evaluate(x.reshape(-1))
    here = str(model.graph.node[0])
    assert seen.shape == expected.shape, here
    np.testing.assert_allclose(seen, expected, rtol=0, atol=1e-5, err_msg=here)
    return "agrees"


def transposed() -> Iterator[onnx.ModelProto]:
    """Yield transposed convolutions of a line: sizes, kernels, strides, dilations, paddings."""
    steps = product((1, 2, 3), (1, 2, 3), (1, 2, 3), (1, 2), (0, 1), MODES)
    for size, kernel, stride, dilation, extra, mode in steps:
        given: dict[str, Any] = {"strides": [stride], "dilations": [dilation]}
        given |= {"output_padding": [extra]} if extra else {}
        given |= {"auto_pad": mode} if mode else {}
        full = (size - 1) * stride + (kernel - 1) * dilation + 1 + extra
        shapes = {1, full - 1, full, full + 1, size * stride} if kernel > 1 else {full}
        choices = [{"output_shape": [wanted]} for wanted in sorted(shapes) if wanted > 0]
        if mode in (None, "NOTSET"):
            choices += [{"pads": list(pads)} for pads in PADS]
        for choice in [{}, *choices]:
            yield windowed("ConvTranspose", (1, 1, size), (1, 1, kernel), given | choice)


def sliding(operator: str) -> Iterator[onnx.ModelProto]:
    """Yield convolutions or poolings of a line, of all small settings."""
    switches: dict[str, tuple[str, ...]] = {
        "Conv": (),
        "MaxPool": ("ceil_mode",),
        "AveragePool": ("ceil_mode", "count_include_pad"),
    }
    on = list(product((0, 1), repeat=len(switches[operator])))
    steps = product((1, 2, 3, 6), (1, 2, 3), (1, 2, 3), (1, 2), MODES, on)
    for size, kernel, stride, dilation, mode, chosen in steps:
        given: dict[str, Any] = {"strides": [stride], "dilations": [dilation]}
        given |= {"auto_pad": mode} if mode else {}
        given |= dict(zip(switches[operator], chosen, strict=True))
        given |= {} if operator == "Conv" else {"kernel_shape": [kernel]}
        weight = (1, 1, kernel) if operator == "Conv" else None
        for pads in PADS if mode is None else [None]:
            also = {} if pads is None else {"pads": list(pads)}
            yield windowed(operator, (1, 1, size), weight, given | also)


def planes() -> Iterator[onnx.ModelProto]:
    """Yield transposed convolutions of planes, at random: groups, and each axis of its own."""
    rng = np.random.default_rng(7)
    for _ in range(150):
        group, channels, maps = (int(n) for n in rng.integers(1, 3, 3))
        given: dict[str, Any] = {"group": group, "strides": rng.integers(1, 4, 2).tolist()}
        given |= {"dilations": rng.integers(1, 3, 2).tolist()} if rng.random() < 0.5 else {}
        given |= {"output_padding": rng.integers(0, 2, 2).tolist()} if rng.random() < 0.4 else {}
        mode = MODES[int(rng.integers(len(MODES)))]
        given |= {"auto_pad": mode} if mode else {}
        if mode in (None, "NOTSET"):
            given |= {"pads": rng.integers(0, 2, 4).tolist()}
        shape = (1, group * channels, *rng.integers(1, 4, 2).tolist())
        kernel = (group * channels, maps, *rng.integers(1, 4, 2).tolist())
        yield windowed("ConvTranspose", shape, kernel, given)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("models", "agreeing"),
    [
        (transposed, 1000),
        (planes, 60),
        (lambda: sliding("Conv"), 350),
        (lambda: sliding("MaxPool"), 500),
        (lambda: sliding("AveragePool"), 1000),
    ],
    ids=["ConvTranspose", "planes", "Conv", "MaxPool", "AveragePool"],
)
def test_every_small_setting_is_what_onnxruntime_computes(models: Any, agreeing: int) -> None:
    seen = Counter(map(outcome, models()))
    assert seen["agrees"] >= agreeing, seen


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
def test_a_transposed_kernel_smaller_than_its_stride(mode: str, tmp_path: Path) -> None:
    # onnxruntime gives [.5, 0, .2] for (.5, .2), the specification four entries
    model = windowed(
        "ConvTranspose", (1, 1, 1, 2), (1, 1, 1, 1), {"strides": [1, 2], "auto_pad": mode}
    )
    with pytest.raises(UnsupportedOperatorError, match="'here' is not supported: onnxruntime and"):
        loaded(model, tmp_path)


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("given", [{"dilations": [2], "strides": [1]}, {"strides": [3]}])
def test_automatic_padding_of_unusual_pools(
    operator: str, given: dict[str, Any], tmp_path: Path
) -> None:
    given = {"kernel_shape": [2], "auto_pad": "SAME_UPPER", **given}
    with pytest.raises(UnsupportedOperatorError, match="disagree about auto_pad where pooling"):
        loaded(windowed(operator, (1, 1, 5), None, given), tmp_path)
