"""The tree of a branch and bound: open nodes, closed nodes, and the bound that they prove.

A node is a case, with some phases fixed, with the bound and the row multipliers of its parent. At
every moment the closed nodes and the open ones cover all cases, so the least of their bounds is
proven, and their multipliers are its certificate.
"""

import heapq
from dataclasses import dataclass, field, replace

import numpy as np

from milp_verix.solvers.session import Targets
from verix_encodings.arrays import FloatArray
from verix_encodings.proofs import Case, Leaf

_GAP = 1e-9
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True, order=True)
class Node:
    """A case with the ``bound`` and, for a certificate, the ``multipliers`` that prove it."""

    bound: float
    number: int
    fixed: Case = field(compare=False, default=())
    multipliers: FloatArray | None = field(compare=False, default=None)


@dataclass(slots=True)
class Search:
    """The state of one minimisation of ``cost·v``.

    A search that only has to reach a target goes depth first: every node below the target has to be
    expanded anyway, and neighbours share most of a simplex basis. A search for the optimum takes
    the node with the least bound: this expands the fewest nodes. ``root_bound`` is that of the root
    node, ``first_at`` the reading of ``time.monotonic()`` at the first point.
    """

    cost: FloatArray
    targets: Targets
    open: list[Node] = field(default_factory=lambda: [Node(-np.inf, 0)])
    closed: float = np.inf
    leaves: list[Node] = field(default_factory=list)
    best: float = np.inf
    point: FloatArray | None = None
    nodes: int = 0
    iterations: int = 0
    trouble: str = ""
    root_bound: float = -np.inf
    first_at: float | None = None

    @property
    def bound(self) -> float:
        """The proven lower bound so far."""
        return min(self.closed, min((node.bound for node in self.open), default=np.inf))

    @property
    def cutoff(self) -> float:
        """The bound above which a node needs no more work."""
        return min(self.targets.holds_above, self.best - _GAP, _LARGEST)

    @property
    def _depth_first(self) -> bool:
        return self.targets.holds_above < np.inf

    def take(self) -> Node | None:
        """Return the node to expand next, or None; nodes above the cutoff are closed on the way."""
        while self.open:
            node = self.open.pop() if self._depth_first else heapq.heappop(self.open)
            if node.bound <= self.cutoff:
                return node
            self.close(node)
        return None

    def put_back(self, node: Node) -> None:
        """Leave ``node`` open, to be taken next."""
        if self._depth_first:
            self.open.append(node)
        else:
            heapq.heappush(self.open, node)

    def answers(self, cost: FloatArray, targets: Targets) -> bool:
        """Return whether this search for ``cost`` goes on to ``targets``, but for their limits."""
        seconds, work, probe = targets.seconds, targets.work, targets.probe
        own = replace(self.targets, seconds=seconds, work=work, probe=probe)
        return own == targets and np.array_equal(self.cost, cost)

    def close(self, node: Node) -> None:
        """Count ``node`` as done."""
        self.closed = min(self.closed, node.bound)
        if self.targets.certify:
            self.leaves.append(node)

    def split(self, node: Node, column: int, first: int) -> None:
        """Open the two cases of an integer ``column``, ``first`` to be expanded first."""
        for order, end in enumerate((1 - first, first)):
            number = 2 * self.nodes + order
            self.put_back(Node(node.bound, number, (*node.fixed, (column, end)), node.multipliers))

    def certificate(self, rows: int) -> tuple[Leaf, ...] | None:
        """Return the certificate of :attr:`bound` over ``rows`` rows; None unless asked for."""
        if not self.targets.certify:
            return None
        nothing = np.zeros(rows)
        return tuple(
            Leaf(node.fixed, nothing if node.multipliers is None else node.multipliers)
            for node in (*self.leaves, *self.open)
        )
