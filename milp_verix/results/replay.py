"""The question of a result, posed again to its model, and its counterfactuals, checked again.

Nothing but the file and the network is needed.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from milp_verix.base.errors import InputError
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import loaded
from milp_verix.problem.options import Given
from milp_verix.problem.problem import PosedProblem, pose
from milp_verix.results.base import Counterfactual, Result
from milp_verix.results.importance import Relevance
from milp_verix.results.ranges import Ranges

Name = TypeVar("Name")


def posed_again(result: Result, network: LoadedModel) -> PosedProblem:
    """Return the problem that ``result`` is about.

    Raises ``InputError`` where ``network`` is another file than the one explained, or predicts
    something else for the input.
    """
    network = loaded(network, result.inputs)
    result.refuse_other(network)
    problem = pose(network, result.input, Given(**asked_in(result)))
    if problem.question.prediction != result.prediction:
        raise InputError(
            f"the network predicts {problem.question.prediction} for the input, the explanation "
            f"says {result.prediction}"
        )
    return problem


def asked_in(result: Result) -> dict[str, Any]:
    """Return the options of the question that ``result`` answers."""
    asked: dict[str, Any] = {
        "epsilon": result.epsilon if result.radii is None else result.radii,
        "norm": result.norm,
        "delta": result.delta,
        "output": result.output,
        "against": result.against,
    }
    if result.inputs is not None:
        return asked | {"inputs": result.inputs}
    return asked | {"domain": result.domain, "features": result.groups}


def failing_points(
    result: Result,
    points: Iterable[tuple[Name, Iterable[int], Counterfactual]],
    network: LoadedModel,
) -> tuple[Name, ...]:
    """Return the names of ``points`` that are no counterfactuals.

    Each has a name, the features that it may change, and the input. Raises as
    :func:`posed_again` does.
    """
    problem = posed_again(result, network)
    return tuple(name for name, free, found in points if not stands(problem, free, found))


def failing_steps(found: Ranges, network: LoadedModel) -> tuple[tuple[int, float], ...]:
    """Return the steps beyond ranges whose counterfactual is not one.

    A feature and the value, or the place of the word, name a step. Raises as :func:`posed_again`
    does.
    """
    problem = posed_again(found, network)
    kept = problem.features.coordinates(found.explanation)
    ball, everything = problem.ball, range(len(found.groups))
    failing = []
    for own in found.ranges:
        for step in own.beyond:
            if step.counterfactual is None:
                continue
            point = step.counterfactual.input.reshape(-1)
            there = point[kept].astype(np.float64)
            inside = np.all((ball.domain_lower[kept] <= there) & (there <= ball.domain_upper[kept]))
            # kept features where they are: the ball of the others remains to be checked
            box = problem.within(ball.between(kept, (there, there), point))
            if not (
                inside
                and stands(box, everything, step.counterfactual)
                and found.value_at(own, point) == step.value
                and [one for one in found.ranges if not found.holds(one, point)] == [own]
            ):
                failing.append((own.feature, step.value))
    return tuple(failing)


def relevance_stands(found: Relevance, network: LoadedModel) -> bool:
    """Return whether the evidence of relevance changes the prediction, and its pair keeps it.

    Raises as :func:`posed_again` does.
    """
    problem = posed_again(found, network)
    assert found.counterfactual is not None
    assert found.free is not None
    if not stands(problem, [*found.features, *found.free], found.counterfactual):
        return False
    if found.unchanged is None:
        return True
    inside = problem.ball.contains(
        found.unchanged.reshape(-1), problem.features.coordinates(sorted(found.free))
    )
    return inside and not problem.question.changed(network.outputs_at(found.unchanged))


def stands(problem: PosedProblem, free: Iterable[int], counterfactual: Counterfactual) -> bool:
    """Return whether the counterfactual changes the prediction and moves ``free`` features only.

    It lies in the ball by definition, and its prediction is the one recorded.
    """
    coordinates = problem.features.coordinates(sorted(free))
    if not problem.ball.contains(counterfactual.input.reshape(-1), coordinates):
        return False
    outputs, question = problem.network.outputs_at(counterfactual.input), problem.question
    recorded = counterfactual.prediction, counterfactual.rival
    found = question.predicted(outputs), question.rival(outputs)
    return question.changed(outputs) and recorded == found
