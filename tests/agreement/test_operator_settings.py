"""Random uses of operators: the checker reads them as onnxruntime runs them, or refuses.

``pytest tests/agreement/test_operator_settings.py --seeds 200`` tries 20 000 of them.
"""

from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from tests.support.onnx_models import FLOAT, build
from tests.support.operator_settings import setting
from verix_checker import operators, shapes, signatures, windows
from verix_checker.guard import compare, mixtures, squashed
from verix_checker.neurons import Network, UnreadableError

_ONE = 2**200 * (3 * 5 * 7) ** 3
_BATCH = 100


def session(model: bytes) -> onnxruntime.InferenceSession | None:
    """Return a session, or None if onnxruntime does not take the model."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception:
        return None


def agrees(net: Network, runner: onnxruntime.InferenceSession, seed: int) -> bool | None:
    """Return whether both compute the same at random inputs, None where onnxruntime stops."""
    rng = np.random.default_rng(seed)
    for _ in range(3):
        x = (rng.integers(-32, 33, net.shape) / 16).astype(np.float32)
        try:
            theirs = runner.run(None, {"x": x})[0].ravel()
        except Exception:
            return None
        point = [net.one, *map(net.number, x.ravel().tolist())]
        ours = [float(value) for value in net.values(point, net.forms)]
        if net.ordered:
            ours = squashed(net.names[net.output], ours)
        if len(ours) != theirs.size or not np.allclose(ours, theirs, rtol=1e-4, atol=1e-5):
            return False
    return True


@pytest.mark.slow
def test_operators_are_read_as_they_are_run_or_refused(operator_seed: int) -> None:
    found = Counter[str]()
    for seed in range(operator_seed * _BATCH, (operator_seed + 1) * _BATCH):
        name, shape, proto = setting(seed)
        model, output = proto.SerializeToString(), proto.graph.output[0].name
        try:
            net = Network(model, _ONE, output)
        except UnreadableError:
            found["refused"] += 1
            continue
        runner = session(model)
        same = None if runner is None else agrees(net, runner, seed)
        assert same is not False, (seed, name, shape, proto)
        found["not run" if same is None else "agree"] += 1
    assert found["agree"] > 0.5 * _BATCH, found


def numbered(operator: str, version: int) -> onnx.defs.OpSchema:
    """Return the schema of an operator in a version of its operator set."""
    domain, _, name = operator.rpartition(".")
    return onnx.defs.get_schema(name, version, domain)


@pytest.mark.parametrize("operator", signatures.TABLE)
def test_the_table_has_the_attributes_and_defaults_of_onnx(operator: str) -> None:
    rows = signatures.TABLE[operator]
    newest = onnx.defs.onnx_opset_version() if "." not in operator else 5
    for version in range(min(rows), min(newest, signatures.NEWEST) + 1):
        schema = numbered(operator, version)
        least, most, attributes = rows[max(first for first in rows if first <= version)]
        if operator != "Resize" or version > 12:  # exporters left the second input out
            assert (least, most) == (schema.min_input, schema.max_input), version
        required = {name for name, one in schema.attributes.items() if one.required}
        assert required <= attributes.keys() <= schema.attributes.keys(), version
        for name, (kind, default, values) in attributes.items():
            known = schema.attributes[name]
            assert int(known.type.value) == kind, (version, name)
            assert values is None or default is ... or values[0] == default
            if default is ...:
                assert known.required or operator in ("Constant", "ai.onnx.ml.Scaler")
            elif default is None:
                assert not known.default_value.name, (version, name)
            elif name != "start":
                value = helper.get_attribute_value(known.default_value)
                value = value.decode() if isinstance(value, bytes) else value
                assert value == default, (version, name)


def model_of(*nodes: onnx.NodeProto, shape: list[int], **constants: np.ndarray) -> bytes:
    """Return a model from ``x`` to ``y``, in float32."""
    model = build(nodes, inputs={"x": shape}, constants=constants, opset=17, elem=FLOAT)
    return model.SerializeToString()


def backwards(node: object, x: dict, chosen: list[int]) -> dict:
    """Return what a Gather returns that goes through its indices from the last one."""
    return shapes.taken(x, 1, chosen[::-1])


def subtracted(net: Network, a: object, b: object) -> object:
    """Return a difference the other way round."""
    return net.total((net.one, b), (-net.one, a))


PLANTED = {
    "LeakyRelu": ({}, ["x"], operators.ENTRIES, lambda net, node, z: net.neuron(z)),
    "Gather": ({"axis": 1}, ["x", "at"], operators.MOVES, backwards),
    "Sub": ({}, ["x", "c"], operators.PAIRS, subtracted),
}


@pytest.mark.parametrize("operator", PLANTED)
def test_a_planted_misreading_is_noticed(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attributes, inputs, table, planted = PLANTED[operator]
    node = helper.make_node(operator, inputs, ["y"], **attributes)
    model = model_of(node, shape=[1, 3], at=np.array([0, 0, 2]), c=np.array([0.5]))

    def compared() -> int:
        net = Network(model, _ONE, "y")
        return compare(net, mixtures(net, [-_ONE] * 3, [_ONE] * 3))

    assert compared() == 5
    monkeypatch.setitem(table, operator, planted)
    with pytest.raises(UnreadableError, match="computes something else"):
        compared()


def test_planted_pads_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    transposed = helper.make_node(
        "ConvTranspose", ["x", "w"], ["y"], auto_pad="SAME_UPPER", strides=[2]
    )
    model = model_of(transposed, shape=[1, 1, 4], w=np.arange(1.0, 4.0).reshape(1, 1, 3))

    def compared() -> int:
        net = Network(model, _ONE, "y")
        return compare(net, mixtures(net, [0] * 4, [_ONE] * 4))

    assert compared() == 5
    monkeypatch.setattr(windows, "halved", lambda node, both: [n - n // 2 for n in both] * 2)
    with pytest.raises(UnreadableError, match="computes something else"):
        compared()


def test_a_file_that_the_evaluator_does_not_run_is_refused() -> None:
    # windows of two groups with several filters each are beyond the evaluator
    grouped = helper.make_node("ConvTranspose", ["x", "w"], ["y"], group=2)
    model = model_of(grouped, shape=[1, 2, 3], w=np.ones((2, 3, 2)))
    net = Network(model, _ONE, "y")
    with pytest.raises(UnreadableError, match="evaluator of onnx does not run it"):
        compare(net, mixtures(net, [0] * 6, [_ONE] * 6))
