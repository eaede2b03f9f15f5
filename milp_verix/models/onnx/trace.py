"""The walk through an ONNX graph that turns it into a network.

Networks that memory does not hold, refused by an estimate before they are read.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TypeAlias

import onnx

from milp_verix.base.errors import ModelError, UnsupportedOperatorError, refusing
from milp_verix.base.stored_numbers import beyond_memory, free_memory
from milp_verix.models.onnx.builder import MOVING, Builder
from milp_verix.models.onnx.folding import Known, fold, stored
from milp_verix.models.onnx.model_file import Signature, nodes_for, producers_of
from milp_verix.models.onnx.operators import (  # noqa: F401 (they register their operators)
    activations,
    linear,
    norms,
    pooling,
    selection,
)
from milp_verix.models.onnx.registry import NodeContext, apply, operator_named, refusals
from milp_verix.models.onnx.symbol import Symbol, Tensor, by_windows
from verix_encodings.network import Network

_KEPT, _WHILE_READ = 12, 14
"""Bytes for each weight of each window of a convolution, and more while it is read: measured."""
_KEPT_PLACE, _PLACE_READ = 4, 20
"""Bytes for each entry of each window, where weights are not stored for each window: measured."""
_MOST_VALUES = 3_000_000
"""Numbers that a network may compute: of a ResNet-18 at 128 x 128, with 2.9 million, every question
kept a limit of 2 s; at 224 x 224, with 8.8 million, explanations took 4 s and minima 18 s."""
_SMALL, _WEIGHTS = 10_000, 1024
"""Numbers of inputs that are not looked at, and of stored tensors that may say a shape."""


def require_memory(model: onnx.ModelProto, signature: Signature) -> None:
    """Raise ``ModelError`` where the matrices of convolutions need more memory than is free."""
    shape = signature.input_shape
    convolutions = [node for node in model.graph.node if node.op_type == "Conv"]
    if prod(shape) < _SMALL or not convolutions:
        return
    free = free_memory()
    shapes = _shapes(model, signature)
    values = sum(map(partial(_values, shapes), model.graph.node))
    dimensions = max(len(shape) - 2, 1)

    def fitting(share: float) -> str:
        sizes = (str(max(int(share ** (1 / dimensions) * size), 1)) for size in shape[2:])
        return f"an input of {' x '.join(sizes)}"

    if values > _MOST_VALUES:
        raise ModelError(
            f"the network computes about {values:,} numbers, and no limit of time is kept beyond "
            f"{_MOST_VALUES:,}: {fitting(_MOST_VALUES / values)} would fit"
        )
    entries = kept = most = 0
    for node in convolutions:
        result, weights = shapes.get(node.output[0]), shapes.get(node.input[1])
        if not result or not weights:
            continue
        each, reading, read = _KEPT, _WHILE_READ, prod(result) * prod(weights[1:])
        groups = next((one.i for one in node.attribute if one.name == "group"), 1)
        if by_windows(read, weights[0] // max(groups, 1)):
            each, reading, read = _KEPT_PLACE, _PLACE_READ, read * groups // weights[0]
        entries, kept, most = entries + read, kept + each * read, max(most, reading * read)
    if (needed := kept + most) > free:
        what = f"the {entries:,} entries of its convolutions"
        raise ModelError(beyond_memory("the network", needed, what, free, fitting(free / needed)))


def _values(shapes: Mapping[str, tuple[int, ...]], node: onnx.NodeProto) -> int:
    """Return how many numbers of the network ``node`` computes: of a maximum two for each pair."""
    size = 0 if node.op_type in MOVING | {"Constant"} else prod(shapes.get(node.output[0], (0,)))
    kernel = next((one.ints for one in node.attribute if one.name == "kernel_shape"), (1,))
    return size * 2 * (prod(kernel) - 1) if node.op_type == "MaxPool" else size


def _shapes(model: onnx.ModelProto, signature: Signature) -> dict[str, tuple[int, ...]]:
    """Return the shapes of tensors that ONNX infers; its weights are not copied for that."""
    graph, values = model.graph, onnx.helper.make_tensor_value_info
    known = {one.name: tuple(one.dims) for one in graph.initializer}
    types = {one.name: one.data_type for one in graph.initializer}
    types |= {one.name: one.type.tensor_type.elem_type for one in graph.input}
    inputs = known | {signature.input_name: signature.input_shape}
    described = [values(name, types[name], shape) for name, shape in inputs.items()]
    small = [one for one in graph.initializer if prod(one.dims) <= _WEIGHTS]
    bare = onnx.helper.make_graph(graph.node, "shapes", described, graph.output, small)
    made = onnx.helper.make_model(bare, opset_imports=model.opset_import)
    made.ir_version = model.ir_version
    try:
        found = onnx.shape_inference.infer_shapes(made, data_prop=True).graph.value_info
    except onnx.shape_inference.InferenceError:
        return known
    dims = {one.name: one.type.tensor_type.shape.dim for one in found}
    return known | {name: tuple(one.dim_value for one in dim) for name, dim in dims.items()}


@dataclass(frozen=True, slots=True)
class Anchor:
    """A value of the network that is a tensor of the file: the output of the node ``node``."""

    value: int
    tensor: str
    node: str


@dataclass(frozen=True, slots=True)
class Trace:
    """The network, the operator left out at its end, if any, and ``anchors`` in order of values."""

    network: Network
    stripped: str | None
    anchors: tuple[Anchor, ...]


# They do more with constants than to add them or to multiply by them.
_MAGNIFYING = frozenset(("BatchNormalization", "PRelu", "Resize", "Upsample"))

Watch: TypeAlias = Callable[[str, str, Symbol], None]
"""Called with the node, the name and the symbol of each tensor that depends on the input."""


def trace(model: onnx.ModelProto, signature: Signature, watch: Watch | None = None) -> Trace:
    """Return the network that computes ``signature.scores_name``.

    Only nodes that this output depends on are read, and only weights in ``model`` itself. Raises
    ``UnsupportedOperatorError`` or another ``ModelError`` that names the node, the tensor or the
    initializer in question.
    """
    builder = Builder(signature.input_shape)
    tensors = _Tensors(model.graph, signature.input_name, builder.input)
    opset = _opset(model)
    computed: list[tuple[str, str, object, int | None]] = []
    functions = {(function.domain, function.name) for function in model.functions}
    protos = nodes_for(model.graph, [signature.scores_name])
    last = {name: place for place, proto in enumerate(protos) for name in proto.input}
    last[signature.scores_name] = len(protos)
    for place, proto in enumerate(protos):
        node = context_of(proto, opset, builder)
        # of operators that are refused on purpose, the reason says more than the domain
        named = node.operator in refusals or operator_named(node.operator) is not None
        standard = proto.domain in ("", "ai.onnx") or named
        if not standard or (proto.domain, proto.op_type) in functions:
            raise node.unsupported(
                f"it belongs to the domain {proto.domain!r} or is defined in the model itself; "
                "export with standard ONNX operators only"
            )
        inputs = [tensors.read(name, f"{node} reads") if name else None for name in proto.input]
        if any(isinstance(x, Symbol) for x in inputs):
            # an operator may compute more outputs than the node names, or fewer
            for name, x in zip(node.outputs, apply(node, _bare(node, inputs)), strict=False):
                tensors.known[name] = _held(x)
                if name and isinstance(x, Symbol) and x.tail is None:
                    computed.append((name, str(node), x.token, x.exact_value))
                    if watch is not None:
                        watch(str(node), name, x)
        else:
            constants = {
                name: x for name, x in zip(proto.input, inputs, strict=True) if isinstance(x, Known)
            }
            results = fold(node, proto, constants)
            tensors.known.update(zip(filter(None, node.outputs), results, strict=True))
        for name in {*proto.input, *proto.output}:
            if last.get(name, place) <= place:
                tensors.known.pop(name, None)  # nothing reads it any more
    output = tensors.read(signature.scores_name, "the model returns")
    return _finished(builder, signature, output, computed)


class _Tensors:
    """The tensors known so far by name; stored weights are decoded when first read."""

    def __init__(self, graph: onnx.GraphProto, input_name: str, source: Symbol) -> None:
        self.known: dict[str, Symbol | Known] = {input_name: source}
        self._graph = graph
        self._producers = producers_of(graph)
        self._stored = {tensor.name: tensor for tensor in graph.initializer}
        self._sparse = {tensor.values.name for tensor in graph.sparse_initializer}

    def read(self, name: str, reader: str) -> Symbol | Known:
        """Return the tensor ``name``; ``reader`` says in errors who reads it."""
        if name not in self.known:
            if name not in self._stored:
                raise self._missing(name, reader)
            self.known[name] = stored(self._stored[name])
        return self.known[name]

    def _missing(self, name: str, reader: str) -> ModelError:
        if name in self._sparse:
            return UnsupportedOperatorError(
                f"{reader} the sparse initializer {name!r}, which is not supported; store it dense"
            )
        if name not in self._producers:
            return ModelError(f"{reader} {name!r}, which nothing in the model defines")
        producer = self._graph.node[self._producers[name]]
        return UnsupportedOperatorError(
            f"{reader} {name!r}, the output {list(producer.output).index(name) + 1} of "
            f"{producer.op_type} {producer.name!r}, which is not supported"
        )


def _bare(node: NodeContext, inputs: Sequence[Symbol | Known | None]) -> list[Tensor | None]:
    """Return the inputs of an operator, constants as plain arrays without their rounding."""
    if node.operator in _MAGNIFYING and any(isinstance(x, Known) and x.error for x in inputs):
        raise node.unsupported(
            "constants that it reads are computed and rounded, and it may magnify that; store "
            "their values in the model instead"
        )
    return [x.array if isinstance(x, Known) else x for x in inputs]


def _held(x: Tensor) -> Symbol | Known:
    return x if isinstance(x, Symbol) else Known(x, x.dtype)


def _finished(
    builder: Builder,
    signature: Signature,
    output: Symbol | Known,
    computed: Iterable[tuple[str, str, object, int | None]],
) -> Trace:
    name = signature.scores_name
    if not isinstance(output, Symbol):
        raise ModelError(f"output {name!r} does not depend on the input")
    if not output.size or sum(dim > 1 for dim in output.shape) > 1:
        raise ModelError(
            f"output {name!r} has shape {output.shape} for an input of shape "
            f"{signature.input_shape}; expected one vector of scores. Where the model fixes its "
            "batch size, export it with batch size 1"
        )
    network = builder.network(output)
    anchors: dict[int, Anchor] = {}
    for tensor, node, token, exact in computed:
        value = builder.known(token, exact)
        if value:
            anchors.setdefault(value, Anchor(value, tensor, node))
    in_order = tuple(anchors[value] for value in sorted(anchors))
    return Trace(network, output.tail.operator if output.tail else None, in_order)


def _opset(model: onnx.ModelProto) -> int:
    versions: list[int] = [
        entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")
    ]
    if not versions:
        raise ModelError(
            "the model does not say which version of the ONNX operators it uses (opset_import)"
        )
    return max(versions)


def context_of(proto: onnx.NodeProto, opset: int, builder: Builder) -> NodeContext:
    """Return the context of ``proto``; ``ModelError`` where an attribute has no value."""
    attributes = {}
    for attribute in proto.attribute:
        where = f"attribute {attribute.name!r} of {proto.op_type} {proto.name!r}"
        with refusing(where, ValueError, kind=ModelError, brief=True):
            attributes[attribute.name] = _plain(onnx.helper.get_attribute_value(attribute))
    standard = proto.domain in ("", "ai.onnx")
    kind = proto.op_type if standard else f"{proto.domain}.{proto.op_type}"
    ends = tuple(proto.input), tuple(proto.output)
    return NodeContext(kind, proto.name, opset, attributes, *ends, builder)


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
