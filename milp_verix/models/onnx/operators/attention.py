"""Attention, and sums of products by index notation."""

import math

import numpy as np

from milp_verix.models.onnx.builder import MASKED
from milp_verix.models.onnx.operators.affine import matrix_product
from milp_verix.models.onnx.operators.products import contracted
from milp_verix.models.onnx.registry import NodeContext, operator
from milp_verix.models.onnx.symbol import (
    Symbol,
    Tensor,
    add,
    as_symbol,
    check_nonzeros,
    dot,
    rearrange,
    scale,
)
from verix_encodings.arrays import IntArray
from verix_encodings.bounds.curves import TANH


@operator(
    "Attention",
    attributes=(
        "is_causal",
        "kv_num_heads",
        "q_num_heads",
        "qk_matmul_output_mode",
        "scale",
        "softcap",
        "softmax_precision",
    ),
)
def attention(
    node: NodeContext, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None
) -> Tensor:
    """``softmax(scale Q Kᵀ + mask) V`` for each head, of tensors with 3 or 4 dimensions."""
    if isinstance(mask, Symbol):
        raise node.unsupported("its mask depends on the network's input")
    heads, of_keys = node.integer("q_num_heads", 0), node.integer("kv_num_heads", 0)
    flat = q.ndim == 3
    if flat:
        if not heads or not of_keys:
            raise node.malformed("tensors of 3 dimensions need the numbers of heads")
        q, k, v = (_by_head(x, n) for x, n in ((q, heads), (k, of_keys), (v, of_keys)))
    if q.ndim != 4 or k.ndim != 4 or v.ndim != 4 or q.shape[1] % k.shape[1]:
        raise node.malformed(f"it attends to shapes {q.shape}, {k.shape} and {v.shape}")
    repeat = q.shape[1] // k.shape[1]
    k, v = (_moved(x, lambda index: np.repeat(index, repeat, 1)) for x in (k, v))
    factor = node.number("scale", 0.0) or 1.0 / math.sqrt(q.shape[-1])
    scores = as_symbol(matrix_product(node, q, _moved(k, lambda index: index.swapaxes(-1, -2))))
    scores = scale(scores, factor)
    cap = node.number("softcap", 0.0)
    if mask is not None or node.integer("is_causal", 0):
        scores = add(scores, as_symbol(_mask(node, mask, scores.shape)))
    if cap:
        scores = scale(node.builder.smooth(scale(scores, 1.0 / cap), TANH), cap)
    weights = node.builder.softmax(scores, (3,))
    result = matrix_product(node, weights, v)
    if not flat:
        return result
    return rearrange(
        result,
        lambda index: index.transpose(0, 2, 1, 3).reshape(
            *index.shape[::2][:1], index.shape[2], -1
        ),
    )


def _moved(x: Tensor, operation: object) -> Tensor:
    return rearrange(x, operation) if isinstance(x, Symbol) else operation(x)  # type: ignore[arg-type, operator]


def _by_head(x: Tensor, heads: int) -> Tensor:
    def apart(index: IntArray) -> IntArray:
        batch, length, _ = index.shape
        return index.reshape(batch, length, heads, -1).transpose(0, 2, 1, 3)

    return _moved(x, apart)


def _mask(node: NodeContext, mask: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    total = np.zeros(shape)
    if mask is not None:
        hidden = np.where(mask, 0.0, MASKED) if mask.dtype == bool else mask
        total = total + np.maximum(hidden, MASKED)
    if node.integer("is_causal", 0):
        later = np.triu(np.ones(shape[-2:], dtype=bool), 1)
        total = np.where(later, MASKED, total)
    return total


@operator("Einsum", attributes=("equation",))
def einsum(node: NodeContext, *xs: Tensor) -> Tensor:
    """Sums of products of one or two tensors, by a letter for each dimension."""
    equation = node.text("equation", "").replace(" ", "")
    if "." in equation or len(xs) > 2:
        raise node.unsupported("it has dots, or more than two tensors")
    given, _, result = equation.partition("->")
    letters = given.split(",")
    if "->" not in equation:
        once = sorted(c for c in set(given) - {","} if given.count(c) == 1)
        result = "".join(once)
    if len(letters) != len(xs) or any(
        len(set(word)) != len(word) or len(word) != x.ndim
        for word, x in zip(letters, xs, strict=False)
    ):
        raise node.unsupported(f"the equation {equation!r} is not one letter for each dimension")
    sizes = {
        c: n
        for word, x in zip(letters, xs, strict=True)
        for c, n in zip(word, x.shape, strict=True)
    }
    summed = sorted(set(sizes) - set(result))
    order = [*result, *summed]
    full = tuple(sizes[c] for c in order)
    check_nonzeros(math.prod(full))

    def spread(array: np.ndarray, word: str) -> np.ndarray:
        kept = [c for c in order if c in word]
        moved = array.transpose([word.index(c) for c in kept])
        wide = moved.reshape([sizes[c] if c in word else 1 for c in order])
        return np.broadcast_to(wide, full).reshape(*full[: len(result)], -1)

    parts = [
        (x, spread(x.indices if isinstance(x, Symbol) else x, word))
        for x, word in zip(xs, letters, strict=True)
    ]
    if len(parts) == 1:
        parts.append((np.ones(()), np.ones(parts[0][1].shape)))
    (a, first), (b, second) = parts
    if isinstance(a, Symbol) and isinstance(b, Symbol):
        return contracted(node.builder, a, b, first, second)
    if isinstance(a, Symbol):
        return dot(a, first, second)
    return dot(as_symbol(b), second, first)
