"""The numbers and switches that steer the search for a minimum, in one place.

No number here decides whether a bound or an explanation is right: they only divide time and work.
"""

import warnings
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from milp_verix.base.arguments import INTEGER, NUMBER, TEXTS, Options, names_of
from milp_verix.base.errors import InputError, listed, require_one_of, shown

TECHNIQUES = {
    "budget bound": "a first lower bound from one perturbation, by backward bounds",
    "contrast cover": "a lower bound from contrastive sets that gradients find",
    "proposals": "better explanations near optima of the relaxation",
    "exact pricing": "the worst perturbation by programs, not by gradients alone",
    "enumeration": "nodes closed by refuting each set that the reduced costs leave",
    "scenario budget": "bounds of scenarios for sets that cost no more than the incumbent alone",
    "reduced-cost fixing": "features fixed in a node by their reduced costs",
}
"""The techniques that :class:`SearchLimits` can switch off, and their descriptions.

``benchmarks/measured/ablation.md`` has what each gains on digits and MNIST 10×2.
"""


@dataclass(frozen=True, slots=True, init=False)
class SearchLimits(Options):
    """Limits on the work of each technique of a search.

    The defaults were chosen on MNIST 10×2 (ε = 0.05) and the digits networks, most of them together
    and by hand. A commit behind an argument names the row of ``benchmarks/history.md`` that
    measured its number; no measurement of the others alone is known. ``without`` names techniques
    of :data:`TECHNIQUES` that are switched off; raises ``InputError`` for others. Numbers that were
    arguments of version 0.2 are ignored, with a warning; their names go after the next version.

    Args:
        most_free: the most free features of a node that is enumerated; 110, 300 and 400 were no
            faster (``b58400e``).
        most_sets: the most sets that one enumeration may list.
        most_work: the most multiplications to evaluate one perturbation on all sets.
        estimate_per_set: sets are listed if their estimated number is at most this times the limit.
        pricings: pricing steps at a node before ``pricing_period`` applies.
        pricing_period: later visits to a node from one pricing step to the next.
        least_harm: a new scenario needs a margin of this share of the largest one so far.
        proposal_share: share of the work for proposals; twice as much proved less (``01cfec1``).
        proposals: the most proposals at one cost.
    """

    most_free: int
    most_sets: int
    most_work: float
    estimate_per_set: float
    pricings: int
    pricing_period: int
    least_harm: float
    proposal_share: float
    proposals: int
    without: frozenset[str]

    # shares of the work planned for the first lower bound, the first explanation, contrastive sets
    # while that is looked for, and these beside a master, with the seconds of work before them
    quick_share: ClassVar[float] = 0.1
    most_explanation_share: ClassVar[float] = 0.5
    cover_share: ClassVar[float] = 0.1
    master_cover_share: ClassVar[float] = 0.5
    first_cover_seconds: ClassVar[float] = 0.25
    # kept for counterfactuals at the end: a share of the time limit, the least and the most
    # seconds of the clock, the largest share however short the limit is; seconds after Ctrl-C
    final_share: ClassVar[float] = 0.025
    final_seconds: ClassVar[tuple[float, float]] = (1.0, 5.0)
    most_final_share: ClassVar[float] = 0.25
    interrupt_seconds: ClassVar[float] = 1.0
    # share of the work for exact pricing, and seconds in addition
    pricing_share: ClassVar[float] = 0.25
    first_pricing_seconds: ClassVar[float] = 2.0
    # attacks begin from so many latest perturbations and counterfactuals of an explanation, with
    # gradient climbs for each margin, and before a set is checked
    newest: ClassVar[int] = 300
    remembered: ClassVar[int] = 10
    climbs: ClassVar[int] = 3
    climbs_before_check: ClassVar[int] = 16
    # proposals: failures that halve the share (`d5722f4`, for the rule, not for the number), swaps,
    # and features considered for removal, and as many for insertion
    many_failures: ClassVar[int] = 50
    swaps: ClassVar[int] = 60
    swap_candidates: ClassVar[int] = 60
    share_free: ClassVar[None] = None

    def __init__(
        self,
        *,
        most_free: int = 200,
        most_sets: int = 50_000,
        most_work: float = 2e8,
        estimate_per_set: float = 20.0,
        pricings: int = 2,
        pricing_period: int = 4,
        least_harm: float = 1e-3,
        proposal_share: float = 0.15,
        proposals: int = 20,
        without: frozenset[str] = frozenset(),
        **gone: Any,
    ) -> None:
        given = locals()
        for one in fields(self):
            object.__setattr__(self, one.name, given[one.name])
        self._accept({"without": TEXTS})
        names = names_of(self.without)
        if ignored := [*gone, *(name for name in names if name in _GONE)]:
            text = f"gone, and ignored: {listed(ignored)}; leave them out of SearchLimits"
            warnings.warn(text, FutureWarning, stacklevel=2)
        names = [name for name in names if name not in _GONE]
        for name in names:
            require_one_of(TECHNIQUES, name, "technique")
        object.__setattr__(self, "without", frozenset(names))
        for one in fields(self):
            if one.type in (int, float):
                value, kind = given[one.name], INTEGER if one.type is int else NUMBER
                if not kind.fits(value) or not value >= 0:
                    raise InputError(f"{one.name} is {kind.text} of at least 0, got {shown(value)}")

    def uses(self, technique: str) -> bool:
        """Return whether a technique of :data:`TECHNIQUES` is on."""
        require_one_of(TECHNIQUES, technique, "technique")
        return technique not in self.without


_GONE = ("subtrees",)
"""Techniques of version 0.2 that are gone."""
