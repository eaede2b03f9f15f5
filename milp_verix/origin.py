"""The model in memory that a network was read from, which may be fitted again later.

Questions would be answered for the old model then, or for a mixture of both.
"""

import io
import pickle
import zlib
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from milp_verix.errors import InputError


class Origin:
    """``models`` in memory that a network was read from, and their state at that time.

    ``read`` reads them again and returns the hash of what is read, ``content`` at that time. A copy
    of the network in another process has no origin.
    """

    def __init__(self, models: Any, read: Callable[[], str], content: str) -> None:
        self._models, self._read, self._content = models, read, content
        self._state = _state_of(models)

    def require_unchanged(self) -> None:
        """Raise ``InputError`` if the models would be read otherwise by now.

        They are read again if their state has changed, or is unknown.
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
                "the model was fitted again after load_network or Message.of, or changed in place: "
                "load it again"
            )
        self._state = state

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return type(None), ()


class _Pickler(pickle.Pickler):
    """Writes functions and classes by their identity: those of a notebook have no other name.

    A booster of LightGBM is written by its identity, too, with what each fit changes: all of its
    text takes 3 ms for 100 trees, a tenth of an explanation. Trees and library are run beside each
    other anyway, which shows other changes.
    """

    def persistent_id(self, thing: Any) -> Any:
        if isinstance(thing, (type, FunctionType, ModuleType)):
            return id(thing)
        if (type(thing).__module__, type(thing).__name__) != ("lightgbm.basic", "Booster"):
            return None
        last = thing.current_iteration() - 1
        bounds = thing.lower_bound(), thing.upper_bound()
        return id(thing), thing.num_trees(), bounds, thing.model_to_string(1, last)


def _state_of(models: Any) -> list[int] | None:
    """Return checksums of all that ``models`` hold; None where they cannot be written down."""
    arrays, written = list[pickle.PickleBuffer](), io.BytesIO()
    # a model of Keras would be written as a file
    held = [m.get_weights() if hasattr(m, "get_weights") else m for m in models]
    try:
        _Pickler(written, 5, buffer_callback=arrays.append).dump(held)
    except Exception:  # each class may refuse in its own way
        return None
    return [zlib.crc32(written.getbuffer()), *(zlib.crc32(array.raw()) for array in arrays)]
