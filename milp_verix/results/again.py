"""The question that a result answers, posed again to its model."""

from typing import Any

from milp_verix.base.errors import InputError
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import loaded
from milp_verix.problem.problem import PosedProblem, pose
from milp_verix.problem.search import Given
from milp_verix.results.records.base import Result


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
