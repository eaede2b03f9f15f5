"""Kinds of values in stored files: a type, with what JSON and its schemas say beyond the type."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta
from numpy.typing import NDArray

_MOST = 2**63 - 1

Count: TypeAlias = Annotated[int, Meta(ge=0, le=_MOST)]
Index: TypeAlias = Count
"""The number of a class, of a feature, or of a coordinate of the flat input."""

Indices: TypeAlias = Annotated[tuple[Index, ...], Meta(extra_json_schema={"uniqueItems": True})]
"""Features, coordinates or classes, each once."""

FeatureSet: TypeAlias = Indices
"""Features, ascending."""

Amount: TypeAlias = Annotated[float, Meta(ge=0)]
Cost: TypeAlias = Count | Amount
Sha256: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64)]
Shape: TypeAlias = tuple[Count, ...]
Norm: TypeAlias = Literal["linf", "l1", "l2"]

Prediction: TypeAlias = Index | tuple[float, ...]
"""A class, or the values of the outputs that a regression is about."""

DomainEnd: TypeAlias = float | tuple[float, ...]
"""One end of the input domain: the same for all coordinates, or one number for each."""

Points: TypeAlias = NDArray[Any]
"""An array with the shape and the dtype of the network's input: nested lists of numbers in JSON.

Each number has the fewest digits that identify it in that dtype.
"""
