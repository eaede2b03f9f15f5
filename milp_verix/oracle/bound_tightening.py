"""Bounds by linear and mixed-integer programs (OBBT), and the bound methods by name.

For a neuron ``z_i`` that is still unstable, the network up to ``z`` is encoded with the bounds
known so far, and ``z_i`` is minimised and maximised: over the linear relaxation (``lp``) or over
the program itself (``milp``). The layers go in order, so each profits from those before it (Tjeng,
Xiao, Tedrake, ICLR 2019, §4.2). The methods enclose one another: interval, CROWN, LP, MILP;
CROWN with optimised slopes (``alpha``) is between CROWN and LP, and trees of phases (``branched``)
go on from there.

Bounds rest on these proofs:

- LP: the row duals alone, evaluated with rounding errors accounted for
  (``verix_encodings.safe_bounds``), so that no tolerance of the solver enters. A solver without
  duals is treated as a MILP solver.
- MILP: the solver's dual bound, widened by the margin between proof and noise
  (:meth:`~milp_verix.base.tolerances.Tolerances.decisive`), and only if the big-Ms can be trusted.

If a solver fails or runs out of time, the bounds proven by then are kept.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

import numpy as np

import verix_encodings as ve
from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.base.errors import InputError, SolverError, require_one_of
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers import Session, Targets, open_session, resolve_solver
from verix_encodings import (
    BoundMethod,
    Bounds,
    Encoding,
    Interval,
    Network,
    Region,
    alpha_bounds,
    ball_encoding,
    crown_bounds,
    encode,
    interval_bounds,
)
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.interval import Late
from verix_encodings.crown import intersection, readers_of, undecided
from verix_encodings.safe_bounds import (
    SafeBound,
    encoding_error,
    evaluation_error,
    tightened_range,
)


@dataclass(frozen=True, slots=True)
class ProgramBounds:
    """A bound method that tightens CROWN's bounds by linear or mixed-integer programs.

    Each call may take ``seconds`` of work; ``neurons`` is the number of each layer that are
    tightened, the widest first (all by default). The outputs are tightened as well, by the linear
    relaxation alone, since a check maximises them over the program anyway. Raises as
    :func:`~milp_verix.solvers.resolve_solver` does.
    """

    solver: str = "highs"
    integer: bool = field(kw_only=True)
    seconds: float = field(kw_only=True)
    neurons: int | None = field(default=None, kw_only=True)
    threads: int = field(default=1, kw_only=True)
    tolerances: Tolerances = field(default=Tolerances(), kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "solver", resolve_solver(self.solver).name)

    def __call__(
        self,
        network: Network,
        region: Region,
        deadline: Deadline = NO_LIMIT,
        within: Bounds = (),
    ) -> Bounds:
        """Bound every value over ``region``, inside the bounds ``within``, by the ``deadline``."""
        opened = open_session(self.solver, threads=self.threads, tolerances=self.tolerances)
        with closing(opened) as session:
            programs = _Programs(self, network, region, session, deadline.within(self.seconds))
            bounds = crown_bounds(network, region, late=deadline.passed, within=within)
            # the relaxation first: it settles many neurons at a small part of the cost
            for integer in (False, True) if self.integer else (False,):
                try:
                    for stage in programs.layer_by_layer(bounds, deadline.passed, integer=integer):
                        bounds = stage
                except SolverError:
                    break  # what was proven until then stays
            return bounds


lp_bounds = partial(ProgramBounds, integer=False, seconds=10.0)
milp_bounds = partial(ProgramBounds, integer=True, seconds=30.0)

BOUNDS: dict[str, Callable[[], BoundMethod]] = {
    "interval": lambda: interval_bounds,
    "crown": lambda: crown_bounds,
    "alpha": lambda: alpha_bounds,
    "branched": lambda: ve.branched_bounds,
    "lp": lp_bounds,
    "milp": milp_bounds,
    "auto": lambda: crown_bounds,
}
"""The bound methods that have a name, the widest first, and ``auto``, CROWN to begin with."""

DEEPENED = ("auto", "branched")
"""The bound methods that engines may make deeper (``verix_encodings.deepening``)."""


def resolve_bounds(bounds: BoundMethod | str) -> tuple[str, BoundMethod]:
    """Return the name of a bound method and the method; ``InputError`` for an unknown name."""
    if isinstance(bounds, str):
        require_one_of(BOUNDS, bounds, "bounds")
        return bounds, BOUNDS[bounds]()
    if not callable(bounds):
        raise InputError(f"bounds is a name or a function, got {bounds!r}")
    if isinstance(bounds, ProgramBounds):
        return "milp" if bounds.integer else "lp", bounds
    return getattr(bounds, "__name__", type(bounds).__name__).removesuffix("_bounds"), bounds


def bounds_within(
    method: BoundMethod,
    network: Network,
    region: Region,
    deadline: Deadline,
    within: Bounds = (),
) -> Bounds:
    """Call ``method``, with the deadline if it is a method of ours that may take long.

    ``within`` are bounds known to hold over ``region``, and serve our methods: slopes optimised for
    a larger region already need not be optimised again.
    """
    if isinstance(method, ProgramBounds):
        return method(network, region, deadline, within)
    if method is crown_bounds or (method is alpha_bounds and within):
        return crown_bounds(network, region, late=deadline.passed, within=within)
    if method is alpha_bounds:
        return alpha_bounds(network, region, late=deadline.passed)
    if method is ve.branched_bounds:
        return ve.branched_bounds(network, region, deadline.passed, within=within)
    found = method(network, region)
    listed = isinstance(found, tuple) and all(isinstance(one, Interval) for one in found)
    if not listed or [one.lower.size for one in found] != list(network.sizes):
        raise InputError(
            f"the function {method!r} for bounds must return a tuple of one Interval for each of "
            f"the {len(network.sizes)} values of the network, in their order"
        )
    return found


@dataclass(frozen=True, slots=True)
class _Programs:
    """The programs of ``method`` for one network and region, solved by an open session."""

    method: ProgramBounds
    network: Network
    region: Region
    session: Session
    deadline: Deadline

    def layer_by_layer(self, bounds: Bounds, late: Late, *, integer: bool) -> Iterator[Bounds]:
        """Yield tighter ``bounds`` after each layer; CROWN's own end once ``late()``."""
        network = self.network
        last, settled, readers = len(network.nodes), 0, readers_of(network)
        for value in sorted({*readers, last} - {0}):
            if self.deadline.passed():
                return
            part = network.up_to(value)
            if settled:
                # what was tightened so far tightens what comes after it
                again = crown_bounds(part, self.region, bounds[: settled + 1], late)
                both = map(intersection, bounds[: len(again)], again)
                bounds = (*both, *bounds[value + 1 :])
            known = bounds[value]
            wide = known.lower < known.upper
            rows = np.flatnonzero(wide) if value == last else undecided(readers[value], known)
            # over the input alone the bounds known are exact
            beyond_input = any(source != 0 for source in network.nodes[value - 1].sources)
            if rows.size and beyond_input and not self.deadline.passed():
                whole = integer and value != last
                encoding = encode(part, bounds[: value + 1], ball=ball_encoding(self.region))
                widest_first = np.argsort(known.lower[rows] - known.upper[rows], kind="stable")
                chosen = rows[widest_first][: self.method.neurons]
                errors = (
                    encoding_error(part, bounds[: value + 1]),
                    evaluation_error(part, bounds[: value + 1]),
                )
                tight = self._over_program(encoding, known, chosen, *errors, integer=whole)
                bounds = (*bounds[:value], tight, *bounds[value + 1 :])
            settled = value
            yield bounds

    def _over_program(
        self,
        encoding: Encoding,
        known: Interval,
        rows: IntArray,
        row_error: float,
        output_errors: FloatArray,
        *,
        integer: bool,
    ) -> Interval:
        """Tighten the outputs ``rows`` of a program until the time is spent, or the solver fails.

        The errors bound the rounding in any row of the program, and in its evaluated outputs.
        """
        if not encoding.program.columns:
            return known
        self.session.load(encoding.program if integer else encoding.program.relaxed)
        limit = min(self.session.largest_big_m, self.method.tolerances.largest_big_m)
        if integer and not encoding.largest_big_m <= limit:
            return known
        safe, failed = SafeBound(encoding.program), False

        def least(row: int, cost: FloatArray, constant: float) -> tuple[float, FloatArray | None]:
            nonlocal failed
            try:
                result = self.session.minimise(cost, Targets().until(self.deadline))
            except SolverError:
                failed = True
                return -np.inf, None
            magnitude = float(known.magnitude[row])
            if result.duals is not None:
                bound = safe.lower(cost, result.duals, row_error)
            else:
                noise = self.method.tolerances.decisive(magnitude)
                bound = result.bound - max(noise, float(output_errors[row])) - row_error
            # the expression of the neuron is rounded as the rows are, and so is this sum
            slack = row_error + 1e-15 * (magnitude + abs(constant))
            return constant + bound - slack, result.point

        return tightened_range(
            encoding.output,
            known,
            rows.tolist(),
            least,
            encoding.program.columns,
            late=lambda: failed or self.deadline.passed(),
        )
