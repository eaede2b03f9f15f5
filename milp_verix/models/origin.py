"""The model in memory that a network was read from, which may be fitted again later.

Questions would be answered for the old model then, or for a mixture of both.
"""

import io
import pickle
import time
import zlib
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from milp_verix.base.errors import InputError

_SHORT, _RARELY = 15_000, 5e-7
"""Characters of boosters that are read each time; seconds for each between reading longer texts."""


class Origin:
    """``models`` in memory that a network was read from, and their state at that time.

    ``again`` reads them again, and columns of words that may be missing if they are named;
    ``content`` is the hash of what was read at that time. A copy of the network in another process
    has no origin.
    """

    def __init__(self, models: Any, again: Callable[..., Any], content: str) -> None:
        self.models, self.again, self._content = models, again, content
        self._state, boosters = _state_of(models)
        self._texts = self._texts_of(boosters)

    def require_unchanged(self, *, wholly: bool = False) -> None:
        """Raise ``InputError`` if the models would be read otherwise by now.

        They are read again if their state has changed, or is unknown. Leaves set in a large booster
        of LightGBM are noticed at once if ``wholly``.
        """
        state, boosters = _state_of(self.models)
        texts, length = self._texts, sum(map(len, self._texts))
        if wholly or length < _SHORT or time.monotonic() - self._read_at > _RARELY * length:
            texts = self._texts_of(boosters)
        if state is not None and (state, texts) == (self._state, self._texts):
            return
        try:
            same = self.again().content_sha256 == self._content
        except Exception:  # whatever a model raises that is no longer what it was
            same = False
        if not same:
            raise InputError(
                "the model was fitted again after load_network or Message.of, or changed in place: "
                "load it again"
            )
        self._state, self._texts = state, texts

    def _texts_of(self, boosters: list[Any]) -> list[str]:
        self._read_at = time.monotonic()
        return [booster.model_to_string() for booster in boosters]

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return type(None), ()


class _Pickler(pickle.Pickler):
    """Writes functions and classes by their identity: those of a notebook have no other name.

    A booster of LightGBM is written by its identity, too, with what each fit changes, and kept in
    ``boosters``: all of its text takes 4 ms for 100 trees, a fifth of an explanation.
    """

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.boosters = list[Any]()

    def persistent_id(self, thing: Any) -> Any:
        if isinstance(thing, (type, FunctionType, ModuleType)):
            return id(thing)
        if (type(thing).__module__, type(thing).__name__) != ("lightgbm.basic", "Booster"):
            return None
        self.boosters.append(thing)
        last = thing.current_iteration() - 1
        bounds = thing.lower_bound(), thing.upper_bound()
        return id(thing), thing.num_trees(), bounds, thing.model_to_string(1, last)


def _state_of(models: Any) -> tuple[list[int] | None, list[Any]]:
    """Return checksums of all ``models``, None if unknown, and boosters that they do not cover."""
    arrays, written = list[pickle.PickleBuffer](), io.BytesIO()
    pickler = _Pickler(written, 5, buffer_callback=arrays.append)
    # a model of Keras would be written as a file
    held = [m.get_weights() if hasattr(m, "get_weights") else m for m in models]
    try:
        pickler.dump(held)
    except Exception:  # each class may refuse in its own way
        return None, []
    sums = [zlib.crc32(written.getbuffer()), *(zlib.crc32(array.raw()) for array in arrays)]
    return sums, pickler.boosters
