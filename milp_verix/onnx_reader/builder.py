"""The network under construction: nonlinear operators append to it, affine ones need not."""

from milp_verix.onnx_reader.symbol import Shape, Symbol, exact_value, value_symbol
from verix_encodings.network import Affine, Network, Node, Relu


class Builder:
    """Collects the nodes of a :class:`Network` in topological order."""

    def __init__(self, input_shape: Shape) -> None:
        """Start from the input alone, value 0."""
        self.input = value_symbol(0, input_shape)
        self._nodes: list[Node] = []

    def value(self, x: Symbol) -> int:
        """Return the index of a value equal to ``x`` (flat), appending an affine node if needed."""
        value = exact_value(x)
        return self._append(_affine(x)) if value is None else value

    def relu(self, x: Symbol) -> Symbol:
        """Append ``max(x, 0)`` and return it, in the shape of ``x``."""
        return value_symbol(self._append(Relu(self.value(x))), x.shape)

    def network(self, output: Symbol) -> Network:
        """Return the network that computes ``output``: its last node is affine, always."""
        return Network(self.input.shape, (*self._nodes, _affine(output)))

    def _append(self, node: Node) -> int:
        self._nodes.append(node)
        return len(self._nodes)


def _affine(x: Symbol) -> Affine:
    return Affine(tuple(x.terms.items()), x.bias)
