"""Branch and cut over the relaxation by scenarios: phases first, then features.

Each step takes the open node with the least bound, solves its linear relaxation, and does the first
of these that applies:

1. *prune* the node, if its bound reaches the cutoff or it is infeasible;
2. *close* the node, if so few sets are left that each can be refuted (:mod:`.enumeration`);
3. *branch on a phase*, if the optimum violates a scenario of its program;
4. *price*: add a new scenario, if the optimum survives all known ones, and solve it again
   (column-and-constraint generation: Zeng & Zhao, *Operations Research Letters* 41, 2013);
5. *branch on a feature*, if no scenario is found; close the node if all features are whole.

Phases come first: with all of them fixed, every margin is linear in the features. The program is
then a covering problem with few rows, whose relaxation is hardly below its optimum.

The linear relaxation of all scenarios and covers known is one warm LP. Features are fixed in, fixed
out, or free; they are the first columns of the program. Bounds are evaluated from row duals
(:mod:`verix_encodings.safe_bounds`), infeasibility from a dual ray. Neither relies on the solver's
own claims.

The phase to branch on is the one whose fixing raises the bound the most. With all other columns at
the optimum, the big-M rows of a phase allow it a range. Its distance is how far that range is from
0 and from 1, whichever is nearer. The distance times the duals of these rows estimates, to first
order, how much fixing the phase raises the bound.
"""

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.oracle.attacks import PerturbationSet
from milp_verix.oracle.verdict import SearchEffort
from milp_verix.problem.objective import Objective
from milp_verix.searches.minimum.bound_cases import (
    NO_FIXINGS,
    Fixings,
    column_names,
    read_cases,
    stored_cases,
)
from milp_verix.searches.minimum.enumeration import NodeEnumeration, Restriction
from milp_verix.searches.minimum.incumbent import is_whole
from milp_verix.searches.minimum.minimum_search import Ground, MinimumSearch, points_of
from milp_verix.searches.minimum.search_limits import SearchLimits
from milp_verix.solvers import SolveStatus
from milp_verix.solvers.session import deferred_interrupt
from milp_verix.solvers.warm_lp import LpResult, WarmLp
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.encoding import Constraint, Cover, Scenario, row_error
from verix_encodings.program import Program
from verix_encodings.safe_bounds import SafeBound
from verix_encodings.scenario import SLACK, ScenarioProgram

_VIOLATED = 10 * SLACK  # a margin above this violates a scenario


class ConstraintPool:
    """A list of ``constraints``; ``deltas``, (d, N), has the perturbations of its scenarios."""

    def __init__(self, perturbations: PerturbationSet) -> None:
        self.perturbations = perturbations
        self.constraints: list[Constraint] = []
        self.deltas = np.zeros((perturbations.centre.size, 0))

    def add(self, constraints: Iterable[Constraint]) -> None:
        """Add ``constraints``."""
        for constraint in constraints:
            if isinstance(constraint, Scenario):
                self.deltas = np.concatenate([self.deltas, constraint.delta[:, None]], axis=1)
            self.constraints.append(constraint)

    def violated(self, selection: FloatArray) -> bool:
        """Return whether ``selection`` violates a cover, or a scenario on the network itself."""
        p = self.perturbations
        covers = (one for one in self.constraints if isinstance(one, Cover))
        if any(1.0 - selection[cover.features].sum() > _VIOLATED for cover in covers):
            return True
        return bool(np.any(p.margins_at(p.weight(selection), self.deltas) > _VIOLATED))


@dataclass(frozen=True, slots=True, eq=False)
class NodeSolution:
    """The solution of a node's relaxation.

    ``bound`` is a proven lower bound on the cost of every set of the node, infinite if there is no
    set. ``selection`` has the values of all features at the optimum, None if no optimum is known.
    A positive entry of ``reduced_costs`` is the rise of the bound if the feature joins the set; a
    negative entry, the rise if it leaves. It is zero for features that are not free; the whole is
    None if no bound is proven. Both have shape (features,). ``fixings`` are free features that keep
    their value in every set cheaper than the cutoff. ``result`` is the LP's result; ``late`` says
    that the deadline passed before it.
    """

    bound: float
    selection: FloatArray | None = None
    reduced_costs: FloatArray | None = None
    fixings: Fixings = NO_FIXINGS
    result: LpResult | None = None
    late: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class RelaxedProgram:
    """A ``program`` of constraints to minimise the ``cost`` of its columns.

    The first ``features`` columns are features. ``error`` bounds the rounding in any row. ``safe``
    evaluates bounds from row duals.
    """

    program: Program
    features: int
    cost: FloatArray
    safe: SafeBound
    error: float

    def ends(self, fixings: Fixings) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper bounds of all columns, with ``fixings`` applied."""
        columns, values = fixings
        low, high = self.program.column_lower.copy(), self.program.column_upper.copy()
        low[columns] = high[columns] = values
        return low, high

    def proven(
        self, ends: tuple[FloatArray, FloatArray], result: LpResult
    ) -> tuple[float, FloatArray | None]:
        """Return the bound that the duals of ``result`` prove, with the features' reduced costs.

        Columns are between ``ends``. The bound is infinite if infeasibility is proven, and minus
        infinity if there is no proof; the reduced costs are None then.
        """
        if result.multipliers is None:
            return -np.inf, None
        y, error = result.multipliers, self.error
        if result.status is not SolveStatus.INFEASIBLE:
            bound, reduced = self.safe.proof(self.cost, y, error, ends)
            return bound, reduced[: self.features] if bound > -np.inf else None
        nothing = np.zeros_like(self.cost)
        proven = max(self.safe.lower(nothing, sign * y, error, ends) for sign in (1.0, -1.0))
        return (np.inf if proven > 0 else -np.inf), None


def relaxed_program(
    growing: ScenarioProgram, constraints: Sequence[Constraint], costs: FloatArray
) -> RelaxedProgram:
    """Build ``growing``, the program of ``constraints``, with the ``costs`` of its features."""
    program, columns = growing.build(), growing.columns
    cost = np.zeros(program.columns)
    cost[columns] = costs
    return RelaxedProgram(program, columns.size, cost, SafeBound(program), row_error(constraints))


def reduced_cost_fixings(
    reduced_costs: FloatArray | None, selection: FloatArray, fixed: IntArray, slack: float
) -> Fixings:
    """Return the features that reduced-cost fixing fixes, as columns, and their values.

    Moving a feature off its LP value, 0 or 1, raises the bound by its reduced cost. It is fixed if
    that exceeds ``slack``. Columns in ``fixed`` are left out.
    """
    if reduced_costs is None or not np.isfinite(slack):
        return NO_FIXINGS
    free = np.ones(reduced_costs.size, dtype=bool)
    free[fixed[fixed < reduced_costs.size]] = False
    far = np.abs(reduced_costs) > slack + 1e-6 * (1.0 + slack)
    at_end = np.where(reduced_costs > 0, selection == 0.0, selection == 1.0)
    fixings = np.flatnonzero(free & far & at_end)
    return fixings, selection[fixings]


_WHOLE = 1e-7  # distance of a share from a whole number, within the tolerance of an LP
_BEYOND = 1e-6  # above the cutoff: where an LP may end


class Relaxation:
    """A linear relaxation of the constraints in ``pool``, solved by ``lp``, and its bounds."""

    def __init__(
        self, lp: WarmLp, pool: ConstraintPool, objective: Objective, limits: SearchLimits
    ) -> None:
        self.lp, self.pool, self._objective, self._limits = lp, pool, objective, limits
        self._features = np.arange(objective.costs.size)
        self._growing = ScenarioProgram(objective.least, objective.most)
        self._taken = 0
        self._take()

    def _take(self) -> None:
        constraints = self.pool.constraints
        for constraint in constraints[self._taken :]:
            self._growing.add(constraint)
        self._taken = len(constraints)
        self._now: RelaxedProgram = relaxed_program(
            self._growing, constraints, self._objective.costs
        )
        self.branching = PhaseBranching(self._now.program, self._features.size)
        self.lp.extend(self._now.program)
        self.lp.set_cost(self._now.cost)

    @property
    def names(self) -> dict[int, str]:
        """How stored cases name the columns that branching fixes."""
        return column_names(self._now.program, self.pool.constraints)

    def any_free(self, fixings: Fixings) -> int | None:
        """Return a column that is not fixed, a phase if there is one; None if all are."""
        columns = np.concatenate([self.branching.columns, self._features])
        open_ = np.setdiff1d(columns, fixings[0])
        return int(open_[-1]) if open_.size else None

    def restriction_by(self, *fixings: Fixings) -> Restriction:
        """Return the features that are fixed in and those that stay free, given ``fixings``."""
        low, high = self._objective.least, self._objective.most
        for columns, values in fixings:
            mine = columns < low.size
            low[columns[mine]] = high[columns[mine]] = values[mine]
        return Restriction(low > 0.5, np.flatnonzero(low < high))

    def solve(
        self, fixings: Fixings, cutoff: float, deadline: Deadline, enough: float = np.inf
    ) -> NodeSolution:
        """Solve with the columns in ``fixings`` fixed, until the bound is ``enough``.

        What the solution fixes, it fixes in sets cheaper than ``cutoff``, whatever is ``enough``.
        """
        enough = min(cutoff, enough)
        if self._taken < len(self.pool.constraints):
            self._take()
        ends = self._now.ends(fixings)
        self.lp.set_bounds(*ends)
        # the LP may stop beyond that; if its duals do not prove that, it is solved to the end
        for limit in (enough + _BEYOND, np.inf):
            with deferred_interrupt() as interrupt:
                result = self.lp.solve(limit, deadline, interrupt)
            if result.status is SolveStatus.TIME_LIMIT:
                return NodeSolution(-np.inf, late=True)
            bound, reduced_costs = self._now.proven(ends, result)
            if result.status is not SolveStatus.TARGET or bound >= enough:
                break
        if bound >= enough or result.point is None:
            return NodeSolution(bound)
        shares = np.clip(result.point[: self._features.size], 0.0, 1.0)
        nearest = np.round(shares)
        shares = np.where(np.abs(shares - nearest) <= _WHOLE, nearest, shares)
        slack = cutoff - bound if self._limits.uses("reduced-cost fixing") else np.inf
        fixed = reduced_cost_fixings(reduced_costs, shares, fixings[0], slack)
        return NodeSolution(bound, shares, reduced_costs, fixed, result)

    def close(self) -> None:
        """Free the linear program."""
        self.lp.close()


_WRONG = 1e-8  # distance of a phase from its value, beyond the tolerance of an LP
# weight of that distance beside the duals; the sum of both was not measured (`9107551`)
_TIE = 1e-3


class PhaseBranching:
    """Chooses a phase of ``program``, an integer column behind ``features``, by its rows."""

    def __init__(self, program: Program, features: int) -> None:
        integer = program.integer.copy()
        integer[:features] = False
        self.columns: IntArray = np.flatnonzero(integer)
        entries = program.matrix[:, self.columns].tocsc()
        in_column = np.diff(entries.indptr)
        self._phase, self._row = np.repeat(np.arange(self.columns.size), in_column), entries.indices
        self._data: FloatArray = entries.data
        self._matrix = program.matrix[self._row]
        sides = program.row_lower[self._row], program.row_upper[self._row]
        self._low_side = np.where(self._data > 0, *sides)
        self._high_side = np.where(self._data > 0, *reversed(sides))
        self._held = np.flatnonzero(in_column)
        self._starts = entries.indptr[self._held]
        self._size = np.zeros(self.columns.size)
        self._size[self._held] = np.maximum.reduceat(np.abs(self._data), self._starts)

    def best(self, result: LpResult, fixed: IntArray) -> int | None:
        """Return the phase to branch on that is not ``fixed``; None if the rows allow each."""
        assert result.point is not None
        distance = self._distances(result.point)
        distance[np.isin(self.columns, fixed)] = 0.0
        wrong = distance * self._size
        if not np.any(wrong > _WRONG):
            return None
        # the big-Ms break ties between equal duals
        gain = _TIE * wrong
        if result.multipliers is not None:
            duals = np.abs(self._data * result.multipliers[self._row])
            gain += distance * np.bincount(self._phase, duals, minlength=self.columns.size)
        return int(self.columns[np.argmax(np.where(wrong > _WRONG, gain, -1.0))])

    def _distances(self, point: FloatArray) -> FloatArray:
        """Return the distance of each phase from the nearer of 0 and 1, by its rows, (phases,)."""
        others = self._matrix @ point - self._data * point[self.columns[self._phase]]
        low, high = np.zeros(self.columns.size), np.ones(self.columns.size)
        # each row allows a range of the phase, with all other columns at the optimum
        ways = (self._low_side - others) / self._data, (self._high_side - others) / self._data
        low[self._held] = np.maximum.reduceat(ways[0], self._starts)
        high[self._held] = np.minimum.reduceat(ways[1], self._starts)
        nearest: FloatArray = np.maximum(np.minimum(low, 1.0 - high), 0.0)
        return nearest


@dataclass(frozen=True, slots=True, order=True)
class BranchNode:
    """Columns fixed in the relaxation, and a proven bound on the cost of its sets.

    Nodes compare by bound; among equal bounds the deeper node comes first. ``height`` is minus the
    depth. ``pricings`` counts the pricing steps on the way to this node.
    """

    bound: float
    height: int
    number: int
    fixings: Fixings = field(compare=False, default=NO_FIXINGS)
    pricings: int = field(compare=False, default=0)


def branch_and_cut(search: MinimumSearch, lp: WarmLp) -> "BranchAndCut | None":
    """Return the master with its first scenarios; None if ``search`` finds no first scenario."""
    # the cases of an earlier search name its scenarios by their numbers
    known: list[Constraint] = [search.separator.scenario(delta) for delta in search.scenarios.T]
    if not (first := known or search.first_scenarios()):
        return None
    pool = ConstraintPool(search.perturbations)
    pool.add(first)
    relaxation = Relaxation(lp, pool, search.incumbent.objective, search.limits)
    return BranchAndCut(search, relaxation, search.ground.cases, search.ground.bound)


class BranchAndCut:
    """The master by branch and bound: open nodes and the lower bound that they prove."""

    notes: tuple[str, ...] = ()

    def __init__(
        self,
        search: MinimumSearch,
        relaxation: Relaxation,
        cases: Sequence[str] = (),
        reached: float = np.inf,
    ) -> None:
        self._incumbent, self._limits = search.incumbent, search.limits
        self._separator, self._proposals = search.separator, search.proposals
        self._enumeration = NodeEnumeration(search.incumbent, search.limits, search.until)
        self._attainable = search.incumbent.objective.attainable
        self._relaxation, self._reached = relaxation, reached
        self._splits, leaves = read_cases(cases, relaxation.names)
        self._nodes = self._earlier = len(self._splits)
        # one behind the other in the tree, programs differ least
        self._again = [
            BranchNode(0.0, -fixings[0].size, number, fixings)
            for number, fixings in reversed(leaves.items())
        ]
        self._open = [] if self._again else [BranchNode(0.0, 0, 0)]
        self._active: BranchNode | None = None
        self._closed = np.inf

    @property
    def bound(self) -> float:
        """A lower bound on explanations cheaper than the incumbent, infinite without any."""
        active = [self._active] if self._active else []
        nodes = [*active, *self._open[:1], *self._again[:1]]
        return min([self._closed, *(node.bound for node in nodes)])

    @property
    def done(self) -> bool:
        return not self._again and (not self._open or self._open[0].bound >= self._incumbent.cutoff)

    def kept(self) -> Callable[[], Ground]:
        splits, names = self._splits.copy(), self._relaxation.names
        problem, deltas = self._incumbent.oracle.problem, self._separator.known
        return lambda: Ground(points_of(problem, deltas), stored_cases(splits, names))

    @property
    def effort(self) -> SearchEffort:
        lp, scenarios = self._relaxation.lp, self._relaxation.pool.deltas.shape[1]
        work = self._nodes - self._earlier, lp.programs, lp.iterations
        return SearchEffort("tree", self._separator.rounds, scenarios, *work)

    def step(self, deadline: Deadline) -> None:
        # set before the pop, so that Ctrl-C between the two cannot lose the node
        if again := bool(self._again):
            self._active = node = self._again[-1]
            self._again.pop()
        else:
            self._active = node = self._open[0]
            heapq.heappop(self._open)
        replacements = (self._bounded if again else self._replacements)(node, deadline)
        for replacement in replacements:
            heapq.heappush(self._open, replacement)
        self._active = None

    def _bounded(self, node: BranchNode, deadline: Deadline) -> list[BranchNode]:
        """Bound a node of an earlier search again, as far as that search; none if it is closed."""
        cutoff, relaxation = self._incumbent.cutoff, self._relaxation
        solution = relaxation.solve(node.fixings, cutoff, deadline, self._reached)
        if solution.late:
            return [node]
        node = replace(node, bound=max(node.bound, self._attainable(solution.bound)))
        if node.bound >= cutoff:
            return self._close(node.bound)
        sets = relaxation.restriction_by(node.fixings, solution.fixings)
        return [] if self._refuted(solution, sets) else [node]

    def _replacements(self, node: BranchNode, deadline: Deadline) -> list[BranchNode]:
        """Return nodes that together hold every cheaper explanation of ``node``."""
        self._nodes += 1
        relaxation, cutoff = self._relaxation, self._incumbent.cutoff
        solution = relaxation.solve(node.fixings, cutoff, deadline)
        if solution.late:
            return [node]
        node = replace(node, bound=max(node.bound, self._attainable(solution.bound)))
        if node.bound >= cutoff:
            return self._close(node.bound)
        if solution.selection is None:
            # numerical trouble: a branch is easier to solve
            return self._branch(node, relaxation.any_free(node.fixings), solution)
        result = solution.result if relaxation.pool.violated(solution.selection) else None
        self._proposals.improve(solution.selection, self.bound)
        if self._refuted(solution, relaxation.restriction_by(node.fixings, solution.fixings)):
            return []
        phase = None if result is None else relaxation.branching.best(result, node.fixings[0])
        if phase is not None:
            return self._branch(node, phase, solution)
        return self._priced(node, solution, solution.selection)

    def _priced(
        self, node: BranchNode, solution: NodeSolution, selection: FloatArray
    ) -> list[BranchNode]:
        """Cut off an optimum that survives every known scenario, or branch on a feature."""
        node, pricings = replace(node, pricings=node.pricings + 1), node.pricings
        if scenarios := self._separator.separate(selection, pricings):
            self._relaxation.pool.add(scenarios)
            return [node]
        if node.bound >= self._incumbent.cutoff or is_whole(selection):
            return self._close(node.bound)
        fractions = np.minimum(selection, 1.0 - selection)
        return self._branch(node, int(np.argmax(fractions)), solution)

    def _branch(
        self, node: BranchNode, column: int | None, solution: NodeSolution
    ) -> list[BranchNode]:
        """Return both children of a node; no node if ``column`` is None."""
        if column is None:
            return self._close(node.bound)
        further, at = solution.fixings
        if further.size:
            self._rely_on_cutoff()
        columns = np.concatenate([node.fixings[0], further, [column]])
        values = np.concatenate([node.fixings[1], at])
        number, height = 2 * self._nodes, node.height - 1
        self._splits[node.number] = column, number
        fixings = ((columns, np.append(values, end)) for end in (0.0, 1.0))
        return [
            replace(node, height=height, number=number + end, fixings=fixed)
            for end, fixed in enumerate(fixings)
        ]

    def _refuted(self, solution: NodeSolution, restriction: Restriction) -> bool:
        """Refute each set of a node if its sets are few; return whether this closes the node."""
        if solution.selection is None or solution.reduced_costs is None:
            return False
        ends, reduced = (solution.bound, self._incumbent.cutoff), solution.reduced_costs
        free = reduced[restriction.free]
        found = self._enumeration.refute(restriction, solution.selection, free, ends)
        if found is None:
            return False
        self._rely_on_cutoff()
        self._relaxation.pool.add(map(self._separator.scenario, found))
        return True

    def _close(self, bound: float) -> list[BranchNode]:
        self._closed = min(self._closed, bound)
        return []

    def _rely_on_cutoff(self) -> None:
        """Cap the bound at the cutoff, since dropped sets may be explanations that cost as much."""
        self._closed = min(self._closed, self._attainable(self._incumbent.cutoff))

    def close(self) -> None:
        self._open, self._active = [], None
        self._relaxation.close()
