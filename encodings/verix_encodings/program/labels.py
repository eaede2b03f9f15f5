"""Labels of a program's rows or columns, block by block: a prefix, and the numbers behind it."""

from typing import TypeAlias

import numpy as np

from verix_encodings.arrays import IntArray

Labels: TypeAlias = tuple[tuple[str, IntArray], ...]


def names(labels: Labels) -> list[str]:
    """Return a name for each row or column, such as ``relu_upper_2_7``, in their order."""
    return [f"{prefix}_{number}" for prefix, numbers in labels for number in numbers]


def blocks(labels: Labels) -> dict[str, tuple[IntArray, IntArray]]:
    """Return for each prefix the columns or rows that have it, and the numbers behind it."""
    found, first = {}, 0
    for prefix, numbers in labels:
        found[prefix] = np.arange(first, first + len(numbers)), numbers
        first += len(numbers)
    return found
