"""The shipped network and images, and one explanation that many tests look at."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import milp_verix
from milp_verix import Explanation, OnnxNetwork
from tests.support.repository import EXAMPLES
from verix_encodings import arrays

MODEL = EXAMPLES / "digits.onnx"
IMAGES = EXAMPLES / "digits.npz"
EPSILON = 0.1


def network() -> OnnxNetwork:
    """Return the shipped network."""
    return _loaded(arrays._SMALL)


@cache
def _loaded(_small: int) -> OnnxNetwork:
    """Load the network once for each way to store its matrices, see ``matrix_storage``."""
    return milp_verix.load_network(MODEL)


@cache
def images() -> NDArray[np.float32]:
    """Return the shipped images, shape (20, 1, 8, 8)."""
    with np.load(IMAGES) as data:
        stored: NDArray[np.float32] = data["images"]
    stored.flags.writeable = False
    return stored


@cache
def explained(index: int = 15, **options: Any) -> Explanation:
    """Return the explanation of one image."""
    return milp_verix.explain(network(), images()[index], epsilon=EPSILON, **options)
