"""Linear programs are freed: those of subtrees with their last node, all at the end."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from milp_verix import Problem, minimum
from milp_verix.clock import NO_LIMIT
from milp_verix.global_search.branch_and_cut import branch_and_cut
from milp_verix.global_search.explainer import Explainer
from milp_verix.global_search.relaxation.relaxation import Relaxation
from milp_verix.solvers.phase.warm_lp import WarmLp
from milp_verix.tolerances import Tolerances
from tests.support.exhaustive_explanations import wide_case
from tests.support.searches import begin_with_everything, opened, without

_LIMITS = without(
    "budget bound",
    "contrast cover",
    "proposals",
    "enumeration",
    share_free=0.9,
)


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
    assert len(programs["made"]) > 3
    assert sorted(programs["freed"]) == programs["made"]


@pytest.mark.parametrize("seed", [1, 3, 5])
def test_programs_are_freed_after_an_interrupt(
    seed: int,
    programs: dict[str, list[int]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    restricted, made = Relaxation.restricted, 0

    def interrupted(*arguments: Any) -> Relaxation | None:
        nonlocal made
        inside = restricted(*arguments)
        made += 1
        if made == 2:
            raise KeyboardInterrupt
        return inside

    monkeypatch.setattr(Relaxation, "restricted", interrupted)
    monkeypatch.setattr(Explainer, "first", begin_with_everything)
    problem = wide_case(seed)
    options = {**problem.options, "limits": _LIMITS}
    found = minimum(problem.network(tmp_path), problem.x, **options)
    assert found.statistics.stopped == "interrupted"
    # a traceback may hold a step's own objects until it is gone
    gc.collect()
    assert sorted(programs["freed"]) == programs["made"]


def test_a_program_of_a_subtree_is_freed_with_its_last_node(
    programs: dict[str, list[int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    another, of_trees = WarmLp.another, set()

    def noted(self: WarmLp) -> WarmLp:
        lp = another(self)
        of_trees.add(lp.number)  # type: ignore[attr-defined]
        return lp

    monkeypatch.setattr(WarmLp, "another", noted)
    most, again = 0, 0
    for seed in range(6):
        problem = wide_case(seed)
        posed = Problem(problem.network(tmp_path), problem.x, **problem.options)
        with opened(posed, limits=_LIMITS) as search:
            tree = branch_and_cut(search, WarmLp(1, Tolerances()))
            assert tree is not None
            before: set[int] = set()
            while not tree.done:
                tree.step(NO_LIMIT)
                lineages = [[*node.subtree.lineage()] for node in tree._open]
                alive = {s.relaxation._lp.number for line in lineages for s in line[:-1]}
                # the relaxations of open nodes, and no other
                assert of_trees - set(programs["freed"]) == alive
                again += bool(before - alive)
                most, before = max(most, len(alive)), alive
            del lineages, before
            tree.close()
            assert of_trees <= set(programs["freed"])
    assert most > 1
    assert again > 5
