"""Counterfactuals of a stored explanation whose numbers are parsed when someone asks for them.

Nearly all of an explanation's JSON is the inputs of its counterfactuals, and a gallery of many
results shows a few of each.
"""

import re
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import refusing
from milp_verix.base.stored_numbers import parsed
from milp_verix.results.base import Counterfactual

# Inside of a string its quotes would stand behind backslashes.
_KEY = re.compile(r'"input"(?<!\\"input"):\s*(?=\[)')
_UNREAD = "unread"
"""The key of a number that stands for a text."""


class UnreadText(str):
    """Nested lists of numbers as JSON text."""

    __slots__ = ()


class UnreadArray(np.ndarray[Any, Any]):
    """An empty array in the place of one with a dtype and a shape that is ``stored`` as text."""

    stored: tuple[str, "np.dtype[Any]", tuple[int, ...]]


class UnreadCounterfactual(Counterfactual):
    """A counterfactual with its input as JSON text; ``point`` has an :class:`UnreadArray`.

    ``input`` raises ``InputError`` where the text holds anything but such an array.
    """

    __slots__ = ("_stored",)

    _stored: tuple[str, "np.dtype[Any]", tuple[int, ...]]

    def __init__(self, point: Counterfactual) -> None:
        assert isinstance(point.input, UnreadArray)
        object.__setattr__(self, "_stored", point.input.stored)
        object.__setattr__(self, "prediction", point.prediction)
        object.__setattr__(self, "rival", point.rival)

    @property
    def input(self) -> NDArray[Any]:
        """The input, parsed anew each time."""
        text, dtype, shape = self._stored
        with refusing("a counterfactual's input is damaged", ValueError, TypeError):
            return parsed_array(parsed(text), dtype, shape)


def parsed_lazily(text: str) -> Any:
    """Return the content of an explanation's JSON, its counterfactuals' inputs as ``UnreadText``.

    Raises ``ValueError`` for text that is not JSON.
    """
    pieces: list[str] = []
    inputs: list[str] = []
    done = 0
    for key in _KEY.finditer(text):
        start = key.end()
        # numbers have no quotes and no braces, and one of these follows them
        follows = [end for mark in '"}' if (end := text.find(mark, start)) > 0]
        end = text.rfind("]", start, min(follows, default=start)) + 1 or start
        pieces += [text[done:start], f'{{"{_UNREAD}": {len(inputs)}}}']
        inputs.append(text[start:end])
        done = end
    data = parsed("".join([*pieces, text[done:]]))
    found = data.get("counterfactuals") if isinstance(data, dict) else None
    for item in (data, *(found.values() if isinstance(found, dict) else ())):
        given = item.get("input") if isinstance(item, dict) else None
        number = given.get(_UNREAD) if isinstance(given, dict) else None
        if isinstance(number, int) and 0 <= number < len(inputs):
            item["input"] = parsed(inputs[number]) if item is data else UnreadText(inputs[number])
    return data


def array_in(values: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return nested lists of numbers as an array; of an ``UnreadText`` an ``UnreadArray``.

    Raises ``ValueError`` as :func:`parsed_array` does.
    """
    if not isinstance(values, UnreadText):
        return parsed_array(values, dtype, shape)
    array = np.empty(0, dtype).view(UnreadArray)
    array.stored = values, dtype, shape
    return array


def read_when_asked(result: Any) -> None:
    """Postpone parsing each counterfactual of an explanation until its input is read."""
    found = getattr(result, "counterfactuals", {})
    if any(isinstance(point.input, UnreadArray) for point in found.values()):
        unread = {feature: UnreadCounterfactual(point) for feature, point in found.items()}
        object.__setattr__(result, "counterfactuals", MappingProxyType(unread))


def parsed_array(values: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return nested lists of numbers as an array.

    Raises ``ValueError`` for another shape, and for entries that are no numbers of ``dtype``.
    """
    given = np.array(values)
    if given.shape != shape:
        raise ValueError(f"an input has shape {given.shape}, expected {shape}")
    if given.size and given.dtype.kind not in "iuf":
        raise ValueError("an input has entries that are no numbers")
    with np.errstate(over="ignore", invalid="ignore"):
        array = given.astype(np.float64).astype(dtype)
    if not np.isfinite(array).all():
        raise ValueError(f"an input has numbers that {dtype} cannot hold")
    return array
