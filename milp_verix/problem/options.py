"""What the options of public calls may be: the rows of the table by call, and the check of values.

The question's options as they are given stand in :class:`Given`, those of a search in
:class:`~milp_verix.problem.search.Search`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from numpy.typing import ArrayLike, NDArray

from milp_verix.base.argument_kinds import Kind, accepted
from milp_verix.inputs.features import Feature
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.radii import Epsilon
from milp_verix.problem.ball import UNIT_DOMAIN, Domain
from milp_verix.problem.features import FeaturesLike
from milp_verix.problem.option_rows import COURSE, OWN, QUESTION, SEARCH, Option

InputLike: TypeAlias = ArrayLike | Mapping[str, Any]
"""An input: an array, or a row of a table with values by name."""

ClassLike: TypeAlias = int | str
"""A class, by its number or by its name."""

OrderLike: TypeAlias = str | Sequence[int | str] | NDArray[Any]
"""The name of a traversal order, or all features in an order, by index or name."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Given:
    """The options of a question as they are given."""

    epsilon: Epsilon
    norm: str = "linf"
    delta: float | None = None
    domain: Domain = UNIT_DOMAIN
    features: FeaturesLike = None
    feature_names: Sequence[str] | None = None
    label: ClassLike | None = None
    against: ClassLike | Sequence[ClassLike] | None = None
    output: int | None = None
    image_shape: Sequence[int] | None = None
    inputs: Inputs | Sequence[Feature] | None = None


@cache
def rows_of(call: str, *parts: tuple[Option, ...]) -> tuple[Option, ...]:
    """Return the options that ``call`` takes, of some ``parts`` of the table or of all of it."""
    table = parts or (QUESTION, OWN, SEARCH, COURSE)
    return tuple(row for part in table for row in part if call in row.calls)


@cache
def kinds_of(call: str) -> Mapping[str, Kind]:
    """Return the kinds of values that the options of ``call`` take, by name."""
    return {row.name: row.fits for row in (*rows_of("methods"), *rows_of(call))}


def fitting(call: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``call`` but ``self``, with arrays in the place of tensors.

    Raises ``InputError`` for a value of a wrong kind.
    """
    values = {name: value for name, value in given.items() if name != "self"}
    return accepted(values, kinds_of(call))
