"""The model in memory that a network was read from, which may be fitted again later.

What is asked then would be answered for the old model, or for a mixture of both.
"""

import io
import pickle
import zlib
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from milp_verix.errors import InputError

_WHOLE = 2**24
"""Bytes of arrays up to which all of them are compared, in about 10 ms; of more, some."""


class Origin:
    """Models in memory that a network was read from, as they were then.

    ``read`` reads them again and returns the hash of the content, ``content`` is that hash at the
    time; ``reader`` is the name of the function that read them. A copy of a network in another
    process has no origin.
    """

    def __init__(self, models: Any, read: Callable[[], str], content: str, reader: str) -> None:
        self._models, self._read, self._content, self._reader = models, read, content, reader
        self._state = _state_of(models)

    def require_unchanged(self) -> None:
        """Raise ``InputError`` if the models would be read otherwise by now.

        That is found out only if their state has changed, or is unknown.
        """
        state = _state_of(self._models)
        if state is not None and state == self._state:
            return
        try:
            same = self._read() == self._content
        except Exception:  # whatever a model raises that is no longer what it was
            same = False
        if not same:
            raise InputError(
                f"the model was fitted again after {self._reader}, or changed in place: load it "
                f"again with {self._reader}"
            )
        self._state = state

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return type(None), ()


class _Pickler(pickle.Pickler):
    """Writes functions and classes by their identity: those of a notebook have no other name."""

    def persistent_id(self, thing: Any) -> int | None:
        return id(thing) if isinstance(thing, (type, FunctionType, ModuleType)) else None


def _state_of(models: Any) -> tuple[int, ...] | None:
    """Return checksums of all that ``models`` hold; None where they cannot be written down."""
    arrays: list[pickle.PickleBuffer] = []
    written = io.BytesIO()
    try:
        _Pickler(written, 5, buffer_callback=arrays.append).dump([*map(_weights, models)])
    except Exception:  # each class may refuse in its own way
        return None
    parts = [array.raw() for array in arrays]
    step = 2 * (sum(part.nbytes for part in parts) // _WHOLE) + 1  # odd: other bytes of each float
    some = (part if step == 1 else bytes(part[::step]) for part in parts)
    return zlib.crc32(written.getbuffer()), *map(zlib.crc32, some)


def _weights(model: Any) -> Any:
    """Return the weights of a model of Keras, which pickles as a file; any other model itself."""
    return model.get_weights() if hasattr(model, "get_weights") else model
