"""Frozen data as values that can be compared and hashed, arrays included."""

from dataclasses import fields, is_dataclass

import numpy as np


def comparable(value: object) -> object:
    """Return ``value`` as a tuple of values that can be compared.

    Arrays become their type, shape and bytes; dataclasses their class and fields.
    """
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if is_dataclass(value):
        return type(value), *(comparable(getattr(value, one.name)) for one in fields(value))
    if isinstance(value, tuple | list):
        return tuple(map(comparable, value))
    return value
