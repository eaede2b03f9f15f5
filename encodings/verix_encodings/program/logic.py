"""Constraints besides rows: implications of a binary, special ordered sets, and maxima.

Not every solver takes them, so a program lists the kinds that it has (``Program.needs``).
"""

from dataclasses import dataclass

from verix_encodings.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Indicator:
    """``v_b = s  ⇒  Σ_k a_k v_{j_k} ≤ r`` for a binary column ``b`` and ``s ∈ {0, 1}``.

    ``binary`` is ``b``, ``value`` is ``s``; ``columns`` and ``coefficients`` are ``j`` and ``a``,
    of one shape; ``upper`` is ``r``.
    """

    name: str
    binary: int
    value: int
    columns: IntArray
    coefficients: FloatArray
    upper: float


@dataclass(frozen=True, slots=True, eq=False)
class Sos1:
    """At most one of the ``columns`` is not zero: a special ordered set of type 1."""

    name: str
    columns: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Maximum:
    """``v_r = max(v_{j_1}, v_{j_2}, …, c)``.

    ``result`` is ``r``; ``columns`` are ``j``; ``constant`` is ``c``, None where there is none.
    """

    name: str
    result: int
    columns: IntArray
    constant: float | None
