"""The options of a question and of a search, as the keyword arguments of public functions.

A function takes the options that its ``**asked`` unpacks (PEP 692). Defaults stand in
:class:`Given` and in :class:`~milp_verix.problem.search.Search`; what each option means stands in
the docstrings of :class:`milp_verix.Problem` and of ``Search``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Required, TypeAlias, TypedDict

from numpy.typing import ArrayLike, NDArray

from milp_verix.base.tolerances import Tolerances
from milp_verix.inputs.features import Feature
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.radii import Epsilon
from milp_verix.problem.ball import UNIT_DOMAIN, Domain
from milp_verix.problem.features import FeaturesLike
from verix_encodings import BoundMethod, Formulation

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


class AskedAnywhere(TypedDict, total=False):
    """The options of a question but the radius."""

    norm: str
    delta: float | None
    domain: Domain
    features: FeaturesLike
    feature_names: Sequence[str] | None
    label: ClassLike | None
    against: ClassLike | Sequence[ClassLike] | None
    output: int | None
    image_shape: Sequence[int] | None
    inputs: Inputs | Sequence[Feature] | None


class Asked(AskedAnywhere, total=False):
    """The options of a question."""

    epsilon: Required[Epsilon]


class BoundOptions(TypedDict, total=False):
    """Options of a search: how values inside the network are bounded."""

    bounds: BoundMethod | str
    segments: int


class EncodingOptions(BoundOptions, total=False):
    """Options of a search: how a check becomes a program."""

    formulation: str | Formulation


class LimitOptions(TypedDict, total=False):
    """Options of a search: time, memory, threads, tolerances, and what a solver keeps."""

    threads: int
    warm: str
    tolerances: Tolerances
    time_limit: float | None
    check_time_limit: float | None
    memory: float | str | None


class SolverOptions(LimitOptions, total=False):
    """Options of a search: the solver and its limits."""

    solver: str


class CheckOptions(SolverOptions, EncodingOptions, total=False):
    """Options of a search that concern a single check."""


class DecisionOptions(TypedDict, total=False):
    """Options of a search: how far checks go, and what they learn from each other."""

    exactness: str
    reuse: bool
    seed: int


class TraversalOptions(CheckOptions, DecisionOptions, total=False):
    """The options of a search, every one."""


class ComparisonOptions(LimitOptions, BoundOptions, DecisionOptions, total=False):
    """The options of a search that several solvers and formulations have in common."""


class Ordering(TypedDict, total=False):
    """The order in which features are tried, and which checks that asks."""

    order: OrderLike
    transformation: str
    traversal: str
