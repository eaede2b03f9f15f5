"""The node of the graph that an operator computes: its names and attributes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from milp_verix.base.errors import ModelError, UnsupportedOperatorError
from milp_verix.models.onnx.builder import Builder

_Item = TypeVar("_Item", int, float)


@dataclass(frozen=True, slots=True)
class NodeContext:
    """One node of the ONNX graph: its operator, names, attributes, and the network being built.

    ``inputs`` and ``outputs`` are tensor names, empty for an omitted one.
    """

    operator: str
    name: str
    opset: int
    attributes: Mapping[str, object] = field(repr=False)
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    builder: Builder = field(repr=False)

    def __str__(self) -> str:
        """Return the operator with the node's name, or with its outputs if the node has no name."""
        if self.name:
            return f"{self.operator} {self.name!r}"
        return f"{self.operator} (unnamed, output {next(filter(None, self.outputs), '')!r})"

    def integer(self, name: str, default: int) -> int:
        """Return an integer attribute. Raises ``ModelError`` where it has another type."""
        value = self.attributes.get(name, default)
        if not isinstance(value, int):
            raise self._mistyped(name, "an integer")
        return value

    def number(self, name: str, default: float) -> float:
        """Return a float attribute. Raises ``ModelError`` where it has another type.

        ONNX stores it as float32, and its default, too.
        """
        value = self.attributes.get(name, float(np.float32(default)))
        if not isinstance(value, float):
            raise self._mistyped(name, "a number")
        return value

    def text(self, name: str, default: str) -> str:
        """Return a string attribute. Raises ``ModelError`` where it has another type."""
        value = self.attributes.get(name, default)
        if not isinstance(value, str):
            raise self._mistyped(name, "a string")
        return value

    def integers(self, name: str) -> list[int] | None:
        """Return an attribute that is a list of integers, ``None`` where the node has none.

        Raises ``ModelError`` where it has another type.
        """
        return self._list(name, int, "a list of integers")

    def numbers(self, name: str) -> list[float] | None:
        """Return an attribute that is a list of floats, ``None`` where the node has none.

        Raises ``ModelError`` where it has another type.
        """
        return self._list(name, float, "a list of numbers")

    def constant_integers(self, name: str, tensor: object) -> list[int] | None:
        """Return a list of integers given as an input or, in older opsets, as an attribute.

        ``tensor`` is the input, None where the node has none. Raises ``UnsupportedOperatorError``
        where it is computed from the network's input, ``ModelError`` where it is no such list.
        """
        if tensor is None:
            return self.integers(name)
        if not isinstance(tensor, np.ndarray):
            raise self.unsupported(f"its {name} depends on the network's input")
        if tensor.dtype.kind not in "iu" or tensor.ndim > 1:
            raise self.malformed(f"its {name} is not a list of integers")
        return [int(item) for item in tensor.reshape(-1)]

    def unsupported(self, reason: str) -> UnsupportedOperatorError:
        """Return the error to raise where this node cannot be encoded exactly."""
        return UnsupportedOperatorError(f"{self} is not supported: {reason}")

    def malformed(self, reason: str) -> ModelError:
        """Return the error to raise where this node breaks the ONNX specification."""
        return ModelError(f"{self} is malformed: {reason}")

    def _mistyped(self, name: str, expected: str) -> ModelError:
        return self.malformed(f"attribute {name!r} is not {expected}")

    def _list(self, name: str, kind: type[_Item], expected: str) -> list[_Item] | None:
        value = self.attributes.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
            raise self._mistyped(name, expected)
        return value
