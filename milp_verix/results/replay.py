"""Check the counterfactuals of a result again, from nothing but the file and the network."""

from collections.abc import Iterable, Mapping

from milp_verix.errors import InputError
from milp_verix.loaded_model import LoadedModel
from milp_verix.problem.options import Asked
from milp_verix.problem.problem import PosedProblem
from milp_verix.results.records.base import Counterfactual, Result
from milp_verix.results.records.explanation import ExplanationRecord
from milp_verix.results.records.kinds import FeatureSet
from milp_verix.results.records.relevance import RelevanceRecord


def failing_features(explanation: ExplanationRecord, network: LoadedModel) -> tuple[int, ...]:
    """Return the features whose counterfactual is not one, ascending.

    See :meth:`milp_verix.Explanation.replay`; raises as :func:`_posed_again` does.
    """
    problem = _posed_again(explanation, network)
    return tuple(
        feature
        for feature, counterfactual in sorted(explanation.counterfactuals.items())
        if not stands(problem, [*explanation.irrelevant, feature], counterfactual)
    )


def failing_contrasts(
    result: Result, contrasts: Mapping[FeatureSet, Counterfactual], network: LoadedModel
) -> tuple[FeatureSet, ...]:
    """Return the ``contrasts`` of ``result`` whose counterfactual is not one.

    Raises as :func:`_posed_again` does.
    """
    problem = _posed_again(result, network)
    return tuple(
        contrast for contrast, found in contrasts.items() if not stands(problem, contrast, found)
    )


def failing_points(
    result: Result,
    points: Iterable[tuple[int | None, Iterable[int], Counterfactual]],
    network: LoadedModel,
) -> tuple[int | None, ...]:
    """Return the names of ``points`` that are no counterfactuals.

    Each has a name, the features that it may change, and the input. Raises as
    :func:`_posed_again` does.
    """
    problem = _posed_again(result, network)
    return tuple(name for name, free, found in points if not stands(problem, free, found))


def relevance_stands(found: RelevanceRecord, network: LoadedModel) -> bool:
    """Return whether the evidence of relevance changes the prediction, and its pair keeps it.

    Raises as :func:`_posed_again` does.
    """
    problem = _posed_again(found, network)
    assert found.counterfactual is not None
    assert found.free is not None
    if not stands(problem, [*found.features, *found.free], found.counterfactual):
        return False
    if found.unchanged is None:
        return True
    inside = problem.ball.contains(
        found.unchanged.reshape(-1), problem.features.coordinates(sorted(found.free))
    )
    return inside and not problem.question.changed(network.evaluate(found.unchanged))


def _posed_again(result: Result, network: LoadedModel) -> PosedProblem:
    """Return the problem that ``result`` is about.

    Raises ``InputError`` where ``network`` is another file than the one explained, or predicts
    something else for the input.
    """
    if network.sha256 != result.model.sha256:
        raise InputError(
            f"{network.path or network.name} is not the network explained: its SHA-256 is "
            f"{network.sha256[:12]}…, that of {result.model.file} was {result.model.sha256[:12]}…"
        )
    asked: Asked = {
        "epsilon": result.epsilon if result.radii is None else result.radii,
        "norm": result.norm,
        "delta": result.delta,
        "output": result.output,
        "against": result.against,
    }
    if result.inputs is None:
        asked |= {"domain": result.domain, "features": result.groups}
    else:
        asked |= {"inputs": result.inputs}
    problem = PosedProblem(network, result.input, **asked)
    if problem.question.prediction != result.prediction:
        raise InputError(
            f"the network predicts {problem.question.prediction} for the input, the explanation "
            f"says {result.prediction}"
        )
    return problem


def stands(problem: PosedProblem, free: Iterable[int], counterfactual: Counterfactual) -> bool:
    """Return whether the counterfactual changes the prediction and moves ``free`` features only.

    It lies in the ball by definition, and its prediction is the one recorded.
    """
    coordinates = problem.features.coordinates(sorted(free))
    if not problem.ball.contains(counterfactual.input.reshape(-1), coordinates):
        return False
    outputs, question = problem.network.evaluate(counterfactual.input), problem.question
    recorded = counterfactual.prediction, counterfactual.rival
    found = question.predicted(outputs), question.rival(outputs)
    return question.changed(outputs) and recorded == found
