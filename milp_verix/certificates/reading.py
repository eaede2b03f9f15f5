"""Claims as the checker reads them, rounded to float64: neurons, region, bounds, margins.

The checker lists neurons ``a = max(z, 0)``, with ``z`` a form in the inputs and in earlier neurons.
Neurons of one depth become an affine node and a ReLU, the margins the last node. Coefficients are
rounded to float64, so a search over this network needs slack for that in what it proves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import onnx
import scipy.sparse as sp
from onnx.numpy_helper import to_array

from milp_verix.certificates.certificate import bits_of, numbers_of
from verix_checker.claim import Claim
from verix_checker.forms import Form, UnitError
from verix_checker.guard import compare, mixtures
from verix_checker.neurons import Network as ExactNetwork, NoOutputError, UnreadableError
from verix_encodings import Affine, Bounds, Interval, Network, Node, NormBall, Relu, crown_bounds
from verix_encodings.arrays import FloatArray, IntArray

_MOST_BITS = 1000
_USUAL_BITS = 64
"""The digits of most radii and inputs: claims with no more share the network that was read."""
_ACTIVATIONS, _MAPS = ("Relu", "MaxPool"), ("MatMul", "Gemm", "Conv")
_NORMS = {"l1": 1, "l2": 2}
# ends of z that are this near to zero, in units of the largest value, are taken as zero
_TINY = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The neurons of a file: ``network`` returns the output of the claim.

    ``variables`` holds, for each value but the last, the checker's number of each of its entries.
    The checker's unit of numbers is ``2**-bits / odd``, in which ``exact`` has the neurons.
    """

    exact: ExactNetwork
    network: Network
    variables: tuple[IntArray, ...]
    bits: int
    odd: int = 1


@lru_cache(maxsize=1)
def read(model: bytes, output: str, beside: tuple[tuple[str, bytes], ...] = ()) -> Reading:
    """Return the neurons that the checker reads from a file; the last network is kept.

    ``beside`` are names and contents of files with weights. Raises ``UnreadableError`` where the
    checker does not read the network.
    """
    graph = onnx.load_model_from_string(model).graph
    weights = [to_array(one) for one in graph.initializer if one.data_location == 0]
    fewest = max([1, *map(bits_of, weights)])
    bits, odd = max(fewest * _products(graph), _USUAL_BITS), 1
    while max(bits, odd.bit_length()) <= max(fewest, _MOST_BITS):
        try:
            exact = ExactNetwork(model, odd << bits, output, dict(beside))
            # the checker compares more inputs; one that no two entries share tells as much
            *_, point = mixtures(exact, [0] * exact.size, [exact.one] * exact.size)
            compare(exact, [point])
            return Reading(exact, *rounded_network(exact, exact.forms), bits, odd)
        except NoOutputError as error:
            raise UnreadableError(str(error)) from error
        except UnreadableError as error:
            if not isinstance(error.__cause__, UnitError):
                text = f"the checker does not read the network: {error}"
                raise UnreadableError(text) from error
            times = error.__cause__.times
        even = times & -times
        bits += fewest * -(-(even.bit_length() - 1) // fewest)
        odd *= times // even
    raise UnreadableError(f"products of weights need more than {_MOST_BITS} bits")


def _products(graph: onnx.GraphProto) -> int:
    """Return how many weights are multiplied on the way from one activation to the next."""
    found: dict[str, int] = {}
    for node in graph.node:
        most = max([0, *(found.get(name, 0) for name in node.input)])
        after = most + (node.op_type in _MAPS)
        found[node.output[0]] = 0 if node.op_type in _ACTIVATIONS else after
    return max([1, *found.values()])


class ReadClaim(Claim):
    """A claim about a network that was read before: reading it takes most of the time."""

    def __init__(self, reading: Reading, *given: Any) -> None:
        self._known = reading.exact
        super().__init__(*given)

    def read(self, model: bytes, claim: Any, beside: Any) -> Any:
        """Return the network, read again where the unit of the claim is finer."""
        same = self._known.one == self.one
        return self._known if same else super().read(model, claim, beside)


def rounded_network(
    exact: ExactNetwork, outputs: Sequence[Form]
) -> tuple[Network, tuple[IntArray, ...]]:
    """Return neurons and ``outputs``, rounded to float64, with the checker's numbers of values."""
    count = 1 + exact.size + len(exact.rows)
    # the value of each variable, and its place there
    home, place = np.zeros(count, dtype=np.intp), np.zeros(count, dtype=np.intp)
    place[1 : exact.size + 1] = np.arange(exact.size)
    variables = [np.arange(1, exact.size + 1)]
    sizes, nodes = [exact.size], list[Node]()
    for layer in exact.layers:
        forms = [exact.rows[v] for v in layer]
        nodes += [_affine(forms, home, place, sizes, exact.one), Relu(len(nodes) + 1)]
        home[layer], place[layer] = len(nodes), np.arange(len(layer))
        variables += [np.asarray(layer)] * 2
        sizes += [len(layer)] * 2
    nodes += [_affine(outputs, home, place, sizes, exact.one)]
    return Network((exact.size,), tuple(nodes)), tuple(variables)


def _affine(
    forms: Sequence[Form], home: IntArray, place: IntArray, sizes: Sequence[int], one: int
) -> Affine:
    """Return the affine map with these rows; values that none reads are left out."""
    bias = np.array([form.get(0, 0) / one for form in forms])
    rows = np.repeat(np.arange(len(forms)), [len(form) for form in forms])
    factors = np.array([factor / one for form in forms for factor in form.values()])
    read_ = np.array([v for form in forms for v in form], dtype=np.intp)
    terms = []
    for value in np.unique(home[read_[read_ > 0]]).tolist():
        here = (read_ > 0) & (home[read_] == value)
        entries = factors[here], (rows[here], place[read_[here]])
        terms.append((value, sp.csr_array(entries, shape=(len(forms), sizes[value]))))
    return Affine(tuple(terms), bias)


@dataclass(frozen=True, slots=True, eq=False)
class RoundedClaim:
    """A network whose outputs are margins of a claim, its region, and bounds on all values.

    ``variables`` holds, for each value but the last, the checker's number of each of its entries.
    """

    network: Network
    region: Interval | NormBall
    bounds: Bounds
    variables: tuple[IntArray, ...]

    @classmethod
    def of(cls, reading: Reading, claim: Mapping[str, Any]) -> "RoundedClaim":
        """Return the claim of a certificate about a ball in one norm."""
        x, (epsilon,) = numbers_of(claim["input"]), numbers_of([claim["epsilon"]])
        free = [i for feature in claim["irrelevant"] for i in claim["features"][feature]]
        low, high = x.copy(), x.copy()
        least, most = (
            _end(end, far) for end, far in zip(claim["domain"], (-np.inf, np.inf), strict=True)
        )
        low[free] = np.maximum(x - epsilon, least)[free]
        high[free] = np.minimum(x + epsilon, most)[free]
        box = Interval(low, high)
        norm = _NORMS.get(claim["norm"])
        region = box if norm is None else NormBall(box, x, epsilon, norm)
        network = margins_of(reading.network, claim, x)
        bounds = tuple(_without_tiny(interval) for interval in crown_bounds(network, region))
        return cls(network, region, bounds, reading.variables)


def _end(end: Any, unlimited: float) -> FloatArray:
    """Return an end of the domain, of shape (d,) or (1,)."""
    ends = end if isinstance(end, list) else [end]
    return np.array([unlimited if one is None else numbers_of([one])[0] for one in ends])


def _without_tiny(interval: Interval) -> Interval:
    """Return an interval whose ends are not next to zero: the checker may find zero itself."""
    tiny = _TINY * float(np.max(interval.magnitude, initial=0.0))
    low = np.where(np.abs(interval.lower) <= tiny, 0.0, interval.lower)
    return Interval(low, np.where(np.abs(interval.upper) <= tiny, 0.0, interval.upper))


def margins_of(network: Network, claim: Mapping[str, Any], x: FloatArray) -> Network:
    """Return the network with the margins of a claim as its outputs, in the checker's order."""
    count, kept = network.sizes[-1], claim.get("class")
    one = np.eye(count)
    if kept is None:
        question, (delta,) = claim["outputs"], numbers_of([claim["delta"]])
        signed = np.repeat(one[question], 2, axis=0) * np.tile([[1.0], [-1.0]], (len(question), 1))
        shift = -signed @ network.evaluate(x) - delta
    elif count == 1:
        signed, shift = np.array([[-1.0 if kept else 1.0]]), np.zeros(1)
    else:
        rivals = sorted(claim.get("against", {*range(count)} - {kept}))
        signed, shift = one[rivals] - one[kept], np.zeros(len(rivals))
    last = network.nodes[-1]
    assert isinstance(last, Affine)
    terms = tuple((value, signed @ matrix) for value, matrix in last.terms)
    margins = Affine(terms, signed @ last.bias + shift)
    return Network(network.input_shape, (*network.nodes[:-1], margins))
