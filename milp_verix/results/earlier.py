"""An earlier result of the same question, and how much of it a new search may take over.

A counterfactual is run in onnxruntime again, inside the ball, so it needs no trust. A result has no
proof in it, and a file can be edited: the earlier claim that some features may be free counts once
it is proven again, and an earlier lower bound never counts. A note tells that bound, and which run
claimed it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError
from milp_verix.base.number_text import down
from milp_verix.oracle.verdict import Verdict, violated_by
from milp_verix.problem.problem import ProblemData
from milp_verix.results.base import Counterfactual, Result, difference_of
from milp_verix.results.build import shared_fields, stands
from milp_verix.results.contrast import ContrastiveExplanation
from milp_verix.results.explanation import Explanation
from milp_verix.results.importance import Importance
from milp_verix.results.json_format import load
from verix_encodings.arrays import FloatArray

_ROUNDED = 1.0 + 1e-9  # a bound told may be that much higher, by rounding
AnyResult = TypeVar("AnyResult", bound=Result)


class EarlierResultError(InputError):
    """An earlier result cannot be read, or is about another question."""


EarlierContrast: TypeAlias = ContrastiveExplanation | str | Path
"""A contrastive explanation, its JSON, or the path of a file of that."""

EarlierImportance: TypeAlias = Importance | str | Path
"""The importance of features, its JSON, or the path of a file of that."""

EarlierResult: TypeAlias = Explanation | str | Path
"""An explanation, its JSON, or the path of a file of that, packed by gzip if it ends in .gz."""

_PACKAGE = "milp-verix"


@dataclass(frozen=True, slots=True, eq=False)
class _EarlierAnswer(Generic[AnyResult]):
    """An earlier ``result`` of a question."""

    result: AnyResult

    @property
    def author(self) -> str:
        """The version of milp-verix that it says it is by."""
        return f"{_PACKAGE} {self.result.versions.get(_PACKAGE, 'of an unknown version')}"


@dataclass(frozen=True, slots=True, eq=False)
class Earlier(_EarlierAnswer[Explanation]):
    """An earlier ``result`` of a question, with all in it that stands without a proof.

    ``counterfactuals`` are those that a replay confirmed; they stand if the features in
    ``result.irrelevant`` may be free. ``scenarios`` are points of the ball of all features.
    """

    counterfactuals: Mapping[int, Verdict]
    scenarios: tuple[NDArray[Any], ...]

    def bound_for(self, costs: FloatArray, must: Sequence[int], must_not: Sequence[int]) -> float:
        """Return the lower bound that it tells where that is about the same objective, else zero.

        ``costs`` are those of the features; ``must`` and ``must_not`` are ascending.
        """
        result = self.result
        same = (result.must, result.must_not) == (tuple(must), tuple(must_not))
        same = same and _same_costs(result.costs, costs)
        return float(result.lower_bound or 0.0) if same else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class EarlierContrastSearch(_EarlierAnswer[ContrastiveExplanation]):
    """An earlier contrastive ``result`` of a question; ``verdict`` is its replayed contrast."""

    verdict: Verdict | None

    def bound_for(self, costs: FloatArray, must_not: Sequence[int], *, distance: bool) -> float:
        """Return the lower bound that it tells where that would be one here, else zero.

        It would be one for the same ``costs``, of features or of a ``distance``, and if a contrast
        could change all features that it may change now.
        """
        result = self.result
        same = _same_costs(result.costs, costs) and distance == (result.scales is not None)
        same = same and {*result.must_not} <= {*must_not}
        return float(result.lower_bound or 0.0) if same else 0.0


def earlier_contrast(given: EarlierContrast, problem: ProblemData) -> EarlierContrastSearch:
    """Return what stands of the earlier contrastive result ``given`` for ``problem``.

    Raises ``EarlierResultError`` where it cannot be read, or is about another question.
    """
    result = earlier_result(given, ContrastiveExplanation, problem)
    found, verdict = result.counterfactual, None
    if found is not None and result.contrast and stands(problem, result.contrast, found):
        verdict = _violated(problem, found)
    return EarlierContrastSearch(result, verdict)


@dataclass(frozen=True, slots=True, eq=False)
class EarlierGame(_EarlierAnswer[Importance]):
    """The sets of features in an earlier ``result`` on their importance.

    ``changing`` are the counterfactuals that a replay confirmed; the sufficient sets of the result
    are claims that need another proof.
    """

    changing: tuple[Verdict, ...]


def earlier_importance(given: EarlierImportance, problem: ProblemData) -> EarlierGame:
    """Return what stands of the earlier result ``given`` on importance for ``problem``.

    Raises ``EarlierResultError`` where it cannot be read, or is about another question.
    """
    result = earlier_result(given, Importance, problem)
    changing = tuple(
        _violated(problem, one.counterfactual)
        for one in result.contrasts
        if stands(problem, one.features, one.counterfactual)
    )
    return EarlierGame(result, changing)


def note_on_bound(
    stored: float, proven: float | None, cost: float | None, author: str
) -> str | None:
    """Return the note on the lower bound ``stored`` by an earlier run; None if none is needed.

    ``proven`` is the lower bound that this run has proven, ``cost`` the best that it found.
    """
    if cost is not None and stored > cost * _ROUNDED:
        return f"this result refutes the lower bound {down(stored)} of an earlier run of {author}"
    if proven is not None and stored > proven * _ROUNDED:
        return f"the lower bound by an earlier run of {author} is {down(stored)}: not proven here"
    return None


def earlier_explanation(given: EarlierResult, problem: ProblemData) -> Earlier:
    """Return what stands of the earlier result ``given`` for ``problem``.

    Raises ``EarlierResultError`` where it cannot be read, or is about another question.
    """
    result = earlier_result(given, Explanation, problem)
    counterfactuals = {
        feature: _violated(problem, found)
        for feature, found in result.counterfactuals.items()
        if stands(problem, [*result.irrelevant, feature], found)
    }
    everything = np.arange(problem.x.size)
    inside = (p for p in result.scenarios if problem.ball.contains(p.reshape(-1), everything))
    return Earlier(result, counterfactuals, tuple(inside))


def earlier_result(given: Any, kind: type[AnyResult], problem: ProblemData) -> AnyResult:
    """Return the earlier result ``given``, of the class ``kind``, of the question of ``problem``.

    Raises ``EarlierResultError`` where it cannot be read, or is about another question.
    """
    try:
        result = load(given, kind) if isinstance(given, str | Path) else given
    except InputError as error:
        raise EarlierResultError(f"resume: {error}") from error
    if not isinstance(result, kind):
        raise EarlierResultError(
            f"resume takes {kind.noun} found earlier, or the path of its JSON; got "
            f"{type(given).__name__}"
        )
    question = SimpleNamespace(**shared_fields(problem, "", {}, ()))
    if text := difference_of(result, question):
        raise EarlierResultError(
            f"resume: the earlier result is about another question: its {text}; ask the same "
            "question, or leave resume out"
        )
    return result


def _violated(problem: ProblemData, found: Counterfactual) -> Verdict:
    outputs = problem.network.outputs_at(found.input)
    return violated_by(problem.question, found.input, outputs)


def _same_costs(before: tuple[float, ...] | None, costs: FloatArray) -> bool:
    return np.array_equal(np.ones(costs.size) if before is None else np.array(before), costs)
