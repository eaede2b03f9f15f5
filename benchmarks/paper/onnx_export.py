"""A trained network as an ONNX model, written node by node: equal weights are equal bytes."""

from collections.abc import Sequence

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from benchmarks.paper.architectures import Architecture, Conv, Dense, Pool, Shape

Weights = Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]
"""Kernel and bias of each convolution and dense layer; a dense kernel is (outputs, inputs)."""

_OPSET, _IR_VERSION = 17, 9


def to_onnx(architecture: Architecture, shape: Shape, weights: Weights) -> onnx.ModelProto:
    """Return the network for images of ``shape``; its output are logits, or the estimate."""
    nodes, initializers, value, flat = [], [], "image", False
    remaining = iter(weights)
    for k, layer in enumerate(architecture.layers):
        last = k == len(architecture.layers) - 1
        if isinstance(layer, Pool):
            sides = {"kernel_shape": [2, 2], "strides": [2, 2]}
            nodes.append(helper.make_node("MaxPool", [value], [f"pool_{k}"], **sides))
            value = f"pool_{k}"
            continue
        if isinstance(layer, Dense) and not flat:
            nodes.append(helper.make_node("Flatten", [value], ["flat"]))
            value, flat = "flat", True
        names = [f"weight_{k}", f"bias_{k}"]
        pairs = zip(next(remaining), names, strict=True)
        initializers += [numpy_helper.from_array(array, name) for array, name in pairs]
        output = "output" if last else f"affine_{k}"
        if isinstance(layer, Conv):
            nodes.append(helper.make_node("Conv", [value, *names], [output]))
        else:
            nodes.append(helper.make_node("Gemm", [value, *names], [output], transB=1))
        value = output
        if layer.active if isinstance(layer, Conv) else not last:
            nodes.append(helper.make_node("Relu", [value], [f"relu_{k}"]))
            value = f"relu_{k}"
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", *shape])
    outputs = helper.make_tensor_value_info(value, TensorProto.FLOAT, ["N", architecture.outputs])
    graph = helper.make_graph(nodes, architecture.name, [image], [outputs], initializers)
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="milp-verix/benchmarks/paper",
    )
    onnx.checker.check_model(model, full_check=True)
    return model
