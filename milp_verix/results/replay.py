"""The question of a result, posed again to its model, to check its counterfactuals again.

Nothing but the file and the network is needed.
"""

from collections.abc import Iterable
from typing import Any

from milp_verix.base.errors import InputError
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import loaded
from milp_verix.problem.options import Given
from milp_verix.problem.problem import PosedProblem, pose
from milp_verix.results.base import Counterfactual, Result


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
