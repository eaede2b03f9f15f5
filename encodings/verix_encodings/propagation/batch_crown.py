"""Backward linear bounds (CROWN) on many boxes of inputs at once, for branching on inputs.

The mathematics is that of ``propagation.linear_form``. ``N`` boxes lie inside one *root*: a box, or
a norm ball in a box. Bounds of value ``v_k`` are a pair of arrays of shape (N, size of v_k). A
bound on ``c·v_k`` over one box is a row ``c``; the rows of all boxes stand below each other, and
``owner`` tells the box of each row. An affine node is then one matrix product for all rows, and
only neurons that a box leaves undecided need rows.

Each row is replaced twice, with two lower lines of unstable ReLUs, and the better bound counts:
``α`` as there, and ``α = 0``. Zero is looser for one neuron, but needs no slope at the input, which
costs more the wider a box is. Together they need a fraction of the boxes that either needs.

Rounding errors are bounded once for the root: with ``m_k ≥ |v_k|`` there, a row ``c`` at ``v_k``
loses at most ``|c|·e_k`` on its way to the sources of ``v_k``,

    v = Σ_j M_j v_j + b     e = γ (|b| + Σ_j |M_j| m_j) + the node's own deviation
    v = max(z, 0)           e = γ · 3 m_z                   |β| ≤ m_z, slopes in [0, 1]
    v = max(z_p, z_q)       e = γ · 4 max(m_z,p, m_z,q)
    v = σ(z)                e = γ · (3 + 12 m_z)            |σ(z)| ≤ 1 + 2 |z|, slopes in [−2, 2]

each with ``γ`` of all terms summed there. Rows that meet at ``v_k`` lose ``γ |c|·m_k`` more. Bounds
over a box are cut at those of the root, so these errors are valid for every box.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, IntArray, Matrix, placed, relative_error
from verix_encodings.bounds.boxes import Boxes
from verix_encodings.bounds.interval import Bounds, Late, difference_range, never
from verix_encodings.bounds.lines import MaxLines, Range, max_lines, relu_lines
from verix_encodings.bounds.strips import best_lines, value_range
from verix_encodings.network.network import Network
from verix_encodings.network.nodes import Affine, Difference, Max, Relu, Smooth
from verix_encodings.propagation.crown import readers_of
from verix_encodings.work import spend_calls, spend_entries, spend_product

# entries of the rows that go through the network together: these stay in the cache
_ROWS_AT_ONCE = 2**17


@dataclass(frozen=True, slots=True, eq=False)
class Forms:
    """Linear forms ``A x + b`` above margins: ``coefficients`` (R, d); ``upper`` bounds, (R,)."""

    coefficients: FloatArray
    upper: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Lines:
    """Lines around an activation on each box: ``below z + floor ≤ σ(z) ≤ above z + ceiling``."""

    above: FloatArray
    ceiling: FloatArray
    below: FloatArray
    floor: FloatArray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Boxes, bounds of their values so far, and relaxations of activations made from these."""

    boxes: Boxes
    found: Sequence[Range]
    relaxed: dict[tuple[int, bool], _Lines | MaxLines] = field(default_factory=dict)

    def relaxation(self, value: int, node: Relu | Max | Smooth, *, flat: bool) -> _Lines | MaxLines:
        """Return the relaxation of ``node``, which computes ``value``.

        The lower line of an unstable ReLU has the slope zero if it is ``flat``.
        """
        key = value, flat and isinstance(node, Relu)
        if key not in self.relaxed:
            z = self.found[node.source]
            self.relaxed[key] = (
                max_lines(node, self.found[node.entries], z)
                if isinstance(node, Max)
                else _relaxed(node, *z, flat=flat)
            )
        return self.relaxed[key]


@dataclass(frozen=True, slots=True, eq=False)
class BatchCrown:
    """Bounds of ``network`` on boxes inside a root, where ``root`` are valid bounds."""

    network: Network
    root: Bounds
    _errors: dict[int, FloatArray] = field(init=False)
    _readers: dict[int, list[Relu | Max | Smooth]] = field(init=False)

    def __post_init__(self) -> None:
        values = range(1, len(self.network.nodes) + 1)
        errors = {value: self._error(value) for value in values}
        object.__setattr__(self, "_errors", errors)
        object.__setattr__(self, "_readers", readers_of(self.network))

    @property
    def hidden(self) -> tuple[int, ...]:
        """The numbers of the values that activations read."""
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
        batch = _Batch(boxes, found)
        for value in range(1, len(self.network.nodes)):
            node = self.network.nodes[value - 1]
            lower, upper = self._forward(value, found)
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
        self, boxes: Boxes, found: Sequence[Range], owner: IntArray, margin: IntArray
    ) -> Forms:
        """Bound output ``margin[r]`` over box ``owner[r]`` from above, given ``bounds``."""
        ones = np.ones(owner.size)
        return self._upper(_Batch(boxes, found), len(self.network.nodes), (owner, margin, ones))

    def _error(self, value: int) -> FloatArray:
        node, count = self.network.nodes[value - 1], len(self.network.nodes)
        gamma = relative_error(self.network.sizes[value] + count)
        if isinstance(node, Affine):
            total = np.abs(node.bias)
            for source, matrix in node.terms:
                total = total + abs(matrix) @ self.root[source].magnitude
            return np.asarray(gamma * total + node.deviation(self._magnitude))
        if isinstance(node, Max):
            return gamma * 4.0 * node.greatest(self._magnitude(node.entries))
        z = self._magnitude(node.source)
        return np.asarray(gamma * (3.0 + 12.0 * z if isinstance(node, Smooth) else 3.0 * z))

    def _magnitude(self, value: int) -> FloatArray:
        return self.root[value].magnitude

    def _forward(self, value: int, found: Sequence[Range]) -> Range:
        """Bound a value by interval arithmetic, rounded outward."""
        node = self.network.nodes[value - 1]
        if isinstance(node, Difference):
            return difference_range(node, *found[node.sources[0]])
        if isinstance(node, Affine):
            count = found[0][0].shape[0]
            middle = np.tile(node.bias, (count, 1))
            radius = np.tile(self._forward_error(node), (count, 1))
            for source, matrix in node.terms:
                lower, upper = found[source]
                middle += _times_transposed(lower / 2 + upper / 2, matrix)
                radius += _times_transposed(upper / 2 - lower / 2, abs(matrix))
            return middle - radius, middle + radius
        if isinstance(node, Max):
            lower, upper = found[node.entries]
            return node.greatest(lower.T).T, node.greatest(upper.T).T
        lower, upper = found[node.source]
        if isinstance(node, Smooth):
            return value_range(node.function, lower, upper)
        return np.maximum(lower, 0.0), np.maximum(upper, 0.0)

    def _forward_error(self, node: Affine) -> FloatArray:
        """Bound the rounding of ``M m + b ± |M| r``: ``|m| + r`` is the magnitude of a range."""
        total, terms = np.abs(node.bias), 2
        for source, matrix in node.terms:
            total = total + abs(matrix) @ self.root[source].magnitude
            terms += matrix.shape[1]
        return np.asarray(2.0 * relative_error(terms) * total + node.deviation(self._magnitude))

    def _tightened(self, batch: _Batch, value: int) -> Range:
        lower, upper = batch.found[value]
        owner, neuron = np.nonzero(self._undecided(value, lower, upper))
        if not owner.size:
            return lower, upper
        sign = np.repeat([1.0, -1.0], owner.size)
        rows = np.tile(owner, 2), np.tile(neuron, 2), sign
        extremes = self._upper(batch, value, rows).upper
        lower, upper = lower.copy(), upper.copy()
        # a NaN, from coefficients that overflowed, is no bound: the known one stays
        upper[owner, neuron] = np.fmin(upper[owner, neuron], extremes[: owner.size])
        lower[owner, neuron] = np.fmax(lower[owner, neuron], -extremes[owner.size :])
        return lower, upper

    def _undecided(self, value: int, lower: FloatArray, upper: FloatArray) -> BoolArray:
        """Mark the neurons that a box leaves open for a reader of ``value``; shape (N, size)."""
        open_ = np.zeros(lower.shape, dtype=bool)
        for reader in self._readers[value]:
            if isinstance(reader, Smooth):
                open_ |= lower < upper
            else:
                open_ |= (lower < 0) & (upper > 0)
        return open_

    def _upper(
        self, batch: _Batch, value: int, rows: tuple[IntArray, IntArray, FloatArray]
    ) -> Forms:
        """Bound ``sign · v`` of neurons of a value over their boxes: owner, neuron and sign."""
        owner, neuron, sign = rows
        coefficients = np.empty((owner.size, self.network.input_size))
        upper = np.empty(owner.size)
        at_once = max(_ROWS_AT_ONCE // max(self.network.sizes[: value + 1]), 1)
        for first in range(0, owner.size, at_once):
            some = slice(first, first + at_once)
            c = np.zeros((owner[some].size, self.network.sizes[value]))
            c[np.arange(c.shape[0]), neuron[some]] = sign[some]
            coefficients[some], upper[some] = self._form(batch, value, c, owner[some], flat=False)
            if any(isinstance(node, Relu) for node in self.network.nodes[:value]):
                way, total = self._form(batch, value, c, owner[some], flat=True)
                better = total < upper[some]
                coefficients[some][better], upper[some][better] = way[better], total[better]
        return Forms(coefficients, upper)

    def _form(
        self, batch: _Batch, value: int, c: FloatArray, owner: IntArray, *, flat: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return the coefficients of ``c·v`` at the input, and the bound that they give."""
        at_input, constant = self._replaced(batch, value, c, owner, flat=flat)
        greatest = batch.boxes.greatest(at_input, owner)
        rounding = relative_error(1) * (np.abs(constant) + np.abs(greatest))
        return at_input, constant + greatest + rounding

    def _replaced(
        self, batch: _Batch, value: int, c: FloatArray, owner: IntArray, *, flat: bool
    ) -> tuple[FloatArray, FloatArray]:
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
            if isinstance(node, Affine):
                constant += row @ node.bias
                for source, matrix in node.terms:
                    add(source, _times(row, matrix))
                continue
            relaxed = batch.relaxation(current, node, flat=flat)
            if isinstance(relaxed, MaxLines):
                assert isinstance(node, Max)
                size = self.network.sizes[node.entries]
                shift, product = _by_pairs(row, node, relaxed, owner, size=size)
                add(node.entries, product)
            else:
                shift, product = _by_lines(row, relaxed, owner)
                add(node.source, product)
            constant += shift
        if 0 not in pending:
            pending[0] = np.zeros((owner.size, self.network.input_size))
        return pending[0], constant


def _relaxed(node: Relu | Smooth, lower: FloatArray, upper: FloatArray, *, flat: bool) -> _Lines:
    if isinstance(node, Relu):
        above, ceiling, below = relu_lines(lower, upper)
        return _Lines(above, ceiling, np.where(lower >= 0, below, 0.0) if flat else below)
    below, floor, above, ceiling = best_lines(node.function, lower, upper)
    return _Lines(above, ceiling, below, floor)


def _by_lines(row: FloatArray, lines: _Lines, owner: IntArray) -> tuple[FloatArray, FloatArray]:
    spend_entries(row.size, 8)
    positive = np.maximum(row, 0.0)
    shift = np.einsum("rn,rn->r", positive, lines.ceiling[owner])
    # from here on the negative part
    row = row - positive
    if lines.floor is not None:
        shift += np.einsum("rn,rn->r", row, lines.floor[owner])
    positive *= lines.above[owner]
    row *= lines.below[owner]
    return shift, positive + row


def _by_pairs(
    row: FloatArray, node: Max, lines: MaxLines, owner: IntArray, *, size: int
) -> tuple[FloatArray, FloatArray]:
    positive = np.maximum(row, 0.0)
    shift = np.einsum("rn,rn->r", positive, lines.ceiling[owner])
    negative, below = row - positive, lines.below_second[owner]
    first = positive * lines.above_first[owner] + negative * (1.0 - below)
    second = positive * lines.above_second[owner] + negative * below
    # pairs may share an entry
    pairs, shape = np.arange(node.first.size), (node.first.size, size)
    result = _times(first, placed(1.0, pairs, node.first, shape))
    result += _times(second, placed(1.0, pairs, node.second, shape))
    return shift, result


def _times(rows: FloatArray, matrix: Matrix) -> FloatArray:
    """Return ``rows @ M`` as an ndarray."""
    spend_product(matrix, rows.shape[0])
    return rows @ matrix if isinstance(matrix, np.ndarray) else np.asarray((matrix.T @ rows.T).T)


def _times_transposed(rows: FloatArray, matrix: Matrix) -> FloatArray:
    """Return ``rows @ Mᵀ`` as an ndarray."""
    spend_product(matrix, rows.shape[0])
    return rows @ matrix.T if isinstance(matrix, np.ndarray) else np.asarray((matrix @ rows.T).T)
