"""Mixed-integer encodings of neural networks: the mathematics behind every check.

The package knows no solver and no ONNX. A network is data (:mod:`~verix_encodings.network`),
bounds are a function of a network and a box (:mod:`~verix_encodings.bounds`), an encoding is a
function from both to rows and columns (:mod:`~verix_encodings.program`).
"""

from verix_encodings.network import Affine, Network, Node, Relu

__all__ = ["Affine", "Network", "Node", "Relu"]
