"""Rows of backward bounds, each with lower slopes of its own, and phases that it supposes.

    g = max over x in the region of a·x + b      the bound of a row, by its slopes and multipliers
    ∂g/∂α_j = c⁻_j z_j                           c the coefficients met at neuron j
    ∂g/∂β_j = ± z_j                              + where z_j ≥ 0 is supposed, − where z_j ≤ 0 is

``z`` are the values if ``x`` is the maximiser and each activation is replaced by the line that the
bound takes; for a maximum of pairs, ``z`` is their difference. All ``α`` in [0, 1] and ``β ≥ 0``
are valid, so both move by projected steps of Adam, and no step can do harm but to tightness.
"""

from dataclasses import dataclass

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, IntArray, dense
from verix_encodings.bounds.interval import Bounds, Region
from verix_encodings.bounds.lines import relu_lines
from verix_encodings.bounds.patches import Rows
from verix_encodings.bounds.phases import Phases, Splits
from verix_encodings.network.network import Network
from verix_encodings.propagation.linear_form import (
    LinearForm,
    Relaxations,
    relaxation_of,
    upper_form,
)

_RATE = 0.5
_DECAY = 0.9
_MOMENTS = 0.9, 0.99
_TINY = 1e-300
_LOWER = 1e-3


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
class Relaxed:
    """A network where ``bounds`` hold, its relaxation, and its layers with two phases."""

    network: Network
    bounds: Bounds
    relaxation: Relaxations
    layers: tuple[Layer, ...]

    @classmethod
    def of(cls, network: Network, bounds: Bounds) -> "Relaxed":
        """Return the relaxation of ``network``."""
        relaxation = relaxation_of(network, bounds, len(network.nodes))
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
        return cls(network, bounds, relaxation, tuple(layers))

    @property
    def count(self) -> int:
        """The number of neurons with two phases."""
        return self.layers[-1].places.stop if self.layers else 0

    def first_dials(self, rows: int) -> FloatArray:
        """Return the slopes that CROWN takes, shape (rows, count)."""
        parts = [layer.slopes[layer.free] for layer in self.layers]
        return np.tile(np.concatenate([np.zeros(0), *parts]), (rows, 1))


class RowSlopes:
    """Slopes for upper bounds on the rows of ``C v``, shape (R, outputs), ``v`` the last value.

    ``dials`` are the slopes of neurons with two phases, and the multipliers of those whose phase is
    supposed; shape (R, count), as ``signs``: 1 where a row supposes ``z ≥ 0``, −1 where ``z ≤ 0``,
    else 0.
    """

    def __init__(
        self,
        relaxed: Relaxed,
        coefficients: FloatArray,
        dials: FloatArray | None = None,
        signs: FloatArray | None = None,
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

    def extremes(self, region: Region) -> FloatArray:
        """Bound the rows over ``region`` from above, rounded up; shape (R,)."""
        bounds, self.points = self._form().highest(region)
        return bounds

    def keep(self, rows: BoolArray) -> None:
        """Drop all other rows."""
        if rows.all():
            return
        self._rows = self._rows[rows]
        if len(self.points):  # none before the first bounds
            self.points = self.points[rows]
        self.met = {value: c[rows] for value, c in self.met.items()}
        self.dials, self.signs = self.dials[rows], self.signs[rows]
        self._mean, self._square = self._mean[rows], self._square[rows]

    def only(self, row: int, dials: FloatArray) -> "RowSlopes":
        """Return a row alone, with the ``dials``, shape (count,)."""
        signs = self.signs[[row]]
        return RowSlopes(self.relaxed, self._rows[[row]], dials[None], signs)

    def descend(self, step: int) -> None:
        """Move the dials of all rows by the step of that number, from one on."""
        first, second = _MOMENTS
        rate = _RATE * _DECAY ** (step - 1) * np.sqrt(1 - second**step) / (1 - first**step)
        derivative, split = self.derivatives(), self.signs != 0
        self._mean = first * self._mean + (1 - first) * derivative
        self._square = second * self._square + (1 - second) * derivative**2
        change = rate * self._scale(split) * self._mean / (np.sqrt(self._square) + _TINY)
        # derivatives that overflowed move nothing
        moved = self.dials - np.nan_to_num(change)
        self.dials = np.clip(moved, 0.0, np.where(split, np.inf, 1.0))

    def derivatives(self) -> FloatArray:
        """Return the derivatives of the rows' bounds by their dials, shape (R, count)."""
        result, values = np.zeros(self.dials.shape), self._values()
        for layer in self.relaxed.layers:
            sign, z = self.signs[:, layer.places], values[layer.source][:, layer.free]
            c = np.minimum(self._met(layer.value)[:, layer.free], 0.0)
            result[:, layer.places] = np.where(sign, sign, c) * z
        return result

    def _met(self, value: int) -> FloatArray:
        """Return the coefficients met at a value, zeros if no row depends on it."""
        shape = self.points.shape[0], self.relaxed.network.sizes[value]
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

        Lower lines count a little; neurons whose phase is supposed have -inf.
        """
        result = np.full(self.dials.shape, -np.inf)
        for layer in self.relaxed.layers:
            c = self._met(layer.value)[:, layer.free]
            cost = (np.maximum(c, 0.0) + _LOWER * np.abs(c)) * layer.heights
            result[:, layer.places] = np.where(self.signs[:, layer.places] == 0, cost, -np.inf)
        return result

    def _values(self) -> dict[int, FloatArray]:
        """Return the values of the lines that each row takes at its point: (rows, neurons) each."""
        lower, values = self._lower_slopes(), {0: self.points}
        last = max((layer.source for layer in self.relaxed.layers), default=0)
        for value in range(1, last + 1):
            values[value], low = self.relaxed.relaxation[value].followed(
                values, self.met.get(value), lower.get(value)
            )
            self._suppose(value, values[value], low)
        return values

    def _suppose(self, value: int, result: FloatArray, exact: FloatArray) -> None:
        """Put the ``exact`` values of neurons whose phases are supposed into ``result``."""
        for layer in self.relaxed.layers:
            if layer.value == value:
                rows, place = np.nonzero(self.signs[:, layer.places])
                at = rows, layer.free[place]
                result[at] = exact[at]

    def _form(self) -> LinearForm:
        met: dict[int, Rows] = {}
        form = upper_form(
            self.relaxed.network,
            self.relaxed.bounds,
            len(self.relaxed.network.nodes),
            self._rows,
            self.relaxed.relaxation,
            slopes=self._lower_slopes(),
            met=met,
            splits=self._splits(),
        )
        self.met = {value: dense(c) for value, c in met.items()}
        return form

    def _lower_slopes(self) -> dict[int, FloatArray]:
        """Return the lower slopes of all neurons by value; 0 or 1 where a phase is supposed."""
        result = {}
        for layer in self.relaxed.layers:
            slopes = np.tile(layer.slopes, (self._rows.shape[0], 1))
            signs = self.signs[:, layer.places]
            slopes[:, layer.free] = np.where(signs, signs > 0, self.dials[:, layer.places])
            result[layer.value] = slopes
        return result

    def _splits(self) -> Splits:
        phases: dict[int, Phases] = {}
        multipliers: dict[int, FloatArray] = {}
        for layer in self.relaxed.layers:
            signs = self.signs[:, layer.places]
            rows, place = np.nonzero(signs)
            if not rows.size:
                continue
            neurons, sign = layer.free[place], signs[rows, place]
            phases[layer.value] = Phases(rows, neurons)
            shape = signs.shape[0], self.relaxed.network.sizes[layer.source]
            total = multipliers.setdefault(layer.source, np.zeros(shape))
            total[rows, neurons] += sign * self.dials[:, layer.places][rows, place]
        return Splits(phases, multipliers)
