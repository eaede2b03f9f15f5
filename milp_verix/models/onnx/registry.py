"""The table of operators that the reader knows, and the rules that hold for all of them.

Others are refused: some on purpose, with a reason and often a way out, the rest with the list of
supported ones.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from inspect import Parameter, signature
from math import inf
from typing import TypeAlias, TypeVar

import numpy as np

from milp_verix.base.errors import ModelError, UnsupportedOperatorError, listed, refusing
from milp_verix.models.onnx.builder import GIVEN, READERS, Builder, masked, with_masks
from milp_verix.models.onnx.symbol import Shape, Symbol, Tensor

_JUMPS = "it jumps from one element to another, and the encoding of that is not exact"
_LOOPS = (
    "only feed-forward networks and recurrent layers are supported; export with a fixed number of "
    "steps, unrolled"
)
_POOL = "it sums powers over windows; export it as Pow, AveragePool and Pow"
_FUSED = "it is an operator of onnxruntime alone; export with standard ONNX operators"
_ENDS = "if it ends the model, name the output that holds the scores as output="
_LABELS = f"it returns labels; {_ENDS}"
_SORTS = f"it picks values by their order; {_ENDS}; MaxPool and ReduceMax are read"

refusals: dict[str, str] = {
    "Hardmax": _JUMPS,
    "LpPool": _POOL,
    **dict.fromkeys(("ArgMax", "ArgMin"), _LABELS),
    "TopK": _SORTS,
    **dict.fromkeys(("If", "Loop", "Scan"), _LOOPS),
    **dict.fromkeys(("com.microsoft.Attention", "com.microsoft.MultiHeadAttention"), _FUSED),
}


_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class NodeContext:
    """One node of the ONNX graph: its operator, names, attributes, and the network being built.

    ``inputs`` and ``outputs`` are tensor names, empty for an omitted one.
    """

    operator: str
    name: str
    opset: int
    attributes: Mapping[str, object] = field(repr=False)
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    builder: Builder = field(repr=False)

    def __str__(self) -> str:
        """Return the operator with the node's name, or with its outputs if the node has no name."""
        if self.name:
            return f"{self.operator} {self.name!r}"
        return f"{self.operator} (unnamed, output {next(filter(None, self.outputs), '')!r})"

    def integer(self, name: str, default: int) -> int:
        """Return an integer attribute. Raises ``ModelError`` where it has another type."""
        return self._attribute(name, default, int, "an integer")

    def number(self, name: str, default: float) -> float:
        """Return an attribute of float32, as its default; ``ModelError`` if it has another type."""
        return self._attribute(name, float(np.float32(default)), float, "a number")

    def text(self, name: str, default: str) -> str:
        """Return a string attribute. Raises ``ModelError`` where it has another type."""
        return self._attribute(name, default, str, "a string")

    def integers(self, name: str) -> list[int] | None:
        """Return a list of integers, None if absent; ``ModelError`` where it has another type."""
        return self._list(name, int, "a list of integers")

    def numbers(self, name: str) -> list[float] | None:
        """Return an attribute that is a list of floats as :meth:`integers` does."""
        return self._list(name, float, "a list of numbers")

    def constant_integers(self, name: str, tensor: object) -> list[int] | None:
        """Return a list of integers given as an input or, in older opsets, as an attribute.

        ``tensor`` is the input, None where the node has none. Raises ``UnsupportedOperatorError``
        where it is computed from the network's input, ``ModelError`` where it is no such list.
        """
        if tensor is None:
            return self.integers(name)
        if not isinstance(tensor, np.ndarray):
            raise self.unsupported(f"its {name} depends on the network's input")
        if tensor.dtype.kind not in "iu" or tensor.ndim > 1:
            raise self.malformed(f"its {name} is not a list of integers")
        return [int(item) for item in tensor.reshape(-1)]

    def axis(self, axis: int, shape: Shape) -> int:
        """Return ``axis`` counted from the first; ``ModelError`` if ``shape`` has no such."""
        if not -len(shape) <= axis < len(shape):
            raise self.malformed(f"axis {axis} is not one of a tensor of shape {shape}")
        return axis % len(shape)

    def unsupported(self, reason: str) -> UnsupportedOperatorError:
        """Return the error to raise where this node cannot be encoded exactly."""
        return UnsupportedOperatorError(f"{self} is not supported: {reason}")

    def malformed(self, reason: str) -> ModelError:
        """Return the error to raise where this node breaks the ONNX specification."""
        return ModelError(f"{self} is malformed: {reason}")

    def _attribute(self, name: str, default: _Item, kind: type[_Item], expected: str) -> _Item:
        value = self.attributes.get(name, default)
        if not isinstance(value, kind):
            raise self.malformed(f"attribute {name!r} is not {expected}")
        return value

    def _list(self, name: str, kind: type[_Item], expected: str) -> list[_Item] | None:
        value = self._attribute(name, [], list, expected)
        if not all(isinstance(item, kind) for item in value):
            raise self.malformed(f"attribute {name!r} is not {expected}")
        return value if name in self.attributes else None


OperatorFunction: TypeAlias = Callable[..., Tensor | tuple[Tensor, ...]]
_Function = TypeVar("_Function", bound=OperatorFunction)
TailFunction: TypeAlias = Callable[..., Symbol | None]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator's function and the conditions that the registry checks before calling it.

    ``required`` and ``accepted`` count its inputs; ``attributes`` are those it understands.
    ``keeps_scores`` says that it changes neither the order nor the values of class scores, so that
    it may follow a Softmax. ``of_scores``, if any, is its function for scores whose Softmax or
    Sigmoid was left out.
    """

    function: OperatorFunction
    required: int
    accepted: float
    attributes: frozenset[str]
    keeps_scores: bool
    of_scores: TailFunction | None


operators: dict[str, Operator] = {}
"""The operators that are loaded: :func:`every_operator` loads those of the modules ``RARER``."""

RARER = ("attention",)


def every_operator() -> dict[str, Operator]:
    """Return all operators by their names."""
    for module in RARER:
        import_module(f"milp_verix.models.onnx.operators.{module}")
    return operators


def operator_named(name: str) -> Operator | None:
    """Return the operator called ``name``, None if it is not known."""
    return operators.get(name) or every_operator().get(name)


def operator(
    *names: str,
    attributes: Sequence[str] = (),
    keeps_scores: bool = False,
    of_scores: TailFunction | None = None,
) -> Callable[[_Function], _Function]:
    """Register a function as the meaning of the ONNX operators ``names``.

    The function takes the :class:`NodeContext` and one parameter for each input, with ``None`` as
    the default of an optional one; ``*inputs`` takes any number. At least one of the inputs is a
    :class:`Symbol`. It returns the first output, or a tuple of all outputs that it computes; a
    model that uses another output is refused. ``of_scores`` is called in the same way, instead of
    the function, if a Softmax or Sigmoid was left out of an input. If it returns None, a Sigmoid
    becomes a node of the network and a Softmax is refused.
    """

    def register(function: _Function) -> _Function:
        inputs = list(signature(function).parameters.values())[1:]
        required = sum(parameter.default is Parameter.empty for parameter in inputs)
        variadic = any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in inputs)
        accepted = inf if variadic else len(inputs)
        understood = frozenset(attributes)
        entry = Operator(function, required, accepted, understood, keeps_scores, of_scores)
        operators.update(dict.fromkeys(names, entry))
        return function

    return register


def apply(node: NodeContext, inputs: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
    """Compute the outputs of ``node``, of whose ``inputs`` at least one is a symbol.

    Raises ``UnsupportedOperatorError`` where the operator, one of its attributes or its place
    after a Softmax is not supported, ``ModelError`` where the node is malformed.
    """
    entry = operator_named(node.operator)
    if entry is None:
        if node.operator in refusals:
            raise node.unsupported(refusals[node.operator])
        raise UnsupportedOperatorError(
            f"{node} is not supported; supported operators are {listed(sorted(operators))}; "
            "docs/operators.md has all"
        )
    inputs = [with_masks(x) for x in inputs] if node.operator in GIVEN else inputs
    _check_form(entry, node, inputs)
    tail = next((x.tail for x in inputs if isinstance(x, Symbol) and x.tail), None)
    with (
        refusing(str(node), ValueError, IndexError, ArithmeticError, kind=ModelError),
        np.errstate(over="ignore", invalid="ignore"),  # refused below, for sparse ones too
    ):
        if tail is None or entry.keeps_scores:
            results = entry.function(node, *inputs)
        else:
            found = None if entry.of_scores is None else entry.of_scores(node, *inputs)
            # what the function makes of scores says itself what is left out of them
            tail = None
            results = entry.function(node, *_applied(node, inputs)) if found is None else found
    outputs = results if isinstance(results, tuple) else (results,)
    if not all(x.finite for x in outputs if isinstance(x, Symbol)):
        raise ModelError(f"{node}: its weights overflow, combined with those of the nodes before")
    return tuple(replace(x, tail=x.tail or tail) if isinstance(x, Symbol) else x for x in outputs)


def _applied(node: NodeContext, inputs: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Return the inputs with the Sigmoid left out of them put back, as a node of the network."""
    applied: list[Tensor | None] = []
    for x in inputs:
        if not isinstance(x, Symbol) or x.tail is None:
            applied.append(x)
        elif x.tail.axes is not None:
            applied.append(node.builder.normalised(x, x.tail))
        elif x.tail.function is None:
            raise UnsupportedOperatorError(
                f"{x.tail.label} is not supported before {node}: a {x.tail.operator} can only end "
                "the network, where it is left out because it does not change the predicted class"
            )
        else:
            applied.append(node.builder.smooth(x, x.tail.function))
    return applied


def _check_form(entry: Operator, node: NodeContext, inputs: Sequence[Tensor | None]) -> None:
    unknown = sorted(set(node.attributes) - entry.attributes)
    if unknown:
        raise node.unsupported(f"attribute {unknown[0]!r} of opset {node.opset} is not understood")
    given = [x is not None for x in inputs]
    needed = max(entry.required, len(given)) if entry.accepted == inf else entry.required
    if len(given) > entry.accepted or sum(given[:needed]) < needed:
        most = f"to {entry.accepted}" if entry.accepted < inf else "or more"
        raise node.malformed(f"it has the inputs {node.inputs}, expected {entry.required} {most}")
    for name, x in zip(node.inputs, inputs, strict=True):
        if isinstance(x, np.ndarray) and not np.isfinite(x).all():
            raise ModelError(f"{name!r}, an input of {node}, holds NaN or infinite values")
        reads = node.operator in READERS or (isinstance(x, Symbol) and x.tail is not None)
        if isinstance(x, Symbol) and not reads and masked(x).any():
            raise node.unsupported(
                f"{name!r}, an input of it, holds scores of −∞, which a Softmax alone reads"
            )
