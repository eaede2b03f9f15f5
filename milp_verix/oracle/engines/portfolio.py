"""A portfolio of engines: each claim goes to the engine that has decided the most for its work.

A slice of an engine has ``2ᵏ/4`` seconds of work. The next slice is that of the highest value:

    value(engine, k) = (decided + prior) / (spent + 2ᵏ/4)

where slices ``k`` of that engine have ``decided`` so many claims in the work ``spent``. The
prior is ``0.1 (1 + share)`` with the share of its claims that the engine has decided. A new claim
gets short slices of all engines first, then slices twice as long, and so on; later claims go to
slices that have decided before. So a claim costs about twice the work of the best engine for
each engine at first, and little more than the best engine once that is known (Luby, Sinclair,
Zuckerman, IPL 1993; Gomes and Selman, *Algorithm portfolios*, AIJ 2001). Margins that one engine
has proven are not asked about again.

No engine can prove a margin that a point reaches up to the tolerance. Once an engine has gone
through such a claim to the end, the others look for a counterexample in slices up to four times as
long as its own, and no longer.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from milp_verix.base.clock import elapsed_work
from milp_verix.base.errors import LicenceLimitError, SolverError, SolverUnavailableError
from milp_verix.oracle.engines.engine import Claim, Decision, Engine, NotInstalledError
from milp_verix.oracle.verdict import TIME_LIMIT, Answer, Effort, SolverStatistics, Verdict
from verix_encodings import Bounds, Network
from verix_encodings.alpha import beyond_input
from verix_encodings.arrays import FloatArray
from verix_encodings.work import worked

_FIRST_SLICE = 0.25  # seconds of work, doubled for each next slice; not measured
_PRIOR = 0.1  # claims that an engine without a record is taken to have decided; not measured
_MOST_FAILURES = 2  # then an engine is given up
_DOUBLINGS = 2  # of the slice, left to the others once one finds a tie; not measured


@dataclass(slots=True, eq=False)
class Candidate:
    """An engine that may be opened: ``open()`` raises ``SolverError`` where it does not open.

    It is not asked about claims with more than ``most_free`` coordinates, nor more than
    ``most_open`` neurons that bounds leave undecided behind the first layer, nor if a candidate of
    its ``group`` before it has not been given up. With ``patience`` its first slice is that much
    later in the sequence, and so longer, and comes before all others, for claims with no more than
    ``patient_free`` coordinates.

    Its record: ``calls`` counts claims, ``decided`` the slices ``k`` that decided one, ``spent``
    has the seconds of work of slices ``k``; ``seconds`` are those of the wall clock, for readers.
    The last slice ``began`` at these readings of both clocks.
    """

    name: str
    open: Callable[[], Engine]
    most_free: float = np.inf
    most_open: float = np.inf
    group: str | None = None
    patience: int = 0
    patient_free: float = np.inf
    engine: Engine | None = None
    calls: int = 0
    spent: dict[int, float] = field(default_factory=dict)
    decided: Counter[int] = field(default_factory=Counter)
    seconds: float = 0.0
    began: tuple[float, int] = (0.0, 0)
    failures: int = 0
    given_up: bool = False

    def value(self, k: int) -> float:
        """Return the claims that a slice is expected to decide in a second of work."""
        prior = _PRIOR * (1 + self.decided.total() / (self.calls + 1))
        return (self.decided[k] + prior) / (self.spent.get(k, 0.0) + _slice(k))

    def best(self, least: int) -> int:
        """Return the slice of the highest value among those from ``least`` on."""
        return max(range(least, max(least, *self.decided, 0) + 1), key=self.value)

    def record(self, k: int, *, decided: bool) -> None:
        """Count a slice ``k`` that ends now; one that decided counts as the shortest."""
        started, reading = self.began
        work = elapsed_work(reading)
        self.seconds += time.monotonic() - started
        if decided:
            k = max(int(np.ceil(np.log2(max(work, 1e-9) / _FIRST_SLICE))), 0)
            self.decided[k] += 1
        self.spent[k] = self.spent.get(k, 0.0) + work


class Portfolio:
    """Decides claims by ``first``, which opens at once, and by ``others``, opened when needed."""

    def __init__(
        self, first: Candidate, others: Sequence[Candidate] = (), notes: tuple[str, ...] = ()
    ) -> None:
        self._members = [first, *others]
        self._prepared: tuple[Network, Bounds] | None = None
        self._notes, self._given_up = notes, tuple[str, ...]()
        self._opened(first)

    @property
    def engines(self) -> list[Engine]:
        """The engines that are open; those that have decided the most claims come first."""
        ranked = sorted(self._members, key=lambda member: -member.decided.total())
        return [member.engine for member in ranked if member.engine is not None]

    @property
    def solvers(self) -> tuple[SolverStatistics, ...]:
        """The claims that each engine decided, and its seconds; only engines asked."""
        return tuple(
            SolverStatistics(member.name, member.decided.total(), member.seconds)
            for member in self._members
            if member.seconds > 0
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the choice of the engines, on those given up, and their own."""
        return (*self._notes, *(note for one in self.engines for note in one.notes))

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
        few = claim.free.size
        first = {m: m.patience * (few <= m.patient_free) for m in self._playing(claim)}
        least, given = {**first}, claim.bounds
        undecided: dict[Candidate, Verdict] = {}
        points: dict[int, FloatArray] = {}
        effort = Effort()
        failures: list[SolverError] = []
        tied: Verdict | None = None
        longest = np.inf
        while least and not (undecided and claim.deadline.passed()):
            patient = [m for m in least if 0 < least[m] == first.get(m)]
            member = max(patient or least, key=lambda m: m.value(m.best(least[m])))
            k = member.best(least[member])
            if k > longest:
                break
            alone = len(least) == 1 and tied is None
            until = claim.deadline if alone else claim.deadline.within(_slice(k))
            member.calls += least[member] == first.get(member, 0)
            try:
                decision = self._opened(member).decide(replace(claim, deadline=until))
            except SolverError as error:
                if member.engine is not None:
                    member.record(k, decided=False)
                failures.append(error)
                del least[member]
                least |= dict.fromkeys(self._failed(member, error, claim), 0)
                continue
            verdict, claim = decision.verdict, claim.after(decision)
            decided = bool(verdict.violated or verdict.holds or not claim.open_.size)
            member.record(k, decided=decided)
            effort += verdict.effort
            points |= decision.points
            if decided:
                found = replace(verdict, answer=Answer.HOLDS, reason=None)
                found = replace(verdict if verdict.violated else found, effort=effort)
                return Decision(found, claim.upper, points, claim.deeper_than(given))
            undecided[member] = verdict
            if verdict.reason == TIME_LIMIT and until.passed():
                least[member] = k + 1
                continue
            # it would end in the same way again
            del least[member]
            if tied is None and _ties(claim, points):
                tied, longest = verdict, k + _DOUBLINGS
        if not undecided:
            raise failures[-1] if failures else SolverError("; ".join(self._given_up))
        late = [verdict for verdict in undecided.values() if verdict.reason == TIME_LIMIT]
        verdict = [*late, *undecided.values()][0] if tied is None else tied
        verdict = replace(verdict, effort=effort)
        return Decision(verdict, claim.upper, points, claim.deeper_than(given))

    def _playing(self, claim: Claim) -> list[Candidate]:
        """Return the members that may be asked about ``claim``: one of each group, those that fit.

        Where none fits, all are asked: a formulation may leave out ``beta``, which takes any claim.
        """
        left = [member for member in self._members if not member.given_up]
        undecided = 0 if len(self._members) == 1 else beyond_input(claim.margins, claim.bounds)
        fit = [m for m in left if claim.free.size <= m.most_free and undecided <= m.most_open]
        playing: dict[str, Candidate] = {}
        for member in fit or left:
            playing.setdefault(member.group or member.name, member)
        return [*playing.values()]

    def _failed(self, member: Candidate, error: SolverError, claim: Claim) -> list[Candidate]:
        """Close the engine of ``member``; return who takes its place if the error will last."""
        if member.engine is not None:
            member.engine.close()
        member.failures += 1
        lasting = isinstance(error, LicenceLimitError | SolverUnavailableError)
        if len(self._members) == 1 or not (lasting or member.failures == _MOST_FAILURES):
            return []
        member.given_up = True
        self._given_up += (f"{member.name}: {error}",)
        if not isinstance(error, NotInstalledError):
            self._notes += (f"auto gave {member.name} up: {error}",)
        return [one for one in self._playing(claim) if not one.calls]

    def _opened(self, member: Candidate) -> Engine:
        """Return the engine of ``member``, whose slice begins now."""
        if member.engine is None:
            engine = member.open()
            if self._prepared is not None:
                engine.prepare(*self._prepared)
            member.engine = engine
        member.began = time.monotonic(), worked()
        return member.engine


def _slice(k: int) -> float:
    return float(_FIRST_SLICE * 2.0**k)


def _ties(claim: Claim, points: Mapping[int, FloatArray]) -> bool:
    """Return whether one of ``points`` shows that no engine can prove an open margin."""
    return any(
        claim.margins.evaluate(points[margin])[margin] >= -claim.needed[margin]
        for margin in claim.open_.tolist()
        if margin in points
    )
