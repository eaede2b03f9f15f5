"""Bounds on the margins over the whole ball, and over the smaller balls of checks.

One pass over the whole ball serves orders, checks and searches; bounds over larger balls hold in
smaller ones, and cut them. A *ceiling* is a ball with deeper bounds, found by an engine that needed
them. They serve every later check of a ball inside it, whoever asks: fewer coordinates are free, or
the radius is smaller.

Headroom: how far a set that is proven free is from its limits, and what each feature takes of it.
Let ``u_j < 0`` be the proven bound on margin ``j`` over the ball of the free set ``B``, and
``a_j·x + b_j`` CROWN's linear form that is above the margin there. Freeing coordinate ``k`` adds
at most ``max(a_jk (u_k − x_k), a_jk (l_k − x_k))`` to it: ``g_ij`` is the sum over feature ``i``.

Methods that bound neurons have names. Two of them solve linear and mixed-integer programs (OBBT):
for a neuron ``z_i`` that is still unstable, the network up to ``z`` is encoded with the bounds
known so far, and ``z_i`` is minimised and maximised: over the linear relaxation (``lp``) or over
the program itself (``milp``). The layers go in order, so each profits from those before it (Tjeng,
Xiao, Tedrake, ICLR 2019, §4.2). The methods enclose one another: interval, CROWN, LP, MILP; CROWN
with optimised slopes (``alpha``) is between CROWN and LP, and trees of phases (``branched``) go on
from there.

Bounds rest on these proofs:

- LP: the row duals alone, evaluated with rounding errors accounted for
  (``verix_encodings.safe_bounds``), so that no tolerance of the solver enters. A solver without
  duals is treated as a MILP solver.
- MILP: the solver's dual bound, widened by the margin between proof and noise
  (:meth:`~milp_verix.base.tolerances.Tolerances.decisive`), and only if the big-Ms can be trusted.

If a solver fails or runs out of time, the bounds proven by then are kept.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

import numpy as np

import verix_encodings as ve
from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.base.errors import InputError, SolverError, require_one_of
from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.engines.engine import Deeper
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import USUAL, Search
from milp_verix.solvers import Session, Targets, open_session, resolve_solver
from verix_encodings import (
    BoundMethod,
    Bounds,
    Encoding,
    Interval,
    Network,
    NormBall,
    Region,
    alpha_bounds,
    ball_encoding,
    branched_bounds,
    crown_bounds,
    encode,
    interval_bounds,
)
from verix_encodings.alpha import beyond_input
from verix_encodings.arrays import BoolArray, FloatArray, IntArray, dense, unit_rows
from verix_encodings.bounds.interval import Late
from verix_encodings.crown import intersection, readers_of, undecided, upper_form
from verix_encodings.interval_bounds import leaf_bounds
from verix_encodings.safe_bounds import SafeBound, encoding_error, evaluation_error, tightened_range


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
        self, network: Network, region: Region, deadline: Deadline = NO_LIMIT, within: Bounds = ()
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
    method: BoundMethod, network: Network, region: Region, deadline: Deadline, within: Bounds = ()
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


_PART = 0.2  # of the work left for optimised slopes; not measured


@dataclass(frozen=True, slots=True, eq=False)
class WholeBall:
    """The network of ``margins``, and ``bounds`` over the whole ball, wider if not ``finished``."""

    margins: Network
    bounds: Bounds
    finished: bool = True

    def only(self, chosen: BoolArray) -> "WholeBall":
        """Return the same bounds with the ``chosen`` margins alone."""
        *inner, last = self.bounds
        part = self.margins.then(
            unit_rows(np.flatnonzero(chosen), chosen.size), np.zeros(int(chosen.sum()))
        )
        outputs = Interval(last.lower[chosen], last.upper[chosen])
        return WholeBall(part, (*inner, outputs), self.finished)


def whole_ball(
    problem: ProblemData, deadline: Deadline = NO_LIMIT, method: BoundMethod = crown_bounds
) -> WholeBall:
    """Bound the margins of ``problem`` over its ball, as tightly as there is time for.

    Where CROWN leaves a margin open and ``method`` is :func:`alpha_bounds` or
    :func:`branched_bounds`, it has a small part of the time. Raises ``OverflowError`` where a bound
    leaves the range of float64.
    """
    region = problem.ball.region(np.arange(problem.x.size))
    # a pass that ends right after the deadline, with nothing left out, is finished
    stopped = False

    def late() -> bool:
        nonlocal stopped
        stopped = stopped or deadline.passed()
        return stopped

    if problem.margins.stepped:
        # there are no lines around jumps
        return WholeBall(problem.margins, leaf_bounds(problem.margins, region))
    bounds = crown_bounds(problem.margins, region, late=late)
    if method in (alpha_bounds, branched_bounds) and bounds[-1].upper.max() >= 0:
        part = deadline.share(_PART)
        bounds = bounds_within(method, problem.margins, region, part, bounds)
    return WholeBall(problem.margins, bounds, not stopped)


_LATE = 1.0
"""Seconds behind a deadline after which no pass is made inside bounds that are known: a check of a
transformer of 256 tokens took 8.8 s at a limit of 0.01 s, half of them for a second pass."""
_MOST = 100.0  # by how much faster margins may be expected to grow; not measured


@dataclass(frozen=True, slots=True, eq=False)
class Headroom:
    """The bounds ``u``, shape (m,), and the growth ``g``, shape (m, features)."""

    upper: FloatArray
    growth: FloatArray

    def fitting(self, features: Sequence[int]) -> list[int]:
        """Return those of ``features`` that the form leaves headroom for, one at a time."""
        fits = np.all(self.upper[:, None] + self.growth[:, list(features)] < 0, axis=0)
        return [feature for feature, fit in zip(features, fits.tolist(), strict=True) if fit]

    def together(self, features: Sequence[int], factor: float) -> int:
        """Return how many of ``features``, from the first on, have headroom together; at least one.

        The margins are expected to grow ``factor`` times as fast as the form.
        """
        grown = factor * np.cumsum(self.growth[:, list(features)], axis=1)
        fits = np.all(self.upper[:, None] + grown < 0, axis=0)
        return len(features) if fits.all() else max(1, int(np.argmin(fits)))

    def factor(self, features: Sequence[int], later: FloatArray) -> float:
        """Return the ratio of the margins' growth to the form's, with ``features`` free.

        ``later`` are the bounds of the margins then. The ratio is the largest of all margins, at
        least 1 and at most 100.
        """
        expected = np.sum(self.growth[:, list(features)], axis=1)
        grown = (later - self.upper) / np.where(expected > 0, expected, np.inf)
        return float(np.clip(np.max(grown, initial=1.0), 1.0, _MOST))


def rises_of(problem: ProblemData, slopes: FloatArray) -> FloatArray:
    """Return how far each coordinate raises each margin by its ``slopes``; both (m, d)."""
    x, outer = problem.x.astype(np.float64), problem.ball.outer
    with np.errstate(over="ignore"):  # beyond float64 is infinite, and comes last
        return np.maximum(slopes * (outer.upper - x), slopes * (outer.lower - x))


def form_rises(problem: ProblemData, margins: Network, bounds: Bounds) -> FloatArray:
    """Return how far each coordinate raises the margins by CROWN's forms; shape (m, d)."""
    every = unit_rows(range(margins.output_size), margins.output_size)
    form = upper_form(margins, bounds, len(margins.nodes), every)
    return rises_of(problem, dense(form.coefficients))


@dataclass(frozen=True, slots=True, eq=False)
class Preparation:
    """The ``margins`` that checks are about, with bounds over the whole ball.

    ``margins`` leaves out margins that cannot reach zero anywhere; ``highest`` is the highest bound
    on these. ``whole`` bounds all margins, ``left`` those in ``margins``; None before there are
    bounds. ``proven`` says that every margin is proven: then every check holds.
    """

    margins: Network
    whole: WholeBall | None = None
    left: WholeBall | None = None
    highest: float = -np.inf
    proven: bool = False


def prepared(
    problem: ProblemData,
    tolerances: Tolerances,
    deadline: Deadline,
    method: BoundMethod = crown_bounds,
) -> Preparation:
    """Bound the margins over the whole ball as :func:`whole_ball` does, and drop those proven."""
    whole = whole_ball(problem, deadline, method)
    last = whole.bounds[-1]
    open_ = ~(last.upper < -tolerances.needed(last.magnitude))
    proven = not open_.any()
    if proven:
        open_[np.argmax(last.upper)] = True  # the one that decides the others
    left = whole.only(open_)
    highest = float(np.max(last.upper[~open_], initial=-np.inf))
    return Preparation(left.margins, whole, left, highest, proven)


def notes_on(margins: Network, exactness: str, segments: int) -> tuple[str, ...]:
    """Return notes for readers on checks that leave more features undecided than exact ones."""
    if exactness != "exact":
        return (
            f"exactness {exactness!r}: what holds is proven, and counterfactuals are "
            "real, but a check that needs a mixed-integer program is undecided",
        )
    if margins.exact:
        return ()
    names = ", ".join(sorted(margins.enclosed))
    return (
        f"the functions {names} are enclosed, smooth ones by {segments} segments each: what "
        "holds is proven, and counterfactuals are real, but a feature may be undecided for no "
        "other reason than the enclosure; more segments decide more",
    )


# fewer undecided neurons than these leave programs small, and slopes little to gain
_MANY = 12
_MOST_CEILINGS = 12  # that are kept; not measured
# passes in a row that decide nothing, after which the time is left to programs
_MOST_MISSES = 8


@dataclass(slots=True, eq=False)
class SmallerBalls:
    """Bounds on a network by ``method``, over one ball after the other.

    ``persistent`` says that slopes are optimised in each ball, however often in vain before;
    ``deepens``, that engines may make bounds deeper; ``keeps``, that these serve later balls;
    ``deepest`` is the greatest depth so far; ``name`` is that of the method.
    """

    method: BoundMethod
    persistent: bool
    deepens: bool = False
    keeps: bool = True
    deepest: int = 0
    name: str = ""
    _misses: int = 0
    _ceilings: list[tuple[Interval | NormBall, Deeper]] = field(default_factory=list)

    @classmethod
    def of(cls, problem: ProblemData, search: Search) -> "SmallerBalls":
        """Return the bounds of checks; ``InputError`` for a method that does not fit."""
        name, method = resolve_bounds(search.bounds)
        mixed = problem.ball.mixed
        if problem.margins.stepped:
            if name not in ("interval", "crown", USUAL.bounds):
                raise InputError(
                    f"bounds={name!r} tightens the values of neurons, and trees have none: leave "
                    "bounds out"
                )
            integral = None if mixed is None else mixed.integral
            name, method = "interval", partial(leaf_bounds, integral=integral)
        deepens = name in DEEPENED and mixed is None
        return cls(method, search.exactness == "bounds", deepens, search.reuse, name=name)

    def bounds(
        self,
        network: Network,
        region: Interval | NormBall,
        whole: WholeBall | None,
        deadline: Deadline,
    ) -> Deeper:
        """Bound ``network`` over ``region``, inside bounds over the balls around it."""
        first = self.method
        if first is branched_bounds and whole is not None:
            first = crown_bounds
        depth = 0 if self.deepens else None
        around = [one for one in self._ceilings if _inside(region, one[0])]
        if around:
            there, ceiling = min(around, key=lambda one: _size(one[0]))
            known, finished = ceiling.bounds, _inside(there, region)
            depth = ceiling.depth
        elif whole is not None:
            own, box, known = region.box, whole.bounds[0], whole.bounds
            same = np.array_equal(own.lower, box.lower) and np.array_equal(own.upper, box.upper)
            finished = whole.finished and same
        else:
            known, finished = (), False
        late = known and deadline.seconds < -_LATE
        if late or (finished and first in (crown_bounds, alpha_bounds)):
            return Deeper(known, depth)
        return Deeper(bounds_within(first, network, region, deadline, known), depth)

    def deepened(
        self, region: Interval | NormBall, deeper: Deeper | None, bounds: Bounds
    ) -> Bounds:
        """Keep ``deeper`` bounds over ``region``; return these, or ``bounds`` without any."""
        if deeper is None:
            return bounds
        self.deepest = max(self.deepest, deeper.depth or 0)
        if self.keeps:
            others = [
                one
                for one in self._ceilings
                if not (_inside(region, one[0]) and _inside(one[0], region))
            ]
            self._ceilings = [*others[1 - _MOST_CEILINGS :], (region, deeper)]
        return deeper.bounds

    def with_slopes(
        self,
        network: Network,
        region: Interval | NormBall,
        bounds: Bounds,
        *,
        upper: FloatArray,
        needed: FloatArray,
        deadline: Deadline,
    ) -> Bounds:
        """Optimise slopes, inside ``bounds``, to prove outputs below ``-needed``.

        ``upper`` are bounds on the outputs known otherwise, shape (m,) as ``needed``. Returns
        ``bounds`` where slopes are not asked for, or hopeless.
        """
        hopeful = self.persistent or self._misses < _MOST_MISSES
        wanted = hopeful and self.method in (alpha_bounds, branched_bounds)
        if not wanted or beyond_input(network, bounds) < _MANY:
            return bounds
        found = alpha_bounds(network, region, deadline.passed, within=bounds)
        proven = np.all(np.fmin(upper, found[-1].upper) < -needed)
        self._misses = 0 if proven else self._misses + 1
        return found


def _size(region: Interval | NormBall) -> tuple[float, float]:
    """Return the sum of the widths of a ball's box, and its radius in another norm than L∞."""
    radius = region.radius if isinstance(region, NormBall) else 0.0
    return float(np.sum(region.box.upper - region.box.lower)), radius


def _inside(inner: Interval | NormBall, outer: Interval | NormBall) -> bool:
    """Return whether ``outer`` holds ``inner``, as far as their boxes, norms and radii tell."""
    low, high = inner.box, outer.box
    if np.any(low.lower < high.lower) or np.any(low.upper > high.upper):
        return False
    if not isinstance(outer, NormBall):
        return True
    if not isinstance(inner, NormBall) or inner.norm != outer.norm:
        return False
    return inner.radius <= outer.radius and np.array_equal(inner.centre, outer.centre)
