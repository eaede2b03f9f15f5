"""Linear programs are freed at the end of a search."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from milp_verix import minimum
from milp_verix.searches.minimum.branch_and_cut import Relaxation
from milp_verix.searches.minimum.minimum_search import Explainer
from milp_verix.solvers.warm_lp import WarmLp
from tests.support.exhaustive_explanations import wide_case
from tests.support.interrupts import interrupting
from tests.support.searches import begin_with_everything, without

_LIMITS = without("budget bound", "contrast cover", "proposals", "enumeration")


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[int]]]:
    """Note which linear programs are made, and which are freed."""
    noted: dict[str, list[int]] = {"made": [], "freed": []}
    make, close = WarmLp.__init__, WarmLp.close

    def made(self: WarmLp, *arguments: object, **options: object) -> None:
        make(self, *arguments, **options)  # type: ignore[arg-type]
        self.number = len(noted["made"])  # type: ignore[attr-defined]
        noted["made"].append(self.number)  # type: ignore[attr-defined]

    def freed(self: WarmLp) -> None:
        noted["freed"].append(self.number)  # type: ignore[attr-defined]
        close(self)

    monkeypatch.setattr(WarmLp, "__init__", made)
    monkeypatch.setattr(WarmLp, "close", freed)
    return noted


@pytest.mark.parametrize("seed", range(6))
def test_every_program_of_a_search_is_freed_once(
    seed: int,
    programs: dict[str, list[int]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Explainer, "first", begin_with_everything)
    problem = wide_case(seed)
    found = minimum(problem.network(tmp_path), problem.x, limits=_LIMITS, **problem.options)
    assert found.proven
    assert programs["made"]
    assert sorted(programs["freed"]) == programs["made"]


def test_a_program_is_freed_after_an_interrupt(
    programs: dict[str, list[int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Relaxation, "solve", interrupting(2, Relaxation.solve))
    monkeypatch.setattr(Explainer, "first", begin_with_everything)
    problem = wide_case(1)
    options = {**problem.options, "limits": _LIMITS}
    found = minimum(problem.network(tmp_path), problem.x, **options)
    assert found.statistics.stopped == "interrupted"
    assert programs["made"]
    assert sorted(programs["freed"]) == programs["made"]
