"""The options that say how an answer is looked for, in groups."""

from dataclasses import dataclass, fields
from typing import Annotated, TypeAlias

from milp_verix.cli.help_sections import search_option
from milp_verix.cli.options import (
    BoundsName,
    CheckTimeLimit,
    FormulationName,
    Memory,
    Segments,
    SolverName,
    Threads,
    TimeLimit,
    Warm,
)
from milp_verix.problem.search import EXACTNESS, Search
from milp_verix.searches.explain.order import ORDERS, TRANSFORMATIONS
from milp_verix.searches.explain.strategies import STRATEGIES
from verix_encodings.blocks.smooth_enclosure import DEFAULT_SEGMENTS

OrderName: TypeAlias = Annotated[
    str,
    search_option(
        metavar="|".join([*ORDERS, "FILE"]),
        help="Traversal order; FILE is a .npy or .json list of all features.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """Threads, time, memory, and what a solver keeps."""

    threads: Threads = 1
    warm: Warm = "auto"
    time_limit: TimeLimit = None
    check_time_limit: CheckTimeLimit = None
    memory: Memory = None

    def search(self) -> Search:
        """Return the search by these options; raises ``InputError`` for one that does not fit."""
        known = {one.name for one in fields(Search)}
        return Search(**{name: value for name, value in vars(self).items() if name in known})


@dataclass(frozen=True, kw_only=True)
class SearchOptions(LimitOptions):
    """The solver, and its limits."""

    solver: SolverName = "auto"


@dataclass(frozen=True, kw_only=True)
class BoundOptions(LimitOptions):
    """The bounds on values inside the network, and limits."""

    bounds: BoundsName = "auto"
    segments: Segments = DEFAULT_SEGMENTS


@dataclass(frozen=True, kw_only=True)
class CheckOptions(SearchOptions):
    """The solver, and how checks become programs."""

    bounds: BoundsName = "auto"
    segments: Segments = DEFAULT_SEGMENTS
    formulation: FormulationName = "big_m"


@dataclass(frozen=True, kw_only=True)
class TraversalOptions(CheckOptions):
    """The strategy of a traversal without its order, and the options of each check."""

    transformation: Annotated[
        str, search_option(metavar="|".join(TRANSFORMATIONS), help="For the order sensitivity.")
    ] = "reversal"
    traversal: Annotated[
        str, search_option(metavar="|".join(STRATEGIES), help="Which checks are asked.")
    ] = "galloping"
    exactness: Annotated[
        str,
        search_option(
            metavar="|".join(EXACTNESS),
            help="How far a check goes; all but exact leave features undecided.",
        ),
    ] = "exact"
    seed: Annotated[int, search_option(metavar="N", min=0, help="Seed of the order random.")] = 0
