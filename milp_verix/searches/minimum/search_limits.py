"""The numbers and switches that steer the search for a minimum, in one place.

No number here decides whether a bound or an explanation is right: they only divide time and work.

The interface of masters: the methods that raise the lower bound of a search.
"""

import warnings
from dataclasses import dataclass, fields
from typing import Protocol

from milp_verix.base.arguments import INTEGER, NUMBER, TEXTS, Options, names_of
from milp_verix.base.clock import Deadline
from milp_verix.base.errors import InputError, require_one_of, shown
from milp_verix.oracle.verdict import SearchEffort

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


@dataclass(frozen=True, slots=True)
class SearchLimits(Options):
    """Limits on the work of each technique of a search; seconds are those of work.

    What is kept for counterfactuals, ``final_`` and ``interrupt_seconds``, is wall-clock time: it
    only ends the search.

    The defaults were chosen on MNIST 10×2 (ε = 0.05) and the digits networks, most of them together
    and by hand. A commit behind an argument names the row of ``benchmarks/history.md`` that
    measured its number; no measurement of the others alone is known. ``without`` names techniques
    of :data:`TECHNIQUES` that are switched off; raises ``InputError`` for others.

    Args:
        quick_share: share of the work planned for the first lower bound.
        first_cover_seconds: seconds for contrastive sets before the first explanation.
        cover_share: share of the work for contrastive sets while it is looked for.
        master_cover_share: share of the work for contrastive sets beside a master.
        most_explanation_share: the largest share of the work planned for the first explanation.
        final_share: share of the time limit kept for counterfactuals at the end.
        final_seconds: the least and the most seconds kept for them.
        most_final_share: the largest share kept for them, however short the time limit is.
        interrupt_seconds: seconds for counterfactuals after Ctrl-C.
        most_free: the most free features of a node that is enumerated; 110, 300 and 400 were no
            faster (``b58400e``).
        share_free: ignored, with a warning; it is gone after the next version.
        most_sets: the most sets that one enumeration may list.
        most_work: the most multiplications to evaluate one perturbation on all sets.
        estimate_per_set: sets are listed if their estimated number is at most this times the limit.
        pricings: pricing steps at a node before ``pricing_period`` applies.
        pricing_period: later visits to a node from one pricing step to the next.
        pricing_share: share of the work for exact pricing.
        first_pricing_seconds: seconds for exact pricing in addition to that share.
        least_harm: a new scenario needs a margin of this share of the largest one so far.
        newest: the number of latest perturbations that attacks begin from.
        climbs: gradient climbs for each margin.
        climbs_before_check: gradient climbs before a set is checked.
        proposal_share: share of the work for proposals; twice as much proved less (``01cfec1``).
        many_failures: after so many failed proposals their share is halved (``d5722f4``, for the
            rule, not for the number).
        remembered: counterfactuals of an explanation that attacks begin from.
        proposals: the most proposals at one cost.
        swaps: the most swaps of a proposal.
        swap_candidates: features considered for removal, and as many for insertion.
    """

    quick_share: float = 0.1
    first_cover_seconds: float = 0.25
    cover_share: float = 0.1
    master_cover_share: float = 0.5
    most_explanation_share: float = 0.5
    final_share: float = 0.025
    final_seconds: tuple[float, float] = (1.0, 5.0)
    most_final_share: float = 0.25
    interrupt_seconds: float = 1.0
    most_free: int = 200
    share_free: float | None = None
    most_sets: int = 50_000
    most_work: float = 2e8
    estimate_per_set: float = 20.0
    pricings: int = 2
    pricing_period: int = 4
    pricing_share: float = 0.25
    first_pricing_seconds: float = 2.0
    least_harm: float = 1e-3
    newest: int = 300
    climbs: int = 3
    climbs_before_check: int = 16
    proposal_share: float = 0.15
    many_failures: int = 50
    remembered: int = 10
    proposals: int = 20
    swaps: int = 60
    swap_candidates: int = 60
    without: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self._accept({"without": TEXTS})
        names = [name for name in names_of(self.without) if name not in _GONE]
        if self.share_free is not None or len(names) < len(names_of(self.without)):
            text = "share_free and the technique 'subtrees' are gone, and ignored: leave them out"
            warnings.warn(text, FutureWarning, stacklevel=3)
            object.__setattr__(self, "share_free", None)
        for name in names:
            require_one_of(TECHNIQUES, name, "technique")
        object.__setattr__(self, "without", frozenset(names))
        for name, usual in _NUMBERS.items():
            value = getattr(self, name)
            kind = INTEGER if isinstance(usual, int) else NUMBER
            if not kind.fits(value) or not value >= 0:
                raise InputError(f"{name} is {kind.text} of at least 0, got {shown(value)}")

    def uses(self, technique: str) -> bool:
        """Return whether a technique of :data:`TECHNIQUES` is on."""
        require_one_of(TECHNIQUES, technique, "technique")
        return technique not in self.without


_GONE = ("subtrees",)
"""Techniques of version 0.2 that are gone."""
_NUMBERS = {
    one.name: one.default for one in fields(SearchLimits) if isinstance(one.default, int | float)
}


class Master(Protocol):
    """A method that raises the lower bound step by step."""

    @property
    def bound(self) -> float:
        """A bound on the cost of explanations cheaper than the incumbent, infinite if none is."""

    @property
    def done(self) -> bool:
        """True if no further step can raise the bound, or none is needed."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the reader of the result on how the bound came about."""

    @property
    def effort(self) -> SearchEffort:
        """The programs, nodes and iterations spent on the bound so far."""

    def step(self, deadline: Deadline) -> None:
        """Do one step, which ends at ``deadline`` at the latest."""

    def close(self) -> None:
        """Release the solver."""
