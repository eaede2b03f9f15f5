"""The margins under a perturbation as a sum over features, and what a network makes of the sum."""

import numpy as np

from milp_verix.global_search.pricing.perturbation_set import Perturbations
from verix_encodings import Network
from verix_encodings.arrays import FloatArray, dense
from verix_encodings.models.restricted import Restriction
from verix_encodings.models.scenario import network_of_selection
from verix_encodings.network.network import Affine


class FirstLayer:
    """``A ↦ m(x + (1 − A) ∘ δ)`` for the shares ``A`` of the free features of a ``restriction``.

    It is ``g(M A + b)`` with ``M = −W diag(δ)``, summed over the coordinates of each feature, and
    ``b = W (x + δ) + c``, where ``W`` and ``c`` are the first layer of the margins and alone read
    the input. ``δ`` is zero here where a feature is inside.
    """

    def __init__(self, perturbations: Perturbations, restriction: Restriction) -> None:
        self._p, self._count = perturbations, restriction.free.size
        self._position = restriction.position[perturbations.feature_of]
        self._weight = perturbations.weight(restriction.fixed_in)
        behind = perturbations.margins.behind_first()
        first = perturbations.margins.nodes[0] if behind is not None else None
        self._behind = behind if isinstance(first, Affine) else None
        if not isinstance(first, Affine):
            return
        self._first = first
        coordinates = np.flatnonzero(self._position >= 0)
        self._taken = coordinates[np.argsort(self._position[coordinates], kind="stable")]
        self._held, self._starts = np.unique(self._position[self._taken], return_index=True)
        self._columns = np.zeros((first.bias.size, self._taken.size))
        for _, matrix in first.terms:
            self._columns += dense(matrix[:, self._taken])

    def at(self, delta: FloatArray) -> tuple[FloatArray, FloatArray, Network]:
        """Return ``M``, ``b`` and ``g`` for ``delta``, shape (d,).

        Where more than one node reads the input, or an activation does, ``M A + b`` is ``A``.
        """
        moved = self._weight * delta
        start = self._p.centre + moved
        if self._behind is None:
            network = network_of_selection(
                self._p.margins, start, moved, self._position, self._count
            )
            return np.eye(self._count), np.zeros(self._count), network
        bias = self._first.bias.copy()
        for _, matrix in self._first.terms:
            bias += matrix @ start
        summed = np.zeros((bias.size, self._count))
        if self._held.size:
            parts = self._columns * -moved[self._taken]
            summed[:, self._held] = np.add.reduceat(parts, self._starts, axis=1)
        return summed, bias, self._behind
