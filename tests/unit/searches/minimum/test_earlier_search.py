"""A search that goes on from an earlier result proves the minimum of brute force, and no lie."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import Answer, Explanation, InputError, Verdict, explain, minimum
from milp_verix.oracle.oracle import Oracle
from milp_verix.searches.minimum.branch_and_cut import BranchAndCut
from milp_verix.searches.minimum.minimum_search import Explainer, MinimumSearch
from tests.support.brute_force_cases import Case, case
from tests.support.counterfactual_checks import assert_sound
from tests.support.digits_example import images, network
from tests.support.exhaustive_explanations import cheapest, fewest
from tests.support.resumed import resumed
from tests.support.searches import begin_with_everything

WAYS: dict[str, dict[str, Any]] = {
    "tree": {"master": "tree"},
    "program": {"master": "program"},
    "hitting sets": {"method": "hitting_sets"},
}


def snapshots_of(problem: Case, folder: Path, **options: Any) -> list[Explanation]:
    """Return the results of a search at each moment, and in the end."""
    kept: list[Callable[[], Explanation]] = []
    found = minimum(problem.network(folder), problem.x, **options, snapshots=kept.append)
    return [*(snapshot() for snapshot in kept), found]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(0, 60, 6))
def test_a_search_goes_on_from_any_moment_to_the_same_minimum(
    seed: int, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # otherwise the first explanation would often be a minimum already
    monkeypatch.setattr(Explainer, "first", begin_with_everything)
    problem = case(seed)
    options = {**problem.options, **WAYS[way]}
    parts, least = snapshots_of(problem, tmp_path, **options), fewest(problem)
    for part in parts:
        path = tmp_path / "earlier.json"
        part.to_json(path)
        again = minimum(problem.network(tmp_path), problem.x, **options, resume=path)
        assert again.proven
        assert again.minimal
        assert again.size == again.lower_bound == least
        assert problem.brute.holds(again.irrelevant)
        assert_sound(again, problem.network(tmp_path), problem.x)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(120, 150, 3))
def test_what_was_found_for_other_costs_is_no_harm(seed: int, way: str, tmp_path: Path) -> None:
    problem = case(seed)
    rng = np.random.default_rng([seed, 5])
    count = len(problem.groups)
    before, costs = (rng.integers(1, 6, count).astype(float) for _ in range(2))
    must = [int(rng.integers(count))]
    net, options = problem.network(tmp_path), {**problem.options, **WAYS[way]}
    # dear features: this bound is above any for the costs asked about next
    earlier = minimum(net, problem.x, **options, costs=100 * before)
    for wanted in ([], must):
        again = minimum(net, problem.x, **options, costs=costs, must=wanted, resume=earlier)
        assert again.proven
        assert again.cost == cheapest(problem, costs.tolist(), set(wanted), set())
        assert not any("lower bound" in note for note in again.notes)
        assert problem.brute.holds(again.irrelevant)


def unproven(problem: Case, folder: Path, bound: float, **more: Any) -> Explanation:
    """Return a result that explains by all features, with a ``bound`` that is a lie or not."""
    found = minimum(problem.network(folder), problem.x, **problem.options)
    count = len(problem.groups)
    return replace(
        found,
        explanation=tuple(range(count)),
        irrelevant=(),
        unknown_reasons=dict.fromkeys(range(count), "time limit"),
        counterfactuals={},
        lower_bound=bound,
        **more,
    )


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(0, 60, 6))
def test_a_bound_in_a_file_never_counts(seed: int, way: str, tmp_path: Path) -> None:
    problem = case(seed)
    least, count = fewest(problem), len(problem.groups)
    for told in {min(least + 1, count), count}:
        path = tmp_path / "earlier.json"
        unproven(problem, tmp_path, told).to_json(path)
        options = {**problem.options, **WAYS[way], "resume": path}
        again = minimum(problem.network(tmp_path), problem.x, **options)
        assert again.size == again.lower_bound == least
        refuted = [note for note in again.notes if f"refutes the lower bound {told} of" in note]
        assert len(refuted) == (told > least)


def test_a_bound_that_is_not_proven_again_is_the_word_of_an_earlier_run(tmp_path: Path) -> None:
    whole, path = minimum(network(), images()[15], epsilon=0.1), tmp_path / "earlier.json"
    every = tuple(range(64))
    lie = replace(
        whole,
        explanation=every,
        irrelevant=(),
        counterfactuals={},
        lower_bound=64,
        unknown_reasons=dict.fromkeys(every, "time limit"),
    )
    lie.to_json(path)
    assert lie.proven
    options: dict[str, Any] = {"epsilon": 0.1, "time_limit": 1e-3, "resume": path}
    again = minimum(network(), images()[15], **options)
    assert again.size == 64
    assert not again.proven
    assert "smallest" not in again.sentence()
    assert again.lower_bound is not None
    assert again.lower_bound < 64
    version = whole.versions["milp-verix"]
    word = f"the lower bound by an earlier run of milp-verix {version} is 64: not proven here"
    assert again.notes[-1] == word
    assert word in again.to_json()
    for other in ({"costs": [2.0] * 64}, {"must": [3]}):
        again = minimum(network(), images()[15], **options, **other)
        assert not any("lower bound" in note for note in again.notes)


@pytest.mark.slow
def test_points_outside_of_the_ball_are_no_scenarios(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Explainer, "first", begin_with_everything)
    for seed in range(0, 60, 4):
        problem = case(seed)
        x = problem.x.reshape(problem.network(tmp_path).input_shape)
        far = tuple((x + s * 5 * problem.epsilon).astype(x.dtype) for s in (-1, 1))
        lie = unproven(problem, tmp_path, 0, scenarios=far)
        again = minimum(problem.network(tmp_path), problem.x, **problem.options, resume=lie)
        assert again.size == again.lower_bound == fewest(problem)


@pytest.mark.slow
def test_scenarios_are_points_of_the_ball_that_come_back_from_json() -> None:
    kept: list[Callable[[], Explanation]] = []
    x = images()[15]
    whole = minimum(network(), x, epsilon=0.15, snapshots=kept.append)
    assert whole.proven
    (*_, part) = (found for snapshot in kept if (found := snapshot()).scenarios)
    back = Explanation.from_json(part.to_json())
    assert len(back.scenarios) == len(part.scenarios) > 0
    for there, here in zip(back.scenarios, part.scenarios, strict=True):
        assert there.tobytes() == here.tobytes()
        assert np.abs(here.astype(float) - x.astype(float)).max() <= 0.15
    again = minimum(network(), x, epsilon=0.15, resume=back)
    assert (again.size, again.lower_bound) == (whole.size, whole.lower_bound)


def no_split(*_: Any) -> Any:
    raise AssertionError("a case was split")


@pytest.mark.parametrize("way", ["tree", "hitting sets"])
@pytest.mark.parametrize("seed", range(0, 60, 20))
def test_a_proven_minimum_stays_one_without_another_step(
    seed: int, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Explainer, "first", begin_with_everything)
    monkeypatch.setattr(MinimumSearch, "_bound_at_once", lambda _: None)
    problem = case(seed)
    net, path = problem.network(tmp_path), tmp_path / "earlier.json"
    options = {**problem.options, **WAYS[way]}
    whole = minimum(net, problem.x, **options)
    whole.to_json(path)
    monkeypatch.setattr(BranchAndCut, "_replacements", no_split)
    again = minimum(net, problem.x, **options, resume=path)
    assert again.proven
    assert again.explanation == whole.explanation
    assert again.bound_cases == whole.bound_cases
    assert again.statistics.search is not None
    assert again.statistics.search.rounds <= 1


@pytest.mark.parametrize("seed", range(0, 60, 4))
def test_whatever_an_earlier_tree_splits_it_covers_every_set(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Explainer, "first", begin_with_everything)
    monkeypatch.setattr(MinimumSearch, "_bound_at_once", lambda _: None)
    problem = case(seed)
    net = problem.network(tmp_path)
    whole = minimum(net, problem.x, **problem.options, master="tree")
    count, rng = len(problem.groups), np.random.default_rng([seed, 53])
    known = sorted({name for name in whole.bound_cases if ":" in name})
    names = [*map(str, range(count)), *known, "7:0:3", "no phase"]

    def tree(depth: int) -> tuple[str, ...]:
        if depth == 0 or rng.random() < 0.2:
            return ("",)
        return (str(rng.choice(names)), *tree(depth - 1), *tree(depth - 1))

    # all features: no set is known but these
    begun = replace(unproven(problem, tmp_path, 0), scenarios=whole.scenarios)
    least = fewest(problem)
    for told in range(least + 2):
        earlier = replace(begun, bound_cases=tree(5), lower_bound=min(told, count))
        again = minimum(net, problem.x, **problem.options, resume=earlier)
        assert again.proven
        assert again.size == again.lower_bound == least


@pytest.mark.parametrize("cases", [("", ""), ("1",), ("1", ""), ("1", "", "", "")])
def test_cases_that_are_no_tree_are_refused(cases: tuple[str, ...]) -> None:
    whole = minimum(network(), images()[15], epsilon=0.1)
    with pytest.raises(InputError, match="resume: the cases of the lower bound are no tree"):
        minimum(network(), images()[15], epsilon=0.1, resume=replace(whole, bound_cases=cases))


@pytest.mark.slow
def test_a_proven_minimum_is_proven_again() -> None:
    whole = minimum(network(), images()[15], epsilon=0.1)
    again = minimum(network(), images()[15], epsilon=0.1, resume=whole)
    assert again.explanation == whole.explanation
    assert again.proven
    assert again.minimal
    assert again.notes[-1].endswith("was proven again")


@pytest.mark.slow
def test_a_search_begins_with_the_result_of_explain() -> None:
    first = explain(network(), images()[15], epsilon=0.1)
    whole = minimum(network(), images()[15], epsilon=0.1)
    again = minimum(network(), images()[15], epsilon=0.1, resume=first)
    assert again.proven
    assert again.size == whole.size


def test_another_question_is_refused() -> None:
    whole = minimum(network(), images()[17], epsilon=0.1)
    with pytest.raises(InputError, match="another question: its epsilon"):
        minimum(network(), images()[17], epsilon=0.2, resume=whole)


@pytest.mark.slow
def test_the_command_line_goes_on(tmp_path: Path) -> None:
    whole, again = resumed("minimum", Explanation, tmp_path)
    assert again.explanation == whole.explanation
    assert again.proven


@pytest.mark.parametrize("way", WAYS)
def test_an_earlier_claim_that_is_not_decided_again_does_not_count(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = case(25)
    count, least, decide = len(problem.groups), fewest(problem), Oracle.check
    assert least > 0
    lie = replace(
        unproven(problem, tmp_path, 0),
        explanation=(),
        irrelevant=tuple(range(count)),
        unknown_reasons={},
        needed=0,
    )

    def check(self: Oracle, free: np.ndarray, *rest: Any) -> Verdict:
        whole = free.size == self.problem.x.size
        return Verdict(Answer.UNKNOWN, reason="x") if whole else decide(self, free, *rest)

    monkeypatch.setattr(Oracle, "check", check)
    options = {**problem.options, **WAYS[way], "resume": lie}
    again = minimum(problem.network(tmp_path), problem.x, **options)
    assert any("could not be proven again" in note for note in again.notes)
    assert again.size >= least
    assert problem.brute.holds(again.irrelevant)
