"""The tensor of class scores in a model whose outputs are labels or maps of them.

scikit-learn's exporter, for one, ends a classifier in a label (ArgMax, ArrayFeatureExtractor, Cast)
and a map from labels to probabilities (ZipMap). Both are made from a tensor inside the model: the
file is cut there, and the part before it is run as it is.
"""

from collections.abc import Sequence

import onnx

from milp_verix.base.errors import ModelError
from milp_verix.base.names import require_one_of
from milp_verix.models.onnx.graph import nodes_for

_FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16)

# From a label back to the index of the greatest score: the input that holds it, by operator.
_BEFORE_LABELS = {
    "ArrayFeatureExtractor": 1,
    "Cast": 0,
    "Flatten": 0,
    "Gather": 1,
    "Identity": 0,
    "Reshape": 0,
    "Squeeze": 0,
}


def scores_of(graph: onnx.GraphProto, output: str | None) -> tuple[str, str]:
    """Return the output to explain and the tensor with its scores; they differ only for labels.

    Without ``output`` it is the only one that is not a label. Raises ``ModelError`` if there are
    several, or none; ``InputError`` if ``output`` is not an output of the model.
    """
    chosen = _chosen(graph, output)
    producers = {name: proto for proto in graph.node for name in proto.output}
    proto = producers.get(chosen.name)
    if proto is not None and proto.op_type == "ZipMap" and proto.input:
        return chosen.name, proto.input[0]
    return chosen.name, _before_label(chosen.name, producers) if _is_label(chosen) else chosen.name


def cut(model: onnx.ModelProto, tensors: Sequence[str]) -> onnx.ModelProto:
    """Return the part of ``model`` that computes ``tensors``, which are its outputs."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    kept = nodes_for(model.graph, tensors)
    del result.graph.node[:], result.graph.output[:]
    result.graph.node.extend(kept)
    result.graph.output.extend(map(onnx.helper.make_empty_tensor_value_info, tensors))
    return result


def _chosen(graph: onnx.GraphProto, output: str | None) -> onnx.ValueInfoProto:
    outputs: dict[str, onnx.ValueInfoProto] = {value.name: value for value in graph.output}
    listed = ", ".join(map(repr, outputs))
    if output is not None:
        require_one_of(outputs, output, "output of the model")
        return outputs[output]
    of_scores = [value for value in outputs.values() if not _is_label(value)]
    candidates = of_scores or list(outputs.values())
    if len(candidates) > 1:
        raise ModelError(f"the model has several outputs ({listed}); choose one with output=")
    return candidates[0]


def _is_label(value: onnx.ValueInfoProto) -> bool:
    tensor = value.type.tensor_type
    return value.type.HasField("tensor_type") and tensor.elem_type not in (0, *_FLOATS)


def _before_label(label: str, producers: dict[str, onnx.NodeProto]) -> str:
    """Return the input of the ArgMax that ``label`` comes from, or ``label`` without an ArgMax."""
    name = label
    for _ in producers:
        proto = producers.get(name)
        if proto is None:
            break
        if proto.op_type == "ArgMax" and proto.input:
            return str(proto.input[0])
        source = _BEFORE_LABELS.get(proto.op_type)
        if source is None or source >= len(proto.input):
            break
        name = proto.input[source]
    return label
