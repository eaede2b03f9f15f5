"""Constants: the stored weights, and the shape arithmetic that exporters leave in a graph.

Floating-point constants become float64, which holds stored float16, float32 and float64 weights
exactly; integers keep their type, because integer arithmetic depends on it.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TypeAlias

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from milp_verix.errors import ModelError
from milp_verix.onnx_reader.messages import first_line
from milp_verix.onnx_reader.node import NodeContext
from milp_verix.onnx_reader.symbol import Constant

MAX_CONSTANT_ELEMENTS = 10**8

OutputSize: TypeAlias = Callable[[NodeContext, Sequence[Constant]], int]


def stored(tensor: onnx.TensorProto, folder: Path) -> Constant:
    """Return the weights that ``tensor`` stores, in the file or beside it in ``folder``.

    Raises ``ModelError`` where they are missing, damaged or not numbers.
    """
    label = f"initializer {tensor.name!r}"
    try:
        array = onnx.numpy_helper.to_array(tensor, base_dir=str(folder))
    except Exception as error:  # onnx raises what its parsers and numpy raise, and plain C++ errors
        raise ModelError(f"{label} cannot be read: {first_line(error)}") from error
    return _widened(array, label)


def fold(node: NodeContext, proto: onnx.NodeProto, inputs: Mapping[str, Constant]) -> Constant:
    """Evaluate the first output of a node whose ``inputs`` (by name) are all constant.

    Raises ``UnsupportedOperatorError`` for operators that are not shape arithmetic, ``ModelError``
    where the result would be huge or the evaluation fails.
    """
    output_size = _OUTPUT_SIZES.get(node.operator)
    if output_size is None:
        raise node.unsupported(
            "its inputs are all constant, and it is not among the operators evaluated on constants "
            f"({', '.join(sorted(_OUTPUT_SIZES))}); fold the constants of the model, for example "
            "with onnxsim"
        )
    try:
        size = output_size(node, [inputs[name] for name in proto.input if name])
        if size > MAX_CONSTANT_ELEMENTS:
            raise node.malformed(f"it computes a constant of {size:,} elements")
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            result = _evaluate(node, proto, inputs)
    except ModelError:
        raise
    except Exception as error:  # the reference implementation raises whatever its operators raise
        raise ModelError(f"{node} cannot be evaluated: {first_line(error)}") from error
    return _widened(result, f"the result of {node}")


def _evaluate(node: NodeContext, proto: onnx.NodeProto, inputs: Mapping[str, Constant]) -> Constant:
    graph = onnx.helper.make_graph(
        [proto],
        "constant",
        [
            onnx.helper.make_tensor_value_info(
                name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in inputs.items()
        ],
        [onnx.helper.make_empty_tensor_value_info(node.outputs[0])],
    )
    opset = onnx.helper.make_opsetid("", node.opset)
    model = onnx.helper.make_model(graph, opset_imports=[opset])
    (result,) = ReferenceEvaluator(model).run(None, dict(inputs))
    return np.asarray(result)


def _widened(array: Constant, label: str) -> Constant:
    if array.dtype.kind not in "biuf":
        raise ModelError(f"{label} has type {array.dtype}, which is not supported")
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _at_most_inputs(node: NodeContext, arrays: Sequence[Constant]) -> int:
    return sum(array.size for array in arrays)


def _broadcast(node: NodeContext, arrays: Sequence[Constant]) -> int:
    return prod(np.broadcast_shapes(*(array.shape for array in arrays)))


def _gathered(node: NodeContext, arrays: Sequence[Constant]) -> int:
    data, indices = arrays
    axis: int = data.shape[node.integer("axis", 0)]
    return data.size // axis * indices.size


def _filled(node: NodeContext, arrays: Sequence[Constant]) -> int:
    return prod(int(dim) for dim in arrays[0])


def _counted(node: NodeContext, arrays: Sequence[Constant]) -> int:
    start, limit, delta = (array.item() for array in arrays)
    return max(int((limit - start) / delta), 0) + 1


_OUTPUT_SIZES: dict[str, OutputSize] = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _broadcast),
    "ConstantOfShape": _filled,
    "Gather": _gathered,
    "Range": _counted,
    **dict.fromkeys(
        (
            "Cast",
            "Ceil",
            "Concat",
            "Constant",
            "Flatten",
            "Floor",
            "Identity",
            "Neg",
            "ReduceProd",
            "Reshape",
            "Shape",
            "Slice",
            "Squeeze",
            "Transpose",
            "Unsqueeze",
        ),
        _at_most_inputs,
    ),
}
