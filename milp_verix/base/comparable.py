"""Frozen data as values that can be compared and hashed, arrays included."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np

_OF_THE_RUN = ("seconds", "version", "versions", "machine", "command", "stages", "trace")


def comparable(value: object, without: tuple[str, ...] = ()) -> object:
    """Return ``value``, dataclasses and arrays too, as a tuple of values that can be compared.

    Fields whose names end in one of ``without`` are left out.
    """
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if is_dataclass(value):
        names = [one.name for one in fields(value) if one.compare]
        kept = [name for name in names if not name.endswith(without)] if without else names
        return type(value), *(comparable(getattr(value, name), without) for name in kept)
    if isinstance(value, Mapping):
        return tuple((key, comparable(one, without)) for key, one in value.items())
    if isinstance(value, tuple | list):
        return tuple(comparable(one, without) for one in value)
    return value


class Answering:
    """An answer that is compared with another one to the same question."""

    __slots__ = ()

    def same_answer(self, other: object) -> bool:
        """Return whether ``other`` is the same but for seconds, versions and the machine."""
        own = type(other) is type(self)
        return own and comparable(self, _OF_THE_RUN) == comparable(other, _OF_THE_RUN)


class Compared:
    """A frozen dataclass that equals another one of its class with the same content."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Return whether ``other`` is of the same class, and the same in every field."""
        return type(other) is type(self) and comparable(other) == comparable(self)

    def __hash__(self) -> int:
        return hash(type(self))
