"""Branch and bound for the relaxation by scenarios: phases first, then features.

Nodes fix phases of the scenarios' activations, and features. They are taken best bound first, and

- where the features' shares violate a scenario that is known, the node is split at the phase that
  the relaxation gets most wrong;
- where they survive all that are known, a further one is asked for, and the same tree goes on with
  it: what was proven before stays proven;
- where there is none, the node is split at a feature that is neither in nor out, and closed where
  all are.

Where few features are free, all ways to complete the others are refuted one by one, if that can be
done; where most are settled, the rest becomes a tree of its own, whose relaxation is smaller and
tighter (``models.restricted``): its nodes take their turn by their bound as all others do.

Now and then, after twice as many nodes each time, what the scenarios' neurons can take is bounded
anew over all sets that are cheaper than the best explanation, if there is a new scenario or a
better explanation. The tree starts again from its root then: with smaller big-Ms it stays smaller.
Where the explanation is the same and less than half of the tree is open, it goes on as it is: all
that is hard would be met again.

Phases come first since with all of them fixed every margin is linear in the features: what is left
is a covering problem with few rows, whose relaxation is hardly below its optimum.
"""

import heapq
from dataclasses import dataclass, field, replace

import numpy as np

from milp_verix.global_search.relaxation.node import Fixings, Relaxed
from milp_verix.global_search.relaxation.relaxation import Relaxation
from milp_verix.global_search.separation import NodeRemainder, RestrictedSeparator, SeparationOracle
from milp_verix.problem.objective import Attainable, Cutoff
from milp_verix.records.statistics import SearchEffort

_PERIOD = 60
_FIRST_TIGHTENING = 2
_FIRST_TIGHTENING_INSIDE = 20
_MOST_FREE = 200
_SHARE_FREE = 0.5
_LEAST_LEFT = 0.5


@dataclass(frozen=True, slots=True)
class _Inner:
    """A tree of what is left in a node; ``spent`` is the cost of the features inside."""

    tree: "ScenarioTree"
    spent: float

    @property
    def bound(self) -> float:
        return self.tree.bound + self.spent


@dataclass(frozen=True, slots=True, order=True)
class _Node:
    """Fixed columns, and a proven bound, rounded up; deeper nodes first among equals."""

    bound: float
    height: int
    number: int
    fixings: Fixings = field(compare=False)
    asked: int = field(default=0, compare=False)
    inner: _Inner | None = field(default=None, compare=False)


class ScenarioTree:
    """The open nodes of a search, and the bound that it has proven."""

    notes: tuple[str, ...] = ()

    def __init__(
        self,
        relaxation: Relaxation,
        separator: SeparationOracle,
        attainable: Attainable,
        cutoff: Cutoff,
        first_tightening: int = _FIRST_TIGHTENING,
    ) -> None:
        self._relaxation = relaxation
        self._separator = separator
        self._attainable = attainable
        self._cutoff = cutoff
        nothing = np.zeros(0, dtype=np.intp), np.zeros(0)
        self._open = [_Node(0.0, 0, 0, nothing)]
        self._active: _Node | None = None
        self._closed = np.inf
        self.nodes = 0
        self._period = _PERIOD
        self._next = first_tightening

    @property
    def bound(self) -> float:
        """A lower bound on the cost of every explanation; infinite where there is none cheaper."""
        running = [self._active] if self._active else []
        return min([self._closed, *(node.bound for node in [*running, *self._open[:1]])])

    @property
    def effort(self) -> SearchEffort:
        """The effort so far, that of inner trees included."""
        scenarios, count = self._relaxation.scenarios, self._relaxation.count
        return SearchEffort(
            "tree", self._separator.rounds, scenarios, self.nodes, count.programs, count.iterations
        )

    @property
    def left(self) -> float:
        """The share of the tree that is open, if either child of a node is half of it."""
        return sum(
            2.0**node.height * (node.inner.tree.left if node.inner else 1.0) for node in self._open
        )

    @property
    def done(self) -> bool:
        """Whether there is nothing left to look at."""
        return not self._open or self._open[0].bound >= self._cutoff()

    def step(self, deadline: float) -> None:
        """Look at the most promising node; after Ctrl-C the bound still holds."""
        if self.nodes >= self._next and self._relaxation.loose(self._cutoff()):
            if self._cutoff() < self._relaxation.tightened_for or self.left > _LEAST_LEFT:
                self._tighten(deadline)
            else:
                self._next = self.nodes + _PERIOD
        # it is never in neither place, whenever Ctrl-C comes
        self._active = node = self._open[0]
        heapq.heappop(self._open)
        self.nodes += 1
        if node.inner is not None:
            self._go_on(node, node.inner, deadline)
        else:
            self._look_at(node, deadline)
        self._active = None

    def _look_at(self, node: _Node, deadline: float) -> None:
        relaxed = self._relaxation.solve(node.fixings, self._cutoff(), deadline)
        bound = max(node.bound, self._attainable(relaxed.bound))
        if relaxed.selection is not None:
            self._separator.try_heuristics(relaxed.selection, self.bound)
        if relaxed.late:
            heapq.heappush(self._open, node)
        elif bound >= self._cutoff() or (relaxed.selection is None and relaxed.phase is None):
            self._closed = min(self._closed, bound)
        elif not self._settle(node, bound, relaxed):
            if relaxed.phase is not None:
                self._split(node, bound, relaxed.phase, relaxed.reduced_cost_fixings)
            else:
                self._advance(node, bound, relaxed, deadline)

    def _settle(self, node: _Node, bound: float, relaxed: Relaxed) -> bool:
        """Close a node by refuting the sets that are left in it, or make it a tree of its own.

        Returns whether that could be done.
        """
        if relaxed.selection is None:
            return False
        restriction = self._relaxation.remaining([node.fixings, relaxed.reduced_cost_fixings])
        spent = self._relaxation.cost(restriction.fixed_in)
        found = None
        if relaxed.reduced_costs is not None:
            remainder = NodeRemainder(
                restriction,
                relaxed.selection,
                relaxed.reduced_costs,
                relaxed.bound,
                self._cutoff(),
                lambda most: self._relaxation.surviving(
                    node.fixings, restriction, self._cutoff(), most
                ),
            )
            found = self._separator.enumerate_node(remainder)
        if found is not None:
            self._ruled_out()
            self._relaxation.know(found)
            return True
        if not 0 < restriction.free.size <= min(_MOST_FREE, _SHARE_FREE * relaxed.selection.size):
            return False
        if relaxed.reduced_cost_fixings[0].size:
            self._ruled_out()
        relaxation = self._relaxation.reduced(restriction, node.fixings)
        if relaxation is None:
            self._ruled_out()
            return True
        separator = RestrictedSeparator(self._separator, restriction, spent, lambda: self.bound)
        tree = ScenarioTree(
            relaxation,
            separator,
            lambda cost: self._attainable(cost + spent) - spent,
            lambda: self._cutoff() - spent,
            _FIRST_TIGHTENING_INSIDE,
        )
        inner = _Inner(tree, spent)
        heapq.heappush(self._open, replace(node, bound=bound, inner=inner))
        return True

    def _go_on(self, node: _Node, inner: _Inner, deadline: float) -> None:
        """Look at a node of the inner tree, and close its own node where that was the last."""
        if not inner.tree.done:
            inner.tree.step(deadline)
        bound = max(node.bound, inner.bound)
        if inner.tree.done:
            self._closed = min(self._closed, bound)
            inner.tree.close()
        else:
            heapq.heappush(self._open, replace(node, bound=bound))

    def _ruled_out(self) -> None:
        """Account for sets that are no explanation unless they cost as much as the best one."""
        self._closed = min(self._closed, self._attainable(self._cutoff()))

    def _tighten(self, deadline: float) -> None:
        """Tighten the relaxation, and start again from its root: the tree will be smaller."""
        bound = self.bound
        self._ruled_out()
        self._relaxation.tighten(self._cutoff(), deadline)
        self._close_inner()
        nothing = np.zeros(0, dtype=np.intp), np.zeros(0)
        self._open = [_Node(bound, 0, 0, nothing)]
        self._next = self.nodes + self._period
        self._period *= 2

    def _advance(self, node: _Node, bound: float, relaxed: Relaxed, deadline: float) -> None:
        """Go on from features that survive all scenarios known, as far as the LP can tell."""
        assert relaxed.selection is not None
        constraints = self._separator.separate(relaxed.selection, node.asked)
        if constraints:
            self._relaxation.extend(constraints, deadline)
            again = _Node(bound, node.height, node.number, node.fixings, node.asked + 1)
            heapq.heappush(self._open, again)
        elif bound >= self._cutoff() or relaxed.whole:
            self._closed = min(self._closed, bound)
        else:
            undecided = np.minimum(relaxed.selection, 1.0 - relaxed.selection)
            # a further split of features changes little
            asked = node.asked + 1
            self._split(node, bound, int(np.argmax(undecided)), relaxed.reduced_cost_fixings, asked)

    def _split(
        self, node: _Node, bound: float, column: int, reduced_cost_fixings: Fixings, asked: int = 0
    ) -> None:
        if reduced_cost_fixings[0].size:
            self._ruled_out()
        columns = np.concatenate([node.fixings[0], reduced_cost_fixings[0], [column]])
        for end in (0.0, 1.0):
            fixings = columns, np.concatenate([node.fixings[1], reduced_cost_fixings[1], [end]])
            number = 2 * self.nodes + int(end)
            heapq.heappush(self._open, _Node(bound, node.height - 1, number, fixings, asked))

    def _close_inner(self) -> None:
        active = [self._active] if self._active else []
        for node in [*self._open, *active]:
            if node.inner is not None:
                node.inner.tree.close()

    def close(self) -> None:
        """Free the linear programs."""
        self._close_inner()
        self._relaxation.close()
