"""The walk through an ONNX graph that turns it into a network."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import onnx

from milp_verix.errors import ModelError, UnsupportedOperatorError
from milp_verix.onnx_reader import (  # noqa: F401 (they register their operators)
    activations,
    affine_ops,
    conv,
    conv_transpose,
    maxima,
    normalisation,
    pooling,
    reductions,
    resize,
    selection,
    shape_ops,
    smooth,
    tails,
)
from milp_verix.onnx_reader.builder import Builder
from milp_verix.onnx_reader.constants import fold, stored
from milp_verix.onnx_reader.messages import first_line
from milp_verix.onnx_reader.node import NodeContext
from milp_verix.onnx_reader.registry import apply, operators
from milp_verix.onnx_reader.signature import Signature
from milp_verix.onnx_reader.symbol import Symbol, Tensor
from verix_encodings.network import Network


@dataclass(frozen=True, slots=True)
class Anchor:
    """A value of the network that is a tensor of the file: the output of the node ``node``."""

    value: int
    tensor: str
    node: str


@dataclass(frozen=True, slots=True)
class Trace:
    """The network read from a graph, and the operator that was left out at its end, if any.

    ``anchors`` are in the order of their values.
    """

    network: Network
    stripped: str | None
    anchors: tuple[Anchor, ...]


Watch: TypeAlias = Callable[[str, str, Symbol], None]
"""Called with the node, the name and the symbol of each tensor that depends on the input."""


def trace(
    model: onnx.ModelProto, signature: Signature, folder: Path, watch: Watch | None = None
) -> Trace:
    """Return the network that computes ``signature.scores_name``.

    Only what this output needs is read. ``folder`` is where weights outside the file are looked
    for. Raises ``UnsupportedOperatorError`` or another ``ModelError`` that names the node, the
    tensor or the initializer in question.
    """
    builder = Builder(signature.input_shape)
    tensors = _Tensors(model.graph, signature.input_name, builder.input, folder)
    opset = _opset(model)
    computed: list[tuple[str, str, Symbol]] = []
    functions = {(function.domain, function.name) for function in model.functions}
    for proto in _needed(model.graph, signature.scores_name, tensors.producers):
        node = _context(proto, opset, builder)
        standard = proto.domain in ("", "ai.onnx") or node.operator in operators
        if not standard or (proto.domain, proto.op_type) in functions:
            raise node.unsupported(
                f"it belongs to the domain {proto.domain!r} or is defined in the model itself; "
                "export with standard ONNX operators only"
            )
        inputs = [tensors.read(name, f"{node} reads") if name else None for name in proto.input]
        if any(isinstance(x, Symbol) for x in inputs):
            # an operator may compute more outputs than the node names, or fewer
            for name, x in zip(node.outputs, apply(node, inputs), strict=False):
                tensors.known[name] = x
                if name and isinstance(x, Symbol) and x.tail is None:
                    computed.append((name, str(node), x))
                    if watch is not None:
                        watch(str(node), name, x)
        else:
            constants = dict(zip(proto.input, inputs, strict=True))
            known = {name: x for name, x in constants.items() if isinstance(x, np.ndarray)}
            tensors.known[node.outputs[0]] = fold(node, proto, known)
    output = tensors.read(signature.scores_name, "the model returns")
    return _finished(builder, signature, output, computed)


class _Tensors:
    """The tensors known so far by name; stored weights are decoded when first read."""

    def __init__(
        self, graph: onnx.GraphProto, input_name: str, source: Symbol, folder: Path
    ) -> None:
        self.known: dict[str, Tensor] = {input_name: source}
        self.producers = _producers(graph)
        self._stored = {tensor.name: tensor for tensor in graph.initializer}
        self._sparse = {tensor.values.name for tensor in graph.sparse_initializer}
        self._folder = folder

    def read(self, name: str, reader: str) -> Tensor:
        """Return the tensor ``name``; ``reader`` says in errors who reads it."""
        if name not in self.known:
            if name not in self._stored:
                raise self._missing(name, reader)
            self.known[name] = stored(self._stored[name], self._folder)
        return self.known[name]

    def _missing(self, name: str, reader: str) -> ModelError:
        if name in self._sparse:
            return UnsupportedOperatorError(
                f"{reader} the sparse initializer {name!r}, which is not supported; store it dense"
            )
        producer = self.producers.get(name)
        if producer is None:
            return ModelError(f"{reader} {name!r}, which nothing in the model defines")
        if producer.output[0] in self.known:
            return UnsupportedOperatorError(
                f"{reader} {name!r}, the output {list(producer.output).index(name) + 1} of "
                f"{producer.op_type} {producer.name!r}, which is not supported"
            )
        return ModelError(
            f"{reader} {name!r} before it is computed: the nodes form a cycle or are out of order"
        )


def _finished(
    builder: Builder,
    signature: Signature,
    output: Tensor,
    computed: Iterable[tuple[str, str, Symbol]],
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
    for tensor, node, symbol in computed:
        value = builder.known(symbol)
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


def _producers(graph: onnx.GraphProto) -> dict[str, onnx.NodeProto]:
    defined = {tensor.name for tensor in graph.initializer}
    defined |= {value.name for value in graph.input}
    producers: dict[str, onnx.NodeProto] = {}
    for proto in graph.node:
        for name in filter(None, proto.output):
            if name in defined:
                raise ModelError(f"{proto.op_type} {proto.name!r} defines {name!r} a second time")
            defined.add(name)
            producers[name] = proto
    return producers


def _needed(
    graph: onnx.GraphProto, output: str, producers: dict[str, onnx.NodeProto]
) -> Iterable[onnx.NodeProto]:
    """Return the nodes that ``output`` depends on, in the order of the graph."""
    needed: set[str] = set()
    open_names = [output]
    while open_names:
        name = open_names.pop()
        if name not in needed:
            needed.add(name)
            open_names.extend(producers[name].input if name in producers else ())
    return [proto for proto in graph.node if not needed.isdisjoint(filter(None, proto.output))]


def _context(proto: onnx.NodeProto, opset: int, builder: Builder) -> NodeContext:
    attributes = {}
    for attribute in proto.attribute:
        try:
            value = onnx.helper.get_attribute_value(attribute)
        except ValueError as error:
            raise ModelError(
                f"attribute {attribute.name!r} of {proto.op_type} {proto.name!r}: "
                f"{first_line(error)}"
            ) from error
        attributes[attribute.name] = _plain(value)
    standard = proto.domain in ("", "ai.onnx")
    return NodeContext(
        proto.op_type if standard else f"{proto.domain}.{proto.op_type}",
        proto.name,
        opset,
        attributes,
        tuple(proto.input),
        tuple(proto.output),
        builder,
    )


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return list(value) if isinstance(value, (list, tuple)) else value
