"""What a check must say of a tiny network, from every pattern of its ReLUs and nothing else.

Once it is decided which ReLUs are active, the network is affine and the inputs that agree with the
decision are a polytope, so the largest margin over the ball is the largest of as many linear
programs as there are patterns. Nothing here uses the code under test.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Array = NDArray[np.float64]

# basic solutions of programs this small are exact to rounding; the default 1e-7 need not be
_EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, slots=True)
class _Affine:
    """``x ↦ A x + b`` where ``G x ≤ h``."""

    A: Array
    b: Array
    G: Array
    h: Array


@dataclass(slots=True)
class BruteForce:
    """A network of ``layers`` at ``x``, all in float64, and what is asked about it.

    Classification unless ``delta`` is given; ``groups`` are the features; the domain is the box
    ``low``, ``high``.
    """

    layers: Sequence[tuple[Array, Array]]
    x: Array
    epsilon: float
    groups: Sequence[Sequence[int]]
    low: Array
    high: Array
    delta: float | None = None
    _worst: dict[frozenset[int], Array] = field(default_factory=dict)
    over_norms: dict[tuple[frozenset[int], int, float], float] = field(default_factory=dict)
    """The result of ``brute_force_norms.worst_margin``."""

    def evaluate(self, x: Array) -> Array:
        """Return the outputs at ``x``."""
        for matrix, bias in self.layers[:-1]:
            x = np.maximum(matrix @ x + bias, 0.0)
        matrix, bias = self.layers[-1]
        return matrix @ x + bias

    def margins(self) -> tuple[Array, Array]:
        """Return ``C`` and ``k``, the margins being ``C f(x') + k``."""
        outputs = self.evaluate(self.x)
        eye = np.eye(outputs.size)
        if self.delta is not None:
            return np.vstack([eye, -eye]), np.concatenate([-outputs, outputs]) - self.delta
        label = int(np.argmax(outputs))
        return np.delete(eye - eye[label], label, axis=0), np.zeros(outputs.size - 1)

    def worst(self, free: Sequence[int]) -> Array:
        """Return the supremum of each margin when the features ``free`` may change."""
        key = frozenset(free)
        if key not in self._worst:
            self._worst[key] = self._maxima([i for f in key for i in self.groups[f]])
        return self._worst[key]

    def holds(self, free: Sequence[int]) -> bool:
        """Whether every margin stays below zero, by more than any tolerance."""
        worst = float(np.max(self.worst(free)))
        assert abs(worst) > 1e-5, "too close to call: choose another network"
        return worst < 0

    def explanation(self, order: Sequence[int]) -> tuple[int, ...]:
        """Return what Algorithm 1 finds in ``order``, ascending."""
        irrelevant: list[int] = []
        for feature in order:
            if self.holds([*irrelevant, feature]):
                irrelevant.append(feature)
        return tuple(sorted(set(order) - set(irrelevant)))

    def nearest(
        self, weights: Array, held: Sequence[int] = (), budget: float | None = None
    ) -> float:
        """Return the least ``Σ w_i |x'_i − x_i|`` at which a margin reaches zero, inf if none does.

        The features ``held`` stay; ``budget`` is the radius of an L1 ball.
        """
        n, fixed = self.x.size, [i for f in held for i in self.groups[f]]
        low, high = np.maximum(self.x - self.epsilon, self.low), self.x + self.epsilon
        high = np.minimum(high, self.high)
        low[fixed] = high[fixed] = self.x[fixed]
        C, k = self.margins()
        start = _Affine(np.eye(n), np.zeros(n), np.zeros((0, n)), np.zeros(0))
        one, nothing = np.eye(n), np.zeros
        apart = np.block([[one, -one], [-one, -one]]), np.concatenate([self.x, -self.x])
        within = np.concatenate([nothing(n), np.ones(n)])[None, :]
        best = np.inf
        for piece in _pieces(self.layers, start, low, high):
            rows, constants = C @ piece.A, C @ piece.b + k
            open_ = _at_most(rows, constants, piece, low, high) >= 0
            for row, constant in zip(rows[open_], constants[open_], strict=True):
                inside = np.hstack([np.vstack([piece.G, -row]), nothing((piece.h.size + 1, n))])
                found = linprog(
                    np.concatenate([nothing(n), weights]),
                    A_ub=np.vstack([apart[0], inside, within]),
                    b_ub=np.concatenate(
                        [apart[1], piece.h, [constant], [1e9 if budget is None else budget]]
                    ),
                    bounds=[*zip(low, high, strict=True), *[(0, None)] * n],
                    options=_EXACT,
                )
                assert found.status in (0, 2), found.message
                best = min(best, found.fun if found.status == 0 else np.inf)
        return float(best)

    def _maxima(self, coordinates: Sequence[int]) -> Array:
        low, high = self.x.copy(), self.x.copy()
        for i in coordinates:
            low[i] = max(self.x[i] - self.epsilon, self.low[i])
            high[i] = min(self.x[i] + self.epsilon, self.high[i])
        C, k = self.margins()
        corners = product(*({low[i], high[i]} for i in range(self.x.size)))
        best = np.max([C @ self.evaluate(np.array(x)) + k for x in corners], axis=0)
        n = self.x.size
        start = _Affine(np.eye(n), np.zeros(n), np.zeros((0, n)), np.zeros(0))
        for piece in _pieces(self.layers, start, low, high):
            rows, constants = C @ piece.A, C @ piece.b + k
            # no linear program where weak duality says that the piece holds nothing better
            open_ = _at_most(rows, constants, piece, low, high) > best
            found = _maxima_over(rows[open_], constants[open_], piece, low, high)
            best[open_] = np.maximum(best[open_], found)
        return best


def least_cost(
    layers: Sequence[tuple[Array, Array]],
    box: tuple[Array, Array],
    cost: tuple[Array, Array],
    rows: tuple[Array, Array, Array],
) -> float:
    """Return the minimum of ``c·x + d·f(x)`` where ``P x + Q f(x) ≤ r``, for x in a box.

    ``cost`` is c and d; ``rows`` are P, Q and r. Infinite if there is no such x.
    """
    low, high = box
    start = _Affine(np.eye(low.size), np.zeros(low.size), np.zeros((0, low.size)), np.zeros(0))
    (c, d), (P, Q, r) = cost, rows
    best = np.inf
    for piece in _pieces(layers, start, low, high):
        G = np.vstack([piece.G, P + Q @ piece.A])
        h = np.concatenate([piece.h, r - Q @ piece.b])
        costs, constants = (c + d @ piece.A)[None], np.atleast_1d(d @ piece.b)
        # no linear program where weak duality says that the piece holds nothing better
        bounded = _Affine(piece.A, piece.b, G, h)
        if -_at_most(-costs, -constants, bounded, low, high)[0] >= best:
            continue
        found = linprog(
            costs[0],
            A_ub=G,
            b_ub=h,
            bounds=np.column_stack([low, high]),
            options=_EXACT,
        )
        assert found.status in (0, 2), found.message
        if found.status == 0:
            best = min(best, float(found.fun + d @ piece.b))
    return best


def _pieces(
    layers: Sequence[tuple[Array, Array]], piece: _Affine, low: Array, high: Array
) -> Iterator[_Affine]:
    """Yield the network as affine maps, one for each pattern that the box does not rule out."""
    (matrix, bias), *rest = layers
    A, b = matrix @ piece.A, matrix @ piece.b + bias
    if not rest:
        yield _Affine(A, b, piece.G, piece.h)
        return
    active, inactive = (_over_box(sign * A, sign * b, low, high) >= 0 for sign in (1, -1))
    split = active & inactive
    for pattern in product([False, True], repeat=np.count_nonzero(split)):
        on = active.copy()
        on[split] = pattern
        # z ≥ 0 where a split neuron is on, z ≤ 0 where it is off
        sign = np.where(on, -1.0, 1.0)
        G = np.vstack([piece.G, (sign[:, None] * A)[split]])
        h = np.concatenate([piece.h, (-sign * b)[split]])
        yield from _pieces(rest, _Affine(A * on[:, None], b * on, G, h), low, high)


def _over_box(rows: Array, constants: Array, low: Array, high: Array) -> Array:
    """Return the maximum of each ``row·x + constant`` over the box."""
    return np.sum(np.where(rows > 0, rows * high, rows * low), axis=1) + constants


def _at_most(rows: Array, constants: Array, piece: _Affine, low: Array, high: Array) -> Array:
    """Bound the maxima over a piece by ``max (row − λ g)·x + λ h`` over the box, for any λ ≥ 0.

    One constraint ``g·x ≤ h`` after the other; the least is where some ``row − λ g`` is zero.
    """
    bound = _over_box(rows, constants, low, high)
    for g, h in zip(piece.G, piece.h, strict=True):
        ratios = rows / np.where(g == 0, np.inf, g)
        for multipliers in np.maximum(ratios, 0.0).T:
            left, gained = rows - multipliers[:, None] * g, constants + multipliers * h
            bound = np.minimum(bound, _over_box(left, gained, low, high))
    return bound


def _maxima_over(rows: Array, constants: Array, piece: _Affine, low: Array, high: Array) -> Array:
    """Return the maximum of each ``row·x + constant`` over a piece, -inf where it is empty."""
    count = constants.size
    if not (count and piece.h.size):
        return _over_box(rows, constants, low, high)
    # one program of independent copies costs little more than one copy
    result = linprog(
        -rows.reshape(-1),
        A_ub=np.kron(np.eye(count), piece.G),
        b_ub=np.tile(piece.h, count),
        bounds=np.tile(np.column_stack([low, high]), (count, 1)),
        options=_EXACT,
    )
    assert result.status in (0, 2), result.message
    if result.status == 2:
        return np.full(count, -np.inf)
    return np.sum(rows * result.x.reshape(count, -1), axis=1) + constants
