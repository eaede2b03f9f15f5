"""Recurrent layers with a fixed number of steps, unrolled: RNN, LSTM and GRU."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from milp_verix.models.onnx.operators.activations import clipped
from milp_verix.models.onnx.operators.affine import matrix_product
from milp_verix.models.onnx.operators.products import product
from milp_verix.models.onnx.registry import NodeContext, operator
from milp_verix.models.onnx.symbol import (
    Constant,
    Symbol,
    Tensor,
    add,
    as_symbol,
    join,
    rearrange,
    scale,
    times,
)
from verix_encodings.arrays import IntArray
from verix_encodings.bounds.curves import SIGMOID, SOFTPLUS, SOFTSIGN, TANH

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


def _times(node: NodeContext, a: Tensor, b: Constant) -> Symbol:
    return as_symbol(matrix_product(node, a, b))


def _gates(x: Symbol, count: int) -> list[Symbol]:
    size = x.shape[-1] // count

    def gate(k: int) -> Symbol:
        return rearrange(x, lambda index: index[..., k * size : (k + 1) * size])

    return [gate(k) for k in range(count)]


def _rnn_cell(node: NodeContext, weights: Weights, names: list[str]) -> Cell:
    """``h ← f(W x + R h + b)``."""
    f, (w, r, b, _) = _function(node, names[0]), weights
    shift = as_symbol(b[: b.size // 2] + b[b.size // 2 :])

    def step(x: Symbol, state: State) -> State:
        return (f(add(add(_times(node, x, w.T), _times(node, state[0], r.T)), shift)),)

    return step


def _lstm_cell(node: NodeContext, weights: Weights, names: list[str]) -> Cell:
    """Gates ``i o f`` and ``c̃`` of ``W x + R h + b``: ``c ← f c + i c̃``, ``h ← o tanh(c)``.

    Peepholes add ``P c`` to the gates, to ``o`` that of the new ``c``.
    """
    (f, g, h), (w, r, b, p) = (_function(node, name) for name in names), weights
    of_into, of_out, of_forget = np.split(p, 3)
    shift = as_symbol(b[: b.size // 2] + b[b.size // 2 :])

    def step(x: Symbol, state: State) -> State:
        hidden, cell = state
        total = add(add(_times(node, x, w.T), _times(node, hidden, r.T)), shift)
        into, out, forget, new = _gates(total, 4)
        if p.any():
            into, forget = add(into, times(cell, of_into)), add(forget, times(cell, of_forget))
        kept = product(node.builder, f(forget), cell)
        cell = add(kept, product(node.builder, f(into), g(new)))
        out = add(out, times(cell, of_out)) if p.any() else out
        return product(node.builder, f(out), h(cell)), cell

    return step


def _gru_cell(node: NodeContext, weights: Weights, names: list[str]) -> Cell:
    """Gates ``z r``: ``h ← n + z (h − n)``, ``n = g(W x + b + r (R h + b'))`` or of ``r h``."""
    (f, g), (w, r, b, _) = (_function(node, name) for name in names), weights
    size = r.shape[-1]
    of_input, of_state = b[: b.size // 2], b[b.size // 2 :]

    def step(x: Symbol, state: State) -> State:
        (hidden,) = state
        inner = add(_times(node, x, w.T), as_symbol(of_input))
        update_x, reset_x, new_x = _gates(inner, 3)
        outer = add(_times(node, hidden, r.T), as_symbol(of_state))
        update_h, reset_h, new_h = _gates(outer, 3)
        update, reset = f(add(update_x, update_h)), f(add(reset_x, reset_h))
        if node.integer("linear_before_reset", 0):
            gated = product(node.builder, reset, new_h)
        else:
            kept = product(node.builder, reset, hidden)
            gated = add(_times(node, kept, r[2 * size :].T), as_symbol(of_state[2 * size :]))
        new = g(add(new_x, gated))
        gap = add(hidden, scale(new, -1.0))
        return (add(new, product(node.builder, update, gap)),)

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
    w, r, b, p = weights
    make, gates, states, default = _CELLS[node.operator]
    x = as_symbol(x)
    if isinstance(w, Symbol) or isinstance(r, Symbol) or isinstance(b, Symbol):
        raise node.unsupported("its weights are not constants")
    if isinstance(p, Symbol):
        raise node.unsupported("its weights are not constants")
    layout = node.integer("layout", 0)
    if layout:
        x = rearrange(x, lambda index: index.swapaxes(0, 1))
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
            state = cell(_at(x, t), state)
            found.append(state[0])
        outputs.append(found[::way])
        finals.append(state)
    # (steps, directions, batch, hidden)
    flat = [outputs[k][t] for t in range(steps) for k in range(len(ways))]
    stacked = join(flat, _stacked)
    shape = (steps, len(ways), batch, size)
    whole = rearrange(stacked, lambda index: index.reshape(shape))
    lasts = [join([f[k] for f in finals], _stacked) for k in range(states)]
    if layout:
        whole = rearrange(whole, lambda index: index.transpose(2, 0, 1, 3))
        lasts = [rearrange(last, lambda index: index.swapaxes(0, 1)) for last in lasts]
    return (whole, *lasts)


def _stacked(indices: list[IntArray]) -> IntArray:
    return np.stack(indices)


def _at(x: Symbol, t: int) -> Symbol:
    return rearrange(x, lambda index: index[t])


def _start(given: Tensor | None, number: int, layout: int, shape: tuple[int, int]) -> Symbol:
    if given is None:
        return as_symbol(np.zeros(shape))
    if isinstance(given, Symbol):
        return rearrange(given, lambda index: index[:, number] if layout else index[number])
    return as_symbol(given[:, number] if layout else given[number])
