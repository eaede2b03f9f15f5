"""The neurons of a claim, as the checker reads them, as a network for bounds in float64.

The checker lists neurons ``a = max(z, 0)``, with ``z`` a form in the inputs and in earlier neurons.
Neurons of one depth become an affine node and a ReLU, the margins the last node. The coefficients
are rounded to float64: what a search over this network finds is proven by the checker alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from verix_checker.claim import Claim
from verix_encodings import Affine, Bounds, Interval, Network, Node, NormBall, Relu
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.one_hot_box import one_hot_box
from verix_encodings.propagation.interval_bounds import forward_interval


@dataclass(frozen=True, slots=True, eq=False)
class Neurons:
    """A network whose outputs are margins of a claim, its region, and bounds on all values.

    ``variables`` holds, for each value, the checker's number of each of its entries.
    """

    network: Network
    region: Interval | NormBall
    bounds: Bounds
    variables: tuple[IntArray, ...]

    @classmethod
    def of(
        cls, claim: Claim, margins: Sequence[int], ends: tuple[list[Any], list[Any]] | None = None
    ) -> "Neurons":
        """Return the network of the ``margins`` with these numbers.

        ``ends`` are those of all variables, the claim's own by default.
        """
        size = claim.net.size
        variables = [np.arange(1, size + 1)]
        nodes: list[Node] = []
        low, high = (_scaled(end, claim.one) for end in ends or (claim.low, claim.high))
        box = Interval(low[1 : size + 1], high[1 : size + 1])
        bounds = [box]
        for layer in claim.net.layers:
            nodes += [_affine([claim.net.rows[v] for v in layer], variables, claim.one)]
            nodes += [Relu(len(nodes))]
            z = Interval(low[layer], high[layer])
            variables += [np.asarray(layer)] * 2
            bounds += [z, Interval(np.maximum(z.lower, 0.0), np.maximum(z.upper, 0.0))]
        nodes += [_affine([claim.margins[margin] for margin in margins], variables, claim.one)]
        bounds += [forward_interval(nodes[-1], box, bounds, len(nodes))]
        blocks = [np.array(block) - 1 for block in claim.ball.blocks]
        region: Interval | NormBall = one_hot_box(box, blocks)
        if claim.ball.norm:
            centre = np.clip(_scaled(claim.ball.x, claim.one)[1:], box.lower, box.upper)
            region = NormBall(box, centre, claim.ball.epsilon / claim.one, claim.ball.norm)
        return cls(Network((size,), tuple(nodes)), region, tuple(bounds), tuple(variables))


def _scaled(numbers: Sequence[int], one: int) -> FloatArray:
    return np.array([number / one for number in numbers], dtype=np.float64)


def _affine(forms: Sequence[dict[int, int]], variables: Sequence[IntArray], one: int) -> Affine:
    """Return the affine map with these rows; values that none reads are left out."""
    home = {
        int(v): (value, k) for value, known in enumerate(variables) for k, v in enumerate(known)
    }
    bias = np.zeros(len(forms))
    entries: dict[int, list[tuple[float, int, int]]] = {}
    for row, form in enumerate(forms):
        for variable, factor in form.items():
            if variable == 0:
                bias[row] = factor / one
                continue
            value, column = home[variable]
            entries.setdefault(value, []).append((factor / one, row, column))
    terms = []
    for value in sorted(entries):
        factors, rows, columns = zip(*entries[value], strict=True)
        shape = len(forms), variables[value].size
        terms.append((value, sp.csr_array((factors, (rows, columns)), shape=shape)))
    return Affine(tuple(terms), bias)
