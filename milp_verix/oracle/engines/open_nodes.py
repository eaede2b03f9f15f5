"""Open nodes of a branch and bound: the worst first, within a cap on memory."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, IntArray


class Nodes(Protocol):
    """A group of nodes with proven ``upper`` bounds on the margins, (N, m)."""

    @property
    def upper(self) -> FloatArray:
        """The bounds, -inf for a margin that a node is not about."""

    @property
    def bytes(self) -> int:
        """The memory that the nodes take."""

    def __len__(self) -> int: ...

    def __getitem__(self, chosen: IntArray | BoolArray | slice) -> Self: ...

    @classmethod
    def joined(cls, groups: Sequence[Self]) -> Self:
        """Return the nodes of several groups, at least one, as one group."""


N = TypeVar("N", bound=Nodes)


@dataclass(slots=True, eq=False)
class OpenNodes(Generic[N]):
    """A queue of open nodes; ``needed`` are the distances from zero that close a margin.

    The group with the worst bound comes first; beyond ``most_bytes`` the one pushed last, so that
    the search runs into depth and frees memory.
    """

    needed: FloatArray
    most_bytes: int = 2**29
    bytes: int = 0
    _heap: list[tuple[float, int, N]] = field(default_factory=list)
    _count: int = 0

    def __bool__(self) -> bool:
        return bool(self._heap)

    def push(self, nodes: N) -> None:
        """Add nodes, each of which has a margin that is open."""
        if not len(nodes):
            return
        worst = (nodes.upper + self.needed).max(axis=1)
        order = np.argsort(-worst, kind="stable")
        self._put(nodes[order], float(worst[order[0]]))

    def pop(self, count: int) -> N:
        """Remove up to ``count`` nodes and return them."""
        taken: list[N] = []
        left = count
        while left and self._heap:
            group = self._get()
            taken.append(group[:left])
            if len(group) > left:
                rest = group[left:]
                self._put(rest, float((rest.upper[0] + self.needed).max()))
            left -= len(taken[-1])
        return taken[0].joined(taken) if len(taken) > 1 else taken[0]

    def upper(self) -> FloatArray:
        """Return the worst bound of each margin over all open nodes, shape (m,)."""
        uppers = [nodes.upper.max(axis=0) for _, _, nodes in self._heap]
        return (
            np.max(uppers, axis=0, initial=-np.inf)
            if uppers
            else -np.inf * np.ones_like(self.needed)
        )

    def _put(self, nodes: N, worst: float) -> None:
        self._count += 1
        self.bytes += nodes.bytes
        heapq.heappush(self._heap, (-worst, self._count, nodes))

    def _get(self) -> N:
        if self.bytes <= self.most_bytes:
            nodes = heapq.heappop(self._heap)[2]
        else:
            last = max(range(len(self._heap)), key=lambda place: self._heap[place][1])
            nodes = self._heap.pop(last)[2]
            heapq.heapify(self._heap)
        self.bytes -= nodes.bytes
        return nodes
