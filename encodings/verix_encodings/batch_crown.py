"""Backward linear bounds (CROWN) on many boxes of inputs at once, for branching on inputs.

The mathematics is that of ``crown``. ``N`` boxes lie inside one *root*: a box, or
a norm ball in a box. Bounds of value ``v_k`` are a pair of arrays of shape (N, size of v_k). A
bound on ``c·v_k`` over one box is a row ``c``; the rows of all boxes stand below each other, and
``owner`` tells the box of each row. An affine node is then one matrix product for all rows, and
only neurons that a box leaves undecided need rows.

Each row is replaced twice, with two lower lines of unstable ReLUs, and the better bound counts:
``α`` as there, and ``α = 0``. Zero is looser for one neuron, but needs no slope at the input, which
costs more the wider a box is. Together they need a fraction of the boxes that either needs.

Rounding errors are bounded once for the root: with ``m_k ≥ |v_k|`` there, a row ``c`` at ``v_k``
loses at most ``|c|·e_k`` on its way to the sources of ``v_k``. Each kind of node bounds ``e_k``,
with ``γ`` of all terms summed there; a few count their errors box by box instead. Rows that meet at
``v_k`` lose ``γ |c|·m_k`` more. Bounds over a box are cut at those of the root, so these errors are
valid for every box.

Ranges of one output's slopes over many boxes at once: where a box is best split.

Backward through the network, with coefficients in ``m ± r``:

    v = Σ_k M_k v_k + b    m_k += m M_k,  r_k += r |M_k|
    v = σ(z)               [m − r, m + r] · [σ' on z ∈ [l, u]]

(The interval gradients of ReluVal: Wang et al., USENIX Security 2018.) Plain float64, for
branching: no proof rests on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from verix_encodings.arrays import FloatArray, IntArray, relative_error
from verix_encodings.bounds.boxes import Boxes
from verix_encodings.bounds.interval import Bounds, Late, Pair, Range, never
from verix_encodings.bounds.lines import BatchRelaxation
from verix_encodings.crown import left_open, readers_of
from verix_encodings.kinds.node import Node
from verix_encodings.network import Network
from verix_encodings.work import spend_calls


def slope_ranges(network: Network, found: Sequence[Range], outputs: IntArray) -> Pair:
    """Return middles and half widths of ``∂f_j/∂x`` over boxes, j = ``outputs[n]``; (N, d)."""
    pending: dict[int, Range] = {}
    start = np.zeros((outputs.size, network.output_size))
    start[np.arange(outputs.size), outputs] = 1.0
    pending[len(network.nodes)] = start, np.zeros_like(start)
    for value in range(len(network.nodes), 0, -1):
        middle, half = pending.pop(value, (None, None))
        if middle is None or half is None:
            continue
        node = network.nodes[value - 1]
        for source, (more, wider) in node.slope_ranges(found.__getitem__, middle, half):
            known = pending.get(source)
            both = (more, wider) if known is None else (known[0] + more, known[1] + wider)
            pending[source] = both
    size = (outputs.size, network.input_size)
    return pending.get(0, (np.zeros(size), np.zeros(size)))


# entries of the rows that go through the network together: these stay in the cache
_ROWS_AT_ONCE = 2**17


@dataclass(frozen=True, slots=True, eq=False)
class Forms:
    """Linear forms ``A x + b`` above margins: ``coefficients`` (R, d); ``upper`` bounds, (R,)."""

    coefficients: FloatArray
    upper: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Boxes, bounds of their values so far, and relaxations made from these, until ``late()``."""

    boxes: Boxes
    found: Sequence[Range]
    late: Late
    relaxed: dict[tuple[int, bool], BatchRelaxation] = field(default_factory=dict)

    def relaxation(self, value: int, node: Node, *, flat: bool) -> BatchRelaxation:
        """Return the forms around ``node``; lower lines of ReLUs are flat if ``flat``."""
        key = value, flat and node.flat
        if key not in self.relaxed:
            self.relaxed[key] = node.batch_relaxation(self.found.__getitem__, flat=flat)
        return self.relaxed[key]


class BatchCrown:
    """Bounds of ``network`` on boxes inside a root, where ``root`` are valid bounds."""

    def __init__(self, network: Network, root: Bounds) -> None:
        self.network, self.root, self._readers = network, root, readers_of(network)
        self._errors = {value: self._error(value) for value in range(1, len(network.nodes) + 1)}

    @property
    def hidden(self) -> tuple[int, ...]:
        """The numbers of the values whose bounds shape the lines of later nodes."""
        return tuple(sorted(self._readers))

    def bounds(
        self, boxes: Boxes, known: Mapping[int, Range], late: Late | None = never
    ) -> list[Range]:
        """Bound every value but the last over each of ``boxes``.

        ``known`` are bounds proven already for some values. Neurons that interval arithmetic
        leaves undecided get backward bounds until ``late()``; none do if it is None.
        """
        # with what a search does around its bounds, in small arrays
        spend_calls(400)
        found: list[Range] = [(boxes.lower, boxes.upper)]
        batch = _Batch(boxes, found, late or never)
        for value in range(1, len(self.network.nodes)):
            node = self.network.nodes[value - 1]
            lower, upper = node.over_boxes(found.__getitem__, self._magnitude)
            lower = np.maximum(lower, self.root[value].lower)
            upper = np.minimum(upper, self.root[value].upper)
            if value in known:
                lower = np.maximum(lower, known[value][0])
                upper = np.minimum(upper, known[value][1])
            found.append((lower, upper))
            beyond_input = not boxes.plain or any(s != 0 for s in node.sources)
            if value in self._readers and beyond_input and late is not None and not late():
                found[value] = self._tightened(batch, value)
        return found

    def margins(
        self,
        boxes: Boxes,
        found: Sequence[Range],
        owner: IntArray,
        margin: IntArray,
        late: Late = never,
    ) -> Forms:
        """Bound output ``margin[r]`` over box ``owner[r]`` from above; infinite once ``late()``."""
        batch, rows = _Batch(boxes, found, late), (owner, margin, np.ones(owner.size))
        kept = np.zeros((owner.size, self.network.input_size))
        return Forms(kept, self._upper(batch, len(self.network.nodes), rows, kept))

    def _error(self, value: int) -> FloatArray:
        gamma = relative_error(self.network.sizes[value] + len(self.network.nodes))
        error = self.network.nodes[value - 1].backward_error(gamma, self._magnitude)
        return np.broadcast_to(error, (self.network.sizes[value],))

    def _magnitude(self, value: int) -> FloatArray:
        return self.root[value].magnitude

    def _tightened(self, batch: _Batch, value: int) -> Range:
        lower, upper = batch.found[value]
        owner, neuron = np.nonzero(left_open(self._readers[value], lower, upper))
        if not owner.size:
            return lower, upper
        sign = np.repeat([1.0, -1.0], owner.size)
        rows = np.tile(owner, 2), np.tile(neuron, 2), sign
        extremes = self._upper(batch, value, rows)
        lower, upper = lower.copy(), upper.copy()
        # a NaN, from coefficients that overflowed, is no bound: the known one stays
        upper[owner, neuron] = np.fmin(upper[owner, neuron], extremes[: owner.size])
        lower[owner, neuron] = np.fmax(lower[owner, neuron], -extremes[owner.size :])
        return lower, upper

    def _upper(
        self,
        batch: _Batch,
        value: int,
        rows: tuple[IntArray, IntArray, FloatArray],
        kept: FloatArray | None = None,
    ) -> FloatArray:
        """Bound ``sign · v`` over boxes: owner, neuron, sign; put forms into ``kept``, (R, d)."""
        owner, neuron, sign = rows
        upper = np.full(owner.size, np.inf)
        at_once = max(_ROWS_AT_ONCE // max(self.network.sizes[: value + 1]), 1)
        for first in range(0, owner.size, at_once):
            if batch.late():
                break
            some = slice(first, first + at_once)
            c = np.zeros((owner[some].size, self.network.sizes[value]))
            c[np.arange(c.shape[0]), neuron[some]] = sign[some]
            form, upper[some] = self._form(batch, value, c, owner[some], flat=False)
            if any(node.flat for node in self.network.nodes[:value]):
                way, total = self._form(batch, value, c, owner[some], flat=True)
                better = total < upper[some]
                form[better], upper[some][better] = way[better], total[better]
            if kept is not None:
                kept[some] = form
        return upper

    def _form(
        self, batch: _Batch, value: int, c: FloatArray, owner: IntArray, *, flat: bool
    ) -> Pair:
        """Return the coefficients of ``c·v`` at the input, and the bound that they give."""
        at_input, constant = self._replaced(batch, value, c, owner, flat=flat)
        greatest = batch.boxes.greatest(at_input, owner)
        rounding = relative_error(1) * (np.abs(constant) + np.abs(greatest))
        return at_input, constant + greatest + rounding

    def _replaced(
        self, batch: _Batch, value: int, c: FloatArray, owner: IntArray, *, flat: bool
    ) -> Pair:
        """Replace ``c·v`` down to the input: coefficients there, and a constant with all errors."""
        constant = np.zeros(owner.size)
        pending = {value: c}

        def add(source: int, product: FloatArray) -> None:
            if source in pending:
                product = pending[source] + product
                constant[:] += np.abs(product) @ (relative_error(1) * self._magnitude(source))
            pending[source] = product

        for current in range(value, 0, -1):
            row = pending.pop(current, None)
            if row is None:
                continue
            node = self.network.nodes[current - 1]
            constant += np.abs(row) @ self._errors[current]
            shift, products = batch.relaxation(current, node, flat=flat).replaced(row, owner)
            constant += shift
            for source, product in products:
                add(source, product)
        if 0 not in pending:
            pending[0] = np.zeros((owner.size, self.network.input_size))
        return pending[0], constant
