"""The VeriX loop (Wu, Wu, Barrett, NeurIPS 2023, Algorithm 1).

    A ← ∅, B ← ∅
    for i in the traversal order:  if check(B ∪ {i}) holds then B ← B ∪ {i} else A ← A ∪ {i}

``B`` only grows, so the counterfactual that put ``i`` into ``A`` stays valid for the final ``B``,
and ``A`` is locally minimal.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from milp_verix.oracle import Oracle
from milp_verix.verdict import Effort, Verdict

INTERRUPTED = "interrupted"
TIME_LIMIT = "time limit"


@dataclass(slots=True)
class Traversal:
    """The state of a traversal: what was decided so far, and what it took.

    At every moment ``irrelevant`` is a set whose freedom is proven harmless, so stopping at any
    time leaves a sound explanation: everything else.
    """

    order: tuple[int, ...]
    irrelevant: list[int] = field(default_factory=list)
    violated: dict[int, Verdict] = field(default_factory=dict)
    undecided: dict[int, str] = field(default_factory=dict)
    effort: Effort = field(default_factory=Effort)
    stopped: str | None = None

    @property
    def done(self) -> int:
        """Number of features checked."""
        return len(self.irrelevant) + len(self.violated) + len(self.undecided)

    @property
    def remaining(self) -> tuple[int, ...]:
        """Features not checked yet, in the order."""
        return self.order[self.done :]

    @property
    def explanation_size(self) -> int:
        """Features checked that could not be freed."""
        return len(self.violated) + len(self.undecided)


def traverse(
    oracle: Oracle,
    traversal: Traversal,
    *,
    deadline: float,
    check_seconds: float,
    on_step: Callable[[Traversal], None],
) -> None:
    """Decide the features of ``traversal`` one by one, until done, ``deadline`` or Ctrl-C.

    ``deadline`` is in terms of ``time.monotonic()``, ``check_seconds`` the limit of one check.
    """
    features = oracle.problem.features
    try:
        for feature in traversal.remaining:
            left = deadline - time.monotonic()
            if left <= 0:
                traversal.stopped = TIME_LIMIT
                return
            free = features.coordinates([*traversal.irrelevant, feature])
            verdict = oracle.check(free, min(left, check_seconds))
            traversal.effort += verdict.effort
            if verdict.holds:
                traversal.irrelevant.append(feature)
            elif verdict.violated:
                traversal.violated[feature] = verdict
            else:
                traversal.undecided[feature] = verdict.reason or "unknown"
            on_step(traversal)
    except KeyboardInterrupt:
        traversal.stopped = INTERRUPTED
