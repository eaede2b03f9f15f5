"""Mixed-integer encodings of neural networks: the mathematics behind every check.

The package knows no solver and no ONNX. A network is data (``verix_encodings.network``),
bounds are a function of a network and a box (``bounds.interval``), an encoding is a
function from both to rows and columns (:mod:`~verix_encodings.program`).
"""

import lazy_loader

# each name is imported from its module in the stub once it is used
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
