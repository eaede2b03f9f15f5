"""Networks behind a transformer of scikit-learn, and with several inputs, as one ONNX model each.

Of several inputs, one vector: slices and reshapes in front of the graph take it apart, so that
whatever reads the model, or runs it, sees one input. They move numbers and round nothing.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import onnx

from milp_verix.base.errors import InputError, ModelError, refusing
from milp_verix.inputs.fitted import Missing
from milp_verix.inputs.table_encoding import encoding_of
from milp_verix.models.onnx.exporters import as_onnx
from milp_verix.models.onnx.graph import read_signature
from milp_verix.models.onnx.model_file import embed, path_of, read_model
from milp_verix.models.onnx.table_model import behind, require_equal

JOINED = "milp_verix_inputs"
"""The name of the vector."""


@dataclass(frozen=True, slots=True)
class JoinedInputs:
    """The inputs of a model in their order: their names, and the number of entries of each."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """A name for each entry of the vector: the input's, with a number if it has several."""
        return tuple(
            name if size == 1 else f"{name}[{place}]"
            for name, size in zip(self.names, self.sizes, strict=True)
            for place in range(size)
        )


def join_inputs(model: onnx.ModelProto) -> JoinedInputs | None:
    """Give ``model`` one input in place of several, in place; None if it has not several.

    A dynamic dimension is a batch of 1. Raises ``ModelError`` for inputs without a shape, with
    several dynamic dimensions, or of types that are not one floating-point type.
    """
    graph = model.graph
    stored = {tensor.name for tensor in graph.initializer}
    stored |= {tensor.values.name for tensor in graph.sparse_initializer}
    inputs = [value for value in graph.input if value.name not in stored]
    if len(inputs) < 2:
        return None
    types = {value.type.tensor_type.elem_type for value in inputs}
    floats = (onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE)
    if len(types) != 1 or not types <= {*floats}:
        listed = ", ".join(repr(value.name) for value in inputs)
        raise ModelError(
            f"the model has several inputs, {listed}, which are not all of one floating-point type"
        )
    shapes = [_shape(value) for value in inputs]
    sizes = tuple(prod(shape) for shape in shapes)
    nodes, start = [], 0
    for value, shape, size in zip(inputs, shapes, sizes, strict=True):
        constants = {"start": [start], "end": [start + size], "axis": [1], "shape": shape}
        names = {key: f"{JOINED}_{value.name}_{key}" for key in constants}
        for key, numbers in constants.items():
            tensor = onnx.helper.make_tensor(
                names[key], onnx.TensorProto.INT64, [len(numbers)], numbers
            )
            graph.initializer.append(tensor)
        part = f"{JOINED}_{value.name}"
        bounds = [names["start"], names["end"], names["axis"]]
        nodes.append(onnx.helper.make_node("Slice", [JOINED, *bounds], [part]))
        nodes.append(onnx.helper.make_node("Reshape", [part, names["shape"]], [value.name]))
        start += size
    kept = [value for value in graph.input if value.name in stored]
    before = [onnx.NodeProto.FromString(node.SerializeToString()) for node in graph.node]
    del graph.input[:], graph.node[:]
    graph.input.append(onnx.helper.make_tensor_value_info(JOINED, types.pop(), [1, start]))
    graph.input.extend(kept)
    graph.node.extend([*nodes, *before])
    return JoinedInputs(tuple(value.name for value in inputs), sizes)


def _shape(value: onnx.ValueInfoProto) -> list[int]:
    tensor = value.type.tensor_type
    dims = [dim.dim_value if dim.dim_value > 0 else 0 for dim in tensor.shape.dim]
    if not tensor.HasField("shape") or dims.count(0) > 1:
        raise ModelError(
            f"input {value.name!r}, one of several, has no shape with one dynamic dimension at most"
        )
    return [dim or 1 for dim in dims]


_ROUNDING = 1e-6
"""Rounding of the numbers, relative to the largest: a scaled number may be far from zero before."""


def behind_transformer(
    source: Any,
    transformer: Any,
    frame: Any = None,
    output: str | None = None,
    missing: Missing = (),
) -> onnx.ModelProto:
    """Return the model of rows of a table that ``transformer`` turns into inputs of ``source``.

    The numbers that rows become are compared, with a DataFrame ``frame`` those of its rows, too;
    words and numbers may be ``missing`` as in :func:`.encoding_of`. Raises ``InputError`` for a
    transformer that is not known, and for a network of another input; ``ModelError`` where numbers
    differ.
    """
    encoding = encoding_of(transformer, missing=missing)
    width = encoding.matrix.shape[1]
    require_equal(
        encoding,
        transformer,
        frame,
        found=encoding.encoded,
        expected=lambda table: _dense(transformer.transform(table)),
        rounding=_ROUNDING,
    )
    found = as_onnx(source, np.zeros((1, width), np.float32))
    path = path_of(found)
    model, _ = read_model(found)
    embed(model, None if path is None else path.parent)
    with refusing(f"the transformer makes {width} numbers of a row", InputError):
        signature = read_signature(model.graph, input_shape=(1, width), output=output)
    return behind(encoding, model, signature.input_name)


def _dense(codes: Any) -> Any:
    return codes.toarray() if hasattr(codes, "toarray") else codes
