"""Networks that memory has no room for, refused by an estimate before they are read."""

from math import prod

import onnx

from milp_verix.base.errors import ModelError
from milp_verix.base.stored_numbers import free_memory
from milp_verix.models.onnx.signature import Signature

_KEPT, _WHILE_READ = 12, 14
"""Bytes for each weight of each window of a convolution, and more while it is read: measured."""
_SMALL, _WEIGHTS = 10_000, 1024
"""Numbers of inputs that are not looked at, and of stored tensors that may say a shape."""


def require_room(model: onnx.ModelProto, signature: Signature) -> None:
    """Raise ``ModelError`` where the matrices of convolutions need more memory than is free."""
    shape = signature.input_shape
    convolutions = [node for node in model.graph.node if node.op_type == "Conv"]
    if prod(shape) < _SMALL or not convolutions:
        return
    free = free_memory()
    shapes = _shapes(model, signature)
    pairs = [(shapes.get(node.output[0]), shapes.get(node.input[1])) for node in convolutions]
    counts = [prod(result) * prod(w[1:]) for result, w in pairs if result and w]
    entries = sum(counts)
    if (needed := _KEPT * entries + _WHILE_READ * max(counts, default=0)) > free:
        share = (free / needed) ** (1 / max(len(shape) - 2, 1))
        sizes = " x ".join(str(max(int(share * size), 1)) for size in shape[2:])
        raise ModelError(
            f"the network needs about {needed / 1e9:.3g} GB for the {entries:,} entries of its "
            f"convolutions, and {free / 1e9:.3g} GB are free: an input of {sizes} would fit"
        )


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
