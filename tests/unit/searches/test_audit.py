"""Audits agree with brute force over all sets of features, and keep what is known."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix import Audit, AuditProgress, Counterfactual, InputError, Verdict
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import INTERRUPTED, TIME_LIMIT, Answer
from milp_verix.searches.audit_search import ROUNDED
from tests.support.brute_force_cases import Case, case
from tests.support.counterfactual_checks import assert_changes, assert_in_ball
from tests.support.digits_example import EPSILON, explained, images, network
from tests.support.exhaustive_explanations import fewest, subsets
from tests.support.interrupts import interrupt
from tests.support.random_networks import as_layers, dense_network
from tests.support.unsolvable_problems import HARD_OPTIONS, HARD_X, hard_network
from verix_encodings.arrays import IntArray


def sets_of(problem: Case) -> list[list[int]]:
    """Return some sets to audit: the empty one, all features, and random ones."""
    rng = np.random.default_rng([problem.seed, 3])
    features = np.arange(len(problem.groups))
    drawn = [features[rng.random(features.size) < 0.5].tolist() for _ in range(3)]
    return [[], features.tolist(), *drawn]


def others(problem: Case, features: list[int]) -> list[int]:
    return [f for f in range(len(problem.groups)) if f not in features]


def assert_witnessed(problem: Case, found: Audit, network: milp_verix.OnnxNetwork) -> None:
    """Assert that each counterfactual is one, of the features that it may change."""
    low, high = (np.broadcast_to(np.asarray(end, float), problem.x.size) for end in found.domain)
    irrelevant = others(problem, [*found.sound_set])
    points = [([*irrelevant, f], point) for f, point in found.counterfactuals.items()]
    if found.counterexample is not None:
        points.append((others(problem, [*found.explanation]), found.counterexample))
    for free, point in points:
        coordinates = [i for feature in free for i in problem.groups[feature]]
        assert_in_ball(problem.x, point.input, coordinates, problem.epsilon, low, high)
        assert_changes(network, problem.x, point.input, point.prediction, problem.delta)


@pytest.mark.parametrize("seed", range(24))
def test_soundness_and_minimality_are_those_of_brute_force(seed: int, tmp_path: Path) -> None:
    problem = case(seed)
    network = problem.network(tmp_path)
    holds = problem.brute.holds
    for features in sets_of(problem):
        found = milp_verix.audit(network, problem.x, features, **problem.options)
        free = others(problem, features)
        assert found.sound == holds(free)
        assert found.minimal == (
            all(not holds(sorted([*free, f])) for f in features) if found.sound else None
        )
        # the set that is certified is sound, and none of the features tried can leave it
        left = others(problem, [*found.sound_set])
        assert holds(left)
        tried = found.sound_set if found.sound else found.added
        assert {*found.counterfactuals} == {*tried}
        assert not any(holds(sorted([*left, f])) for f in tried)
        assert (found.bound is not None and found.bound < 0) if found.sound else not found.bound
        assert_witnessed(problem, found, network)
        assert found.replay(network) == ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, 24, 5))
def test_the_minimum_and_the_completion_are_those_of_brute_force(seed: int, tmp_path: Path) -> None:
    problem = case(seed)
    network = problem.network(tmp_path)
    everything = range(len(problem.groups))
    for features in sets_of(problem):
        found = milp_verix.audit(network, problem.x, features, minimum=True, **problem.options)
        assert found.minimum is not None
        assert found.minimum.proven
        assert found.minimum.size == fewest(problem)
        if found.sound:
            assert found.completion is None
            continue
        assert found.completion is not None
        assert {*features} <= {*found.completion.explanation}
        smallest = min(
            len(one)
            for one in subsets(everything)
            if {*features} <= one and problem.brute.holds(others(problem, [*one]))
        )
        assert found.completion.size == found.completion.lower_bound == smallest


def test_our_own_explanation_is_sound_and_minimal() -> None:
    found = milp_verix.audit(network(), images()[15], explained(), epsilon=EPSILON)
    assert (found.sound, found.minimal, found.excess) == (True, True, 0)
    assert found.sound_set == explained().explanation


def test_a_set_that_is_too_large_or_too_small_says_by_how_much() -> None:
    own = explained().explanation
    more = [*own, *explained().irrelevant[:4]]
    found = milp_verix.audit(
        network(), images()[15], more, epsilon=EPSILON, order=explained().permutation
    )
    assert (found.sound, found.minimal, found.excess) == (True, False, 4)
    assert found.removable == tuple(sorted(explained().irrelevant[:4]))
    found = milp_verix.audit(
        network(), images()[15], own[2:], epsilon=EPSILON, order=explained().permutation
    )
    assert (found.sound, found.minimal, found.excess) == (False, None, None)
    assert found.added == own[:2]
    assert found.counterexample is not None


def test_some_rivals_alone() -> None:
    refuted = milp_verix.audit(network(), images()[15], [], epsilon=EPSILON)
    assert refuted.counterexample is not None
    rival = refuted.counterexample.prediction
    for against in range(10):
        if against == refuted.prediction:
            continue
        found = milp_verix.audit(network(), images()[15], [], epsilon=EPSILON, against=against)
        check = milp_verix.check(
            network(), images()[15], range(64), epsilon=EPSILON, against=against
        )
        assert found.sound == check.holds
        assert found.replay(network()) == ()
        assert against != rival or found.sound is False


def test_described_inputs(tmp_path: Path) -> None:
    """The score is 0.1 age − 3 arrears + contract − 3.05: arrears alone decide, or the contract."""
    score = [0.1, -3.0, 1.0, 0.5, -1.0]
    layers = as_layers(([[0.0] * 5, score], [0.0, -3.05]))
    model = dense_network(layers, tmp_path)
    listed = ["permanent", "fixed-term", "none"]
    inputs = milp_verix.Inputs(
        [
            milp_verix.integer("age", 18, 75, "years"),
            milp_verix.binary("arrears"),
            milp_verix.category("contract", listed, one_hot=True),
        ]
    )
    person = {"age": 40, "arrears": "no", "contract": "permanent"}
    question = {"epsilon": {"age": 10, "*": 1}, "inputs": inputs}
    own = milp_verix.explain(model, person, **question)
    assert own.explanation == (1, 2)
    for chosen in subsets(range(3)):
        features = sorted(chosen)
        found = milp_verix.audit(model, person, features, minimum=True, **question)
        free = [f for f in range(3) if f not in features]
        assert found.sound == milp_verix.check(model, person, free, **question).holds
        assert found.minimum is not None
        assert found.minimum.size == 2
        assert found.replay(model) == ()
    assert milp_verix.audit(model, person, own, **question).minimal


def test_soundness_alone() -> None:
    own = explained().explanation
    found = milp_verix.audit(network(), images()[15], own, epsilon=EPSILON, sound_only=True)
    assert (found.sound, found.minimal) == (True, None)
    assert {*found.unknown_reasons.values()} == {"not asked for"}
    found = milp_verix.audit(network(), images()[15], [], epsilon=EPSILON, sound_only=True)
    assert found.sound is False
    assert len(found.sound_set) == 64
    assert found.statistics.checks == 1


@pytest.mark.slow
def test_stored_and_read_again(tmp_path: Path) -> None:
    for features in (explained().explanation, explained().explanation[3:]):
        found = milp_verix.audit(
            network(), images()[15], features, epsilon=EPSILON, minimum=True, time_limit=4
        )
        found.to_json(tmp_path / "audit.json")
        again = Audit.from_json(tmp_path / "audit.json")
        assert again.to_json() == found.to_json()
        assert again.replay(network()) == ()
        assert again.sound == found.sound
        with pytest.raises(InputError, match="it holds 'audit', not 'explanation'"):
            milp_verix.Explanation.from_json(tmp_path / "audit.json")


def test_a_counterexample_that_is_none_is_found_by_the_replay() -> None:
    found = milp_verix.audit(network(), images()[15], [], epsilon=EPSILON)
    assert found.counterexample is not None
    same = Counterfactual(images()[15:16].reshape(found.input.shape), 3)
    assert replace(found, counterexample=same).replay(network()) == (None,)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sound_set": ()}, "the sound set is part"),
        ({"answer": Answer.HOLDS}, "has a counterexample"),
        ({"counterexample": None}, "has a counterexample"),
        ({"unknown_reason": "late"}, "an answer that is unknown"),
        ({"counterfactuals": {}}, "a feature that was tried"),
        ({"explanation": (3, 3)}, "ascending"),
    ],
)
def test_fields_that_contradict_each_other(changed: dict[str, Any], said: str) -> None:
    own = explained().explanation
    found = milp_verix.audit(network(), images()[15], own[3:], epsilon=EPSILON)
    with pytest.raises(ValueError, match=said):
        replace(found, **changed)


def test_a_counterexample_inside_the_explanation_is_refused() -> None:
    own = explained().explanation
    found = milp_verix.audit(network(), images()[15], own[3:], epsilon=EPSILON)
    assert found.counterexample is not None
    point = found.counterexample.input.copy()
    point.reshape(-1)[own[3]] += np.float32(0.01)
    with pytest.raises(ValueError, match="changes features other than its own"):
        replace(found, counterexample=Counterfactual(point, 3))


def test_undecided_is_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # its share is of work: on a busy machine half of it takes longer than the limit
    monkeypatch.setattr("milp_verix.searches.audit_search._FIRST_SHARE", 0.02)
    found = milp_verix.audit(hard_network(tmp_path), HARD_X, [], time_limit=1.5, **HARD_OPTIONS)
    assert found.sound is None
    assert found.unknown_reason is not None
    assert found.statistics.stopped == TIME_LIMIT
    # features that are freed one by one are known to be free
    assert 0 < len(found.sound_set) < 20


def test_ctrl_c_keeps_what_is_known() -> None:
    own = [*explained().explanation, *explained().irrelevant[:10]]

    def late(state: AuditProgress) -> None:
        if state.sound and state.done >= 3:
            raise KeyboardInterrupt

    found = milp_verix.audit(
        network(), images()[15], own, epsilon=EPSILON, traversal="sequential", progress=late
    )
    assert found.sound is True
    assert found.statistics.stopped == INTERRUPTED
    assert INTERRUPTED in found.unknown_reasons.values()
    assert found.replay(network()) == ()


def test_ctrl_c_before_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Oracle, "check", interrupt)
    found = milp_verix.audit(network(), images()[15], [1, 2], epsilon=EPSILON)
    assert found.sound is None
    assert found.statistics.stopped == INTERRUPTED
    assert len(found.sound_set) == 64


def unknown_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first check of an oracle be unknown."""
    real, asked = Oracle.check, []

    def check(self: Oracle, free: IntArray, seconds: float = np.inf) -> Verdict:
        asked.append(free)
        if len(asked) == 1:
            return Verdict(Answer.UNKNOWN, reason="numerical trouble")
        return real(self, free, seconds)

    monkeypatch.setattr(Oracle, "check", check)


def test_features_tried_one_by_one_prove_a_set_that_one_check_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unknown_first(monkeypatch)
    found = milp_verix.audit(network(), images()[15], explained(), epsilon=EPSILON)
    assert (found.sound, found.minimal, found.bound) == (True, True, None)


def test_a_counterfactual_on_the_way_refutes_a_set_that_one_check_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unknown_first(monkeypatch)
    own = explained().explanation[3:]
    found = milp_verix.audit(network(), images()[15], own, epsilon=EPSILON)
    assert found.sound is False
    assert found.replay(network()) == ()


def test_a_witness_against_a_proof_is_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    refuted = milp_verix.audit(network(), images()[15], [], epsilon=EPSILON).counterexample
    assert refuted is not None
    real, asked = Oracle.check, []

    def check(self: Oracle, free: IntArray, seconds: float = np.inf) -> Verdict:
        asked.append(free)
        if len(asked) == 1:
            return Verdict(
                Answer.VIOLATED, witness=images()[15:16].copy(), prediction=refuted.prediction
            )
        return real(self, free, seconds)

    monkeypatch.setattr(Oracle, "check", check)
    found = milp_verix.audit(network(), images()[15], explained(), epsilon=EPSILON)
    assert (found.sound, found.unknown_reason) == (None, ROUNDED)


def watched(features: tuple[int, ...]) -> tuple[Audit, list[AuditProgress], list[Audit]]:
    """Return an audit, its progress, and the result of every snapshot."""
    seen: list[AuditProgress] = []
    kept: list[Audit] = []
    found = milp_verix.audit(
        network(),
        images()[15],
        features,
        epsilon=EPSILON,
        progress=seen.append,
        snapshots=lambda snapshot: kept.append(snapshot()),
    )
    return found, seen, [*kept, *(state.snapshot() for state in seen)]


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("more", [-3, 0, 10])
def test_every_snapshot_is_sound(more: int, unknown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sound sets, minimal or not, and one that is not; proven by one check, or step by step."""
    own = explained()
    features = own.explanation[3:] if more < 0 else own.explanation + own.irrelevant[:more]
    if unknown:
        unknown_first(monkeypatch)
    found, seen, kept = watched(features)
    assert seen[0].sound is None
    assert seen[-1].sound is found.sound is (more >= 0)
    assert seen[-1].done == seen[-1].total == (len(features) if found.sound else 64 - len(features))
    assert seen[-1].kept == len(found.counterfactuals)
    sets = {one.sound_set for one in kept}
    assert len(sets) > 1
    for chosen in sets:
        free = [f for f in range(64) if f not in chosen]
        assert milp_verix.check(network(), images()[15], free, epsilon=EPSILON).holds
    assert all(one.sound in (None, found.sound) for one in kept)


def test_ctrl_c_while_the_order_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    resolver = "milp_verix.searches.audit_search.resolve_order"
    monkeypatch.setattr(resolver, lambda *_, **__: interrupt)
    for features in (explained().explanation, explained().explanation[3:]):
        found = milp_verix.audit(network(), images()[15], features, epsilon=EPSILON)
        assert found.sound is (len(features) == explained().size)
        assert found.statistics.stopped == INTERRUPTED
        assert found.sound_set == (features if found.sound else tuple(range(64)))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"order": "nonsense"}, "unknown order"),
        ({"traversal": "nonsense"}, "unknown traversal"),
        ({"solver": "nonsense"}, "nonsense"),
        ({"time_limit": 0}, "time_limit must be positive"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
    ],
)
def test_bad_arguments(options: dict[str, Any], said: str) -> None:
    with pytest.raises(milp_verix.MilpVerixError, match=said):
        milp_verix.audit(network(), images()[15], [1], **{"epsilon": EPSILON, **options})
