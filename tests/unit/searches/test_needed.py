"""The number of features said to be needed is never more than the smallest explanation has."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from milp_verix import Inputs, Problem, Tolerances, explain
from milp_verix.base.clock import NO_LIMIT, Deadline, Limit
from milp_verix.inputs.feature import integer
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.reuse import disjoint_contrasts
from milp_verix.results.explanation import Explanation
from milp_verix.searches.budget_bound import needed_features
from milp_verix.searches.strategies import Traversal, Walk
from milp_verix.solvers import open_session
from milp_verix.views.result_words import facts_of
from tests.support.brute_force_cases import case
from tests.support.digits_example import images, network
from tests.support.exhaustive_explanations import posed, truth
from tests.support.onnx_models import build, loaded, node

_HIGHS = partial(open_session, "highs")


def _needed(problem: Problem, deadline: Deadline | None = None) -> int:
    count = problem.features.count
    deadline = deadline or NO_LIMIT.within(0.5)
    found, _ = needed_features(
        problem, [], _HIGHS, most=count, tolerances=Tolerances(), deadline=deadline
    )
    return found


@pytest.mark.parametrize("seed", range(2))
def test_it_is_a_lower_bound_and_often_the_size_itself(seed: int, tmp_path: Path) -> None:
    reached = 0
    for norm, number in (("linf", seed), ("linf", seed + 20), ("l1", 4 + 4 * seed)):
        small = case(number)
        smallest = min(len(one) for one in truth(number, norm)[0])
        problem = Problem(small.network(tmp_path), small.x, **posed(small, norm))
        needed = _needed(problem)
        assert needed <= smallest
        reached += 0 < smallest == needed
    assert reached


def test_contrasts_that_share_a_feature_count_once(tmp_path: Path) -> None:
    several = 0
    for number in range(4):
        small = case(number)
        explanations, contrasts = truth(number)
        problem = Problem(small.network(tmp_path), small.x, **posed(small, "linf"))
        with Oracle(problem) as oracle:
            found = [
                oracle.check(problem.features.coordinates(sorted(contrast)))
                for contrast in sorted(contrasts, key=sorted)
            ]
        counted = disjoint_contrasts(problem, found)
        assert counted <= min(len(one) for one in explanations)
        assert (counted > 0) == any(verdict.violated for verdict in found)
        several += len(found) > counted > 0
    assert several


def test_an_input_decides_the_one_open_feature_that_it_changes_beside_freed_ones(
    tmp_path: Path,
) -> None:
    settled = 0
    for number in range(4):
        small = case(number)
        contrasts = truth(number)[1]
        problem = Problem(small.network(tmp_path), small.x, **posed(small, "linf"))
        count = problem.features.count
        with Oracle(problem) as oracle:
            found = [
                oracle.check(problem.features.coordinates(sorted(contrast)))
                for contrast in sorted(contrasts, key=sorted)
            ]
            for contrast in contrasts:
                freed = sorted(contrast)[:-1]
                state = Traversal(tuple(range(count)), irrelevant=freed)
                state.undecided = dict.fromkeys(sorted(contrast)[-1:], "late")
                # attacks are out of time
                Walk(oracle, state, Deadline(-np.inf), Limit()).settle_known(found)
                assert not state.undecided
                expected = {f for f in state.order if any(c - {*freed} == {f} for c in contrasts)}
                assert {*state.violated} == expected
                for feature, verdict in state.violated.items():
                    beyond = np.flatnonzero(verdict.point != problem.x)
                    allowed = problem.features.coordinates([*freed, feature])
                    assert {*beyond.tolist()} <= {*allowed.tolist()}
                settled += len(expected)
    assert settled


def test_attacks_begin_at_high_points_of_larger_sets_too(tmp_path: Path) -> None:
    # nothing rises around 0, where attacks begin: the score is above zero near (1, 1)
    nodes = [
        node("Gemm", ["x", "A", "a"], ["h"]),
        node("Relu", ["h"], ["r"]),
        node("Gemm", ["r", "B", "b"], ["y"]),
    ]
    constants = {"A": [[1.0], [1.0], [1.0]], "a": [-1.5], "B": [[9.0]], "b": [-1.0]}
    corner = loaded(build(nodes, inputs={"x": (1, 3)}, constants=constants), tmp_path)
    problem = Problem(corner, [[0.0, 0.0, 0.0]], epsilon=1.0)
    with Oracle(problem) as oracle:
        assert not oracle.attacked([0], [1])
        oracle.remember([np.array([0.9, 0.9, 0.9])])
        found = oracle.attacked([0], [1])
    assert [*found] == [1]
    assert found[1].point[2] == 0.0


@pytest.mark.slow
def test_an_explanation_with_undecided_features_brackets_the_smallest() -> None:
    asked = {"epsilon": 0.2, "exactness": "bounds"}
    found = explain(network(), images()[15], **asked)
    exact = explain(network(), images()[15], epsilon=0.2)
    assert found.unknown
    assert 1 < found.needed <= exact.size < found.size
    assert f"between {found.needed} and {found.size} needed" in repr(found)
    assert dict(facts_of(found))["needed"].endswith("features are needed")
    assert Explanation.from_json(found.to_json()).needed == found.needed


@pytest.mark.parametrize("exactness", ["bounds", "relaxation"])
def test_points_between_whole_numbers_need_no_feature(exactness: str, tmp_path: Path) -> None:
    # the score is above zero around one half, and below at 0 and at 1
    nodes = [
        node("Gemm", ["x", "A", "a"], ["h"]),
        node("Relu", ["h"], ["r"]),
        node("Gemm", ["r", "B", "b"], ["y"]),
    ]
    constants = {"A": [[1.0, 1.0]], "a": [0.01, -0.5], "B": [[1.0, 0], [-2, 0]], "b": [-0.3, 0]}
    bump = loaded(build(nodes, inputs={"x": (1, 1)}, constants=constants), tmp_path)
    found = explain(
        bump, [[0.0]], epsilon=1.0, inputs=Inputs([integer("a", 0, 1)]), exactness=exactness
    )
    assert found.unknown == (0,)
    assert found.needed == 0
    assert explain(bump, [[0.0]], epsilon=1.0, domain=(0, 1)).needed == 1


@pytest.mark.slow
def test_a_minimum_needs_all_of_its_features() -> None:
    found = Problem(network(), images()[15], epsilon=0.1).minimum()
    assert found.proven
    assert found.needed == found.size > 0


@pytest.mark.slow
def test_nothing_is_needed_where_no_time_is_left() -> None:
    problem = Problem(network(), images()[15], epsilon=0.2)
    assert 0 <= _needed(problem, Deadline(-np.inf)) <= 1
    assert _needed(problem) > 1


def test_a_record_that_needs_more_features_than_it_has_is_refused() -> None:
    found = explain(network(), images()[15], epsilon=0.05)
    text = found.to_json().replace(f'"needed": {found.needed}', '"needed": 65')
    with pytest.raises(Exception, match="needed"):
        Explanation.from_json(text)
