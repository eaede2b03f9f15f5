"""The table of operators that the reader knows, and the rules that hold for all of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from typing import TypeAlias

import numpy as np

from milp_verix.errors import ModelError, UnsupportedOperatorError
from milp_verix.onnx_reader.node import NodeContext
from milp_verix.onnx_reader.symbol import Symbol, Tensor

OperatorFunction: TypeAlias = Callable[..., Tensor]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator's function and what the registry checks before calling it.

    ``required`` and ``accepted`` count its inputs; ``attributes`` are those it understands;
    ``keeps_scores`` says that it moves neither the order nor the values of class scores, so that
    it may follow a Softmax.
    """

    function: OperatorFunction
    required: int
    accepted: int
    attributes: frozenset[str]
    keeps_scores: bool


operators: dict[str, Operator] = {}


def operator(
    *names: str, attributes: Sequence[str] = (), keeps_scores: bool = False
) -> Callable[[OperatorFunction], OperatorFunction]:
    """Register a function as the meaning of the ONNX operators ``names``.

    The function takes the :class:`NodeContext` and one parameter for each input, with ``None`` as
    the default of an optional one. At least one of the inputs is a :class:`Symbol`. It returns the
    first output; a model that uses another output is refused.
    """

    def register(function: OperatorFunction) -> OperatorFunction:
        inputs = list(signature(function).parameters.values())[1:]
        required = sum(parameter.default is Parameter.empty for parameter in inputs)
        entry = Operator(function, required, len(inputs), frozenset(attributes), keeps_scores)
        operators.update(dict.fromkeys(names, entry))
        return function

    return register


def apply(node: NodeContext, inputs: Sequence[Tensor | None]) -> Tensor:
    """Compute the first output of ``node``, of whose ``inputs`` at least one is a symbol.

    Raises ``UnsupportedOperatorError`` where the operator, one of its attributes or its place
    after a Softmax is not supported, ``ModelError`` where the node is malformed.
    """
    entry = operators.get(node.operator)
    if entry is None:
        raise UnsupportedOperatorError(
            f"{node} is not supported; supported operators are {', '.join(sorted(operators))}"
        )
    softmax = next((x.softmax for x in inputs if isinstance(x, Symbol) and x.softmax), None)
    if softmax and not entry.keeps_scores:
        raise UnsupportedOperatorError(
            f"{softmax} is not supported before {node}: a Softmax can only end the network, "
            "where it is left out because it does not change the predicted class"
        )
    _check_form(entry, node, inputs)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # refused below, for sparse ones too
            result = entry.function(node, *inputs)
    except (ValueError, IndexError, ArithmeticError) as error:
        raise ModelError(f"{node}: {error}") from error
    if not isinstance(result, Symbol):
        return result
    if not result.finite:
        raise ModelError(f"{node}: its weights overflow, combined with those of the nodes before")
    return replace(result, softmax=softmax) if softmax else result


def _check_form(entry: Operator, node: NodeContext, inputs: Sequence[Tensor | None]) -> None:
    unknown = sorted(set(node.attributes) - entry.attributes)
    if unknown:
        raise node.unsupported(f"attribute {unknown[0]!r} of opset {node.opset} is not understood")
    given = [x is not None for x in inputs]
    if len(given) > entry.accepted or sum(given[: entry.required]) < entry.required:
        raise node.malformed(
            f"it has the inputs {node.inputs}, expected {entry.required} to {entry.accepted}"
        )
    for name, x in zip(node.inputs, inputs, strict=True):
        if isinstance(x, np.ndarray) and not np.isfinite(x).all():
            raise ModelError(f"{name!r}, an input of {node}, holds NaN or infinite values")
