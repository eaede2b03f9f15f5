"""A search for a contrast that goes on ends with the cheapest one, and believes no lie."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import ContrastiveExplanation, InputError, contrastive, explain
from milp_verix.results.base import Counterfactual
from tests.support.brute_force_cases import Case, case
from tests.support.digits_example import images, network
from tests.support.exhaustive_explanations import truth
from tests.support.resumed import resumed

SEEDS = (0, 6, 9, 15, 18, 27, 30, 33, 51, 57)
"""Cases that have a contrast."""


def priced(seed: int, count: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {} if seed % 2 else {"costs": rng.uniform(0.5, 3.0, count)}


def cheapest(seed: int, costs: Any) -> float:
    _, contrasts = truth(seed)
    return min(sum(1.0 if costs is None else costs[f] for f in contrast) for contrast in contrasts)


def found_by(problem: Case, folder: Path, **options: Any) -> ContrastiveExplanation:
    return contrastive(problem.network(folder), problem.x, **problem.options, **options)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_search_goes_on_from_any_moment_to_the_cheapest(seed: int, tmp_path: Path) -> None:
    problem, path = case(seed), tmp_path / "earlier.json"
    costs = priced(seed, len(problem.groups))
    kept: list[Callable[[], ContrastiveExplanation]] = []
    whole = found_by(problem, tmp_path, **costs, snapshots=kept.append)
    least = pytest.approx(cheapest(seed, costs.get("costs")), rel=1e-6)
    for part in (*(snapshot() for snapshot in kept), whole):
        part.to_json(path)
        again = found_by(problem, tmp_path, **costs, resume=path)
        assert again.proven
        assert again.cost == least
        assert again.lower_bound == least
        assert again.replay(problem.network(tmp_path))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bound_in_a_file_never_counts(seed: int, tmp_path: Path) -> None:
    problem = case(seed)
    count, least = len(problem.groups), cheapest(seed, None)
    whole = found_by(problem, tmp_path)
    lie = replace(whole, contrast=None, counterfactual=None, lower_bound=float(count))
    dear = replace(lie, costs=(7.0,) * count, lower_bound=7.0 * count)
    for told in (dear, lie):
        again = found_by(problem, tmp_path, resume=told)
        assert again.cost == again.lower_bound == least
        refuted = [note for note in again.notes if "refutes the lower bound" in note]
        assert len(refuted) == (told is lie and least < count)
        assert again.replay(problem.network(tmp_path))


def test_a_contrast_of_a_file_is_not_proven_by_its_bound() -> None:
    whole = contrastive(network(), images()[0], epsilon=0.3)
    assert whole.proven
    options: dict[str, Any] = {"epsilon": 0.3, "time_limit": 1e-6}
    again = contrastive(network(), images()[0], **options, resume=whole)
    assert again.contrast == whole.contrast
    assert not again.proven
    assert "by an earlier run of milp-verix" in again.notes[-1]


@pytest.mark.slow
def test_a_bound_on_a_distance_is_none_on_a_number_of_features() -> None:
    ways: dict[str, Any] = {"few": {}, "near": {"minimise": "distance"}}
    found = {
        name: contrastive(network(), images()[4], epsilon=0.2, **way) for name, way in ways.items()
    }
    for name, way in ways.items():
        for earlier, result in found.items():
            told = replace(result, contrast=None, counterfactual=None, lower_bound=60.0)
            again = contrastive(
                network(), images()[4], epsilon=0.2, time_limit=1e-6, **way, resume=told
            )
            assert any("lower bound" in note for note in again.notes) == (earlier == name)


def test_a_contrast_that_is_none_is_left_out() -> None:
    whole = contrastive(network(), images()[15], epsilon=0.1)
    assert whole.contrast is not None
    x = whole.input.copy()
    feature = int(np.flatnonzero(x.reshape(-1) == 0)[0])
    x.reshape(-1)[feature] = np.float32(0.01)
    lie = replace(whole, contrast=(feature,), counterfactual=Counterfactual(x, 3), lower_bound=1.0)
    again = contrastive(network(), images()[15], epsilon=0.1, resume=lie)
    assert again.cost == whole.cost
    assert again.proven
    assert again.replay(network())


def test_another_question_and_another_kind_are_refused() -> None:
    whole = contrastive(network(), images()[15], epsilon=0.1)
    with pytest.raises(InputError, match="another question: its epsilon"):
        contrastive(network(), images()[15], epsilon=0.2, resume=whole)
    explained: Any = explain(network(), images()[15], epsilon=0.1)
    with pytest.raises(InputError, match="resume takes a contrastive explanation found earlier"):
        contrastive(network(), images()[15], epsilon=0.1, resume=explained)


def test_the_command_line_goes_on(tmp_path: Path) -> None:
    whole, again = resumed("contrastive", ContrastiveExplanation, tmp_path)
    assert again.contrast == whole.contrast
