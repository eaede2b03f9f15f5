"""A problem that knows nothing but its features, each of which is a coordinate."""

from collections.abc import Sequence
from typing import Any

import numpy as np


class _Features:
    @staticmethod
    def coordinates(features: Sequence[int]) -> Any:
        return np.sort(np.array(features, dtype=np.intp))


class NumberedFeatures:
    """Stands for a problem."""

    features = _Features()
