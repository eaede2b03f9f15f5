"""Affine operators: sums and products with constants."""

from functools import reduce

import numpy as np

from milp_verix.models.onnx.node import NodeContext
from milp_verix.models.onnx.operators.products import contracted, multiply, quotient
from milp_verix.models.onnx.operators.tails import complement, gated
from milp_verix.models.onnx.registry import operator
from milp_verix.models.onnx.symbol import (
    Symbol,
    Tensor,
    add,
    as_symbol,
    divide,
    dot,
    rearrange,
    scale,
    times,
)


@operator("Add")
def add_(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """``a + b``, broadcast."""
    return add(as_symbol(a), as_symbol(b))


@operator("Sub", of_scores=complement)
def sub(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """``a - b``, broadcast."""
    return add(as_symbol(a), scale(as_symbol(b), -1.0))


@operator("Neg")
def neg(node: NodeContext, x: Tensor) -> Tensor:
    """``-x``."""
    return scale(as_symbol(x), -1.0)


@operator("Mul", of_scores=gated)
def mul(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """``a * b``, broadcast."""
    if isinstance(b, Symbol):
        a, b = b, a
    if isinstance(b, Symbol):
        return multiply(node.builder, as_symbol(a), b)
    return times(as_symbol(a), b)


@operator("Div")
def div(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """``a / b``, broadcast."""
    if isinstance(b, Symbol):
        return quotient(node.builder, a, b)
    return divide(as_symbol(a), b)


@operator("Sum")
def sum_(node: NodeContext, *xs: Tensor) -> Tensor:
    """The sum of any number of tensors, broadcast."""
    return reduce(add, map(as_symbol, xs))


@operator("Mean")
def mean(node: NodeContext, *xs: Tensor) -> Tensor:
    """The mean of any number of tensors, broadcast."""
    return divide(reduce(add, map(as_symbol, xs)), np.array(len(xs)))


@operator("MatMul")
def matmul(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """``a @ b`` by numpy's rules: batch dimensions broadcast, vectors are promoted."""
    return matrix_product(node, a, b)


@operator("Gemm", attributes=("alpha", "beta", "transA", "transB"))
def gemm(node: NodeContext, a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
    """``alpha * A @ B + beta * C``, with A and B matrices, transposed on demand."""
    if a.ndim != 2 or b.ndim != 2:
        raise node.malformed(f"it multiplies tensors of shapes {a.shape} and {b.shape}")
    a = _transposed(a) if node.integer("transA", 0) else a
    b = _transposed(b) if node.integer("transB", 0) else b
    product = scale(as_symbol(matrix_product(node, a, b)), node.number("alpha", 1.0))
    if c is None:
        return product
    total = add(product, scale(as_symbol(c), node.number("beta", 1.0)))
    if total.shape != product.shape:
        raise node.malformed(f"C of shape {c.shape} does not fit a product {product.shape}")
    return total


def matrix_product(node: NodeContext, a: Tensor, b: Tensor) -> Symbol:
    """Return ``a @ b`` by numpy's rules."""
    if not isinstance(b, Symbol):
        a = as_symbol(a)
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
        product = dot(a, rows, columns)
    else:
        assert isinstance(b, Symbol)
        product = dot(b, columns, rows)
    promoted = ((-2,) if left.ndim == 1 else ()) + ((-1,) if right.ndim == 1 else ())
    return rearrange(product, lambda index: np.squeeze(index, promoted))


def _transposed(x: Tensor) -> Tensor:
    return rearrange(x, np.transpose) if isinstance(x, Symbol) else x.T
