"""Normalisation by stored statistics: an affine map of each channel or feature."""

import numpy as np

from milp_verix.onnx_reader.node import NodeContext
from milp_verix.onnx_reader.registry import operator
from milp_verix.onnx_reader.symbol import Constant, Symbol, Tensor, add, as_symbol, times


@operator(
    "BatchNormalization",
    attributes=("epsilon", "momentum", "spatial", "training_mode", "is_test", "consumed_inputs"),
)
def batch_normalization(  # noqa: PLR0917 (the inputs of the node)
    node: NodeContext, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor
) -> Tensor:
    """``(x − mean) / √(variance + epsilon) · scale + bias``, for each channel: axis 1."""
    trains = node.integer("training_mode", 0) or not (node.opset >= 7 or node.integer("is_test", 0))
    if trains:
        raise node.unsupported("it is in training mode; export the model in eval mode")
    if node.integer("spatial", 1) != 1:
        raise node.unsupported("it normalises every position by its own statistics (spatial = 0)")
    channels = x.shape[1] if x.ndim > 1 else 1
    statistics = []
    for tensor in (scale, bias, mean, variance):
        if isinstance(tensor, Symbol):
            raise node.unsupported("its statistics depend on the network's input")
        if tensor.shape != (channels,):
            raise node.malformed(f"statistics of shape {tensor.shape} do not fit {x.shape}")
        statistics.append(tensor.astype(np.float64))
    gain, shift, centre, spread = statistics
    spread = spread + node.number("epsilon", 1e-5)
    if not np.all(spread > 0):
        raise node.malformed("a variance is not positive")
    factor = gain / np.sqrt(spread)
    side = (channels, *(1,) * (x.ndim - 2)) if x.ndim > 1 else (channels,)
    moved = add(as_symbol(x), as_symbol(-centre.reshape(side)))
    return add(times(moved, factor.reshape(side)), as_symbol(shift.reshape(side)))


@operator("ai.onnx.ml.Scaler", attributes=("offset", "scale"))
def scaler(node: NodeContext, x: Tensor) -> Tensor:
    """``(x − offset) · scale``, by one number or one for each feature: scikit-learn's scalers."""
    offset, scale = (_features(node, name, x.shape[-1]) for name in ("offset", "scale"))
    return times(add(as_symbol(x), as_symbol(-offset)), scale)


def _features(node: NodeContext, name: str, features: int) -> Constant:
    values = node.numbers(name)
    if values is None or len(values) not in (1, features):
        raise node.malformed(f"{name} {values} does not fit {features} features")
    return np.array(values)
