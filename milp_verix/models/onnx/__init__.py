"""ONNX to network: strict, so that an operator that cannot be encoded exactly is refused by name.

The graph is traced. Each tensor is a constant (``ndarray``) or a
:class:`~milp_verix.models.onnx.symbol.Symbol`, an affine expression over values of the network.
Affine operators compose symbols, so a run of them becomes one affine map; a nonlinear operator
hands its input to the :class:`~milp_verix.models.onnx.builder.Builder`, which appends nodes to the
network and returns a fresh symbol. A node whose inputs are all constant is evaluated by
:mod:`~milp_verix.models.onnx.folding`.

To add an operator, write one function in the file of ``operators/`` that it belongs to, such as
``thresholded_relu`` in ``activations.py``. A new file is imported in ``trace.py``, or named in
``RARER`` of ``registry.py`` if few models need it.

The parameters after ``node`` are the node's inputs, ``None`` being the default of an optional one.
List every attribute that the function honours: a node with any other is refused. Say
``keeps_scores=True`` where the operator may follow a final Softmax. Raise ``node.unsupported(why)``
for a use that cannot be encoded, ``node.malformed(why)`` or ``ValueError`` for one that breaks the
specification. An operator that moves or repeats elements is ``x.rearrange`` with the numpy
operation; one that multiplies by constants is ``x.dot``.
"""
