"""Affine operators: sums and products with constants, convolutions in any number of dimensions."""

from functools import reduce
from math import prod

import numpy as np
import scipy.sparse as sp

from milp_verix.models.onnx.operators.norms import complement, gated
from milp_verix.models.onnx.operators.pooling import WINDOW_ATTRIBUTES, positive, split, windows
from milp_verix.models.onnx.operators.products import contracted, multiply, quotient
from milp_verix.models.onnx.registry import NodeContext, operator
from milp_verix.models.onnx.symbol import (
    Constant,
    Shape,
    Symbol,
    Tensor,
    by_windows,
    check_elements,
    check_nonzeros,
    moved,
)
from verix_encodings.arrays import IntArray


@operator("Add")
def add_(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """``a + b``, broadcast."""
    return Symbol.of(a) + b


@operator("Sub", of_scores=complement)
def sub(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """``a - b``, broadcast."""
    return Symbol.of(a) - b


@operator("Mul", of_scores=gated)
def mul(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """``a * b``, broadcast."""
    if isinstance(b, Symbol):
        a, b = b, a
    if isinstance(b, Symbol):
        return multiply(node.builder, Symbol.of(a), b)
    return Symbol.of(a) * b


@operator("Div")
def div(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """``a / b``, broadcast."""
    if isinstance(b, Symbol):
        return quotient(node.builder, a, b)
    return Symbol.of(a) / b


@operator("Sum", "Mean")
def sum_(node: NodeContext, *xs: Tensor) -> Tensor:
    """The sum or the mean of any number of tensors, broadcast."""
    total = reduce(Symbol.__add__, map(Symbol.of, xs))
    return total / len(xs) if node.operator == "Mean" else total


@operator("Gemm", attributes=("alpha", "beta", "transA", "transB"))
def gemm(node: NodeContext, a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
    """``alpha * A @ B + beta * C``, with A and B matrices, transposed on demand."""
    if a.ndim != 2 or b.ndim != 2:
        raise node.malformed(f"it multiplies tensors of shapes {a.shape} and {b.shape}")
    a = moved(a, np.transpose) if node.integer("transA", 0) else a
    b = moved(b, np.transpose) if node.integer("transB", 0) else b
    product = matrix_product(node, a, b) * node.number("alpha", 1.0)
    if c is None:
        return product
    total = product + Symbol.of(c) * node.number("beta", 1.0)
    if total.shape != product.shape:
        raise node.malformed(f"C of shape {c.shape} does not fit a product {product.shape}")
    return total


@operator("MatMul")
def matrix_product(node: NodeContext, a: Tensor, b: Tensor) -> Symbol:
    """``a @ b`` by numpy's rules: batch dimensions broadcast, vectors are promoted."""
    if not isinstance(b, Symbol):
        a = Symbol.of(a)
    left = a.indices if isinstance(a, Symbol) else a
    right = b.indices if isinstance(b, Symbol) else b
    if left.ndim == 0 or right.ndim == 0:
        raise node.malformed("it multiplies a scalar")
    # Rows of the left against columns of the right: shape (..., rows, columns, summed).
    rows = left[..., :, None, :] if left.ndim > 1 else left[None, None, :]
    columns = right.swapaxes(-1, -2)[..., None, :, :] if right.ndim > 1 else right[None, None, :]
    if isinstance(a, Symbol) and isinstance(b, Symbol):
        product = contracted(node.builder, a, b, rows, columns)
    elif isinstance(a, Symbol):
        product = a.dot(rows, columns)
    else:
        assert isinstance(b, Symbol)
        product = b.dot(columns, rows)
    promoted = ((-2,) if left.ndim == 1 else ()) + ((-1,) if right.ndim == 1 else ())
    return product.rearrange(lambda index: np.squeeze(index, promoted))


@operator("Conv", attributes=(*WINDOW_ATTRIBUTES, "group"))
def conv(node: NodeContext, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    """Cross-correlate ``x`` (N, C, *D) with ``w`` (M, C / group, *K) and add ``b`` (M,)."""
    x, w, b = _convolved(node, x, w, b)
    group, kernel, spatial = node.integer("group", 1), w.shape[2:], x.ndim - 2
    if group < 1 or w.shape[0] % group or x.shape[1] != group * w.shape[1]:
        raise node.malformed(
            f"weights of shape {w.shape} in {group} groups do not fit an input {x.shape}"
        )
    columns = windows(node, x.indices, kernel)
    output = columns.shape[2 : 2 + spatial]
    if by_windows(w.size * prod(output), w.shape[0] // group) and x.shape[0] == 1:
        places = np.moveaxis(columns[0], range(1, 1 + spatial), range(-spatial, 0))
        check_nonzeros(places.size)
        kernels = w.reshape(group, w.shape[0] // group, -1)
        read = places.reshape(*kernels.shape[::2], prod(output))
        biases = np.zeros(w.shape[0]) if b is None else b
        return node.builder.convolution(x, kernels, read, biases, (1, w.shape[0], *output))
    # To (N, group, 1, *output, C / group, *K) and (group, M / group, *1, C / group, *K).
    columns = columns.reshape(x.shape[0], group, w.shape[1], *columns.shape[2:])
    columns = np.moveaxis(columns, 2, 2 + spatial)[:, :, None]
    weights = w.reshape(group, -1, *(1,) * spatial, *w.shape[1:])
    product = x.dot(columns, weights, contracted=1 + spatial)
    shape = (x.shape[0], w.shape[0], *product.shape[3:])
    return _biased(node, product.rearrange(lambda index: index.reshape(shape)), w, b)


@operator(
    "ConvTranspose", attributes=(*WINDOW_ATTRIBUTES, "group", "output_padding", "output_shape")
)
def conv_transpose(node: NodeContext, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    """Spread ``x`` (N, C, *D) by ``w`` (C, M / group, *K) and add ``b`` (M,)."""
    x, w, b = _convolved(node, x, w, b, transposed=True)
    group, kernel = node.integer("group", 1), w.shape[2:]
    if group < 1 or x.shape[1] % group:
        raise node.malformed(f"{group} groups do not fit an input {x.shape}")
    channels = w.shape[1] * group
    positions, sizes = _positions(node, x.shape[2:], kernel)
    shape = (x.shape[0], channels, *sizes)
    check_elements(shape)
    check_nonzeros(prod(x.shape) * w.shape[1] * prod(kernel))
    return _biased(node, x.linear(_matrix(x, w, group, positions, shape), shape), w, b)


def _convolved(
    node: NodeContext, x: Tensor, w: Tensor, b: Tensor | None, *, transposed: bool = False
) -> tuple[Symbol, Constant, Constant | None]:
    """Return the inputs of a convolution; raises where weights are computed, or do not fit."""
    if not isinstance(x, Symbol) or isinstance(w, Symbol) or isinstance(b, Symbol):
        raise node.unsupported("its weights are not constants")
    if x.ndim < 3 or w.ndim != x.ndim or (transposed and w.shape[0] != x.shape[1]):
        raise node.malformed(f"weights of shape {w.shape} do not fit an input {x.shape}")
    if tuple(node.integers("kernel_shape") or w.shape[2:]) != w.shape[2:]:
        raise node.malformed(f"kernel_shape disagrees with weights of shape {w.shape}")
    return x, w, b


def _biased(node: NodeContext, x: Symbol, w: Constant, b: Constant | None) -> Symbol:
    """Return ``x`` (N, C, *D) with the bias (C,) of its channels, if there is one."""
    if b is None:
        return x
    if b.shape != x.shape[1:2]:
        raise node.malformed(f"a bias of shape {b.shape} does not fit weights {w.shape}")
    return x + b.reshape(-1, *(1,) * (x.ndim - 2))


def _matrix(
    x: Symbol, w: np.ndarray, group: int, positions: IntArray, shape: Shape
) -> sp.csr_array:
    """Return the matrix from flat ``x`` to the flat result: a weight for each (source, target)."""
    n, c, m = x.shape[0], x.shape[1], w.shape[1]
    d, k = positions.shape
    area = prod(shape[2:])
    # Axes: image, channel of x, position in x, channel of the result in its group, kernel entry.
    source = x.indices.reshape(n, c, d, 1, 1)
    channel = (np.arange(c) // (c // group) * m)[:, None] + np.arange(m)
    plane = np.arange(n)[:, None, None] * shape[1] + channel
    target = plane[:, :, None, :, None] * area + positions[None, None, :, None, :]
    weight = w.astype(np.float64).reshape(1, c, 1, m, k)
    inside = np.broadcast_to(positions[None, None, :, None, :] >= 0, target.shape)
    rows, columns, values = (
        np.broadcast_to(part, target.shape)[inside] for part in (target, source, weight)
    )
    return sp.csr_array((values, (rows, columns)), shape=(prod(shape), x.size))


def _positions(node: NodeContext, sizes: Shape, kernel: Shape) -> tuple[IntArray, Shape]:
    """Return targets, flat, (product of sizes, of kernel), -1 where cut, and the output sizes."""
    count = len(kernel)
    strides, dilations = positive(node, "strides", count), positive(node, "dilations", count)
    extra = node.integers("output_padding") or [0] * count
    wanted, mode = node.integers("output_shape"), node.text("auto_pad", "NOTSET")
    pads = node.integers("pads") or [0] * 2 * count
    if len(extra) != count or min(extra) < 0 or len(pads) != 2 * count or min(pads) < 0:
        raise node.malformed(f"pads {pads} and output_padding {extra} do not fit {sizes}")
    if mode not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise node.malformed(f"auto_pad is {mode!r}")
    if wanted is not None and len(wanted) != count:
        raise node.malformed(f"output_shape {wanted} does not fit {sizes}")
    outputs, landing = [], []
    for axis, (size, k) in enumerate(zip(sizes, kernel, strict=True)):
        stride, dilation = strides[axis], dilations[axis]
        full = (size - 1) * stride + (k - 1) * dilation + 1 + extra[axis]
        before, after = pads[axis], pads[count + axis]
        if wanted is not None or mode.startswith("SAME"):
            output = wanted[axis] if wanted is not None else size * stride
            if output > full:
                raise node.unsupported(
                    f"onnxruntime and the specification disagree about an output of {output} where "
                    f"only {full} are computed; give pads instead of auto_pad or output_shape"
                )
            before, after = split(full - output, mode)
        output = full - before - after
        if output < 1:
            raise node.malformed(f"pads {pads} leave nothing of an input {sizes}")
        check_elements((output,))
        place = np.arange(size)[:, None] * stride + np.arange(k) * dilation - before
        landing.append(np.where((place >= 0) & (place < output), place, -1))
        outputs.append(output)
    flat = np.zeros((1, 1), dtype=np.intp)
    for output, place in zip(outputs, landing, strict=True):
        both = flat[:, None, :, None] * output + place[None, :, None, :]
        cut = (flat[:, None, :, None] < 0) | (place[None, :, None, :] < 0)
        flat = np.where(cut, -1, both).reshape(flat.shape[0] * place.shape[0], -1)
    return flat, tuple(outputs)
