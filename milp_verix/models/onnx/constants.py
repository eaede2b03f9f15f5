"""Constants: weights that the model stores, and tensors computed from these alone.

Floating-point constants are held in float64, which holds stored float16, float32 and float64
weights exactly; integers keep their type, because integer arithmetic depends on it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from milp_verix.base.errors import ModelError, first_line
from milp_verix.models.onnx.symbol import COMPUTED, Constant

TOLERATED = COMPUTED - 2.0**-52
"""The relative error that a computed constant may have.

Bounds allow for ``COMPUTED``, which includes the rounding of one product.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A tensor that does not depend on the network's input.

    ``array`` holds its values, floating-point ones in float64; ``dtype`` is their type in the
    model. Each value is within the relative ``error`` of its value in real arithmetic. An error of
    0 says that it is exact, and that ``dtype`` holds it.
    """

    array: Constant
    dtype: np.dtype[Any]
    error: float = 0.0

    @property
    def is_float(self) -> bool:
        """True if the values are floating-point numbers."""
        return self.dtype.kind == "f"


def known(array: Constant, label: str, error: float = 0.0) -> Known:
    """Return ``array`` as a constant. Raises ``ModelError`` where it holds no real numbers."""
    if array.dtype.kind not in "biuf":
        raise ModelError(f"{label} has type {array.dtype}, which is not supported")
    return Known(array.astype(np.float64) if array.dtype.kind == "f" else array, array.dtype, error)


def stored(tensor: onnx.TensorProto) -> Known:
    """Return the weights that ``tensor`` stores.

    Raises ``ModelError`` where they are missing, damaged or not numbers.
    """
    label = f"initializer {tensor.name!r}"
    try:
        array = onnx.numpy_helper.to_array(tensor)
    except Exception as error:  # onnx raises what its parsers and numpy raise, and plain C++ errors
        raise ModelError(f"{label} cannot be read: {first_line(error)}") from error
    return known(array, label)
