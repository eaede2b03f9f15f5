"""The options of public calls, and of a search: solver, bounds, formulation, limits; checked once.

The question's options as they are given stand in :class:`Given`, those of a search in
:class:`Search`. A :class:`Request` is what a check or a search answers: a problem, a search for it,
and its time.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from numpy.typing import ArrayLike, NDArray

from milp_verix.base.arguments import LONGEST_CHECK, Options, integer_of, seconds_of, segments_of
from milp_verix.base.clock import Deadline, Limit, bytes_of, deadline_in, holds_more
from milp_verix.base.errors import InputError, meant, require_one_of
from milp_verix.base.tolerances import Tolerances, tolerances_of
from milp_verix.inputs.feature import Feature
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.radii import Epsilon
from milp_verix.problem.ball import UNIT_DOMAIN, Domain
from milp_verix.problem.features import FeaturesLike
from milp_verix.problem.option_rows import kinds_of
from milp_verix.solvers import OWN_ENGINES, Session, Solver, open_session
from verix_encodings import FORMULATIONS, BoundMethod, Formulation, formulation_named
from verix_encodings.encoding import DEFAULT_SEGMENTS

if TYPE_CHECKING:
    from milp_verix.problem.problem import ProblemData

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


_TOLERANCES = Tolerances()

EXACTNESS = ("exact", "relaxation", "bounds")
"""The last stage of a check: mixed-integer programs, their linear relaxations, or bounds."""

WARM = ("auto", "rebuilt", "in_place", "start")
"""The ways in which a solver goes on from one program to the next."""


def resolve_formulation(formulation: str | Formulation) -> Formulation:
    """Return a formulation by its name, or as it is given; ``InputError`` for anything else."""
    if isinstance(formulation, Formulation):
        return formulation
    try:
        return formulation_named(str(formulation))
    except ValueError as error:
        raise InputError(f"{error}{meant(str(formulation), FORMULATIONS)}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Search(Options):
    """The options of a search: its solver, its limits, and how it bounds and encodes the network.

    A search is frozen, and equal to one with equal options. No option changes what a proof is; some
    leave features undecided.

    Args:
        solver: the solver's name, or an object. Names are ``"auto"``, ``"highs"``, ``"phase"``,
            ``"cbc"``, ``"gurobi"``, ``"scip"``, ``"xpress"``, ``"copt"``, ``"cplex"``,
            ``"ortools"``, ``"pulp"``, ``"pyomo"``, ``"split"``, ``"beta"``, ``"leaves"``,
            ``"pulp:NAME"`` and ``"pyomo:NAME"``; see ``docs/solvers.md``.
        exactness: ``"exact"``; or, faster and still sound, with features left undecided:
            ``"relaxation"`` (linear relaxations only) or ``"bounds"`` (no program at all).
        time_limit: seconds from the call on, orders and bounds included; None for no limit. Work
            that cannot be cut short, such as reading the network, may end a little later.
        check_time_limit: the most seconds for each check. By default ``time_limit`` is the only
            limit, or the work of 300 seconds where there is none; ``math.inf`` for no limit. Each
            check gets a small slice of the work first, and more once the other features are
            decided. Seconds choose nothing: results without a limit, and with one that is not
            reached, are the same on any machine, however busy (``docs/solvers.md``).
        memory: bytes that the process may hold, or a text such as ``"2 GB"``; None for no limit. A
            check that goes beyond is left undecided, and a search that begins there ends. It is
            looked at where time is, so one batch of work, or one program, may go beyond.
        seed: seed of the order ``"random"``.
        threads: threads that the solver may use, if it can use several: HiGHS, Gurobi and CBC do.
            With more than one, runs by CBC may differ.
        bounds: how bounds on the neurons are found: ``"interval"``, ``"crown"``, ``"alpha"`` (CROWN
            with optimised slopes), ``"branched"`` (these, then trees of phases), ``"lp"`` or
            ``"milp"``, or a function. ``"auto"`` begins with CROWN, and goes on to slopes and trees
            for checks that take long.
        segments: number of pieces that enclose each smooth activation, 1 to 1,000: more pieces
            decide more checks, and take longer.
        formulation: how ReLUs become rows and columns: ``"big_m"``, ``"indicator"``, ``"sos1"``,
            ``"general"``, ``"partition"`` or ``"partition:N"``; not every solver takes each.
        warm: what a solver keeps from one program to the next: ``"rebuilt"`` (nothing),
            ``"in_place"`` (one program over the whole ball, or of all scenarios, whose numbers
            change), ``"start"`` (the same, from the worst input known, or the best explanation), or
            ``"auto"``, which measurements prefer for each solver (``docs/warm_starts.md``).
        reuse: whether a check uses points and bounds of earlier checks; without it, the same
            explanation takes longer.
        tolerances: the distances that separate a proof from noise.

    Raises:
        InputError: an option does not fit. Names of solvers and bounds are looked up by the search.
    """

    solver: str | Solver = "auto"
    exactness: str = "exact"
    time_limit: float | Deadline | None = None
    check_time_limit: float | None = None
    memory: float | str | None = None
    seed: int = 0
    threads: int = 1
    bounds: BoundMethod | str = "auto"
    segments: int = DEFAULT_SEGMENTS
    formulation: str | Formulation = "big_m"
    warm: str = "auto"
    reuse: bool = True
    tolerances: Tolerances = _TOLERANCES

    def __post_init__(self) -> None:
        self._accept(kinds_of("explain"))
        require_one_of(EXACTNESS, self.exactness, "exactness")
        require_one_of(WARM, self.warm, "warm")
        if not isinstance(self.time_limit, Deadline):
            seconds_of(self.time_limit, "time_limit")
        seconds_of(self.check_time_limit, "check_time_limit")
        bytes_of(self.memory)
        integer_of(self.threads, "threads")
        integer_of(self.seed, "seed", least=0)
        segments_of(self.segments)
        resolve_formulation(self.formulation)
        object.__setattr__(self, "tolerances", tolerances_of(self.tolerances))

    def __repr__(self) -> str:
        parts = [f"{name}={value!r}" for name, value in self.given().items()]
        return f"Search({', '.join(parts)})"

    def given(self) -> dict[str, Any]:
        """Return the options that are not the usual ones, by name."""
        named = ((one.name, getattr(self, one.name)) for one in fields(self))
        return {name: value for name, value in named if value != getattr(USUAL, name)}

    def require_only(self, call: str, what: str) -> None:
        """Raise ``InputError`` for an option of a search that ``call``, named ``what``, lacks."""
        taken = kinds_of(call)
        for name, value in self.given().items():
            if name not in taken:
                raise InputError(
                    f"{what} takes no {name}, got {value!r}: leave it out of the search"
                )


USUAL = Search()
"""The search with the usual options."""


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A problem and a search for its answer, from the moment of the call on.

    ``started`` is that moment in terms of ``time.monotonic()``, ``deadline`` the moment when the
    search must end; ``check_limit`` is the limit of one check.
    """

    problem: "ProblemData"
    search: Search
    started: float
    deadline: Deadline
    check_limit: Limit

    @classmethod
    def now(cls, problem: "ProblemData", search: Search) -> Self:
        """Return the request; its time starts to run.

        A search inside of another one has that one's deadline for its ``time_limit``. Raises
        ``InputError`` where the model in memory was fitted again since the problem was posed.
        """
        started, limit = time.monotonic(), search.time_limit
        if not isinstance(limit, Deadline):
            problem.network.require_unchanged()
            limit = deadline_in(seconds_of(limit, "time_limit"))
        if search.memory is not None:
            limit = replace(limit, full=partial(holds_more, bytes_of(search.memory)))
        return cls(problem, search, started, limit, _check_limit(search))

    @property
    def elapsed(self) -> float:
        """Seconds since the call."""
        return time.monotonic() - self.started

    def open_session(self, checker: str) -> Session:
        """Open a session for programs that are no checks, of the solver that answers the checks.

        HiGHS takes the place of ``phase``, ``split`` and ``beta``, which solve checks alone.
        """
        base, _, options = checker.partition("?")
        name = "highs" if base == "phase" or base in OWN_ENGINES else checker
        if name != checker and "strict=on" in options.split("&"):
            raise InputError(
                f"{checker!r} solves checks alone, and lets no other solver take a program over"
            )
        own = self.search.solver
        chosen = name if isinstance(own, str) or own.name != name else own
        return open_session(chosen, threads=self.search.threads, tolerances=self.search.tolerances)


def _check_limit(search: Search) -> Limit:
    """Return the limit of one check.

    Without one, a ``time_limit`` for all checks limits each. Without either, each may take the work
    of five minutes: no wall clock ends what has no limit.
    """
    if search.check_time_limit is None and search.time_limit is None:
        return Limit(work=LONGEST_CHECK)
    return Limit(seconds=seconds_of(search.check_time_limit, "check_time_limit"))
