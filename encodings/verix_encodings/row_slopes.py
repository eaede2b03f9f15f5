"""Rows of backward bounds, each with slopes of its own, and phases and parts that it supposes.

    g = max over x in the region of a·x + b      the bound of a row, by its slopes and multipliers
    ∂g/∂α_j = c⁻_j z_j                           c the coefficients met at neuron j
    ∂g/∂t_j = c_j ∂v_j/∂t_j                      ∂v/∂t the change of a form that t in [0, 1] turns
    ∂g/∂β_j = ± z_j                              + where z_j ≥ 0 is supposed, − where z_j ≤ 0 is
    ∂g/∂w_j = z_j − l or z_j − u                 w the coefficient left if l ≤ z_j ≤ u is supposed

``z`` are the values if ``x`` is the maximiser and each activation is replaced by the line that the
bound takes; for a maximum of pairs, ``z`` is their difference. All ``α`` in [0, 1] and ``β ≥ 0``
are valid, and all ``t`` in [0, 1], so these move by projected steps of Adam, and no step can do
harm but to tightness. The ``w`` of parts (``interval_bounds``) may be any numbers, and move by
Polyak's steps; for activations before it, ``z_j`` is the end that its row pays for.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from verix_encodings.arrays import BoolArray, FloatArray, IntArray, dense
from verix_encodings.bounds.interval import Bounds, Range, Region
from verix_encodings.bounds.lines import TurnedForms, relu_lines
from verix_encodings.bounds.rows import Parts, RowPhases, Rows, RowSplits
from verix_encodings.crown import LinearForm, Relaxations, extend_relaxation, upper_form
from verix_encodings.interval_bounds import (
    RowForms,
    Splittable,
    narrowed_forms,
    narrowed_ranges,
    range_in_rows,
    splittable,
)
from verix_encodings.kinds.node import Node
from verix_encodings.network import Network, batch_outputs
from verix_encodings.work import spend_entries

_RATE = 0.5
_DECAY = 0.9
_MOMENTS = 0.9, 0.99
_TINY = 1e-300
_LOWER = 1e-3
# of the last step of parts, kept in the next; 0.5 and 0 took 400 and 860 nodes on a tanh network
_KEPT = 0.5
# of the dials of a row: products of large transformers have millions; not measured
_MOST_TURNED = 2**14


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """The neurons ``free``, with two phases, of the activations ``value`` that read ``source``.

    ``slopes`` are the first lower slopes of all neurons. The ``free`` ones stand at ``places`` of
    the dials of a row; ``heights`` are the intercepts of their upper lines.
    """

    value: int
    source: int
    free: IntArray
    slopes: FloatArray
    heights: FloatArray
    places: slice


@dataclass(frozen=True, slots=True, eq=False)
class Turned:
    """A ``value`` whose forms turn by the dials at ``places``, and its usual ``forms``."""

    value: int
    places: slice
    forms: RowForms


@dataclass(frozen=True, slots=True, eq=False)
class Relaxed:
    """A network where ``bounds`` hold, its relaxation, and its layers with two phases.

    ``splits`` are the values that are split at points; their dials follow those of the layers.
    """

    network: Network
    bounds: Bounds
    relaxation: Relaxations
    layers: tuple[Layer, ...]
    turned: tuple[Turned, ...]
    splits: tuple[Splittable, ...]

    @classmethod
    def of(cls, network: Network, bounds: Bounds) -> "Relaxed":
        """Return the relaxation of ``network``."""
        relaxation = extend_relaxation({}, network, bounds, len(network.nodes))
        layers: list[Layer] = []
        start = 0
        for value, node in enumerate(network.nodes, start=1):
            if node.phase is None:
                continue
            low, high = bounds[node.phase].lower, bounds[node.phase].upper
            free = np.flatnonzero((low < 0) & (high > 0))
            _, heights, slopes = relu_lines(low, high)
            places = slice(start, start + free.size)
            layers.append(Layer(value, node.phase, free, slopes, heights[free], places))
            start += free.size
        turned: list[Turned] = []
        usual = {v: (z.lower[None], z.upper[None]) for v, z in enumerate(bounds)}
        every = narrowed_forms(network, bounds, usual, np.zeros(1, dtype=np.intp), turned=True)
        for value, forms in every.items():
            count = network.sizes[value] * network.nodes[value - 1].turns
            if start + count > _MOST_TURNED:
                break
            turned.append(Turned(value, slice(start, start + count), forms))
            start += count
        splits = splittable(network, start)
        return cls(network, bounds, relaxation, tuple(layers), tuple(turned), splits)

    @property
    def phases(self) -> int:
        """The number of dials in [0, 1]: of neurons with two phases, and of forms that turn."""
        ends = [one.places.stop for one in self.layers] + [one.places.stop for one in self.turned]
        return ends[-1] if ends else 0

    @property
    def points(self) -> int:
        """The number of entries that are split at points."""
        return self.splits[-1].columns.stop if self.splits else 0

    @property
    def count(self) -> int:
        """The number of dials."""
        return self.phases + self.points

    def first_dials(self, rows: int) -> FloatArray:
        """Return the slopes that CROWN takes, and multipliers of zero; shape (rows, count)."""
        parts = [layer.slopes[layer.free] for layer in self.layers]
        parts += [np.full(one.places.stop - one.places.start, 0.5) for one in self.turned]
        return np.tile(np.concatenate([*parts, np.zeros(self.points)]), (rows, 1))

    def first_ends(self, rows: int) -> FloatArray:
        """Return ends that suppose nothing, shape (rows, 2, points)."""
        ends = np.empty((rows, 2, self.points))
        ends[:, 0], ends[:, 1] = -np.inf, np.inf
        return ends


class RowSlopes:
    """Slopes for upper bounds on the rows of ``C v``, shape (R, outputs), ``v`` the last value.

    ``dials`` are the slopes of neurons with two phases, the multipliers of those whose phase is
    supposed, the numbers that turn forms, and the coefficients left at entries that are split at
    points; shape (R, count).
    ``signs`` are 1 where a row supposes ``z ≥ 0``, −1 where ``z ≤ 0``, else 0; of the entries, 1
    where a part is supposed. ``ends`` are the least and the greatest values supposed of these, (R,
    2, points), infinite where none is.
    """

    def __init__(
        self,
        relaxed: Relaxed,
        coefficients: FloatArray,
        dials: FloatArray | None = None,
        signs: FloatArray | None = None,
        ends: NDArray[np.floating] | None = None,
    ) -> None:
        rows = coefficients.shape[0]
        self.relaxed = relaxed
        self.dials = relaxed.first_dials(rows) if dials is None else dials
        self.signs = np.zeros_like(self.dials) if signs is None else signs
        self.met: dict[int, FloatArray] = {}
        self.points = np.zeros((0, relaxed.network.input_size))
        self._rows = coefficients
        self._mean = np.zeros_like(self.dials)
        self._square = np.zeros_like(self.dials)
        self._moved = np.zeros((rows, relaxed.points))
        self._supposed = ends
        self._ranges: dict[int, Range] = {}
        usual = np.zeros(rows, dtype=np.intp)
        self._forms = {one.value: replace(one.forms, owner=usual) for one in relaxed.turned}
        self._ends: dict[int, FloatArray] = {}
        if ends is not None and np.isfinite(ends).any():
            network, bounds = relaxed.network, relaxed.bounds
            self._ranges = narrowed_ranges(network, bounds, relaxed.splits, ends)
            self._forms |= narrowed_forms(network, bounds, self._ranges, np.arange(rows))

    def extremes(self, region: Region) -> FloatArray:
        """Bound the rows over ``region`` from above, rounded up; shape (R,)."""
        bounds, self.points = self._form().highest(region)
        return bounds

    def reached(self) -> FloatArray:
        """Return the values of the rows at their points, shape (R,)."""
        values = batch_outputs(self.relaxed.network, self.points.T)
        return np.asarray(np.sum(self._rows * values.T, axis=1))

    def keep(self, rows: BoolArray) -> None:
        """Drop all other rows."""
        if rows.all():
            return
        self._rows = self._rows[rows]
        if len(self.points):  # none before the first bounds
            self.points = self.points[rows]
        self.met = {value: c[rows] for value, c in self.met.items()}
        self._ends = {value: end[rows] for value, end in self._ends.items()}
        self.dials, self.signs = self.dials[rows], self.signs[rows]
        self._mean, self._square = self._mean[rows], self._square[rows]
        self._moved = self._moved[rows]
        self._supposed = None if self._supposed is None else self._supposed[rows]
        self._ranges = {value: (l[rows], u[rows]) for value, (l, u) in self._ranges.items()}
        self._forms = {
            value: replace(form, owner=form.owner[rows]) for value, form in self._forms.items()
        }

    def only(self, row: int, dials: FloatArray) -> "RowSlopes":
        """Return a row alone, with its point and the ``dials``, shape (count,)."""
        ends = None if self._supposed is None else self._supposed[[row]]
        one = RowSlopes(self.relaxed, self._rows[[row]], dials[None], self.signs[[row]], ends)
        one.points = self.points[[row]]
        return one

    def forms(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return places of the dials, (k,), and ``A``, ``b`` with ``A x + b`` above values, (1+k,).

        These are the value of the row, alone in this group, and the values that it supposes not to
        be negative. But for rounding they are equal where the phases of all neurons before are
        supposed.
        """
        relaxed = self.relaxed
        places = np.flatnonzero(self.signs[0, : relaxed.phases])
        signs = np.tile(self.signs[0], (1 + places.size, 1))
        free = RowSlopes(relaxed, signs, np.where(signs, 0.0, self.dials), signs, self._supposed)
        slopes, splits = free._lower_slopes(), RowSplits(free._splits().phases)
        network = relaxed.network
        forms = np.zeros((1 + places.size, network.input_size))
        constants = np.zeros(1 + places.size)
        for layer in (None, *relaxed.layers):
            value = len(network.nodes) if layer is None else layer.source
            ways = np.zeros((1 + places.size, network.sizes[value]))
            if layer is None:
                ways[0] = self._rows[0]
            else:
                here = np.flatnonzero((layer.places.start <= places) & (places < layer.places.stop))
                neurons = layer.free[places[here] - layer.places.start]
                ways[1 + here, neurons] = self.signs[0, places[here]]
            ends = relaxed.bounds, value, ways, relaxed.relaxation
            form = upper_form(network, *ends, slopes=slopes, splits=splits)
            forms += dense(form.coefficients)
            constants += form.constant
        return places, forms, constants

    def descend(self, step: int, above: FloatArray | None = None) -> None:
        """Move the dials of all rows by the step of that number, from one on.

        ``above`` is how far each bound is above its goal, (R,); the coefficients of parts go as far
        as would close a distance along a straight line (Polyak's step), and stay without it.
        """
        spend_entries(self.dials.size, 20)
        first, second = _MOMENTS
        rate = _RATE * _DECAY ** (step - 1) * np.sqrt(1 - second**step) / (1 - first**step)
        derivative, split = self.derivatives(), self.signs != 0
        self._mean = first * self._mean + (1 - first) * derivative
        self._square = second * self._square + (1 - second) * derivative**2
        change = rate * self._scale(split) * self._mean / (np.sqrt(self._square) + _TINY)
        # derivatives that overflowed move nothing
        change[:, self.relaxed.phases :] = 0.0
        moved = self.dials - np.nan_to_num(change)
        phases = moved[:, : self.relaxed.phases]
        most = np.where(split[:, : self.relaxed.phases], np.inf, 1.0)
        phases[:] = np.clip(phases, 0.0, most)
        if above is not None and self._ends:
            parts = derivative[:, self.relaxed.phases :]
            long = np.maximum(above, 0.0) / (np.square(parts).sum(axis=1) + _TINY)
            self._moved = _KEPT * self._moved + np.nan_to_num(long[:, None] * parts)
            moved[:, self.relaxed.phases :] -= self._moved
        self.dials = moved

    def derivatives(self) -> FloatArray:
        """Return the derivatives of the rows' bounds by their dials, shape (R, count)."""
        result, (values, reached) = np.zeros(self.dials.shape), self._values()
        for layer in self.relaxed.layers:
            sign, z = self.signs[:, layer.places], values[layer.source][:, layer.free]
            c = np.minimum(self._met(layer.value)[:, layer.free], 0.0)
            result[:, layer.places] = np.where(sign, sign, c) * z
        for turned in self.relaxed.turned:
            row, c = self._forms[turned.value], self._met(turned.value)
            forms: TurnedForms = row.forms  # type: ignore[assignment]
            turns = self.dials[:, turned.places]
            result[:, turned.places] = forms.steepness(values, c, row.owner, turns)
        for one in self.relaxed.splits:
            if one.value in self._ends:
                steep = reached[one.value] - self._ends[one.value]
                result[:, one.places] = np.where(self.signs[:, one.places], steep, 0.0)
        return result

    def _range(self, value: int) -> Range:
        """Return bounds of a value in each row, (R, size)."""
        return range_in_rows(self._ranges, self.relaxed.bounds, self.dials.shape[0], value)

    def _met(self, value: int, rows: int | None = None) -> FloatArray:
        """Return the coefficients met at a value, zeros if no row depends on it."""
        rows = self.points.shape[0] if rows is None else rows
        shape = rows, self.relaxed.network.sizes[value]
        return self.met[value] if value in self.met else np.zeros(shape)

    def _scale(self, split: BoolArray) -> FloatArray:
        """Return the size of each dial: that of coefficients met for multipliers, 1 for slopes."""
        result = np.ones(self.dials.shape)
        for layer in self.relaxed.layers:
            if layer.free.size:
                c = np.abs(self._met(layer.value)[:, layer.free])
                result[:, layer.places] = c.mean(axis=1, keepdims=True)
        return np.where(split, result, 1.0)

    def effects(self) -> FloatArray:
        """Estimate how much each neuron's lines cost the bounds, (R, count): ``c⁺`` times height.

        Lower lines count a little; neurons whose phase is supposed have -inf. Entries that are
        split at points have what the nodes that read them estimate.
        """
        result = np.full(self.dials.shape, -np.inf)
        for layer in self.relaxed.layers:
            c = self._met(layer.value)[:, layer.free]
            cost = (np.maximum(c, 0.0) + _LOWER * np.abs(c)) * layer.heights
            result[:, layer.places] = np.where(self.signs[:, layer.places] == 0, cost, -np.inf)
        for one in self.relaxed.splits:
            result[:, one.places] = np.max([gain for _, gain in self._gains(one)], axis=0)
        return result

    def _gains(self, one: Splittable) -> list[tuple[Node, FloatArray]]:
        """Return each node that reads entries, with the gains that it expects of splitting them."""
        found = []
        for value, node in one.readers:
            for source, gains in node.split_gains(self._range, self._met(value)):
                if source == one.value:
                    found.append((node, gains))
        return found

    def best_splits(self) -> tuple[IntArray, FloatArray]:
        """Return the place of the greatest effect in each row, and the point to split it at.

        The place is -1 where none is left. The point is a number of float32, NaN for a phase.
        """
        rows = self.dials.shape[0]
        place, point = np.full(rows, -1), np.full(rows, np.nan)
        if not self.relaxed.count:
            return place, point
        effects, left = self.effects(), np.arange(rows)
        while left.size:
            best = np.argmax(effects[left], axis=1)
            use = effects[left, best] > 0
            left, best = left[use], best[use]
            at = self._points_of(left, best)
            known = np.isfinite(at) | (best < self.relaxed.phases)
            place[left[known]], point[left[known]] = best[known], at[known]
            left, best = left[~known], best[~known]
            effects[left, best] = -np.inf
        return place, point

    def _points_of(self, rows: IntArray, place: IntArray) -> FloatArray:
        """Return the points at which ``place`` of each of ``rows`` is split, NaN where none is."""
        result = np.full(place.size, np.nan)
        for one in self.relaxed.splits:
            here = np.flatnonzero((place >= one.places.start) & (place < one.places.stop))
            if not here.size:
                continue
            at = rows[here], place[here] - one.places.start
            low, high = (end[at] for end in self._range(one.value))
            readers = self._gains(one)
            best = np.argmax([gain[at] for _, gain in readers], axis=0)
            for number, (node, _) in enumerate(readers):
                mine = best == number
                points = node.split_points(low[mine], high[mine]).astype(np.float32).astype(float)
                inside = (low[mine] < points) & (points < high[mine])
                result[here[mine]] = np.where(inside, points, np.nan)
        return result

    def _values(self) -> tuple[dict[int, FloatArray], dict[int, FloatArray]]:
        """Return values of the lines that rows take, with the ends paid for at parts, or not."""
        lower, values = self._lower_slopes(), {0: self.points}
        reached = dict(values)
        self._end(0, values)
        read = [layer.source for layer in self.relaxed.layers]
        read += [one.value - 1 for one in self.relaxed.turned]  # their sources are before them
        last = max(read + [one.value for one in self.relaxed.splits], default=0)
        for value in range(1, last + 1):
            form = self._forms.get(value, self.relaxed.relaxation[value])
            values[value], low = form.followed(values, self.met.get(value), lower.get(value))
            self._suppose(value, values[value], low)
            reached[value] = values[value]
            self._end(value, values)
        return values, reached

    def _end(self, value: int, values: dict[int, FloatArray]) -> None:
        """Put the ends that rows pay for into the entries of a value that have parts."""
        for one in self.relaxed.splits:
            if one.value == value and value in self._ends:
                parts = self.signs[:, one.places] != 0
                values[value] = np.where(parts, self._ends[value], values[value])

    def _suppose(self, value: int, result: FloatArray, exact: FloatArray) -> None:
        """Put the ``exact`` values of neurons whose phases are supposed into ``result``."""
        for layer in self.relaxed.layers:
            if layer.value == value:
                rows, place = np.nonzero(self.signs[:, layer.places])
                at = rows, layer.free[place]
                result[at] = exact[at]

    def _form(self) -> LinearForm:
        met: dict[int, Rows] = {}
        network, forms = self.relaxed.network, {**self.relaxed.relaxation, **self._forms}
        slopes, splits = self._lower_slopes(), self._splits()
        ends = self.relaxed.bounds, len(network.nodes)
        form = upper_form(network, *ends, self._rows, forms, slopes=slopes, met=met, splits=splits)
        self.met = {value: dense(c) for value, c in met.items()}
        for one in self.relaxed.splits:
            # whoever splits an entry next begins with the coefficient that it has
            self.dials[:, one.places] = self._met(one.value, self.dials.shape[0])
        return form

    def _lower_slopes(self) -> dict[int, FloatArray]:
        """Return the lower slopes of all neurons by value; 0 or 1 where a phase is supposed."""
        result = {}
        for layer in self.relaxed.layers:
            slopes = np.tile(layer.slopes, (self._rows.shape[0], 1))
            signs = self.signs[:, layer.places]
            slopes[:, layer.free] = np.where(signs, signs > 0, self.dials[:, layer.places])
            result[layer.value] = slopes
        for turned in self.relaxed.turned:
            result[turned.value] = self.dials[:, turned.places]
        return result

    def _splits(self) -> RowSplits:
        phases: dict[int, RowPhases] = {}
        multipliers: dict[int, FloatArray] = {}
        for layer in self.relaxed.layers:
            signs = self.signs[:, layer.places]
            rows, place = np.nonzero(signs)
            if not rows.size:
                continue
            neurons, sign = layer.free[place], signs[rows, place]
            phases[layer.value] = RowPhases(rows, neurons)
            shape = signs.shape[0], self.relaxed.network.sizes[layer.source]
            total = multipliers.setdefault(layer.source, np.zeros(shape))
            total[rows, neurons] += sign * self.dials[:, layer.places][rows, place]
        parts: dict[int, Parts] = {}
        self._ends = {}
        for one in self.relaxed.splits:
            if (supposed := self.signs[:, one.places] != 0).any():
                way, ends = self.dials[:, one.places], self._range(one.value)
                parts[one.value] = Parts(supposed, way, *ends, self._ends, one.value)
        return RowSplits(phases, multipliers, parts)
