"""A network in an ONNX file as a list of neurons, in exact arithmetic.

Tensors are dictionaries of indices, in order, with numbers or forms. A form is a sum of numbers
times variables: variable 0 is the constant 1; then come the inputs, then the neurons. The operators
below are run on the forms of the inputs. A ReLU makes a neuron a = max(z, 0) of a form z, and
max(p, q) = p + max(q - p, 0). Numbers are integers over one unit, and never rounded. A file is
refused if it needs a finer unit, or has an operator or an attribute that is not known.
"""

from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import onnx

Form = dict[int, int]  # variables with their factors
VECTORS: Any = {  # operators on shapes, which are lists, and on integers
    "Cast": lambda x: x,
    "Concat": lambda *x: [n for part in x for n in part],
    "Gather": lambda x, at: [x[i] for i in at] if isinstance(at, list) else x[at],
    "Slice": lambda x, start, end, axes=0, by=(1,): x[start[0] : end[0] : by[0]],
    "Unsqueeze": lambda x, axes=0: [int(x)],
}
ON_ORDER = ("Flatten", "Identity", "Reshape", "Shape")  # they change no entry, nor the order


class UnreadableError(Exception):
    """The network is none that this checker reads."""


def require(condition: object, failed: str) -> None:
    """Refuse unless the condition holds."""
    if not condition:
        raise ValueError(failed)


def sizes(x: Any) -> list[int]:
    """Return the shape of a tensor, which is a dictionary of its indices in order."""
    return [n + 1 for n in next(reversed(x))]


def tensor(shape: Any, entries: Any) -> Any:
    """Return the tensor with these entries in order."""
    return dict(zip(product(*map(range, shape)), entries, strict=True))


class Network:
    """The neurons of a file: ``rows[v]`` is the form z of neuron v, over the unit ``one``."""

    def __init__(self, model: bytes, one: int) -> None:
        self.one, self.squashed, self.depth = one, False, dict[int, int]()
        self.rows: dict[int, Form] = {}
        try:
            self.read(onnx.load_model_from_string(model))
        except Exception as error:
            raise UnreadableError(f"{type(error).__name__}: {error}") from error
        depths = sorted({*self.depth.values()})
        self.layers = [[v for v in self.rows if self.depth[v] == depth] for depth in depths]

    def read(self, model: Any) -> None:
        """Run all operators on the forms of the inputs."""
        graph, one = model.graph, self.one
        known = {stored.name: stored for stored in graph.initializer}
        known |= {n.output[0]: n.attribute[0].t for n in graph.node if n.op_type == "Constant"}
        (source,) = (given for given in graph.input if given.name not in known)
        shape = [dim.dim_value or 1 for dim in source.type.tensor_type.shape.dim]
        self.size, self.named = prod(shape), [end.name for end in graph.output]
        self.found: Any = {source.name: tensor(shape, [{1 + v: one} for v in range(self.size)])}
        for name, stored in known.items():
            require(stored.data_location == 0 and not model.functions, "a part is not in the graph")
            numbers, floats = onnx.numpy_helper.to_array(stored), stored.data_type in (1, 11)
            require(floats or len(stored.dims) < 2, "a table of integers")  # others are shapes
            exact = map(self.number, numbers.ravel().tolist() if floats else ())
            self.found[name] = tensor(stored.dims, exact) if floats else numbers.tolist()
        nodes = [node for node in graph.node if node.op_type != "Constant"]
        for place, node in enumerate(nodes):
            kind, later = node.op_type, {after.op_type for after in nodes[place + 1 :]}
            given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            if kind in ("Softmax", "LogSoftmax", "Sigmoid") and later <= {*VECTORS, *ON_ORDER}:
                kind, self.squashed = "Order", True  # it keeps the order of the outputs
            self.found[node.output[0]] = self.run(kind, given, *map(self.found.get, node.input))
            require(not given and not node.domain, f"{kind} has {given or node.domain}")

    def outputs(self, name: str) -> list[Form]:
        """Return the forms of an output of the file."""
        require(name in self.named, f"the file has no output {name!r}")
        return [self.total((self.one, z)) for z in self.found[name].values()]

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
        require(self.one % below == 0, f"{given} needs a finer unit")
        return above * (self.one // below)

    def total(self, *pairs: Any) -> Form:
        """Return the sum of products of a number and a number or form, exactly."""
        result: Form = {}
        for k, form in (pair if isinstance(pair[1], dict) else pair[::-1] for pair in pairs):
            for v, factor in form.items() if isinstance(form, dict) else ((0, form),):
                result[v] = result.get(v, 0) + factor * k
        require(not any(k % self.one for k in result.values()), "weights need a finer unit")
        return {v: k // self.one for v, k in result.items() if k}

    def neuron(self, z: Any) -> Form:
        """Return the form of a new neuron max(z, 0)."""
        v = 1 + self.size + len(self.rows)
        self.rows[v] = z if isinstance(z, dict) else {0: z}
        self.depth[v] = 1 + max((self.depth.get(w, 0) for w in self.rows[v]), default=0)
        return {v: self.one}

    def greatest(self, p: Any, *others: Any) -> Any:
        """Return the form of a maximum."""
        for q in others:
            more = self.neuron(self.total((self.one, q), (-self.one, p)))
            p = self.total((self.one, p), (self.one, more))
        return p

    def run(self, kind: str, given: Any, x: Any, *more: Any) -> Any:
        """Return the result of an operator; attributes that it understands leave ``given``."""
        if isinstance(x, list | int):
            given.clear()  # there is one axis
            return VECTORS[kind](x, *more)
        shape, z = sizes(x), x
        if kind == "Relu":
            z = {i: self.neuron(entry) for i, entry in x.items()}
        elif kind in ("Add", "Sub"):
            signed = (x, self.one), (more[0], self.one if kind == "Add" else -self.one)
            (y, b), (x, a) = sorted(signed, key=lambda t: (len(sizes(t[0])), len(t[0])))
            own, n = sizes(y), len(sizes(x)) - len(sizes(y))
            require(all(k in (1, m) for k, m in zip(own, sizes(x)[n:], strict=True)), "shapes")
            at = {i: tuple(j % k for j, k in zip(i[n:], own, strict=True)) for i in x}
            z = {i: self.total((a, x[i]), (b, y[at[i]])) for i in x}
        elif kind in ("MatMul", "Gemm"):
            y = {i[::-1]: w for i, w in more[0].items()} if given.pop("transB", 0) else more[0]
            require(given.pop("alpha", 1) == given.pop("beta", 1) == 1, "Gemm has a factor")
            n, m = (1 + max(i[axis] for i in y) for axis in (0, 1))
            require(n == shape[-1] and len(y) == n * m, "shapes do not fit")
            spots = product(*map(range, [*shape[:-1], m]))
            z = {i: self.total(*((y[k, i[-1]], x[(*i[:-1], k)]) for k in range(n))) for i in spots}
            z = self.run("Add", given, z, more[1]) if more[1:] else z
        elif kind in ("Conv", "MaxPool"):
            z = self.windows(kind, given, x, *more)
        elif kind == "Transpose":
            order = given.pop("perm", [*range(len(shape))][::-1])
            moved = {tuple(i[axis] for axis in order): entry for i, entry in x.items()}
            z = {i: moved[i] for i in sorted(moved)}
        elif kind in ("Flatten", "Reshape"):
            axis = given.pop("axis", 1)
            to = more[0] if more else [prod(shape[:axis]), prod(shape[axis:])]
            require(not given.pop("allowzero", 0) or 0 not in to, "a size of zero")
            to = [n or shape[i] for i, n in enumerate(to)]
            z = tensor([n if n > 0 else -len(x) // prod(to) for n in to], x.values())
        elif kind == "Order":
            require(shape[given.pop("axis", -1)] == len(x), "Softmax has another axis")
        else:
            plain = kind in ("Identity", "Shape") or (kind == "Cast" and given.pop("to") in (1, 11))
            require(plain, f"the operator {kind} is not known")
        return shape if kind == "Shape" else z

    def windows(self, kind: str, given: Any, x: Any, *more: Any) -> Any:
        """Return a convolution of ``x``, or the maxima of its windows."""
        batch, channels, *size = sizes(x)
        kernel = given.pop("kernel_shape", None) or sizes(more[0])[2:]
        by, gap = (given.pop(name, [1] * len(size)) for name in ("strides", "dilations"))
        pads, groups = given.pop("pads", [0] * 2 * len(size)), given.pop("group", 1)
        padded = given.pop("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID")
        other = padded or given.pop("ceil_mode", 0) or given.pop("storage_order", 0)
        require(batch == 1 and not other, f"{kind} of this kind")
        axes = list(zip(size, pads[: len(size)], pads[len(size) :], gap, kernel, by, strict=True))
        shape = [(n + p + q - g * (k - 1) - 1) // b + 1 for n, p, q, g, k, b in axes]

        def place(at: Any, offset: Any) -> Any:  # entries in the padding are not in ``x``
            return (i * a[5] + j * a[3] - a[1] for i, j, a in zip(at, offset, axes, strict=True))

        result: Any = {}
        if kind == "MaxPool":
            for c, *at in product(range(channels), *map(range, shape)):
                spots = [(0, c, *place(at, k)) for k in product(*map(range, kernel))]
                result[0, c, *at] = self.greatest(*(x[i] for i in spots if i in x))
            return result
        filters, depth, *window = sizes(more[0])
        require(depth * groups == channels and window == kernel, "shapes")
        for m, *at in product(range(filters), *map(range, shape)):
            first = m * groups // filters * depth
            weights = product([m], range(depth), *map(range, kernel))
            reads = ((w, (0, first + w[1], *place(at, w[2:]))) for w in weights)
            terms = [(more[0][w], x[i]) for w, i in reads if i in x]
            result[0, m, *at] = self.total(*terms, *((self.one, bias[m,]) for bias in more[1:]))
        return result
