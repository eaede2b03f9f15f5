"""Counterfactuals of a stored result whose numbers are parsed when someone asks for them.

Nearly all of a result's JSON is the inputs of its counterfactuals, and a gallery of many results
shows a few of each.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.errors import InputError
from milp_verix.records.base import Counterfactual, Prediction
from milp_verix.stored_numbers import parsed

_UNREAD = "unread"
"""The key of a text that stands for the array in it."""

# Inside of a string its quotes would stand behind backslashes.
_KEY = re.compile(r'"input"(?<!\\"input"):\s*(?=\[)')


class UnreadCounterfactual(Counterfactual):
    """A counterfactual with its input as JSON text, for arrays of one dtype and shape.

    ``input`` raises ``InputError`` where the text holds anything but such an array.
    """

    __slots__ = ("_stored",)

    _stored: tuple[str, "np.dtype[Any]", tuple[int, ...]]

    def __init__(
        self, stored: tuple[str, "np.dtype[Any]", tuple[int, ...]], *told: Prediction | None
    ) -> None:
        object.__setattr__(self, "_stored", stored)
        for name, value in zip(("prediction", "rival"), told, strict=True):
            object.__setattr__(self, name, value)

    @property
    def input(self) -> NDArray[Any]:
        """The input, parsed anew each time."""
        text, dtype, shape = self._stored
        try:
            return parsed_array(parsed(text), dtype, shape)
        except (ValueError, TypeError) as error:
            raise InputError(f"a counterfactual's input is damaged: {error}") from error


def parsed_lazily(text: str) -> Any:
    """Return the content of a result's JSON, with text for the inputs of counterfactuals.

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
    for item in _points(data):
        given = item.get("input") if isinstance(item, dict) else None
        number = given.get(_UNREAD) if isinstance(given, dict) else None
        if isinstance(number, int) and number < len(inputs):
            item["input"] = {_UNREAD: inputs[number]}
    return data


def _points(data: Any) -> list[Any]:
    """Return the counterfactuals in the data of a result, of any kind."""
    if not isinstance(data, dict):
        return []
    single = [data.get("counterfactual"), data.get("counterexample")]
    several = (data.get("counterfactuals"), data.get("contrastive"), data.get("brackets"))
    listed = [item for some in several if isinstance(some, list) for item in some]
    nested = [item.get("counterfactual") for item in listed if isinstance(item, dict)]
    return single + listed + nested


def stored_counterfactual(
    values: Any, x: NDArray[Any], prediction: Prediction, rival: int | None
) -> Counterfactual:
    """Return the counterfactual with an input of :func:`parsed_lazily`, or with its numbers.

    ``x`` is the input explained, whose shape and dtype it has. ``ValueError`` for another shape.
    """
    if isinstance(values, dict):
        return UnreadCounterfactual((values[_UNREAD], x.dtype, x.shape), prediction, rival)
    return Counterfactual(parsed_array(values, x.dtype, x.shape), prediction, rival)


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
