"""The ball around an input, seen from both sides of a proof.

A claim quantifies over real vectors: its box is rounded *outward* to float64, so that it holds the
whole ball. A witness is an array in the network's own type: its box is rounded *inward* to that
type, so that every array inside it lies in the ball and in the domain by definition, with no
tolerance. Both are computed with error-free transformations, not with a safety factor.
"""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from milp_verix.base.arguments import number_in, refuse_file
from milp_verix.base.errors import InputError, require_one_of
from milp_verix.base.number_text import exact
from verix_encodings import BallEncoding, Interval, NormBall, ball_encoding
from verix_encodings.arrays import BoolArray, FloatArray, IntArray, relative_error
from verix_encodings.blocks.input_ball import mixed_box
from verix_encodings.bounds.boxes import one_hot_box
from verix_encodings.bounds.mixed_domain import Clause, MixedDomain
from verix_encodings.bounds.norm_ball import length

Domain: TypeAlias = tuple[ArrayLike, ArrayLike]
"""Lower and upper end of the input domain: scalars, or arrays of the input's shape."""

UNIT_DOMAIN: Domain = (0.0, 1.0)
"""The domain where none is given."""

NORMS = ("linf", "l1", "l2")
_ORDERS = {"l1": 1, "l2": 2}

_SHRINKS = (1.0, *(1.0 - 2.0**-k for k in (50, 40, 30, 26, 22, 18, 14, 10, 6, 3)))
"""Rounding to the network's dtype may carry a point out of the ball; then it moves inwards."""

_ROUNDING, _FEW_GREYS = 1e-5, 16
"""How far rounding may carry an input out of its domain; levels of grey that are no bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Ball:
    """The ball of radius ``epsilon`` around ``centre`` in ``norm``, inside the input domain.

    ``centre`` is flat, shape (d,), in the network's own dtype; ``domain_lower``, ``domain_upper``
    are float64, shape (d,), infinite where the input is not limited. ``radii`` are the radii of the
    coordinates, (d,), where these differ. ``mixed`` are integral coordinates and rules that the
    points of the ball satisfy; its norm is L∞ then, and integral coordinates have whole radii and
    ends. Boxes leave ``mixed`` out, regions all of it but one-hot blocks: they hold the ball. Where
    ``kept`` is True, (d,), witnesses lie in its ball's ends. Built by :func:`make_ball` and
    :func:`milp_verix.problem.meeting.make_described_ball`.
    """

    centre: NDArray[Any]
    epsilon: float
    norm: str
    domain_lower: FloatArray
    domain_upper: FloatArray
    radii: FloatArray | None = field(default=None, kw_only=True)
    mixed: MixedDomain | None = field(default=None, kw_only=True)
    outer: Interval = field(init=False)
    inner_lower: NDArray[Any] = field(init=False)
    inner_upper: NDArray[Any] = field(init=False)
    kept: InitVar[tuple[BoolArray, "Ball"] | None] = field(default=None, kw_only=True)

    def __post_init__(self, kept: tuple[BoolArray, "Ball"] | None) -> None:
        x = self.centre.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # make_ball sees where it matters
            radius = np.full(x.shape, self.epsilon) if self.radii is None else self.radii
            below, above = _exact_sum(x, -radius), _exact_sum(x, radius)
        outer = Interval(
            np.maximum(_rounded(below, -np.inf), self.domain_lower),
            np.minimum(_rounded(above, np.inf), self.domain_upper),
        )
        object.__setattr__(self, "outer", outer)
        lower = np.maximum(_rounded(below, np.inf), self.domain_lower)
        upper = np.minimum(_rounded(above, -np.inf), self.domain_upper)
        dtype = self.centre.dtype
        # the centre is in the ball, whatever the grid of its type is
        lower = np.minimum(rounded_to(lower, dtype, np.inf), self.centre)
        upper = np.maximum(rounded_to(upper, dtype, -np.inf), self.centre)
        if kept is not None:  # outer ends there were rounded outward
            there, ball = kept
            lower = np.where(there, ball.inner_lower, lower)
            upper = np.where(there, ball.inner_upper, upper)
        object.__setattr__(self, "inner_lower", lower)
        object.__setattr__(self, "inner_upper", upper)
        for array in (self.centre, self.inner_lower, self.inner_upper):
            array.flags.writeable = False

    def box(self, free: IntArray) -> Interval:
        """Return the box of the claim with the coordinates ``free`` free, the others fixed."""
        lower = self.centre.astype(np.float64)
        upper = lower.copy()
        lower[free] = self.outer.lower[free]
        upper[free] = self.outer.upper[free]
        return Interval(lower, upper)

    def between(
        self,
        moved: IntArray,
        ends: tuple[FloatArray, FloatArray],
        centre: NDArray[Any],
        clauses: Sequence[Clause] = (),
    ) -> "Ball":
        """Return the box where coordinates ``moved`` lie between ``ends``, the others as here.

        The ends, two arrays of the shape of ``moved``, take the place of radii; ``clauses`` are
        further rules. ``centre``, shape (d,), in the network's dtype, is a point of the box. The
        norm must be L∞.
        """
        inside = np.zeros(centre.size, dtype=bool)
        inside[moved] = True
        lower, upper = self.outer.lower.copy(), self.outer.upper.copy()
        lower[moved], upper[moved] = ends
        mixed = self.mixed
        if clauses:
            mixed = mixed or MixedDomain(np.zeros(centre.size, dtype=bool))
            mixed = replace(mixed, rules=(*mixed.rules, *clauses))
        return replace(
            self,
            centre=centre,
            domain_lower=lower,
            domain_upper=upper,
            radii=np.full(centre.size, np.inf),
            mixed=mixed,
            kept=(~inside, self),
        )

    def region(self, free: IntArray) -> Interval | NormBall:
        """Return the region that the claim is about, with the coordinates ``free`` free."""
        box = self.box(free)
        if self.mixed is not None:
            return one_hot_box(box, self.mixed.blocks)
        if self.norm == "linf":
            return box
        return NormBall(box, self.centre.astype(np.float64), self.epsilon, _ORDERS[self.norm])

    def nearest_witness(self, point: FloatArray, free: IntArray) -> NDArray[Any]:
        """Return the array of the network's dtype next to ``point`` that lies in the ball.

        ``point`` has shape (d,); coordinates outside ``free`` are those of the centre.
        """
        if self.mixed is not None:
            return self._mixed_witness(point, free, self.mixed)
        witness = self._rounded_into_the_box(point, free)
        if self._in_the_norm(witness, free):  # as it is: x + (point − x) may lose the last bit
            return witness
        centre = self.centre.astype(np.float64)
        moved = np.zeros_like(centre)
        with np.errstate(over="ignore"):
            moved[free] = point[free] - centre[free]
            far = length(moved, _ORDERS[self.norm])
        if not np.isfinite(far):
            return self.centre.copy()
        scale = self.epsilon / far if far > self.epsilon else 1.0
        for shrink in _SHRINKS:
            witness = self._rounded_into_the_box(centre + shrink * scale * moved, free)
            if self._in_the_norm(witness, free):
                return witness
        return self.centre.copy()

    def some_input(self, point: FloatArray, free: IntArray) -> NDArray[Any]:
        """Return an input of the ball's box near ``point``; it may break rules of a mixed ball."""
        if self.mixed is None:
            return self.nearest_witness(point, free)
        return self._rounded_into_the_box(self.mixed.snapped(point), free)

    def encoding(
        self,
        region: Interval | NormBall,
        *,
        quadratic: bool = False,
        points: Sequence[FloatArray] = (),
    ) -> BallEncoding:
        """Return the encoding of ``region``, see :func:`verix_encodings.ball_encoding`."""
        if self.mixed is not None and isinstance(region, Interval):
            return partial(mixed_box, box=region, domain=self.mixed)
        return ball_encoding(region, quadratic=quadratic, points=points)

    def _mixed_witness(self, point: FloatArray, free: IntArray, mixed: MixedDomain) -> NDArray[Any]:
        """Return a witness on the grid: the point snapped, the nearest one, or the centre."""
        witness = self._rounded_into_the_box(mixed.snapped(point), free)
        if mixed.contains(witness):
            return witness
        lower, upper = self.centre.astype(np.float64), self.centre.astype(np.float64)
        lower[free], upper[free] = self.inner_lower[free], self.inner_upper[free]
        from milp_verix.inputs.nearest_point import nearest_point

        precision = float(np.finfo(self.centre.dtype).eps)
        nearest = nearest_point(mixed, Interval(lower, upper), point, precision)
        if nearest is None:
            return self.centre.copy()
        witness = self._rounded_into_the_box(mixed.snapped(nearest), free)
        return witness if mixed.contains(witness) else self.centre.copy()

    def _in_the_norm(self, witness: NDArray[Any], free: IntArray) -> bool:
        """Return whether ``‖witness − centre‖_p ≤ ε``, by fractions if float64 leaves it open."""
        if self.norm == "linf":
            return True  # its box is the ball
        with np.errstate(all="ignore"):
            moved = np.abs(witness[free].astype(np.float64) - self.centre[free].astype(np.float64))
            total = float(np.sum((moved / self.epsilon) ** _ORDERS[self.norm]))
        # terms too small for float64 change far less than this
        error = relative_error(free.size)
        if abs(total - 1.0) > error * total:
            return total < 1.0
        pairs = zip(witness[free], self.centre[free], strict=True)
        moves = [abs(Fraction(float(w)) - Fraction(float(c))) for w, c in pairs if w != c]
        if self.norm == "l1":
            return sum(moves, Fraction()) <= Fraction(self.epsilon)
        return sum((m * m for m in moves), Fraction()) <= Fraction(self.epsilon) ** 2

    def _rounded_into_the_box(self, point: FloatArray, free: IntArray) -> NDArray[Any]:
        witness = self.centre.copy()
        with np.errstate(over="ignore"):  # infinity is clipped like any number
            rounded = point[free].astype(self.centre.dtype)
        witness[free] = np.clip(rounded, self.inner_lower[free], self.inner_upper[free])
        return witness

    def contains(self, witness: NDArray[Any], free: IntArray) -> bool:
        """Return whether ``witness``, of the network's dtype, is in the ball and the domain.

        Exact: the inner ends are the outermost numbers of that dtype that satisfy the definition.
        """
        fixed = np.ones(self.centre.size, dtype=bool)
        fixed[free] = False
        return bool(
            witness.shape == self.centre.shape
            and witness.dtype == self.centre.dtype
            and np.array_equal(witness[fixed], self.centre[fixed])
            and np.all(witness[free] >= self.inner_lower[free])
            and np.all(witness[free] <= self.inner_upper[free])
            and self._in_the_norm(witness, free)
            and (self.mixed is None or self.mixed.contains(witness))
        )


def _way_inside(x: NDArray[Any], lower: FloatArray, upper: FloatArray) -> str:
    """Return what to do about an input that is outside of its domain."""
    alike = bool((lower == lower[0]).all() and (upper == upper[0]).all())
    ends = f"{exact(lower[0])}, {exact(upper[0])}" if alike else "lower, upper"
    if np.allclose(np.clip(x, lower, upper), x, rtol=_ROUNDING, atol=_ROUNDING):
        return f"by rounding, it seems; numpy.clip(x, {ends}) is inside"
    if ends == "0, 1" and x.min() >= 0 and _FEW_GREYS < x.max() <= 255:
        return "rescale the input (x / 255, if it is 0 to 255), or give the domain it lives in"
    least, most = exact(min(lower.min(), x.min())), exact(max(upper.max(), x.max()))
    wider = f", such as domain=({least}, {most})" * alike
    return f"give the domain of the model's data{wider}, or scale the input as that data"


def make_ball(
    x: NDArray[Any],
    epsilon: float | str,
    norm: str = "linf",
    domain: Domain = (0.0, 1.0),
    names: Sequence[str] | None = None,
) -> Ball:
    """Return the ball around ``x``, an array in the network's own dtype.

    Errors call coordinates by their ``names``, if given. Raises ``InputError`` for an ``x`` that is
    not finite or outside the domain, an ``epsilon`` that is negative or not finite, an unknown
    norm, an empty domain.
    """
    require_one_of(NORMS, norm, "norm")
    try:
        radius = number_in(epsilon)
    except InputError as error:
        refuse_file(epsilon, "epsilon")
        raise InputError(
            f"epsilon must be a number, got {epsilon!r}: give one such as 0.05 or '8/255'; shares "
            "such as '10%' need a description, inputs="
        ) from error
    if not (np.isfinite(radius) and radius >= 0):
        raise InputError(
            f"epsilon must be finite and not negative, got {epsilon}; inf, the whole domain, needs "
            "a description, inputs="
        )
    epsilon = radius
    flat = np.array(x).reshape(-1)
    if not np.isfinite(flat).all():
        where = int(np.flatnonzero(~np.isfinite(flat))[0])
        text = _coordinate(where, names)
        raise InputError(f"the input is {flat[where]} at {text}; it must be finite")
    lower, upper = domain_ends(domain, x.shape)
    outside = np.flatnonzero((flat < lower) | (flat > upper))
    if outside.size:
        where = int(outside[0])
        raise InputError(
            f"the input is {flat[where]} at {_coordinate(where, names)}, outside its domain "
            f"[{exact(lower[where])}, {exact(upper[where])}] ({outside.size} of {flat.size} "
            f"coordinates outside): {_way_inside(flat, lower, upper)}; a table's is in `inputs`"
        )
    wide = flat.astype(np.float64)
    with np.errstate(over="ignore"):
        ends = np.maximum(wide - epsilon, lower), np.minimum(wide + epsilon, upper)
    if not np.isfinite(ends).all():
        raise InputError(
            f"epsilon {epsilon} reaches beyond the numbers of float64 from this input; "
            "give a smaller one, or a finite domain"
        )
    return Ball(flat, epsilon, norm, lower, upper)


def _coordinate(index: int, names: Sequence[str] | None) -> str:
    return f"coordinate {index}" if names is None else f"coordinate {index}, {names[index]}"


def domain_ends(domain: Domain, shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """Return the ends of each coordinate, flat; ``InputError`` for a domain that is none."""
    try:
        low, high = domain
        ends = [
            np.array(np.broadcast_to(np.asarray(end, dtype=np.float64), shape)).reshape(-1)
            for end in (low, high)
        ]
    except (TypeError, ValueError) as error:
        raise InputError(
            "the domain is a pair (lower, upper) of numbers, or of arrays of the input's shape "
            f"{shape}: {error}"
        ) from error
    lower, upper = ends
    if np.isnan(lower).any() or np.isnan(upper).any() or np.any(lower > upper):
        raise InputError("the domain needs lower <= upper everywhere and no NaN")
    return lower, upper


def _exact_sum(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ``s`` and ``e`` with ``s + e = x + y`` exactly (Knuth's TwoSum)."""
    s = x + y
    z = s - x
    return s, (x - (s - z)) + (y - z)


def _rounded(exact: tuple[FloatArray, FloatArray], towards: float) -> FloatArray:
    """Round the exact sum ``s + e`` to the next float64 towards ±infinity."""
    s, e = exact
    beyond = e > 0 if towards > 0 else e < 0
    return np.where(beyond, np.nextafter(s, towards), s)


def rounded_to(values: FloatArray, dtype: np.dtype[Any], towards: float) -> NDArray[Any]:
    """Round ``values`` to ``dtype`` towards ±infinity."""
    with np.errstate(over="ignore"):
        result = values.astype(dtype)
    wrong = result < values if towards > 0 else result > values
    return np.where(wrong, np.nextafter(result, dtype.type(towards)), result)
