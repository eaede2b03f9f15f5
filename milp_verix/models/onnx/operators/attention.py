"""Attention, sums of products by index notation, and recurrent layers, unrolled."""

import math
from collections.abc import Callable
from typing import TypeAlias, cast

import numpy as np

from milp_verix.models.onnx.builder import MASKED
from milp_verix.models.onnx.operators.activations import clipped
from milp_verix.models.onnx.operators.linear import matrix_product
from milp_verix.models.onnx.operators.products import contracted, product
from milp_verix.models.onnx.registry import NodeContext, operator
from milp_verix.models.onnx.symbol import Constant, Symbol, Tensor, check_nonzeros, moved
from verix_encodings.arrays import IntArray
from verix_encodings.bounds.curves import SIGMOID, SOFTPLUS, SOFTSIGN, TANH

_ATTENDING = (
    *("is_causal", "kv_num_heads", "q_num_heads", "qk_matmul_output_mode"),
    *("scale", "softcap", "softmax_precision"),
)


@operator("Attention", attributes=_ATTENDING)
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
    k, v = (moved(x, lambda index: np.repeat(index, repeat, 1)) for x in (k, v))
    factor = node.number("scale", 0.0) or 1.0 / math.sqrt(q.shape[-1])
    scores = matrix_product(node, q, moved(k, lambda index: index.swapaxes(-1, -2))) * factor
    cap = node.number("softcap", 0.0)
    if mask is not None or node.integer("is_causal", 0):
        scores = scores + _mask(node, mask, scores.shape)
    if cap:
        scores = node.builder.smooth(scores * (1.0 / cap), TANH) * cap
    weights = node.builder.softmax(scores, (3,))
    result = matrix_product(node, weights, v)
    if not flat:
        return result
    shape = result.shape[0], result.shape[2], -1
    return result.rearrange(lambda index: index.transpose(0, 2, 1, 3).reshape(shape))


def _by_head(x: Tensor, heads: int) -> Tensor:
    def apart(index: IntArray) -> IntArray:
        batch, length, _ = index.shape
        return index.reshape(batch, length, heads, -1).transpose(0, 2, 1, 3)

    return moved(x, apart)


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
        result = "".join(sorted(c for c in set(given) - {","} if given.count(c) == 1))
    if len(letters) != len(xs) or any(
        len(set(word)) != len(word) or len(word) != x.ndim
        for word, x in zip(letters, xs, strict=False)
    ):
        raise node.unsupported(f"the equation {equation!r} is not one letter for each dimension")
    shapes = zip(letters, (x.shape for x in xs), strict=True)
    sizes = {c: n for word, shape in shapes for c, n in zip(word, shape, strict=True)}
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
        return a.dot(first, second)
    return Symbol.of(b).dot(second, first)


_ATTRIBUTES = ("activations", "clip", "direction", "hidden_size", "layout")

_OWN = {"GRU": "linear_before_reset", "LSTM": "input_forget"}
"""Attributes of one layer alone."""

State: TypeAlias = tuple[Symbol, ...]
Cell: TypeAlias = Callable[[Symbol, State], State]
Weights: TypeAlias = tuple[Constant, Constant, Constant, Constant]
"""``W``, ``R``, ``b`` and the peepholes ``P`` of one direction."""
Function: TypeAlias = Callable[[Symbol], Symbol]

_SMOOTH = {"tanh": TANH, "sigmoid": SIGMOID, "softsign": SOFTSIGN, "softplus": SOFTPLUS}


def _function(node: NodeContext, name: str) -> Function:
    """Return an activation, of its argument between −``clip`` and ``clip`` if there is one."""
    if name.lower() != "relu" and name.lower() not in _SMOOTH:
        raise node.unsupported(f"its activation is {name!r}")

    def function(x: Symbol) -> Symbol:
        if "clip" in node.attributes:
            end = node.number("clip", 0.0)
            x = clipped(node, x, -end, end)
        if name.lower() == "relu":
            return node.builder.relu(x)
        return node.builder.smooth(x, _SMOOTH[name.lower()])

    return function


def _gates(x: Symbol, count: int) -> list[Symbol]:
    size = x.shape[-1] // count

    def gate(k: int) -> Symbol:
        return x.rearrange(lambda index: index[..., k * size : (k + 1) * size])

    return [gate(k) for k in range(count)]


def _total(node: NodeContext, weights: Weights, x: Symbol, hidden: Symbol) -> Symbol:
    w, r, b, _ = weights
    shift = b[: b.size // 2] + b[b.size // 2 :]
    return matrix_product(node, x, w.T) + matrix_product(node, hidden, r.T) + shift


def _rnn_cell(node: NodeContext, weights: Weights, names: list[str]) -> Cell:
    """``h ← f(W x + R h + b)``."""
    f = _function(node, names[0])
    return lambda x, state: (f(_total(node, weights, x, state[0])),)


def _lstm_cell(node: NodeContext, weights: Weights, names: list[str]) -> Cell:
    """Gates ``i o f`` and ``c̃`` of ``W x + R h + b``: ``c ← f c + i c̃``, ``h ← o tanh(c)``.

    Peepholes add ``P c`` to the gates, to ``o`` that of the new ``c``.
    """
    (f, g, h), p = (_function(node, name) for name in names), weights[3]
    of_into, of_out, of_forget = np.split(p, 3)

    def step(x: Symbol, state: State) -> State:
        hidden, cell = state
        into, out, forget, new = _gates(_total(node, weights, x, hidden), 4)
        if p.any():
            into, forget = into + cell * of_into, forget + cell * of_forget
        kept = product(node.builder, f(forget), cell)
        cell = kept + product(node.builder, f(into), g(new))
        out = out + cell * of_out if p.any() else out
        return product(node.builder, f(out), h(cell)), cell

    return step


def _gru_cell(node: NodeContext, weights: Weights, names: list[str]) -> Cell:
    """Gates ``z r``: ``h ← n + z (h − n)``, ``n = g(W x + b + r (R h + b'))`` or of ``r h``."""
    (f, g), (w, r, b, _) = (_function(node, name) for name in names), weights
    size = r.shape[-1]
    of_input, of_state = b[: b.size // 2], b[b.size // 2 :]

    def step(x: Symbol, state: State) -> State:
        (hidden,) = state
        inner = matrix_product(node, x, w.T) + of_input
        update_x, reset_x, new_x = _gates(inner, 3)
        outer = matrix_product(node, hidden, r.T) + of_state
        update_h, reset_h, new_h = _gates(outer, 3)
        update, reset = f(update_x + update_h), f(reset_x + reset_h)
        if node.integer("linear_before_reset", 0):
            gated = product(node.builder, reset, new_h)
        else:
            kept = product(node.builder, reset, hidden)
            gated = matrix_product(node, kept, r[2 * size :].T) + of_state[2 * size :]
        new = g(new_x + gated)
        gap = hidden - new
        return (new + product(node.builder, update, gap),)

    return step


_CELLS = {
    "RNN": (_rnn_cell, 1, 1, ("Tanh",)),
    "LSTM": (_lstm_cell, 4, 2, ("Sigmoid", "Tanh", "Tanh")),
    "GRU": (_gru_cell, 3, 1, ("Sigmoid", "Tanh")),
}


@operator("RNN", "GRU", "LSTM", attributes=(*_ATTRIBUTES, *_OWN.values()))
def recurrent(  # noqa: PLR0917 (the inputs of the node)
    node: NodeContext,
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    lengths: Tensor | None = None,
    hidden: Tensor | None = None,
    cell: Tensor | None = None,
    peepholes: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """A recurrent layer: all hidden states, the last one, and of an LSTM the last cell."""
    foreign = {*_OWN.values()} & {*node.attributes} - {_OWN.get(node.operator)}
    more = cell is not None or peepholes is not None
    if foreign or (more and node.operator != "LSTM"):
        raise node.malformed("it has an attribute or an input of another recurrent layer")
    if node.operator == "LSTM" and "clip" in node.attributes:
        raise node.unsupported(
            "it clips: the specification clips the cell behind its gates, onnxruntime does not"
        )
    if node.integer("input_forget", 0):
        raise node.unsupported("it has one gate for input and forgetting")
    return _unrolled(node, x, (w, r, b, peepholes), lengths, (hidden, cell))


def _unrolled(
    node: NodeContext,
    x: Tensor,
    weights: tuple[Tensor, Tensor, Tensor | None, Tensor | None],
    lengths: Tensor | None,
    starts: tuple[Tensor | None, ...],
) -> tuple[Tensor, ...]:
    w, r, b, p = cast("tuple[Constant, Constant, Constant | None, Constant | None]", weights)
    make, gates, states, default = _CELLS[node.operator]
    x = Symbol.of(x)
    if any(isinstance(part, Symbol) for part in weights):
        raise node.unsupported("its weights are not constants")
    layout = node.integer("layout", 0)
    if layout:
        x = x.rearrange(lambda index: index.swapaxes(0, 1))
    if x.ndim != 3 or w.ndim != 3 or r.ndim != 3 or w.shape[1] != gates * r.shape[2]:
        raise node.malformed(f"weights {w.shape} and {r.shape} do not fit an input {x.shape}")
    steps, batch, _ = x.shape
    if isinstance(lengths, Symbol) or (lengths is not None and np.any(lengths != steps)):
        raise node.unsupported("its sequences have different lengths")
    direction = node.text("direction", "forward")
    ways = {"forward": [1], "reverse": [-1], "bidirectional": [1, -1]}.get(direction)
    if ways is None or len(ways) != w.shape[0]:
        raise node.malformed(f"its direction is {direction!r}")
    given = node.attributes.get("activations") or list(default) * len(ways)
    names = [str(name) for name in given] if isinstance(given, list) else []
    if len(names) != len(default) * len(ways):
        raise node.malformed(f"its activations are {names}")
    size = r.shape[2]
    outputs, finals = [], []
    for number, way in enumerate(ways):
        bias = np.zeros(2 * gates * size) if b is None else b[number].astype(np.float64)
        holes = np.zeros(3 * size) if p is None else p[number].astype(np.float64)
        own = names[number * len(default) : (number + 1) * len(default)]
        cell = make(node, (w[number], r[number], bias, holes), own)
        state = tuple(_start(s, number, layout, (batch, size)) for s in starts[:states])
        found = []
        for t in range(steps)[::way]:
            state = cell(x.rearrange(lambda index, t=t: index[t]), state)  # type: ignore[misc]
            found.append(state[0])
        outputs.append(found[::way])
        finals.append(state)
    # (steps, directions, batch, hidden)
    flat = [outputs[k][t] for t in range(steps) for k in range(len(ways))]
    shape = (steps, len(ways), batch, size)
    whole = Symbol.join(flat, lambda indices: np.stack(indices).reshape(shape))
    lasts = [Symbol.join([f[k] for f in finals], np.stack) for k in range(states)]
    if layout:
        whole = whole.rearrange(lambda index: index.transpose(2, 0, 1, 3))
        lasts = [last.rearrange(lambda index: index.swapaxes(0, 1)) for last in lasts]
    return (whole, *lasts)


def _start(given: Tensor | None, number: int, layout: int, shape: tuple[int, int]) -> Symbol:
    if given is None:
        return Symbol.of(np.zeros(shape))
    if isinstance(given, Symbol):
        return given.rearrange(lambda index: index[:, number] if layout else index[number])
    return Symbol.of(given[:, number] if layout else given[number])
