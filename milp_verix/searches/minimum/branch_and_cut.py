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
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.oracle.verdict import SearchEffort
from milp_verix.searches.minimum.bound_cases import (
    NO_FIXINGS,
    Fixings,
    read_cases,
    stored_cases,
)
from milp_verix.searches.minimum.enumeration import NodeEnumeration
from milp_verix.searches.minimum.minimum_search import Ground, MinimumSearch
from milp_verix.searches.minimum.relaxation import (
    ConstraintPool,
    NodeSolution,
    Relaxation,
    Restriction,
)
from milp_verix.solvers.warm_lp import WarmLp
from verix_encodings.arrays import FloatArray
from verix_encodings.encoding import Constraint


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
        inputs = self._separator.inputs()
        return lambda: Ground(inputs(), stored_cases(splits, names))

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
        solution = relaxation.solve(node.fixings, min(cutoff, self._reached), deadline)
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
        violated = relaxation.pool.violated(solution.selection)
        self._proposals.improve(solution.selection, self.bound)
        if self._refuted(solution, relaxation.restriction_by(node.fixings, solution.fixings)):
            return []
        phase = relaxation.worst_phase(solution, node.fixings) if violated else None
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
        if node.bound >= self._incumbent.cutoff or solution.whole:
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
