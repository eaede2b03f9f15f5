"""One program for a network over every smaller ball: the same rows, other numbers in them.

Over the full ball a neuron has bounds ``[L, U]``, and ``blocks.relu`` gives it columns
``z``, ``a`` and, if ``L < 0 < U``, a phase ``d``. Over a ball inside the full one, with bounds
``[l, u]`` that hold there, narrowed to ``[max(l, L), min(u, U)]``, the program becomes that of the
smaller ball by

    x_i ∈ [l_i, u_i]           a fixed input is a column whose ends coincide
    z ∈ [l, u],   a ∈ [max(l, 0), max(u, 0)]
    a ≤ z − l (1 − d),   a ≤ u d                      the two big-Ms, re-tightened
    d ∈ {0, 1};   d = 1 where l ≥ 0,   d = 0 where u ≤ 0 otherwise

A maximum ``a = z_p + max(d, 0)`` has the phase of ``d``, ``l`` and ``u`` those of ``d``, and the
big-Ms ``a ≤ z_q − l (1 − δ)`` and ``a ≤ z_p + u δ``.

With a fixed phase, ``d = 1`` leaves ``a ≥ z`` and ``a ≤ z``, and ``d = 0`` leaves ``a ≥ 0`` and
``a ≤ 0``: the neuron is as tight as in the folded encoding. A neuron with one phase over the full
ball has the same phase over any ball inside. So the points of the program are the trajectories over
the smaller ball, and its relaxation is as tight as that of a program encoded for it. Its pattern of
entries never changes, so a solver may keep a basis from one ball to the next.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import FloatArray, IntArray, frozen
from verix_encodings.bounds.interval import Bounds, Interval
from verix_encodings.models.encode import Encoding, encode
from verix_encodings.network.network import Network
from verix_encodings.program.labels import blocks
from verix_encodings.program.program import LEAST_BIG_M, Program


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    """Places of a layer of ReLUs or maxima in the program.

    ``value`` is the number of the layer's value, ``source`` that of the value whose sign is the
    phase, ``read`` that of ``z``. ``z`` and ``a`` are columns and ``modelled`` and ``unstable`` the
    entries that have them; ``d`` are the phases, ``active_rows`` the rows with ``l``; ``active``
    and ``inactive`` the positions of the two big-Ms among the entries of the matrix.
    """

    value: int
    source: int
    read: int
    modelled: IntArray
    z: IntArray
    unstable: IntArray
    a: IntArray
    d: IntArray
    active_rows: IntArray
    active: IntArray
    inactive: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class RetightenedEncoding:
    """The big-M encoding of a network over a full box; see :func:`retightened_encoding`."""

    full: Encoding
    bounds: Bounds
    inputs: IntArray
    coordinates: IntArray
    layers: tuple[_Layer, ...]

    def over(self, bounds: Bounds) -> Encoding:
        """Return the encoding over the smaller box ``bounds[0]``, where ``bounds`` hold.

        Raises ``ValueError`` for a box that is not inside the full one.
        """
        outer, box = self.bounds[0], bounds[0]
        if np.any(box.lower < outer.lower) or np.any(box.upper > outer.upper):
            raise ValueError("a retightened encoding is restricted to boxes inside its own")
        program = self.full.program
        data, row_upper = program.matrix.data.copy(), program.row_upper.copy()
        lower, upper = program.column_lower.copy(), program.column_upper.copy()
        lower[self.inputs] = box.lower[self.coordinates]
        upper[self.inputs] = box.upper[self.coordinates]
        for layer in self.layers:
            for columns, value, entries in (
                (layer.z, layer.read, layer.modelled),
                (layer.a, layer.value, layer.unstable),
            ):
                l, u = _both(self.bounds[value], bounds[value])
                lower[columns], upper[columns] = l[entries], u[entries]
            l, u = _both(self.bounds[layer.source], bounds[layer.source])
            l, u = l[layer.unstable], u[layer.unstable]
            lower[layer.d] = l >= 0
            upper[layer.d] = (l >= 0) | (u > 0)
            l, u = np.minimum(l, -LEAST_BIG_M), np.maximum(u, LEAST_BIG_M)
            data[layer.active], row_upper[layer.active_rows] = -l, -l
            data[layer.inactive] = -u
        matrix = sp.csr_array(
            (data, program.matrix.indices, program.matrix.indptr), program.matrix.shape
        )
        restricted = replace(
            program,
            matrix=matrix,
            row_upper=frozen(row_upper),
            column_lower=frozen(lower),
            column_upper=frozen(upper),
        )
        return replace(self.full, program=restricted)


def can_be_retightened(network: Network) -> bool:
    """Return whether :func:`retightened_encoding` takes ``network``: all kinds of its nodes."""
    return all(node.retightened is not None for node in network.nodes)


def retightened_encoding(network: Network, bounds: Bounds) -> RetightenedEncoding:
    """Encode ``network`` over the box ``bounds[0]``, to be restricted to boxes inside of it.

    ``bounds`` must hold for every value. Raises ``ValueError`` for nodes that other big-Ms do not
    re-tighten, such as smooth activations.
    """
    if not can_be_retightened(network):
        kinds = {node.plural for node in network.nodes if node.retightened is None}
        raise ValueError(f"a retightened encoding takes no {', '.join(sorted(kinds))}")
    full = encode(network, bounds)
    program = full.program
    columns, rows = blocks(program.column_labels), blocks(program.row_labels)
    inputs, coordinates = columns["x"]
    layers, nothing = [], np.zeros(0, dtype=np.intp)
    for index, node in enumerate(network.nodes):
        kind, source = node.retightened, node.phase
        if not kind or source is None:
            continue
        z, modelled = columns.get(f"z_{index}", (nothing, nothing))
        a, unstable = columns[f"a_{index}"]
        d, _ = columns[f"d_{index}"]
        active_rows, _ = rows[f"{kind}_active_{index}"]
        inactive_rows, _ = rows[f"{kind}_inactive_{index}"]
        active, inactive = (_entries(program, r, d) for r in (active_rows, inactive_rows))
        layers.append(
            _Layer(
                index + 1,
                source,
                node.sources[-1],
                modelled,
                z,
                unstable,
                a,
                d,
                active_rows,
                active,
                inactive,
            )
        )
    return RetightenedEncoding(full, bounds, inputs, coordinates, tuple(layers))


def _both(known: Interval, found: Interval) -> tuple[FloatArray, FloatArray]:
    return np.maximum(known.lower, found.lower), np.minimum(known.upper, found.upper)


def _entries(program: Program, rows: IntArray, columns: IntArray) -> IntArray:
    """Return the positions of the entries (row, column), pair by pair, in the matrix's data.

    Both are consecutive, and each of the rows has one entry in these columns.
    """
    if not rows.size:
        return rows
    first, end = program.matrix.indptr[rows[0]], program.matrix.indptr[rows[-1] + 1]
    found = program.matrix.indices[first:end]
    return int(first) + np.flatnonzero((found >= columns[0]) & (found <= columns[-1]))
