"""Branch and cut over the relaxation by scenarios: phases first, then features.

Each step takes the open node with the least bound, solves its linear relaxation, and does the first
of these that applies:

1. *prune* the node, if its bound reaches the cutoff or it is infeasible;
2. *cut*: add a known scenario that its optimum violates and its program lacks; solve it again;
3. *close* the node, if so few sets are left that each can be refuted (:mod:`.enumeration`);
4. *restrict* it, if most features are fixed: give it a relaxation of its own, which is smaller and
   tighter (:mod:`verix_encodings.models.restricted`);
5. *branch on a phase*, if the optimum violates a scenario of its program;
6. *price*: add a new scenario, if the optimum survives all known ones, and solve it again
   (column-and-constraint generation: Zeng & Zhao, *Operations Research Letters* 41, 2013);
7. *branch on a feature*, if no scenario is found; close the node if all features are whole.

Phases come first: with all of them fixed, every margin is linear in the features. The program is
then a covering problem with few rows, whose relaxation is hardly below its optimum.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from milp_verix.clock import Deadline
from milp_verix.global_search.enumeration.refutation import NodeEnumeration, NodeRemainder
from milp_verix.global_search.relaxation.constraint_pool import ConstraintPool
from milp_verix.global_search.relaxation.lp import NO_FIXINGS, Fixings, NodeSolution
from milp_verix.global_search.relaxation.relaxation import Relaxation
from milp_verix.global_search.search import MinimumSearch
from milp_verix.results.records.statistics import SearchEffort
from milp_verix.solvers.phase.warm_lp import WarmLp
from verix_encodings.models.restricted import Restriction


@dataclass(slots=True, eq=False)
class Subtree:
    """A node with a ``relaxation`` of its own, and all nodes below it.

    ``parent`` is the subtree around it; ``nodes`` counts the nodes solved.
    """

    relaxation: Relaxation
    parent: "Subtree | None"
    nodes: int = 0

    def lineage(self) -> Iterator["Subtree"]:
        """Yield this subtree and the subtrees around it, up to the whole tree."""
        subtree: Subtree | None = self
        while subtree is not None:
            yield subtree
            subtree = subtree.parent


@dataclass(frozen=True, slots=True, order=True)
class Node:
    """Columns fixed in the relaxation of a subtree, and a proven bound on the cost of its sets.

    Nodes compare by bound; among equal bounds the deeper node comes first. ``height`` is minus the
    depth. ``pricings`` counts the pricing steps on the way to this node.
    """

    bound: float
    height: int
    number: int
    subtree: Subtree = field(compare=False)
    fixings: Fixings = field(compare=False, default=NO_FIXINGS)
    pricings: int = field(compare=False, default=0)


def branch_and_cut(search: MinimumSearch, lp: WarmLp) -> "BranchAndCut | None":
    """Return the master with its first scenarios; None if ``search`` finds no first scenario."""
    if not (first := search.first_scenarios()):
        return None
    pool = ConstraintPool(search.perturbations)
    relaxation = Relaxation(lp, pool, search.incumbent.objective, search.limits)
    relaxation.extend(first)
    if search.earlier is not None:
        # known, but no part of the program until an optimum violates them
        pool.add(map(search.separator.scenario, search.earlier.scenarios.T))
    return BranchAndCut(search, relaxation)


class BranchAndCut:
    """The master by branch and bound: open nodes and the lower bound that they prove.

    It implements :class:`~milp_verix.global_search.master.Master`.
    """

    notes: tuple[str, ...] = ()

    def __init__(self, search: MinimumSearch, relaxation: Relaxation) -> None:
        self._incumbent, self._limits = search.incumbent, search.limits
        self._separator, self._proposals = search.separator, search.proposals
        self._enumeration = NodeEnumeration(search.incumbent, search.limits, search.until)
        self._attainable = search.incumbent.objective.attainable
        self._root = Subtree(relaxation, None)
        self._open = [Node(0.0, 0, 0, self._root)]
        self._active: Node | None = None
        self._closed = np.inf

    @property
    def bound(self) -> float:
        """A lower bound on the cost of every explanation cheaper than the incumbent.

        It is infinite once no cheaper explanation exists.
        """
        active = [self._active] if self._active else []
        return min([self._closed, *(node.bound for node in [*active, *self._open[:1]])])

    @property
    def done(self) -> bool:
        """True if no open node can hold a cheaper explanation."""
        return not self._open or self._open[0].bound >= self._incumbent.cutoff

    @property
    def effort(self) -> SearchEffort:
        """The scenarios, nodes, programs and iterations so far."""
        root = self._root.relaxation
        count = root.lp_count
        return SearchEffort(
            "tree",
            self._separator.rounds,
            root.pool.scenarios.size,
            self._root.nodes,
            count.programs,
            count.iterations,
        )

    def step(self, deadline: Deadline) -> None:
        """Replace the open node with the least bound; the bound stays valid after Ctrl-C."""
        # set before the pop, so that Ctrl-C between the two cannot lose the node
        self._active = node = self._open[0]
        heapq.heappop(self._open)
        for replacement in self._replacements(node, deadline):
            heapq.heappush(self._open, replacement)
        self._active = None

    def _replacements(self, node: Node, deadline: Deadline) -> list[Node]:
        """Return nodes that together hold every cheaper explanation of ``node``."""
        for subtree in node.subtree.lineage():
            subtree.nodes += 1
        relaxation, cutoff = node.subtree.relaxation, self._incumbent.cutoff
        solution = relaxation.solve(node.fixings, cutoff, deadline)
        if solution.late:
            return [node]
        node = replace(node, bound=max(node.bound, self._attainable(solution.bound)))
        if node.bound >= cutoff:
            return self._close(node.bound)
        if solution.selection is None:
            # numerical trouble: a branch is easier to solve
            return self._branch(node, relaxation.any_free(node.fixings), solution)
        return self._examined(node, solution, deadline)

    def _examined(self, node: Node, solution: NodeSolution, deadline: Deadline) -> list[Node]:
        """Cut, close, restrict, branch or price; return the nodes that replace ``node``."""
        assert solution.selection is not None
        relaxation = node.subtree.relaxation
        violated = relaxation.pool.violated(solution.selection)
        if missing := [number for number in violated if number not in relaxation.held]:
            relaxation.hold(missing[:1])
            return [node]
        self._proposals.improve(solution.selection, self.bound)
        restriction = relaxation.restriction_by(node.fixings, solution.fixings)
        if self._refuted(solution, restriction):
            return []
        if (inside := self._restricted(node, solution, restriction)) is not None:
            return inside
        phase = relaxation.worst_phase(solution, node.fixings) if violated else None
        if phase is not None:
            return self._branch(node, phase, solution)
        return self._priced(node, solution, deadline)

    def _priced(self, node: Node, solution: NodeSolution, deadline: Deadline) -> list[Node]:
        """Add a scenario that cuts off the optimum, or branch on a feature.

        The optimum survives every known scenario. Returns the nodes that replace ``node``.
        """
        assert solution.selection is not None
        relaxation, pricings = node.subtree.relaxation, node.pricings
        node = replace(node, pricings=pricings + 1)
        if scenarios := self._separator.separate(solution.selection, pricings):
            relaxation.extend(scenarios)
            return [node]
        if node.bound >= self._incumbent.cutoff or solution.whole:
            return self._close(node.bound)
        return self._branch(node, relaxation.most_fractional(solution), solution)

    def _branch(self, node: Node, column: int | None, solution: NodeSolution) -> list[Node]:
        """Return both children of a node; no node if ``column`` is None."""
        if column is None:
            return self._close(node.bound)
        further, at = solution.fixings
        if further.size:
            self._rely_on_cutoff()
        columns = np.concatenate([node.fixings[0], further, [column]])
        values = np.concatenate([node.fixings[1], at])
        number, height = 2 * self._root.nodes, node.height - 1
        return [
            replace(
                node,
                height=height,
                number=number + int(end),
                fixings=(columns, np.append(values, end)),
            )
            for end in (0.0, 1.0)
        ]

    def _refuted(self, solution: NodeSolution, restriction: Restriction) -> bool:
        """Refute each set of a node if its sets are few; return whether this closes the node."""
        if solution.selection is None or solution.reduced_costs is None:
            return False
        remainder = NodeRemainder(
            restriction,
            solution.selection,
            solution.reduced_costs[restriction.free],
            solution.bound,
            self._incumbent.cutoff,
        )
        found = self._enumeration.refute(remainder)
        if found is None:
            return False
        self._rely_on_cutoff()
        self._root.relaxation.pool.add(map(self._separator.scenario, found))
        return True

    def _restricted(
        self, node: Node, solution: NodeSolution, restriction: Restriction
    ) -> list[Node] | None:
        """Return the node with a relaxation of its own; None if too many features are free.

        No node is returned if the smaller relaxation is infeasible.
        """
        limits, subtree, free = self._limits, node.subtree, restriction.free.size
        most = min(limits.most_free, limits.share_free * subtree.relaxation.free.size)
        if not 0 < free <= most or not limits.uses("subtrees"):
            return None
        if solution.fixings[0].size:
            self._rely_on_cutoff()
        cost = self._incumbent.cost if limits.uses("scenario budget") else np.inf
        smaller = subtree.relaxation.restricted(restriction, node.fixings, solution, cost)
        if smaller is None:
            self._rely_on_cutoff()
            return []
        inside = Subtree(smaller, subtree)
        return [replace(node, subtree=inside, fixings=NO_FIXINGS, pricings=0)]

    def _close(self, bound: float) -> list[Node]:
        """Close a node whose sets cost ``bound`` or more; return no node."""
        self._closed = min(self._closed, bound)
        return []

    def _rely_on_cutoff(self) -> None:
        """Cap the bound at the cutoff, since dropped sets may be explanations that cost as much."""
        self._closed = min(self._closed, self._attainable(self._incumbent.cutoff))

    def close(self) -> None:
        """Free the linear programs; a subtree's program is freed with its last node."""
        self._open, self._active = [], None
        self._root.relaxation.close()
