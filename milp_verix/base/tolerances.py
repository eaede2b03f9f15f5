"""Every tolerance of the toolkit, in one frozen object that is passed explicitly."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from milp_verix.base.arguments import NUMBER, Options
from milp_verix.base.errors import InputError, require_one_of
from verix_encodings.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Tolerances(Options):
    """The distances that separate a proof from noise.

    A margin is how far a rival is ahead, in the units of the network's outputs; a claim holds
    where every margin is negative over the whole ball.
    """

    margin: float = 1e-6
    """A proven bound counts only if it is below zero by more than this …"""
    relative_margin: float = 1e-9
    """… and by more than this times the size of the margins that the bounds allow."""
    early_violation: float = 1e-4
    """A solve stops early on a point whose margin exceeds this; a smaller one is optimised first,
    since rounding in the network's own precision may undo it."""
    feasibility: float = 1e-9
    """Primal and dual feasibility tolerance asked of the solvers."""
    integrality: float = 1e-9
    """Integrality tolerance asked of the solvers."""
    largest_big_m: float = 1e4
    """Above this big-M a proof is distrusted: integrality tolerance times big-M leaks through a
    closed ReLU. A solver may declare a smaller limit of its own."""

    def __post_init__(self) -> None:
        self._accept({})
        for name, value in ((field.name, getattr(self, field.name)) for field in fields(self)):
            if not NUMBER.fits(value) or not value >= 0 or (value == np.inf and name in _FINITE):
                raise InputError(f"the tolerance {name} is a number of at least 0, got {value!r}")

    def decisive(self, magnitude: float) -> float:
        """The least distance from zero at which a bound on a margin of this magnitude counts."""
        return max(self.margin, self.relative_margin * magnitude)

    def needed(self, magnitudes: FloatArray) -> FloatArray:
        """Return :meth:`decisive` for each of ``magnitudes``, in the same shape (margins,)."""
        return np.fmax(self.margin, self.relative_margin * magnitudes)


_FINITE = {one.name for one in fields(Tolerances)} - {"largest_big_m"}


def tolerances_of(given: Any) -> Tolerances:
    """Return ``given``, or the tolerances with the values in a mapping, the defaults for None."""
    if isinstance(given, Tolerances):
        return given
    known = [field.name for field in fields(Tolerances)]
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"tolerances are Tolerances, or values by name, got {given!r}")
    for name in given or ():
        require_one_of(known, name, "tolerance")
    return Tolerances(**(given or {}))
