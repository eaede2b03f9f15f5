"""Minima are those of brute force whichever technique is left out, and whatever the limits.

Limits that no search would choose make enumerations happen in tiny problems.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import InputError, MinimumProgress, minimum
from milp_verix.searches.budget_bound import ContrastCover
from milp_verix.searches.minimum import minimum_search as search
from milp_verix.searches.minimum.branch_and_cut import BranchAndCut, Relaxation
from milp_verix.searches.minimum.enumeration import NodeEnumeration
from milp_verix.searches.minimum.incumbent import ExactPricing
from milp_verix.searches.minimum.minimum_search import Explainer
from milp_verix.searches.minimum.proposals import Proposals
from milp_verix.searches.minimum.search_limits import TECHNIQUES, SearchLimits
from tests.support.brute_force_cases import Case, case
from tests.support.exhaustive_explanations import posed, truth, wide_case, wide_truth
from tests.support.searches import begin_with_everything

_SEEDS = {"linf": range(16), "l1": (4, 8, 11, 14), "l2": (4, 8, 11, 14)}
_EAGER: dict[str, Any] = {"most_sets": 4}
# better explanations leave less to search
_BETTER = frozenset({"proposals"})
# bounds before the tree leave less to search, too
_QUICK = frozenset({"budget bound", "contrast cover"})
_LESS = _BETTER | _QUICK
_WAYS: dict[str, SearchLimits] = {
    "as it is": SearchLimits(),
    **{f"without {name}": SearchLimits(without=frozenset({name})) for name in sorted(_QUICK)},
    "the tree": SearchLimits(without=_QUICK),
    **{
        f"the tree, without {name}": SearchLimits(without=_QUICK | {name})
        for name in sorted(TECHNIQUES.keys() - _QUICK)
    },
    "without any": SearchLimits(without=frozenset(TECHNIQUES)),
    "eager": SearchLimits(**_EAGER, without=_LESS),
    **{
        f"eager, without {name}": SearchLimits(**_EAGER, without=_LESS | {name})
        for name in sorted(TECHNIQUES.keys() - _LESS)
    },
}


@dataclass(frozen=True)
class Asked:
    """A problem, the objective that it is asked with, and the least cost by brute force."""

    problem: Case
    options: dict[str, Any]
    least: float | None


@cache
def _asked(seed: int, norm: str) -> Asked:
    """Return a problem with costs, features that must or must not be in, and a gap, in turn."""
    wide = norm == "linf" and seed % 2 == 1
    problem = wide_case(seed // 2) if wide else case(seed)
    explanations, _ = wide_truth(seed // 2) if wide else truth(seed, norm)
    count, rng = len(problem.groups), np.random.default_rng([seed, 5])
    kinds = np.ones(count), rng.integers(0, 5, count).astype(float), rng.random(count).round(3)
    costs = kinds[seed % 8 // 2 % 3]
    drawn = rng.permutation(count).tolist()
    must, must_not = set(drawn[: seed % 5 // 3]), set(drawn[2 : 2 + seed % 7 // 3])
    if seed % 8 == 6:
        must, must_not = set(), set(drawn)
    allowed = [one | must for one in explanations if not one & must_not]
    least = min((float(sum(costs[f] for f in one)) for one in allowed), default=None)
    options = {
        **posed(problem, norm),
        "costs": costs,
        "must": sorted(must),
        "must_not": sorted(must_not),
        "gap": 0.3 if seed % 6 == 5 else 0.0,
    }
    return Asked(problem, options, least)


def _counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count what the parts of searches do."""
    happened: Counter[str] = Counter()

    def count(owner: Any, name: str, what: str, worth: Callable[[Any], int]) -> None:
        original = getattr(owner, name)

        def counted(*arguments: Any, **options: Any) -> Any:
            result = original(*arguments, **options)
            happened[what] += worth(result)
            return result

        monkeypatch.setattr(owner, name, counted)

    count(BranchAndCut, "step", "steps", lambda _: 1)
    count(search, "budget_bound", "budget bound", lambda bound: bound > 0)
    count(ContrastCover, "step", "contrast cover", lambda _: 1)
    count(Proposals, "_bisect", "proposals", lambda _: 1)
    count(ExactPricing, "_worst", "exact pricing", lambda _: 1)
    count(NodeEnumeration, "_sets", "enumeration", lambda _: 1)
    count(NodeEnumeration, "refute", "closed", lambda found: found is not None)
    count(Relaxation, "solve", "reduced-cost fixing", lambda solved: solved.fixings[0].size)
    return happened


def _assert_least(asked: Asked, limits: SearchLimits, folder: Path) -> None:
    seen: list[MinimumProgress] = []
    options = {**asked.options, "limits": limits, "progress": seen.append}
    net = asked.problem.network(folder)
    if asked.least is None:
        with pytest.raises(InputError, match="no explanation leaves out all of must_not"):
            minimum(net, asked.problem.x, **options)
        return
    found = minimum(net, asked.problem.x, **options)
    least, gap = asked.least, asked.options["gap"]
    assert found.lower_bound <= least + 1e-9 <= found.cost + 1e-6
    assert all(state.lower_bound <= least + 1e-9 <= state.size + 1e-6 for state in seen)
    assert found.cost - found.lower_bound <= max(gap, 1e-6) * found.cost + 1e-9
    if not gap:
        assert found.proven
        assert found.cost == pytest.approx(least, abs=1e-5)
    assert set(asked.options["must"]) <= set(found.explanation)
    assert not set(asked.options["must_not"]) & set(found.explanation)
    assert found.replay(net) == ()


@pytest.mark.slow
@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize("norm", _SEEDS)
def test_minima_are_those_of_brute_force(
    norm: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, happened = _WAYS[way], _counted(monkeypatch)
    monkeypatch.setattr(Explainer, "first", begin_with_everything)
    for seed in _SEEDS[norm]:
        _assert_least(_asked(seed, norm), limits, tmp_path)
    for technique in limits.without - {"proposals"}:
        assert not happened[technique]
    for technique in _QUICK - limits.without:
        assert happened[technique] > 0
    if not limits.without >= _QUICK:
        return
    assert happened["steps"] > 0
    if limits.without >= _BETTER:
        assert not happened["proposals"]
    else:
        assert happened["proposals"]
    if norm == "linf" and limits.without >= _BETTER:
        assert happened["steps"] > 50
        for technique in ("enumeration", "reduced-cost fixing"):
            assert (happened[technique] > 5) == limits.uses(technique)
        assert (happened["closed"] > 2) == limits.uses("enumeration")


@pytest.mark.nightly
def test_there_is_something_to_find() -> None:
    every = [_asked(seed, norm).least for norm in _SEEDS for seed in _SEEDS[norm]]
    assert 0 < every.count(None) < 8
    assert sum(least is not None and least > 1 for least in every) > 8
