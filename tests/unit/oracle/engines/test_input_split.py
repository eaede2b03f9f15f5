"""Branching on inputs: verdicts of enumeration, norms, integers, and limits."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import milp_verix
from milp_verix import Answer, check, explain
from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.oracle.engines import input_split
from milp_verix.oracle.engines.beta_search import OpenNodes
from milp_verix.oracle.engines.engine import Claim
from milp_verix.oracle.engines.input_split import BoxSearch, InputSplit, Scored
from milp_verix.oracle.verdict import TIME_LIMIT
from tests.support.known_radius_network import CRITICAL, checked, valley
from tests.support.open_claims import open_claim
from tests.support.random_networks import dense_network, network_of, random_layers, residual
from verix_encodings import Interval, crown_bounds
from verix_encodings.bounds.boxes import Boxes
from verix_encodings.bounds.mixed_domain import MixedDomain
from verix_encodings.network import batch_values


def search(seed: int, *, integral: bool = False, shift: float = 0.0) -> BoxSearch:
    """Return a search on a random network of three inputs in [-4, 4]; all points replay."""
    rng = np.random.default_rng(seed)
    layers = random_layers(rng, (3, 8, 6, 2))
    layers = (*layers[:-1], (layers[-1][0], layers[-1][1] - shift))
    network, box = network_of(layers), Interval(np.full(3, -4.2), np.full(3, 4.3))
    root = crown_bounds(network, box)
    domain = MixedDomain(np.ones(3, dtype=bool)) if integral else None
    return BoxSearch(network, box, root, root[-1].upper, np.full(2, 1e-6), lambda _: True, domain)


@pytest.mark.parametrize("seed", range(15))
def test_integers_are_decided_as_by_enumeration(seed: int) -> None:
    network = search(seed).network
    points = np.array(list(product(range(-4, 5), repeat=3)), dtype=float).T
    highest = float(batch_values(network, points)[-1].max())
    for shift, holds in ((highest + 1e-3, True), (highest - 1e-3, False)):
        found = search(seed, integral=True, shift=shift)
        assert found.run() is holds
        assert found.tried.found is not holds
        assert np.all(found.tried.worst == np.round(found.tried.worst))
        if not holds:
            assert found.tried.reached.max() > 0


@pytest.mark.parametrize("seed", range(8))
def test_bounds_by_the_deadline_hold_and_tighten(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-4.2, 4.3, (20_000, 3)).T
    reached = batch_values(search(seed).network, points)[-1].max(axis=1)
    uppers = []
    for batches in (0, 1, 5, 20):
        hard = search(seed)
        # nothing replays, so margins above zero stay open for ever
        hard.tried.replays = lambda _: False
        left = iter(range(batches))
        assert not hard.run(lambda left=left: next(left, None) is None)
        assert np.all(hard.upper >= reached)
        uppers.append(hard.upper.max())
    assert uppers[0] >= uppers[1] >= uppers[2] >= uppers[3]
    assert uppers[3] < uppers[0]


def test_a_margin_of_zero_is_stuck_and_not_split_for_ever(tmp_path: Path) -> None:
    verdict = checked(valley(tmp_path), CRITICAL - 1e-9, solver="split", seconds=20)
    assert verdict.answer is Answer.UNKNOWN
    assert verdict.reason is not None
    assert "so close to zero" in verdict.reason
    assert verdict.effort.nodes < 1000


@pytest.mark.parametrize(("epsilon", "answer"), [(0.2, Answer.HOLDS), (0.3, Answer.VIOLATED)])
def test_a_known_radius(epsilon: float, answer: Answer, tmp_path: Path) -> None:
    verdict = checked(valley(tmp_path), epsilon, solver="split")
    assert verdict.answer is answer
    assert verdict.effort.solves == 1
    assert verdict.effort.nodes >= 1


@pytest.mark.parametrize("engine", ["split", "beta"])
def test_a_network_with_a_skipped_layer_that_an_activation_reads(
    engine: str, tmp_path: Path
) -> None:
    network, x = residual(tmp_path), np.full(5, 0.5)
    answers = set()
    for epsilon in (0.05, 0.1, 0.2, 0.3, 0.5):
        given = {"epsilon": epsilon, "bounds": "interval"}
        expected = check(network, x, range(5), solver="highs", **given).answer
        assert check(network, x, range(5), solver=engine, **given).answer is expected
        answers.add(expected)
    assert answers == {Answer.HOLDS, Answer.VIOLATED}


def posed(tmp_path: Path, deadline: Deadline) -> tuple[InputSplit, Claim]:
    """Return the engine, and a claim about a network of six inputs that bounds leave open."""
    problem, claim = open_claim(tmp_path, deadline)
    return InputSplit(problem), claim


def test_a_deadline_that_has_passed_leaves_the_claim_open(tmp_path: Path) -> None:
    engine, claim = posed(tmp_path, Deadline(0.0))
    decision = engine.decide(claim)
    assert decision.verdict.answer is Answer.UNKNOWN
    assert decision.verdict.reason == TIME_LIMIT
    assert np.all(decision.upper <= claim.upper)
    assert decision.upper.max() >= 0
    finished = engine.decide(replace(claim, deadline=NO_LIMIT))
    assert finished.verdict.holds
    assert np.all(finished.upper < -claim.needed)


def test_networks_beyond_its_size_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_split, "_WORTH_SPLITTING", 10)
    engine, claim = posed(tmp_path, NO_LIMIT)
    decision = engine.decide(claim)
    assert decision.verdict.answer is Answer.UNKNOWN
    assert "values, and split takes 10 at most" in str(decision.verdict.reason)
    assert np.array_equal(decision.upper, claim.upper)


def test_an_interrupt_passes_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    engine, claim = posed(tmp_path, NO_LIMIT)
    monkeypatch.setattr(BoxSearch, "_halves", stop)
    monkeypatch.setattr(BoxSearch, "_tried", lambda self, boxes, _: np.full((len(boxes), 2), -1e9))
    with pytest.raises(KeyboardInterrupt):
        engine.decide(claim)


def scored(worst: list[float]) -> Scored:
    """Return boxes with one margin each, whose bounds are ``worst``."""
    column = np.array(worst)[:, None]
    return Scored(Boxes(column, column + 1), column, np.zeros(len(worst), dtype=np.intp), {})


def test_open_boxes_come_worst_first_and_last_first_beyond_the_cap() -> None:
    queue = OpenNodes(np.zeros(1))
    queue.push(scored([1.0, 5.0]))
    queue.push(scored([2.0, 3.0]))
    assert queue.upper().tolist() == [5.0]
    assert queue.pop(1).upper.tolist() == [[5.0]]
    queue.most_bytes = 0
    queue.push(scored([0.5]))
    assert queue.pop(1).upper.tolist() == [[0.5]]
    queue.most_bytes = 2**20
    assert queue.pop(5).upper.tolist() == [[3.0], [2.0], [1.0]]
    assert not queue
    assert queue.bytes == 0
    assert queue.upper().tolist() == [-np.inf]


@pytest.mark.slow
def test_every_search_takes_split(tmp_path: Path) -> None:
    layers = random_layers(np.random.default_rng(5), (4, 6, 5, 3))
    network, x = dense_network(layers, tmp_path), np.full(4, 0.5, dtype=np.float32)
    given = {"epsilon": 0.45, "time_limit": 60.0}
    plain = explain(network, x, solver="highs", order="sequential", **given)
    split = explain(network, x, solver="split", order="sequential", **given)
    assert split.explanation == plain.explanation
    assert split.solver == "split"
    least = milp_verix.minimum(network, x, solver="split", **given)
    assert least.size == milp_verix.minimum(network, x, **given).size
    contrast = milp_verix.contrastive(network, x, solver="split", **given)
    assert contrast.size == milp_verix.contrastive(network, x, **given).size
    found = milp_verix.enumerate_explanations(network, x, solver="split", **given)
    assert found.complete
    compared = milp_verix.compare(network, x, solvers=["split", "highs"], **given)
    assert compared.agree
    assert [run.pair.solver for run in compared.runs] == ["split", "highs"]
