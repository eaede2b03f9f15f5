"""A network in an ONNX file as a list of neurons, in exact arithmetic.

Tensors are dictionaries of indices, in order, with numbers or forms. A form is a sum of numbers
times variables: variable 0 is the constant 1; then come the inputs, then the neurons. The operators
of onnx_operators.py and onnx_windows.py are run on the forms of the inputs, as far as one tensor
needs them. A ReLU makes a neuron a = max(z, 0) of a form z. Numbers are integers over one unit, and
never rounded. A file is refused if it needs a finer unit, or has an operator or an attribute that
is not known. A last Softmax, LogSoftmax or Sigmoid is left out, for it keeps the order of scores;
so do 1 - Sigmoid, which is the Sigmoid of the negative score, and both side by side.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import gcd, prod
from typing import Any

import onnx
from onnx.helper import get_attribute_value

from onnx_operators import run
from onnx_shapes import RESHAPES, require, sizes, tensor

Form = dict[int, int]  # variables with their factors
SQUASHING = ("Softmax", "LogSoftmax", "Sigmoid")


class UnreadableError(Exception):
    """The network is none that this checker reads."""


class NoOutputError(ValueError):
    """The file has no such output."""


class UnitError(ValueError):
    """A number needs a unit that is finer by the factor ``times``."""

    def __init__(self, times: int) -> None:
        super().__init__(f"numbers need a finer unit, by {times}")
        self.times = times


class Network:
    """The neurons of a file: ``rows[v]`` is the form z of neuron v, over the unit ``one``.

    ``output`` names the tensor that is computed, ``beside`` holds files with weights.
    """

    def __init__(
        self, model: bytes, one: int, output: str, beside: Mapping[str, bytes] | None = None
    ) -> None:
        self.one, self.depth, self.rows = one, dict[int, int](), dict[int, Form]()
        try:
            self.read(onnx.load_model_from_string(model), output, beside or {})
        except NoOutputError:
            raise
        except Exception as error:
            kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
            raise UnreadableError(f"{kind}{error}") from error
        depths = sorted({*self.depth.values()})
        self.layers = [[v for v in self.rows if self.depth[v] == depth] for depth in depths]

    def read(self, model: Any, output: str, beside: Mapping[str, bytes]) -> None:
        """Run the operators that an output needs on the forms of the inputs."""
        graph, wanted, nodes = model.graph, {output}, list[Any]()
        ends = {end.name for end in graph.output}
        ends |= {n.input[0] for n in graph.node if n.op_type in ("ArgMax", "ZipMap")}  # scores
        require(not model.functions, "functions of its own")
        if output not in ends:  # the claim is at fault, not the file
            raise NoOutputError(f"the file has no output {output!r}")
        for node in reversed(graph.node):
            if wanted & {*node.output}:
                nodes, wanted = [node, *nodes], wanted | {*node.input}
        known = {stored.name: stored for stored in graph.initializer}
        known |= {n.output[0]: n.attribute[0].t for n in nodes if n.op_type == "Constant"}
        (source,) = (given for given in graph.input if given.name not in known)
        shape = [dim.dim_value or 1 for dim in source.type.tensor_type.shape.dim]
        self.size, self.names = prod(shape), dict[str, str]()  # of tensors behind a Softmax
        entries = [{1 + v: self.one} for v in range(self.size)]
        found: Any = {source.name: tensor(shape, entries), "": None}
        found |= {name: self.constant(known[name], beside) for name in wanted & {*known}}
        for node in (node for node in nodes if node.op_type != "Constant"):
            given = {a.name: get_attribute_value(a) for a in node.attribute}
            results = self.squashed(node, given, found) or run(
                self, node.op_type, given, len(node.output), *(found[name] for name in node.input)
            )
            domain = node.domain in {"", "ai.onnx.ml" if node.op_type == "Scaler" else ""}
            require(domain and not given, f"{node.op_type} has {given or node.domain}")
            found |= dict(zip(node.output, results, strict=False))
        self.forms = [self.total((self.one, z)) for z in found[output].values()]
        self.ordered = output in self.names

    def constant(self, stored: Any, beside: Mapping[str, bytes]) -> Any:
        """Return a stored tensor of numbers, or a list of integers, which is a shape."""
        if stored.data_location == 1:  # in a file beside the network
            where = {entry.key: entry.value for entry in stored.external_data}
            data = beside[where["location"]][int(where.get("offset", 0)) :]
            stored.raw_data = data[: int(where["length"])] if "length" in where else data
            stored.data_location = 0
        numbers, floats = onnx.numpy_helper.to_array(stored), stored.data_type in (1, 11)
        require(floats or len(stored.dims) < 2, "a table of integers")
        if not floats:
            return numbers.tolist()
        return tensor(stored.dims, map(self.number, numbers.ravel().tolist()))

    def squashed(self, node: Any, given: Any, found: Any) -> Any:
        """Return scores in place of a Softmax or Sigmoid, and of what makes probabilities of it."""
        kind, x = node.op_type, found[node.input[0]]
        before = {self.names[name] for name in node.input if name in self.names}
        if kind in SQUASHING and not before:
            axis = given.pop("axis", -1)
            require(kind == "Sigmoid" or 1 < len(x) == sizes(x)[axis], f"{kind} of this kind")
            self.names[node.output[0]] = kind
            return [x]
        if not before:
            return None
        behind = "Sigmoid" in before and kind in ("Sub", "Concat")
        require(behind or kind in (*RESHAPES, "Identity"), f"a {min(before)} before a {kind}")
        self.names |= dict.fromkeys(node.output, before.pop())
        scores = [name for name in node.input if isinstance(found[name], dict)]
        if kind == "Sub":  # 1 - Sigmoid(z) is Sigmoid(-z)
            require(all(z == self.one for z in x.values()), "a difference from a Sigmoid")
            require(scores.pop() in self.names, "a Sigmoid less something")
            z = found[node.input[1]]
            require(len(x) == 1, "shapes")
            return [{i: self.total((-self.one, entry)) for i, entry in z.items()}]
        require({*scores} <= {*self.names}, "scores beside a Sigmoid")
        return None

    def values(self, point: list[int], forms: list[Form]) -> list[Fraction]:
        """Return the exact values of forms at an input."""
        values, scale = dict(enumerate(point)), self.one
        for layer in self.layers:
            sums = {v: sum(k * values[w] for w, k in self.rows[v].items()) for v in layer}
            values = {v: k * self.one for v, k in values.items()}
            values |= {v: max(z, 0) for v, z in sums.items()}
            scale *= self.one
        return [Fraction(sum(k * values[v] for v, k in z.items()), scale * self.one) for z in forms]

    def number(self, given: Any) -> int:
        """Return a number, or a text such as "3/8", exactly."""
        above, below = (Fraction(given) if isinstance(given, str) else given).as_integer_ratio()
        if self.one % below:
            raise UnitError(below // gcd(self.one, below))
        return above * (self.one // below)

    def total(self, *pairs: Any) -> Form:
        """Return the sum of products of a number and a number or form, exactly."""
        result: Form = {}
        for k, form in (pair if isinstance(pair[1], dict) else pair[::-1] for pair in pairs):
            for v, factor in form.items() if isinstance(form, dict) else ((0, form),):
                result[v] = result.get(v, 0) + factor * k
        if any(k % self.one for k in result.values()):
            raise UnitError(self.one // gcd(self.one, *result.values()))
        return {v: k // self.one for v, k in result.items() if k}

    def neuron(self, z: Any) -> Form:
        """Return the form of a new neuron max(z, 0)."""
        v = 1 + self.size + len(self.rows)
        self.rows[v] = z if isinstance(z, dict) else {0: z}
        self.depth[v] = 1 + max((self.depth.get(w, 0) for w in self.rows[v]), default=0)
        return {v: self.one}

    def greatest(self, *parts: Any) -> Any:
        """Return the form of a maximum; numbers come first."""
        p, *others = sorted(parts, key=lambda part: isinstance(part, dict))
        for q in others:
            more = self.neuron(self.total((self.one, q), (-self.one, p)))
            p = self.total((self.one, p), (self.one, more))
        return p

    def mean(self, *parts: Any) -> Form:
        """Return the form of a mean."""
        return self.total(*((self.number(Fraction(1, len(parts))), part) for part in parts))
