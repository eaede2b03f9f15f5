"""The VeriX loop (Wu, Wu, Barrett, NeurIPS 2023, Algorithm 1), and the state of traversals.

    A ← ∅, B ← ∅
    for i in the traversal order:  if check(B ∪ {i}) holds then B ← B ∪ {i} else A ← A ∪ {i}

``B`` only grows, so the counterfactual that put ``i`` into ``A`` stays valid for the final ``B``,
and ``A`` is locally minimal. A traversal is a function that walks through the features; those in
:mod:`~milp_verix.traversal.strategies` ask fewer questions for the same explanation.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from milp_verix.clock import Deadline, OutOfTimeError
from milp_verix.oracle.oracle import Oracle
from milp_verix.records.statistics import INTERRUPTED, TIME_LIMIT
from milp_verix.records.verdict import Effort, Stage, Verdict
from milp_verix.reporting.wording import counted

_FIRST_SLICE = 0.02
_SHORTEST_SLICE, _LONGEST_FIRST_SLICE = 0.1, 10.0
_SLICES_FOR_ATTACKS = 4
_GROWN = 1.1
_MOST_IN_A_ROW = 3


class _SliceTooShortError(Exception):
    """Raised after several features in a row whose checks ran out of their slice."""


@dataclass(slots=True)
class Traversal:
    """The state of a traversal: the features decided so far, and the cost.

    At every moment ``irrelevant`` is a set that is proven to be free, so stopping at any time
    leaves a sound explanation: all other features. ``checks`` counts the checks asked for,
    ``decided`` the features that each stage decided. Features whose checks ran out of their slice
    of the time are ``postponed``. ``attacked_with`` is the number of irrelevant features at the
    last attack. ``activity`` is what goes on now, in words.
    """

    order: tuple[int, ...]
    irrelevant: list[int] = field(default_factory=list)
    violated: dict[int, Verdict] = field(default_factory=dict)
    undecided: dict[int, str] = field(default_factory=dict)
    effort: Effort = field(default_factory=Effort)
    checks: int = 0
    decided: Counter[Stage] = field(default_factory=Counter)
    stopped: str | None = None
    postponed: list[int] = field(default_factory=list)
    postponed_in_a_row: int = 0
    attacked_with: int = -1
    activity: str = ""

    def copy(self) -> "Traversal":
        """Return a copy of the state that later steps do not change."""
        return replace(
            self,
            irrelevant=[*self.irrelevant],
            violated={**self.violated},
            undecided={**self.undecided},
            postponed=[*self.postponed],
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

    ``check_seconds`` is the limit of one check. ``on_step`` is called after each decision,
    ``on_activity`` before each check.
    """

    oracle: Oracle
    state: Traversal
    deadline: Deadline
    check_seconds: float
    on_step: Callable[[Traversal], None]
    slice_seconds: float = math.inf
    on_activity: Callable[[Traversal], None] = lambda _: None

    @property
    def remaining(self) -> tuple[int, ...]:
        """Features not decided yet, in the order, but for those that are postponed."""
        return tuple(f for f in self.state.remaining if f not in self.state.postponed)

    def check(self, features: Sequence[int], *, by_bounds: bool = False) -> Verdict:
        """Check whether ``features`` can be freed too; raises ``OutOfTimeError``."""
        return self.check_set([*self.state.irrelevant, *features], by_bounds=by_bounds)

    def check_set(self, features: Sequence[int], *, by_bounds: bool = False) -> Verdict:
        """Check whether exactly ``features`` can be free; raises ``OutOfTimeError``."""
        if not self.oracle.proven:
            self.deadline.check()
        ask = self.oracle.check_by_bounds if by_bounds else self.oracle.check
        coordinates = self.oracle.problem.features.coordinates(features)
        # a pass over a large network that ends early decides nothing, and no program comes after it
        alone = self.oracle.exactness == "bounds"
        limits = [self.deadline.seconds, self.check_seconds]
        limits += [] if alone else [self.slice_seconds]
        with self._doing("bounding" if by_bounds else "checking", len(features)):
            verdict = ask(coordinates, min(limits))
        self.state.effort += verdict.effort
        self.state.checks += 1
        return verdict

    def flipped(self) -> dict[int, Verdict]:
        """Return the features left that known points keep; raises ``OutOfTimeError``."""
        self.deadline.check()
        left = self.deadline.seconds
        found, effort = self.oracle.flipped(self.state.irrelevant, self.remaining, left)
        self.state.effort += effort
        return found

    def attack(self, features: Sequence[int]) -> None:
        """Look for counterfactuals of ``features`` by gradients, for a few slices of the time."""
        # around a set that has hardly grown, an attack finds little more
        news = len(self.state.irrelevant) > _GROWN * self.state.attacked_with
        if not (features and news) or self.deadline.passed():
            return
        self.state.attacked_with = len(self.state.irrelevant)
        seconds = min(self.deadline.seconds, _SLICES_FOR_ATTACKS * self.slice_seconds)
        with self._doing("attacking", len(features)):
            found, effort = self.oracle.attacked(self.state.irrelevant, features, seconds)
        self.state.effort += effort
        for feature, verdict in found.items():
            self.state.undecided.pop(feature, None)
            if feature in self.state.postponed:
                self.state.postponed.remove(feature)
            self.settle([feature], verdict)

    @contextmanager
    def _doing(self, activity: str, count: int) -> Iterator[None]:
        """Say what goes on, as ``"checking 12 features"``, for the time of the block."""
        self.state.activity = f"{activity} {counted(count, 'feature')}"
        self.on_activity(self.state)
        yield
        self.state.activity = ""

    def settle(self, features: Sequence[int], verdict: Verdict) -> None:
        """Record the ``verdict`` on freeing ``features`` too.

        All are freed if it holds; otherwise it must be about a single feature.
        """
        if verdict.holds:
            self.state.irrelevant.extend(features)
        else:
            (feature,) = features
            if verdict.violated:
                self.state.violated[feature] = verdict
            elif verdict.reason == TIME_LIMIT and self.slice_seconds < self.check_seconds:
                self.state.postponed.append(feature)
                self.state.postponed_in_a_row += 1
            else:
                self.state.undecided[feature] = verdict.reason or "unknown"
        if verdict.holds or verdict.violated:
            self.state.decided[verdict.stage] += len(features)
            self.state.postponed_in_a_row = 0
        self.on_step(self.state)
        if self.state.postponed_in_a_row == _MOST_IN_A_ROW:
            self.state.postponed_in_a_row = 0
            raise _SliceTooShortError


Strategy: TypeAlias = Callable[[Walk], None]
"""Decides the features that remain, one block or one at a time."""


def traverse(walk: Walk, strategy: Strategy) -> None:
    """Decide the features that remain, until done, the deadline or Ctrl-C.

    A check has a slice of the time. Features whose checks run out of it are postponed; they are
    attacked, and asked about again with a slice of twice the seconds. After a few in a row, the
    features not asked about yet have the longer slice at once.
    """
    state, seconds = walk.state, _FIRST_SLICE * walk.deadline.seconds
    seconds = min(max(seconds, _SHORTEST_SLICE), _LONGEST_FIRST_SLICE)
    try:
        while True:
            try:
                strategy(replace(walk, slice_seconds=seconds))
            except _SliceTooShortError:
                seconds *= 2
                continue
            walk.attack([*state.postponed, *state.undecided])
            if not state.postponed:
                break
            state.postponed.clear()
            seconds *= 2
    except OutOfTimeError:
        walk.state.stopped = TIME_LIMIT
    except KeyboardInterrupt:
        walk.state.stopped = INTERRUPTED
