"""Random choices for models of one operator, and the constants that their nodes read."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Draw:
    """Random choices, and the constants that the nodes of a model read."""

    rng: np.random.Generator
    version: int
    constants: dict[str, Any] = field(default_factory=dict)

    def one(self, *items: Any) -> Any:
        """Return one of the items."""
        return items[self.rng.integers(len(items))]

    def some(self, **attributes: Any) -> dict[str, Any]:
        """Return some of the attributes; others keep their defaults."""
        return {name: value for name, value in attributes.items() if self.rng.random() < 0.5}

    def ints(self, count: int, low: int, high: int) -> list[int]:
        """Return random integers, the last one included."""
        return [int(n) for n in self.rng.integers(low, high + 1, count)]

    def numbers(self, *shape: int) -> str:
        """Return the name of a constant of random numbers."""
        return self.constant(self.rng.integers(-32, 33, shape) / 16)

    def constant(self, value: Any) -> str:
        """Return the name of a constant."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def shape(self, low: int = 1, high: int = 4) -> list[int]:
        """Return the shape of a tensor."""
        return self.ints(self.one(low, high), 1, 4)
