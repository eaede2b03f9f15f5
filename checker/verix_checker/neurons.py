"""A network in an ONNX file as a list of neurons, in exact arithmetic.

Tensors are dictionaries of indices, in order, with numbers or forms. A form is a sum of numbers
times variables: variable 0 is the constant 1; then come the inputs, then the neurons. The operators
of operators.py are run on the forms of the inputs, as far as one tensor needs them. A ReLU makes a
neuron a = max(z, 0) of a form z. Numbers are integers over one unit, and never rounded. A file is
refused if it needs a finer unit, if it names anything twice, or if signatures.py does not list an
operator as it is used. A last Softmax, LogSoftmax or Sigmoid is left out, for it keeps the order of
scores; so does 1 - Sigmoid, the Sigmoid of the negative score, and so do both side by side.
"""

from collections.abc import Mapping
from itertools import chain
from math import prod
from typing import Any

import onnx

from verix_checker.forms import Forms
from verix_checker.operators import run
from verix_checker.shapes import MOST, require, sizes, tensor
from verix_checker.signatures import node_of, versions_of

FLOATS, INTEGERS = (1, 11), (6, 7)  # types: float32 and float64, int32 and int64
SQUASHING = ("Softmax", "LogSoftmax", "Sigmoid")
KEEPING = ("Flatten", "Reshape", "Squeeze", "Unsqueeze", "Identity")  # the order of entries


class UnreadableError(Exception):
    """The network is none that this checker reads."""


class NoOutputError(ValueError):
    """The file has no such output."""


class Network(Forms):
    """The neurons of a file: ``rows[v]`` is the form z of neuron v, over the unit ``one``.

    ``output`` names the tensor that is computed, ``beside`` holds files with weights.
    """

    def __init__(
        self, model: bytes, one: int, output: str, beside: Mapping[str, bytes] | None = None
    ) -> None:
        super().__init__(one)
        try:
            self.read(onnx.load_model_from_string(model), output, beside or {})
        except NoOutputError:
            raise
        except Exception as error:
            kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
            raise UnreadableError(f"{kind}{error}") from error
        self.layer()

    def read(self, model: Any, output: str, beside: Mapping[str, bytes]) -> None:
        """Run the operators that an output needs on the forms of the inputs."""
        graph, wanted, nodes = model.graph, {output}, list[Any]()
        ends = {end.name for end in graph.output}
        ends |= {n.input[0] for n in graph.node if n.op_type in ("ArgMax", "ZipMap")}  # scores
        if output not in ends:  # the claim is at fault, not the file
            raise NoOutputError(f"the file has no output {output!r}")
        stored = {tensor.name: tensor for tensor in graph.initializer}
        named = [*stored, *(name for n in graph.node for name in n.output if name)]
        named += [given.name for given in graph.input if given.name not in stored]
        once = len({*named}) == len(named) and len(stored) == len(graph.initializer)
        require(once, "a name that is given twice")
        require(not model.functions and not graph.sparse_initializer, "functions of its own")
        for node in reversed(graph.node):
            if wanted & {*filter(None, node.output)}:
                nodes, wanted = [node, *nodes], wanted | {*node.input}
        versions = versions_of(model)
        read = [(node, node_of(node, versions)) for node in nodes]
        stored |= {n.output[0]: own.at["value"] for n, own in read if own.kind == "Constant"}
        apart = chain(*(one.external_data for one in stored.values() if one.data_location))
        self.places = {entry.value for entry in apart if entry.key == "location"}
        self.nodes = [node for node, own in read if own.kind != "Constant"]
        self.stored = {name: self.loaded(stored[name], beside) for name in wanted & {*stored}}
        (self.source,) = (given for given in graph.input if given.name not in stored)
        self.versions, kind = model.opset_import, self.source.type.tensor_type
        dims = [(dim.dim_value, dim.HasField("dim_value")) for dim in kind.shape.dim]
        fits = kind.HasField("shape") and all(n > 0 or not given for n, given in dims)
        require(kind.elem_type in FLOATS and fits, "an input that is no tensor of real numbers")
        self.shape = [n or 1 for n, _ in dims]
        self.real = "f" if kind.elem_type == 1 else "d"  # as ``struct`` names types
        self.size, self.names = prod(self.shape), dict[str, str]()  # of tensors behind a Softmax
        require(self.size <= MOST, f"an input of shape {self.shape}")
        self.compared = dict[str, list[Any]]()  # tensors that are nothing but forms
        entries = [{1 + v: self.one} for v in range(self.size)]
        found: Any = {name: self.constant(one) for name, one in self.stored.items()}
        found |= {self.source.name: tensor(self.shape, entries), "": None}
        for node, own in read:
            if own.kind != "Constant":
                given = [found[name] for name in node.input]
                results = self.squashed(node, own, found) or run(self, own, *given)
                pairs = zip(node.output, results, strict=False)
                found |= {name: result for name, result in pairs if name}
        self.vector = sum(n > 1 for n in sizes(found[output])) < 2
        self.forms = [self.total((self.one, z)) for z in found[output].values()]
        self.output, self.ordered = output, output in self.names
        if not self.ordered:
            self.compared[output] = self.forms

    @property
    def parts(self) -> str:
        """The parts of the network, in words."""
        return f"{len(self.rows)} neurons, output {self.output!a}"

    @staticmethod
    def loaded(stored: Any, beside: Mapping[str, bytes]) -> Any:
        """Return a stored tensor with its numbers, which may be in a file beside the network."""
        if stored.data_location == 1:
            where = {entry.key: entry.value for entry in stored.external_data}
            require(len(where) == len(stored.external_data), "weights in two places")
            data, start = beside[where["location"]], int(where.get("offset", 0))
            end = start + int(where["length"]) if "length" in where else len(data)
            require(0 <= start <= end <= len(data), "weights beyond the end of their file")
            stored.raw_data, stored.data_location = data[start:end], 0
        return stored

    def constant(self, stored: Any) -> Any:
        """Return a stored tensor of numbers, or a list of integers, which is a shape."""
        numbers = onnx.numpy_helper.to_array(stored)
        if stored.data_type in FLOATS:
            return tensor(stored.dims, map(self.number, numbers.ravel().tolist()))
        require(stored.data_type in INTEGERS and len(stored.dims) < 2, "a table of integers")
        return numbers.tolist()

    def squashed(self, node: Any, own: Any, found: Any) -> Any:
        """Return scores in place of a Softmax or Sigmoid, and of what makes probabilities of it."""
        kind, x = own.kind, found[node.input[0]]
        before = {self.names[name] for name in node.input if name in self.names}
        if kind in SQUASHING and not before:
            if kind != "Sigmoid":
                shape, axis = sizes(x), own.at["axis"]
                require(-len(shape) <= axis < len(shape), f"{kind} of this kind")
                over = shape[axis] if own.version >= 13 else prod(shape[axis:])
                require(1 < len(x) == over, f"{kind} of this kind")
            self.names[node.output[0]] = kind
            self.compared[node.input[0]] = [self.total((self.one, z)) for z in x.values()]
            return [x]
        if not before:
            return None
        both = before == {"Sigmoid"} and kind in ("Sub", "Concat")
        require(both or kind in KEEPING, f"a {min(before)} before a {kind}")
        self.names |= dict.fromkeys(node.output, before.pop())
        if kind == "Sub":  # 1 - Sigmoid(z) is Sigmoid(-z)
            one, z = (found[name] for name in node.input)
            ones = isinstance(one, dict) and all(k == self.one for k in one.values())
            require(ones and node.input[0] not in self.names, "a difference from a Sigmoid")
            require(len(one) == 1 and len(sizes(one)) <= len(sizes(z)), "shapes")
            return [{i: self.total((-self.one, entry)) for i, entry in z.items()}]
        beside = kind == "Concat" and not {*node.input} <= {*self.names}
        require(not beside, "scores beside a Sigmoid")
        return None
