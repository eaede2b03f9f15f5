"""A graph: its input and output, and the nodes that a tensor needs, each after those it reads.

ONNX asks for nodes in such an order; onnxruntime takes them in any. scikit-learn's exporter, for
one, ends a classifier in a label (ArgMax, ArrayFeatureExtractor, Cast) and a map from labels to
probabilities (ZipMap). Both are made from a tensor of scores inside the model: the file is cut
there, and the part before it is run as it is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from math import prod
from operator import index
from typing import Any

import numpy as np
import onnx

from milp_verix.base.errors import InputError, ModelError, listed, require_one_of
from milp_verix.models.onnx.symbol import MAX_ELEMENTS, Shape

FLOAT_TYPES: dict[int, np.dtype[Any]] = {
    onnx.TensorProto.FLOAT16: np.dtype(np.float16),
    onnx.TensorProto.FLOAT: np.dtype(np.float32),
    onnx.TensorProto.DOUBLE: np.dtype(np.float64),
}


@dataclass(frozen=True, slots=True)
class Signature:
    """The one input and the one output of a model that is read; ``input_shape`` is concrete.

    ``scores_name`` is the tensor with the scores: the output, unless that holds labels or a map.
    """

    input_name: str
    input_shape: Shape
    dtype: np.dtype[np.floating]
    output_name: str
    scores_name: str


def read_signature(
    graph: onnx.GraphProto, *, input_shape: Sequence[int] | None = None, output: str | None = None
) -> Signature:
    """Return the signature of ``graph``.

    ``input_shape`` fixes dynamic dimensions; without it, a single dynamic one is the batch and
    becomes 1. ``output`` chooses among several outputs; without it, labels do not count.

    Raises ``ModelError`` where the graph has not exactly one input of floating-point numbers and
    known shape, or several outputs and none is chosen; ``InputError`` where an argument does not
    fit the graph.
    """
    if len(inputs := inputs_of(graph)) != 1:
        names = listed([repr(value.name) for value in inputs]) or "none"
        raise ModelError(f"the model must have exactly one input, it has {len(inputs)}: {names}")
    (source,) = inputs
    tensor = source.type.tensor_type
    if not source.type.HasField("tensor_type") or tensor.elem_type not in FLOAT_TYPES:
        raise ModelError(
            f"input {source.name!r} is not a tensor of float16, float32 or float64 numbers"
        )
    shape = _concrete(source.name, _declared(tensor), input_shape)
    if prod(shape) > MAX_ELEMENTS:
        raise ModelError(
            f"input {source.name!r} of shape {shape} has more than {MAX_ELEMENTS:,} entries"
        )
    return Signature(source.name, shape, FLOAT_TYPES[tensor.elem_type], *scores_of(graph, output))


def inputs_of(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """Return the inputs of ``graph`` for which no tensor is stored."""
    stored = {tensor.name for tensor in graph.initializer}
    stored |= {tensor.values.name for tensor in graph.sparse_initializer}
    return [value for value in graph.input if value.name not in stored]


def _declared(tensor: onnx.TypeProto.Tensor) -> list[int | str] | None:
    """Return the declared dimensions, a dynamic one by its name or as ``"?"``."""
    if not tensor.HasField("shape"):
        return None
    return [
        dim.dim_value if dim.dim_value > 0 else str(dim.dim_param) or "?"  # bytes, if damaged
        for dim in tensor.shape.dim
    ]


def _concrete(
    name: str, declared: list[int | str] | None, given: Sequence[int] | None
) -> tuple[int, ...]:
    if given is not None:
        return _given(name, declared, given)
    if declared is None:
        raise ModelError(f"input {name!r} has no declared shape; give it as input_shape=")
    dynamic = sum(isinstance(dim, str) for dim in declared)
    if dynamic > 1:
        raise ModelError(
            f"input {name!r} has shape ({', '.join(map(str, declared))}), of which {dynamic} "
            "dimensions are dynamic; give the shape as input_shape="
        )
    return tuple(1 if isinstance(dim, str) else dim for dim in declared)


def _given(name: str, declared: list[int | str] | None, given: Sequence[int]) -> tuple[int, ...]:
    try:
        shape = tuple(index(dim) for dim in given)
    except TypeError as error:
        raise InputError(f"input_shape is {given!r}, expected positive integers") from error
    if any(dim < 1 for dim in shape):
        raise InputError(f"input_shape is {shape}, expected positive integers")
    fits = declared is None or (
        len(shape) == len(declared)
        and all(isinstance(d, str) or d == s for d, s in zip(declared, shape, strict=True))
    )
    if not fits:
        raise InputError(
            f"input_shape is {shape}, but input {name!r} has shape "
            f"({', '.join(map(str, declared or ()))})"
        )
    return shape


NODES_OF_TREES = ("TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble")


def producers_of(graph: onnx.GraphProto) -> dict[str, int]:
    """Return the place in ``graph.node`` of the node that computes each tensor, by its name.

    Raises ``ModelError`` where a tensor is defined twice, or a part of a Split has no name.
    """
    defined = {tensor.name for tensor in graph.initializer}
    defined |= {value.name for value in graph.input}
    producers: dict[str, int] = {}
    for place, proto in enumerate(graph.node):
        if proto.op_type == "Split" and not all(proto.output):
            # no output of a variable number may be left out; onnxruntime crashes on it
            raise ModelError(f"Split {proto.name!r} is malformed: it has an output without a name")
        for name in filter(None, proto.output):
            if name in defined:
                raise ModelError(f"{proto.op_type} {proto.name!r} defines {name!r} a second time")
            defined.add(name)
            producers[name] = place
    return producers


def nodes_for(graph: onnx.GraphProto, tensors: Iterable[str]) -> list[onnx.NodeProto]:
    """Return nodes for ``tensors``, in the graph's order if valid; ``ModelError`` for a cycle."""
    producers = producers_of(graph)
    read: dict[int, set[int]] = {}
    reached = [producers[name] for name in tensors if name in producers]
    while reached:
        place = reached.pop()
        if place not in read:
            read[place] = {producers[n] for n in graph.node[place].input if n in producers}
            reached.extend(read[place])
    sorter = TopologicalSorter(read)
    try:
        sorter.prepare()
    except CycleError as error:
        raise _cyclic(graph, error.args[1]) from error
    nodes: list[onnx.NodeProto] = []
    ready: list[int] = []
    while sorter.is_active():
        for place in sorter.get_ready():
            heappush(ready, place)
        first = heappop(ready)
        nodes.append(graph.node[first])
        sorter.done(first)
    return nodes


def _cyclic(graph: onnx.GraphProto, cycle: list[int]) -> ModelError:
    proto = graph.node[min(cycle)]
    computed = {name for place in cycle for name in graph.node[place].output if name}
    name = next(name for name in proto.input if name in computed)
    return ModelError(
        f"{proto.op_type} {proto.name!r} reads {name!r} before it is computed: the nodes form a "
        "cycle; only feed-forward networks can be read"
    )


# From a label back to the index of the greatest score: the input that holds it, by operator.
_BEFORE_LABELS = {
    **dict.fromkeys(("ArrayFeatureExtractor", "Gather"), 1),
    **dict.fromkeys(("Cast", "Flatten", "Identity", "Reshape", "Squeeze"), 0),
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
    if output is not None:
        require_one_of(outputs, output, "output of the model")
        return outputs[output]
    of_scores = [value for value in outputs.values() if not _is_label(value)]
    candidates = of_scores or list(outputs.values())
    if len(candidates) > 1:
        names = listed([*map(repr, outputs)])
        raise ModelError(f"the model has several outputs ({names}); choose one with output=")
    return candidates[0]


def _is_label(value: onnx.ValueInfoProto) -> bool:
    tensor = value.type.tensor_type
    return value.type.HasField("tensor_type") and tensor.elem_type not in (0, *FLOAT_TYPES)


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
