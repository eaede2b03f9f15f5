"""The VeriX loop (Wu, Wu, Barrett, NeurIPS 2023, Algorithm 1), and traversals that ask less.

    A ← ∅, B ← ∅
    for i in the traversal order:  if check(B ∪ {i}) holds then B ← B ∪ {i} else A ← A ∪ {i}

``B`` only grows, so the counterfactual that put ``i`` into ``A`` stays valid for the final ``B``,
and ``A`` is locally minimal. A strategy, which users name by ``traversal``, is a function that
walks through the features; :class:`Traversal` holds what is decided so far. ``sequential`` is the
loop of the paper; ``binary`` and ``quickxplain`` ask about halves; ``galloping`` asks about as many
features at once as known points and bounds suggest, and where many neurons are undecided about
blocks in slices of work that double. If the oracle decides every check, each finds the ``B`` of
Algorithm 1: a block is freed only as a whole, and a feature is kept only once all before it are
decided.

Where bounds alone decide, a knapsack over linear forms suggests blocks. Let ``B`` be free,
``u_j < 0`` the bound on margin ``j`` over its ball, and ``g_ij`` the most that feature ``i`` can
add to CROWN's linear form of the margin (``Oracle.headroom``). The next features ``C`` in the order
are asked about at once as long as

    u_j + κ Σ_{i ∈ C} g_ij < 0    for each margin j

As ``C`` is freed the bounds of neurons widen, so margins grow faster than this form: κ is how much
faster they grew with the last block, and at first with the whole ball. Forms choose the questions;
the bounds over the ball of ``B ∪ C`` prove. A feature that does not fit even with κ = 1 gets no
question, since ``u_j`` does not fall as ``B`` grows. (FAME, ICLR 2026, frees a set by one linear
form over the ball of all features, which in deep networks is too loose to prove the empty set.)
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, fields, replace
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from milp_verix.base.clock import Deadline, Limit, OutOfTimeError, elapsed_work
from milp_verix.base.errors import require_one_of
from milp_verix.base.number_text import counted
from milp_verix.oracle.engines.engine import unwatched
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import BOUNDS_ALONE, TIME_LIMIT, Answer, Stage, Verdict
from verix_encodings.arrays import FloatArray
from verix_encodings.work import worked

# shares of the work left, and seconds of work; a tenth for a block and a quarter for a feature came
# instead of 2 % that doubles (`59c5582` in benchmarks/history.md), the others are not measured
_BLOCK_SHARE, _LONGEST_BLOCK = 0.1, 10.0
_SHARES = (1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64)  # of a feature, after so many that ran out of it
_SHORTEST_SLICE = 0.1
_FIRST_RUNG = 0.2
_SHRUNK, _REST = 0.4, 0.12  # of a block that failed, of what is left where a rung ends
_ATTACK_SHARE = 0.05
_RESERVE = 0.1  # for the last attack, and the checks after it
_GROWN = 1.1  # the irrelevant features since the last attack, for another one


@dataclass(slots=True)
class Traversal:
    """The state of a traversal: the features decided so far.

    At every moment ``irrelevant`` is a set that is proven to be free, so stopping at any time
    leaves a sound explanation: all other features. ``decided`` counts the features that each stage
    decided. Features whose checks ran out of their slice of work are ``postponed``; ``tried`` has
    the last slice of each, in seconds of work, and ``in_a_row`` counts them since the last
    decision. ``sliced`` is the slice of the last check, infinite if the check's own limit ended it.
    ``rung`` is the slice of the ladder's last rung, and ``failed`` a place, the length of the last
    block that failed there, and its slice, in a search that ``began`` at this reading of the clock
    of work. ``attacked_with`` is the number of irrelevant features at the last attack. ``needed``
    is a proven lower bound on the size of any explanation. ``activity`` is what goes on now, in
    words.
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
    rung: float = 0.0
    failed: tuple[tuple[int, ...], int, float] = ((), 0, 0.0)
    began: int = field(default_factory=worked)
    attacked_with: int = -1
    needed: int = 0
    activity: str = ""

    def copy(self) -> "Traversal":
        """Return a copy of the state that later steps do not change."""
        return Traversal(*(copy(getattr(self, one.name)) for one in fields(self)))

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

    def check(
        self, features: Sequence[int], *, bounds_only: bool = False, part: float | None = None
    ) -> Verdict:
        """Check whether ``features`` can be freed as well; raises ``OutOfTimeError`` when late.

        It takes ``part`` seconds of work at most; by default a share of the work left.
        """
        if not self.oracle.proven:
            self.deadline.require_time()
        free = self.oracle.problem.features.coordinates([*self.state.irrelevant, *features])
        # a pass of bounds that ends early decides nothing
        bounding = bounds_only or self.oracle.exactness == "bounds"
        if part is None:
            part = math.inf if bounding else self._slice(features)
        most = self.deadline.limited(self.check_limit)
        with self._doing("bounding" if bounds_only else "checking", len(features)):
            if bounds_only:
                verdict = self.oracle.check_by_bounds(free, most)
            else:
                verdict = self.oracle.check(free, most.within(part))
        self.state.sliced = part if self.deadline.passed() or not most.passed() else math.inf
        return verdict

    def _slice(self, features: Sequence[int]) -> float:
        """Return the seconds for a check: a share of the work left, or twice the last slice."""
        left = self.deadline.left
        if len(features) > 1:
            return max(min(_BLOCK_SHARE * left, _LONGEST_BLOCK), _SHORTEST_SLICE)
        share = _SHARES[min(self.state.in_a_row, len(_SHARES) - 1)] * left
        before = max((self.state.tried.get(feature, 0.0) for feature in features), default=0.0)
        return max(share, 2 * before, _SHORTEST_SLICE)

    def climb_rung(self) -> tuple[float, bool]:
        """Return the seconds of work of the next rung, and whether it is the last that fits."""
        state, most = self.state, min(self.deadline.left / 2, self.check_limit.work)
        first = max(_FIRST_RUNG, elapsed_work(state.began) / 2)
        wanted = 2 * state.rung if state.rung else first
        state.rung = max(min(wanted, most), _SHORTEST_SLICE)
        return state.rung, 2 * wanted > most

    def place(self) -> tuple[int, ...]:
        """Return what tells where the walk stands: features freed, and the next one."""
        return len(self.state.irrelevant), *self.remaining[:1]

    def settle_flips(self) -> None:
        """Keep the features left that known points keep; raises ``OutOfTimeError``."""
        self.deadline.require_time()
        flipped = self.oracle.flipped(self.state.irrelevant, self.remaining, self.deadline)
        for feature, verdict in flipped.items():
            self.settle([feature], verdict)

    def attack(self, features: Sequence[int]) -> None:
        """Look for counterfactuals of ``features`` by gradients, for a share of the work left."""
        # around a set that has hardly grown, an attack finds little more
        if len(self.state.irrelevant) > _GROWN * self.state.attacked_with:
            most = min(_ATTACK_SHARE * self.deadline.left, _LONGEST_BLOCK)
            self._attack(features, self.deadline.within(most))

    def last_attack(self) -> None:
        """Look for counterfactuals of all features left, in the time left."""
        self._attack(self._open, self.deadline)

    def settle_known(self, counterfactuals: Sequence[Verdict]) -> None:
        """Keep the features left that known inputs, or attacks from the closest, show to be needed.

        The ``counterfactuals`` are violated claims about any sets.
        """
        problem, beyond = self.oracle.problem, list[tuple[int, FloatArray]]()
        for verdict in counterfactuals:
            point = verdict.point
            changed = problem.features.of_coordinate[point != problem.x.astype(np.float64)]
            left = {*changed.tolist()}.difference(self.state.irrelevant)
            if len(left) == 1 and not left.isdisjoint(self._open):
                self._keep({left.pop(): verdict})
            else:  # one that has decided its feature leads to no other
                beyond.append((len(left), point))
        self.oracle.remember([point for _, point in sorted(beyond, key=itemgetter(0))])
        self.last_attack()

    @property
    def _open(self) -> list[int]:
        return [*self.state.remaining, *self.state.undecided]

    def _keep(self, found: Mapping[int, Verdict]) -> None:
        for feature, verdict in found.items():
            self.state.undecided.pop(feature, None)
            if feature in self.state.postponed:
                self.state.postponed.remove(feature)
            self.settle([feature], verdict)

    def _attack(self, features: Sequence[int], deadline: Deadline) -> None:
        if not features or deadline.passed():
            return
        self.state.attacked_with = len(self.state.irrelevant)
        with self._doing("attacking", len(features)):
            found = self.oracle.attacked(self.state.irrelevant, features, deadline)
        self._keep(found)

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


def sequential(walk: Walk) -> None:
    """One check for each feature (Wu, Wu, Barrett, NeurIPS 2023, Algorithm 1)."""
    for feature in walk.remaining:
        walk.settle([feature], walk.check([feature]))


def binary(walk: Walk) -> None:
    """Halve blocks until they can be freed at once (Wu, Li, Wu, Barrett, 2024, Algorithm 2)."""
    if len(walk.remaining) > 1:
        _halve(walk, walk.remaining, refuted=None)
    else:
        quickxplain(walk)


def quickxplain(walk: Walk) -> None:
    """Ask about all features first, then halve, as ``binary`` does (Junker, AAAI 2004)."""
    if walk.remaining:
        _decide(walk, walk.remaining)


def _decide(walk: Walk, features: tuple[int, ...]) -> bool:
    """Decide ``features``; return whether all of them were freed."""
    verdict = walk.check(features)
    if verdict.holds or len(features) == 1:
        walk.settle(features, verdict)
    else:
        _halve(walk, features, verdict)
    return verdict.holds


def _halve(walk: Walk, features: tuple[int, ...], refuted: Verdict | None) -> None:
    """Decide two features or more; ``refuted`` is the check of all of them, if one was made."""
    first, second = features[: len(features) // 2], features[len(features) // 2 :]
    if _decide(walk, first) and refuted is not None and refuted.violated:
        # with the first half free, what was refuted is the second half
        if len(second) == 1:
            walk.settle(second, refuted)
        else:
            _halve(walk, second, refuted)
    else:
        _decide(walk, second)


def galloping(walk: Walk) -> None:
    """Use known points, then bounds, then one check of all features expected to go together.

    Counterfactuals from known points are taken for all features at once, since they stay valid as
    ``B`` grows. Then bounds free as many features as they prove. Then one exact check is made of
    the features that :mod:`~milp_verix.oracle.reuse` expects to go together.
    """
    if walk.oracle.exactness == "bounds":
        free_by_forms(walk)
    _free_by_bounds(walk, len(walk.remaining))
    if walk.oracle.exactness != "exact":
        walk.attack(walk.remaining)
    if walk.oracle.exactness == "exact" and walk.oracle.many_open:
        walk.attack(walk.remaining)
        _ladder(walk)
        return
    # bounds alone decide one feature as well as a block
    last, most = 0, 1 if walk.oracle.exactness == "bounds" else len(walk.remaining)
    while walk.remaining:
        walk.settle_flips()
        _free_by_bounds(walk, 1)
        if not walk.remaining:
            return
        expected = walk.oracle.forecast(walk.state.irrelevant, walk.remaining, walk.deadline)
        before = len(walk.state.irrelevant)
        block = walk.remaining[: min(expected or max(1, 2 * last), most)]
        verdict, beyond = walk.check(block), None
        while verdict.violated and len(block) > 1:
            block, beyond = _before_needed(walk, block, verdict)
            if block:
                verdict = walk.check(block)
        open_ = _settle_front(walk, block, verdict, beyond)
        last = len(walk.state.irrelevant) - before
        most = max(1, open_ // 4) if open_ else max(most, 2 * last)
        if open_:
            # programs are dear here: attacks need none
            walk.attack(walk.remaining)


def _free_by_bounds(walk: Walk, block: int) -> None:
    """Free the features in front that bounds prove: doubled blocks, halved after the first miss."""
    growing = True
    while block and walk.remaining:
        features = walk.remaining[:block]
        verdict = walk.check(features, bounds_only=True)
        if verdict.holds:
            walk.settle(features, verdict)
            block *= 2 if growing else 1
        else:
            growing = False
            block //= 2


def _ladder(walk: Walk) -> None:
    """Decide the features left by blocks, with slices of work that double from rung to rung.

    A block that is too large costs one slice; on each rung blocks double as long as they are freed,
    then shrink to a part of what failed. A rung ends where little of what is left is not known to
    be too much for its slice, unless it has freed nothing; all rungs together cost about what the
    last one does, on which single features that stay open are postponed.
    """
    while walk.remaining:
        slice_, last = walk.climb_rung()
        walk.settle_flips()
        place, length, before = walk.state.failed
        known = place == walk.place() and slice_ <= before
        beyond = max(length, 2) if known else len(walk.remaining) + 1
        failed, held = False, 0
        length = max(min(len(walk.remaining) // 4, int(_SHRUNK * beyond)), 1)
        while beyond > 1 and walk.remaining:
            left = len(walk.remaining)
            if held and not last and beyond - 1 <= _REST * left:
                break
            block = walk.remaining[: min(length, beyond - 1, left)]
            asked, verdict, needed = len(block), walk.check(block, part=slice_), None
            while verdict.violated and len(block) > 1:
                block, needed = _before_needed(walk, block, verdict)
                if block:
                    verdict = walk.check(block, part=slice_)
            late = verdict.reason == TIME_LIMIT and walk.state.sliced < math.inf
            if last or len(block) != 1 or not late:
                open_ = _settle_front(walk, block, verdict, needed)
            else:  # it is left for a longer slice
                open_ = 1
            gone = left - len(walk.remaining)
            held += gone > 0
            failed |= gone < asked
            if open_:
                beyond, length = open_, max(int(_SHRUNK * open_), 1)
                walk.state.failed = walk.place(), open_, slice_
            else:
                beyond -= gone
                length = 2 * length if not failed else max(int(_SHRUNK * (beyond - 1)), 1)
        walk.attack(walk.remaining)


def _before_needed(
    walk: Walk, block: tuple[int, ...], verdict: Verdict
) -> tuple[tuple[int, ...], tuple[int, Verdict]]:
    """Return what comes before the first feature found to be needed, and that feature's verdict."""
    length, shorter = walk.oracle.shortest_violated(
        walk.state.irrelevant, block, verdict, walk.deadline
    )
    return block[: length - 1], (block[length - 1], shorter)


def _settle_front(
    walk: Walk, block: tuple[int, ...], verdict: Verdict, beyond: tuple[int, Verdict] | None
) -> int:
    """Decide ``block`` by its check, if possible; return its length if it stayed open, or 0.

    ``beyond`` is the feature right after it with a counterfactual, if one is known.
    """
    if block and (verdict.holds or len(block) == 1):
        walk.settle(block, verdict)
    # that counterfactual stays one only if the block is free
    if beyond is not None and (not block or verdict.holds):
        feature, found = beyond
        walk.settle([feature], found)
    return len(block) if not (verdict.holds or verdict.violated) else 0


STRATEGIES: dict[str, Strategy] = {
    "galloping": galloping,
    "sequential": sequential,
    "binary": binary,
    "quickxplain": quickxplain,
}


def resolve_strategy(strategy: str) -> Strategy:
    """Return the traversal called ``strategy``; ``InputError`` for an unknown name."""
    require_one_of(STRATEGIES, strategy, "traversal")
    return STRATEGIES[strategy]


def free_by_forms(walk: Walk) -> None:
    """Decide the features that remain by bounds and attacks; none for L1 and L2."""
    if not (walk.remaining and walk.check((), bounds_only=True).holds):
        return
    attacked, most, factor = False, len(walk.remaining), 1.0
    headroom, whole = walk.oracle.headroom(()), walk.oracle.upper_over_whole
    if headroom is not None and whole is not None:
        factor = headroom.factor(walk.remaining, whole)
    while headroom is not None and walk.remaining:
        for feature in sorted({*walk.remaining}.difference(headroom.fitting(walk.remaining))):
            walk.settle([feature], Verdict(Answer.UNKNOWN, reason=BOUNDS_ALONE))
        block = walk.remaining[: headroom.together(walk.remaining[:most], factor)]
        if len(block) == 1 and not attacked:
            # a counterfactual saves the question about its feature
            walk.attack(walk.remaining)
            attacked = True
        elif block and _freed(walk, block):
            before, headroom = headroom, walk.oracle.headroom(walk.state.irrelevant)
            most = len(walk.remaining)
            factor = factor if headroom is None else before.factor(block, headroom.upper)
        else:
            most = max(1, 2 * len(block) // 3)


def _freed(walk: Walk, block: tuple[int, ...]) -> bool:
    """Ask bounds whether ``block`` can be freed; a single feature that cannot is undecided."""
    verdict = walk.check(block, bounds_only=True)
    if not verdict.holds:
        # a pass that ended early decides nothing
        walk.deadline.require_time()
    if verdict.holds or len(block) == 1:
        walk.settle(block, verdict)
    return verdict.holds
