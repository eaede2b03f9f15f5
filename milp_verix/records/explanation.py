"""An abductive explanation: features that keep the prediction when they are fixed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from milp_verix.records.base import Counterfactual, Result


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Explanation(Result):
    """An abductive explanation of one prediction.

    Claim: with the features in ``explanation`` fixed, every input in the ball and the domain has
    the prediction of the original. Each feature in ``explanation`` but not in ``unknown`` has a
    counterfactual, so that it could not have been left out. Feature numbers refer to ``groups``.

    The fields of every result are those of :class:`~milp_verix.records.base.Result`. ``order``
    names the traversal order, ``permutation`` lists the features in it, and ``sensitivity`` is the
    score per feature behind it, or None. ``traversal`` names the traversal, or is None.
    ``unknown`` features were not decided, for the ``unknown_reasons``; ``explanation`` holds them
    too. ``bounds`` names the method that bounded neurons, ``formulation`` the encoding of ReLUs.

    ``lower_bound`` is a proven lower bound on the cost of every explanation that holds the features
    ``must`` and none of ``must_not``; it is None if no minimum was sought. ``costs`` are the costs
    of the features; None stands for 1 each, so that the cost is the size. ``scenarios`` are inputs
    of the ball of all features on which the bound of an unfinished search rests: another search
    may begin with them. Raises ``ValueError`` for fields that contradict each other.
    """

    order: str
    permutation: tuple[int, ...]
    sensitivity: tuple[float, ...] | None
    explanation: tuple[int, ...]
    irrelevant: tuple[int, ...]
    unknown_reasons: Mapping[int, str]
    counterfactuals: Mapping[int, Counterfactual]
    lower_bound: float | None = None
    bounds: str | None = None
    formulation: str | None = None
    costs: tuple[float, ...] | None = None
    traversal: str | None = None
    must: tuple[int, ...] = ()
    must_not: tuple[int, ...] = ()
    scenarios: tuple[NDArray[Any], ...] = ()

    def __post_init__(self) -> None:
        self._check()
        for name in ("unknown_reasons", "counterfactuals"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        Result.__post_init__(self)

    def _check(self) -> None:
        """Raise ``ValueError`` where the parts contradict each other."""
        everything = list(range(len(self.groups)))
        if sorted([*self.explanation, *self.irrelevant]) != everything:
            raise ValueError("explanation and irrelevant must hold each feature exactly once")
        if sorted(self.permutation) != everything:
            raise ValueError("permutation must hold each feature exactly once")
        if not set(self.unknown_reasons) <= set(self.explanation):
            raise ValueError("a feature that is unknown must be in the explanation")
        if set(self.counterfactuals) != set(self.explanation) - set(self.unknown_reasons):
            raise ValueError("each feature explained and not unknown needs a counterfactual")
        if self.costs is not None and len(self.costs) != len(self.groups):
            raise ValueError("each feature has one cost")
        if self.feature_names is not None and len(self.feature_names) != len(self.groups):
            raise ValueError("each feature has one name")
        if self.sensitivity is not None and len(self.sensitivity) != len(self.groups):
            raise ValueError("each feature has one score in sensitivity")
        if not {*self.must, *self.must_not} <= {*everything}:
            raise ValueError("must and must_not are features of the input")
        if self.lower_bound is not None and not 0 <= self.lower_bound <= self.cost:
            raise ValueError("the lower bound is above the cost of the explanation")

    @property
    def strategy(self) -> str | None:
        """The former name of ``traversal``."""
        return self.traversal

    @property
    def size(self) -> int:
        """Number of features in the explanation."""
        return len(self.explanation)

    @property
    def unknown(self) -> tuple[int, ...]:
        """Features that are in the explanation because they were not decided, ascending."""
        return tuple(sorted(self.unknown_reasons))

    @property
    def minimal(self) -> bool:
        """True if no single feature can be left out: all were decided."""
        return not self.unknown_reasons

    @property
    def cost(self) -> float:
        """Sum of the costs of the features in the explanation; its size where there are none."""
        if self.costs is None:
            return self.size
        total = math.fsum(self.costs[feature] for feature in self.explanation)
        return int(total) if total == int(total) else total

    @property
    def gap(self) -> float | None:
        """Amount by which another explanation could be cheaper; None where nobody asked."""
        return None if self.lower_bound is None else self.cost - self.lower_bound

    @property
    def proven(self) -> bool:
        """True if the lower bound is within a millionth of the cost.

        No cheaper explanation exists then, up to that rounding.
        """
        return self.gap is not None and self.gap <= 1e-6 * self.cost
