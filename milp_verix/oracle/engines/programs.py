"""The engine of a solver of programs: a mixed-integer program, maximised for margin by margin.

A claim that takes long gets deeper bounds of neurons: fewer binaries and smaller big-Ms. On
`vnncomp-mnist-256x2` (MNIST image 24, ε = 0.05) Gurobi left 5 features undecided after 19 s of
work with CROWN's bounds, and none after 7 s with slopes and trees. A program that is easy without
them does not pay for them: it has half a second of work first.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.oracle.engines.claim import Claim, Decision, Deeper
from milp_verix.oracle.engines.margin_check import COARSE, MarginCheck
from milp_verix.oracle.verdict import TIME_LIMIT, Answer, Stage, Verdict
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import Search, resolve_formulation
from milp_verix.solvers import Session, Solver, open_session
from verix_encodings import Bounds, Network
from verix_encodings.alpha import beyond_input

if TYPE_CHECKING:
    from milp_verix.oracle.engines.warm_program import WarmProgram

MANY = 12
"""Undecided neurons beyond the input; fewer leave little to gain."""

_DEEPEST = 2
_PART = 0.2
"""Of the work left: where rows are dear, as in convolutions, trees would take all of it."""


def pays_to_deepen(claim: Claim) -> bool:
    """Return whether deeper bounds may leave out binaries of a program of ``claim``."""
    shallow = claim.depth is not None and claim.depth < _DEEPEST
    return shallow and beyond_input(claim.margins, claim.bounds) >= MANY


def deepened(claim: Claim, until: Deadline) -> tuple[Claim, dict[Stage, float]]:
    """Return what deeper bounds leave open of ``claim``, and the seconds of each stage."""
    from verix_encodings.deepening import Deepening

    seconds = dict[Stage, float]()
    deepening = Deepening(claim.margins, claim.region, claim.bounds, claim.depth or 0)
    while deepening.depth < _DEEPEST and not until.passed():
        stage, began = stage_of(deepening.depth + 1), time.monotonic()
        claim.on_stage(stage)
        deepening.go_on(until.passed)
        seconds[stage] = time.monotonic() - began
    claim.on_stage(Stage.SOLVES)
    upper = np.fmin(claim.upper, deepening.bounds[-1].upper)
    deeper = Deeper(deepening.bounds, deepening.depth)
    return claim.after(Decision(Verdict(Answer.UNKNOWN), upper, {}, deeper)), seconds


def stage_of(depth: int) -> Stage:
    """Return the stage whose bounds are so deep."""
    return (Stage.BOUNDS, Stage.SLOPES)[depth] if depth < 2 else Stage.TREES


def staged(verdict: Verdict, seconds: Mapping[Stage, float], stage: Stage) -> Verdict:
    """Return ``verdict`` of a ``stage``; its ``seconds`` of bounds are none of the search."""
    # whoever asked counts all seconds as those of the search
    spent = {**seconds, Stage.SOLVES: -sum(seconds.values())}
    stages = tuple(spent.get(one, 0.0) for one in Stage)
    return replace(verdict, effort=replace(verdict.effort, stages=stages), stage=stage)


_FIRST = 0.5  # seconds of work for a program with the bounds given


class Programs:
    """Decides claims by the programs of :class:`~milp_verix.oracle.engines.margin_check`.

    With ``deepens``, a claim that takes long gets deeper bounds of neurons, and a new program. The
    session opens at once, so a solver that is missing shows before anything is computed
    (``SolverUnavailableError``), and anew after a failure.
    """

    def __init__(
        self, problem: ProblemData, search: Search, solver: str | Solver, *, deepens: bool = False
    ) -> None:
        self._problem, self._search, self._deepens = problem, search, deepens
        self._formulation = resolve_formulation(search.formulation)
        self._native = True
        self._shared: WarmProgram | None = None
        self._last: MarginCheck | None = None
        self._open = partial(
            open_session,
            solver,
            threads=search.threads,
            tolerances=search.tolerances,
            needed=self._formulation.needs,
        )
        self._opened: Session | None = self._open()
        self.name, self.version = self._opened.name, self._opened.version
        self._earlier_notes: tuple[str, ...] = ()
        self._coarse: tuple[int, ...] = COARSE

    @property
    def _session(self) -> Session:
        """The session, opened anew if the last one was closed."""
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of all sessions so far."""
        return self._earlier_notes + (self._opened.notes if self._opened else ())

    def close(self) -> None:
        """Close the session; the next claim opens another."""
        self._last = None
        if self._opened is not None:
            self._earlier_notes = self.notes
            self._opened.close()
            self._opened = None

    def begin_anew(self) -> None:
        """Build the next program as asked for, whatever tangents and segments came before."""
        self._last, self._coarse = None, ()

    def prepare(self, margins: Network, bounds: Bounds) -> None:
        """Encode the whole ball once, if the search asks for that.

        ``"auto"`` does not: a program for the check alone is smaller and tighter, and faster with
        every solver that was measured (``docs/warm_starts.md``).
        """
        if self._search.warm in ("auto", "rebuilt"):
            return
        from milp_verix.oracle.engines.warm_program import warm_program

        session = self._session
        self._shared = warm_program(self._problem, self._search, session, margins, bounds)

    def decide(self, claim: Claim) -> Decision:
        """Decide the margins one by one, until one is violated."""
        deepens = self._deepens and pays_to_deepen(claim)
        until = claim.deadline.within(_FIRST) if deepens else claim.deadline
        check = self._check(replace(claim, deadline=until))
        for index in claim.open_.tolist():
            if check.learn(index, check.decide(index)):
                break
        first = check.found
        if not deepens or first.verdict.reason != TIME_LIMIT or claim.deadline.passed():
            return first
        left, seconds = deepened(claim.after(first), claim.deadline.share(_PART))
        found, stage = Decision(Verdict(Answer.HOLDS), left.upper, {}), stage_of(left.depth or 0)
        if left.open_.size:
            check = self._check(left)
            for index in left.open_.tolist():
                if check.learn(index, check.decide(index)):
                    break
            found, stage = check.found, check.found.verdict.stage
        verdict = replace(found.verdict, effort=first.verdict.effort + found.verdict.effort)
        return Decision(
            staged(verdict, seconds, stage),
            found.upper,
            {**first.points, **found.points},
            left.deeper_than(claim.bounds),
        )

    def _check(self, claim: Claim) -> MarginCheck:
        """Return the check of ``claim``; the last one if it is about the same ball."""
        if self._last is not None:
            if self._last.claim.bounds is claim.bounds:
                self._last.begin(claim)
                return self._last
            # a session that did not manage the quadratic row is not asked again
            self._native = self._last.native
        session = self._session
        self._last = MarginCheck(
            self._problem,
            self._search,
            self._formulation,
            session,
            claim,
            native=self._native and "quadratic" in session.capabilities,
            shared=self._shared,
            coarse=self._coarse,
        )
        return self._last
