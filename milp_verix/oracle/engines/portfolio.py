"""A portfolio of engines: each claim goes to the engine that has decided the most in a second.

A slice of an engine has ``2ᵏ/4`` seconds. The next slice is that of the highest value:

    value(engine, k) = (decided + 0.1) / (tried + 1) / seconds

where ``tried`` counts the slices ``k`` of that engine, and ``decided`` those that decided their
claim. A new claim gets short slices of all engines first, then slices twice as long, and so on;
later claims go to slices that have decided before. So a claim costs about twice the seconds of the
best engine for each engine at first, and little more than the best engine once that is known (Luby,
Sinclair, Zuckerman, IPL 1993; Gomes and Selman, *Algorithm portfolios*, AIJ 2001). Margins that one
engine has proven are not asked about again.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from milp_verix.errors import LicenceLimitError, SolverError, SolverUnavailableError
from milp_verix.oracle.engines.claim import Candidate, Claim, Decision, Engine
from milp_verix.records.statistics import TIME_LIMIT, SolverStatistics
from milp_verix.records.verdict import Answer, Effort, Verdict
from verix_encodings import Bounds, Network
from verix_encodings.arrays import FloatArray

_FIRST_SLICE = 0.25
_PRIOR = 0.1
_MOST_FAILURES = 2


@dataclass(slots=True, eq=False)
class _Member:
    """A candidate, its engine once it is open, and its record: counts for each slice ``k``."""

    candidate: Candidate
    engine: Engine | None = None
    tried: Counter[int] = field(default_factory=Counter)
    decided: Counter[int] = field(default_factory=Counter)
    seconds: float = 0.0
    failures: int = 0
    given_up: bool = False

    def value(self, k: int) -> float:
        """Return the claims that a slice is expected to decide in a second."""
        return (self.decided[k] + _PRIOR) / (self.tried[k] + 1) / _slice_seconds(k)

    def best(self, least: int) -> int:
        """Return the slice of the highest value among those from ``least`` on."""
        return max(range(least, max(least, *self.decided, 0) + 1), key=self.value)


class Portfolio:
    """Decides claims by ``first``, which is open, and by ``others``, opened when they are needed.

    With no others it does what ``first`` does, without slices. ``notes`` are for readers.
    """

    def __init__(
        self, first: Engine, others: Sequence[Candidate] = (), notes: tuple[str, ...] = ()
    ) -> None:
        self._members = [_Member(Candidate(first.name, lambda: first), first)]
        self._members += [_Member(candidate) for candidate in others]
        self._prepared: tuple[Network, Bounds] | None = None
        self._notes = notes

    @property
    def engines(self) -> list[Engine]:
        """The engines that are open; the one that has decided the most claims comes first."""
        ranked = sorted(self._members, key=lambda member: -member.decided.total())
        return [member.engine for member in ranked if member.engine is not None]

    @property
    def solvers(self) -> tuple[SolverStatistics, ...]:
        """The claims that each engine decided, and its seconds; only engines asked."""
        return tuple(
            SolverStatistics(member.candidate.name, member.decided.total(), member.seconds)
            for member in self._members
            if member.seconds > 0
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the choice of the engines, on those given up, and their own."""
        return (*self._notes, *(note for engine in self.engines for note in engine.notes))

    def close(self) -> None:
        """Close all engines; they can still decide claims afterwards."""
        for engine in self.engines:
            engine.close()

    def prepare(self, margins: Network, bounds: Bounds) -> None:
        """Prepare for claims about ``margins``, whose ``bounds`` hold over the whole ball."""
        self._prepared = margins, bounds
        for engine in self.engines:
            engine.prepare(margins, bounds)

    def decide(self, claim: Claim) -> Decision:
        """Decide ``claim`` by its deadline; raises ``SolverError`` where every engine fails."""
        least = {member: 0 for member in self._members if not member.given_up}
        undecided: dict[_Member, Verdict] = {}
        points: dict[int, FloatArray] = {}
        effort = Effort()
        while least:
            member = max(least, key=lambda m: m.value(m.best(least[m])))
            k, alone = member.best(least[member]), len(least) == 1
            until = claim.deadline if alone else claim.deadline.within(_slice_seconds(k))
            decision = self._asked(member, k, replace(claim, deadline=until), alone=alone)
            if decision is None:
                del least[member]
                continue
            verdict, claim = decision.verdict, claim.after(decision)
            effort += verdict.effort
            points |= decision.points
            if verdict.answer is not Answer.UNKNOWN or not claim.open_.size:
                found = verdict if verdict.violated else Verdict(Answer.HOLDS)
                return Decision(replace(found, effort=effort), claim.upper, points)
            undecided[member] = verdict
            if claim.deadline.passed():
                break
            if verdict.reason == TIME_LIMIT and until.passed():
                least[member] = k + 1
            else:
                # it would end in the same way again
                del least[member]
        late = [verdict for verdict in undecided.values() if verdict.reason == TIME_LIMIT]
        verdict = [*late, *undecided.values()][0]
        return Decision(replace(verdict, effort=effort), claim.upper, points)

    def _asked(self, member: _Member, k: int, claim: Claim, *, alone: bool) -> Decision | None:
        """Return the decision of ``member`` in a slice ``k``; None where it fails, unless alone."""
        try:
            engine = self._opened(member)
            started = time.monotonic()
            decision = engine.decide(claim)
        except SolverError as error:
            if member.engine is not None:
                member.engine.close()
            if alone:
                raise
            member.failures += 1
            lasting = isinstance(error, LicenceLimitError | SolverUnavailableError)
            if lasting or member.failures == _MOST_FAILURES:
                member.given_up = True
                self._notes += (f"auto gave {member.candidate.name} up: {error}",)
            return None
        seconds = time.monotonic() - started
        member.seconds += seconds
        if decision.verdict.violated or not claim.after(decision).open_.size:
            k = max(int(np.ceil(np.log2(max(seconds, 1e-9) / _FIRST_SLICE))), 0)
            member.decided[k] += 1
        member.tried[k] += 1
        return decision

    def _opened(self, member: _Member) -> Engine:
        if member.engine is None:
            engine = member.candidate.open()
            if self._prepared is not None:
                engine.prepare(*self._prepared)
            member.engine = engine
        return member.engine


def _slice_seconds(k: int) -> float:
    return float(_FIRST_SLICE * 2.0**k)
