"""The importance of features: power indices of the game of sets that keep a prediction.

The enumeration of :mod:`milp_verix.searches.importance.marco` decides one set after the other. At
any time the sets that are decided bracket each index
(:mod:`milp_verix.results.power_indices`), and once all are decided the indices are exact.
What SHAP values promise is the Shapley value of an expectation, and they may rank features wrongly
that play no part in the decision (Letoffe, Huang, Marques-Silva, 2024); an order by the indices
here rests on proofs.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from milp_verix.base.clock import OutOfTimeError
from milp_verix.base.errors import InputError, refusing
from milp_verix.base.number_text import counted
from milp_verix.inputs.labelled import values_by_label
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.subset_oracle import SubsetOracle
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.build import counterfactual_of
from milp_verix.results.contrast import Contrast
from milp_verix.results.earlier import EarlierGame, EarlierImportance, earlier_importance
from milp_verix.results.importance import Importance, IndexName, index_named
from milp_verix.searches.importance.marco import EnumerationProgress, Marco
from milp_verix.searches.runner import fields_of


def importance_of(
    problem: PosedProblem,
    *,
    index: str = "shapley",
    beside: ArrayLike | None = None,
    search: Search = USUAL,
    progress: Callable[[EnumerationProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Importance]], None] | None = None,
    resume: EarlierImportance | None = None,
) -> Importance:
    """Weigh the features of the prediction at ``x`` by a power index, with proven brackets.

    A set of features is worth 1 if fixing it keeps the prediction, else 0. The index says how much
    each feature has to do with that:

    - ``"shapley"``: over all orders of the features, how often a feature turns a set into one that
      keeps the prediction (Shapley, Shubik); the values sum up to 1;
    - ``"holler-packel"``: the share of minimal explanations that contain a feature, its formal
      feature attribution (Yu, Ignatiev, Stuckey, 2023);
    - ``"deegan-packel"``: the same, with each explanation shared out among its features;
    - ``"responsibility"``: 1 / k for a feature whose smallest minimal explanation has k features
      (Biradar, Izza, Lobo, Viswanathan, Zick, AAAI 2024).

    The result has a bracket for each feature at any time: the time limit and Ctrl-C return the one
    so far. Values are exact once all sets are decided, which takes seconds for some twenty features
    and may take too long for many. ``result.under(index)`` has another index without a search.

    Raises:
        InputError: an argument does not fit.
        ModelError: the network cannot be read or encoded.
        SolverUnavailableError: the solver is not installed.
    """
    chosen, scores = index_named(index), _scores(beside, problem)
    search.require_only("importance", "the importance")
    request = Request.now(problem, search)
    earlier = None if resume is None else earlier_importance(resume, problem)
    with Oracle(problem, search) as oracle:
        subsets = SubsetOracle(oracle, request.deadline, request.check_limit)
        with closing(request.open_session(oracle.solver)) as session:
            run = ImportanceSearch(subsets, session, request, np.inf, chosen, scores, earlier)
            return run.run(progress, snapshots)


def _scores(given: ArrayLike | None, problem: PosedProblem) -> tuple[float, ...] | None:
    """Return the score of each feature; scores of coordinates add up."""
    if given is None:
        return None
    features, coordinates = problem.features, problem.x.size
    given = values_by_label(given, problem.labels_for(given), "beside")
    with refusing("beside has a number for each feature", TypeError, ValueError):
        scores = np.asarray(given, dtype=np.float64).reshape(-1)
    if scores.size not in (features.count, coordinates) or not np.isfinite(scores).all():
        raise InputError(
            f"beside has a finite number for each of {counted(features.count, 'feature')}, got "
            f"{counted(scores.size, 'number')}"
        )
    if scores.size != features.count:
        scores = features.totals(scores[None])[0]
    return tuple(scores.tolist())


@dataclass(eq=False)
class ImportanceSearch(Marco[Importance]):
    """The enumeration of sets, as brackets of an ``index``; it goes on from an ``earlier`` one."""

    index: IndexName
    beside: tuple[float, ...] | None
    earlier: EarlierGame | None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._notes: tuple[str, ...] = ()

    def _search(self) -> None:
        """Take over what stands of the earlier result, then decide all other sets."""
        if self.earlier is not None:
            self._go_on(self.earlier)
        super()._search()

    def _go_on(self, earlier: EarlierGame) -> None:
        for found in earlier.changing:
            learnt = self.subsets.learn(found)
            if learnt.violated:
                self._exclude(learnt)
        again = 0
        for explanation in map(frozenset, earlier.result.sufficient):
            if self.subsets.late():
                raise OutOfTimeError
            if self.subsets.check(self.subsets.everything - explanation).holds:
                self._exclude_around(explanation)
                again += 1
        proven = f"{again} of {counted(len(earlier.result.sufficient), 'set')}"
        self._notes = (f"{proven} by an earlier run of {earlier.author} were proven again",)
        self.tell()

    def _snapshot(self) -> Callable[[], Importance]:
        subsets = self.subsets
        changing = [(subsets.changed(v), counterfactual_of(v)) for v in subsets.contrasts.values()]
        contrasts = (Contrast(tuple(sorted(moved)), point) for moved, point in changing)
        return partial(
            Importance,
            index=self.index,
            sufficient=_by_size(subsets.sufficient),
            contrasts=tuple(sorted(contrasts, key=lambda one: (len(one.features), one.features))),
            complete=self._complete,
            beside=self.beside,
            unknown_reason=None if self._complete else self.stopped or self._unknown_reason,
            **fields_of(subsets.oracle, self.request.elapsed, self.stopped, notes=self._notes),
        )


def _by_size(sets: list[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    return tuple(sorted(sets, key=lambda one: (len(one), one)))
