"""ONNX to network: strict, so that an operator that cannot be encoded exactly is refused by name.

The graph is traced. Each tensor is a constant (``ndarray``) or a
:class:`~milp_verix.models.onnx.symbol.Symbol`, an affine expression over values of the network.
Affine operators compose symbols, so a run of them becomes one affine map; a nonlinear operator
hands its input to the :class:`~milp_verix.models.onnx.builder.Builder`, which appends nodes to the
network and returns a fresh symbol. A node whose inputs are all constant is evaluated by
:mod:`~milp_verix.models.onnx.folding`.

To add an operator, write one function in the file it belongs to (a new file is imported in
``trace.py``)::

    @operator("LeakyRelu", attributes=("alpha",))
    def leaky_relu(node: NodeContext, x: Tensor) -> Tensor:
        \"\"\"``max(x, 0) + alpha * min(x, 0)``.\"\"\"
        x, alpha = as_symbol(x), node.number("alpha", 0.01)
        return x * alpha + node.builder.relu(x) * (1 - alpha)

The parameters after ``node`` are the node's inputs, ``None`` being the default of an optional one.
List every attribute that the function honours: a node with any other is refused. Say
``keeps_scores=True`` where the operator may follow a final Softmax. Raise ``node.unsupported(why)``
for a use that cannot be encoded, ``node.malformed(why)`` or ``ValueError`` for one that breaks the
specification. An operator that moves or repeats elements is ``rearrange`` with the numpy operation;
one that multiplies by constants is ``dot``.
"""
