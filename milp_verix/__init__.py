"""Explain a neural network's prediction with a proof.

    >>> import milp_verix
    >>> network = milp_verix.load_network("examples/digits.onnx")
    >>> explanation = milp_verix.explain(network, image, epsilon=0.1)

The VeriX method (Wu, Wu, Barrett, NeurIPS 2023) with every check compiled to a mixed-integer
program: features outside the explanation may change by up to ε, all at once, and the prediction
provably stays.
"""

import lazy_loader

# each name is imported from its module in the stub once it is used
_named, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from milp_verix.base import version

        return version()
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _named(name)
