"""Enumeration of minimal explanations, abductive and contrastive, in the manner of MARCO.

    repeat   A ← a smallest set that is not decided yet            none left: complete
             while check(all but A) is violated:
                 shrink it to a minimal contrastive set C           a set that misses C is decided
                 A ← A ∪ C
             grow all but A; what is outside is a minimal explanation, and what holds it is decided

(Liffiton, Previti, Malik, Marques-Silva, *Fast, flexible MUS enumeration*, Constraints 2016; for
explanations Ignatiev, Narodytska, Asher, Marques-Silva, AI*IA 2020.) Both kinds come at once, and
the size of ``A`` is a lower bound on that of every explanation that is still to come.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from milp_verix.argument_kinds import checked
from milp_verix.arguments import integer_of
from milp_verix.duality.hitting_set import propose
from milp_verix.inputs.features import Feature
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.radii import Epsilon
from milp_verix.onnx_reader.onnx_network import NetworkLike
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.subset_oracle import SubsetOracle
from milp_verix.problem.ball import UNIT_DOMAIN, Domain
from milp_verix.problem.features import FeaturesLike
from milp_verix.problem.request import make_request
from milp_verix.results.build import counterfactual_of, shared_fields, statistics_of
from milp_verix.results.public import Enumeration
from milp_verix.results.records.base import Counterfactual
from milp_verix.results.records.enumeration import Contrast
from milp_verix.results.records.kinds import FeatureSet
from milp_verix.results.records.statistics import INTERRUPTED, TIME_LIMIT
from milp_verix.solvers import Session
from milp_verix.tolerances import Tolerances
from verix_encodings.models.cover import Clause

LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class EnumerationProgress:
    """Numbers of minimal explanations found so far, of each kind."""

    abductive: int
    contrastive: int


@checked()
def enumerate_explanations(
    network: NetworkLike,
    x: ArrayLike,
    *,
    epsilon: Epsilon,
    norm: str = "linf",
    delta: float | None = None,
    domain: Domain = UNIT_DOMAIN,
    features: FeaturesLike = None,
    feature_names: Sequence[str] | None = None,
    label: int | None = None,
    against: int | Sequence[int] | None = None,
    output: int | None = None,
    image_shape: Sequence[int] | None = None,
    inputs: Inputs | Sequence[Feature] | None = None,
    solver: str = "auto",
    limit: int | None = None,
    time_limit: float | None = None,
    check_time_limit: float | None = None,
    threads: int = 1,
    tolerances: Tolerances | None = None,
    progress: Callable[[EnumerationProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Enumeration]], None] | None = None,
) -> Enumeration:
    """Find the minimal abductive and contrastive explanations of the prediction at ``x``.

    There may be exponentially many: ``limit`` stops once so many were found, of both kinds
    together; the time limit and Ctrl-C return those found so far. A set whose check is UNKNOWN
    is listed on neither side, and the enumeration is then not complete.

    Arguments and errors are those of :func:`milp_verix.explain`; ``solver`` is
    ``"auto"``, ``"highs"``, ``"phase"``, ``"cbc"``, ``"gurobi"``, ``"scip"``, ``"split"``,
    ``"beta"``, ``"pulp"`` or ``"pulp:NAME"``, ``"pyomo"`` or ``"pyomo:NAME"``. ``progress`` is
    called after each round, ``snapshots`` as by :func:`milp_verix.explain`.
    """
    most = np.inf if limit is None else integer_of(limit, "limit")
    request = make_request(
        network,
        x,
        epsilon=epsilon,
        norm=norm,
        delta=delta,
        domain=domain,
        features=features,
        feature_names=feature_names,
        label=label,
        against=against,
        output=output,
        image_shape=image_shape,
        inputs=inputs,
        solver=solver,
        threads=threads,
        tolerances=tolerances,
        time_limit=time_limit,
        check_time_limit=check_time_limit,
    )
    problem = request.problem
    with Oracle(problem, solver, threads=threads, tolerances=request.tolerances) as oracle:
        subsets = SubsetOracle(oracle, request.deadline, request.check_limit)
        session = request.open_session(oracle.solver)
        search = _Search(subsets, session)

        def snapshot() -> Callable[[], Enumeration]:
            """Return a function that makes a result of the explanations found by now."""
            abductive, contrastive = [*search.abductive], [*search.contrastive.items()]
            statistics = statistics_of(
                subsets.effort, subsets.checks, request.elapsed, search.stopped, oracle.solvers
            )
            return partial(
                _enumeration,
                abductive,
                contrastive,
                complete=search.complete,
                lower_bound=min(search.lower_bound, problem.features.count),
                unknown_reason=search.unknown_reason,
                statistics=statistics,
                **shared_fields(problem, oracle.solver, oracle.versions, oracle.notes),
            )

        def tell() -> None:
            if snapshots is not None:
                snapshots(snapshot())

        search.on_change = tell
        try:
            tell()
            search.run(most, progress)
        except KeyboardInterrupt:
            search.stopped = INTERRUPTED
        finally:
            session.close()
        return snapshot()()


def _enumeration(
    abductive: list[FeatureSet],
    contrastive: list[tuple[FeatureSet, Counterfactual]],
    **rest: Any,
) -> Enumeration:
    """Return the result, with abductive and contrastive explanations sorted, smallest first."""
    contrasts = sorted(contrastive, key=lambda item: (len(item[0]), item[0]))
    explanations = sorted(abductive, key=lambda one: (len(one), one))
    found = tuple(Contrast(features, point) for features, point in contrasts)
    return Enumeration(abductive=tuple(explanations), contrasts=found, **rest)


class _Search:
    """The explanations found, and the clauses that exclude decided sets.

    ``on_change`` is called when there is one more.
    """

    def __init__(self, subsets: SubsetOracle, session: Session) -> None:
        self.abductive: list[tuple[int, ...]] = []
        self.contrastive: dict[tuple[int, ...], Counterfactual] = {}
        self.complete = False
        self.stopped: str | None = None
        self.unknown_reason: str | None = None
        self.on_change: Callable[[], None] = lambda: None
        self._subsets = subsets
        self._session = session
        self._costs = np.ones(len(subsets.everything))
        self.lower_bound = 0
        self._clauses: list[Clause] = []
        self._explaining: list[frozenset[int]] = []
        # a set was put aside that may hold an explanation: the bound rises no more
        self._gave_up = False

    @property
    def count(self) -> int:
        """Number of explanations found, of both kinds."""
        return len(self.abductive) + len(self.contrastive)

    def run(self, most: float, progress: Callable[[EnumerationProgress], None] | None) -> None:
        """Decide one set after the other until all are decided, or enough were found."""
        while self.count < most:
            deadline = self._subsets.deadline
            proposal = propose(self._session, self._costs, self._clauses, deadline)
            if not self._gave_up:
                self.lower_bound = max(self.lower_bound, int(proposal.bound))
            if proposal.exhausted:
                self.complete = self.unknown_reason is None
                return
            if proposal.late or self._subsets.late():
                self.stopped = TIME_LIMIT
                return
            if proposal.chosen is None:
                self.unknown_reason = f"{self._session.name} proposes no further set"
                return
            before = self.count
            self._decide(proposal.chosen, most)
            if progress is not None and self.count > before:
                progress(EnumerationProgress(len(self.abductive), len(self.contrastive)))
        self.stopped = LIMIT

    def _decide(self, explained: frozenset[int], most: float) -> None:
        subsets = self._subsets
        free = subsets.everything - explained
        verdict = subsets.check(free)
        if not (verdict.holds or verdict.violated):
            # this set alone: those around it may well be decided
            self._clauses.append(Clause(any_of=free, not_all_of=explained))
            self._gave_up = True
            self._doubt(verdict.reason or "unknown")
        while verdict.violated:
            smallest, minimal = subsets.shrink(verdict)
            contrast = subsets.changed(smallest)
            self._clauses.append(Clause(any_of=contrast))
            if minimal:
                self.contrastive[tuple(sorted(contrast))] = counterfactual_of(smallest)
                self.on_change()
            else:
                self._doubt("a set that changes the prediction was not proven minimal")
            if self.count >= most:
                return
            free -= contrast
            verdict = subsets.check(free)
        left = subsets.everything - free
        if verdict.holds and not any(set(known) <= left for known in self._explaining):
            self._explain(free)

    def _explain(self, free: frozenset[int]) -> None:
        """Grow a robust set until the features outside of it are a minimal explanation."""
        subsets = self._subsets
        robust, maximal = subsets.grow(free, sorted(subsets.everything - free))
        explanation = subsets.everything - robust
        # what holds a set that explains is decided, whether that set is minimal or not
        self._explaining.append(explanation)
        self._clauses.append(Clause(not_all_of=explanation))
        if maximal:
            self.abductive.append(tuple(sorted(explanation)))
            self.on_change()
        else:
            self._gave_up = True
            self._doubt("a set that explains the prediction was not proven minimal")

    def _doubt(self, reason: str) -> None:
        self.unknown_reason = self.unknown_reason or reason
