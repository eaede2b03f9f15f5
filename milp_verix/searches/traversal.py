"""The VeriX loop (Wu, Wu, Barrett, NeurIPS 2023, Algorithm 1), and the state of traversals.

    A ← ∅, B ← ∅
    for i in the traversal order:  if check(B ∪ {i}) holds then B ← B ∪ {i} else A ← A ∪ {i}

``B`` only grows, so the counterfactual that put ``i`` into ``A`` stays valid for the final ``B``,
and ``A`` is locally minimal. A traversal is a function that walks through the features; those in
:mod:`~milp_verix.searches.strategies` ask fewer questions for the same explanation.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from milp_verix.base.clock import Deadline, Limit, OutOfTimeError
from milp_verix.base.number_text import counted
from milp_verix.oracle.engines.claim import unwatched
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import TIME_LIMIT, Stage, Verdict

# shares of the work left, and seconds of work; a tenth for a block and a quarter for a feature came
# instead of 2 % that doubles (`59c5582` in benchmarks/history.md), the others are not measured
_BLOCK_SHARE, _LONGEST_BLOCK = 0.1, 10.0
_DEEP_SHARE = 0.3  # of a block where many neurons are undecided
_FEW = 0.05  # of the irrelevant features; not measured
_SHARES = (1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64)  # of a feature, after so many that ran out of it
_SHORTEST_SLICE = 0.1
_ATTACK_SHARE = 0.05
_RESERVE = 0.1  # for the last attack, and the checks after it
_GROWN = 1.1  # the irrelevant features since the last attack, for another one


@dataclass(slots=True)
class Traversal:
    """The state of a traversal: the features decided so far.

    At every moment ``irrelevant`` is a set that is proven to be free, so stopping at any time
    leaves a sound explanation: all other features. ``checks`` counts the checks asked for,
    ``decided`` the features that each stage decided. Features whose checks ran out of their slice
    of work are ``postponed``; ``tried`` has the last slice of each, in seconds of work, and
    ``in_a_row`` counts them since the last decision. ``sliced`` is the slice of the last check,
    infinite if the check's own limit ended it. ``attacked_with`` is the number of irrelevant
    features at the last attack. ``needed`` is a proven lower bound on the size of any explanation.
    ``activity`` is what goes on now, in words.
    """

    order: tuple[int, ...]
    irrelevant: list[int] = field(default_factory=list)
    violated: dict[int, Verdict] = field(default_factory=dict)
    undecided: dict[int, str] = field(default_factory=dict)
    decided: Counter[Stage] = field(default_factory=Counter)
    stopped: str | None = None
    postponed: list[int] = field(default_factory=list)
    tried: dict[int, float] = field(default_factory=dict)
    in_a_row: int = 0
    sliced: float = math.inf
    attacked_with: int = -1
    needed: int = 0
    activity: str = ""

    def copy(self) -> "Traversal":
        """Return a copy of the state that later steps do not change."""
        return replace(
            self,
            irrelevant=[*self.irrelevant],
            violated={**self.violated},
            undecided={**self.undecided},
            postponed=[*self.postponed],
            tried={**self.tried},
            decided=self.decided.copy(),
        )

    @property
    def done(self) -> int:
        """Number of features decided, or given up."""
        return len(self.irrelevant) + len(self.violated) + len(self.undecided)

    @property
    def remaining(self) -> tuple[int, ...]:
        """Features not decided yet, in the order."""
        known = {*self.irrelevant, *self.violated, *self.undecided}
        return tuple(feature for feature in self.order if feature not in known)

    @property
    def explanation_size(self) -> int:
        """Features that could not be freed."""
        return len(self.violated) + len(self.undecided)


@dataclass(frozen=True, slots=True)
class Walk:
    """The interface for strategies: it asks the oracle and records the decisions.

    ``check_limit`` is the limit of one check. ``on_step`` is called after each decision,
    ``on_activity`` before each check and attack.
    """

    oracle: Oracle
    state: Traversal
    deadline: Deadline
    check_limit: Limit
    on_step: Callable[[], None] = lambda: None
    on_activity: Callable[[], None] = lambda: None

    @property
    def remaining(self) -> tuple[int, ...]:
        """Features not decided and not postponed, in the order; late ones come last."""
        tried = self.state.tried
        if not tried:
            return self.state.remaining
        features = [f for f in self.state.remaining if f not in self.state.postponed]
        return tuple(sorted(features, key=lambda feature: tried.get(feature, 0.0)))

    def check(self, features: Sequence[int], *, bounds_only: bool = False) -> Verdict:
        """Check whether ``features`` can be freed as well; raises ``OutOfTimeError`` when late."""
        if not self.oracle.proven:
            self.deadline.require_time()
        free = self.oracle.problem.features.coordinates([*self.state.irrelevant, *features])
        # a pass of bounds that ends early decides nothing
        bounding = bounds_only or self.oracle.exactness == "bounds"
        part = math.inf if bounding else self._slice(features)
        most = self.deadline.limited(self.check_limit)
        with self._doing("bounding" if bounds_only else "checking", len(features)):
            if bounds_only:
                verdict = self.oracle.check_by_bounds(free, most)
            elif len(features) > 1 and self.oracle.many_open:
                verdict = self.oracle.check(free, most.within(part), self._block)
            else:
                verdict = self.oracle.check(free, most.within(part))
        self.state.sliced = part if self.deadline.passed() or not most.passed() else math.inf
        return verdict

    def _slice(self, features: Sequence[int]) -> float:
        """Return the seconds for a check: a share of the work left, or twice the last slice."""
        left = self.deadline.left
        if len(features) > 1:
            # deeper bounds for a block serve all smaller ones
            return max(_DEEP_SHARE * left, self._block) if self.oracle.many_open else self._block
        share = _SHARES[min(self.state.in_a_row, len(_SHARES) - 1)] * left
        before = max((self.state.tried.get(feature, 0.0) for feature in features), default=0.0)
        return max(share, 2 * before, _SHORTEST_SLICE)

    @property
    def _block(self) -> float:
        """The seconds of work for the search of a block: smaller blocks find the same."""
        return max(min(_BLOCK_SHARE * self.deadline.left, _LONGEST_BLOCK), _SHORTEST_SLICE)

    def resumes(self, count: int) -> bool:
        """Return whether to resume a late check of ``count`` more: few, where searches are kept."""
        few = count <= _FEW * len(self.state.irrelevant)
        return few and self.state.sliced < math.inf and self.oracle.many_open

    def flipped(self) -> dict[int, Verdict]:
        """Return the features left that known points keep; raises ``OutOfTimeError``."""
        self.deadline.require_time()
        return self.oracle.flipped(self.state.irrelevant, self.remaining, self.deadline)

    def attack(self, features: Sequence[int]) -> None:
        """Look for counterfactuals of ``features`` by gradients, for a share of the work left."""
        # around a set that has hardly grown, an attack finds little more
        if len(self.state.irrelevant) > _GROWN * self.state.attacked_with:
            most = min(_ATTACK_SHARE * self.deadline.left, _LONGEST_BLOCK)
            self._attack(features, self.deadline.within(most))

    def last_attack(self) -> None:
        """Look for counterfactuals of all features left, in the time left."""
        self._attack([*self.state.remaining, *self.state.undecided], self.deadline)

    def _attack(self, features: Sequence[int], deadline: Deadline) -> None:
        if not features or deadline.passed():
            return
        self.state.attacked_with = len(self.state.irrelevant)
        with self._doing("attacking", len(features)):
            found = self.oracle.attacked(self.state.irrelevant, features, deadline)
        for feature, verdict in found.items():
            self.state.undecided.pop(feature, None)
            if feature in self.state.postponed:
                self.state.postponed.remove(feature)
            self.settle([feature], verdict)

    @contextmanager
    def _doing(self, activity: str, count: int) -> Iterator[None]:
        """Say what goes on in the block, as ``"checking 12 features by trees of phases"``."""
        said = f"{activity} {counted(count, 'feature')}"

        def on_stage(stage: Stage) -> None:
            self.state.activity = f"{said} by {stage.value}"
            self.on_activity()

        self.state.activity = said
        self.on_activity()
        self.oracle.on_stage = on_stage
        try:
            yield
        finally:
            self.oracle.on_stage = unwatched
        self.state.activity = ""

    def settle(self, features: Sequence[int], verdict: Verdict) -> None:
        """Record the ``verdict`` on freeing ``features``: all of them, or the single one."""
        if verdict.holds:
            self.state.irrelevant.extend(features)
        else:
            (feature,) = features
            if verdict.violated:
                self.state.violated[feature] = verdict
            elif verdict.reason == TIME_LIMIT and self.state.sliced < math.inf:
                self.state.tried[feature] = self.state.sliced
                self.state.postponed.append(feature)
                self.state.in_a_row += 1
            else:
                self.state.undecided[feature] = verdict.reason or "unknown"
        if verdict.holds or verdict.violated:
            self.state.decided[verdict.stage] += len(features)
            self.state.in_a_row = 0
        self.on_step()


Strategy: TypeAlias = Callable[[Walk], None]
"""Decides the features that remain, one block or one at a time."""


def traverse(walk: Walk, strategy: Strategy) -> None:
    """Decide the features that remain; raises ``OutOfTimeError`` at the deadline.

    A check has a slice of the work. Features whose checks run out of it are postponed; once the
    others are decided they are attacked, and asked about again with twice the work or more. The
    last part of a limited time begins with an attack on all features left.
    """
    state = walk.state
    for part in (replace(walk, deadline=walk.deadline.leaving(_RESERVE)), walk):
        try:
            while True:
                state.postponed.clear()
                state.in_a_row = 0
                strategy(part)
                part.attack([*state.postponed, *state.undecided])
                if not state.postponed:
                    return
        except OutOfTimeError:
            if part is walk:
                raise
            walk.last_attack()
