"""Convolution in any number of spatial dimensions."""

import numpy as np

from milp_verix.onnx_reader.node import NodeContext
from milp_verix.onnx_reader.operators.windows import WINDOW_ATTRIBUTES, windows
from milp_verix.onnx_reader.registry import operator
from milp_verix.onnx_reader.symbol import Symbol, Tensor, add, as_symbol, dot, rearrange


@operator("Conv", attributes=(*WINDOW_ATTRIBUTES, "group"))
def conv(node: NodeContext, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    """Cross-correlate ``x`` (N, C, *D) with ``w`` (M, C / group, *K) and add ``b`` (M,)."""
    if not isinstance(x, Symbol) or isinstance(w, Symbol) or isinstance(b, Symbol):
        raise node.unsupported("its weights are not constants")
    group, kernel, spatial = node.integer("group", 1), w.shape[2:], x.ndim - 2
    if spatial < 1 or w.ndim != x.ndim:
        raise node.malformed(f"weights of shape {w.shape} do not fit an input {x.shape}")
    if group < 1 or w.shape[0] % group or x.shape[1] != group * w.shape[1]:
        raise node.malformed(
            f"weights of shape {w.shape} in {group} groups do not fit an input {x.shape}"
        )
    if tuple(node.integers("kernel_shape") or kernel) != kernel:
        raise node.malformed(f"kernel_shape disagrees with weights of shape {w.shape}")
    columns = windows(node, x.indices, kernel)
    # To (N, group, 1, *output, C / group, *K) and (group, M / group, *1, C / group, *K).
    columns = columns.reshape(x.shape[0], group, w.shape[1], *columns.shape[2:])
    columns = np.moveaxis(columns, 2, 2 + spatial)[:, :, None]
    weights = w.reshape(group, -1, *(1,) * spatial, *w.shape[1:])
    product = dot(x, columns, weights, contracted=1 + spatial)
    shape = (x.shape[0], w.shape[0], *product.shape[3:])
    result = rearrange(product, lambda index: index.reshape(shape))
    if b is None:
        return result
    if b.shape != w.shape[:1]:
        raise node.malformed(f"a bias of shape {b.shape} does not fit weights {w.shape}")
    return add(result, as_symbol(b.reshape(-1, *(1,) * spatial)))
